"""Which request does a payment pay? Pure: facts in, one decision out (decisions.md section 2).

The order of the questions:

1. Does the typed reference name exactly one code in use? Two different ones are a person's matter.
2. Did a request name this network ID in advance? It needs no code; another request's code is a person's matter.
3. Is the money for that request at all: same currency, not older than the request?
4. What state is the request in: open, expired, cancelled, paid?
5. Does the payer fit, where the request asked for one? A receipt without a number is recognised by its name, when the
   request expects that name, or when a person has approved it for the expected number.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from daemon.core.limits import CODE_BEFORE_REQUEST_US, LATE_WINDOW_US
from daemon.core.model import Payment, Transaction
from daemon.core.verdict import Verdict, judge
from daemon.wire import ReviewReason, TransactionStatus
from parsers import person_name

VERIFIED = frozenset(
    {TransactionStatus.SUCCESS, TransactionStatus.PARTIAL, TransactionStatus.OVERPAID}
)


@dataclass(frozen=True, slots=True)
class Verify:
    """The payment pays this request, without a person.

    `payer_known_by` is `name` or `approval` where the request expects a payer whose number the receipt does not carry.
    """

    transaction: Transaction
    verdict: Verdict
    matched_by: str
    late: bool
    payer_known_by: str | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """A person decides. `moves` says whether the request goes to MANUAL_REVIEW for it."""

    reason: ReviewReason
    transaction: Transaction | None
    moves: bool


@dataclass(frozen=True, slots=True)
class WalkIn:
    """Money that no request asked for; `why` is for the log. `rejected` keeps it from being forwarded."""

    why: str
    rejected: bool = False


Decision = Verify | Hold | WalkIn


def match(
    payment: Payment,
    coded: Sequence[Transaction],
    expecting: Transaction | None,
    *,
    late_policy: str,
    approved: Collection[str] = (),
    dated: bool = True,
) -> Decision:
    """Decide what a trusted payment pays.

    Args:
        payment: The payment.
        coded: The requests whose codes in use stand in its reference.
        expecting: The unpaid request that named its network ID in advance.
        late_policy: `accept`, `review` or `reject`, for expired requests within the late window.
        approved: The numbers that a person has approved this payer's name for.
        dated: Our clock is right, as far as anybody knows, so that its times can be laid beside the network's.

    Returns:
        What to do. Nothing untrusted may come here.
    """
    requests = {transaction.id: transaction for transaction in coded}
    paid_at = effective_time(payment)
    # Money older than the request was meant for an earlier holder of the code.
    fitting = {
        key: transaction
        for key, transaction in requests.items()
        if (not dated or paid_at >= transaction.created_at - CODE_BEFORE_REQUEST_US)
        and transaction.currency == payment.currency
    }
    if len(fitting) > 1:
        return Hold(ReviewReason.AMBIGUOUS_CODE, None, moves=False)
    coded_one = next(iter(fitting.values()), None)
    if expecting is not None and expecting.currency == payment.currency:
        if coded_one is not None and coded_one.id != expecting.id:
            return Hold(ReviewReason.AMBIGUOUS_CODE, None, moves=False)
        return _for_request(
            payment, expecting, "telco_id", late_policy=late_policy, approved=approved
        )
    if coded_one is None:
        return WalkIn("code of another time or currency" if requests else "no code in use")
    return _for_request(payment, coded_one, "code", late_policy=late_policy, approved=approved)


def _for_request(
    payment: Payment,
    request: Transaction,
    by: str,
    *,
    late_policy: str,
    approved: Collection[str],
) -> Decision:
    late = is_late(payment, request)
    known_by = payer_known_by(payment, request, approved)
    reason = _objection(payment, request, known_by)
    if reason is not None:
        moves = request.status is TransactionStatus.PENDING and not late and reason in _MOVING
        return Hold(reason, request, moves=moves)
    if late:
        assert request.expires_at is not None
        too_late = effective_time(payment) >= request.expires_at + LATE_WINDOW_US
        if too_late or late_policy == "review":
            return Hold(ReviewReason.LATE, request, moves=False)
        if late_policy == "reject":
            return WalkIn("late, and late payments are rejected", rejected=True)
    assert request.expected_minor is not None
    verdict = judge(payment.amount_minor, request.expected_minor)
    return Verify(request, verdict, by, late, known_by)


_MOVING = frozenset(
    {ReviewReason.TELCO_ID_MISMATCH, ReviewReason.PAYER_UNKNOWN, ReviewReason.PAYER_MISMATCH}
)
"""Doubts that put an open request into MANUAL_REVIEW."""


def payer_known_by(payment: Payment, request: Transaction, approved: Collection[str]) -> str | None:
    """Say how the expected payer is recognised on a receipt without a number: `name`, `approval`, or not at all."""
    if request.expected_payer_phone is None or payment.proven_phone is not None:
        return None
    if person_name.same(payment.payer_name or "", request.expected_payer_name or ""):
        return "name"
    return "approval" if request.expected_payer_phone in approved else None


def _objection(
    payment: Payment, request: Transaction, payer_known_by: str | None
) -> ReviewReason | None:
    """Say why a person must look at it before it pays, apart from being late."""
    if request.status in VERIFIED:
        return ReviewReason.EXTRA_PAYMENT
    if request.status is TransactionStatus.CANCELLED:
        return ReviewReason.CANCELLED_REQUEST
    if request.expected_telco_transaction_id not in (None, payment.telco_transaction_id):
        return ReviewReason.TELCO_ID_MISMATCH
    if request.expected_payer_phone is not None:
        if payment.proven_phone is None:
            return None if payer_known_by else ReviewReason.PAYER_UNKNOWN
        if payment.proven_phone != request.expected_payer_phone:
            return ReviewReason.PAYER_MISMATCH
    return None


def effective_time(payment: Payment) -> int:
    """Return when the money moved: the earlier of the network's time and when we stored it.

    A network time over 10 minutes ahead of ours is ignored; being later than ours it never is the earlier one.
    """
    return min(payment.telco_at, payment.stored_at)


def is_late(payment: Payment, request: Transaction) -> bool:
    """Say whether the money moved at or after the request's expiry."""
    return request.expires_at is not None and effective_time(payment) >= request.expires_at
