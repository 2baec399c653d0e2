"""Shutdown, setup, the doctor's checks and the log of the running daemon. On the Unix socket only.

The doctor's modules are imported at the first call, so that a daemon that never runs the checks does not load them.
"""

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Final

from starlette.types import Receive, Scope, Send

from daemon.api.http.body import read_object
from daemon.api.http.fields import Fields
from daemon.api.http.service import NO_STORE, Call, Reply, ok
from daemon.api.lines.modems import all_modems
from daemon.core.json_values import Json, dump
from daemon.core.lines.modem_health import Level, ModemProblem
from daemon.flows.upkeep.setup import SetupRequest, set_up
from daemon.runtime import log
from daemon.runtime.log import LEVELS, LINES_MAX, LogFilter
from daemon.wire import VERSION, places

LINES: Final = 200
_TEXT_CHARACTERS_MAX: Final = 2000
_AWAY: Final = "away"


class Shutdown:
    """An ASGI application that answers first and then starts the shutdown."""

    def __init__(self, call: Call) -> None:
        self._call = call

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 -- ASGI's signature
        """Serve the call."""
        await Reply(200, ok({"status": "stopping"}).body, ((b"connection", b"close"),)).send(send)
        self._call.service.hooks.on_shutdown()


async def shutdown(call: Call) -> Shutdown:
    """Stop the daemon."""
    return Shutdown(call)


async def setup(call: Call) -> Reply:
    """Create the missing parts of the shop. A second call changes nothing and shows no secret."""
    fields = Fields(await read_object(call.scope, call.receive))
    shop = fields.text("shop", most=_TEXT_CHARACTERS_MAX)
    timezone = fields.text("tz")
    owner_email = fields.text("owner_email")
    check = fields.boolean("check", default=False)
    password = fields.value("password")
    if password is not None and not isinstance(password, str):
        fields.fail("password", "wrong_type", "must be a string")
    fields.done()
    env = call.env
    request = SetupRequest(shop, timezone, password, owner_email, check)
    data = await set_up(env.store, env.clock, env.entropy, env.vault, request)
    return Reply(200, ok(data).body, (NO_STORE,))


async def get_log(call: Call) -> Reply:
    """Return log lines, oldest first; `meta.cursor` is the `after` of the next call."""
    query = call.query
    wanted = LogFilter(
        since=query.value("since") or "",
        level=query.word("level", LEVELS) or LEVELS[0],
        component=query.value("component") or "",
        lines=query.number("lines", LINES, high=LINES_MAX),
        after=query.value("after") or "",
    )
    query.done()
    rows, cursor = await asyncio.to_thread(log.read, call.service.hooks.log_folder, wanted)
    return ok(rows, query.meta(cursor=cursor))


async def run_doctor(call: Call) -> Reply:
    """Check the areas in `area`, separated by commas; by default all. 200 also if a check fails."""
    from daemon.doctor.checks import ReportedModem, Running, System, report  # noqa: PLC0415 -- see the module's docstring
    from daemon.doctor.run import AREAS, run_checks, this_user  # noqa: PLC0415 -- the same

    query = call.query
    areas = [area for area in (query.value("area") or "").split(",") if area]
    for area in areas:
        if area not in AREAS:
            query.fail("area", "invalid", f"must be one of {', '.join(AREAS)}")
    query.done()
    phones = tuple(
        ReportedModem(row["name"] or row["port"], row["port"], row["state"], _problems(row))
        for row in await all_modems(call)
        if row["state"] != _AWAY and "simulated" not in row
    )
    env = call.env
    times = env.times()
    system = System(
        Path("/"),
        this_user(),
        phones,
        os.getpid(),
        places=places(os.environ, os.getuid(), tempfile.gettempdir()),
        environ=os.environ,
        store_url=call.env.config.store.url,
        running=Running(
            VERSION,
            "" if times.doubt is None else str(times.doubt.why),
            times.confirmed,
            env.http_address,
            env.awake,
        ),
        version=VERSION,
        now_us=times.wall_us,
    )
    # In a thread: it reads hundreds of small files in /proc, and the whole database.
    checks = await asyncio.to_thread(run_checks, system, areas, env.clock.monotonic)
    return Reply(200, dump(report(checks)))


def _problems(row: Json) -> tuple[ModemProblem, ...]:
    return tuple(
        ModemProblem(each["id"], Level(each["level"]), each["text"], each["fix"])
        for each in row["troubles"]
    )
