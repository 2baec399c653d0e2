"""Commands about shifts: who stood at a till from when to when, and what was made, paid and settled."""

from typing import Final

from daemon.wire import Path
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import argument, option
from momo_cli.show.answer import Answer, Head, Row, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, money
from momo_cli.socket.client import Client, path_of
from momo_cli.text import clean
from momo_cli.views.day_sheet import settled_label

_MINE: Final = "mine"
_SHIFT = argument("[ID]", "The shift; default: your open one.", default=_MINE)


def _sums(rows: list[Row]) -> str:
    """Return counts and amounts, such as `3 orders, GHS 37.50`."""
    return ", ".join(f"{row['count']} · {money(row['amount'], row['currency'])}" for row in rows)


_VIEW: Final = view_of(
    "id by opened_at closed_at closed_by",
    Head("ID", lambda row, _: clean(row["id"])),
    Head("BY", lambda row, _: clean(row["by"])),
    Head("OPENED", lambda row, t: clock(row["opened_at"], t)),
    Head("CLOSED", lambda row, t: clock(row["closed_at"], t) or "open"),
    Head("MADE", lambda row, _: _sums(row["made"]) or "—"),
    Head("PAID", lambda row, _: _sums(row["paid"]) or "—"),
    id="id",
)


@command("shift list", view=_VIEW)
def list_(
    client: Client, before: int | None = option("ID", "Those before this one.", min=1)
) -> Answer:
    """The newest come first, 50 at a time.

    Examples:
        momo shift list
        momo shift list --before 51
    """
    reply = client.get(Path.LOCAL_SHIFTS, before=before)
    return Answer(*reply.parts, empty="No shifts.", next=["momo shift open"])


@command("shift show", view=_VIEW)
def show(client: Client, terminal: Terminal, shift: str = _SHIFT) -> Answer:
    """Made are the orders that this person made, paid those of them that were paid in this time, settled what this person
    ended: the rest that came, in cash or by a payment, what was waived, change given back. --quiet prints nothing.

    Examples:
        momo shift show
        momo shift show 7
    """
    reply = client.get(path_of(Path.LOCAL_SHIFT, shift_id=shift))
    return Answer(reply.text, [reply.data], lines=_lines(reply.data, terminal))


@command("shift open", view=_VIEW)
def open_(client: Client, terminal: Terminal) -> Answer:
    """One that is open goes on: a person has one open shift.

    Examples:
        momo shift open
    """
    reply = client.call("POST", Path.LOCAL_SHIFTS, body={})
    return Answer(
        reply.text, [reply.data], lines=_lines(reply.data, terminal), next=["momo shift close"]
    )


@command("shift close", view=_VIEW)
def close(client: Client, terminal: Terminal, shift: str = _SHIFT) -> Answer:
    """Its sums then end. A closed one stays as it is.

    Examples:
        momo shift close
        momo shift close 7
    """
    reply = client.call("POST", path_of(Path.LOCAL_SHIFT_CLOSE, shift_id=shift), body={})
    return Answer(reply.text, [reply.data], lines=_lines(reply.data, terminal))


def _lines(row: Row, terminal: Terminal) -> list[str]:
    closed = f"to {clock(row['closed_at'], terminal)}" if row["closed_at"] else "open"
    who = f" by {clean(row['closed_by'])}" if row["closed_by"] not in {None, row["by"]} else ""
    lines = [
        f"Shift {clean(row['id'])} · {clean(row['by'])} · {clock(row['opened_at'], terminal)} {closed}{who}",
        f"  made     {_sums(row['made']) or '—'}",
        f"  paid     {_sums(row['paid']) or '—'}",
    ]
    return [*lines, *(f"  {settled_label(each)}: {_sums([each])}" for each in row["settled"])]
