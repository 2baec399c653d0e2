"""Every delivery arrives or is given up: the daemon is killed at random moments while the receiver answers at random."""

import contextlib
import http.client
import json
import random
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from daemon import wire
from tests.fakes.invariants import check_invariants
from tests.fakes.real_shop import RealShop, pause, wait_until
from tests.fakes.receiver import HANG, Answer, Receiver, Request
from tests.fakes.seed import seed
from tests.fakes.tiers import share

ENDPOINTS = 4
HANG_S = 2.0
"""The daemon's response time-out: longer than a receiver takes that does not hang, also on a busy machine."""
LAST = 10
"""Payments kept for after the last kill, when answers of every kind are recorded."""
ANSWERS = {Answer(): 84, Answer(503): 8, Answer(404): 6, HANG: 2}
SETTINGS = {"webhooks": {"timeout_s": HANG_S, "connect_timeout_s": HANG_S}}

pytestmark = pytest.mark.slow


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    with Receiver(tmp_path / "receiver") as made:
        yield made


@pytest.fixture
def shop(tmp_path: Path, receiver: Receiver) -> Iterator[RealShop]:
    with RealShop(
        tmp_path / "shop", phone=tmp_path / "no-phone", ca_file=receiver.ca_file, settings=SETTINGS, short_schedule=True
    ) as made:
        yield made


@pytest.mark.timeout(1_200)
def test_kills_during_deliveries_lose_nothing_and_change_no_webhook_id(shop: RealShop, receiver: Receiver) -> None:
    _run(shop, receiver, kills=share(60), payments=share(500, 60))


