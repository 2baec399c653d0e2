"""A day of a hub and its branches, with people who work while programs are killed or lines are cut, and what must hold after it.

Orders are made and matched with an `Idempotency-Key` and repeated until they are answered, as a careful caller does. So each
call may be cut off at any moment, and exactly the acknowledged orders must be there afterwards.
"""

import http.client
import itertools
import queue
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from daemon import wire
from parsers.svc_code import HUB_FIRST, make_code
from tests.fakes.head_office import BranchShop, HeadOffice
from tests.fakes.invariants import check_invariants, check_server_invariants
from tests.fakes.real_shop import RealShop, pause, wait_until

ANSWERED_S: Final = 600.0
AGAIN_S: Final = 0.1
LATER: Final = {
    wire.ErrorCode.IDEMPOTENCY_IN_PROGRESS,
    wire.ErrorCode.NO_MATCHING_TRANSACTION,  # its SMS was not read yet, or its copy is under way
}
"""Errors after which the call is repeated, besides every 503."""


class Kind(StrEnum):
    """How a payment is used."""

    HUB = "a code of the hub"
    BRANCH = "a code of the branch"
    FREE = "no code, for nobody"
    CLAIMED = "no code, the hub claims it"
    RACED = "no code, hub and branch both want it"
    RETURNED = "a code that looks like the hub's, and is nobody's"


@dataclass(slots=True)
class Paid:
    """A payment, the orders for it, and the answers to the people who matched it."""

    kind: Kind
    branch: BranchShop
    telco_id: str
    hub_order: str | None = None
    branch_order: str | None = None
    hub_answer: int = 0
    branch_answer: int = 0


