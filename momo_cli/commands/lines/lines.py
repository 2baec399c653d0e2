"""The command lines: the phones, their SIMs and numbers."""

import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from daemon.wire import Path
from momo_cli import exit_codes
from momo_cli.errors import in_sandbox
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import WATCH, flag
from momo_cli.show.answer import Answer, Cell, Head, Row, view_of
from momo_cli.show.render import parse_interval, repeat_answer
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import phone, unaccounted_text
from momo_cli.socket.client import Client
from momo_cli.text import at, clean
from momo_cli.views.lines import simulated_notes, trouble_text

_HINTS_MAX: Final = 3
_GONE: Final = ("away", "gone", "unreachable")
_NO_PHONE: Final = "No phone connected. Plug in the modem and wait a moment."
_PRACTICE: Final = "Only simulated phones, for the sandbox: no real payment is seen."
_NO_SIM: Final = "A modem is connected, but no SIM can be read yet."
_VIEW: Final = view_of(
    "device_id phone slot_index network phone_number account_name payment_method_id",
    "reads_payments receiving receiving_reason unplaced_payments untold_in=unaccounted.came_in",
    "untold_out=unaccounted.went_out untold_since=unaccounted.since",
    Head("PHONE", lambda row, _: row["phone"]),
    Head("SLOT", lambda row, _: str(row["slot_index"]), right=True),
    Head("NETWORK", lambda row, _: row["network"] or "—"),
    Head("NUMBER", lambda row, _: phone(row["phone_number"]) or Cell("no number", "yellow")),
    Head("NAME", lambda row, _: row["account_name"] or "—"),
    Head("READS", lambda row, _: "yes" if row["reads_payments"] else "never"),
    Head("UNPLACED", lambda row, _: str(row["unplaced_payments"]), right=True),
    id="payment_method_id",
)


@command("lines status", view=_VIEW, read=True)
def lines(
    client: Client,
    terminal: Terminal,
    fail_if_unready: bool = flag("Exit 6 if a SIM has no number, a line cannot receive, or payments are unplaced."),
    watch: str | None = WATCH,
) -> Answer:
    """Ready: every connected SIM has a number. Receiving: messages can come to every line now. READS says whether the phone
    has ever read a payment message. UNPLACED counts the payments of the last 30 days that
    match none of your numbers. A note says when a balance changed by more than the messages of the last 30 days
    explain.

    Examples:
        momo lines
        momo lines --watch
        momo lines --fail-if-unready --quiet
    """
    look = partial(_look, client, fail_if_unready=fail_if_unready)
    return repeat_answer(look, client, terminal, _VIEW, parse_interval(watch))


def _look(client: Client, terminal: Terminal, *, fail_if_unready: bool) -> Answer:
    """Return the answer with one row per SIM."""
    reply = client.get(Path.LINES)
    data = reply.data or {}
    rows = [
        {
            "device_id": device.get("device_id"),
            "phone": device.get("name"),
            "slot_index": sim.get("slot_index"),
            "network": sim.get("network"),
            "phone_number": at(sim, "line.phone_number"),
            "account_name": at(sim, "line.account_name"),
            "payment_method_id": at(sim, "line.payment_method_id"),
            "reads_payments": device.get("reads_payments"),
            "receiving": sim.get("receiving"),
            "receiving_reason": sim.get("receiving_reason"),
            "unplaced_payments": sim.get("unplaced_payments") or 0,
            "unaccounted": sim.get("unaccounted"),
            "trouble": device.get("trouble"),
        }
        for device in data.get("phones") or ()
        for sim in device.get("sims") or ()
    ]
    ready, unplaced = bool(data.get("ready")), data.get("unplaced_payments") or 0
    bare = any(not row["phone_number"] for row in rows)
    asks = terminal.human or (fail_if_unready and ready and bare)
    modems = (client.find(Path.LOCAL_MODEMS) or ()) if asks else ()
    # Return the SIMs without a number, but for those whose phone is known not to be connected.
    # While there is one, no endpoint can be added. The daemon's `ready` asks only about phones
    # that have read a payment.
    gone = {each.get("device_id") for each in modems if each.get("state") in _GONE}
    missing = [row for row in rows if not row["phone_number"] and row["device_id"] not in gone]
    unready = "" if ready and not missing else _unready(rows, missing)
    shut, why = data.get("receiving") is False, clean(data.get("receiving_reason"))
    faults = [unready] if unready else []
    faults += [f"payments are not seen: {why}"] if shut else []
    matched = "payment matches" if unplaced == 1 else "payments match"
    faults += [f"{unplaced} {matched} none of your numbers"] if unplaced else []
    which = "every SIM in use" if bare else "every SIM"
    heading = terminal.style(f"READY  ✓ {which} has a number", "green")
    if unready:
        heading = terminal.style(f"NOT READY  ! {unready}", "yellow")
    heading += f"     UNPLACED (30 d)  {unplaced}"
    heading += f"\n{terminal.style(f'NOT RECEIVING  ✗ {why}', 'red')}" if shut else ""
    notes, next_ = list[str](), list[str]()
    if terminal.human:
        # Without a SIM there is no heading.
        told = str(data.get("receiving_reason")) if rows and shut else ""
        notes = [*_notes(rows, modems, terminal, told, moved=ready and unplaced > 0)]
        next_ = _next(client, rows, modems, missing, ready=ready, unplaced=unplaced)
    # A simulated phone is not the shop's.
    own = [each for each in modems if not each.get("simulated")]
    there = any(each.get("state") not in _GONE for each in own)
    without = _NO_SIM if there else _PRACTICE if modems and not own else _NO_PHONE
    return Answer(
        reply.text,
        rows,
        heading=heading,
        empty=without,
        notes=notes,
        next=list(map(in_sandbox, next_)) if client.sandbox else next_,
        exit_code=exit_codes.FINDINGS if fail_if_unready and faults else exit_codes.OK,
        faults=faults if fail_if_unready else None,
    )


