"""JSON objects of reviews with their evidence, and of approved payers. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

import msgspec
from msgspec import UNSET, Struct, UnsetType

from daemon.core import shape
from daemon.core.json_values import Payer, PayerSources, amount_or_none, payer_of, timestamp, timestamp_or_none
from daemon.core.messages.balance_chain import Why
from daemon.core.messages.message_json import (
    BalanceChainAnswer,
    ChainPosition,
    KindOfMessage,
    MessageFields,
    Reasons,
    Sender,
    Smsc,
    State,
    Trusted,
    balance_chain,
    reasons_of,
)
from daemon.core.model import ApprovedPayer, Message, Payment, PaymentMethod, Review, Transaction
from daemon.core.names import network_of
from daemon.core.payments.reviews import REASONS, Explanation, by_itself, explain
from daemon.core.payments.suggestions import Suggestion
from daemon.core.payments.transaction_json import TransactionListItemAnswer, of_branch
from daemon.core.shape import FLAT, STORED_JSON, about, flat, marked, sample, shown
from daemon.wire import Mode, ReviewReason, TransactionStatus
from parsers.money import render
from parsers.read import PROVIDERS
from parsers.reading import Kind

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class ReviewEvidence(Struct, frozen=True):
    """A review and the rows that belong to it.

    Attributes:
        line: The merchant number that the message came to.
        payment: None while the message has not become a payment.
        request: The transaction under review, and the payment that pays it.
        pays: The transaction or holder that the payment verifies now.
        other_payment: The payment that already has this transaction ID.
        other_message: The message that has this transaction ID, if it is not a payment itself.
        named: The transactions with a code in its reference.
        suggestions: The transactions that it may be meant for now, the likeliest first.
        place: Position of the message in the balance chain of its line; None if it is in none.
        approving_by: The user whose approval in the dashboard can still be undone.
    """

    review: Review
    message: Message
    line: PaymentMethod | None
    payment: Payment | None
    request: tuple[Transaction, Payment | None] | None
    pays: Transaction | None
    other_payment: Payment | None
    named: tuple[Transaction, ...]
    other_message: Message | None = None
    suggestions: tuple[Suggestion, ...] = ()
    place: ChainPosition | None = None
    approving_by: str | None = None


class ReviewMessage(Struct, frozen=True):
    """The message under review, with the real senders of its network."""

    id: shape.Id
    sender: Sender
    sender_type: Annotated[str, sample("alphanumeric")]
    expected_senders: list[Sender]
    smsc: Smsc | None
    smsc_ts: shape.Time | None
    received_at: shape.Time
    state: State
    kind: KindOfMessage | None
    provider: shape.Provider | None
    fields: MessageFields
    trusted: Trusted
    reasons: Reasons

    @classmethod
    def of(cls, row: Message) -> Self:
        """Return the answer of a message."""
        provider = None if row.provider is None else PROVIDERS.get(row.provider)
        return shown(
            cls, row, expected_senders=[] if provider is None else list(provider.senders),
            smsc_ts=timestamp_or_none(row.sent_at), fields=_decode(row.fields), reasons=reasons_of(row),
        )  # fmt: skip


class ReviewLine(Struct, frozen=True):
    """The merchant number that the message came to."""

    payment_method_id: shape.Id
    phone_number: shape.Phone
    account_name: shape.AccountName
    provider: shape.Provider


class SimPlace(Struct, frozen=True):
    """The SIM that received the message."""

    device_id: shape.Id | None
    slot_index: shape.Count | None


class ReviewPayment(Struct, frozen=True):
    """A payment, and what it pays now."""

    id: shape.Id
    provider: shape.Provider
    network: Annotated[str, sample("mtn")]
    transaction_id: shape.TelcoId
    amount: shape.Amount
    currency: shape.Currency
    balance: shape.Amount | None
    payer: Payer
    payer_source: PayerSources
    reference_text: Annotated[str, sample("A7K2M9")] | None
    timestamp: shape.Time
    received_at: shape.Time
    reversed_at: shape.NoTime
    standing: Annotated[str, sample("review")]
    reference: Annotated[shape.Reference | None, about("the transaction that it pays now")]

    @classmethod
    def of(cls, row: Payment, pays: Transaction | None) -> Self:
        """Return the answer of a payment."""
        payer, source = payer_of(None, row)
        return shown(
            cls, row, network=network_of(row.provider), transaction_id=row.telco_id_as_read,
            amount=render(row.amount_minor, row.currency), balance=amount_or_none(row.balance_minor, row.currency),
            payer=payer, payer_source=source, timestamp=timestamp(row.telco_at), received_at=timestamp(row.stored_at),
            reference=None if pays is None else pays.reference,
        )  # fmt: skip


class ReviewRequest(TransactionListItemAnswer, frozen=True, kw_only=True):
    """The transaction under review, and what it expects."""

    expires_at: shape.Time | None
    cancelled_at: shape.NoTime
    expected_payer_phone: shape.Phone | None
    expected_payer_name: Annotated[str | None, sample(None)]
    expected_telco_transaction_id: Annotated[str | None, sample(None)]
    client_reference: shape.OrderReference | None


class SuggestedTransaction(TransactionListItemAnswer, frozen=True, kw_only=True):
    """A transaction with when it ends."""

    expires_at: shape.Time | None
    client_reference: shape.OrderReference | None


class SuggestionAnswer(Struct, frozen=True):
    """A suggested transaction, and why it is suggested."""

    rank: Annotated[int, sample(1, ge=1)]
    reasons: list[Annotated[str, sample("one_character_off")]]
    why: Annotated[shape.Sentence, sample("the code is one character off")]
    transaction: Annotated[SuggestedTransaction, FLAT]


class ReviewAnswer(Struct, frozen=True):
    """A held payment or message, with everything that its decision needs."""

    id: shape.Id
    reason: Annotated[ReviewReason, sample(ReviewReason.PAYER_MISMATCH)]
    state: Annotated[str, sample("open")]
    summary: Annotated[shape.Sentence, sample("Another number paid")]
    why: Annotated[shape.Sentence, sample("The transaction expects its money from another number.")]
    by_itself: Annotated[
        shape.Sentence | None,
        sample("It waits for your decision.", "what releases it without a decision; null once decided"),
    ]
    what_to_do: Annotated[shape.Sentence, sample("Ask the customer who paid; approve it when the answer fits.")]
    needs_password: shape.Flag
    amount: shape.Amount | None
    currency: shape.Currency | None
    created_at: shape.Time
    decided_at: shape.NoTime
    decided_by: Annotated[str | None, sample(None)]
    notes: Annotated[str | None, sample(None)]
    approving_by: Annotated[
        str | None, sample(None, "whose approval in the dashboard can still be undone; null when none waits")
    ]
    test: shape.Test
    message: ReviewMessage
    line: ReviewLine | None
    sim: SimPlace
    payment: ReviewPayment | None
    request: ReviewRequest | None
    other_payment: Annotated[ReviewPayment | None, sample(None)]
    other_message: Annotated[ReviewMessage | None, sample(None)]
    orders_named: Annotated[list[TransactionListItemAnswer], sample([])]
    suggestions: Annotated[
        list[SuggestionAnswer], sample([], "transactions that it may be meant for, the likeliest first")
    ]
    balance_chain: Annotated[BalanceChainAnswer | None, sample(None)]
    details: Annotated[dict[str, Any], sample({}), STORED_JSON]
    branch_id: shape.BranchId | UnsetType = UNSET
    branch: shape.BranchName | UnsetType = UNSET

    @classmethod
    def of(cls, evidence: ReviewEvidence, now_us: int, names: Mapping[str, str] | None = None) -> Self:
        """Return the answer of a review; `names` are those of a hub's branches."""
        row, said, payment = evidence.review, explanation(evidence), evidence.payment
        message, line = ReviewMessage.of(evidence.message), evidence.line
        amount, currency = message.fields.get("amount"), message.fields.get("currency")
        if payment is not None:
            amount, currency = render(payment.amount_minor, payment.currency), payment.currency
        other, other_message = evidence.other_payment, evidence.other_message
        request = None
        if evidence.request is not None:
            request = ReviewRequest.of(*evidence.request, now_us)
        waits = None if payment is not None or evidence.place is None else evidence.place.entry
        return shown(
            cls,
            row,
            summary=said.short,
            why=said.why,
            by_itself=by_itself(waits) if row.state == "open" else None,
            what_to_do=said.todo,
            needs_password=REASONS[row.reason].needs_password,
            amount=amount,
            currency=currency,
            test=row.mode is Mode.TEST,
            message=message,
            line=line and ReviewLine(line.id, line.phone_number, line.account_name, line.provider),
            sim=SimPlace(evidence.message.device_id, evidence.message.slot_index),
            payment=payment and ReviewPayment.of(payment, evidence.pays),
            request=request,
            other_payment=other and ReviewPayment.of(other, None),
            other_message=other_message and ReviewMessage.of(other_message),
            orders_named=[TransactionListItemAnswer.of(order, None, now_us) for order in evidence.named],
            suggestions=[
                flat(
                    SuggestionAnswer(
                        rank, list(each.reasons), each.why, SuggestedTransaction.of(each.request, None, now_us)
                    )
                )
                for rank, each in enumerate(evidence.suggestions, 1)
            ],
            balance_chain=evidence.place and balance_chain(evidence.place),
            approving_by=evidence.approving_by,
            **of_branch(row.branch_id, names),
        )


