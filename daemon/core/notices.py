"""What the owner is told without having asked, in one sentence each. Pure."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from parsers.money import render

Facts = Mapping[str, Any]


def _amount(facts: Facts, key: str = "gap_minor") -> str:
    minor, currency = facts.get(key), facts.get("currency")
    if minor is None or currency is None:
        return "An amount"
    return f"{currency} {render(abs(minor), str(currency))}"


def _missing(facts: Facts) -> str:
    moved = "left" if (facts.get("gap_minor") or 0) < 0 else "came in"
    return f"{_amount(facts)} {moved} that no message told of: a message may have been lost."


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
        "A held receipt is shown to be forged: the line goes on without its money."
    ),
    "receipt_suspect": lambda _facts: (
        "The money of this receipt is not there: the line goes on as if it had never come. Look at the wallet."
    ),
    "receipt_restored": lambda _facts: "A receipt that was suspect is genuine after all.",
    "receipt_held": lambda _facts: (
        "A receipt has been held for half an hour: a person has to look."
    ),
    "payment_reversed": _reversed,
    "reversal_unmatched": _unmatched,
}
"""The sentence of each kind of notice."""
