"""Journal entries in public form: money as decimal strings, and sentences for notices. Pure."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from parsers.money import render

_MINOR: Final = "_minor"
_NAMES: Final = {"expected_minor": "expected_amount"}
"""Fields with another public name. All others only lose their unit: `amount_minor` becomes `amount`."""
_decode = msgspec.json.Decoder().decode
Facts = Mapping[str, Any]


def facts(data: str, currency: str | None) -> dict[str, Any]:
    """Return the details of an entry.

    Args:
        data: The entry's JSON; money in it is in minor units, each named `..._minor`.
        currency: ISO 4217 code of the entry's subject; None is the cedi. A currency in the entry itself comes first.
    """
    held: dict[str, Any] = _decode(data)
    if _MINOR not in data:
        return held
    unit = str(held.get("currency") or currency or "GHS")
    return dict(_fact(name, value, unit) for name, value in held.items())


def _fact(name: str, value: Any, currency: str) -> tuple[str, Any]:
    if not name.endswith(_MINOR):
        return name, value
    outside = _NAMES.get(name, name.removesuffix(_MINOR))
    return outside, None if value is None else render(value, currency)


def _amount(facts: Facts, key: str = "gap_minor") -> str:
    minor, currency = facts.get(key), facts.get("currency")
    if minor is None or currency is None:
        return "An amount"
    return f"{currency} {render(abs(minor), str(currency))}"


def _missing(facts: Facts) -> str:
    moved = "left" if (facts.get("gap_minor") or 0) < 0 else "came in"
    return f"{_amount(facts)} {moved} without a message: a message may have been lost."


def _reversed(facts: Facts) -> str:
    return f"{_amount(facts, 'amount_minor')} was taken back by the network."


def _unmatched(facts: Facts) -> str:
    amount = _amount(facts, "amount_minor")
    original = facts.get("original_telco_id")
    if original is None:
        return f"{amount} was taken back by the network, which does not say of which payment."
    return f"{amount} was taken back by the network: the payment {original}, which is not here."


SENTENCES: Final[Mapping[str, Callable[[Facts], str]]] = {
    "money_missing": _missing,
    "balance_warning": lambda facts: (
        f"The balance in this receipt does not follow from the one before it. {_missing(facts)}"
    ),
    "receipt_forged": lambda _facts: (
        "A held receipt is forged: the balances of later messages do not contain its money."
    ),
    "receipt_suspect": lambda facts: (
        f"{_amount(facts, 'amount_minor')} was paid before it was confirmed, and later balances do not contain it. "
        "It is probably forged: check the wallet."
    ),
    "smsc_unknown": lambda facts: (
        f"A message came through {facts.get('smsc')}, a service centre that this SIM never used, and its balance fits. "
        "If the wallet holds it, approve the message: the network may have a new service centre."
    ),
    "forgery_flood": lambda _facts: (
        "Over 20 doubtful messages in an hour claim to be of the network. They share one review."
    ),
    "receipt_held": lambda _facts: (
        "A receipt has been held for half an hour and needs your decision."
    ),
    "fact_refused": lambda facts: (
        f"The branch {facts.get('branch')} sent a {facts.get('fact')} that cannot be stored: {facts.get('why')}. It is kept "
        "aside, and the rest goes on."
    ),
    "branch_disputed": lambda facts: (
        f"Two machines send as the branch {facts.get('branch')}, and nothing is taken from either. Invite the branch again, "
        "and join at the machine that has the modem."
    ),
    "hub_restored": lambda facts: (
        f"The branch {facts.get('branch')} had sent more than is here: this hub was restored to an earlier state. The branch "
        "sends again; orders that were made here meanwhile are gone."
    ),
    "id_conflict": lambda facts: (
        f"The branch {facts.get('branch')} has a payment {facts.get('telco_transaction_id')} that another branch has with "
        "another amount or from another SIM. Only the first one counts."
    ),
    "paid_twice": lambda facts: (
        f"The payment {facts.get('telco_transaction_id')} paid an order at two branches: one of them has no money."
    ),
    "payment_reversed": _reversed,
    "reversal_unmatched": _unmatched,
}
"""The sentence of each kind of notice."""
