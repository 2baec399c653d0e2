"""The text of an error: its message, and below it the facts of the daemon's error body."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from daemon.wire import ErrorCode
from momo_cli.errors import Failure, as_clause, headline
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, money, payer_of, phone, state
from momo_cli.text import at, clean

PAID_BY: Final = "paid_by"
"""The fact in which `momo reconcile` keeps a sentence about the transaction that the payment already paid."""

_E = ErrorCode
_Error = Mapping[str, Any]
"""The member `error` of the daemon's error body."""


def explain_failure(failure: Failure, terminal: Terminal) -> tuple[str, list[str]]:
    """Return the error's message, and the lines below it: the wrong fields, or the facts of the error."""
    fields = at(failure.body, "error.details")
    if isinstance(fields, list) and fields:
        wrong = [f"{clean(at(each, 'field'))}: {clean(at(each, 'message'))}" for each in fields]
        return (f"{len(wrong)} values are wrong", wrong) if len(wrong) > 1 else (wrong[0], [])
    happened, facts = headline(failure), _facts(failure, terminal) or clean(failure.message)
    repeats = as_clause(facts).casefold() == happened.casefold()
    return happened, [facts] if facts and not repeats else []


def _facts(failure: Failure, terminal: Terminal) -> str:
    error = failure.body.get("error")
    describe = _FACTS.get(failure.code)
    if PAID_BY in failure.facts or describe is None:
        return failure.facts.get(PAID_BY, "")
    return describe(error if isinstance(error, dict) else {}, terminal)


def paid_by(row: _Error, terminal: Terminal) -> str:
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


def _said(sentence: str, *parts: str) -> str:
    """Return the sentence with the parts filled in; empty if the daemon did not send one of them."""
    return sentence.format(*parts) if all(parts) else ""


def _list(value: object, word: str) -> str:
    return f" {word} ".join(map(clean, value)) if isinstance(value, list) else ""


def _status(error: _Error) -> str:
    return state(error.get("transaction_status")).text.lstrip("✓!✗… ")


def _lines_not_ready(error: _Error, _: Terminal) -> str:
    sims = error.get("sims_without_number")
    if not isinstance(sims, list) or not sims:
        return ""
    phones = [clean(sim.get("name") or sim.get("device_id")) for sim in sims]
    names = [f"{name}:{sim.get('slot_index')}" for name, sim in zip(phones, sims, strict=True)]
    has = "1 SIM has" if len(names) == 1 else f"{len(names)} SIMs have"
    return f"{has} no number: {', '.join(names)}."


def _wrong_password(error: _Error, _: Terminal) -> str:
    left = error.get("attempts_remaining")
    if not isinstance(left, int):
        return ""
    return f"{left} {'try is' if left == 1 else 'tries are'} left in the next 15 minutes."


def _until(error: _Error, terminal: Terminal) -> str:
    """Return the time when the call may be repeated; empty if unknown."""
    seconds = error.get("retry_after")
    if not isinstance(seconds, int):
        return ""
    return f"{(terminal.now() + timedelta(seconds=seconds)).astimezone(terminal.zone):%H:%M:%S}"


def _decided(error: _Error, terminal: Terminal) -> str:
    word = clean(error.get("review_state")).replace("_", " ")
    when = clock(error.get("decided_at"), terminal)
    return _said("It was {}.", word and f"{word} {when}".strip())


_FACTS: Final[Mapping[str, Callable[[_Error, Terminal], str]]] = {
    _E.ALREADY_VERIFIED: lambda error, _: _said(
        "It is {}, by the payment {}.",
        _status(error),
        clean(error.get("verified_by_transaction_id")),
    ),
    _E.AMOUNT_MISMATCH: lambda error, _: _said(
        "You gave {}, but {} was paid.",
        money(error.get("claimed_amount")),
        money(error.get("matched_amount")),
    ),
    _E.LINES_NOT_READY: _lines_not_ready,
    _E.SIM_ALREADY_ASSIGNED: lambda error, _: _said(
        "It holds {}.", phone(error.get("phone_number"))
    ),
    _E.INVALID_PASSWORD: _wrong_password,
    _E.TOO_MANY_ATTEMPTS: lambda error, terminal: _said(
        "It is locked until {}, for {} s.", _until(error, terminal), str(error.get("retry_after"))
    ),
    _E.RATE_LIMITED: lambda error, terminal: _said("Try again after {}.", _until(error, terminal)),
    _E.DELIVERY_NOT_REDELIVERABLE: lambda error, _: _said(
        "It is {}.", clean(error.get("delivery_status"))
    ),
    _E.INSUFFICIENT_SCOPE: lambda error, _: _said(
        "It needs {}.", _list(error.get("required_scopes"), "or")
    ),
    _E.AMBIGUOUS_TRANSACTION_ID: lambda error, _: _said(
        "They are {}.", _list(error.get("providers"), "and")
    ),
    _E.REVIEW_ALREADY_DECIDED: _decided,
    _E.TRANSACTION_NOT_CANCELLABLE: lambda error, _: _said("It is {}.", _status(error)),
    _E.NOT_SETTLEABLE: lambda error, _: _said("It is {}.", _status(error)),
}
"""The sentence made from the extra members of an error, by its code."""