def _run(shop: RealShop, receiver: Receiver, *, kills: int, payments: int) -> None:
    drawn = seed()
    rng = random.Random(drawn)
    receiver.choose = _moody(random.Random(drawn + 1))
    answered = defaultdict[str, set[int]](set)
    receiver.on_request = lambda request, answer: answered[request.headers["x-svc-delivery"]].add(answer.status)
    shop.start()
    receiver.secrets = [_add_sandbox(shop, receiver.url(f"/{at}")) for at in range(ENDPOINTS)]
    shop.kill()

    last, to_make = list(range(LAST)), list(range(LAST, payments))
    for number in range(kills):
        # A request is repeated if a kill cut its answer off, so payments are left for the last rounds.
        left = -(-len(to_make) // (kills - number))
        _make_and_kill(shop, to_make, left, rng)
    receiver.choose = _moody(random.Random(drawn + 2))
    shop.start()
    for number in (*to_make, *last):
        _make(shop, number)
    _wait_until_all_have_ended(shop)
    _streaks_are_those_of_the_log(shop)
    receiver.choose = None
    _make(shop, payments)
    _wait_until_all_have_ended(shop)
    _every_endpoint_is_well(shop)
    shop.stop()
    check_invariants(shop.places.database)

    _kills_cut_attempts_off_and_answers_were_of_every_kind(shop)
    _each_payment_was_taken_or_given_up(shop, answered, payments + 1)
    _one_webhook_id_names_one_event(shop, receiver, payments + 1)
    _every_request_is_an_attempt_on_record(shop, receiver)
    _the_journal_tells_each_end_once(shop)


def _moody(rng: random.Random) -> Callable[[Request], Answer]:
    """Answer once in each way, then at random."""
    owed = list(ANSWERS)
    return lambda _: owed.pop() if owed else rng.choices(list(ANSWERS), list(ANSWERS.values()))[0]


def _add_sandbox(shop: RealShop, url: str) -> str:
    status, answer = shop.api("POST", wire.Path.ENDPOINTS, {"url": url, "is_sandbox": True})
    assert status == 201, answer
    secret: str = answer["secret"]
    return secret


def _make(shop: RealShop, number: int) -> None:
    """Pay in the sandbox, once, however often the call is repeated."""
    status, answer = shop.api(
        "POST",
        wire.Path.TEST_PAYMENTS,
        {"amount": "5.00", "transaction_id": str(90_000_000_000 + number)},
        headers={"Idempotency-Key": f"payment-{number}"},
    )
    assert status == 200, answer


def _make_and_kill(shop: RealShop, to_make: list[int], count: int, rng: random.Random) -> None:
    """Start the daemon, let some payments come in, and kill it at a random moment."""
    shop.spawn()
    # Sometimes it is killed while it starts; mostly while it sends.
    if rng.random() < 0.1:
        pause(rng.uniform(0.05, 0.7) * shop.slowness)
        shop.kill()
        return
    shop.wait_ready()
    killer = threading.Timer(rng.uniform(0.02, 0.4) * shop.slowness, shop.kill)
    killer.start()
    with contextlib.suppress(OSError, http.client.HTTPException, json.JSONDecodeError):
        for _ in range(count):
            _make(shop, to_make[-1])
            to_make.pop()
    killer.join()


def _wait_until_all_have_ended(shop: RealShop) -> None:
    def ended() -> bool:
        found = shop.rows("SELECT COUNT(*) FROM deliveries WHERE status IN ('pending', 'retrying')")
        return found == [(0,)]

    # An outage ends with a probe, and earlier failures go out at five a second: that may take a while.
    wait_until(ended, 300, "all is delivered or given up")


def _streaks_are_those_of_the_log(shop: RealShop) -> None:
    """Check that an endpoint's counters follow from its attempts, in the order in which they ended."""
    for endpoint_id, streak, paused_at, active in shop.rows(
        "SELECT id, consecutive_failures, auto_paused_at, is_active FROM endpoints WHERE kind = 'endpoint'"
    ):
        log = shop.rows(
            "SELECT a.counted, a.error_code FROM attempts a JOIN deliveries d ON d.seq = a.delivery_seq "
            "WHERE d.endpoint_seq = (SELECT seq FROM endpoints WHERE id = ?) AND a.finished_at IS NOT NULL ORDER BY a.finished_at",
            (endpoint_id,),
        )
        counted = 0
        for counts, error in log:
            counted = 0 if error is None else counted + counts
        assert (streak, paused_at, active) == (counted, None, 1)


def _every_endpoint_is_well(shop: RealShop) -> None:
    found = shop.rows(
        "SELECT consecutive_failures, last_success_at = (SELECT MAX(a.finished_at) FROM attempts a "
        "JOIN deliveries d ON d.seq = a.delivery_seq WHERE d.endpoint_seq = e.seq AND a.status_code = 200), "
        "last_failure_at = (SELECT MAX(a.finished_at) FROM attempts a "
        "JOIN deliveries d ON d.seq = a.delivery_seq WHERE d.endpoint_seq = e.seq AND a.error_code IS NOT NULL) "
        "FROM endpoints e WHERE kind = 'endpoint'"
    )
    assert found == [(0, 1, 1)] * ENDPOINTS


def _kills_cut_attempts_off_and_answers_were_of_every_kind(shop: RealShop) -> None:
    """Without these cases, the run would not test a kill during an attempt."""
    ((cut_off,),) = shop.rows("SELECT COUNT(*) FROM attempts WHERE finished_at IS NULL")
    assert cut_off > 0
    met = {(code, error) for code, error in shop.rows("SELECT status_code, error_code FROM attempts")}
    wanted = {(200, None), (503, "http_error"), (404, "http_error"), (None, "timeout")}
    assert wanted <= met


def _each_payment_was_taken_or_given_up(shop: RealShop, answered: Mapping[str, set[int]], payments: int) -> None:
    rows = shop.rows(
        "SELECT d.id, d.status, d.response_status_code, d.run, l.reason, l.replayed_at, d.attempt_count, "
        "(SELECT COUNT(*) FROM attempts a WHERE a.delivery_seq = d.seq AND a.finished_at IS NOT NULL) "
        "FROM deliveries d LEFT JOIN dead_letters l ON l.delivery_id = d.id"
    )
    assert len(rows) == payments * ENDPOINTS
    for delivery_id, status, code, run, reason, replayed_at, counted, finished in rows:
        wanted = ("delivered", 200, None) if status == "delivered" else ("failed", 404, "permanent_4xx")
        assert (status, code, reason, run, replayed_at) == (*wanted, 1, None)
        assert 1 <= counted <= finished
        assert code in answered[delivery_id]
    assert shop.rows("SELECT COUNT(DISTINCT subject) FROM deliveries") == [(payments,)]


def _one_webhook_id_names_one_event(shop: RealShop, receiver: Receiver, payments: int) -> None:
    seen = defaultdict[tuple[str, str], set[tuple[str, bytes]]](set)
    for request in receiver.requests:
        assert request.verified
        event = json.loads(request.body)
        assert event["webhook_id"] == request.webhook_id
        telco_id = event["data"]["telco"]["transaction_id"]
        seen[request.path, telco_id].add((request.webhook_id, request.body))
    assert len(seen) == payments * ENDPOINTS
    assert [found for found in seen.values() if len(found) != 1] == []
    sent = {webhook_id for found in seen.values() for webhook_id, _ in found}
    assert len(sent) == payments * ENDPOINTS
    assert sent == {name for (name,) in shop.rows("SELECT webhook_id FROM deliveries")}


def _every_request_is_an_attempt_on_record(shop: RealShop, receiver: Receiver) -> None:
    """An attempt is recorded before it is sent, so no request arrives without a record, and none twice."""
    came = [(request.headers["x-svc-delivery"], int(request.headers["x-svc-attempt"])) for request in receiver.requests]
    assert len(set(came)) == len(came)
    assert set(came) <= set(
        shop.rows("SELECT d.id, a.number FROM attempts a JOIN deliveries d ON d.seq = a.delivery_seq")
    )


def _the_journal_tells_each_end_once(shop: RealShop) -> None:
    recorded = shop.rows(
        "SELECT json_extract(data, '$.delivery_id'), type FROM events WHERE type IN ('delivery.delivered', 'delivery.failed')"
    )
    ended = shop.rows("SELECT id, 'delivery.' || status FROM deliveries")
    assert sorted(recorded) == sorted(ended)
