"""The real clock and randomness: properties that need no waiting and do not depend on chance."""

from concurrent.futures import ThreadPoolExecutor

from daemon.runtime.system import Clock, Entropy, SystemClock, SystemEntropy
from tests.fakes.clock import FakeClock
from tests.fakes.each import each
from tests.fakes.entropy import FakeEntropy

CLOCKS: list[Clock] = [SystemClock(), FakeClock()]
DICE: list[Entropy] = [SystemEntropy(), FakeEntropy()]


def test_no_hand_of_the_clock_runs_backwards() -> None:
    clock = SystemClock()
    first = clock.monotonic(), clock.boottime()
    second = clock.monotonic(), clock.boottime()
    assert second[0] >= first[0]
    assert second[1] >= first[1]


def test_boot_clock_counts_sleep_and_so_is_never_behind() -> None:
    clock = SystemClock()
    assert clock.boottime() >= clock.monotonic() - 0.001


def test_wall_clock_counts_microseconds() -> None:
    year_2024_us, year_2100_us = 1_704_067_200_000_000, 4_102_444_800_000_000
    assert all(year_2024_us < clock.now_us() < year_2100_us for clock in CLOCKS)


def test_dice_keep_to_their_range() -> None:
    for dice in DICE:
        assert len(dice.bytes(16)) == 16
        assert {dice.below(1) for _ in range(10)} == {0}
        assert {dice.below(3) for _ in range(200)} == {0, 1, 2}
        assert all(0 <= dice.unit() < 1 for _ in range(100))


@each("limit", [1, 2, 3, 255, 256, 257, 32**5, 1 << 53])
def test_no_number_is_out_of_reach_or_out_of_range(limit: int) -> None:
    dice = SystemEntropy()
    drawn = [dice.below(limit) for _ in range(3_000)]
    assert 0 <= min(drawn) <= max(drawn) < limit
    assert min(drawn) <= limit // 8
    assert max(drawn) >= limit - 1 - limit // 8


def test_threads_never_draw_the_same_bytes() -> None:
    dice = SystemEntropy()
    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(lambda _: dice.bytes(16), range(4_000)))
    assert len(set(drawn)) == 4_000
    assert {len(each) for each in drawn} == {16}
