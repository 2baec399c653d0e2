"""Open and close a shift, and read what it has: who stood at the till, what was made, paid and settled."""

from daemon.core.access.callers import Caller, Operation, allows, require
from daemon.core.books.day_sheet import settled_sums
from daemon.core.errors import Refusal
from daemon.core.inputs import Keep
from daemon.core.json_values import Json, timestamp, timestamp_or_none
from daemon.core.shape import flat
from daemon.env import Env
from daemon.store import idempotency, journal
from daemon.store.books import shifts
from daemon.store.books.shifts import Shift
from daemon.store.engine import Reader, Tx
from daemon.wire import ErrorCode, Mode
from parsers.money import render


async def begin(env: Env, caller: Caller, *, keep: Keep[Shift] | None = None) -> Shift:
    """Open a shift of the caller; one that is open goes on.

    Raises:
        Refusal: ROLE_REQUIRED.
        Unavailable: Nothing could be written.
    """
    require(caller, Operation.KEEP_SHIFT)
    now = env.clock.now_us()

    def job(tx: Tx) -> Shift:
        opened = shifts.add(tx, caller.name, now)
        if opened is not None:
            _note(tx, "shift.opened", caller, opened, now)
        known = opened or shifts.open_of(tx, caller.name)
        assert known is not None, "there is one open shift for each caller"
        return known

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: job(tx)))


async def end(env: Env, caller: Caller, number: str, *, keep: Keep[Shift] | None = None) -> Shift:
    """Close the shift with this number, or `mine`, the caller's own open one; a closed one stays as it is.

    Raises:
        Refusal: ROLE_REQUIRED, also for the shift of another person; ROUTE_NOT_FOUND if there is none.
        Unavailable: Nothing could be written.
    """
    require(caller, Operation.KEEP_SHIFT)
    now = env.clock.now_us()

    def job(tx: Tx) -> Shift:
        shift = shown(tx, caller, number)
        if shift.actor != caller.name:
            require(caller, Operation.CLOSE_SHIFTS)
        closed = shifts.close(tx, shift.seq, caller.name, now)
        if closed is not None:
            _note(tx, "shift.closed", caller, closed, now)
        return closed or shift

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: job(tx)))


def shown(reader: Reader, caller: Caller, number: str) -> Shift:
    """Return the shift with this number, or `mine`, the caller's own open one.

    Raises:
        Refusal: ROUTE_NOT_FOUND if there is none that this caller may see: a cashier sees the own ones only.
    """
    found = None
    if number == "mine":
        found = shifts.open_of(reader, caller.name)
    elif number.isascii() and number.isdecimal() and len(number) < 19:
        found = shifts.get(reader, int(number))
    if found is None or (found.actor != caller.name and not sees_all(caller)):
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
    return found


def sees_all(caller: Caller) -> bool:
    """Return whether a caller sees the shifts of all."""
    return allows(caller, Operation.EXPORT)


def sheet(reader: Reader, shift: Shift, now: int, mode: Mode = Mode.LIVE) -> Json:
    """Return a shift with its sums, those of an open one until now."""
    until = now + 1 if shift.closed_at is None else shift.closed_at

    def sums(rows: list[tuple[str, int, int]]) -> list[Json]:
        return [
            {"currency": currency, "count": count, "amount": render(minor, currency)} for currency, count, minor in rows
        ]

    return {
        "id": str(shift.seq),
        "by": shift.actor,
        "opened_at": timestamp(shift.opened_at),
        "closed_at": timestamp_or_none(shift.closed_at),
        "closed_by": shift.closed_by,
        "made": sums(shifts.made(reader, shift, until, mode)),
        "paid": sums(shifts.paid(reader, shift, until, mode)),
        "settled": [flat(row) for row in settled_sums(shifts.settled(reader, shift, until, mode))],
    }


def _note(tx: Tx, kind: str, caller: Caller, shift: Shift, now: int) -> None:
    data = {"shift": shift.seq, "of": shift.actor}
    journal.add(tx, kind, now, actor=caller.name, data=data)
