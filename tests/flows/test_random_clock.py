"""The wall clock jumps about at random: nothing ends while it is in doubt, and in the end all is as with a right clock."""

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.core.clock_watch import AGREES_US
from daemon.core.limits import SECOND_US
from daemon.core.model import Transaction
from daemon.flows import clock, drop_suggestions, expire, prune, send_text
from parsers.when import from_us
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

HOUR = 3600
DAY = 24 * HOUR
JUMPS = (40, -40, 400, -400, 18_000, -18_000)
"""Days; further than all the time that passes here, so that no wrong hour is one that a right clock had too."""
YEARS = (1975, 2150)

STEPS = st.one_of(
    st.tuples(st.just("pass"), st.integers(30, 6 * HOUR)),
    st.tuples(st.just("sleep"), st.integers(HOUR, 2 * DAY)),
    st.tuples(st.just("jump"), st.sampled_from(JUMPS)),
    st.tuples(st.just("right"), st.just(0)),
    st.tuples(st.just("order"), st.sampled_from((1, 24, 48))),
    st.tuples(st.just("message"), st.just(0)),
)


@dataclass
class Day:
    """A shop, and what a right clock would say."""

    shop: FakeShop
    right_us: int
    messages: int = 0
    made: list[tuple[Transaction, int, int]] = field(default_factory=list)
    """Each order, when it was made, and how many hours it lasts."""

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
        elif kind == "order":
            order = await self.shop.request(expires_in_hours=value)
            self.made.append((order, self.right_us, value))
        else:
            await self.hear()

    async def hear(self) -> None:
        """Let a message come: the network knows what time it is."""
        self.messages += 1
        await self.shop.read(
            mtn(
                2500, "KOFI ANTWI BADU", self.shop.wallet(2500), "food",
                str(93214500000 + self.messages), sent_at=from_us(self.right_us),
                concatenation=self.messages,
            )
        )  # fmt: skip

    async def minute(self) -> None:
        """Do what is done once a minute, and look whether it was right to."""
        env = self.shop.env
        await clock.watch(env)
        doubted = env.clock_doubt() is not None
        assert doubted == (abs(self.wrong_us) > AGREES_US)
        ended = [
            await flow(env)
            for flow in (expire.expire, drop_suggestions.drop_suggestions, send_text.expire)
        ]
        pruned = (await prune.prune(env)).counts
        if doubted:
            assert (ended, pruned) == ([0, 0, 0], {})

    async def judge(self) -> None:
        for order, made_us, hours in self.made:
            left_s = hours * HOUR - (self.right_us - made_us) / SECOND_US
            if abs(left_s) > 1:
                found = await self.shop.transaction(order.reference)
                assert found.status == ("PENDING" if left_s > 0 else "EXPIRED")


async def live(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shop = await FakeShop.make(Path(folder))
        try:
            await clock.begin(shop.env)
            shop.clock.advance(600)
            day = Day(shop, shop.clock.now_us())
            await day.hear()
            await day.minute()
            for kind, value in steps:
                await day.play(kind, value)
                if kind != "order":  # an order may be made before anybody looked at the clock
                    await day.minute()
                if not day.wrong_us:
                    await day.judge()
            for kind, value in (("right", 0), ("pass", 60)):
                await day.play(kind, value)
                await day.minute()
            await day.judge()
        finally:
            shop.close()


@settings(max_examples=4)
@given(st.lists(STEPS, max_size=10))
def test_a_clock_that_jumps_ends_nothing_and_leaves_no_trace(steps: list[tuple[str, int]]) -> None:
    asyncio.run(live(steps))


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(STEPS, min_size=5, max_size=12))
def test_a_clock_that_jumps_often_ends_nothing_and_leaves_no_trace(
    steps: list[tuple[str, int]],
) -> None:
    asyncio.run(live(steps))


def test_an_order_made_by_the_second_of_two_wrong_clocks_ends_when_it_should() -> None:
    asyncio.run(
        live([("jump", -40), ("order", 24), ("jump", -400), ("order", 24), ("right", 0), ("sleep", 23 * HOUR)])
    )  # fmt: skip
