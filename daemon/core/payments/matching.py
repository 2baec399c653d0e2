"""Match a payment to the transaction that it pays. Pure: facts in, one decision out.

The checks, in this order:

1. The typed reference names exactly one code in use. Two different codes need an operator.
2. A transaction named this network ID in advance. It needs no code; the code of another transaction needs an operator.
3. The payment can be for that transaction: same currency, not older than the transaction.
4. The state of the transaction: open, expired, cancelled or paid.
5. The payer is the expected one, if the transaction expects one. A receipt without a number is accepted by its name if the
   transaction expects that name, or if an operator has approved the name for the expected number.

The received amount is compared with the expected one last. A payment of less than a tenth with the code is only suggested.
"""

from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct

from daemon.core.inputs import InitializeRequest
from daemon.core.limits import LATE_WINDOW_US, MINUTE_US
from daemon.core.model import Payment, Transaction
from daemon.core.shape import taken
from daemon.wire import ReviewReason, TransactionStatus
from parsers import person_name

PAYMENT_BEFORE_TRANSACTION_US: Final = 10 * MINUTE_US
"""A payment older than its transaction by more than this was meant for another one."""
VERIFIED = frozenset({TransactionStatus.SUCCESS, TransactionStatus.PARTIAL, TransactionStatus.OVERPAID})
MOVING = frozenset({ReviewReason.TELCO_ID_MISMATCH, ReviewReason.PAYER_UNKNOWN, ReviewReason.PAYER_MISMATCH})
"""Doubts that move an open transaction to MANUAL_REVIEW."""

SMALLEST_SHARE = 10
"""A payment with a code must be at least a tenth of what its transaction asks for: anybody who sees a code could send a
pesewa with it, and the transaction would be paid in part."""


class Verdict(Struct, frozen=True):
    """The outcome of a payment for a transaction.

    Attributes:
        status: SUCCESS, PARTIAL or OVERPAID.
        difference_minor: Received minus expected; negative means underpaid.
        difference_type: `exact`, `underpaid` or `overpaid`, as reconcile spells it.
    """

    status: TransactionStatus
    difference_minor: int
    difference_type: str


def compare_amounts(received_minor: int, expected_minor: int) -> Verdict:
    """Compare two amounts of the same currency."""
    difference = received_minor - expected_minor
    if difference == 0:
        return Verdict(TransactionStatus.SUCCESS, 0, "exact")
    if difference < 0:
        return Verdict(TransactionStatus.PARTIAL, difference, "underpaid")
    return Verdict(TransactionStatus.OVERPAID, difference, "overpaid")


class Verify(Struct, frozen=True):
    """The payment pays this transaction; no operator is needed.

    `payer_known_by` is `name` or `approval` if the transaction expects a payer and the receipt carries no number.
    """

    transaction: Transaction
    verdict: Verdict
    matched_by: str
    late: bool
    payer_known_by: str | None = None


class Hold(Struct, frozen=True):
    """An operator must decide. `moves`: the transaction goes to MANUAL_REVIEW meanwhile."""

    reason: ReviewReason
    transaction: Transaction | None
    moves: bool


class Unmatched(Struct, frozen=True):
    """The payment belongs to no transaction; `why` is for the log. `rejected` keeps it from being forwarded."""

    why: str
    rejected: bool = False


Decision = Verify | Hold | Unmatched


def match(
    payment: Payment,
    coded: Sequence[Transaction],
    expecting: Transaction | None,
    *,
    late_policy: str,
    approved: Collection[str] = (),
    dated: bool = True,
) -> Decision:
    """Decide which transaction a trusted payment pays.

    `coded` hold the codes in its reference, and `expecting` named its network ID in advance. `late_policy` is for
    expired transactions within the late window. For the numbers `approved` an operator has approved this payer's name.
    `dated`: our clock is believed to be right, so our times can be compared with the network's.
    """
    by_id = {transaction.id: transaction for transaction in coded}
    paid_at = effective_time(payment)
    # A payment older than the transaction was meant for an earlier user of the code.
    fitting = {
        key: transaction
        for key, transaction in by_id.items()
        if (not dated or paid_at >= transaction.created_at - PAYMENT_BEFORE_TRANSACTION_US)
        and transaction.currency == payment.currency
    }
    if len(fitting) > 1:
        return Hold(ReviewReason.AMBIGUOUS_CODE, None, moves=False)
    coded_one = next(iter(fitting.values()), None)
    if expecting is not None and expecting.currency == payment.currency:
        if coded_one is not None and coded_one.id != expecting.id:
            return Hold(ReviewReason.AMBIGUOUS_CODE, None, moves=False)
        return _for_transaction(payment, expecting, "telco_id", late_policy=late_policy, approved=approved)
    if coded_one is None:
        return Unmatched("code of another time or currency" if by_id else "no code in use")
    return _for_transaction(payment, coded_one, "code", late_policy=late_policy, approved=approved)


