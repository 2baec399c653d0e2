"""Send what was given up again: one dead letter, or up to a hundred of them (decisions.md section 7)."""

from collections.abc import Sequence

from daemon.core import collection_shapes, shapes
from daemon.core.access import Caller
from daemon.core.delivery import DeliveryEvent, TransitionError, next_status
from daemon.core.errors import Refusal
from daemon.core.requests import Answer, CallMeta
from daemon.env import Env
from daemon.store import dead_letters, idempotency
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode

PAUSED = "An endpoint is paused: what is for it waits until it is resumed."


async def replay(env: Env, caller: Caller, letter_id: str, meta: CallMeta) -> Answer:
    """Queue the delivery of one dead letter again and return the 200 answer.

    The body goes out as it was made, under the ids that it had, freshly signed.

    Raises:
        Refusal: DEAD_LETTER_NOT_FOUND; LIVE_KEY_REQUIRED; DEAD_LETTER_ALREADY_REPLAYED when it is on its way or has
            arrived; ENDPOINT_DELETED; IDEMPOTENCY_KEY_REUSED.
        Unavailable: Nothing can be written.
    """
    now = env.clock.now_us()

    def effect(tx: Tx) -> Answer:
        letter, delivery, endpoint = _again(tx, caller, letter_id, now, bulk=False)
        warnings = () if endpoint.is_active else (PAUSED,)
        body = shapes.success(
            collection_shapes.dead_letter(letter, delivery, endpoint),
            meta.as_json(*warnings),
            delivery=collection_shapes.delivery(delivery, endpoint),
        )
        return Answer(200, body)

    return await env.store.write(
        lambda tx: idempotency.once(tx, meta.idempotency, now, lambda: effect(tx))
    )


async def replay_batch(
    env: Env, caller: Caller, letter_ids: Sequence[tuple[str, str | None]], meta: CallMeta
) -> Answer:
    """Queue the deliveries of many dead letters again, in the order given, and return the 200 answer.

    Args:
        env: The doors.
        caller: Who asks.
        letter_ids: Each once: as it was written, and the UUID that it is, None when it is none.
        meta: What stands around the call.

    Raises:
        Refusal: IDEMPOTENCY_KEY_REUSED. What one of them is refused for stands in the answer.
        Unavailable: Nothing can be written.
    """
    now = env.clock.now_us()

    def effect(tx: Tx) -> Answer:
        done: list[str] = []
        failed: list[shapes.Json] = []
        paused = False
        for written, letter_id in letter_ids:
            try:
                letter, _delivery, endpoint = _again(tx, caller, letter_id, now, bulk=True)
            except Refusal as refusal:
                failed.append({"id": written, "code": refusal.code, "message": refusal.message})
            else:
                done.append(letter.id)
                paused = paused or not endpoint.is_active
        body = shapes.success(
            {"replayed": done, "failed": failed},
            meta.as_json(*((PAUSED,) if paused else ())),
            replayed=len(done),
        )
        return Answer(200, body)

    return await env.store.write(
        lambda tx: idempotency.once(tx, meta.idempotency, now, lambda: effect(tx))
    )


def _again(
    tx: Tx, caller: Caller, letter_id: str | None, now: int, *, bulk: bool
) -> dead_letters.Found:
    """Queue one again, or refuse before anything is changed."""
    found = None if letter_id is None else dead_letters.one(tx, letter_id)
    if found is None:
        raise Refusal(ErrorCode.DEAD_LETTER_NOT_FOUND)
    letter, delivery, endpoint = found
    if endpoint.mode is Mode.LIVE and caller.mode is Mode.TEST:
        raise Refusal(ErrorCode.LIVE_KEY_REQUIRED)
    try:
        next_status(delivery.status, DeliveryEvent.REPLAY)
    except TransitionError:
        raise Refusal(ErrorCode.DEAD_LETTER_ALREADY_REPLAYED) from None
    if endpoint.deleted_at is not None:
        raise Refusal(ErrorCode.ENDPOINT_DELETED)
    dead_letters.queue_again(tx, delivery, endpoint, caller.name, now, bulk=bulk)
    after = dead_letters.one(tx, letter.id)
    assert after is not None
    return after
