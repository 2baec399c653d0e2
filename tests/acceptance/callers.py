"""Concurrent callers of one real shop, and the answers that each of them got.

Each caller has its own thread, TCP connection and random numbers, so a seed gives each the same choices again; only the
interleaving of the answers differs. `Network` is the one phone: it delivers receipts one after the other, each balance
the one before plus the amount, as a wallet does.
"""

import http.client
import json
import queue
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from daemon import wire
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import pause, utc_now
from tests.fakes.receipts import mtn

AMOUNT_MINOR: Final = 2_500
FIRST_ID: Final = 88_100_000_000
KEYS: Final = 12
"""Number of idempotency keys that all callers share."""
ORDERS_KEPT: Final = 40
"""A caller acts on one of this many most recent transactions of all callers."""
CHOICES: Final = {
    "initialize": 20,
    "initialize_shared": 12,
    "repeat": 8,
    "pay": 22,
    "pay_nobody": 3,
    "reconcile": 14,
    "reconcile_unknown": 3,
    "cancel": 8,
    "look": 14,
    "list": 3,
    "sandbox": 5,
}


@dataclass(frozen=True, slots=True)
class Call:
    """One call and its answer."""

    what: str
    caller: int
    sent: dict[str, Any]
    status: int
    body: dict[str, Any]
    asked_us: int
    raw: bytes
    replayed: bool = False

    @property
    def code(self) -> str:
        """The error's code; empty if it is no error."""
        return "" if self.status < 300 else str(self.body["error"]["code"])


