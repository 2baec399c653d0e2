"""Branches and their hub: the speed of the feed, the delay of one payment, and the cost of the link for the branch.

    python bench/branches.py [--payments N] [--branches N] [--day N] [--turns N]

The hub is a real daemon on PostgreSQL with fsync, behind TLS. The branches with long feeds are shops of this process, which
send with the program's own client; delay and cost are measured at daemons with an emulated phone. All of them, the
server and this process share the machine's cores. The floor of the feed is three statements a batch with nothing around them.
"""

import argparse
import asyncio
import contextlib
import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg
import trustme
from _figures import Row, median, pause, percentile, progress, report, spread, until
from _receiver import ReceiverProcess
from idle import idle
from path import NO_LIMIT, NUMBER, Daemon

from daemon import wire
from daemon.core.branches.answer import ExchangeAnswer, read
from daemon.flows.branches import join, outbound
from daemon.runtime.config import Config, Trust
from daemon.sender.hub_client import HubClient
from tests.fakes import postgresql
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop
from tests.fakes.receipts import mtn
from tests.fakes.shop import OWNER, FakeShop

FSYNC: Final = "-c listen_addresses='' -c max_connections=200"
SINGLE: Final = 30
"""Payments of which the delay is measured."""
IDLE_S: Final = 30.0
DAY_S: Final = 86_400.0
BOX: Final = 550_000
ANY_ORDER: Final = Config(trust=Trust(balance_check="off", unconfirmed_limit=1_000_000))
"""Receipts of many callers come in any order, so their balances do not join."""


@dataclass
class Hub:
    """The hub's daemon, its address, and the certificate that its clients trust."""

    shop: RealShop
    address: str
    ca_file: str
    seen: psycopg.Connection = field(init=False)

    def start(self) -> None:
        """Start it and make it a hub."""
        self.shop.start(http=self.address, arguments=["--no-modem"])
        done = self.shop.momo("hub", "init", "--yes")
        assert done.returncode == 0, done.stderr
        self.seen = psycopg.connect(self.shop.url, autocommit=True)

    @property
    def url(self) -> str:
        """The address for branches."""
        return f"https://localhost:{self.address.rpartition(':')[2]}"

    def invite(self, name: str) -> str:
        """Return the word of an invitation."""
        done = self.shop.momo("hub", "invite", name, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return str(json.loads(done.stdout)["data"]["word"]).partition(".")[0]

    def count(self, where: str = "TRUE") -> int:
        """Count the payments that it has."""
        statement = f"SELECT COUNT(*) FROM payments WHERE {where}"  # noqa: S608 - our own words
        row = self.seen.execute(statement.encode()).fetchone()
        assert row is not None
        return int(row[0])


@dataclass
class Feeder:
    """A branch in this process."""

    shop: FakeShop
    client: HubClient
    name: str
    requests: outbound.Requests

    @classmethod
    async def make(
        cls, folder: Path, hub: Hub, name: str, number: int, references: list[str], ago_s: float = 0
    ) -> "Feeder":
        """Make a branch with one payment for each reference, one a second until then, all of them still to be sent."""
        iccid = f"89233010000001{number:05d}"
        shop = await FakeShop.make(folder / name, ANY_ORDER, line=False, iccid=iccid, seed=number + 1)
        await shop.put_number("momo_mtn", f"99999999-9999-4999-8999-{number:012d}")
        shop.env.account_key = name.encode().ljust(32, b".")
        now = shop.clock.now_us()
        await shop.env.store.write(
            lambda tx: tx.run(
                "INSERT INTO shop (id, name, timezone, account_key, created_at) "
                "VALUES (1, :name, 'Africa/Accra', :key, :now)",
                {"name": name, "key": shop.env.account_key.hex(), "now": now},
            )
        )
        began = time.time() - ago_s - len(references)  # noqa: TID251 - the hub's time
        shop.clock.advance(began - shop.clock.now_us() / 1e6)
        guest = HubClient(hub.url, ca_file=hub.ca_file)
        invitation = join.Invitation(hub.url, await asyncio.to_thread(hub.invite, name))
        await join.join(
            shop.env, OWNER, invitation, guest,
            lambda key: contextlib.nullcontext(HubClient(hub.url, key=key, ca_file=hub.ca_file)), dry_run=False,
        )  # fmt: skip
        await guest.aclose()
        for index, reference in enumerate(references):
            shop.clock.advance(1)
            telco_id = str(10_000_000_000 + number * 1_000_000 + index)
            text = mtn(
                2_500,
                "KOFI ANTWI BADU",
                100_000 + 2_500 * index,
                reference,
                telco_id,
                concatenation=index,
                width=16,
                sent_at=datetime.fromtimestamp(shop.clock.now_us() // 1_000_000, UTC),
            )
            await shop.read(text)
        requests = outbound.Requests(shop.env)
        first = await requests.next({}, stale=None)
        await requests.close()
        assert first is not None, "it has joined"
        return cls(shop, HubClient(hub.url, "", first.key, hub.ca_file), name, requests)

    async def send_all(self) -> None:
        """Send the feed to its end, request after request, as the loop of a branch does."""
        while True:
            outgoing = await self.requests.next({}, stale=None)
            assert outgoing is not None, "it has joined"
            if outgoing.is_empty:
                return
            answer = await self.client.call(wire.Path.BRANCH_SYNC, outgoing.octets, timeout_s=120)
            await outbound.take_answer(self.shop.env, outgoing, read(answer, ExchangeAnswer))

    async def close(self) -> None:
        """Close it."""
        await self.client.aclose()
        self.shop.close()


class DelayedLink:
    """A line to the hub that delays each direction and counts the octets; in a thread of its own."""

    def __init__(self, port: int, delay_s: float) -> None:
        """Open it."""
        self._target, self._delay_s = port, delay_s
        self._tasks = set[asyncio.Task[None]]()
        self.octets = 0
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.port = 0

        async def begin() -> None:
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()

        def run() -> None:
            self._loop.create_task(begin())
            self._loop.run_forever()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        ready.wait(10)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._target)
        for source, target in ((reader, there_writer), (there_reader, writer)):
            task = self._loop.create_task(self._pump(source, target))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 16):
            self.octets += len(data)
            self._loop.call_later(self._delay_s, target.write, data)
        self._loop.call_later(self._delay_s, target.close)

    def close(self) -> None:
        """End it."""

        async def end() -> None:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the network's clock


