"""Two branches and a hub over a link that loses and repeats, with reconciles by operators on both sides, forced leaves, restores of
each shop from an older copy, clones, and a thief with the key of a branch who lies.
"""

import asyncio
import contextlib
import tempfile
import uuid
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
from daemon.store.branches import feed, restored
from parsers.times import from_us
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
        self.forged: set[str] = set()
        self.stolen: dict[str, int] = {}
        """When the key of a branch was stolen, by its name."""
        self.lost_time = False
        """A shop came back from an older copy."""
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
            amount, "KOFI ANTWI BADU BEKOE", shop.wallet(amount), typed, telco_id, concatenation=self.paid % 256,
            sent_at=from_us(shop.clock.now_us()),
        )  # fmt: skip
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
        if not self._sends(name):
            return
        with contextlib.suppress(Lost, HubRefusalError):
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
        """A person types the command without need; it must change nothing. It also ends a dispute, and a wait for it."""
        self._restore(name)

    def _restore(self, name: str) -> None:
        branch = self.chain[name]
        with contextlib.suppress(HubRefusalError, Refusal):
            self.do(join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True))
        branch.outcomes, branch.stale = {}, None

    @rule(name=NAME)
    def join_again(self, name: str) -> None:
        """A person leaves by force and joins again, as after a stolen key."""
        self._join_again(name)

    def _join_again(self, name: str) -> None:
        with contextlib.suppress(Refusal):
            self.do(join_flow.leave(self.chain[name].shop.env, OWNER, force=True))
        branch = self.chain[name]
        branch.outcomes, branch.stale = {}, None
        self.do(branch.join(name))

    @rule(name=NAME)
    def leave_by_force(self, name: str) -> None:
        """The shop is on its own, so its people may use what the hub cannot have used; the last answer may have been lost."""
        with contextlib.suppress(Refusal):
            self.do(join_flow.leave(self.chain[name].shop.env, OWNER, force=True))

    def _sends(self, name: str) -> bool:
        """Return whether this shop is a branch that may send."""
        link = self.do(self.chain[name].shop.env.store.read(feed.get_link))
        return link is not None and not link.must_renew

    @rule(name=NAME)
    def keep(self, name: str) -> None:
        self.chain[name].keep()

    @rule(name=NAME, marked=st.booleans())
    def put_back(self, name: str, marked: bool) -> None:
        """The branch comes back from its last copy: by `momo restore`, which marks it, or as a cloned disk."""
        branch = self.chain[name]
        if not (branch.folder / "kept.db").exists():
            return
        self.lost_time = True
        self.do(branch.requests.close())
        branch.put_back()
        branch.shop.env.place = self.do(branch.shop.env.store.read(feed.link_place))
        branch.outcomes, branch.stale = {}, None
        if marked:
            self.do(branch.shop.env.store.write(lambda tx: feed.mark_restored(tx, "restored")))

    @rule()
    def keep_hub(self) -> None:
        new_database.keep(self.chain.hub.env.store, Path(self.folder.name) / "hub.kept")

    @rule()
    def put_back_hub(self) -> None:
        kept = Path(self.folder.name) / "hub.kept"
        if kept.exists():
            self.lost_time = True
            new_database.put_back(self.chain.hub.env.store, kept, self.chain.hub.clock.now_us())

    @rule(name=NAME)
    def clone(self, name: str) -> None:
        """Another machine with the branch's disk sends the next request."""
        with contextlib.suppress(HubRefusalError, AssertionError):
            self.do(self.chain[name].send())

    @rule(
        name=NAME,
        what=st.sampled_from(("future", "other", "other's SIM", "order")),
        amount=st.sampled_from((500, 900)),
        data=st.data(),
    )
    def lie(self, name: str, what: str, amount: int, data: st.DataObject) -> None:
        """The thief of a branch's key sends a payment that nobody made: with an ID to come, or one of another branch, or for an order."""
        branch = self.chain[name]
        payments = [one for one in self.do(branch.facts()) if one["kind"] == "payment"]
        if not payments:
            return
        telco_id = str(93_214_500_000 + self.paid + data.draw(st.integers(1, 3)))
        more: dict[str, Any] = {}
        if what.startswith("other") and self.telco_ids:
            telco_id = data.draw(st.sampled_from(self.telco_ids))
        if what == "other's SIM":
            more["sim_key"] = next(self.chain[each].shop.source.sim_key for each in NAMES if each != name)
        if what == "order" and self.codes:
            more |= {"decider": "hub", "standing": "handed", "reference_text": data.draw(st.sampled_from(self.codes))}
        like = payments[0]
        forged = str(uuid.UUID(int=(0xF << 124) + len(self.forged)))
        row = {
            **like["row"], "id": forged, "message_id": forged, "telco_transaction_id": telco_id, "telco_id_as_read": telco_id,
            "amount_minor": amount, "telco_at": branch.shop.clock.now_us(), "decider": "branch", "standing": "open",
            "reversed_at": None, "historical": 0, **more,
        }  # fmt: skip
        fact = {**like, "id": forged, "row": row, "message": {**like["message"], "id": forged, "payment_id": None}}
        self.stolen.setdefault(name, self.chain.hub.clock.now_us())
        self.forged.add(forged)
        with contextlib.suppress(HubRefusalError, AssertionError):
            self.do(branch.send(fact))

    @rule(name=NAME)
    def cure(self, name: str) -> None:
        """An administrator distrusts what came since the theft, and the branch joins again."""
        since = self.stolen.pop(name, None)
        if since is not None:
            with contextlib.suppress(Refusal):
                self.do(hub_flow.distrust(self.chain.hub.env, OWNER, name, since))
            self._join_again(name)

    @rule(data=st.data())
    def choose(self, data: st.DataObject) -> None:
        """A person chooses one of several payments with one network ID."""
        rows = self.do(
            self.chain.hub.values(
                "SELECT id FROM payments WHERE double_of IS NOT NULL AND double_of <> id ORDER BY seq"
            )
        )
        if rows:
            with contextlib.suppress(Refusal):
                self.do(hub_flow.choose(self.chain.hub.env, OWNER, data.draw(st.sampled_from(rows))))

    @rule(hours=st.sampled_from((1, 25)))
    def wait(self, hours: int) -> None:
        for shop in (self.chain.hub, *(branch.shop for branch in self.chain.branches.values())):
            shop.clock.advance(hours * 3_600)

    @rule(name=NAME, ago_us=st.sampled_from((0, 3_600_000_000, 1 << 50)))
    def distrust(self, name: str, ago_us: int) -> None:
        """An administrator distrusts the wrong branch, and takes it back by inviting it again; nothing may be lost."""
        hub = self.chain.hub
        since = max(0, hub.clock.now_us() - ago_us)
        with contextlib.suppress(Refusal):
            self.do(hub_flow.distrust(hub.env, OWNER, name, since))
        self._join_again(name)

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
        twice = self.do(
            self.chain.hub.values(
                "SELECT p.telco_transaction_id, p.sim_key, p.amount_minor FROM transactions t JOIN payments p ON p.seq = t.payment_seq "
                "WHERE t.origin = 'request' AND t.branch_id IS NULL AND (p.double_of IS NULL OR p.double_of <> p.id) GROUP BY p.telco_transaction_id, p.sim_key, p.amount_minor "
                "HAVING COUNT(*) > 1"
            )
        )
        assert twice == [], "the money of one payment pays one order of head office"

    def teardown(self) -> None:
        if not hasattr(self, "chain"):
            return
        try:
            for name in NAMES:
                self._mend(name)
            self.do(self._catch_up())
            for name in NAMES:
                self.do(self._is_copied(self.chain[name]))
            self.do(self._conflicts_are_named())
            self.each_payment_is_used_at_most_once()
        finally:
            if self.lost_time:
                self.chain.close_after_lost_time()
            else:
                self.chain.close()
            self.loop.close()
        self.folder.cleanup()

    def _mend(self, name: str) -> None:
        """Do what a person is told to do, so that the branch is heard again."""
        branch = self.chain[name]
        if name in self.stolen:
            self.cure(name)
        if self.do(branch.shop.env.store.read(feed.get_link)) is None:
            self._join_again(name)
        try:
            if self._sends(name):
                self.do(branch.turn())
                return
        except HubRefusalError as refusal:
            if refusal.code == "BRANCH_NOT_FOUND":
                self._join_again(name)
                return
        self._restore(name)
        if not self._sends(name):
            self._join_again(name)

    async def _conflicts_are_named(self) -> None:
        """Where several payments have one ID and none counts, a person at the hub was told."""
        hub = self.chain.hub
        several = "SELECT double_of FROM payments p WHERE double_of <> id AND NOT EXISTS (SELECT 1 FROM payments o WHERE o.double_of IS NULL "
        several += "AND o.telco_transaction_id = p.telco_transaction_id)"
        told = await hub.values("SELECT data FROM events WHERE type IN ('notice.id_conflict', 'notice.paid_twice')")
        assert [one for one in await hub.values(several) if not any(one in text for text in told)] == []

    async def _catch_up(self) -> None:
        for _round in range(3):
            for name in NAMES:
                await self.chain[name].settle(turns=2_000)

    async def _is_copied(self, branch: FakeBranch) -> None:
        hub = self.chain.hub
        refused = await hub.values("SELECT id, why FROM facts_refused")
        assert [one for one in refused if one[0] not in self.forged] == []
        mine = {one.id: one for one in await branch.shop.payments()}
        # What a thief made up stays at the hub, unless the branch took it when it joined again.
        copies = {
            one.id: one
            for one in await hub.payments()
            if one.branch_id == branch.id and (one.id not in self.forged or one.id in mine)
        }
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