@dataclass(slots=True)
class Memory:
    """State shared by all callers; lists only grow, and `append` is atomic between threads."""

    orders: list[dict[str, Any]] = field(default_factory=list)
    paid_ids: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class Network:
    """Delivers receipts to the shop's phone, one after the other."""

    def __init__(self, phone: PhoneProcess, memory: Memory) -> None:
        self._phone, self._memory = phone, memory
        self._wanted: queue.Queue[tuple[str, int]] = queue.Queue(maxsize=200)
        self._wallet_minor = 50_000
        self._over = threading.Event()
        self.delivered: dict[str, tuple[str, int]] = {}
        """Network ID -> typed reference and amount."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def pay(self, typed: str, amount_minor: int) -> None:
        """Queue a payment; drop it if the queue is full."""
        try:
            self._wanted.put_nowait((typed, amount_minor))
        except queue.Full:
            return

    def close(self) -> None:
        """Stop; payments still queued are dropped."""
        self._over.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        count = 0
        while not self._over.is_set():
            try:
                wanted = self._wanted.get(timeout=0.1)
            except queue.Empty:
                continue
            typed, amount_minor = wanted
            count += 1
            telco_id = str(FIRST_ID + count)
            self._wallet_minor += amount_minor
            receipt = mtn(
                amount_minor, "KWABENA KONADU DANKWA-EBO", self._wallet_minor, typed, telco_id,
                sent_at=utc_now(), concatenation=count % 256,
            )  # fmt: skip
            self.delivered[telco_id] = wanted
            has_room = all(self._phone.deliver(receipt.pdus))
            self._memory.paid_ids.append(telco_id)
            pause(0.01)  # a network has delays, and a phone has few slots
            while not (has_room or self._over.is_set() or self._phone.is_empty()):
                pause(0.05)  # it fills up faster than it is read, so further messages wait in the network


class Caller:
    """One caller."""

    def __init__(
        self, number: int, seed: int, address: str, keys: tuple[str, str], memory: Memory, network: Network
    ) -> None:
        """Take the caller's number and connection; `keys` are the live key and the test key."""
        self._number = number
        self._rng = random.Random(seed * 1_000 + number)
        self._live, self._test = keys
        self._memory, self._network = memory, network
        host, _, port = address.rpartition(":")
        self._line = http.client.HTTPConnection(host, int(port), timeout=60)
        self._count = 0
        self._mine: list[tuple[dict[str, Any], str, bytes]] = []
        self._seen: dict[str, str] = {}

    def run(self, over: threading.Event) -> None:
        """Call until `over` is set; record faults for the test."""
        names, weights = list(CHOICES), list(CHOICES.values())
        try:
            while not over.is_set():
                act: Callable[[], None] = getattr(self, f"_{self._rng.choices(names, weights)[0]}")
                act()
        except (OSError, http.client.HTTPException, AssertionError) as error:
            self._memory.faults.append(f"caller {self._number}: {error!r}")
        finally:
            self._line.close()

    # Actions -----------------------------------------------------------------------------------------------------

    def _initialize(self) -> None:
        self._count += 1
        own = f"own-{self._number}-{self._count}"
        body = self._order(own)
        call = self._call("initialize", body, key=own)
        assert call.status == 201, call.body
        self._mine.append((body, own, call.raw))

    def _initialize_shared(self) -> None:
        """All callers use the same few keys, sometimes with another body."""
        shared = f"shared-{self._rng.randrange(KEYS)}"
        other = self._rng.random() < 0.2
        self._call("initialize", self._order(shared, minor=7_700 if other else None), key=shared)

    def _repeat(self) -> None:
        if not self._mine:
            return
        body, key, raw = self._rng.choice(self._mine)
        call = self._call("initialize", body, key=key)
        assert (call.status, call.raw, call.replayed) == (201, raw, True), "a repeat got another answer"

    def _pay(self) -> None:
        order = self._some_order()
        if order is not None:
            self._network.pay(order["svc_code"], AMOUNT_MINOR + self._rng.choice((0, 0, 0, -1_000, 900)))

    def _pay_nobody(self) -> None:
        self._network.pay("food", 1_100 + self._rng.randrange(100))

    def _reconcile(self) -> None:
        order, known = self._some_order(), self._memory.paid_ids[-ORDERS_KEPT:]
        if order is None or not known:
            return
        telco_id = self._rng.choice(known)
        amount = {"amount": "25.00"} if self._rng.random() < 0.3 else {}
        self._call("reconcile", {"transaction_id": telco_id, **amount}, order["reference"])

    def _reconcile_unknown(self) -> None:
        order = self._some_order()
        if order is not None:
            unknown = str(77_000_000_000 + self._rng.randrange(4))
            call = self._call("reconcile", {"transaction_id": unknown}, order["reference"])
            assert call.status != 200, "a payment that nobody made was matched"

    def _cancel(self) -> None:
        order = self._some_order()
        if order is not None:
            self._call("cancel", {}, order["reference"])

    def _look(self) -> None:
        """Check that answers never go back in time: a paid transaction stays paid by the same payment."""
        order = self._some_order()
        if order is None:
            return
        call = self._call("look", {}, order["reference"])
        assert call.status == 200, call.body
        data = call.body["data"]
        assert (data["svc_code"], data["expected_amount"]) == (order["svc_code"], order["amount"])
        paid = data["telco"]["transaction_id"] if data["actual_amount"] else None
        before = self._seen.get(order["reference"])
        assert before in (None, paid), f"{order['reference']} was paid by {before} and now by {paid}"
        if paid is not None:
            self._seen[order["reference"]] = paid

    def _list(self) -> None:
        call = self._call("list", {})
        assert call.status == 200, call.body
        found = [item["created_at"] for item in call.body["data"]]
        assert found == sorted(found, reverse=True)
        assert call.body["pagination"]["total"] >= len(found)

    def _sandbox(self) -> None:
        """Make a transaction in the sandbox, pay it there, and find it paid, beside all the live ones."""
        call = self._call("sandbox_initialize", {"amount": "5.00", "phone_number": "0241234567"})
        assert call.status == 201, call.body
        reference = call.body["data"]["reference"]
        paid = self._call("sandbox_pay", {"reference": reference})
        assert (paid.status, paid.body["data"]["transaction"]["status"]) == (200, "SUCCESS"), paid.body
        assert self._call("look", {}, reference).status == 404, "a live key sees the sandbox"

    # Calls -------------------------------------------------------------------------------------------------------

    def _order(self, client_reference: str, minor: int | None = None) -> dict[str, Any]:
        minor = minor or AMOUNT_MINOR
        return {
            "amount": f"{minor // 100}.{minor % 100:02d}",
            "phone_number": "0244123456",
            "client_reference": client_reference,
            "send_sms_to_payer": False,
        }

    def _some_order(self) -> dict[str, Any] | None:
        last = self._memory.orders[-ORDERS_KEPT:]
        return self._rng.choice(last) if last else None

    def _call(self, what: str, sent: dict[str, Any], reference: str = "", key: str = "") -> Call:
        method, path = {
            "initialize": ("POST", wire.Path.INITIALIZE),
            "sandbox_initialize": ("POST", wire.Path.INITIALIZE),
            "sandbox_pay": ("POST", wire.Path.TEST_PAYMENTS),
            "reconcile": ("POST", wire.Path.RECONCILE.replace("{reference}", reference)),
            "cancel": ("POST", wire.Path.CANCEL.replace("{reference}", reference)),
            "look": ("GET", wire.Path.TRANSACTION.replace("{reference}", reference)),
            "list": ("GET", wire.Path.TRANSACTIONS),
        }[what]
        token = self._test if what.startswith("sandbox") else self._live
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if key:
            headers[wire.IDEMPOTENCY_HEADER] = key
        asked_us = time.time_ns() // 1_000
        self._line.request(method, path, json.dumps(sent) if method == "POST" else None, headers)
        answer = self._line.getresponse()
        raw = answer.read()
        replayed = answer.headers[wire.IDEMPOTENCY_REPLAYED_HEADER] == "true"
        call = Call(
            what, self._number, {**sent, "reference": reference, "key": key}, answer.status,
            json.loads(raw), asked_us, raw, replayed,
        )  # fmt: skip
        assert call.status < 500, f"{what}: {call.status} {raw[:300]!r}"
        self._memory.calls.append(call)
        if what == "initialize" and call.status == 201 and not replayed:
            self._memory.orders.append(call.body["data"])
        return call
