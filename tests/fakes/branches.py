"""A hub with branches in one process: real shops and flows, and a link that can lose and repeat requests and answers.

The hub is on PostgreSQL in tests of that engine; branches are always files.
"""

import contextlib
import gzip
import hashlib
import io
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from daemon import wire
from daemon.core.branches import facts
from daemon.core.branches.answer import ExchangeAnswer, read
from daemon.core.branches.facts import SyncRequest
from daemon.core.errors import Refusal
from daemon.core.json_values import dump
from daemon.core.model import Payment, Transaction
from daemon.flows.branches import hub as hub_flow
from daemon.flows.branches import join as join_flow
from daemon.flows.branches import outbound, sync
from daemon.loops.link import HubCommands
from daemon.runtime.log import Log
from daemon.sender.hub_client import HubRefusalError, HubUnreachableError
from daemon.store.branches import branches, feed
from daemon.store.engine import Reader, Tx
from daemon.wire import Path as ApiPath
from tests.fakes import new_database
from tests.fakes.invariants import OWN, broken_invariants, check_invariants
from tests.fakes.receipts import mtn
from tests.fakes.shop import OWNER, FakeShop

FIRST_ID = "93214500001"


class Lost(Exception):
    """The request or its answer was lost."""


class Wire:
    """Calls the hub's flows as its API does, through JSON."""

    def __init__(self, hub: FakeShop, key: str | None = None) -> None:
        self.hub = hub
        self.key = key

    async def call(
        self, path: str, body: Mapping[str, Any], *, timeout_s: float = 30.0, whole_s: float = 600.0
    ) -> dict[str, Any]:
        given = json.loads(json.dumps(body))
        try:
            answer = await self._answer(path, given)
        except Refusal as refusal:
            raise HubRefusalError(refusal.spec.http_status, refusal.code, str(refusal.message), None) from refusal
        return dict(json.loads(dump(answer)))

    async def _answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        env = self.hub.env
        if path == ApiPath.BRANCH_JOIN:
            return await hub_flow.accept(env, body["word"], dry_run=body["dry_run"], methods=body.get("methods", ()))
        if path == ApiPath.BRANCH_ROWS:
            return await hub_flow.rows(env, self.key, body["kind"], body["after"], body["limit"])
        if path == ApiPath.BRANCH_LEAVE:
            return await hub_flow.begin_to_leave(env, self.key)
        assert path == ApiPath.BRANCH_SYNC
        octets = json.dumps(body).encode()
        sha256 = hashlib.sha256(octets).hexdigest()
        answer = await sync.sync(env, self.key, facts.decode(octets), sha256)
        want = None if answer.want is None else {"from_seq": answer.want}
        return {"acked": answer.acked, "commands": list(answer.commands), "want": want, "left": answer.left}


def body_of(outgoing: outbound.HubRequest) -> dict[str, Any]:
    """Return the JSON of a request."""
    return dict(json.loads(gzip.decompress(outgoing.octets)))


