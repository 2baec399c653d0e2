"""The fact that proves a refusal: the line below what happened, made from what the daemon's answer carries."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from daemon.wire import ErrorCode
from momo_cli.errors import Failure
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import clock, money, person, phone, state

PAID_BY: Final = "paid_by"
"""The fact in which `momo reconcile` keeps what the order is that the payment was used for, as a sentence."""

_E = ErrorCode
_Said = Mapping[str, Any]
"""The member `error` of the answer."""


def proof_of(failure: Failure, terminal: Terminal) -> str:
    """Return the sentence that proves it; empty when the answer carries no more than its code."""
    said = failure.body.get("error")
    said = said if isinstance(said, dict) else {}
    tell = _PROOFS.get(failure.code)
    return failure.facts.get(PAID_BY, "") or ("" if tell is None else tell(said, terminal))


def paid_by(row: _Said, terminal: Terminal) -> str:
    """Return what is known of an order that a payment was used for."""
    who = person(at(row, "payer.name"), at(row, "payer.phone_number"))
    network = clean(at(row, "telco.provider")).upper()
    told = (
        network,
        money(row.get("actual_amount"), row.get("currency")),
        f"from {who}" if who else "",
    )
    about = ", ".join(part for part in told if part)
    when = clock(at(row, "timeline.completed_at"), terminal)
    return (
        f"{clean(at(row, 'telco.transaction_id'))} ({about}) paid {clean(row.get('reference'))}"
        f"{f' on {when}' if when else ''}."
    ).replace(" on today", " today at")


def _already_verified(said: _Said, _: Terminal) -> str:
    telco_id = clean(said.get("verified_by_transaction_id"))
    word = state(said.get("transaction_status")).text.lstrip("✓!✗ ")
    return f"It is {word}, by the payment {telco_id}." if telco_id else ""


def _mismatch(said: _Said, _: Terminal) -> str:
    claimed, matched = money(said.get("claimed_amount")), money(said.get("matched_amount"))
    return f"You said {claimed}, and {matched} was paid." if claimed and matched else ""


def _lines_not_ready(said: _Said, _: Terminal) -> str:
    sims = said.get("sims_without_number")
    if not isinstance(sims, list) or not sims:
        return ""
    names = [
        f"{clean(sim.get('name') or sim.get('device_id'))}:{sim.get('slot_index')}" for sim in sims
    ]
    has = "1 SIM has" if len(names) == 1 else f"{len(names)} SIMs have"
    return f"{has} no number: {', '.join(names)}."


def _sim_taken(said: _Said, _: Terminal) -> str:
    number = phone(said.get("phone_number"))
    return f"It holds {number}." if number else ""


def _wrong_password(said: _Said, _: Terminal) -> str:
    left = said.get("attempts_remaining")
    if not isinstance(left, int):
        return ""
    return f"{left} {'try is' if left == 1 else 'tries are'} left in the next 15 minutes."


def _wait(said: _Said, terminal: Terminal) -> str:
    seconds = said.get("retry_after")
    if not isinstance(seconds, int):
        return ""
    until = terminal.now() + timedelta(seconds=seconds)
    return f"It is locked until {until.astimezone(terminal.zone):%H:%M:%S}, for {seconds} s."


def _too_many(said: _Said, terminal: Terminal) -> str:
    """Say what there were too many of, in the daemon's words, and when there may be more."""
    seconds, what = said.get("retry_after"), clean(said.get("message"))
    if not isinstance(seconds, int):
        return what
    after = (terminal.now() + timedelta(seconds=seconds)).astimezone(terminal.zone)
    return f"{what} Try again after {after:%H:%M:%S}.".strip()


def _still_tried(said: _Said, _: Terminal) -> str:
    status = clean(said.get("delivery_status"))
    return f"It is {status}." if status else ""


def _scopes(said: _Said, _: Terminal) -> str:
    scopes = said.get("required_scopes")
    return (
        f"It needs {' or '.join(map(clean, scopes))}."
        if isinstance(scopes, list) and scopes
        else ""
    )


def _networks(said: _Said, _: Terminal) -> str:
    providers = said.get("providers")
    return f"They are {' and '.join(map(clean, providers))}." if isinstance(providers, list) else ""


def _decided(said: _Said, terminal: Terminal) -> str:
    word, when = clean(said.get("review_state")), clock(said.get("decided_at"), terminal)
    return f"It was {word} {when}.".replace(" .", ".") if word else ""


def _status(said: _Said, _: Terminal) -> str:
    word = state(said.get("transaction_status")).text.lstrip("✓!✗… ")
    return f"It is {word}." if word else ""


_PROOFS: Final[Mapping[str, Callable[[_Said, Terminal], str]]] = {
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
"""How the answers that carry more than their code say so."""
