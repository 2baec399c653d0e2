"""Journal entries in public form: money as decimal strings, and sentences for notices. Pure."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from daemon.core.text import BESIDE, Text, restore
from parsers.money import render

_MINOR: Final = "_minor"
_NAMES: Final = {"expected_minor": "expected_amount"}
"""Fields with another public name. All others only lose their unit: `amount_minor` becomes `amount`."""
_decode = msgspec.json.Decoder().decode
Facts = Mapping[str, Any]


def facts(data: str, currency: str | None) -> dict[str, Any]:
    """Return the details of an entry, whose money is in minor units, each named `..._minor`.

    `currency` is that of its subject; None is the cedi. A currency in the entry itself comes first.
    """
    held: dict[str, Any] = _decode(data)
    if BESIDE in data:
        held = {name: value for name, value in held.items() if not name.endswith(BESIDE)}
    if _MINOR not in data:
        return held
    unit = str(held.get("currency") or currency or "GHS")
    return dict(_fact(name, value, unit) for name, value in held.items())


def _fact(name: str, value: Any, currency: str) -> tuple[str, Any]:
    if not name.endswith(_MINOR):
        return name, value
    outside = _NAMES.get(name, name.removesuffix(_MINOR))
    return outside, None if value is None else render(value, currency)


NOTICES: Final = (
    "money_missing",
    "balance_warning",
    "receipt_forged",
    "receipt_suspect",
    "smsc_unknown",
    "forgery_flood",
    "wallet_asked",
    "money_contradicted",
    "approval_refused",
    "receipt_held",
    "receipt_old",
    "fact_refused",
    "branch_disputed",
    "branch_stale",
    "hub_refused",
    "branch_left",
    "sim_unconfirmed",
    "hub_restored",
    "order_lost",
    "id_conflict",
    "paid_twice",
    "payment_reversed",
    "reversal_unmatched",
)
"""The kinds of notices that the journal of an order or payment has."""


def notice_text(kind: str, facts: Facts) -> Text:
    """Return the sentence of a notice in the journal."""
    key, telco_id = f"notice.{kind}", facts.get("telco_transaction_id")
    if kind == "money_missing":
        return _missing(facts)
    if kind == "reversal_unmatched" and facts.get("original_telco_id") is not None:
        key, telco_id = "notice.reversal_unmatched_id", facts["original_telco_id"]
    if kind == "payment_reversed" and facts.get("settled") is not None:
        key = "notice.payment_reversed_settled"
    return Text(
        key,
        amount=_amount(facts, "amount_minor"),
        missing=_missing(facts),
        smsc=facts.get("smsc"),
        branch=facts.get("branch"),
        code=facts.get("settled"),
        fact=facts.get("fact"),
        reference=facts.get("reference"),
        why=restore(facts, "why"),
        by=facts.get("by"),
        left=_amount(facts, "left_minor"),
        struck=_amount(facts, "struck_minor"),
        id=telco_id,
        first_payment_id=facts.get("first_payment_id"),
        second_payment_id=facts.get("second_payment_id"),
    )


def _amount(facts: Facts, name: str) -> Text | str:
    minor, currency = facts.get(name), facts.get("currency")
    if minor is None or currency is None:
        return Text("journal.amount")
    return f"{currency} {render(abs(minor), str(currency))}"


def _missing(facts: Facts) -> Text:
    key = "notice.left" if (facts.get("gap_minor") or 0) < 0 else "notice.came_in"
    return Text(key, amount=_amount(facts, "gap_minor"))
