"""Two branches and a hub over a link that loses and repeats, with reconciles by operators on both sides, and restores."""

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from daemon.core.branches.facts import BYTES_MAX
from daemon.core.errors import Refusal
from daemon.core.model import Payment
from daemon.flows.branches import hub as hub_flow
from daemon.flows.branches import join as join_flow
from daemon.sender.hub_client import HubRefusalError
from daemon.store.branches import restored
from tests.fakes import new_database, postgresql
from tests.fakes.branches import Chain, FakeBranch, Lost
from tests.fakes.receipts import mtn
from tests.fakes.shop import OWNER
from tests.fakes.tiers import share

NAMES = ("kumasi", "tamale")
NAME = st.sampled_from(NAMES)


class Branches(RuleBasedStateMachine):
    """The events, one at a time; at the end the line is up and every shop catches up."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory(prefix="momo-branches-")
        self.paid = 0
        self.orders: dict[str, list[str]] = {"hub": [], **{name: [] for name in NAMES}}
        self.codes: list[str] = []
        self.telco_ids: list[str] = []
        self.late: list[tuple[str, dict[str, Any]]] = []
        self.chain: Chain

    def do(self, step: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(step)

    @initialize(size_max=st.sampled_from((BYTES_MAX, 1)))
    def open(self, size_max: int) -> None:
        """With small requests the next one is prepared before the answer to the last one."""
        self.chain = self.do(Chain.make(Path(self.folder.name), *NAMES))
        for name in NAMES:
            self.chain[name].size_max = size_max

    @rule(where=st.sampled_from(("hub", *NAMES)), amount=st.sampled_from((500, 900)))
    def order(self, where: str, amount: int) -> None:
        shop = self.chain.hub if where == "hub" else self.chain[where].shop
        made = self.do(shop.request(amount))
        self.orders[where].append(made.reference)
        self.codes.append(str(made.svc_code))

    @rule(name=NAME, amount=st.sampled_from((500, 900)), pick=st.integers(min_value=0, max_value=50))
    def pay(self, name: str, amount: int, pick: int) -> None:
        shop = self.chain[name].shop
        self.paid += 1
        telco_id = str(93_214_500_000 + self.paid)
        typed = self.codes[pick % len(self.codes)] if self.codes and pick < 40 else "food"
        receipt = mtn(
            amount, "KOFI ANTWI BADU BEKOE", shop.wallet(amount), typed, telco_id, concatenation=self.paid % 256
        )
        self.do(shop.read(receipt))
        self.telco_ids.append(telco_id)

    @precondition(lambda self: self.telco_ids)
    @rule(where=st.sampled_from(("hub", *NAMES)), data=st.data())
    def reconcile(self, where: str, data: st.DataObject) -> None:
        if not self.orders[where]:
            return
        shop = self.chain.hub if where == "hub" else self.chain[where].shop
        reference = data.draw(st.sampled_from(self.orders[where]))
        telco_id = data.draw(st.sampled_from(self.telco_ids))
        with contextlib.suppress(Refusal):
            self.do(shop.reconcile(reference, telco_id))

    @precondition(lambda self: self.telco_ids)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        rows = self.do(
            self.chain.hub.values("SELECT id FROM payments WHERE decider = 'hub' AND standing <> 'used' ORDER BY seq")
        )
        if rows:
            with contextlib.suppress(Refusal):
                payment_id = data.draw(st.sampled_from(rows))
                self.do(hub_flow.give_back(self.chain.hub.env, OWNER, payment_id))

    @rule(name=NAME, how=st.sampled_from(("arrives", "request lost", "answer lost", "repeated")))
    def send(self, name: str, how: str) -> None:
        branch = self.chain[name]
        with contextlib.suppress(Lost):
            self.do(branch.turn(lose_request=how == "request lost", lose_answer=how == "answer lost"))
        self.late.append((name, branch.last_body))
        if how == "repeated":
            self._repeat(len(self.late) - 1)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        self._repeat(data.draw(st.integers(min_value=0, max_value=len(self.late) - 1)))

    def _repeat(self, place: int) -> None:
        """Let an earlier request arrive (again). One that the hub never saw and that is no longer the next is refused."""
        name, body = self.late[place]
        with contextlib.suppress(HubRefusalError):
            self.do(self.chain[name].wire.call("/v1/branch/sync", body))

    @rule(name=NAME)
    def restore(self, name: str) -> None:
        """A person types the command without need; it must change nothing."""
        branch = self.chain[name]
        self.do(join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True))
        branch.outcomes, branch.stale = {}, None

    @rule(name=NAME)
    def join_again(self, name: str) -> None:
        """A person leaves by force and joins again, as after a stolen key."""
        self.do(self.chain[name].join_again(name))

    @rule(name=NAME, ago_us=st.sampled_from((0, 3_600_000_000, 1 << 50)))
    def distrust(self, name: str, ago_us: int) -> None:
        """An administrator distrusts the wrong branch, and takes it back by inviting it again; nothing may be lost."""
        hub = self.chain.hub
        since = max(0, hub.clock.now_us() - ago_us)
        with contextlib.suppress(Refusal):
            self.do(hub_flow.distrust(hub.env, OWNER, name, since))
        self.do(self.chain[name].join_again(name))

    @invariant()
    def each_payment_is_used_at_most_once(self) -> None:
        if not hasattr(self, "chain"):
            return
        used: dict[str, set[str]] = {}
        for shop in (self.chain.hub, *(branch.shop for branch in self.chain.branches.values())):
            rows = self.do(
                shop.values(
                    "SELECT (SELECT id FROM payments p WHERE p.seq = payment_seq) AS payment_id, id FROM transactions WHERE origin = 'request' AND branch_id IS NULL "
                    "AND payment_seq IS NOT NULL"
                )
            )
            for payment_id, transaction_id in rows:
                used.setdefault(payment_id, set()).add(transaction_id)
        assert [each for each in used.values() if len(each) > 1] == []

    def teardown(self) -> None:
        if not hasattr(self, "chain"):
            return
        try:
            self.do(self._catch_up())
            for name in NAMES:
                self.do(self._is_copied(self.chain[name]))
        finally:
            self.chain.close()
            self.loop.close()
        self.folder.cleanup()

    async def _catch_up(self) -> None:
        for _round in range(3):
            for name in NAMES:
                await self.chain[name].settle(turns=2_000)

    async def _is_copied(self, branch: FakeBranch) -> None:
        hub = self.chain.hub
        assert await hub.values("SELECT kind, id, why FROM facts_refused") == []
        mine = {one.id: one for one in await branch.shop.payments()}
        copies = {one.id: one for one in await hub.payments() if one.branch_id == branch.id}
        assert mine.keys() == copies.keys()
        for payment_id, payment in mine.items():
            self._agrees(payment, copies[payment_id])
        theirs = await hub.env.store.read(lambda reader: restored.sums(reader, branch.id))
        assert theirs == await branch.shop.env.store.read(restored.sums)
        statuses: Callable[[str], str] = (
            "SELECT id, status, (SELECT id FROM payments p WHERE p.seq = payment_seq) AS payment_id FROM transactions WHERE {} ORDER BY id".format
        )
        ours = await branch.shop.values(statuses("1 = 1"))
        assert ours == await hub.values(statuses(f"branch_id = '{branch.id}'"))

    def _agrees(self, payment: Payment, copy: Payment) -> None:
        assert payment.decider == copy.decider, "decided or returned, and both know it"
        if payment.decider == "branch":
            assert payment.standing == copy.standing
        else:
            assert payment.standing == "handed"
            assert copy.standing in {"used", "open", "review"}


class LongBranches(Branches):
    """The same, longer."""


class BranchesOfServer(Branches):
    """The same with the hub on PostgreSQL."""

    def __init__(self) -> None:
        postgresql.cluster()
        super().__init__()
        new_database.put_shops_on_server(on=True)

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            new_database.put_shops_on_server(on=False)


TestBranches = Branches.TestCase
TestBranches.settings = settings(max_examples=6, stateful_step_count=30, deadline=None)
TestManyBranches = pytest.mark.timeout(1_200)(pytest.mark.slow(LongBranches.TestCase))
TestManyBranches.settings = settings(max_examples=share(200), stateful_step_count=50, deadline=None)
TestBranchesOfServer = pytest.mark.timeout(600)(pytest.mark.slow(BranchesOfServer.TestCase))
TestBranchesOfServer.settings = settings(max_examples=share(60), stateful_step_count=40, deadline=None)
