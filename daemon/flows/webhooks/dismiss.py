"""Close a dead letter without a new attempt, with a note. The delivery stays failed and can still be replayed."""

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import Refusal
from daemon.core.inputs import Keep
from daemon.env import Env
from daemon.store import idempotency, journal
from daemon.store.engine import Tx
from daemon.store.webhooks import dead_letters
from daemon.store.webhooks.dead_letters import Found
from daemon.wire import DeliveryStatus, ErrorCode, Mode


async def dismiss(
    env: Env, caller: Caller, letter_id: str, notes: str, keep: Keep[Found] | None = None
) -> Found:
    """Close a dead letter, and return it with its rows; one that is dismissed already stays as it is.

    Raises:
        Refusal: DEAD_LETTER_NOT_FOUND; LIVE_KEY_REQUIRED; DEAD_LETTER_ALREADY_REPLAYED if it is pending or delivered;
            IDEMPOTENCY_KEY_REUSED.
        Unavailable: Nothing can be written.
    """
    require(caller, Operation.RESEND)
    now = env.clock.now_us()

    def effect(tx: Tx) -> Found:
        found = dead_letters.one(tx, letter_id)
        if found is None:
            raise Refusal(ErrorCode.DEAD_LETTER_NOT_FOUND)
        letter, delivery, endpoint, _body = found
        if endpoint.mode is Mode.LIVE and caller.mode is Mode.TEST:
            raise Refusal(ErrorCode.LIVE_KEY_REQUIRED)
        if delivery.status is not DeliveryStatus.FAILED:
            raise Refusal(ErrorCode.DEAD_LETTER_ALREADY_REPLAYED)
        if letter.dismissed_at is None:
            dead_letters.dismiss(tx, letter.id, actor=caller.name, notes=notes, now=now)
            journal.add(
                tx,
                type="dead_letter.dismissed",
                mode=endpoint.mode,
                at=now,
                actor=caller.name,
                transaction_id=delivery.transaction_id,
                endpoint_id=endpoint.id,
                data={"dead_letter_id": letter.id, "delivery_id": delivery.id},
            )
            found = dead_letters.one(tx, letter_id)
            assert found is not None
        return found

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: effect(tx)))
