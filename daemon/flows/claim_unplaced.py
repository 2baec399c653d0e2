"""Give a number the payments that came to its SIM before it did (decisions.md section 3)."""

from collections.abc import Sequence

from daemon.core import line_shapes, routing, shapes
from daemon.core.access import Caller
from daemon.core.errors import Refusal
from daemon.core.limits import CLAIMABLE_SHOWN_MAX
from daemon.core.lines import UNPLACED_WINDOW_US
from daemon.core.model import Payment
from daemon.core.requests import Answer, Idempotency
from daemon.env import Env
from daemon.store import endpoints, events, idempotency, payment_methods, payments, transactions
from daemon.store.engine import Tx
from daemon.store.outbox import Outbox
from daemon.wire import ErrorCode, EventKind, Mode, Scope


async def claim_unplaced(
    env: Env,
    caller: Caller,
    method_id: str,
    *,
    dry_run: bool,
    claim: Idempotency | None = None,
    warnings: Sequence[str] = (),
) -> Answer:
    """Set the line of the unplaced payments of the last 30 days of the number's own SIM and network.

    Nothing is forwarded by it: the merchant replays the window. Payments that have a number are left alone. Endpoints
    that were forwarded one as unplaced hear `transaction.updated` where they asked for it.

    Args:
        env: The shop's doors.
        caller: For the journal.
        method_id: The number.
        dry_run: Only count, and say what the payments are to those who may read payments.
        claim: The caller's idempotency key.
        warnings: What the answer's `meta` says besides.

    Raises:
        Refusal: PAYMENT_METHOD_NOT_FOUND, METHOD_HAS_NO_SIM, IDEMPOTENCY_KEY_REUSED.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> Answer:
        return idempotency.once(tx, claim, now, lambda: place(tx))

    def place(tx: Tx) -> Answer:
        method = payment_methods.get(tx, method_id)
        if method is None:
            raise Refusal(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
        sim, _device = payment_methods.where(tx, method)
        if sim is None:
            raise Refusal(ErrorCode.METHOD_HAS_NO_SIM)
        since = now - UNPLACED_WINDOW_US
        count, first, last = payments.unplaced(tx, sim.sim_key, method.provider, since)
        if count and not dry_run:
            claimed = payments.claim(tx, sim.sim_key, method.provider, since, method.id)
            if routing.subscribed(endpoints.in_use(tx, Mode.LIVE), EventKind.UPDATED):
                for before, after in claimed:
                    _tell(tx, env.outbox, before, after, now)
            events.add(
                tx,
                type="payment_method.claimed",
                mode=Mode.LIVE,
                at=now,
                actor=caller.name,
                data={"payment_method_id": method.id, "payments": count},
            )
        body = line_shapes.claimed(count, first, last, dry_run=dry_run)
        if dry_run and caller.may(Scope.TRANSACTIONS_READ):
            body |= _named(tx, sim.sim_key, method.provider, since)
        meta = shapes.warned(warnings)
        return Answer(200, shapes.dump(body if meta is None else {**body, "meta": meta}))

    return await env.store.write(job)


def _named(tx: Tx, sim_key: str, provider: str, since: int) -> shapes.Json:
    """Return what the payments come to, and the first of them."""
    return line_shapes.claimable(
        payments.unplaced_amounts(tx, sim_key, provider, since),
        payments.unplaced_first(tx, sim_key, provider, since, CLAIMABLE_SHOWN_MAX),
    )


def _tell(tx: Tx, outbox: Outbox, before: Payment, after: Payment, now: int) -> None:
    transaction = transactions.paid_by(tx, after.id)
    if transaction is not None:
        outbox.update(tx, transaction, after, now, before=(transaction, before))
