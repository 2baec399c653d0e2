"""The text of an error: what happened, and below it the facts that the daemon's error body has."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from daemon.wire import ErrorCode
from momo_cli.errors import Failure, as_clause, headline
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, money, payer_text, phone, state
from momo_cli.text import at, clean

PAID_BY: Final = "paid_by"
"""The fact in which `momo reconcile` keeps a sentence about the transaction that the payment already paid."""

_E = ErrorCode
_Error = Mapping[str, Any]
"""The member `error` of the daemon's error body."""


def explain_failure(failure: Failure, terminal: Terminal) -> tuple[str, list[str]]:
    """Return what happened, and the lines below it: the wrong fields, or the facts of the error."""
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
    payer = payer_text(at(row, "payer.name"), at(row, "payer.phone_number"))
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


def _already_verified(error: _Error, _: Terminal) -> str:
    telco_id = clean(error.get("verified_by_transaction_id"))
    word = state(error.get("transaction_status")).text.lstrip("✓!✗ ")
    return f"It is {word}, by the payment {telco_id}." if telco_id else ""


def _mismatch(error: _Error, _: Terminal) -> str:
    claimed, matched = money(error.get("claimed_amount")), money(error.get("matched_amount"))
    return f"You gave {claimed}, but {matched} was paid." if claimed and matched else ""


def _lines_not_ready(error: _Error, _: Terminal) -> str:
    sims = error.get("sims_without_number")
    if not isinstance(sims, list) or not sims:
        return ""
    names = [
        f"{clean(sim.get('name') or sim.get('device_id'))}:{sim.get('slot_index')}" for sim in sims
    ]
    has = "1 SIM has" if len(names) == 1 else f"{len(names)} SIMs have"
    return f"{has} no number: {', '.join(names)}."


def _sim_taken(error: _Error, _: Terminal) -> str:
    number = phone(error.get("phone_number"))
    return f"It holds {number}." if number else ""


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


def _wait(error: _Error, terminal: Terminal) -> str:
    until = _until(error, terminal)
    return f"It is locked until {until}, for {error['retry_after']} s." if until else ""


def _too_many(error: _Error, terminal: Terminal) -> str:
    until = _until(error, terminal)
    return f"Try again after {until}." if until else ""


def _still_tried(error: _Error, _: Terminal) -> str:
    status = clean(error.get("delivery_status"))
    return f"It is {status}." if status else ""


def _scopes(error: _Error, _: Terminal) -> str:
    scopes = error.get("required_scopes")
    if not isinstance(scopes, list) or not scopes:
        return ""
    return f"It needs {' or '.join(map(clean, scopes))}."


def _networks(error: _Error, _: Terminal) -> str:
    providers = error.get("providers")
    return f"They are {' and '.join(map(clean, providers))}." if isinstance(providers, list) else ""


def _decided(error: _Error, terminal: Terminal) -> str:
    word, when = clean(error.get("review_state")), clock(error.get("decided_at"), terminal)
    return f"It was {word} {when}.".replace(" .", ".") if word else ""


def _status(error: _Error, _: Terminal) -> str:
    word = state(error.get("transaction_status")).text.lstrip("✓!✗… ")
    return f"It is {word}." if word else ""


_FACTS: Final[Mapping[str, Callable[[_Error, Terminal], str]]] = {
    _E.ALREADY_VERIFIED: _already_verified,
    _E.AMOUNT_MISMATCH: _mismatch,
    _E.LINES_NOT_READY: _lines_not_ready,
    _E.SIM_ALREADY_ASSIGNED: _sim_taken,
    _E.INVALID_PASSWORD: _wrong_password,
    _E.TOO_MANY_ATTEMPTS: _wait,
    _E.RATE_LIMITED: _too_many,
    _E.DELIVERY_NOT_REDELIVERABLE: _still_tried,
    _E.INSUFFICIENT_SCOPE: _scopes,
    _E.AMBIGUOUS_TRANSACTION_ID: _networks,
    _E.REVIEW_ALREADY_DECIDED: _decided,
    _E.TRANSACTION_NOT_CANCELLABLE: _status,
}
"""The sentence made from the extra members of an error, by its code."""
