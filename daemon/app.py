"""The composition root: builds the parts of the daemon, runs its loops, and shuts them down in order."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from daemon import wire
from daemon.api import routes
from daemon.api.http.listeners import ListenError, Listeners
from daemon.api.http.service import Hooks
from daemon.core.upkeep.disk_space import DiskWatch
from daemon.env import Env
from daemon.flows.access.keys import note_key_use
from daemon.flows.payments import texts
from daemon.flows.upkeep import clock as clock_flow
from daemon.flows.upkeep import disk_space as disk_flow
from daemon.flows.upkeep import notices, self_check
from daemon.flows.upkeep.notices import OwnerSms
from daemon.loops.deliveries import DeliverLoop
from daemon.loops.every_minute import run_every_minute
from daemon.loops.held_messages import settle_held_messages
from daemon.loops.keep_awake import KeepAwakeLoop
from daemon.loops.notices import NoticeLoop
from daemon.loops.own_wordings import watch_templates
from daemon.loops.ports import Ports
from daemon.loops.simulated_phones import SimulatedPhones
from daemon.loops.watchdog import Watchdog
from daemon.modem.discovery import find_ports
from daemon.open_shop import EXIT_CONFIG, EXIT_OK, StartError, open_shop
from daemon.pages.routes import PayRoutes
from daemon.runtime import systemd_notify
from daemon.runtime.config import ConfigError, check_exposure
from daemon.runtime.log import Log, LogFile
from daemon.runtime.own_wordings import FOLDER, OwnWordings
from daemon.runtime.system import SystemClock, SystemEntropy
from daemon.runtime.systemd_notify import Supervisor
from daemon.sender.bulk_client import SendingProcess
from daemon.sender.bulk_process import Settings
from daemon.sender.live_receivers import LISTEN_SCHEME
from daemon.sender.owner_notices import Channel, Desktop, Email
from daemon.sender.targets import Target, Targets
from daemon.store import shop
from daemon.store.lines import devices
from daemon.store.webhooks import endpoints
from parsers.masking import describe_error
from parsers.phone import read_phone


@dataclass(frozen=True, slots=True)
class RunOptions:
    """`momo daemon run` (cli.md, contract).

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
    """Run the daemon until it is stopped; return the exit code."""
    clock, entropy = SystemClock(), SystemEntropy()
    opened = open_shop(places, environ, clock)
    disk = DiskWatch()
    log_file = LogFile(places.log, is_paused=lambda: disk.stops_extras)
    captured = f"{places.log}/daemon.log"
    log = Log.of_daemon(log_file, captured, as_json=options.log_json)
    asyncio.get_running_loop().set_exception_handler(_masked_faults(log))
    try:
        if options.http is not None and not options.insecure_http:
            check_exposure(opened.config.http, options.http)
        found_shop = await opened.store.read(shop.get)
        if found_shop is None:
            raise StartError(
                wire.ErrorCode.NOT_SET_UP, EXIT_CONFIG, "there is no shop here yet", "momo setup"
            )
        await opened.store.write(devices.mark_all_absent)
        await opened.store.write(lambda tx: endpoints.pause_scheme(tx, LISTEN_SCHEME))
        env = Env(
            opened.store,
            clock,
            entropy,
            opened.config,
            opened.vault,
            disk=disk,
            account_key=bytes.fromhex(found_shop.account_key),
            own_wordings=_own_wordings(places),
            http_address=options.listens_on(opened.config.http.bind),
        )
        await clock_flow.begin(env)
        await disk_flow.begin(env)
        await self_check.begin(env)
        if doubtful := await texts.recover(env):
            log.warning("sms.unknown", count=doubtful)
        return await _run(env, options, places, log)
    except ConfigError as error:
        raise StartError(
            wire.ErrorCode.CONFIG_INVALID, EXIT_CONFIG, str(error), "momo help files"
        ) from error
    finally:
        opened.close()
        log_file.close()


