"""Concurrent callers with real transactions and receipts: the invariants hold, and every answer was true."""

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.callers import Call, Caller, Memory, Network
from tests.acceptance.conftest import Scene
from tests.fakes.invariants import check_invariants
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop, pause, wait_until
from tests.fakes.receiver import Receiver
from tests.fakes.seed import seed
from tests.fakes.tiers import share

NO_LIMITS = {"limits": {"live_per_min": 0, "test_per_min": 0, "reconcile_misses_15min": 1_000}}
ANSWERS = (
    ("initialize", 201),
    ("initialize", "IDEMPOTENCY_KEY_REUSED"),
    ("reconcile", 200),
    ("reconcile", "ALREADY_VERIFIED"),
    ("reconcile", "TRANSACTION_ID_ALREADY_USED"),
    ("reconcile", "NO_MATCHING_TRANSACTION"),
    ("cancel", 200),
    ("cancel", "TRANSACTION_NOT_CANCELLABLE"),
    ("sandbox_pay", 200),
)
"""The answers of conflicting calls. A run continues until each of them was given."""
VERIFIED = ("SUCCESS", "PARTIAL", "OVERPAID")


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Scene]:
    """A shop without a rate limit for its keys."""
    with (
        Receiver(tmp_path / "receiver") as receiver,
        PhoneProcess(tmp_path / "tty", storages={"SM": 100}) as phone,
        RealShop(
            tmp_path / "shop", phone=phone.link, ca_file=receiver.ca_file, short_schedule=True, settings=NO_LIMITS
        ) as shop,
    ):
        yield Scene(shop, phone, receiver)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_eight_callers_at_once_leave_a_sound_shop_and_true_answers(busy: Scene) -> None:
    _run(busy, callers=8, lasts_s=3)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_32_callers_leave_a_sound_shop_and_true_answers(busy: Scene) -> None:
    _run(busy, callers=32, lasts_s=share(60))


def _run(scene: Scene, *, callers: int, lasts_s: float) -> None:
    drawn = seed()
    scene.open_for_business()
    memory = Memory()
    network = Network(scene.phone, memory)
    keys = scene.shop.keys.api, scene.shop.keys.test_api
    over = threading.Event()
    threads = [
        threading.Thread(target=Caller(number, drawn, scene.shop.http, keys, memory, network).run, args=(over,))
        for number in range(callers)
    ]
    witness = _Witness(scene.shop)
    try:
        for thread in threads:
            thread.start()
        pause(lasts_s)
        wait_until(lambda: memory.faults or not _missing_answers(memory), 60, "each kind of answer")
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
        network.close()
        witness.close()
    assert memory.faults == []
    _wait_until_quiet(scene)
    scene.shop.stop()

    check_invariants(scene.shop.places.database)
    final = _Final(scene.shop, witness.saw)
    counts = Counter((call.what, call.code or call.status) for call in memory.calls)
    print(f"{len(memory.calls)} answers, {len(network.delivered)} receipts: {sorted(counts.items(), key=str)}")
    _every_receipt_is_one_payment(final, network)
    _check_initialize_answers(final, memory)
    _one_key_made_one_order(final, memory)
    assert [call for call in memory.calls if not final.is_consistent(call)] == []
    _webhooks_say_the_same(scene, final)


def _wait_until_quiet(scene: Scene) -> None:
    def quiet() -> bool:
        waiting = "SELECT COUNT(*) FROM deliveries WHERE status <> 'delivered'"
        return scene.phone.is_empty() and scene.shop.rows(waiting) == [(0,)]

    wait_until(quiet, 120, "the phone is empty and all is delivered")


def _missing_answers(memory: Memory) -> set[tuple[str, Any]]:
    return set(ANSWERS) - {(call.what, call.code or call.status) for call in list(memory.calls)}


