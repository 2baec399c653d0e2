"""Replay: send an endpoint the payments of a time window that it should have but lacks.

The window is scanned in a read transaction, so that a long one delays no payment. The deliveries are then queued in pieces;
each is a database transaction that checks its payments again and counts the results. A crash between two pieces leaves the
first ones queued, and a repeated call queues the others.
"""

import functools
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from daemon.core import json_values
from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import Refusal, needed
from daemon.core.inputs import Keep
from daemon.core.model import Delivery, PaymentMethod
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.replay import PAYMENTS_MAX, SENT, Cursor, ReplayDecision
from daemon.env import Env
from daemon.store import idempotency, journal
from daemon.store.engine import Reader, Tx
from daemon.store.webhooks import dead_letters, deliveries, endpoints, routing
from daemon.store.webhooks.outbox import Forwarded, Outbox
from daemon.store.webhooks.replay import Candidate, Window, fates, no_longer_sendable
from daemon.wire import DeliveryStatus, ErrorCode, Mode

PAYMENTS_BATCH = 50
"""Payments written in one database transaction; new payments and running deliveries wait for it."""


class ReplayRequest(Struct, frozen=True):
    """A valid `POST /v1/open-collections/replay`; times are microseconds.

    `after` is from the cursor: only payments after this one.
    """

    endpoint_id: str
    since: int
    until: int
    dry_run: bool = False
    include_failed: bool = True
    include_historical: bool = False
    after: int = 0


class Plan(Struct, frozen=True):
    """Result of scanning the window.

    `send` has the payments to queue, oldest first, each with its decision, and `counts` their number by decision;
    `elsewhere` of `send` were delivered to another endpoint. `last` is the last payment scanned; with `more` there are
    others after it.
    """

    send: tuple[tuple[Candidate, ReplayDecision], ...]
    counts: Counter[ReplayDecision]
    elsewhere: int
    last: int | None
    more: bool


class Replayed(Struct, frozen=True):
    """What a replay did, or would do.

    Attributes:
        endpoint: The endpoint.
        counts: How many payments of each decision.
        elsewhere: How many of those that were queued another endpoint has had.
        cursor: Where the next call goes on; None if the window is done.
    """

    endpoint: Endpoint
    counts: Counter[ReplayDecision]
    elsewhere: int
    cursor: str | None

    @property
    def enqueued(self) -> int:
        """The number of payments that were queued."""
        return sum(self.counts[each] for each in SENT)


async def replay(env: Env, caller: Caller, asked: ReplayRequest, keep: Keep[Replayed] | None = None) -> Replayed:
    """Queue the payments that the endpoint lacks, at most 1000, and count exactly.

    Raises:
        Refusal: ENDPOINT_NOT_FOUND; LIVE_KEY_REQUIRED; IDEMPOTENCY_KEY_REUSED.
    """
    require(caller, Operation.RESEND)
    now = env.clock.now_us()
    endpoint, plan = await env.store.read(lambda reader: _look(reader, caller, asked))
    if asked.dry_run:
        return _replayed(asked, endpoint, plan, plan.counts, plan.elsewhere)
    pieces = [plan.send[at : at + PAYMENTS_BATCH] for at in range(0, len(plan.send), PAYMENTS_BATCH)]
    moved: Counter[ReplayDecision] = Counter()
    elsewhere = 0

    def queue(tx: Tx, piece: Sequence[tuple[Candidate, ReplayDecision]]) -> tuple[Counter[ReplayDecision], int]:
        # Since the scan it may have been deleted or have got some of the payments.
        _endpoint(tx, caller, asked.endpoint_id)
        return _queue(tx, env, endpoint, piece, now)

    def unless_answered(
        tx: Tx, piece: Sequence[tuple[Candidate, ReplayDecision]]
    ) -> tuple[Counter[ReplayDecision], int] | None:
        claim = None if keep is None else keep.claim
        if claim is not None and idempotency.find(tx, claim) is not None:
            return None
        return queue(tx, piece)

    for piece in pieces[:-1]:
        await env.yield_to_live()
        done = await env.store.write(functools.partial(unless_answered, piece=piece))
        if done is None:
            break
        moved.update(done[0])
        elsewhere += done[1]

    def effect(tx: Tx) -> Replayed:
        last, last_elsewhere = queue(tx, pieces[-1] if pieces else ())
        counts = Counter(plan.counts)
        for what, count in (*moved.items(), *last.items()):
            counts[what] += count
        enqueued = sum(counts[each] for each in SENT)
        data = {
            "from": json_values.timestamp(asked.since),
            "to": json_values.timestamp(asked.until),
            "enqueued": enqueued,
        }
        journal.add(tx, "endpoint.replayed", now, endpoint, actor=caller.name, data=data)
        return _replayed(asked, endpoint, plan, counts, elsewhere + last_elsewhere)

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: effect(tx)))


