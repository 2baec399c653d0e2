"""The composition root: builds the parts of the daemon, runs its loops, and shuts them down in order."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from daemon import wire
from daemon.api import routes
from daemon.api.http.listeners import ListenError, Listeners
from daemon.api.http.service import Hooks
from daemon.core.errors import Unavailable, only_unavailable
from daemon.core.limits import SECOND_US
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.messages.post import PostedSource
from daemon.core.upkeep.self_check import DiskWatch
from daemon.dash.entry import Dashboard, Machine
from daemon.env import Env
from daemon.flows.access.keys import note_key_use
from daemon.flows.payments import texts
from daemon.flows.upkeep import machine, notices
from daemon.flows.upkeep.notices import OwnerSms
from daemon.loops import watchdog
from daemon.loops.approvals import carry_out_approvals
from daemon.loops.deliveries import DeliverLoop
from daemon.loops.every_minute import run_every_minute
from daemon.loops.faults import FaultLoop, beat, check_database, until_cut_off, until_writer_ends
from daemon.loops.held_messages import settle_held_messages
from daemon.loops.keep_running import find_damage, keep_running, note_work, set_aside
from daemon.loops.lines.ports import Ports, SimulatedPhones
from daemon.loops.link import HubLinkLoop
from daemon.loops.machine import CertificateLoop, KeepAwakeLoop
from daemon.loops.message_journal import copy_messages, open_message_journal, recover_messages
from daemon.loops.notices import NoticeLoop
from daemon.loops.receiving import note_signals
from daemon.loops.sources.all import RunningSource, Sources, new_source
from daemon.loops.watchdog import Supervisor, Watchdog
from daemon.loops.watched_files import WatchedFiles
from daemon.modem.discovery import find_ports
from daemon.open_shop import EXIT_AGAIN, EXIT_OK, StartError, connect, new_store, open_home
from daemon.pages.routes import PayRoutes
from daemon.runtime.config import Config
from daemon.runtime.config_file import ConfigError, check_exposure
from daemon.runtime.files import drop_ballast
from daemon.runtime.log import Log, LogFile
from daemon.runtime.own_wordings import FOLDER, OwnWordings
from daemon.runtime.system import SystemClock, SystemEntropy, open_files_max
from daemon.sender.https import Sender
from daemon.sender.live_receivers import LISTEN_SCHEME
from daemon.sender.local_targets import Targets
from daemon.sender.owner_notices import Channel, Desktop, Email
from daemon.steps.lines import attach_simulated
from daemon.store import shop
from daemon.store.branches import feed as store_feed
from daemon.store.engine import Reader
from daemon.store.lines import devices
from daemon.store.webhooks import endpoints
from parsers.masking import describe_error
from parsers.phone import read_phone

RETRY_S: Final = 5.0
"""Between two tries to open the database."""
RESTART_S: Final = 0.5
"""Until a restart, so that the page that asked for it gets its answer."""
RESERVED_FILES: Final = 128
"""Descriptors that no HTTP connection may take: of the database, modems, webhooks and logs."""
RECOVER_TRIES: Final = 3
"""After so many faults by a bug the phones are read without the message journal."""
SERVER_RETRY_S: Final = 1.0
"""The same for a database on a server."""
EXTEND_EVERY_S: Final = 5.0


class RunOptions(Struct, frozen=True):
    """`momo daemon run`.

    Attributes:
        http: `HOST:PORT`, `off`, or None for the setting.
        insecure_http: Allow `http` to be an address reachable from other machines, without encryption.
        modems: Device paths to use, possibly none; None uses those of the settings, or else detects the modems.
    """

    http: str | None = None
    insecure_http: bool = False
    modems: tuple[str, ...] | None = None
    log_json: bool = False
    supervised: bool = False
    """Started by systemd: notify it of readiness and feed its watchdog."""
    simulated_phone: bool = False
    """Attach a simulated phone for each network of the sandbox."""

    def listens_on(self, bind: str) -> str:
        """Return the `HOST:PORT` of the API, empty for none; `bind` is the setting."""
        address = self.http or bind
        return "" if address == "off" else address


async def serve(options: RunOptions, places: wire.Places, environ: Mapping[str, str]) -> int:
    """Run the daemon until it is stopped; return the exit code.

    Raises:
        StartError: It cannot start, and a retry would not help.
    """
    clock, entropy = SystemClock(), SystemEntropy()
    home = open_home(places, environ)
    try:
        store = new_store(places, home.config)
    except StartError:
        home.lock.release()
        raise
    disk = DiskWatch()
    log_file = LogFile(places.log, is_paused=lambda: disk.stops_extras)
    log = Log.of_daemon(log_file, f"{places.log}/daemon.log", as_json=options.log_json)

    def report(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        text = "" if error is None else describe_error(error)
        log.error("daemon.unhandled", what=str(context.get("message", "")), error=text)

    # asyncio's default would print values into the log.
    asyncio.get_running_loop().set_exception_handler(report)
    try:
        if options.http is not None and not options.insecure_http:
            check_exposure(home.config.http, options.http)
        address = options.listens_on(home.config.http.bind)
        listeners = await _listen(home.config, places, address)
        own_wordings = OwnWordings(Path(places.home) / FOLDER)
        own_wordings.read_again()  # before the first message is parsed
        env = Env(
            store,
            clock,
            entropy,
            home.config,
            home.vault,
            disk=disk,
            own_wordings=own_wordings,
            # Port 0 has been replaced by the actual port.
            http_address=listeners.http_address or address,
        )
        return await Daemon(env, options, places, listeners, log).run()
    except ConfigError as error:
        raise StartError(wire.ErrorCode.CONFIG_INVALID, str(error), "momo help files") from error
    finally:
        store.close()
        home.lock.release()
        log_file.close()


class Daemon:
    """The running daemon.

    The API answers from the start to the end. The other loops run while the database can be used; without it (a full
    disk, a damaged, read-only or missing file) the API answers 503 with the cause, no message is read from a modem, and
    the database is tried again every few seconds (docs/decisions/0023).
    """

    def __init__(self, env: Env, options: RunOptions, places: wire.Places, listeners: Listeners, log: Log) -> None:
        self._env = env
        self._options = options
        self._places = places
        self._listeners = listeners
        self._log = log
        self._stopping = asyncio.Event()
        self._exit = EXIT_OK
        self._notifier = Supervisor()
        if options.supervised:
            self._notifier = Supervisor.of(os.environ, os.getpid())
            watchdog.remove_from_environment(os.environ)
        self._channels = _channels(env)
        self._simulated = SimulatedPhones(Path(places.socket).parent) if options.simulated_phone else None
        self._sources = self._new_sources()
        self._not_recovered = 0
        """How often the message journal could not be read because of a bug."""
        self._said = ""
        """Why the server's database could not be opened, as logged."""
        self._faults = FaultLoop(env, self._channels, log, listeners.waiting.values)
        self._app = routes.build(env, self._hooks())

    def _new_sources(self) -> Sources:
        found: list[RunningSource] = []
        read_modems, managed = False, False
        for settings in self._env.config.enabled_sources:
            if settings.kind == wire.SourceKind.MODEM:
                read_modems = True
            else:
                managed |= settings.kind == wire.SourceKind.MODEMMANAGER
                found.append(new_source(self._env, self._log, settings))
        named = self._options.modems if read_modems else ()
        ports = Ports(
            self._env,
            self._log,
            self._env.config.modems.ports if named is None else named,
            # Two programs on one port steal each other's answers: beside ModemManager only named ports are opened.
            find=find_ports if named is None and not managed else list,
            simulated=None if self._simulated is None else self._simulated.by_path,
        )
        sources = Sources(self._env, self._log, [ports, *found])
        self._env.ussd.port_of = sources.ussd
        return sources

    # `_sources` changes when the loops are started again, so these are not its bound methods.
    def _conditions(self) -> Sequence[ModemHealth]:
        return self._sources.conditions()

    def _posted(self, name: str) -> PostedSource | None:
        return self._sources.posted(name)

    def _hooks(self) -> Hooks:
        channels, log = tuple(self._channels), self._log

        async def inspect(device_id: str) -> bool:
            return await self._sources.inspect(device_id)

        def restart() -> None:
            self._exit = EXIT_AGAIN
            asyncio.get_running_loop().call_later(RESTART_S, self._stopping.set)

        deliver = None if self._simulated is None else self._simulated.deliver
        machine = Machine(
            log, self._conditions, self._places, channels, inspect=inspect, restart=restart, deliver=deliver
        )
        return Hooks(
            channels=channels,
            on_shutdown=self._stopping.set,
            phone_states=self._conditions,
            receiving=lambda: self._sources.receiving.last,
            inspect=inspect,
            deliver=deliver,
            log=log,
            log_folder=self._places.log,
            pages=PayRoutes(self._env),
            dash=Dashboard(self._env, machine),
            posted=self._posted,
        )

    async def run(self) -> int:
        """Run until stopped; return the exit code.

        Raises:
            StartError: The database is not this program's, or there is no shop in it.
        """
        _stop_on_signals(self._stopping)
        stopped = asyncio.create_task(self._stopping.wait(), name="stop")
        env, log = self._env, self._log
        worked = partial(note_work, env, log, "listeners")
        certificate = CertificateLoop(env, self._listeners.reload_certificate, log)
        loops: dict[str, Callable[[], Awaitable[None]]] = {
            "listeners": partial(_until_cancelled, partial(self._listeners.serve, self._app, worked)),
            "watchdog": Watchdog(env, self._notifier, self._conditions, log).run,
            "faults": self._faults.run,
            "self check": partial(check_database, env, log),
            "awake": KeepAwakeLoop(env, log).run,
            "signals": partial(note_signals, env, self._conditions, log),
            "certificate": certificate.run,
            "files": WatchedFiles(env, self._places, os.environ, log).run,
        }
        if env.store.server:
            loops["beat"] = partial(beat, env, log)
        always = [stopped, *self._kept_running(loops, need_database=False)]
        try:
            await self._listeners.ready()
            extending = asyncio.create_task(self._extend_start())
            usable = await self._open()
            extending.cancel()
            with contextlib.suppress(Exception):  # its loop looks again, and tells a fault
                await self._faults.look()
            self._notifier.notify(READY=1, STATUS="serving")
            waiting = self._listeners.waiting
            http = "waiting" if "http" in waiting else self._listeners.http_address or "off"
            with contextlib.suppress(OSError):  # stderr may be a file on a full disk
                print(f"ready pid={os.getpid()} socket={self._places.socket} http={http}", file=sys.stderr, flush=True)
                for why in waiting.values():
                    print(f"warning: {why}; it is tried again", file=sys.stderr, flush=True)
            while True:
                if usable:
                    ended = await self._work(always)
                else:
                    retry_s = SERVER_RETRY_S if env.store.server else RETRY_S
                    if env.store.is_standby:
                        retry_s = 0.0  # `connect` itself waits
                    ended, _ = await asyncio.wait(always, timeout=retry_s, return_when=asyncio.FIRST_COMPLETED)
                if stopped in ended:
                    return self._exit
                for task in ended:
                    raise self._ended_by_itself(task)
                usable = await self._open()
        finally:
            await self._stop_answering()
            await _cancel(always)

    async def _stop_answering(self) -> None:
        """Notify the service manager, end the open streams and close the listeners."""
        self._notifier.notify(STOPPING=1, STATUS="stopping")
        self._app.close_streams()
        await _shut_down(self._listeners.stop)

    def _kept_running(
        self, loops: Mapping[str, Callable[[], Awaitable[None]]], *, need_database: bool
    ) -> list[asyncio.Task[Any]]:
        keep = partial(keep_running, self._env, self._log, needs_database=need_database)
        return [asyncio.create_task(keep(name, run), name=name) for name, run in loops.items()]

    async def _extend_start(self) -> None:
        """Ask systemd for more time while the start copies or upgrades a large database."""
        while True:
            await asyncio.sleep(EXTEND_EVERY_S)
            self._notifier.notify(EXTEND_TIMEOUT_USEC=round(6 * EXTEND_EVERY_S * SECOND_US), STATUS="opening")

    async def _open(self) -> bool:
        """Open the database and prepare the shop for the loops; return whether that succeeded.

        Raises:
            StartError: The database is not this program's, or there is no shop in it.
        """
        store = self._env.store
        try:
            try:
                await self._prepare()
            except Unavailable as fault:
                if fault.cause is not wire.FaultCause.DISK_FULL:
                    raise
                # The reserve is for this: a shop that cannot even be opened loses its customers' messages.
                if not await asyncio.to_thread(_drop_reserve, self._env.home):
                    raise
                await self._prepare()
        except Unavailable as fault:
            store.fault = store.fault or fault
            if fault.why != self._said:
                say = self._log.info if store.is_standby else self._log.error
                say("daemon.database", cause=fault.cause, why=fault.why)
            self._said = fault.why if store.server else ""
            return False
        except StartError:
            raise
        except Exception as error:
            # Damaged pages can hold values that the program does not expect.
            if not await find_damage(self._env.store):
                raise
            self._log.error("daemon.database", why=describe_error(error))
            return False
        if self._said:
            self._log.info("daemon.database_is_open", server=store.server)
        self._said = ""
        return True

    async def _prepare(self) -> None:
        env, store = self._env, self._env.store
        if store.is_cut_off:
            await asyncio.to_thread(store.disconnect)
        if not store.is_open:
            await asyncio.to_thread(connect, self._places, store, env.clock, create=False, first=self._know_shop)
        found_shop = await store.read(shop.get)
        if found_shop is None:
            raise StartError(wire.ErrorCode.NOT_SET_UP, "there is no shop here yet", "momo setup")
        await store.read(self._know_shop)
        open_message_journal(env)
        await store.write(devices.mark_all_absent)
        # Calls are answered since the database is open, so a receiver may have connected already.
        listening = env.live_receivers.addresses()
        await store.write(lambda tx: endpoints.pause_scheme(tx, LISTEN_SCHEME, listening))
        await machine.begin_clock(env)
        await machine.begin_space(env)
        await machine.begin_database(env)
        if doubtful := await texts.recover(env):
            self._log.warning("sms.unknown", count=doubtful)
        if self._simulated is not None:
            await store.write(lambda tx: attach_simulated(tx, env.clock.now_us(), env.new_id))

    def _know_shop(self, reader: Reader) -> None:
        """Read the key of the ids, and what this shop is beside others. Without them a call must not be answered."""
        found = shop.get(reader)
        if found is not None:
            self._env.account_key = bytes.fromhex(found.account_key)
            self._env.place = store_feed.link_place(reader)

    async def _read_phones(self) -> None:
        """Read the sources, once the database has all messages of the message journal."""
        try:
            await recover_messages(self._env, self._log)
        except Exception as error:
            self._not_recovered += 1
            if self._not_recovered < RECOVER_TRIES:
                raise
            # New messages must be read. The journal's are tried again at the next start.
            await set_aside(self._env, self._log, "sources", "the message journal", error)
            self._env.recovering = False
        await note_work(self._env, self._log, "sources")
        await self._sources.run()

    async def _work(self, always: Sequence[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
        """Run the loops that need the database, until one of `always` ends, or the database cannot be used.

        Return the tasks of `always` that ended; none if the database cannot be used.
        """
        env, log = self._env, self._log
        settings = env.config.webhooks
        sender = Targets(
            Sender.from_settings(settings), env.live_receivers, home=env.home, timeout_s=settings.timeout_s
        )
        deliver = DeliverLoop(env, sender, log)
        if self._simulated is not None:
            self._simulated.plug()
        self._sources = self._new_sources()
        loops: dict[str, Callable[[], Awaitable[None]]] = {
            "deliver": partial(_until_cancelled, deliver.run),
            "sources": self._read_phones,
            "message journal": partial(copy_messages, env, log),
            "sweep": partial(run_every_minute, env, log),
            "held": partial(settle_held_messages, env, log),
            "approvals": partial(carry_out_approvals, env, log),
            "hub": HubLinkLoop(env, self._places, log).run,
            "notices": NoticeLoop(env, self._channels, log).run,
        }
        tasks = self._kept_running(loops, need_database=True)
        tasks.append(asyncio.create_task(until_writer_ends(env), name="writer"))
        if env.store.server:
            tasks.append(asyncio.create_task(until_cut_off(env), name="server"))
        try:
            done, _ = await asyncio.wait([*tasks, *always], return_when=asyncio.FIRST_COMPLETED)
            for task in done.intersection(tasks):
                if not await self._is_database_at_fault(task):
                    raise self._ended_by_itself(task)
            return done.difference(tasks)
        finally:
            if self._stopping.is_set():
                await self._stop_answering()  # before the loops that its calls need
            await _shut_down(deliver.stop, lambda: note_key_use(env))
            await _cancel(tasks)
            env.heartbeats.clear()
            if self._simulated is not None:
                self._simulated.unplug()

    async def _is_database_at_fault(self, task: asyncio.Task[Any]) -> bool:
        """Return whether a loop ended because the database cannot be used."""
        error = task.exception()
        if error is None:
            return False
        if only_unavailable(error):
            return True
        if self._env.store.is_damaged or await find_damage(self._env.store):
            self._log.error("daemon.database", loop=task.get_name(), error=describe_error(error))
            return True
        return False

    def _ended_by_itself(self, task: asyncio.Task[Any]) -> BaseException:
        """Return the error of a loop that ended by itself, because it is a bug."""
        # Without this loop the daemon would look alive but not work.
        error = task.exception() or RuntimeError("it ended as if it were done")
        self._log.error("daemon.fault", loop=task.get_name(), error=describe_error(error))
        return error


async def _until_cancelled(run: Callable[[], Awaitable[None]]) -> None:
    """Run a loop that ends when it is told to stop; that is no fault, and it is not started again."""
    await run()
    await asyncio.Event().wait()


async def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _drop_reserve(home: str) -> bool:
    try:
        return drop_ballast(home)
    except OSError:
        return False


def _stop_on_signals(stopping: asyncio.Event) -> None:
    """Stop gracefully on SIGTERM and Ctrl-C; a second Ctrl-C ends at once and loses no committed data."""
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        stopping.set()
        # From here on the kernel's default action applies, which does not need the event loop.
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # Ctrl-C may also have ended the program that reads stderr.
        with contextlib.suppress(OSError):
            print("\nStopping... (Ctrl-C again to force)", file=sys.stderr, flush=True)

    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    loop.add_signal_handler(signal.SIGINT, interrupted)


async def _listen(config: Config, places: wire.Places, address: str) -> Listeners:
    """Bind the addresses of the API, as far as they are free now."""
    listeners = Listeners(
        socket_path=places.socket,
        http=address or None,
        tls=(config.http.tls_cert, config.http.tls_key),
        connections=min(config.limits.connections, max(1, open_files_max() - RESERVED_FILES)),
        open_to_all=bool(config.access.socket_users),
    )
    try:
        await listeners.bind(patient=True)
    except ListenError as error:
        raise StartError(wire.ErrorCode.CONFIG_INVALID, str(error), "momo daemon run --http 127.0.0.1:0") from error
    return listeners


def _channels(env: Env) -> dict[str, Channel]:
    """Return the notice channels in the settings."""
    found: dict[str, Channel] = {}
    smtp = env.config.smtp
    if smtp.host and smtp.to:
        found["email"] = Email(smtp, env.clock, lambda: notices.smtp_password(env))
    if env.config.notices.desktop:
        found["desktop"] = Desktop()
    number = read_phone(env.config.notices.sms_to)
    if number is not None:
        found["sms"] = OwnerSms(env, number)
    return found


async def _shut_down(*steps: Callable[[], object]) -> None:
    for step in steps:
        with contextlib.suppress(Exception):
            result = step()
            if asyncio.iscoroutine(result):
                await result
