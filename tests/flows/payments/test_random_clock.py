"""Random jumps of the wall clock: no transaction expires in doubt, and the final state is the same as with a right clock."""

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.inputs import HttpAnswer, Idempotency
from daemon.core.limits import DAY_US, SECOND_US
from daemon.core.model import Transaction
from daemon.core.upkeep.clock_check import AGREES_US, ClockCheck
from daemon.flows.payments import cancel_expire, texts
from daemon.flows.upkeep import erasure, machine
from daemon.store import idempotency
from parsers.times import from_us
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop
from tests.fakes.tiers import share

HOUR = 3600
DAY = 24 * HOUR
JUMPS = (40, -40, 400, -400, 18_000, -18_000)
"""Days; more than the whole simulated time, so that no wrong time is also a right one."""
YEARS = (1975, 2150)

STEPS = st.one_of(
    st.tuples(st.just("pass"), st.integers(30, 6 * HOUR)),
    st.tuples(st.just("sleep"), st.integers(HOUR, 2 * DAY)),
    st.tuples(st.just("jump"), st.sampled_from(JUMPS)),
    st.tuples(st.just("right"), st.just(0)),
    st.tuples(st.just("order"), st.sampled_from((1, 24, 48))),
    st.tuples(st.just("message"), st.just(0)),
    st.tuples(st.just("restart"), st.just(0)),
    st.tuples(st.just("off"), st.integers(60, 2 * DAY)),
)


@dataclass
class Day:
    """A shop, and the time of a right clock."""

    shop: FakeShop
    right_us: int
    messages: int = 0
    made: list[tuple[Transaction, int, int]] = field(default_factory=list)
    """Each transaction, its time of creation, and its lifetime in hours."""
    off_s: int = 0
    """The total time that the machine was off; a transaction made by a wrong clock may expire so much later."""

    @property
    def wrong_us(self) -> int:
        return self.shop.clock.now_us() - self.right_us

    async def play(self, kind: str, value: int) -> None:
        hands: Any = self.shop.clock
        if kind in {"pass", "sleep"}:
            (hands.advance if kind == "pass" else hands.sleep)(value)
            self.right_us += value * SECOND_US
        elif kind == "jump":
            to = self.shop.clock.now_us() + value * DAY * SECOND_US
            if YEARS[0] <= from_us(max(to, 0)).year <= YEARS[1]:
                hands.jump(value * DAY)
        elif kind == "right":
            hands.jump(-self.wrong_us / SECOND_US)
        elif kind in {"restart", "off"}:
            await self.start_again(value)
        elif kind == "order":
            order = await self.shop.request(expires_in_hours=value)
            self.made.append((order, self.right_us, value))
            await self.answer(Idempotency("live:k", order.id, "f"))
        else:
            await self.hear()

    async def start_again(self, off_s: int) -> None:
        """Stop the daemon, and the machine if it is off for a while; the clock was checked after the last transaction."""
        await self.minute()
        if off_s:
            self.shop.clock.reboot(off_s)
            self.right_us += off_s * SECOND_US
            self.off_s += off_s
        self.shop.env = replace(self.shop.env, clock_check=ClockCheck())
        await machine.begin_clock(self.shop.env)
        self.shop.env.clock_check.note_opened(self.shop.source.sim_key, self.shop.clock.boottime())
        self.shop.clock.advance(600)
        self.right_us += 600 * SECOND_US

    async def answer(self, claim: Idempotency) -> HttpAnswer:
        """Make a call, or repeat the same call."""
        now = self.shop.clock.now_us()
        return await self.shop.env.store.write(
            lambda tx: idempotency.once(tx, claim, now, lambda: HttpAnswer(200, b"{}"))
        )

    async def hear(self) -> None:
        """Receive a message, which has the network's time."""
        self.messages += 1
        await self.shop.read(
            mtn(
                2500, "KOFI ANTWI BADU", self.shop.wallet(2500), "food",
                str(93214500000 + self.messages), sent_at=from_us(self.right_us),
                concatenation=self.messages,
            )
        )  # fmt: skip

    async def minute(self) -> None:
        """Do the work of every minute, and check its results."""
        env = self.shop.env
        await machine.watch_clock(env)
        doubted = env.times().doubt is not None
        wrong = abs(self.wrong_us) > AGREES_US
        # Right after the machine was off, a wrong clock may be undetected; then it is not confirmed either.
        assert wrong or not doubted
        assert doubted or not (wrong and env.times().confirmed)
        assert env.times().lower_bound_us <= self.right_us + AGREES_US or doubted
        ended = [await flow(env) for flow in (cancel_expire.expire, cancel_expire.drop_suggestions, texts.expire)]
        pruned = (await erasure.prune(env)).counts
        if doubted:
            assert (ended, pruned) == ([0, 0, 0], {})

    async def judge(self, *, ended: bool) -> None:
        """Check that no transaction has expired before its time, that each has expired in the end, and that each answer is kept."""
        for order, made_us, hours in self.made:
            left_s = hours * HOUR - (self.right_us - made_us) / SECOND_US
            found = await self.shop.transaction(order.reference)
            if left_s > AGREES_US / SECOND_US:
                assert found.status == "PENDING"
            if self.right_us - made_us < DAY_US - AGREES_US:
                assert (await self.answer(Idempotency("live:k", order.id, "f"))).replayed
            if ended and left_s + self.off_s < -1:
                assert found.status == "EXPIRED"


