"""Give up a payment request that nobody has paid (decisions.md section 2)."""

from daemon.core import ids, limits, shapes, transaction_shapes
from daemon.core.access import Caller
from daemon.core.errors import Refusal
from daemon.core.model import Transaction
from daemon.core.requests import Answer, CallMeta
from daemon.env import Env
from daemon.store import events, near_miss, transactions
from daemon.store import idempotency as answers
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, TransactionStatus


async def cancel(
    env: Env, caller: Caller, reference: str, *, reason: str | None, meta: CallMeta
) -> Answer:
    """Cancel a request that is PENDING or EXPIRED; one that was cancelled before stays as it is.

    Its code rests for 30 days. Money that comes with it all the same goes to a person (review `cancelled_request`).

    Args:
        env: The doors.
        caller: Who cancels.
        reference: The request.
        reason: Free text for the journal.
        meta: What stands around the call.

    Raises:
        Refusal: TRANSACTION_NOT_FOUND; TRANSACTION_NOT_CANCELLABLE when it is paid or held for a person, or when it
            is no request but money without one.
        Unavailable: Nothing could be written.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> Answer:
        return answers.once(tx, meta.idempotency, now, lambda: give_up(tx))

    def give_up(tx: Tx) -> Answer:
        request = _request(tx, caller, reference)
        cancelled = transactions.cancel(tx, request.id, now)
        said: tuple[str, ...] = ()
        if cancelled is None:
            if request.status is not TransactionStatus.CANCELLED:
                raise Refusal(
                    ErrorCode.TRANSACTION_NOT_CANCELLABLE, transaction_status=request.status
                )
            said = ("It was cancelled before; nothing was changed.",)
            cancelled = request
        else:
            transactions.keep_code_until(tx, cancelled, now + limits.CODE_REST_US)
            near_miss.forget_names(tx, cancelled.id)
            events.add(
                tx,
                type="transaction.cancelled",
                mode=cancelled.mode,
                at=now,
                actor=caller.name,
                transaction_id=cancelled.id,
                data={} if reason is None else {"reason": reason},
            )
        body = shapes.success(transaction_shapes.single(cancelled, None, now), meta.as_json(*said))
        return Answer(200, body)

    return await env.store.write(job)


def _request(tx: Tx, caller: Caller, reference: str) -> Transaction:
    transaction_id = ids.split_reference(reference)
    found = None
    if transaction_id is not None:
        found = transactions.get(tx, transaction_id, caller.mode)
    if found is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    return found
