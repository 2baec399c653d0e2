"""Health: disk, clock, database, backups and version; the checks of `momo doctor`; make and check a backup.

A restore is left to the terminal: the daemon must stand still for it.
"""

import asyncio
from typing import Final

from daemon.core.lines.modem_health import find_problems
from daemon.dash.web.visit import FormWrong, Goto, Outcome, Shown, Visit
from daemon.doctor.checks import ReportedModem, Status
from daemon.doctor.run import run_checks, running_system
from daemon.flows.upkeep import backups as flow
from daemon.store.upkeep import backup, inspect
from daemon.store.upkeep.backup import BackupBad
from daemon.wire import VERSION

HERE: Final = "/dash/health"
BACKUPS_SHOWN: Final = 20
_ORDER: Final = (Status.FAIL, Status.WARN, Status.SKIP, Status.OK)


async def show(visit: Visit) -> Shown:
    """Show the stored state, without a new check."""
    env = visit.env
    times = env.times()
    full_check = await env.store.read(inspect.last_full_check)
    known = await asyncio.to_thread(backup.entries, visit.machine.places)
    return Shown(
        "upkeep/health.html",
        {
            "free": await asyncio.to_thread(env.free_bytes, env.home),
            "room": env.disk.room.value,
            "doubt": "" if times.doubt is None else times.doubt.why,
            "confirmed": times.confirmed,
            "database": env.self_check.found.value,
            "size": await inspect.database_bytes(env.store) or 0,
            "full_check": full_check,
            "backups": known[:BACKUPS_SHOWN],
            "backup_count": len(known),
            "also_to": env.config.backup.also_to,
            "faults": env.faults.all(),
            "version": VERSION,
        },
    )


async def show_checks(visit: Visit) -> Shown:
    """Run every check of `momo doctor` and show the results, the worst first."""
    env, machine = visit.env, visit.machine
    now = env.times().wall_us
    phones = tuple(
        ReportedModem(one.port, one.port, one.state, tuple(find_problems(one, now)))
        for one in machine.phone_states()
        if not one.simulated
    )
    system = running_system(env, machine.places, phones)
    # In a thread: it reads hundreds of small files, and the whole database.
    found = await asyncio.to_thread(run_checks, system, ())
    counts = {status.value: sum(check.status is status for check in found) for status in _ORDER}
    worst_first = sorted(found, key=lambda check: _ORDER.index(check.status))
    return Shown("upkeep/checks.html", {"checks": worst_first, "counts": counts})


async def make_backup(visit: Visit) -> Outcome:
    """Make a backup; it is verified at once."""
    try:
        made = await flow.create_for(visit.env, visit.caller, visit.machine.places)
    except (BackupBad, OSError) as error:
        visit.errors[""] = visit.cite(str(error), visit.words("backup_failed"))
        raise FormWrong from error
    return Goto(HERE, "said_backup_findings" if made["findings"] else "said_backup_made")


async def check_backup(visit: Visit) -> Outcome:
    """Restore a backup into a folder that is removed again, and verify it there."""
    name = visit.form.get("backup", "")
    try:
        tried = await flow.drill_for(visit.env, visit.caller, visit.machine.places, name)
    except (BackupBad, OSError) as error:
        visit.errors[""] = visit.cite(str(error), visit.words("backup_bad"))
        raise FormWrong from error
    return Goto(HERE, "said_backup_findings" if tried["findings"] else "said_backup_checked")
