"""The text of an error: its message, and below it the facts of the daemon's error body."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from momo_cli.errors import Failure, as_clause, headline
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, money, payer_of, phone, state
from momo_cli.text import at, clean

PAID_BY: Final = "paid_by"
"""The fact in which `momo reconcile` keeps a sentence about the transaction that the payment already paid."""
_NO_FACTS: Final = (
    "code", "message", "hint", "next", "details", "doc_url", "reason", "request_id", "payment_method_id",
)  # fmt: skip
"""The members of an error that are no facts for people, or that the message says."""

_BY_SUFFIX: Final[Mapping[str, Callable[[object], str]]] = {
    "status": lambda value: state(value).text.lstrip("✓!✗… "),
    "state": lambda value: clean(value).replace("_", " "),
    "amount": money,
    "number": phone,
}
"""How the value of a member is written, by the last word of its name."""


def explain_failure(failure: Failure, terminal: Terminal) -> tuple[str, list[str]]:
    """Return the error's message, and the lines below it: the wrong fields, or the facts of the error."""
    fields = at(failure.body, "error.details")
    if isinstance(fields, list) and fields:
        wrong = [f"{clean(at(each, 'field'))}: {clean(at(each, 'message'))}" for each in fields]
        return (f"{len(wrong)} values are wrong", wrong) if len(wrong) > 1 else (wrong[0], [])
    error = failure.body.get("error")
    facts = ", ".join(_facts(error if isinstance(error, dict) else {}, terminal))
    happened = headline(failure)
    said = failure.facts.get(PAID_BY) or facts or clean(failure.message)
    repeats = as_clause(said).casefold() == as_clause(happened).casefold()
    return happened, [said] if said and not repeats else []


def _facts(error: Mapping[str, Any], terminal: Terminal) -> Iterator[str]:
    """Yield the further members of an error by their names; a new one of a later daemon too."""
    for name, value in error.items():
        words, shown = name.replace("_", " "), ""
        if name.endswith("_at"):
            words, shown = "", clock(value, terminal)
        elif name == "retry_after" and isinstance(value, int):
            until = (terminal.now() + timedelta(seconds=value)).astimezone(terminal.zone)
            shown = f"{value} s, at {until:%H:%M:%S}"
        elif isinstance(value, list):
            shown = " or ".join(filter(None, map(_item, value)))
        elif isinstance(value, str | int) and not isinstance(value, bool):
            shown = _BY_SUFFIX.get(name.rpartition("_")[2], clean)(value)
        if shown and name not in _NO_FACTS:
            yield f"{words} {shown}".lstrip()


def _item(value: object) -> str:
    """Return one value of a list: a word, or a SIM as it is typed."""
    if isinstance(value, str):
        return clean(value)
    slot = at(value, "slot_index")
    return "" if slot is None else f"{clean(at(value, 'name') or at(value, 'device_id'))}:{slot}"


def paid_by(row: Mapping[str, Any], terminal: Terminal) -> str:
    """Return a sentence about the transaction that a payment already paid."""
    payer = payer_of(row)
    parts = (
        clean(at(row, "telco.provider")).upper(),
        money(row.get("actual_amount"), row.get("currency")),
        f"from {payer}" if payer else "",
    )
    about = ", ".join(part for part in parts if part)
    when = clock(at(row, "timeline.completed_at"), terminal)
    return (
        f"{clean(at(row, 'telco.transaction_id'))} ({about}) paid {clean(row.get('reference'))}"
        f"{f' on {when}' if when else ''}."
    ).replace(" on today", " today at")