async def live(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shop = await FakeShop.make(Path(folder))
        try:
            await machine.begin_clock(shop.env)
            shop.clock.advance(600)
            day = Day(shop, shop.clock.now_us())
            await day.hear()
            await day.minute()
            for kind, value in steps:
                await day.play(kind, value)
                if kind != "order":  # a transaction may be made before the clock was checked
                    await day.minute()
                await day.judge(ended=False)
            for kind, value in (("right", 0), ("pass", 600), ("message", 0)):
                await day.play(kind, value)
                await day.minute()
            await day.judge(ended=True)
        finally:
            shop.close()


@settings(max_examples=4)
@given(st.lists(STEPS, max_size=10))
def test_a_clock_that_jumps_ends_nothing_and_leaves_no_trace(steps: list[tuple[str, int]]) -> None:
    asyncio.run(live(steps))


@pytest.mark.slow
@settings(max_examples=share(30, 5))
@given(st.lists(STEPS, min_size=5, max_size=12))
def test_a_clock_that_jumps_often_ends_nothing_and_leaves_no_trace(steps: list[tuple[str, int]]) -> None:
    asyncio.run(live(steps))


def test_an_order_made_by_the_second_of_two_wrong_clocks_ends_when_it_should() -> None:
    asyncio.run(live([("jump", -40), ("order", 24), ("jump", -400), ("order", 24), ("right", 0), ("sleep", 23 * HOUR)]))


@pytest.mark.parametrize("jump", JUMPS)
def test_an_order_of_a_clock_that_was_right_again_before_anybody_looked(jump: int) -> None:
    asyncio.run(live([("jump", jump), ("order", 24), ("right", 0), ("sleep", 23 * HOUR)]))


@pytest.mark.parametrize("jump", JUMPS)
def test_an_order_made_by_a_wrong_clock_outlives_the_daemon_and_the_machine(jump: int) -> None:
    for gone in (("restart", 0), ("off", 2 * DAY)):
        steps = [("jump", jump), ("order", 24), ("pass", 60), gone, ("message", 0), ("right", 0)]
        asyncio.run(live([*steps, ("pass", 6 * HOUR)]))


@pytest.mark.parametrize("gone", [("restart", 0), ("off", DAY)])
def test_a_clock_that_is_ahead_after_a_start_ends_nothing(gone: tuple[str, int]) -> None:
    asyncio.run(live([("order", 48), ("jump", 400), gone, ("pass", 6 * HOUR), ("order", 24)]))