def _for_transaction(
    payment: Payment, transaction: Transaction, by: str, *, late_policy: str, approved: Collection[str]
) -> Decision:
    late = is_late(payment, transaction)
    known_by = payer_known_by(payment, transaction, approved)
    reason = _objection(payment, transaction, known_by)
    if reason is not None:
        moves = transaction.status is TransactionStatus.PENDING and not late and reason in MOVING
        return Hold(reason, transaction, moves=moves)
    if late:
        assert transaction.expires_at is not None
        too_late = effective_time(payment) >= transaction.expires_at + LATE_WINDOW_US
        if too_late or late_policy == "review":
            return Hold(ReviewReason.LATE, transaction, moves=False)
        if late_policy == "reject":
            return Unmatched("late, and late payments are rejected", rejected=True)
    assert transaction.expected_minor is not None
    if by == "code" and is_too_small(payment, transaction):
        return Unmatched("less than a tenth of the amount of its code")
    verdict = compare_amounts(payment.amount_minor, transaction.expected_minor)
    return Verify(transaction, verdict, by, late, known_by)


def payer_known_by(payment: Payment, transaction: Transaction, approved: Collection[str]) -> str | None:
    """Return how the expected payer is recognised on a receipt without a number: `name`, `approval` or None."""
    if transaction.expected_payer_phone is None or payment.proven_phone is not None:
        return None
    if person_name.is_same(payment.payer_name or "", transaction.expected_payer_name or ""):
        return "name"
    return "approval" if transaction.expected_payer_phone in approved else None


def _objection(payment: Payment, transaction: Transaction, payer_known_by: str | None) -> ReviewReason | None:
    """Return why an operator must review the payment before it pays, or None; lateness is checked elsewhere."""
    if transaction.status in VERIFIED:
        return ReviewReason.EXTRA_PAYMENT
    if transaction.status is TransactionStatus.CANCELLED:
        return ReviewReason.CANCELLED_REQUEST
    if transaction.expected_telco_transaction_id not in (None, payment.telco_transaction_id):
        return ReviewReason.TELCO_ID_MISMATCH
    if transaction.expected_payer_phone is not None:
        if payment.proven_phone is None:
            return None if payer_known_by else ReviewReason.PAYER_UNKNOWN
        if payment.proven_phone != transaction.expected_payer_phone:
            return ReviewReason.PAYER_MISMATCH
    return None


def is_too_small(payment: Payment, transaction: Transaction) -> bool:
    """Return whether a payment with the transaction's code is only suggested for it, because it is less than a tenth of it."""
    return payment.amount_minor * SMALLEST_SHARE < (transaction.expected_minor or 0)


def effective_time(payment: Payment) -> int:
    """Return when the money moved: the earlier of the network's time and our storage time.

    This also ignores a network time more than 10 minutes ahead of ours: it is never the earlier one.
    """
    return min(payment.telco_at, payment.stored_at)


def is_late(payment: Payment, transaction: Transaction) -> bool:
    """Return whether the money moved at or after the expiry of the transaction."""
    return transaction.expires_at is not None and effective_time(payment) >= transaction.expires_at


def replacement_of(old: Transaction) -> InitializeRequest | None:
    """Return the request for a new transaction like `old`, which is cancelled with it; None if its payer was erased."""
    if old.phone_number is None or old.expected_minor is None:
        return None
    return taken(InitializeRequest, old, amount_minor=old.expected_minor, replaces=old.reference)
