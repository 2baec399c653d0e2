"""Cancel an unpaid transaction inside a write transaction."""

from daemon.core import limits
from daemon.core.access.callers import Caller
from daemon.core.errors import Refusal
from daemon.core.model import Transaction
from daemon.steps.copies import refuse_copy
from daemon.store import journal, journal_texts
from daemon.store.engine import Tx
from daemon.store.payments import transactions
from daemon.wire import ErrorCode, TransactionStatus


def own_transaction(tx: Tx, caller: Caller, reference: str) -> Transaction:
    """Return the transaction with this reference in the caller's mode.

    Raises:
        Refusal: TRANSACTION_NOT_FOUND.
    """
    found = transactions.by_reference(tx, reference, caller.mode)
    if found is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    refuse_copy(tx, found.branch_id)
    return found


def cancel_transaction(
    tx: Tx, request: Transaction, actor: str, reason: str | None, now: int
) -> tuple[Transaction, bool]:
    """Cancel a transaction that is PENDING or EXPIRED; return it, and whether it was not cancelled before.

    Raises:
        Refusal: TRANSACTION_NOT_CANCELLABLE.
    """
    cancelled = transactions.cancel(tx, request.id, now)
    if cancelled is None:
        if request.status is not TransactionStatus.CANCELLED:
            raise Refusal(ErrorCode.TRANSACTION_NOT_CANCELLABLE, transaction_status=request.status)
        return request, False
    transactions.reserve_code_until(tx, cancelled, now + limits.CODE_REST_US)
    transactions.unindex_names(tx, cancelled.id)
    journal.add(
        tx,
        type="transaction.cancelled",
        mode=cancelled.mode,
        at=now,
        actor=actor,
        transaction_id=cancelled.id,
    )
    if reason is not None:
        journal_texts.add_reason(tx, cancelled.id, reason)
    return cancelled, True
