"""GET /local/v1/doctor: look for what is wrong, with what the running daemon knows of its phones.

The doctor's rooms are loaded when somebody asks: a daemon that is well does not carry them.
"""

import asyncio
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from daemon.api.envelope import VERSION
from daemon.api.local_modems import modems
from daemon.api.service import Call, Reply
from daemon.core.phones import Level, Trouble
from daemon.core.shapes import Json, dump
from daemon.wire import places

if TYPE_CHECKING:
    from daemon.doctor.checks import Phone

_AWAY: Final = "away"


async def get(call: Call) -> Reply:
    """Examine the areas of `area`, separated by commas; all without one. 200 also when something is wrong."""
    from daemon.doctor.checks import Patient, Running, report  # noqa: PLC0415 -- see the module's docstring
    from daemon.doctor.rounds import AREAS, examine, this_user  # noqa: PLC0415 -- the same

    query = call.query
    areas = [area for area in (query.value("area") or "").split(",") if area]
    for area in areas:
        if area not in AREAS:
            query.fail("area", "invalid", f"must be one of {', '.join(AREAS)}")
    query.done()
    phones = tuple(
        _phone(row)
        for row in await modems(call)
        if row["state"] != _AWAY and "simulated" not in row
    )
    env = call.env
    doubt = env.clock_doubt()
    patient = Patient(
        Path("/"),
        this_user(),
        phones,
        os.getpid(),
        places=places(os.environ, os.getuid(), tempfile.gettempdir()),
        environ=os.environ,
        running=Running(
            VERSION,
            "" if doubt is None else doubt.why,
            env.clock_vouched(),
            env.http_address,
            env.awake,
        ),
        version=VERSION,
        now_us=env.clock.now_us(),
    )
    # It reads hundreds of small files of /proc, and the whole database.
    checks = await asyncio.to_thread(examine, patient, areas, env.clock.monotonic)
    return Reply(200, dump(report(checks)))


def _phone(row: Json) -> "Phone":
    from daemon.doctor.checks import Phone  # noqa: PLC0415 -- the same

    troubles = (
        Trouble(each["id"], Level(each["level"]), each["text"], each["fix"])
        for each in row["troubles"]
    )
    return Phone(row["name"] or row["port"], row["port"], row["state"], tuple(troubles))