def certificate(folder: Path) -> tuple[str, str]:
    """Make a certificate for localhost; return the files of the key and chain, and of the CA."""
    authority, pem = trustme.CA(), folder / "hub.pem"
    issued = authority.issue_cert("localhost")
    pem.write_bytes(issued.private_key_pem.bytes() + b"".join(one.bytes() for one in issued.cert_chain_pems))
    pem.chmod(0o600)
    authority.cert_pem.write_to_path(folder / "ca.pem")
    return str(pem), str(folder / "ca.pem")


@contextmanager
def new_hub(folder: Path, receiver: ReceiverProcess | None = None) -> Iterator[Hub]:
    """Start a hub in an empty database."""
    folder.mkdir(parents=True)
    pem, ca_file = certificate(folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    settings = {"http": {"tls_cert": pem}, "hub": {"unconfirmed_limit": 1_000_000_000}, **NO_LIMIT}
    url = postgresql.cluster().new_database()
    with RealShop(
        folder / "hub", url=url, settings=settings, name="Head office",
        ca_file="" if receiver is None else receiver.ca_file,
    ) as shop:  # fmt: skip
        hub = Hub(shop, address, ca_file)
        hub.start()
        with closing(hub.seen):
            yield hub


# The feed.


async def catch_up(folder: Path, hub: Hub, number: int, payments: int, ago_s: float = DAY_S) -> float:
    """Return the payments a second of one branch that is behind."""
    feeder = await Feeder.make(folder, hub, f"box-{number}", number, ["food"] * payments, ago_s)
    before = hub.count()
    began = time.perf_counter()
    await feeder.send_all()
    took_s = time.perf_counter() - began
    assert hub.count() - before == payments
    await feeder.close()
    return payments / took_s


def _caught_up(*given: Any) -> None:
    asyncio.run(catch_up(*given))


def octets_of_copies(hub: Hub, work: Callable[[], object]) -> float:
    """Return how many bytes the hub's database grows by for each payment that some work brings."""

    def size() -> tuple[int, int]:
        hub.seen.execute("VACUUM")
        row = hub.seen.execute("SELECT pg_database_size(current_database())").fetchone()
        assert row is not None
        return int(row[0]), hub.count()

    before, known = size()
    work()
    after, count = size()
    return (after - before) / (count - known)


async def decided(folder: Path, hub: Hub, number: int, payments: int) -> float:
    """Return the payments a second that the hub decides, each for an order with two webhooks owed."""
    codes = [hub.shop.request("25.00")["svc_code"] for _ in range(payments)]
    feeder = await Feeder.make(folder, hub, f"orders-{number}", number, codes)
    before = hub.count("standing = 'used'")
    began = time.perf_counter()
    await feeder.send_all()
    took_s = time.perf_counter() - began
    assert hub.count("standing = 'used'") - before == payments
    await feeder.close()
    return payments / took_s


async def all_at_once(folder: Path, hub: Hub, branches: int, day: int) -> tuple[float, list[float]]:
    """Return the seconds until a day of all branches is there, and the delays of live payments meanwhile."""
    feeders = []
    for number in range(branches):
        feeder = await Feeder.make(folder, hub, f"day-{number}", 1_000 + number, ["food"] * day)
        feeders.append(feeder)
    live = await Feeder.make(folder, hub, "live", 2_000, [])
    await live.send_all()
    delays: list[float] = []
    done = asyncio.Event()

    async def pay() -> None:
        while not done.is_set():
            text = mtn(
                2_500,
                "AMA OWUSU",
                100_000,
                "food",
                str(77_000_000_000 + len(delays)),
                concatenation=len(delays),
                width=16,
                sent_at=_now(),
            )
            await live.shop.read(text)
            began = time.perf_counter()
            await live.send_all()
            delays.append(time.perf_counter() - began)
            await asyncio.sleep(0.2)

    task = asyncio.create_task(pay())
    began = time.perf_counter()
    await asyncio.gather(*(feeder.send_all() for feeder in feeders))
    took_s = time.perf_counter() - began
    done.set()
    await task
    for feeder in (*feeders, live):
        await feeder.close()
    return took_s, delays


def feed_rows(folder: Path, options: argparse.Namespace) -> list[Row]:
    """Measure the speed of feeds."""
    rates, orders = list[float](), list[float]()
    with new_hub(folder / "feeds") as hub:
        hub.shop.add_endpoint("https://localhost:9/nobody")
        for turn in range(options.turns):
            rates.append(asyncio.run(catch_up(folder, hub, turn, options.payments)))
            progress(f"feeds, turn {turn + 1} of {options.turns}")
        # Before any payment of now.
        octets = [
            octets_of_copies(hub, partial(_caught_up, folder, hub, number, 4 * options.payments, ago_s))
            for number, ago_s in ((400, 0), (401, 2 * DAY_S))
        ]
        for turn in range(options.turns):
            orders.append(asyncio.run(decided(folder, hub, 500 + turn, options.payments // 5)))
        progress(f"{options.branches} branches")
        day_s, delays = asyncio.run(all_at_once(folder, hub, options.branches, options.day))
    box_s = BOX / median(rates)
    lag_s = percentile(delays, 99)
    return [
        Row("settled payments of one branch, a second", f"{median(rates):,.0f}", spread(rates, digits=0)),
        Row("bytes of the hub's database for each copied payment, in the order of time", f"{octets[0]:,.0f}", "",
            "at most 1,500", octets[0] <= 1_500),
        Row("  of a branch that is behind the others", f"{octets[1]:,.0f}", "", "at most 1,500", octets[1] <= 1_500),
        Row("handed-up payments decided, two webhooks owed each, a second", f"{median(orders):,.0f}",
            spread(orders, digits=0), "at least 150", median(orders) >= 150),
        Row(f"{options.branches} branches, {options.day} payments each, all at once", f"{day_s:.1f} s", "",
            "at most 30 s", day_s <= 30),
        Row("  a live payment of another branch meanwhile, p99", f"{lag_s:.2f} s", spread(delays, " s", 2),
            "at most 5 s", lag_s <= 5),
        Row(f"a box with {BOX:,} payments behind, at the speed above", f"{box_s / 60:.1f} min", "", "at most 5 min",
            box_s <= 300),
    ]  # fmt: skip


# One payment, and the cost of the link.


@dataclass
class Place:
    """A shop's daemon with its phone and receiver."""

    shop: RealShop
    phone: PhoneProcess
    receiver: ReceiverProcess
    daemon: Daemon


@contextmanager
def new_place(folder: Path, name: str, ca_file: str) -> Iterator[Place]:
    """Start a shop."""
    receiver = ReceiverProcess(folder / f"{name}-receiver")
    with (
        receiver,
        PhoneProcess(folder / f"{name}-phone") as phone,
        RealShop(
            folder / name, phone=phone.link, ca_file=receiver.ca_file,
            settings={**NO_LIMIT, "hub": {"ca_file": ca_file}}, name=name,
        ) as shop,
    ):  # fmt: skip
        shop.begin_chain(50_000)
        shop.start()
        shop.assign(NUMBER)
        receiver.start(shop.add_endpoint(receiver.url))
        yield Place(shop, phone, receiver, Daemon(shop, phone, receiver))


def join_branch(place: Place, hub: Hub, name: str, port: int) -> None:
    """Join a hub through a line."""
    done = place.shop.momo("hub", "join", f"https://localhost:{port}", hub.invite(name), "--json")
    assert done.returncode == 0, done.stdout + done.stderr


def delays_of(place: Place, hub: Hub) -> list[float]:
    """Return the seconds from a payment's row at the branch to its row at the hub."""
    found = []
    for _ in range(SINGLE):
        here = place.shop.rows("SELECT COUNT(*) FROM payments")[0][0]
        there = hub.count()
        place.phone.deliver(place.daemon.payments.next("food").pdus)
        until(lambda n=here: place.shop.rows("SELECT COUNT(*) FROM payments")[0][0] > n, 20, "storing", 0.001)  # type: ignore[misc]
        began = time.perf_counter()
        until(lambda n=there: hub.count() > n, 30, "the hub's row", 0.001)  # type: ignore[misc]
        found.append(time.perf_counter() - began)
        pause(0.1)
    return found


def link_rows(folder: Path, options: argparse.Namespace) -> list[Row]:
    """Measure one branch: the delay of a payment, and the cost of its link."""
    rows: list[Row] = []
    with ExitStack() as stack:
        hub_receiver = ReceiverProcess(folder / "hub-receiver")
        stack.enter_context(hub_receiver)
        hub = stack.enter_context(new_hub(folder / "links", hub_receiver))
        hub_receiver.start(hub.shop.add_endpoint(hub_receiver.url))
        alone = stack.enter_context(new_place(folder, "alone", hub.ca_file))
        branch = stack.enter_context(new_place(folder, "branch", hub.ca_file))
        line = DelayedLink(int(hub.address.rpartition(":")[2]), 0.0)
        stack.callback(line.close)
        join_branch(branch, hub, "branch", line.port)
        pause(3)
        rows += cost_rows(alone, branch, options.turns)
        rows += hub_order_rows(hub, branch, hub_receiver)
        lan = delays_of(branch, hub)
        rows.append(lag_row("loopback", lan, 0.5))
        progress("idle")
        # As many payments as the branch had, because memory grows with the first ones.
        for _ in range(2 * SINGLE):
            alone.phone.deliver(alone.daemon.payments.next("food").pdus)
            pause(0.1)
        rows += idle_rows(alone, branch, line)
        far = stack.enter_context(new_place(folder, "far", hub.ca_file))
        slow = DelayedLink(int(hub.address.rpartition(":")[2]), 0.15)
        stack.callback(slow.close)
        join_branch(far, hub, "far", slow.port)
        pause(5)
        rows.append(lag_row("a line of 300 ms", delays_of(far, hub), 2.0))
    return rows


def lag_row(line: str, found: list[float], most_s: float) -> Row:
    """Compare the delay with its goal."""
    worst = percentile(found, 99)
    return Row(
        f"from the branch's row to the hub's over {line}, p99", f"{worst * 1e3:.0f} ms",
        f"{min(found) * 1e3:.0f} to {max(found) * 1e3:.0f} ms, p50 {median(found) * 1e3:.0f}",
        f"at most {most_s * 1e3:.0f} ms", worst <= most_s,
    )  # fmt: skip


def hub_order_rows(hub: Hub, branch: Place, receiver: ReceiverProcess) -> list[Row]:
    """Measure from an SMS at the branch to the verified webhook of the hub's order."""
    took = []
    for _ in range(SINGLE):
        order = hub.shop.request("25.00")
        branch.phone.deliver(branch.daemon.payments.next(order["svc_code"]).pdus)
        came = receiver.verified(2)
        written = branch.phone.state(commands=0)["announced"][-1]["written_ns"]
        took.append((min(came) - written) / 1e6)
        pause(0.1)
    middle, worst = median(took), percentile(took, 99)
    held = middle <= 50 and worst <= 500
    return [Row("SMS at a branch to verified webhook of the hub's order: p50 / p99", f"{middle:.0f} / {worst:.0f} ms",
                spread(took, " ms", 0), "at most 50 / 500 ms", held)]  # fmt: skip


def cost_rows(alone: Place, branch: Place, turns: int) -> list[Row]:
    """Compare a branch with a shop that has no hub, in turns."""
    works: dict[str, Callable[[Place], float]] = {
        "initialize": initialize_ms,
        "SMS to verified webhook": lambda place: place.daemon.run(apart=False)[0],
    }
    rows = []
    for what, work in works.items():
        shares, with_hub, without = list[float](), list[float](), list[float]()
        for turn in range(turns + 1):
            mine, theirs = [], []
            for _ in range(SINGLE):
                theirs.append(work(alone))
                pause(0.01)
                mine.append(work(branch))
                pause(0.01)
            if turn:
                shares.append(median(mine) / median(theirs))
                with_hub += mine
                without += theirs
        rows.append(
            Row(f"{what}, p50, with a hub against without",
                f"{median(shares):.2f} times: {median(with_hub):.2f} against {median(without):.2f} ms",
                spread(shares, digits=2), "at most 1.1 times", median(shares) <= 1.1)
        )  # fmt: skip
    return rows


def initialize_ms(place: Place) -> float:
    """Return the milliseconds of one transaction over the Unix socket."""
    began = time.perf_counter()
    place.shop.request("25.00")
    return (time.perf_counter() - began) * 1e3


def idle_rows(alone: Place, branch: Place, line: DelayedLink) -> list[Row]:
    """Compare an idle branch with an idle shop that has no hub."""
    before = line.octets
    with_hub = idle(branch.shop.pid, IDLE_S)
    minute = (line.octets - before) / (IDLE_S + 5) * 60 / 1e3
    without = idle(alone.shop.pid, IDLE_S)
    memory, processor = with_hub.rss_mb - without.rss_mb, with_hub.cpu_percent - without.cpu_percent
    return [
        Row("idle branch, more than a shop without a hub: memory", f"{memory:.1f} MB", "", "at most 3 MB", memory <= 3),
        Row("  processor", f"{processor:.2f} % of a core", "", "at most 0.1 %", processor <= 0.1),
        Row("  traffic", f"{minute:.1f} kB a minute", "", "at most 2 kB", minute <= 2),
    ]


def main() -> int:
    """Measure, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--payments", type=int, default=3_000)
    parser.add_argument("--branches", type=int, default=50)
    parser.add_argument("--day", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    postgresql.SETTINGS[:] = [FSYNC]
    with tempfile.TemporaryDirectory(prefix="momo-") as name:
        rows = [*feed_rows(Path(name), options), *link_rows(Path(name), options)]
    return report("Branches and their hub", rows)


if __name__ == "__main__":
    raise SystemExit(main())