class BusyDay:
    """Customers, a person at head office and one at the branches, each in a thread. A context manager."""

    def __init__(self, office: HeadOffice, rng: random.Random, count: int) -> None:
        self.office = office
        self.paid: list[Paid] = []
        self.acknowledged: dict[str, set[str]] = {}
        """The references of the acknowledged orders of each shop, by the name of its folder."""
        kinds = [*Kind] * (count // len(Kind) + 1)
        rng.shuffle(kinds)
        self._plan = [(kind, rng.choice(office.branches)) for kind in kinds[:count]]
        self._rng = random.Random(rng.random())
        self._calls = itertools.count()
        self._allowed = threading.Semaphore(0)
        self._at_hub, self._at_branch = (queue.SimpleQueue[Paid | None](), queue.SimpleQueue[Paid | None]())
        self._errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), daemon=True)
            for work in (self._customers, self._head_office, self._cashier)
        ]

    def start(self) -> None:
        """Let people begin; customers wait until `allow` lets them pay."""
        for thread in self._threads:
            thread.start()

    def allow(self, count: int) -> None:
        """Let this many more customers pay."""
        for _ in range(count):
            self._allowed.release()

    def wait_until_paid(self, count: int) -> None:
        """Wait until this many customers have paid in total."""
        wait_until(lambda: len(self.paid) >= count or self._errors, ANSWERED_S, "all pay")
        self._raise_error()

    def _raise_error(self) -> None:
        for error in self._errors:
            raise error

    def finish(self) -> None:
        """Wait until everybody has paid and was answered."""
        for thread in self._threads:
            thread.join(ANSWERED_S)
            assert not thread.is_alive() or self._errors, "somebody was not answered"
        self._raise_error()
        self.office.wait_until_quiet()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 -- raised by `finish`
            self._errors.append(error)
            self._at_hub.put(None)
            self._at_branch.put(None)

    def _customers(self) -> None:
        for kind, branch in self._plan:
            self._allowed.acquire()
            self._pay(kind, branch)
        self._at_hub.put(None)
        self._at_branch.put(None)

    def _pay(self, kind: Kind, branch: BranchShop) -> None:
        minor = branch.next_amount_minor()
        hub_order = branch_order = None
        code = self._rng.choice(("food", "payment", "1243"))
        if kind in (Kind.HUB, Kind.CLAIMED, Kind.RACED):
            hub_order = self.order(self.office.hub, minor)
        if kind in (Kind.BRANCH, Kind.RACED):
            branch_order = self.order(branch.shop, minor)
        if kind is Kind.RETURNED:
            code = make_code(self._rng.randrange, HUB_FIRST)
        elif kind in (Kind.HUB, Kind.BRANCH):
            order = hub_order or branch_order
            assert order is not None
            code = order["svc_code"]
        receipt = branch.pay(code)
        done = Paid(kind, branch, receipt.telco_id)
        done.hub_order = None if hub_order is None else hub_order["reference"]
        done.branch_order = None if branch_order is None else branch_order["reference"]
        self.paid.append(done)
        if kind in (Kind.CLAIMED, Kind.RACED):
            self._at_hub.put(done)
        if kind is Kind.RACED:
            self._at_branch.put(done)

    def order(self, shop: RealShop, minor: int) -> dict[str, Any]:
        """Make an order, and return it once it is acknowledged."""
        body = {"amount": f"{minor // 100}.{minor % 100:02d}", "phone_number": "0244123456"}
        status, answer = self._call(shop, wire.Path.INITIALIZE, body)
        assert status in (200, 201), answer
        made: dict[str, Any] = answer["data"]
        at_hub = shop is self.office.hub
        assert made["svc_code"][0].isdigit() == at_hub, "the class of codes tells who decides"
        self.acknowledged.setdefault(shop.home.name, set()).add(made["reference"])
        return made

    def _head_office(self) -> None:
        while (one := self._at_hub.get()) is not None:
            one.hub_answer = self._reconcile(self.office.hub, one.hub_order, one.telco_id)

    def _cashier(self) -> None:
        while (one := self._at_branch.get()) is not None:
            one.branch_answer = self._reconcile(one.branch.shop, one.branch_order, one.telco_id)

    def _reconcile(self, shop: RealShop, reference: str | None, telco_id: str) -> int:
        path = f"/v1/transactions/{reference}/reconcile"
        status, answer = self._call(shop, path, {"transaction_id": telco_id})
        assert status in (200, 409), answer
        return status

    def _call(self, shop: RealShop, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Repeat a call until it is answered and the answer is final."""
        key = {"Idempotency-Key": f"call-{next(self._calls)}"}
        until = time.monotonic_ns() + int(ANSWERED_S * 1e9)
        while True:
            try:
                status, answer = shop.api("POST", path, body, headers=key)
                code = "" if status < 400 else answer["error"]["code"]
            except (OSError, http.client.HTTPException, ValueError):
                status, answer, code = 503, None, ""
            if status != 503 and code not in LATER:
                return status, answer
            assert time.monotonic_ns() < until, f"{path}: not answered in {ANSWERED_S} s: {answer}"
            pause(AGAIN_S)

    # What must hold afterwards.

    def check(self) -> None:
        """Check that nothing is lost or doubled, and that hub and branches agree."""
        self._each_payment_is_used_at_most_once_and_as_wanted()
        self._exactly_the_acknowledged_orders_are_there()
        refused = self.office.hub.rows("SELECT kind, id, why FROM facts_refused")
        assert not refused, refused
        for branch in self.office.branches:
            self._hub_has_a_copy_of(branch)
        if self.office.receiver.secrets:
            self._every_webhook_came()
        self._invariants_hold()

    def _each_payment_is_used_at_most_once_and_as_wanted(self) -> None:
        office = self.office
        users = {("hub", *row) for row in _uses(office.hub)}
        for branch in office.branches:
            users |= {(branch.name, *row) for row in _uses(branch.shop)}
        assert [each for each in Counter(row[2] for row in users).values() if each > 1] == []
        user_of = {row[2]: (row[0], row[1]) for row in users}
        for one in self.paid:
            found = one.branch.shop.rows("SELECT id FROM payments WHERE telco_transaction_id = ?", (one.telco_id,))
            assert len(found) == 1, (one.telco_id, found)
            used = user_of.get(found[0][0])
            assert used == _wanted(one), f"{one}: used by {used}\n{self._story(found[0][0], one)}"
        assert len(user_of) == sum(_wanted(one) is not None for one in self.paid)

    def _story(self, payment_id: str, one: Paid) -> str:
        """Return what hub and branch know about a payment, for a failed test."""
        lines = []
        for shop in (self.office.hub, one.branch.shop):
            lines += shop.rows("SELECT decider, standing FROM payments WHERE id = ?", (payment_id,))
            for about, value in (
                ("payment_seq = (SELECT seq FROM payments WHERE id = ?)", payment_id),
                ("transaction_seq = (SELECT seq FROM transactions WHERE id = ?)", _id(one.hub_order)),
            ):
                lines += shop.rows(
                    f"SELECT seq, at, type, actor, data FROM events WHERE {about} ORDER BY seq", (value,)
                )
        return "\n".join(map(str, lines))

    def _exactly_the_acknowledged_orders_are_there(self) -> None:
        for shop in (self.office.hub, *(branch.shop for branch in self.office.branches)):
            found = shop.rows("SELECT id FROM transactions WHERE branch_id IS NULL AND origin = 'request'")
            stored = ["svc_trx_" + row[0].replace("-", "") for row in found]
            assert sorted(stored) == sorted(self.acknowledged.get(shop.home.name, ()))

    def _hub_has_a_copy_of(self, branch: BranchShop) -> None:
        hub = self.office.hub
        ((branch_id,),) = hub.rows("SELECT id FROM branches WHERE name = ?", (branch.name,))
        names = (
            "id, telco_transaction_id, amount_minor, currency, payer_name, reference_text, stored_at, decider, standing"
        )
        mine = branch.shop.rows(f"SELECT {names} FROM payments ORDER BY id")
        copies = hub.rows(f"SELECT {names} FROM payments WHERE branch_id = ? ORDER BY id", (branch_id,))
        assert [row[:-1] for row in copies] == [row[:-1] for row in mine]
        for (*_, decider, standing), (*_, copied) in zip(mine, copies, strict=True):
            if decider == "branch":
                assert copied == standing
            else:
                assert standing == "handed"
                assert copied in {"used", "open", "review"}
        for table, columns in (
            (
                "transactions",
                "id, status, (SELECT id FROM payments p WHERE p.seq = payment_seq) AS payment_id, svc_code, expected_minor",
            ),
            ("reviews", "id, state"),
        ):
            ours = branch.shop.rows(f"SELECT {columns} FROM {table} ORDER BY id")
            theirs = hub.rows(f"SELECT {columns} FROM {table} WHERE branch_id = ? ORDER BY id", (branch_id,))
            assert not {*ours} ^ {*theirs}, (table, {*ours} - {*theirs}, {*theirs} - {*ours})
        sums = branch.shop.ask("GET", f"{wire.Path.LOCAL_BRANCH}?compare=all")["compared"]
        assert (sums["agrees"], sums["payments"]) == (True, len(mine)), sums

    def _every_webhook_came(self) -> None:
        hub = self.office.hub
        wanted = sorted(row[1] for row in _uses(hub))
        owed = hub.rows(
            "SELECT p.id, d.webhook_id FROM deliveries d JOIN payments p ON p.seq = d.subject "
            "WHERE d.event = 'transaction.completed' ORDER BY p.id"
        )
        assert [row[0] for row in owed] == wanted
        came = Counter(request.webhook_id for request in self.office.receiver.requests if request.verified)
        assert [webhook_id for _, webhook_id in owed if not came[webhook_id]] == []

    def _invariants_hold(self) -> None:
        office = self.office
        for branch in office.branches:
            branch.shop.stop()
            check_invariants(branch.shop.places.database)
        if office.hub.url:
            check_server_invariants(office.hub.url)
        else:
            check_invariants(office.hub.places.database)


def _uses(shop: RealShop) -> Sequence[tuple[str, str]]:
    """Return the shop's own orders that are paid, each with its payment."""
    return [
        (row[0], row[1])
        for row in shop.rows(
            "SELECT id, (SELECT id FROM payments p WHERE p.seq = payment_seq) AS payment_id FROM transactions WHERE branch_id IS NULL AND origin = 'request' "
            "AND payment_seq IS NOT NULL"
        )
    ]


def _wanted(one: Paid) -> tuple[str, str] | None:
    """Return the shop and the order that a payment must have paid; None for no order."""
    if one.kind is Kind.RACED:
        assert sorted((one.hub_answer, one.branch_answer)) == [200, 409], one
    elif one.kind is Kind.CLAIMED:
        assert one.hub_answer == 200, one
    if one.kind in (Kind.FREE, Kind.RETURNED):
        return None
    if one.kind is Kind.HUB or one.hub_answer == 200:
        return "hub", _id(one.hub_order)
    return one.branch.name, _id(one.branch_order)


def _id(reference: str | None) -> str:
    """Return the id of an order, empty for none."""
    return "" if reference is None else str(uuid.UUID(reference.removeprefix("svc_trx_")))