async def _run(env: Env, options: RunOptions, places: wire.Places, log: Log) -> int:
    stopping = asyncio.Event()
    _stop_on_signals(stopping)
    notifier = _supervisor(options)
    named = env.config.modems.ports if options.modems is None else options.modems
    ports = Ports(env, log, named, find=find_ports if options.modems is None else list)
    simulated = SimulatedPhones(Path(places.socket).parent) if options.simulated_phone else None
    deliver, sending = _delivery(env, log)
    channels = _channels(env)
    hooks = Hooks(
        channels=tuple(channels),
        on_shutdown=stopping.set,
        phone_states=ports.conditions,
        inspect=ports.inspect,
        deliver=None if simulated is None else simulated.deliver,
        log=log,
        log_folder=places.log,
    )
    listeners = await _listen(env, places)
    # Port 0 has been replaced by the actual port.
    env = replace(env, http_address=listeners.http_address)
    app = routes.build(env, replace(hooks, pages=PayRoutes(env)))
    if simulated is not None:
        simulated.plug()
        now = env.clock.now_us()
        await env.store.write(lambda tx: devices.see_sandbox(tx, now))
        ports.attach(simulated.by_path)
    tasks = [
        asyncio.create_task(listeners.serve(app), name="listeners"),
        asyncio.create_task(deliver.run(), name="deliver"),
        asyncio.create_task(ports.run(), name="ports"),
        asyncio.create_task(run_every_minute(env, log), name="sweep"),
        asyncio.create_task(settle_held_messages(env, log), name="held"),
        asyncio.create_task(KeepAwakeLoop(env, log).run(), name="awake"),
        asyncio.create_task(NoticeLoop(env, channels, log).run(), name="notices"),
        asyncio.create_task(
            watch_templates(env.own_wordings, log, partial(env.heartbeat, "templates")),
            name="templates",
        ),
        asyncio.create_task(Watchdog(env, notifier, ports.conditions, log).run(), name="watchdog"),
    ]
    stopped = asyncio.create_task(stopping.wait(), name="stop")
    try:
        await listeners.ready()
        notifier.notify(READY=1, STATUS="serving")
        print(
            f"ready pid={os.getpid()} socket={places.socket} http={listeners.http_address or 'off'}",
            file=sys.stderr,
            flush=True,
        )
        return await _wait_until_stopped(tasks, stopped, log)
    finally:
        notifier.notify(STOPPING=1, STATUS="stopping")
        app.close_streams()
        await _shut_down(listeners.stop, deliver.stop, sending.aclose, lambda: note_key_use(env))
        for task in [*tasks, stopped]:
            task.cancel()
        await asyncio.gather(*tasks, stopped, return_exceptions=True)
        if simulated is not None:
            simulated.unplug()


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


def _supervisor(options: RunOptions) -> Supervisor:
    if not options.supervised:
        return Supervisor()
    found = Supervisor.of(os.environ, os.getpid())
    systemd_notify.remove_from_environment(os.environ)
    return found


async def _listen(env: Env, places: wire.Places) -> Listeners:
    """Bind the addresses of the API."""
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
    """Return an exception handler for the event loop; asyncio's default would print values into the log."""

    def report(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        text = "" if error is None else describe_error(error)
        log.error("daemon.unhandled", what=str(context.get("message", "")), error=text)

    return report


async def _wait_until_stopped(
    tasks: Sequence[asyncio.Task[None]], stopped: asyncio.Task[Any], log: Log
) -> int:
    """Wait until the daemon is stopped; raise the error of a loop that ends by itself, because it is a bug."""
    done, _ = await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        if task is not stopped:
            # Without this loop the daemon would look alive but not work.
            error = task.exception() or RuntimeError("it ended as if it were done")
            log.error("daemon.fault", loop=task.get_name(), error=describe_error(error))
            raise error
    return EXIT_OK


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


def _own_wordings(places: wire.Places) -> OwnWordings:
    """Read the shop's own wordings before the first message is parsed."""
    own = OwnWordings(Path(places.home) / FOLDER)
    own.read_again()
    return own


def _delivery(env: Env, log: Log) -> tuple[DeliverLoop, SendingProcess]:
    """Return the delivery loop and the separate process that sends its bulk resends."""
    settings = Settings.of(env.config.webhooks)
    process = SendingProcess(
        settings, on_failure=lambda why: log.warning("deliver.process_failed", why=why)
    )

    def targets(https: Target) -> Targets:
        return Targets(https, env.live_receivers, home=env.home, timeout_s=settings.timeout_s)

    loop = DeliverLoop(
        env,
        lambda: targets(settings.sender()),
        log,
        make_bulk_sender=lambda: targets(process.sender(fallback=settings.sender())),
    )
    return loop, process


async def _shut_down(*steps: Callable[[], object]) -> None:
    for step in steps:
        with contextlib.suppress(Exception):
            result = step()
            if asyncio.iscoroutine(result):
                await result
