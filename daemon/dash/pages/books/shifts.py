"""Shifts: open and close the own one; the sheet of one, for print."""

from typing import Any

from daemon.core.access.callers import Operation
from daemon.core.json_values import Json
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.books import shifts as flow
from daemon.store.books import shifts
from daemon.store.books.shifts import Shift
from daemon.store.engine import Reader

HERE = "/dash/shifts"
SHOWN = 50


async def show_list(visit: Visit) -> Shown:
    """Show the shifts: a cashier's own ones, to others those of all."""

    def read(reader: Reader) -> dict[str, Any]:
        actor = None if flow.sees_all(visit.caller) else visit.caller.name
        return {
            "mine": shifts.open_of(reader, visit.caller.name),
            "rows": shifts.latest(reader, actor, before=None, limit=SHOWN),
        }

    values = await visit.env.store.read(read)
    may_keep = visit.may(Operation.KEEP_SHIFT)
    return Shown("books/shifts.html", {**values, "may_keep": may_keep})


async def show_one(visit: Visit) -> Shown:
    """Show the sheet of one shift."""

    def read(reader: Reader) -> tuple[Shift, Json]:
        shift = flow.shown(reader, visit.caller, visit.places["id"])
        return shift, flow.sheet(reader, shift, visit.now, visit.mode)

    shift, sheet = await visit.env.store.read(read)
    own = shift.actor == visit.caller.name
    values = {
        "shift": shift,
        "sheet": sheet,
        "may_close": shift.closed_at is None and visit.may(Operation.KEEP_SHIFT if own else Operation.CLOSE_SHIFTS),
    }
    return Shown("books/shift.html", values)


async def begin(visit: Visit) -> Outcome:
    """Open the own shift."""
    return await visit.kept(
        lambda shift: Goto(f"{HERE}/{shift.seq}", "said_shift_opened"),
        lambda keep: flow.begin(visit.env, visit.caller, keep=keep),
    )


async def end(visit: Visit) -> Outcome:
    """Close a shift."""
    number = visit.places["id"]
    return await visit.kept(
        Goto(f"{HERE}/{number}", "said_shift_closed"), lambda keep: flow.end(visit.env, visit.caller, number, keep=keep)
    )
