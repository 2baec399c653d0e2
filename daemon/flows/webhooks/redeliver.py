"""Queue a delivery again, or close a dead letter with a note; a dismissed one stays failed and can still be replayed."""

from collections.abc import Sequence

from msgspec import Struct

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import Refusal, needed
from daemon.core.inputs import Keep
from daemon.core.model import Delivery
from daemon.core.webhooks.delivery import DeliveryEvent, TransitionError, next_status
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.signing import AttemptMetadata
from daemon.env import Env
from daemon.steps.webhooks.head import head_to_show
from daemon.store import idempotency, journal
from daemon.store.engine import Tx
from daemon.store.payments import transactions
from daemon.store.webhooks import dead_letters, deliveries, delivery_log
from daemon.store.webhooks import endpoints as store_endpoints
from daemon.store.webhooks.dead_letters import Found
from daemon.wire import DeliveryStatus, ErrorCode, EventKind, Mode


class Redelivered(Struct, frozen=True):
    """A delivery that was queued again.

    `reversed_since` means that its body says paid, and that the network took the payment back later.
    """

    delivery: Delivery
    endpoint: Endpoint
    reversed_since: bool


async def redeliver(env: Env, caller: Caller, delivery_id: str, keep: Keep[Redelivered] | None = None) -> Redelivered:
    """Queue a delivered or failed delivery again, and return it; it is sent with its old ids.

    Raises:
        Refusal: DELIVERY_NOT_FOUND; LIVE_KEY_REQUIRED; ENDPOINT_DELETED; DELIVERY_NOT_REDELIVERABLE with
            `delivery_status` while it is still being tried; IDEMPOTENCY_KEY_REUSED.
    """
    require(caller, Operation.RESEND)
    now = env.clock.now_us()

    def effect(tx: Tx) -> Redelivered:
        delivery, endpoint = needed(delivery_log.one(tx, delivery_id), ErrorCode.DELIVERY_NOT_FOUND)
        if endpoint.mode is Mode.LIVE and caller.mode is Mode.TEST:
            raise Refusal(ErrorCode.LIVE_KEY_REQUIRED)
        if endpoint.deleted_at is not None:
            raise Refusal(ErrorCode.ENDPOINT_DELETED)
        try:
            next_status(delivery.status, DeliveryEvent.REDELIVER)
        except TransitionError:
            raise Refusal(ErrorCode.DELIVERY_NOT_REDELIVERABLE, delivery_status=delivery.status) from None
        about = transactions.get(tx, delivery.transaction_id)
        reversed_at = None if about is None else about.reversed_at
        is_old = reversed_at is not None and delivery.event != EventKind.REVERSED
        queued = dead_letters.requeue(tx, delivery, endpoint, caller.name, now)
        return Redelivered(queued, endpoint, is_old and delivery.created_at <= (reversed_at or 0))

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: effect(tx)))


async def replay_dead_letter(env: Env, caller: Caller, letter_id: str, keep: Keep[Found] | None = None) -> Found:
    """Queue the delivery of one dead letter again, and return it with its rows.

    The body is sent unchanged, with its old ids and a new signature.

    Raises:
        Refusal: DEAD_LETTER_NOT_FOUND; LIVE_KEY_REQUIRED; DEAD_LETTER_ALREADY_REPLAYED if it is pending or delivered;
            ENDPOINT_DELETED; IDEMPOTENCY_KEY_REUSED.
    """
    require(caller, Operation.RESEND)
    now = env.clock.now_us()

    def effect(tx: Tx) -> Found:
        return _requeue(tx, caller, letter_id, now, bulk=False)

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: effect(tx)))


class ReplayedLetters(Struct, frozen=True):
    """Many dead letters that were to be sent again.

    Attributes:
        done: The ids of those that were queued.
        refused: The others, as they were written, each with its refusal.
        paused: An endpoint of one that was queued is paused.
    """

    done: list[str]
    refused: list[tuple[str, Refusal]]
    paused: bool


async def replay_dead_letters(
    env: Env, caller: Caller, letter_ids: Sequence[tuple[str, str | None]], keep: Keep[ReplayedLetters] | None = None
) -> ReplayedLetters:
    """Queue the deliveries of many dead letters again, in the order given.

    `letter_ids` has each id once: as written, and as UUID, None if it is not a UUID.

    Raises:
        Refusal: IDEMPOTENCY_KEY_REUSED. Refusals of single dead letters are in the answer.
    """
    require(caller, Operation.RESEND)
    now = env.clock.now_us()

    def effect(tx: Tx) -> ReplayedLetters:
        done: list[str] = []
        refused: list[tuple[str, Refusal]] = []
        paused = False
        for written, letter_id in letter_ids:
            try:
                letter, _delivery, endpoint, _body = _requeue(tx, caller, letter_id, now, bulk=True)
            except Refusal as refusal:
                refused.append((written, refusal))
            else:
                done.append(letter.id)
                paused = paused or not endpoint.is_active
        return ReplayedLetters(done, refused, paused)

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: effect(tx)))


