"""Show the lines: each phone, its SIMs, and the number on each.

READS says whether the phone has ever read a payment message; UNPLACED counts payments of the last
30 days that matched none of your numbers. A note says when a balance moved by more than the
messages of the last 30 days tell.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Cell, Field, Head, Row, View
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.modems import named, simulated
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.watching import Watch, every_s, watched
from momo_cli.words import phone, untold

EXAMPLES: Final = """\
  momo lines
  momo lines --watch
  momo lines --fail-if-unready --quiet
  momo lines --json --get data.ready
"""

_HINTS_MAX: Final = 3
VIEW: Final = View(
    fields=(
        Field("device_id"),
        Field("phone"),
        Field("slot_index"),
        Field("network"),
        Field("phone_number"),
        Field("account_name"),
        Field("payment_method_id"),
        Field("reads_payments"),
        Field("unplaced_payments"),
        Field("untold_in", "unaccounted.came_in"),
        Field("untold_out", "unaccounted.went_out"),
        Field("untold_since", "unaccounted.since"),
    ),
    heads=(
        Head("PHONE", lambda row, _: row["phone"]),
        Head("SLOT", lambda row, _: str(row["slot_index"]), right=True),
        Head("NETWORK", lambda row, _: row["network"] or "—"),
        Head("NUMBER", lambda row, _: _number(row)),
        Head("NAME", lambda row, _: row["account_name"] or "—"),
        Head("READS", lambda row, _: "yes" if row["reads_payments"] else "never"),
        Head("UNPLACED", lambda row, _: str(row["unplaced_payments"]), right=True),
    ),
    id="payment_method_id",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo lines`."""

    fail_if_unready: bool
    watch_s: float | None = None


def command(
    fail_if_unready: Annotated[
        bool,
        typer.Option(
            "--fail-if-unready",
            help="Exit 6 when a SIM has no number, or payments are unplaced.",
        ),
    ] = False,
    watch: Watch = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(fail_if_unready, every_s(watch)), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Look once, or for as long as it is watched."""
    return watched(
        lambda shown: _look(client, shown, options), client, terminal, VIEW, options.watch_s
    )


def _look(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the lines and lay out one row per SIM."""
    reply = client.get(Path.LINES)
    data = reply.data or {}
    rows = list(_rows(data))
    ready, unplaced = bool(data.get("ready")), data.get("unplaced_payments") or 0
    unready = options.fail_if_unready and (not ready or unplaced > 0)
    return Answer(
        document=reply.text,
        rows=rows,
        heading=_heading(terminal, rows, ready=ready, unplaced=unplaced),
        empty="" if rows else "No phone connected. Plug in the modem and wait a moment.",
        notes=[
            *_notes(rows, terminal, moved=ready and unplaced > 0),
            *_health(client),
        ]
        if terminal.human
        else (),
        next=_next(client, rows, ready=ready, unplaced=unplaced) if terminal.human else (),
        exit_code=exits.FINDINGS if unready else exits.OK,
        faults=_faults(rows, ready=ready, unplaced=unplaced) if options.fail_if_unready else None,
    )


def _faults(rows: list[Row], *, ready: bool, unplaced: int) -> list[str]:
    matched = "payment matches" if unplaced == 1 else "payments match"
    told = [f"{unplaced} {matched} none of your numbers"] if unplaced else []
    return told if ready else [_unready(rows), *told]


def _unready(rows: list[Row]) -> str:
    return "a phone shows no messages" if any(r["trouble"] for r in rows) else "a SIM has no number"


def _health(client: Client) -> Iterator[str]:
    """Say what is wrong with the phones; the line status itself only knows whether they are ready."""
    try:
        phones = client.get(Path.LOCAL_MODEMS).data or ()
    except Failure:
        return  # the lines are what was asked for
    for row in phones:
        for trouble in row.get("troubles") or ():
            yield f"! {named(row, trouble)}"
    yield from simulated(phones)


def _rows(data: dict[str, Any]) -> Iterator[Row]:
    for device in data.get("phones") or ():
        for sim in device.get("sims") or ():
            line = sim.get("line") or {}
            yield {
                "device_id": device.get("device_id"),
                "phone": device.get("name"),
                "slot_index": sim.get("slot_index"),
                "network": sim.get("network"),
                "phone_number": line.get("phone_number"),
                "account_name": line.get("account_name"),
                "payment_method_id": line.get("payment_method_id"),
                "reads_payments": device.get("reads_payments"),
                "unplaced_payments": sim.get("unplaced_payments") or 0,
                "unaccounted": sim.get("unaccounted"),
                "trouble": device.get("trouble"),
            }


def _notes(rows: list[Row], terminal: Terminal, *, moved: bool) -> Iterator[str]:
    for phone_name, trouble in {row["phone"]: row["trouble"] for row in rows}.items():
        if trouble:
            text, fix = clean(trouble.get("text")), clean(trouble.get("next"))
            yield f"{clean(phone_name)}: {text}. What to do: {fix}."
    if moved:
        yield "A SIM probably moved: some payments match none of your numbers."
    for row in rows:
        if told := untold(row["unaccounted"], terminal):
            number = phone(row["phone_number"]) or f"{row['phone']}:{row['slot_index']}"
            yield f"{number}: {told}. A message may have been lost: look at the wallet's own history."


def _without_sim(client: Client) -> list[str]:
    """Return the numbers that a SIM without one may be given."""
    try:
        methods = client.get(Path.PAYMENT_METHODS).data or ()
    except Failure:
        return []  # the lines are what was asked for
    free = (row for row in methods if not row.get("sim"))
    return [phone(row.get("phone_number")).replace(" ", "") for row in free][:_HINTS_MAX]


def _typed(row: Row) -> str:
    """Return a SIM as it is typed."""
    return shlex.quote(f"{row['phone']}:{row['slot_index']}")


def _number(row: Row) -> Cell | str:
    number = row["phone_number"]
    return phone(number) if number else Cell("no number", "yellow")


def _heading(terminal: Terminal, rows: list[Row], *, ready: bool, unplaced: int) -> str:
    # A phone that has never read a payment keeps nothing from being ready (interface.md, Line status).
    which = "every SIM" if all(row["phone_number"] for row in rows) else "every SIM in use"
    state = (
        terminal.style(f"READY  ✓ {which} has a number", "green")
        if ready
        else terminal.style(f"NOT READY  ! {_unready(rows)}", "yellow")
    )
    return f"{state}     UNPLACED (30 d)  {unplaced}"


def _next(client: Client, rows: list[Row], *, ready: bool, unplaced: int) -> list[str]:
    if not rows:
        return ["momo sims list --wait"]
    known = [f"momo sims acknowledge {_typed(row)}" for row in rows if row["unaccounted"]]
    return [*_next_for_payments(client, rows, ready=ready, unplaced=unplaced), *known]


def _next_for_payments(client: Client, rows: list[Row], *, ready: bool, unplaced: int) -> list[str]:
    bare = [row for row in rows if not row["phone_number"]]
    if bare:
        sim = _typed(bare[0])
        return [f"momo sims assign {sim} --method {each}" for each in _without_sim(client)] or [
            f"momo methods add --provider PROVIDER --phone NUMBER --name NAME --sim {sim}"
        ]
    moved = next((row for row in rows if row["unplaced_payments"]), None)
    if ready and moved is not None:
        return [f"momo claim {moved['payment_method_id']} --dry-run"]
    return ["momo messages list --since 24h"] if ready and unplaced else []