def _unready(rows: Sequence[Row], missing: Sequence[Row]) -> str:
    if any(row["trouble"] for row in rows):
        return "a phone shows no messages"
    if not missing:
        return "a SIM has no number"
    names = ", ".join(f"{clean(row['phone'])}:{row['slot_index']}" for row in missing)
    return f"{'1 SIM has' if len(missing) == 1 else f'{len(missing)} SIMs have'} no number: {names}"


def _notes(rows: Sequence[Row], modems: Sequence[Row], terminal: Terminal, told: str, *, moved: bool) -> Iterator[str]:
    """Yield the troubles of the SIMs and the phones, but for the one that the heading has `told`."""
    for phone_name, trouble in {row["phone"]: row["trouble"] for row in rows}.items():
        if trouble:
            text, fix = clean(trouble.get("text")), clean(trouble.get("next"))
            yield f"{clean(phone_name)}: {text}. What to do: {fix}."
    for row in rows:
        if row["receiving"] is False and not row["trouble"] and row["receiving_reason"] != told:
            yield f"! {clean(row['phone'])}:{row['slot_index']}: {clean(row['receiving_reason'])}"
    if moved:
        yield "A SIM probably moved: some payments match none of your numbers."
    for row in rows:
        if moved_by := unaccounted_text(row["unaccounted"], terminal):
            number = phone(row["phone_number"]) or f"{row['phone']}:{row['slot_index']}"
            yield f"{number}: {moved_by}. A message may have been lost: look at the wallet's own history."
    troubles = ((modem, each) for modem in modems for each in modem.get("troubles") or ())
    yield from (f"! {trouble_text(*of)}" for of in troubles if of[1].get("text") != told)
    yield from simulated_notes(modems)


def _typed(row: Row) -> str:
    """Return a SIM as it is typed in a command."""
    return shlex.quote(f"{row['phone']}:{row['slot_index']}")


def _next(
    client: Client, rows: Sequence[Row], modems: Sequence[Row], missing: Sequence[Row], *, ready: bool, unplaced: int
) -> list[str]:
    if not rows:
        if modems and all(row.get("simulated") for row in modems) and not client.sandbox:
            return ["momo lines --sandbox"]
        fixes = [clean(each.get("fix")) for row in modems for each in row.get("troubles") or ()]
        typed = [fix for fix in fixes if fix.startswith("momo ")]
        return typed or ["momo doctor modem" if any(fixes) else "momo phones list --wait"]
    bare = missing or [row for row in rows if not row["phone_number"]]
    moved = next((row for row in rows if row["unplaced_payments"]), None)
    found = ["momo messages list --since 24h"] if ready and unplaced else []
    if bare:
        sim = _typed(bare[0])
        methods = client.find(Path.PAYMENT_METHODS) or ()
        free = [phone(row.get("phone_number")) for row in methods if not row.get("sim")]
        numbers = [number.replace(" ", "") for number in free[:_HINTS_MAX]]
        found = [f"momo lines update {number} --sim {sim}" for number in numbers]
        found = found or [f'momo lines add NUMBER --name "NAME" --sim {sim}']
        found.append(f"momo lines ignore {sim}")
    elif ready and moved is not None:
        found = [f"momo claim {phone(moved['phone_number']).replace(' ', '')} --dry-run"]
    return [*found, *(f"momo lines acknowledge {_typed(row)}" for row in rows if row["unaccounted"])]