def _requeue(tx: Tx, caller: Caller, letter_id: str | None, now: int, *, bulk: bool) -> Found:
    """Queue one delivery again, or refuse it before any change."""
    letter, delivery, endpoint, _body = needed(
        None if letter_id is None else dead_letters.one(tx, letter_id), ErrorCode.DEAD_LETTER_NOT_FOUND
    )
    if endpoint.mode is Mode.LIVE and caller.mode is Mode.TEST:
        raise Refusal(ErrorCode.LIVE_KEY_REQUIRED)
    try:
        next_status(delivery.status, DeliveryEvent.REPLAY)
    except TransitionError:
        raise Refusal(ErrorCode.DEAD_LETTER_ALREADY_REPLAYED) from None
    if endpoint.deleted_at is not None:
        raise Refusal(ErrorCode.ENDPOINT_DELETED)
    dead_letters.requeue(tx, delivery, endpoint, caller.name, now, bulk=bulk)
    return needed(dead_letters.one(tx, letter.id), ErrorCode.DEAD_LETTER_NOT_FOUND)


class Signed(Struct, frozen=True):
    """A delivery with signatures that receivers accept for five minutes."""

    url: str
    headers: dict[str, str]
    body: str


async def sign_again(env: Env, caller: Caller, delivery_id: str) -> Signed:
    """Sign it with the secrets that are valid now, and journal the caller.

    Raises:
        Refusal: DELIVERY_NOT_FOUND.
        Unavailable: The signing secret cannot be opened.
    """
    require(caller, Operation.RESEND)
    now = env.clock.now_us()

    def job(tx: Tx) -> tuple[delivery_log.Logged, bytes, list[str]]:
        found = needed(delivery_log.one(tx, delivery_id), ErrorCode.DELIVERY_NOT_FOUND)
        delivery, endpoint = found
        journal.add(tx, "delivery.signed", now, endpoint, delivery, actor=caller.name)
        body = deliveries.bodies(tx, [delivery.seq])[delivery.seq]
        return (found, body, store_endpoints.valid_secrets(tx, store_endpoints.secret_owner(endpoint), now))

    (delivery, endpoint), body, sealed = await env.store.write(job)
    sent = AttemptMetadata(
        webhook_id=delivery.webhook_id, event=delivery.event, delivery_id=delivery.id,
        attempt=max(delivery.attempt_count, 1), sequence=delivery.seq, replay=True, test=delivery.test,
    )  # fmt: skip
    return Signed(endpoint.url, head_to_show(env, endpoint, sealed, sent, body), body.decode())


async def dismiss(env: Env, caller: Caller, letter_id: str, notes: str, keep: Keep[Found] | None = None) -> Found:
    """Close a dead letter, and return it with its rows; one that is dismissed already stays as it is.

    Raises:
        Refusal: DEAD_LETTER_NOT_FOUND; LIVE_KEY_REQUIRED; DEAD_LETTER_ALREADY_REPLAYED if it is pending or delivered;
            IDEMPOTENCY_KEY_REUSED.
    """
    require(caller, Operation.RESEND)
    now = env.clock.now_us()

    def effect(tx: Tx) -> Found:
        found = needed(dead_letters.one(tx, letter_id), ErrorCode.DEAD_LETTER_NOT_FOUND)
        letter, delivery, endpoint, _body = found
        if endpoint.mode is Mode.LIVE and caller.mode is Mode.TEST:
            raise Refusal(ErrorCode.LIVE_KEY_REQUIRED)
        if delivery.status is not DeliveryStatus.FAILED:
            raise Refusal(ErrorCode.DEAD_LETTER_ALREADY_REPLAYED)
        if letter.dismissed_at is None:
            dead_letters.dismiss(tx, letter.id, actor=caller.name, notes=notes, now=now)
            data = {"dead_letter_id": letter.id}
            journal.add(tx, "dead_letter.dismissed", now, endpoint, delivery, actor=caller.name, data=data)
            return needed(dead_letters.one(tx, letter_id), ErrorCode.DEAD_LETTER_NOT_FOUND)
        return found

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: effect(tx)))
