"""The composition root: builds the shop's rooms, runs the loops, and takes them down in order."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from daemon import supervisor, wire
from daemon.api import app as api
from daemon.api.listeners import Listeners
from daemon.api.places import ListenError
from daemon.config import ConfigError, check_exposure
from daemon.core.disk_room import DiskWatch
from daemon.doors import EXIT_CONFIG, EXIT_OK, StartError, open_doors
from daemon.env import Env
from daemon.flows import clock as clock_flow
from daemon.flows import disk_room as disk_flow
from daemon.flows import self_check, send_text, smtp_password
from daemon.flows.note_key_use import note_key_use
from daemon.flows.notice_sms import OwnerSms
from daemon.log import Log
from daemon.log_file import LogFile
from daemon.loops.awake import AwakeLoop
from daemon.loops.deliver import DeliverLoop
from daemon.loops.notices import NoticeLoop
from daemon.loops.ports import Ports
from daemon.loops.simulated import SimulatedPhones
from daemon.loops.sweep import sweep
from daemon.loops.templates import watch_templates
from daemon.loops.watchdog import Watchdog
from daemon.modem.discovery import find_ports
from daemon.notices.channels import Channel
from daemon.notices.desktop import Desktop
from daemon.notices.email import Email
from daemon.own_wordings import FOLDER, OwnWordings
from daemon.pages.site import Site
from daemon.store import endpoints, presence, shop
from daemon.supervisor import Supervisor
from daemon.system import SystemClock, SystemEntropy
from daemon.webhooks.live import LISTEN_SCHEME
from daemon.webhooks.remote_sender import SendingProcess
from daemon.webhooks.sending_process import Settings
from daemon.webhooks.targets import Target, Targets
from parsers.phone import read_phone
from privacy.faults import fault


@dataclass(frozen=True, slots=True)
class RunOptions:
    """`momo daemon run` (cli.md, contract).

    Attributes:
        http: `HOST:PORT`, `off`, or None for the setting.
        insecure_http: `http` may be an address that other machines reach, without encryption.
        modems: Paths to serve, perhaps none; None is those of the settings, and where these name none, find them.
    """

    http: str | None = None
    insecure_http: bool = False
    modems: tuple[str, ...] | None = None
    log_json: bool = False
    supervised: bool = False
    """systemd started us: tell it when we are ready, and that no worker hangs."""
    simulated_phone: bool = False
    """Attach a phone that this program plays, for each network of the sandbox."""

    def listens_on(self, bind: str) -> str:
        """Return `HOST:PORT` of the API, or empty for none, when the setting is `bind`."""
        address = self.http or bind
        return "" if address == "off" else address


async def serve(options: RunOptions, places: wire.Places, environ: Mapping[str, str]) -> int:
    """Run the daemon until it is told to stop; returns the exit code."""
    clock, entropy = SystemClock(), SystemEntropy()
    doors = open_doors(places, environ, clock)
    disk = DiskWatch()
    log_file = LogFile(places.log, stands_still=lambda: disk.stops_extras)
    captured = f"{places.log}/daemon.log"
    log = Log.of_daemon(log_file, captured, as_json=options.log_json)
    asyncio.get_running_loop().set_exception_handler(_masked_faults(log))
    try:
        if options.http is not None and not options.insecure_http:
            check_exposure(doors.config.http, options.http)
        here = await doors.store.read(shop.get)
        if here is None:
            raise StartError(
                wire.ErrorCode.NOT_SET_UP, EXIT_CONFIG, "there is no shop here yet", "momo setup"
            )
        await doors.store.write(presence.all_left)
        await doors.store.write(lambda tx: endpoints.pause_all_at(tx, LISTEN_SCHEME))
        env = Env(
            doors.store,
            clock,
            entropy,
            doors.config,
            doors.vault,
            disk=disk,
            account_key=bytes.fromhex(here.account_key),
            own=_own_wordings(places),
            http_address=options.listens_on(doors.config.http.bind),
        )
        await clock_flow.begin(env)
        await disk_flow.begin(env)
        await self_check.begin(env)
        if doubtful := await send_text.recover(env):
            log.warning("sms.unknown", count=doubtful)
        return await _run(env, options, places, log)
    except ConfigError as error:
        raise StartError(
            wire.ErrorCode.CONFIG_INVALID, EXIT_CONFIG, str(error), "momo help files"
        ) from error
    finally:
        doors.close()
        log_file.close()


async def _run(env: Env, options: RunOptions, places: wire.Places, log: Log) -> int:
    stopping = asyncio.Event()
    _stop_on_signals(stopping)
    watcher = _supervisor(options)
    named = env.config.modems.ports if options.modems is None else options.modems
    ports = Ports(env, log, named, find=find_ports if options.modems is None else list)
    simulated = SimulatedPhones(Path(places.socket).parent) if options.simulated_phone else None
    deliver, sending = _delivery(env, log)
    channels = _channels(env)
    hooks = api.Hooks(
        channels=tuple(channels),
        on_shutdown=stopping.set,
        phone_states=ports.conditions,
        inspect=ports.inspect,
        deliver=None if simulated is None else simulated.deliver,
        log=log,
        log_folder=places.log,
    )
    listeners = await _listen(env, places)
    # Port 0 has become a real one by now.
    env = replace(env, http_address=listeners.http_address)
    app = api.build(env, replace(hooks, pages=Site(env)))
    if simulated is not None:
        simulated.plug()
        ports.attach(simulated.by_path)
    tasks = [
        asyncio.create_task(listeners.serve(app), name="listeners"),
        asyncio.create_task(deliver.run(), name="deliver"),
        asyncio.create_task(ports.run(), name="ports"),
        asyncio.create_task(sweep(env, log), name="sweep"),
        asyncio.create_task(AwakeLoop(env, log).run(), name="awake"),
        asyncio.create_task(NoticeLoop(env, channels, log).run(), name="notices"),
        asyncio.create_task(
            watch_templates(env.own, log, lambda rest_s: env.promise("templates", rest_s)),
            name="templates",
        ),
        asyncio.create_task(Watchdog(env, watcher, ports.conditions, log).run(), name="watchdog"),
    ]
    stopped = asyncio.create_task(stopping.wait(), name="stop")
    try:
        await listeners.ready()
        watcher.tell(READY=1, STATUS="serving")
        print(
            f"ready pid={os.getpid()} socket={places.socket} http={listeners.http_address or 'off'}",
            file=sys.stderr,
            flush=True,
        )
        return await _until_over(tasks, stopped, log)
    finally:
        watcher.tell(STOPPING=1, STATUS="stopping")
        app.close_streams()
        await _take_down(listeners.stop, deliver.stop, sending.aclose, lambda: note_key_use(env))
        for task in [*tasks, stopped]:
            task.cancel()
        await asyncio.gather(*tasks, stopped, return_exceptions=True)
        if simulated is not None:
            simulated.unplug()


def _stop_on_signals(stopping: asyncio.Event) -> None:
    """End well on SIGTERM and on Ctrl-C; a second Ctrl-C ends at once, which loses nothing that was decided."""
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        stopping.set()
        # From here on the kernel's own answer, which needs no loop.
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with contextlib.suppress(OSError):  # the log goes to a program that Ctrl-C has ended too
            print("\nStopping... (Ctrl-C again to force)", file=sys.stderr, flush=True)

    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    loop.add_signal_handler(signal.SIGINT, interrupted)


def _supervisor(options: RunOptions) -> Supervisor:
    if not options.supervised:
        return Supervisor()
    found = Supervisor.of(os.environ, os.getpid())
    supervisor.forget(os.environ)
    return found


async def _listen(env: Env, places: wire.Places) -> Listeners:
    """Take the addresses that we answer on."""
    listeners = Listeners(
        socket_path=places.socket,
        http=env.http_address or None,
        tls=(env.config.http.tls_cert, env.config.http.tls_key),
        connections=env.config.limits.connections,
        open_to_all=bool(env.config.access.socket_users),
    )
    try:
        await listeners.bind()
    except ListenError as error:
        raise StartError(
            wire.ErrorCode.CONFIG_INVALID,
            EXIT_CONFIG,
            str(error),
            "momo daemon run --http 127.0.0.1:0",
        ) from error
    return listeners


def _masked_faults(log: Log) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Return what says of an error that nobody awaited; asyncio's own would print its values."""

    def say(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        told = "" if error is None else fault(error)
        log.error("daemon.unhandled", what=str(context.get("message", "")), error=told)

    return say


async def _until_over(
    tasks: Sequence[asyncio.Task[None]], stopped: asyncio.Task[Any], log: Log
) -> int:
    """Wait until we are told to stop; a loop that ends by itself is a fault of ours, and is raised."""
    done, _ = await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        if task is not stopped:
            # A loop that ends by itself has a fault; going on without it would look alive and not be.
            error = task.exception() or RuntimeError("it ended as if it were done")
            log.error("daemon.fault", loop=task.get_name(), error=fault(error))
            raise error
    return EXIT_OK


def _channels(env: Env) -> dict[str, Channel]:
    """Return the ways to the owner that the settings name."""
    found: dict[str, Channel] = {}
    smtp = env.config.smtp
    if smtp.host and smtp.to:
        found["email"] = Email(smtp, env.clock, lambda: smtp_password.current(env))
    if env.config.notices.desktop:
        found["desktop"] = Desktop()
    number = read_phone(env.config.notices.sms_to)
    if number is not None:
        found["sms"] = OwnerSms(env, number)
    return found


def _own_wordings(places: wire.Places) -> OwnWordings:
    """Read the shop's own wordings before the first message is."""
    own = OwnWordings(Path(places.home) / FOLDER)
    own.read_again()
    return own


def _delivery(env: Env, log: Log) -> tuple[DeliverLoop, SendingProcess]:
    """Return the delivery loop, by the settings, and the process that posts for it what is sent again in bulk."""
    settings = Settings.of(env.config.webhooks)
    process = SendingProcess(
        settings, on_failure=lambda why: log.warning("deliver.process_failed", why=why)
    )

    def here(https: Target) -> Targets:
        return Targets(https, env.live, home=env.home, timeout_s=settings.timeout_s)

    loop = DeliverLoop(
        env,
        lambda: here(settings.sender()),
        log,
        make_bulk_sender=lambda: here(process.sender(fallback=settings.sender())),
    )
    return loop, process


async def _take_down(*steps: Callable[[], object]) -> None:
    for step in steps:
        with contextlib.suppress(Exception):
            result = step()
            if asyncio.iscoroutine(result):
                await result