class _Witness:
    """Polls the ledger: an answer that denies a payment which was already visible is false.

    The payment's own time cannot be used: it is read before the payment is written, and other calls are answered in
    between.
    """

    def __init__(self, shop: RealShop) -> None:
        self._shop = shop
        self._over = threading.Event()
        self.saw: dict[str, int] = {}
        """Network ID -> the time when it was first visible, in microseconds."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        """Stop polling."""
        self._over.set()
        self._thread.join(60)

    def _run(self) -> None:
        last = 0
        while not self._over.wait(0.02):
            found = self._shop.rows(
                "SELECT seq, telco_transaction_id FROM payments WHERE seq > ? AND mode = 'live'", (last,)
            )
            now_us = time.time_ns() // 1_000
            for seq, telco_id in found:
                last = max(last, seq)
                self.saw[telco_id] = now_us


class _Final:
    """The final state of a transaction, from the database."""

    def __init__(self, shop: RealShop, saw: Mapping[str, int]) -> None:
        self._saw = saw
        orders = shop.rows(
            "SELECT t.id, t.status, t.svc_code, t.expected_minor, t.client_reference, t.cancelled_at, t.matched_by, "
            "p.telco_transaction_id, p.amount_minor, r.id FROM transactions t LEFT JOIN payments p ON p.seq = t.payment_seq "
            "LEFT JOIN reconciliations r ON r.transaction_id = t.id WHERE t.origin = 'request'"
        )
        names = (
            "status", "svc_code", "expected_minor", "client_reference", "cancelled_at", "matched_by",
            "telco_id", "paid_minor", "reconciliation_id",
        )  # fmt: skip
        self.orders = {f"svc_trx_{row[0].replace('-', '')}": dict(zip(names, row[1:], strict=True)) for row in orders}
        self.payments = {
            row[0]: row[1:]
            for row in shop.rows(
                "SELECT telco_transaction_id, amount_minor, reference_text FROM payments WHERE mode = 'live'"
            )
        }

    def is_consistent(self, call: Call) -> bool:
        """Return whether an answer about a transaction is consistent with its final state."""
        reference = call.sent["reference"]
        if call.what not in {"reconcile", "cancel"} or reference not in self.orders:
            return True
        truths = {
            ("reconcile", ""): self._matched,
            ("reconcile", "ALREADY_VERIFIED"): self._already_verified,
            ("reconcile", "TRANSACTION_ID_ALREADY_USED"): self._already_used,
            ("reconcile", "AMOUNT_MISMATCH"): self._another_amount,
            ("reconcile", "NO_MATCHING_TRANSACTION"): self._not_there_yet,
            ("cancel", ""): self._cancelled,
            ("cancel", "TRANSACTION_NOT_CANCELLABLE"): self._paid_before,
        }
        return truths[call.what, call.code](call, self.orders[reference])

    def _matched(self, call: Call, order: dict[str, Any]) -> bool:
        data = call.body["data"]
        said = (data["reconciliation_id"], data["new_transaction_status"], data["matched_amount"])
        now = (order["reconciliation_id"], order["status"], _amount(order["paid_minor"]))
        return said == now and data["transaction_id"] == order["telco_id"]

    def _already_verified(self, call: Call, order: dict[str, Any]) -> bool:
        said = (call.body["transaction_status"], call.body["verified_by_transaction_id"])
        return said == (order["status"], order["telco_id"])

    def _already_used(self, call: Call, _order: dict[str, Any]) -> bool:
        user = self.orders[call.body["used_by_reference"]]
        return bool(user["telco_id"] == call.sent["transaction_id"])

    def _another_amount(self, call: Call, _order: dict[str, Any]) -> bool:
        paid = _amount(self.payments[call.sent["transaction_id"]][0])
        return bool(call.body["matched_amount"] == paid != call.sent["amount"])

    def _not_there_yet(self, call: Call, _order: dict[str, Any]) -> bool:
        saw_us = self._saw.get(call.sent["transaction_id"])
        return saw_us is None or saw_us >= call.asked_us

    def _cancelled(self, _call: Call, order: dict[str, Any]) -> bool:
        """Only an operator can still match a payment to it, and it keeps its cancellation time."""
        vouched = order["status"] == "CANCELLED" or order["matched_by"] == "reconcile"
        return order["cancelled_at"] is not None and vouched

    def _paid_before(self, call: Call, order: dict[str, Any]) -> bool:
        return bool(call.body["transaction_status"] == order["status"] in VERIFIED)


def _every_receipt_is_one_payment(final: _Final, network: Network) -> None:
    assert {telco_id: (found[1], found[0]) for telco_id, found in final.payments.items()} == network.delivered


def _check_initialize_answers(final: _Final, memory: Memory) -> None:
    made = {
        call.body["data"]["reference"]: call
        for call in memory.calls
        if call.what == "initialize" and call.status == 201
    }
    sandbox = {call.body["data"]["reference"] for call in memory.calls if call.what == "sandbox_initialize"}
    assert set(made) | sandbox == set(final.orders), "an order without an answer, or the reverse"
    for reference, call in made.items():
        order, data = final.orders[reference], call.body["data"]
        assert (order["svc_code"], _amount(order["expected_minor"])) == (data["svc_code"], data["amount"])
        if order["matched_by"] == "code":
            assert final.payments[order["telco_id"]][1] == data["svc_code"]
    codes = Counter(order["svc_code"] for order in final.orders.values())
    assert max(codes.values()) <= 2, "one code in each mode at most"


def _one_key_made_one_order(final: _Final, memory: Memory) -> None:
    answers = defaultdict[str, set[bytes]](set)
    for call in memory.calls:
        if call.what == "initialize" and call.status == 201:
            answers[call.sent["key"]].add(call.raw)
        elif call.what == "initialize":
            assert call.code in {"IDEMPOTENCY_KEY_REUSED", "IDEMPOTENCY_IN_PROGRESS"}
    assert [key for key, bodies in answers.items() if len(bodies) != 1] == []
    made = Counter(order["client_reference"] for order in final.orders.values())
    assert [key for key in answers if made[key] != 1] == []


def _webhooks_say_the_same(scene: Scene, final: _Final) -> None:
    """Each paid transaction was announced once, under one ID, with its final payment."""
    announced = defaultdict[str, set[tuple[str, str]]](set)
    for request in scene.receiver.requests:
        assert request.verified
        event = json.loads(request.body)
        if event["type"] == "transaction.completed":
            data = event["data"]
            announced[data["reference"]].add((event["webhook_id"], data["telco"]["transaction_id"]))
    paid = {
        reference: order
        for reference, order in final.orders.items()
        if order["telco_id"] in final.payments and order["status"] in VERIFIED
    }
    assert set(announced) == set(paid)
    for reference, order in paid.items():
        assert [telco_id for _, telco_id in announced[reference]] == [order["telco_id"]]


def _amount(minor: int) -> str:
    return f"{minor // 100}.{minor % 100:02d}"
