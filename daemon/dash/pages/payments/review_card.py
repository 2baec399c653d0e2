"""The card of one review: the doubt, the transaction beside the payment, the differences, the effects of each decision."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from daemon.core.messages.balance_chain import Standing
from daemon.core.model import Payment, Transaction
from daemon.core.payments.matching import VERIFIED
from daemon.core.payments.review_json import ReviewEvidence, explanation
from daemon.core.payments.reviews import REASONS, Explanation
from daemon.dash.parts.message_text import visible
from daemon.dash.web.visit import Visit
from daemon.wire import ReviewReason, TransactionStatus
from parsers import person_name
from parsers.money import read_api_amount
from parsers.phone import read_phone
from parsers.reading import Kind, normalize_telco_id
from parsers.svc_code import candidates

_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode
NOBODY: Final = "none"
"""The choice to keep the payment without an order."""
HELD: Final = "held"
"""The choice of the order that the review is about."""


class Paid(Struct, frozen=True):
    """The fields of the message or the payment, as plain values; None for a field that it does not have."""

    amount_minor: int | None
    currency: str
    payer_name: str | None
    payer_phone: str | None
    typed: str | None
    telco_id: str | None
    balance_minor: int | None
    at: int


class Difference(Struct, frozen=True):
    """One line of the comparison: its name, both values, a sentence about them, and whether they fit."""

    what: str
    paid: str
    asked: str
    text: str
    tone: str


class Option(Struct, frozen=True):
    """A transaction that an approval may pay; `value` is the value in the form, `why` the reason for the offer."""

    value: str
    order: Transaction | None
    why: str


class Card(Struct, frozen=True):
    """One review as it is shown.

    Attributes:
        why: The texts of its reason.
        forged: It may be forged, so it needs the password.
        paid: The paid money.
        order: The order beside it; None if there is none.
        options: The transactions that an approval may pay; the first is chosen if there is only one, or if it is suggested.
        chosen: `value` of the chosen option; "" if the person has to choose.
        differences: Line by line, payment and order.
        approve: The effects of an approval.
        reject: The effects of a rejection.
        by_itself: It may be settled by later messages.
        group: How many messages share this review.
        doubts: Further doubts, in words.
    """

    why: Explanation
    forged: bool
    paid: Paid
    order: Transaction | None
    options: Sequence[Option]
    chosen: str
    differences: Sequence[Difference]
    approve: Sequence[str]
    reject: Sequence[str]
    by_itself: bool
    group: int | None
    doubts: Sequence[str]


def card(visit: Visit, evidence: ReviewEvidence) -> Card:
    """Return the card of a review."""
    t = visit.words
    details = _decode(evidence.review.details)
    paid = paid_of(evidence)
    options = [] if _is_reversal(evidence) else _options(visit, evidence)
    order = next((one.order for one in options if one.order is not None), None)
    if order is None and evidence.request is not None:
        order = evidence.request[0]
    likely = bool(evidence.suggestions) or len(options) <= 2 or options[0].value == HELD
    group = details.get("group")
    standing = None if evidence.place is None else evidence.place.entry.standing
    return Card(
        why=explanation(evidence),
        forged=REASONS[evidence.review.reason].needs_password,
        paid=paid,
        order=order,
        options=options,
        chosen=NOBODY if not options else options[0].value if likely else "",
        differences=[] if order is None else differences(visit, paid, order),
        approve=_approve(visit, evidence, options),
        reject=_reject(visit, evidence, group),
        by_itself=evidence.payment is None and standing in {Standing.HELD, Standing.UNCONFIRMED},
        group=group if isinstance(group, int) else None,
        doubts=[t(f"doubt_{one}") for one in details.get("doubts") or () if t.has(f"doubt_{one}")],
    )


def paid_of(evidence: ReviewEvidence) -> Paid:
    """Return the paid money, from the payment, or from the fields that were read from the message."""
    row = evidence.payment
    if row is not None:
        return _of_payment(row)
    fields: Mapping[str, Any] = _decode(evidence.message.fields)
    currency = str(fields.get("currency") or "GHS")

    def money(name: str) -> int | None:
        return read_api_amount(str(fields.get(name) or ""), currency)

    return Paid(
        money("amount"),
        currency,
        fields.get("payer_name"),
        read_phone(str(fields.get("payer_phone") or "")),
        fields.get("reference"),
        fields.get("transaction_id"),
        money("balance"),
        evidence.message.sent_at or evidence.message.received_at,
    )


def _of_payment(row: Payment) -> Paid:
    return Paid(
        row.amount_minor,
        row.currency,
        row.payer_name,
        row.payer_phone,
        row.reference_text,
        row.telco_id_as_read,
        row.balance_minor,
        row.telco_at,
    )


def _is_reversal(evidence: ReviewEvidence) -> bool:
    return evidence.payment is None and evidence.message.kind == Kind.REVERSAL


def _options(visit: Visit, evidence: ReviewEvidence) -> list[Option]:
    """Return the transactions that an approval may pay, the likeliest first.

        An approval without a transaction pays the one of the review, so the option "none" exists only if the review has none
    to pay.
    """
    t = visit.words
    held = None if evidence.request is None else evidence.request[0]
    if held is not None and held.status in VERIFIED:
        held = None
    found = [
        Option(
            one.request.reference, one.request, ", ".join(t(f"why_{each}") for each in one.reasons)
        )
        for one in evidence.suggestions
    ]
    if held is not None:
        found.append(Option(HELD, held, t("why_held")))
    known = {option.order.id for option in found if option.order is not None}
    found += [
        Option(one.reference, one, t("why_named"))
        for one in evidence.named
        if one.status not in VERIFIED and one.id not in known
    ]
    if held is None:
        found.append(Option(NOBODY, None, t("why_none")))
    return found


def differences(visit: Visit, paid: Paid, order: Transaction) -> list[Difference]:
    """Compare a payment with an order, in words."""
    found = [_amount(visit, paid, order), _code(visit, paid, order)]
    found += _payer(visit, paid, order)
    t = visit.words
    if order.expected_telco_transaction_id is not None:
        same = normalize_telco_id(paid.telco_id or "") == order.expected_telco_transaction_id
        found.append(
            _row(t, "id", paid.telco_id or "—", order.expected_telco_transaction_id, same=same)
        )
    for at, key in ((order.cancelled_at, "cancelled"), (order.expires_at, "expired")):
        over = order.status == TransactionStatus.CANCELLED if key == "cancelled" else True
        if at is not None and over and paid.at > at:
            sentence = t(f"differs_{key}")
            found.append(
                Difference(t("differs_time"), t.moment(paid.at), t.moment(at), sentence, "bad")
            )
            break
    if order.status in VERIFIED:
        found.append(Difference(t("state"), "", "", t("differs_paid_before"), "bad"))
    return found


def _row(t: Any, name: str, paid: str, asked: str, *, same: bool) -> Difference:
    text = t("differs_same") if same else t(f"differs_{name}_other")
    return Difference(t(f"differs_{name}"), paid, asked, text, "good" if same else "bad")


def _amount(visit: Visit, paid: Paid, order: Transaction) -> Difference:
    t = visit.words
    asked, money = order.expected_minor, paid.amount_minor
    shown = visit.money(money, paid.currency), visit.money(asked, order.currency)
    if asked is None or money is None or order.currency != paid.currency:
        return Difference(t("amount"), *shown, t("differs_unknown"), "warn")
    if money == asked:
        return Difference(t("amount"), *shown, t("differs_same"), "good")
    key = "differs_short" if money < asked else "differs_over"
    text = t(key, amount=visit.money(abs(money - asked), paid.currency))
    return Difference(t("amount"), *shown, text, "bad")


def _code(visit: Visit, paid: Paid, order: Transaction) -> Difference:
    t = visit.words
    typed, code = visible(paid.typed), order.svc_code or "—"
    if not typed:
        return Difference(t("code_of"), "—", code, t("differs_no_code"), "warn")
    return _row(t, "code", typed, code, same=code in candidates(typed.upper()))


def _payer(visit: Visit, paid: Paid, order: Transaction) -> list[Difference]:
    t = visit.words
    found = []
    wanted = order.expected_payer_phone
    if wanted is not None:
        if paid.payer_phone is None:
            text, tone = t("differs_no_phone"), "warn"
            found.append(Difference(t("phone"), "—", visit.phone(wanted), text, tone))
        else:
            shown = visit.phone(paid.payer_phone), visit.phone(wanted)
            found.append(_row(t, "phone", *shown, same=paid.payer_phone == wanted))
    name = order.expected_payer_name or order.customer_name
    if name:
        if paid.payer_name is None:
            found.append(Difference(t("payer"), "—", visible(name), t("differs_no_name"), "warn"))
        else:
            same = person_name.is_same(paid.payer_name, name)
            near = not same and person_name.is_similar(paid.payer_name, name)
            both = visible(paid.payer_name), visible(name)
            if near:
                found.append(Difference(t("payer"), *both, t("differs_name_near"), "warn"))
            else:
                found.append(_row(t, "name", *both, same=same))
    return found


def _approve(visit: Visit, evidence: ReviewEvidence, options: Sequence[Option]) -> list[str]:
    """Return the effects of an approval, sentence by sentence."""
    t = visit.words
    reason = evidence.review.reason
    if _is_reversal(evidence):
        return [t("approve_reversal")]
    found = []
    if any(option.order is not None for option in options):
        found.append(t("approve_order"))
    if any(option.order is None for option in options):
        near = reason == ReviewReason.NEAR_MISS
        found.append(t("approve_near_none" if near else "approve_none"))
    if t.has(f"approve_{reason}"):
        found.append(t(f"approve_{reason}"))
    return found


def _reject(visit: Visit, evidence: ReviewEvidence, group: object) -> list[str]:
    t = visit.words
    if _is_reversal(evidence):
        return [t("reject_reversal")]
    if evidence.payment is None:
        found = [t("reject_message")]
        if isinstance(group, int):
            found.append(t.number("reject_group", group))
    else:
        found = [t("reject_payment")]
    request = evidence.request
    if request is not None and request[0].status not in VERIFIED:
        found.append(t("reject_waits"))
    return found