class FakeBranch:
    """A branch and its loop, one request at a time."""

    def __init__(self, shop: FakeShop, hub: FakeShop, folder: Path) -> None:
        self.shop = shop
        self.hub = hub
        self.folder = folder
        self.wire = Wire(hub)
        self.outcomes: dict[str, Any] = {}
        self.stale: feed.HubLink | None = None
        self.requests = outbound.Requests(shop.env)
        self.size_max = facts.BYTES_MAX
        self._carry_out = HubCommands(shop.env, wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp"), Log(io.StringIO()))

    @property
    def id(self) -> str:
        assert self.branch_id is not None
        return self.branch_id

    branch_id: str | None = None
    takes_unknown: bool | None = True
    """Whether payments that only the hub has come back when it joins again; None: nobody was asked yet."""

    async def join(self, name: str, decides: str = "all") -> dict[str, Any]:
        made = await hub_flow.invite(self.hub.env, OWNER, name, decides, "")
        invitation = join_flow.Invitation("https://hub.example", made["word"])

        @contextlib.asynccontextmanager
        async def connect(_key: str) -> AsyncIterator[Wire]:
            found = await self.hub.env.store.read(lambda reader: branches.named(reader, name))
            assert found is not None
            self.branch_id, self.wire.key = found.id, found.key_id
            yield self.wire

        done = await join_flow.join(self.shop.env, OWNER, invitation, self.wire, connect, dry_run=False)
        async with connect(""):
            if done["unknown"] and self.takes_unknown is not None:
                back = await join_flow.restore(self.shop.env, OWNER, self.wire, take_unknown=self.takes_unknown)
                done |= {"rows": back["rows"], "aside": back["aside"]}
            return done

    def keep(self) -> None:
        """Make a backup of the branch."""
        with new_database.in_files():
            new_database.keep(self.shop.env.store, self.folder / "kept.db")

    def put_back(self) -> None:
        """Put the backup in place of the branch's database, as after a failed disk."""
        with new_database.in_files():
            now = self.shop.clock.now_us()
            new_database.put_back(self.shop.env.store, self.folder / "kept.db", now)

    async def join_again(self, name: str) -> None:
        """Forget the hub and join with a new invitation, as after a revoked key or a dispute."""
        await join_flow.leave(self.shop.env, OWNER, force=True)
        self.outcomes, self.stale = {}, None
        await self.join(name)

    async def turn(self, *, lose_request: bool = False, lose_answer: bool = False) -> bool:
        """Make one request and carry out the commands in its answer; return whether more is to be sent.

        Raises:
            HubRefusalError: The hub refused it.
            Lost: The link lost it.
        """
        outgoing = await self.requests.next(self.outcomes, stale=self.stale, size_max=self.size_max)
        assert outgoing is not None, "this shop is a branch"
        self.last_body = body_of(outgoing)
        if lose_request:
            raise Lost
        try:
            answer = read(await self.wire.call(ApiPath.BRANCH_SYNC, self.last_body), ExchangeAnswer)
        except HubRefusalError as refusal:
            is_stale = refusal.code == wire.ErrorCode.BRANCH_STALE
            self.stale = outgoing.link if is_stale else None
            raise
        if lose_answer:
            raise Lost
        self.stale = None
        more = await outbound.take_answer(self.shop.env, outgoing, answer)
        self.outcomes = {}
        for command in answer.commands:
            self.outcomes[command["id"]] = await self._carry_out.carry_out(command)
        if answer.left:
            more = not await join_flow.end(self.shop.env, of=outgoing.link)
        return more or bool(self.outcomes)

    async def settle(self, turns: int = 30) -> None:
        """Make requests until nothing is left to send or to do."""
        for _turn in range(turns):
            if not await self.turn():
                return
            if self.shop.env.place.role is not wire.ShopRole.BRANCH:
                return
        raise AssertionError(f"more to send after {turns} requests")

    async def pay(self, reference: str, telco_id: str = FIRST_ID, amount: int = 2500) -> None:
        """Read a receipt."""
        wallet = self.shop.wallet(amount)
        await self.shop.read(mtn(amount, "KOFI ANTWI BADU BEKOE", wallet, reference, telco_id))

    async def send(self, *given: Mapping[str, Any], **members: Any) -> dict[str, Any]:
        """Send facts of another program with this branch's key, each without `seq`; the feed goes on behind them.

        Raises:
            HubRefusalError: The hub refused the request.
        """
        known = await self.hub.env.store.read(lambda reader: branches.get(reader, self.id))
        assert known is not None
        numbered = [{"seq": known.acked_seq + 1 + at, **fact} for at, fact in enumerate(json.loads(json.dumps(given)))]
        body = {
            "epoch": known.epoch, "turn": known.turn + 1, "after": known.acked_seq,
            "upto": known.acked_seq + len(given), "facts": numbered, "outcomes": {}, "stale": False,
            "version": "1", "now": self.shop.clock.now_us(), **members,
        }  # fmt: skip
        return await self.wire.call(ApiPath.BRANCH_SYNC, body)

    async def facts(self) -> list[dict[str, Any]]:
        """Return every row of this branch as its feed sends it, without `seq`."""

        def look(reader: Reader) -> list[dict[str, Any]]:
            every, after = list[facts.Fact](), 0
            while (found := feed.batch(reader, after, texts=False)).facts:
                every += found.facts
                after = found.upto
            latest = {(one.kind, one.id): one for one in every}
            asked = SyncRequest(1, 1, 0, after, [*latest.values()], {}, 0)
            return [
                {name: value for name, value in one.items() if name != "seq"}
                for one in json.loads(gzip.decompress(facts.packed(asked)))["facts"]
            ]

        return await self.shop.env.store.read(look)

    async def payment(self, telco_id: str) -> Payment:
        found = [one for one in await self.shop.payments() if one.telco_id_as_read == telco_id]
        return found[0]

    async def link(self) -> feed.HubLink:
        found = await self.shop.env.store.read(feed.get_link)
        assert found is not None
        return found


class Chain:
    """A hub and its branches."""

    def __init__(self, hub: FakeShop, folder: Path) -> None:
        self.hub = hub
        self.folder = folder
        self.branches: dict[str, FakeBranch] = {}

    @classmethod
    async def make(cls, folder: Path, *names: str, decides: str = "all") -> "Chain":
        hub = await FakeShop.make(folder / "hub", line=False)
        await _add_shop(hub, "Head office")
        await hub_flow.init(hub.env, OWNER)
        chain = cls(hub, folder)
        chain.limit(1_000_000)
        for number, name in enumerate(names):
            await chain.add(name, number, decides)
        return chain

    async def add(self, name: str, number: int, decides: str = "all") -> FakeBranch:
        iccid = f"89233010000000{number:05d}"
        with new_database.in_files():
            shop = await FakeShop.make(self.folder / name, line=False, iccid=iccid, seed=number + 100)
        await shop.put_number("momo_mtn", f"99999999-9999-4999-8999-{number:012d}")
        # Shops have keys of their own, so that their rows have ids of their own.
        shop.env.account_key = name.encode().ljust(32, b".")
        await _add_shop(shop, name)
        made = self.branches[name] = FakeBranch(shop, self.hub, self.folder / name)
        await made.join(name, decides)
        return made

    def limit(self, cedis: int) -> None:
        """Let so much count in a day of payments on a new SIM."""
        env = self.hub.env
        env.config = replace(env.config, hub=replace(env.config.hub, unconfirmed_limit=cedis))

    async def name(self, shop: FakeShop, name: str) -> None:
        """Give a shop that is set up anew its name."""
        await _add_shop(shop, name)

    def __getitem__(self, name: str) -> FakeBranch:
        return self.branches[name]

    def close(self) -> None:
        """Close all shops; the invariants must hold in each."""
        for branch in self.branches.values():
            branch.shop.close()
        self.hub.close()
        check_invariants(self.folder / "hub" / "momo.db")
        with new_database.in_files():
            for name in self.branches:
                check_invariants(self.folder / name / "momo.db")

    def close_after_lost_time(self) -> None:
        """Close all shops, of which a branch came back from a backup.

        Its journal lacks the lost time, so only the checks of the product hold.
        """
        self.hub.close()
        with new_database.in_files():
            for branch in self.branches.values():
                branch.shop.close()
                broken = broken_invariants(Path(branch.shop.env.store.path))
                assert broken.keys() <= OWN.keys()

    async def hub_payment(self, telco_id: str) -> Payment:
        found = [one for one in await self.hub.payments() if one.telco_id_as_read == telco_id]
        assert found, "the hub has no such payment"
        return found[0]

    async def hub_transaction(self, reference: str) -> Transaction:
        return await self.hub.transaction(reference)


def add_modems(tx: Tx, names: Sequence[str], now: int) -> None:
    """Add modems that nobody uses: each is a row of the feed."""
    tx.run_for_each(
        "INSERT INTO devices (device_id, name, present, first_seen_at, last_seen_at) VALUES (?, ?, 0, ?, ?)",
        [[f"modem-{number}", name, now, now] for number, name in enumerate(names)],
    )


async def _add_shop(shop: FakeShop, name: str) -> None:
    now = shop.clock.now_us()
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO shop (id, name, timezone, account_key, created_at) "
            "VALUES (1, :name, 'Africa/Accra', :key, :now)",
            {"name": name, "key": shop.env.account_key.hex(), "now": now},
        )
    )


__all__ = ["Chain", "FakeBranch", "HubUnreachableError", "Lost", "Wire", "add_modems"]
