"""No payment is lost or doubled: the daemon is killed at random moments while receipts arrive."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import pytest

from daemon import wire
from tests.acceptance.conftest import Scene
from tests.fakes.invariants import check_invariants
from tests.fakes.message_journal import journal_of
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import SOON_S, RealShop, pause, utc_now, wait_until
from tests.fakes.receipts import Receipt, mtn_receipts
from tests.fakes.receiver import DROP, Answer, Request
from tests.fakes.seed import seed
from tests.fakes.tiers import share

COMMAND_S = (0.0, 0.001, 0.004, 0.02)
"""The phone's delay per command, so that kills fall between and into commands."""
EVERY = 3
"""One receipt in this many carries the code of a transaction."""


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_kills_lose_nothing_and_double_nothing(scene: Scene) -> None:
    _run(scene, kills=5, receipts=30)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_many_kills_during_many_receipts_lose_nothing_and_double_nothing(scene: Scene) -> None:
    _run(scene, kills=share(60), receipts=share(300))


def _run(scene: Scene, *, kills: int, receipts: int) -> None:
    drawn = seed()
    rng = random.Random(drawn)
    scene.receiver.choose = _ill_now_and_then(random.Random(drawn + 1))
    scene.shop.begin_chain(50_000)
    scene.open_for_business()
    plan, requests = _orders(scene.shop, receipts, drawn)

    deletions = _Deletions(scene.phone)
    parts = [pdu for receipt in plan for pdu in receipt.pdus]
    scene.shop.kill()
    for number in range(kills):
        share = parts[len(parts) * number // kills : len(parts) * (number + 1) // kills]
        _play_and_kill(scene, share, rng)
        deletions.were_all_durable(scene.shop)
    scene.phone.ask("latency", latency_s=0)
    scene.shop.start()
    _wait_until_quiet(scene, receipts + len(requests))
    scene.shop.stop()
    deletions.were_all_durable(scene.shop)
    check_invariants(scene.shop.places.database)

    _payments_are_the_receipts(scene.shop, plan, requests)
    _requests_are_verified_once(scene.shop, plan, requests)
    _phone_is_empty_and_only_stored_parts_were_deleted(scene.phone, parts)
    _receiver_got_everything_under_one_id(scene, plan, requests)


def _ill_now_and_then(rng: random.Random) -> Callable[[Request], Answer]:
    return lambda _: rng.choices([Answer(), Answer(503), DROP], [90, 7, 3])[0]


def _orders(shop: RealShop, count: int, seed: int) -> tuple[list[Receipt], dict[str, str]]:
    """Make the transactions and the receipts; return the receipts and network ID -> reference."""
    now = utc_now()
    # The same seed gives the same amounts for any references.
    drafts = list(mtn_receipts(count, seed, started=now))
    references, requests = [draft.reference for draft in drafts], dict[str, str]()
    for number in range(0, count, EVERY):
        made = shop.request(_amount(drafts[number].amount_minor))
        references[number] = made["svc_code"]
        requests[drafts[number].telco_id] = made["reference"]
    return list(mtn_receipts(count, seed, started=now, references=references)), requests


def _play_and_kill(scene: Scene, parts: Sequence[str], rng: random.Random) -> None:
    """Start the daemon, let the parts arrive at random moments, and kill it at another."""
    scene.phone.ask("latency", latency_s=rng.choice(COMMAND_S))
    scene.shop.spawn()
    # Sometimes it is killed while it starts; mostly while it works.
    if rng.random() < 0.8:
        scene.shop.wait_ready()
        lasts_s = rng.uniform(0.02, 0.6) * scene.shop.slowness
    else:
        lasts_s = rng.uniform(0.1, 0.9) * scene.shop.slowness
    moments = sorted(rng.uniform(0, lasts_s) for _ in parts)
    passed_s = 0.0
    for moment_s, pdu in zip(moments, parts, strict=True):
        pause(moment_s - passed_s)
        passed_s = moment_s
        scene.phone.deliver([pdu])
    pause(lasts_s - passed_s)
    assert scene.shop.running(), f"it ended by itself: {scene.shop.said_now()}"
    scene.shop.kill()


class _Deletions:
    """Every part that the phone deleted must be in the database and in the message journal after a kill at any moment."""

    def __init__(self, phone: PhoneProcess) -> None:
        self._phone = phone
        self._checked = 0

    def were_all_durable(self, shop: RealShop) -> None:
        deleted = self._phone.state(self._checked, 0)["deleted"]
        self._checked += len(deleted)
        stored = {octets.hex().upper() for (octets,) in shop.rows("SELECT pdu FROM sms_parts")}
        assert [entry for entry in deleted if entry["pdu"] not in stored] == []
        journaled = {record.pdu for record in journal_of(shop).backward()}
        assert [entry for entry in deleted if entry["pdu"] not in journaled] == []


def _wait_until_quiet(scene: Scene, deliveries: int) -> None:
    def quiet() -> bool:
        if not scene.phone.is_empty():
            return False
        found = scene.shop.rows("SELECT status, COUNT(*) FROM deliveries GROUP BY status")
        return found == [("delivered", deliveries)]

    wait_until(quiet, 120, "the phone is empty and all is delivered")


def _payments_are_the_receipts(shop: RealShop, plan: Sequence[Receipt], requests: dict[str, str]) -> None:
    found = shop.rows(
        "SELECT telco_transaction_id, amount_minor, payer_name, reference_text, standing, "
        "payment_method_seq IS NOT NULL FROM payments ORDER BY telco_transaction_id"
    )
    assert found == [
        (
            item.telco_id,
            item.amount_minor,
            item.name,
            item.reference,
            "used" if item.telco_id in requests else "open",
            1,
        )
        for item in sorted(plan, key=lambda item: item.telco_id)
    ]
    assert shop.rows("SELECT state, COUNT(*) FROM messages WHERE body <> '' GROUP BY state") == [
        (wire.MessageState.PAYMENT, len(plan))
    ]
    # A receipt that overtook another is held until that one arrives, and then pays by itself.
    assert shop.rows("SELECT COUNT(*) FROM reviews WHERE state <> 'superseded'") == [(0,)]


def _requests_are_verified_once(shop: RealShop, plan: Sequence[Receipt], requests: dict[str, str]) -> None:
    ids = {reference.removeprefix("svc_trx_"): reference for reference in requests.values()}
    found = shop.rows(
        "SELECT t.id, t.status, t.matched_by, p.telco_transaction_id, t.origin "
        "FROM transactions t JOIN payments p ON p.seq = t.payment_seq"
    )
    paid = {
        telco_id: ids[transaction_id.replace("-", "")]
        for transaction_id, status, matched_by, telco_id, origin in found
        if (status, matched_by, origin) == ("SUCCESS", "code", "request")
    }
    assert paid == requests
    # Every other payment has its own holder, and no transaction is without a payment.
    assert len(found) == len(plan)
    assert shop.rows("SELECT COUNT(*) FROM transactions") == [(len(plan),)]
    journal = shop.rows(
        "SELECT COUNT(*) FROM events WHERE type = 'transaction.verified' "
        "AND transaction_seq IN (SELECT seq FROM transactions WHERE origin = 'request') "
        "GROUP BY transaction_seq"
    )
    assert journal == [(1,)] * len(requests)


def _phone_is_empty_and_only_stored_parts_were_deleted(phone: PhoneProcess, parts: Sequence[str]) -> None:
    state = phone.state(0, 0)
    assert (state["stored"], state["held"], state["displaced"]) == ([], [], [])
    assert Counter(entry["pdu"] for entry in state["deleted"]) == Counter(parts)


def _receiver_got_everything_under_one_id(scene: Scene, plan: Sequence[Receipt], requests: dict[str, str]) -> None:
    accepted = defaultdict[tuple[str, str], set[str]](set)
    bodies = defaultdict[str, set[bytes]](set)
    for request in scene.receiver.requests:
        assert request.verified
        event = json.loads(request.body)
        accepted[event["type"], event["data"]["telco"]["transaction_id"]].add(request.webhook_id)
        bodies[request.webhook_id].add(request.body)
        assert event["webhook_id"] == request.webhook_id
    wanted = [("transaction.forwarded", item.telco_id) for item in plan]
    wanted += [("transaction.completed", telco_id) for telco_id in requests]
    assert sorted(accepted) == sorted(wanted)
    assert [found for found in accepted.values() if len(found) != 1] == []
    assert len(bodies) == len(wanted), "one webhook id names two different events"
    assert [found for found in bodies.values() if len(found) != 1] == []


def _amount(minor: int) -> str:
    return f"{minor // 100}.{minor % 100:02d}"


@pytest.mark.parametrize("swapped", [False, True])
def test_a_kill_between_two_parts_of_a_receipt_delays_it_by_seconds(scene: Scene, swapped: bool) -> None:
    scene.shop.begin_chain(50_000)
    scene.open_for_business()
    [receipt] = mtn_receipts(1, seed(), started=utc_now())
    first, second = receipt.pdus[::-1] if swapped else receipt.pdus
    scene.phone.deliver([first])
    wait_until(scene.phone.is_empty, SOON_S, "the first part is stored and deleted")
    scene.shop.kill()
    scene.phone.deliver([second])
    scene.shop.start()
    wait_until(lambda: scene.shop.rows("SELECT 1 FROM payments"), SOON_S, "the receipt pays")
