"""Is it enough? What was received against what was asked (interface.md, States and transitions)."""

from dataclasses import dataclass

from daemon.wire import TransactionStatus


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a payment for a request.

    Attributes:
        status: SUCCESS, PARTIAL or OVERPAID.
        difference_minor: Received minus expected; negative means paid short.
        difference_type: `exact`, `underpaid` or `overpaid`, as reconcile spells it.
    """

    status: TransactionStatus
    difference_minor: int
    difference_type: str


def judge(received_minor: int, expected_minor: int) -> Verdict:
    """Compare two amounts of the same currency."""
    difference = received_minor - expected_minor
    if difference == 0:
        return Verdict(TransactionStatus.SUCCESS, 0, "exact")
    if difference < 0:
        return Verdict(TransactionStatus.PARTIAL, difference, "underpaid")
    return Verdict(TransactionStatus.OVERPAID, difference, "overpaid")