def explanation(evidence: ReviewEvidence) -> Explanation:
    """Return the texts of a review, as precise as its facts allow."""
    row, request = evidence.review, evidence.request
    details, fields = _decode(row.details), _decode(evidence.message.fields)
    case = row.reason
    in_part = request is not None and request[0].status is TransactionStatus.PARTIAL
    refuted = evidence.place is not None and evidence.place.entry.why is Why.CONTRADICTED
    if in_part and case == ReviewReason.EXTRA_PAYMENT:
        case = "paid_in_part"
    elif evidence.payment is None and evidence.message.kind == Kind.REVERSAL:
        case = "reversal"
    elif refuted and case == ReviewReason.BALANCE_BREAK:
        case = "forged"
    amount = f"{fields.get('currency')} {fields.get('balance') or fields.get('amount')}"
    return explain(case, details.get("doubts") or (), amount)


class ApprovedPayerAnswer(Struct, frozen=True):
    """A name that an operator approved for a number."""

    id: shape.Id
    phone_number: shape.Phone
    name: Annotated[str, sample("AMA MENSAH")]
    state: Annotated[str, sample("approved"), marked(words=("approved", "revoked"))]
    review_id: shape.Id | None
    approved_by: Annotated[str, sample("socket:1000")]
    approved_at: shape.Time
    revoked_by: Annotated[str | None, sample(None)]
    revoked_at: shape.NoTime
    test: shape.Test

    @classmethod
    def of(cls, row: ApprovedPayer) -> Self:
        """Return the answer of an approval."""
        state = "approved" if row.revoked_at is None else "revoked"
        return shown(cls, row, state=state, test=row.mode is Mode.TEST)