def _look(reader: Reader, caller: Caller, asked: ReplayRequest) -> tuple[Endpoint, Plan]:
    endpoint = _endpoint(reader, caller, asked.endpoint_id)
    window = Window(endpoint, asked.since, asked.until, asked.after)
    send: list[tuple[Candidate, ReplayDecision]] = []
    counts: Counter[ReplayDecision] = Counter()
    elsewhere, last, more = 0, None, False
    for seq, candidate, what in fates(
        reader, window, include_failed=asked.include_failed, include_historical=asked.include_historical
    ):
        if len(send) >= PAYMENTS_MAX:
            more = True
            break
        last = seq
        counts[what] += 1
        if candidate is not None and what in SENT:
            send.append((candidate, what))
            elsewhere += candidate.elsewhere
    return endpoint, Plan(tuple(send), counts, elsewhere, last, more)


def _endpoint(reader: Reader, caller: Caller, endpoint_id: str) -> Endpoint:
    found = needed(endpoints.get(reader, endpoint_id), ErrorCode.ENDPOINT_NOT_FOUND)
    if found.mode is Mode.LIVE and caller.mode is Mode.TEST:
        raise Refusal(ErrorCode.LIVE_KEY_REQUIRED)
    return found


def _queue(
    tx: Tx, env: Env, endpoint: Endpoint, piece: Sequence[tuple[Candidate, ReplayDecision]], now: int
) -> tuple[Counter[ReplayDecision], int]:
    """Queue a piece; return corrections of the counts, and how many payments other endpoints have had."""
    gone = no_longer_sendable(tx, [candidate for candidate, _ in piece])
    still = [candidate for candidate, _ in piece if candidate.payment.id not in gone]
    queued = _send(tx, env.outbox, endpoint, still, now)
    moved: Counter[ReplayDecision] = Counter()
    elsewhere = 0
    for candidate, what in piece:
        payment_id = candidate.payment.id
        if payment_id in queued:
            elsewhere += candidate.elsewhere
        else:
            moved[what] -= 1
            moved[gone.get(payment_id, ReplayDecision.IN_FLIGHT)] += 1
    return moved, elsewhere


def _send(tx: Tx, outbox: Outbox, endpoint: Endpoint, found: Sequence[Candidate], now: int) -> set[str]:
    """Queue payments; return the ids of those that were not queued by another call since the scan."""
    methods: dict[str | None, PaymentMethod | None] = {}
    first: list[Forwarded] = []
    queued: set[str] = set()
    for candidate in found:
        payment = candidate.payment
        if candidate.delivery is None:
            if payment.payment_method_id not in methods:
                methods[payment.payment_method_id] = routing.method_of(tx, payment)
            method = methods[payment.payment_method_id]
            first.append(Forwarded(candidate.transaction, payment, method))
        elif _send_again(tx, candidate.delivery, now):
            queued.add(payment.id)
    return queued | outbox.forward_to(tx, endpoint, first, now)


def _send_again(tx: Tx, before: Delivery, now: int) -> bool:
    """Queue a failed delivery again; return False if another call did so since the scan."""
    found = deliveries.get(tx, before.id)
    if found is None or found.status is not DeliveryStatus.FAILED:
        return False
    deliveries.requeue(tx, found, now, bulk=True)
    dead_letters.mark_replayed(tx, found.id, now)
    return True


def _replayed(
    asked: ReplayRequest, endpoint: Endpoint, plan: Plan, counts: Counter[ReplayDecision], elsewhere: int
) -> Replayed:
    cursor = None
    if plan.more:
        assert plan.last is not None
        cursor = Cursor(endpoint.id, asked.since, asked.until, plan.last).write()
    return Replayed(endpoint, counts, elsewhere, cursor)
