"""Send one delivery again, in a new run of the same row (decisions.md section 7)."""

from daemon.core import collection_shapes, shapes
from daemon.core.access import Caller
from daemon.core.delivery import DeliveryEvent, TransitionError, next_status
from daemon.core.errors import Refusal
from daemon.core.requests import Answer, CallMeta
from daemon.env import Env
from daemon.store import dead_letters, delivery_log, idempotency
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode

PAUSED = "The endpoint is paused: this waits until it is resumed."


async def redeliver(env: Env, caller: Caller, delivery_id: str, meta: CallMeta) -> Answer:
    """Queue a delivered or failed delivery again and return the 200 answer; it goes out under its old ids.

    Raises:
        Refusal: DELIVERY_NOT_FOUND; LIVE_KEY_REQUIRED; ENDPOINT_DELETED; DELIVERY_NOT_REDELIVERABLE with
            `delivery_status` while it is still being tried; IDEMPOTENCY_KEY_REUSED.
        Unavailable: Nothing can be written.
    """
    now = env.clock.now_us()

    def again(tx: Tx) -> Answer:
        found = delivery_log.one(tx, delivery_id)
        if found is None:
            raise Refusal(ErrorCode.DELIVERY_NOT_FOUND)
        delivery, endpoint = found
        if endpoint.mode is Mode.LIVE and caller.mode is Mode.TEST:
            raise Refusal(ErrorCode.LIVE_KEY_REQUIRED)
        if endpoint.deleted_at is not None:
            raise Refusal(ErrorCode.ENDPOINT_DELETED)
        try:
            next_status(delivery.status, DeliveryEvent.REDELIVER)
        except TransitionError:
            raise Refusal(
                ErrorCode.DELIVERY_NOT_REDELIVERABLE, delivery_status=delivery.status
            ) from None
        queued = dead_letters.queue_again(tx, delivery, endpoint, caller.name, now)
        warnings = () if endpoint.is_active else (PAUSED,)
        return Answer(
            200,
            shapes.success(collection_shapes.delivery(queued, endpoint), meta.as_json(*warnings)),
        )

    return await env.store.write(
        lambda tx: idempotency.once(tx, meta.idempotency, now, lambda: again(tx))
    )
