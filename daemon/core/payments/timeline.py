"""The journal of one transaction in words, one sentence for each entry. Pure.

An entry contains its own facts. Only the money is looked up, because a payment is stored once.
"""

from collections.abc import Callable, Container, Mapping
from typing import Annotated, Any, Final, Self

import msgspec
from msgspec import Struct

from daemon.core import journal_text
from daemon.core.model import Event, Payment
from daemon.core.payments.reviews import explain_opened
from daemon.core.payments.suggestions import reason_texts
from daemon.core.shape import Id, Sentence, Time, sample, shown
from daemon.core.text import Text
from daemon.wire import ReviewReason
from parsers.money import render

Facts = Mapping[str, Any]
_decode = msgspec.json.Decoder().decode
_MATCHED: Final = frozenset({"code", "telco_id", "reconcile", "review"})
_KNOWN: Final = frozenset({"name", "approval"})
_SMS: Final = frozenset({"code", "code_again", "receipt", "notice", "test"})


class TransactionEventAnswer(Struct, frozen=True):
    """One entry of a transaction's journal."""

    id: Annotated[str, sample("412")]
    type: Annotated[str, sample("transaction.verified")]
    at: Time
    actor: Annotated[str, sample("system")]
    text: Annotated[
        Sentence,
        sample("GHS 25.00 from Ama Mensah (0012345678) paid it exactly, matched by the code that the payer typed."),
    ]
    payment_id: Id | None
    message_id: Id | None
    endpoint_id: Annotated[Id | None, sample(None)]
    details: Annotated[dict[str, Any], sample({"status": "SUCCESS"})]

    @classmethod
    def of(cls, event: Event, payment: Payment | None) -> Self:
        """Return the answer of an entry; `payment` is the entry's payment."""
        return shown(
            cls,
            event,
            id=str(event.seq),
            text=entry_text(event.type, _decode(event.data), payment),
            details=journal_text.facts(event.data, None if payment is None else payment.currency),
        )


def entry_text(kind: str, facts: Facts, payment: Payment | None) -> Text | str:
    """Return the sentence of an entry; an unknown kind is its own sentence."""
    notice = kind.removeprefix("notice.")
    if notice != kind and notice in journal_text.NOTICES:
        return journal_text.notice_text(notice, facts)
    sentence = _SENTENCES.get(kind)
    return f"{kind}." if sentence is None else sentence(facts, _money(payment))


Money = Text | str
"""A payment in a sentence: its amount, its payer and its network ID."""


def _money(payment: Payment | None) -> Money:
    if payment is None:
        return Text("journal.money")
    amount = f"{payment.currency} {render(payment.amount_minor, payment.currency)}"
    telco_id = payment.telco_id_as_read
    if not payment.payer_name:
        return f"{amount} ({telco_id})"
    return Text("journal.money_from", amount=amount, payer=payment.payer_name, id=telco_id)


def _known(name: str, value: object, known: Container[str]) -> Text | str:
    """Return the words `name` has for a value, nothing if it has none."""
    return Text(f"{name}.{value}") if value in known else ""


def _created(facts: Facts, _money: Money) -> Text:
    currency = str(facts["currency"])
    return Text("journal.asked", money=f"{currency} {render(facts['expected_minor'], currency)}")


def _verified(facts: Facts, money: Money) -> Text:
    return Text(
        f"journal.paid.{facts['status']}",
        money=money,
        how=_known("journal.by", facts.get("matched_by"), _MATCHED),
        late=Text("journal.late") if facts.get("late") else "",
        known=_known("journal.known", facts.get("payer_known_by"), _KNOWN),
    )


def _cancelled(facts: Facts, _money: Money) -> Text:
    why = facts.get("reason")
    return Text("journal.cancelled_why", notes=why) if why else Text("journal.cancelled")


def _settled(facts: Facts, _money: Money) -> Text:
    currency = str(facts["currency"])
    money = f"{currency} {render(facts['amount_minor'], currency)}"
    return Text(f"journal.settled.{facts['kind']}", money=money)


def _held(facts: Facts, money: Money) -> Text:
    if facts.get("reason") == ReviewReason.NEAR_MISS:
        return Text("journal.near_miss", money=money)
    return Text("journal.held", money=money, why=explain_opened(facts).short)


def _decided(key: str) -> Callable[[Facts, Money], Text]:
    def say(facts: Facts, money: Money) -> Text:
        notes = facts.get("notes")
        return Text(key, money=money, notes=Text("journal.notes", notes=notes) if notes else "")

    return say


def _walk_in(facts: Facts, money: Money) -> Text:
    if facts.get("rejected"):
        return Text("journal.walk_in_rejected", money=money)
    return Text("journal.walk_in_old" if facts.get("historical") else "journal.walk_in", money=money)


def _payer(key: str) -> Callable[[Facts, Money], Text]:
    def say(facts: Facts, _money: Money) -> Text:
        if not facts.get("name"):
            return Text(f"{key}_erased")
        return Text(key, name=facts["name"], phone=facts["phone_number"])

    return say


def _of_money(key: str) -> Callable[[Facts, Money], Text]:
    return lambda _facts, money: Text(key, money=money)


def _delivery(key: str) -> Callable[[Facts, Money], Text]:
    return lambda facts, _money: Text(key, event=facts.get("event"))


def _sms(outcome: str) -> Callable[[Facts, Money], Text]:
    def say(facts: Facts, _money: Money) -> Text:
        why = facts.get("why")
        return Text(
            f"journal.sms.{outcome}",
            what=_known("journal.sms.kind", facts.get("kind"), _SMS) or Text("journal.sms.kind"),
            why=Text("journal.because", why=why) if why else "",
        )

    return say


_SENTENCES: Final[Mapping[str, Callable[[Facts, Money], Text]]] = {
    "transaction.created": _created,
    "transaction.verified": _verified,
    "transaction.reconciled": lambda facts, money: Text(
        "journal.reconciled", money=money, id=facts["reconciliation_id"]
    ),
    "transaction.cancelled": _cancelled,
    "transaction.settled": _settled,
    "transaction.settlement_taken_back": lambda facts, _money: Text(
        "journal.settlement_reversed" if facts.get("reversed") else "journal.settlement_taken_back"
    ),
    "transaction.expired": lambda _facts, _money: Text("journal.expired"),
    "transaction.released": _of_money("journal.released"),
    "review.opened": _held,
    "review.approved": _decided("journal.approved"),
    "review.rejected": _decided("journal.rejected"),
    "review.taken_back": lambda facts, money: Text(
        f"journal.taken_back.{facts['decision']}", money=money, decided_by=facts["decided_by"]
    ),
    "payment.withdrawn": _of_money("journal.withdrawn"),
    "review.superseded": _of_money("journal.superseded"),
    "payment.walk_in": _walk_in,
    "payment.reversed": _of_money("journal.reversed"),
    "suggestion.accepted": lambda facts, money: Text(
        "journal.suggested", money=money, why=reason_texts(facts["reasons"])
    ),
    "transaction.payment_claimed": lambda facts, _money: Text("journal.claimed", id=facts["transaction_id"]),
    "payer.approved": _payer("journal.payer_approved"),
    "payer.revoked": _payer("journal.payer_revoked"),
    **{
        f"sms.{outcome}": _sms(outcome)
        for outcome in ("queued", "sent", "failed", "unknown", "expired", "delivered", "undelivered")
    },
    **{
        f"delivery.{outcome}": _delivery(f"journal.webhook_{outcome}")
        for outcome in ("delivered", "failed", "requeued")
    },
}
