"""The rules of trust for one line: joins, gaps, limits, provisional balances, rows, and the way of a proof."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US
from daemon.core.messages.balance_chain import Counts
from daemon.core.messages.line_history import usual_receipts
from daemon.core.messages.line_trust import (
    CANDIDATES_MAX,
    OPENING_MAX,
    WINNING_RECEIPTS,
    Circumstances,
    Limits,
    LineState,
    Provisional,
    Row,
    Used,
    counts_as,
    fill,
    fitting_gap,
    has_room,
    is_contradicted,
    is_firm_again,
    is_flood,
    is_passed,
    moved,
    path,
    placed,
    silent_since,
    taken_over,
    wins,
)
from tests.fakes.entries import entry
from tests.fakes.rows import AT

FIRM = LineState(balance=50_000, provisional=None, proved_at=1, position=4)
CALM = Circumstances(has_centres=True, flood=False, breaks_pay=True, now=AT)
PHONE = replace(CALM, has_centres=False)
FLOOD, PHONE_FLOOD = replace(CALM, flood=True), replace(PHONE, flood=True)
STRUCK = replace(FIRM, strike_until=AT + 1)
SWEPT = replace(FIRM, balance=100)


def provisional(why: Provisional) -> LineState:
    return replace(FIRM, provisional=why)


def row(number: int = 1, **changes: Any) -> Row:
    plain = Row(number=number, before=1, after=2, began_at=AT, grew_at=AT, messages=3)
    return replace(plain, **changes)


@pytest.mark.parametrize(
    ("state", "joins", "around", "counts"),
    [
        (FIRM, True, CALM, Counts.FREE),
        (FIRM, True, FLOOD, Counts.LIMIT),
        (FIRM, True, PHONE, Counts.PHONE),
        (FIRM, True, PHONE_FLOOD, Counts.PHONE),
        (FIRM, False, CALM, Counts.LIMIT),
        (FIRM, False, FLOOD, Counts.LIMIT),
        (FIRM, False, PHONE, Counts.LIMIT),
        (FIRM, False, PHONE_FLOOD, None),
        (FIRM, False, replace(PHONE, breaks_pay=False), None),
        (STRUCK, True, CALM, Counts.FREE),
        (STRUCK, False, CALM, None),
        (provisional(Provisional.FIRST), True, CALM, Counts.LIMIT),
        (provisional(Provisional.SILENCE), True, CALM, Counts.BOUND),
        (provisional(Provisional.SILENCE), True, PHONE, Counts.BOUND),
        (SWEPT, True, CALM, Counts.BOUND),
        (SWEPT, True, PHONE, Counts.LIMIT),
        (replace(STRUCK, balance=100), True, CALM, Counts.LIMIT),
        (replace(SWEPT, balance=101), True, CALM, Counts.FREE),
    ],
)
def test_a_receipt_counts_as_the_balance_and_the_source_say(
    state: LineState, joins: bool, around: Circumstances, counts: Counts | None
) -> None:
    assert counts_as(state, joins=joins, split=False, around=around) is counts


def test_code_and_balance_in_different_parts_count_to_the_limit() -> None:
    assert counts_as(FIRM, joins=True, split=True, around=CALM) is Counts.LIMIT


@pytest.mark.parametrize(
    ("usual", "receipts", "unconfirmed", "phone", "limits"),
    [
        (0, 0, "auto", "auto", (20_000, 20_000, 100_000)),
        (240_000, 40, "auto", "auto", (120_000, 360_000, 480_000)),
        (240_000, 4, "auto", "auto", (720_000, 720_000, 480_000)),
        (240_000, 40, 0, 5, (0, 0, 500)),
        (0, 0, 0, "auto", (0, 0, 100_000)),
        (1_000, 10, 700, "auto", (70_000, 70_000, 100_000)),
    ],
)
def test_the_limits_follow_the_usual_day(
    usual: int, receipts: int, unconfirmed: str | int, phone: str | int, limits: tuple[int, ...]
) -> None:
    state = replace(FIRM, usual_minor=usual, usual_receipts=receipts)
    found = Limits.of(state, unconfirmed, phone)
    assert (found.day, found.bound, found.phone) == limits


@given(st.lists(st.tuples(st.sampled_from([Counts.LIMIT, Counts.BOUND, Counts.PHONE]), st.integers(1, 900))))
def test_no_sequence_of_receipts_is_paid_above_a_limit(receipts: list[tuple[Counts, int]]) -> None:
    limits, used = Limits(day=1_000, bound=1_500, phone=700), Used()
    for counts, amount in receipts:
        if not has_room(counts, amount, used, limits):
            continue
        used = Used(
            used.day + amount * (counts is Counts.LIMIT),
            used.bound + amount * (counts is not Counts.PHONE),
            used.phone + amount * (counts is Counts.PHONE),
        )
        assert used.day <= limits.day
        assert used.bound <= limits.bound
        assert used.phone <= limits.phone


def test_a_flood_is_many_messages_or_some_that_open_a_row_since_the_last_proof() -> None:
    def flood(opening: int, others: int, ago: int = HOUR_US, proved: int = 0) -> bool:
        came = [(AT - ago, True)] * opening + [(AT - ago, False)] * others
        return is_flood(came, replace(FIRM, proved_at=proved), AT)

    assert not flood(OPENING_MAX, CANDIDATES_MAX - OPENING_MAX)
    assert flood(OPENING_MAX + 1, 0)
    assert flood(0, CANDIDATES_MAX + 1)
    assert not flood(OPENING_MAX + 1, 0, ago=DAY_US)
    assert not flood(OPENING_MAX + 1, 0, proved=AT - HOUR_US)


@given(st.lists(st.tuples(st.integers(-500, 900), st.booleans()), max_size=30))
def test_balances_and_gaps_add_up_to_the_believed_balance(steps: list[tuple[int, bool]]) -> None:
    """What the messages moved and what no message tells of is the whole change of the balance, whatever joins."""
    state, start, total = replace(FIRM, balance=100_000), 100_000, 0
    for number, (effect, breaks) in enumerate(steps):
        assert state.balance is not None
        if breaks:
            state = taken_over(state, AT, proved=True)
        at = state.balance
        assert at is not None
        before = at + (700 if breaks else 0)
        one = placed(state, entry(number, effect, before + effect))
        state = moved(state, one, AT + number)
        total += effect + (one.gap_minor or 0)
        assert one.position == state.position
    assert state.balance == start + total


def test_a_balance_of_a_cedi_or_less_makes_what_joins_it_provisional() -> None:
    state = moved(SWEPT, entry(1, 500, 600), AT)
    assert (state.provisional, state.since, state.swept_at) == (Provisional.SWEPT, AT, AT)
    assert moved(FIRM, entry(1, 500, 50_500), AT).provisional is None


@pytest.mark.parametrize(
    ("late", "rest"),
    [
        ((3_000, 53_000), (2_000, 53_000)),
        ((5_000, 55_000), (0, None)),
        ((2_000, 55_000), (0, None)),
        ((1_000, 52_000), None),
    ],
)
def test_a_late_message_fills_a_gap_from_either_side(
    late: tuple[int, int], rest: tuple[int, int | None] | None
) -> None:
    right = replace(entry(9, 100, 55_100), gap_left=50_000, gap_left_at=AT, gap_minor=5_000)
    found = entry(5, *late)
    assert fitting_gap(found, [right]) is (None if rest is None else right)
    if rest is not None:
        later, filled = fill(right, found)
        assert (later.gap_minor, later.gap_left) == rest
        moved_by = (found.effect or 0) + (later.gap_minor or 0) + (filled.gap_minor or 0)
        assert moved_by == 5_000, "nothing is counted twice and nothing is lost"


def test_a_message_from_after_the_gap_does_not_fill_it() -> None:
    right = replace(entry(9, 100, 55_100), gap_left=50_000, gap_left_at=AT, gap_minor=5_000)
    assert fitting_gap(entry(12, 5_000, 55_000), [right]) is None


def test_a_row_in_the_time_of_a_gap_is_not_contradicted() -> None:
    right = replace(entry(9, 100, 55_100), gap_left=50_000, gap_left_at=AT, gap_minor=5_000)
    assert not is_contradicted(AT + 5 * MINUTE_US, [right])
    assert is_contradicted(AT + 15 * MINUTE_US, [right])
    assert is_contradicted(AT + 5 * MINUTE_US, [])


def test_the_row_that_grew_last_may_win_after_everything_else_is_silent() -> None:
    mine, other = row(1, grew_at=AT + 9), row(2, grew_at=AT + 5)
    assert silent_since(replace(FIRM, moved_at=AT), [other, mine]) == (mine, AT + 5)
    assert silent_since(replace(FIRM, moved_at=AT + 7), [other, mine]) == (mine, AT + 7)
    assert silent_since(replace(FIRM, moved_at=AT + 9), [other, mine]) is None
    assert silent_since(FIRM, []) is None


@pytest.mark.parametrize(("messages", "receipts", "expected"), [(3, 8.0, True), (2, 80.0, False), (30, 7.9, False)])
def test_a_row_wins_with_three_messages_in_the_time_of_eight_receipts(
    messages: int, receipts: float, *, expected: bool
) -> None:
    assert wins(row(), AT, messages, lambda _since, _until: receipts, AT) is expected


def test_a_row_that_the_chain_passed_lapses_when_it_did_not_grow_for_two_hours() -> None:
    passed = replace(FIRM, sent_at=AT + 2 * MINUTE_US, moved_at=AT + 2 * MINUTE_US)
    assert is_passed(passed, row(), AT + 2 * HOUR_US + 1)
    assert not is_passed(passed, row(), AT + 2 * HOUR_US)
    assert not is_passed(passed, row(grew_at=AT + 3 * MINUTE_US), AT + 4 * HOUR_US)
    assert not is_passed(replace(passed, sent_at=AT), row(), AT + 4 * HOUR_US)


@pytest.mark.parametrize(
    ("changes", "hours", "receipts", "joined", "firm"),
    [
        ({"provisional": Provisional.SILENCE}, 20, 40.0, 40, True),
        ({"provisional": Provisional.SILENCE}, 19.9, 40.0, 40, False),
        ({"provisional": Provisional.SILENCE}, 30, 39.9, 40, False),
        ({"provisional": Provisional.SILENCE, "live_rows": 1}, 30, 90.0, 40, False),
        ({"provisional": Provisional.SILENCE, "joined": 2}, 30, 90.0, 40, False),
        ({"provisional": Provisional.SWEPT}, 1, 8.0, 8, True),
        ({"provisional": Provisional.SWEPT}, 1, 7.9, 8, False),
        ({"provisional": Provisional.FIRST}, 20, 0.0, 8, True),
        ({"provisional": Provisional.FIRST}, 20, 99.0, 7, False),
        ({"provisional": Provisional.FIRST}, 19, 99.0, 99, False),
        ({"provisional": None}, 99, 99.0, 99, False),
    ],
)
def test_a_provisional_balance_becomes_firm_by_time_while_no_row_is_a_rival(
    changes: dict[str, Any], hours: float, receipts: float, joined: int, *, firm: bool
) -> None:
    state = replace(FIRM, since=AT, usual_receipts=40, **{"joined": 3, **changes})
    now = AT + round(hours * HOUR_US)
    assert is_firm_again(state, lambda _since, _until: receipts, joined, now) is firm


def test_a_way_leads_from_the_believed_balance_exactly_to_what_the_wallet_shows() -> None:
    way = [entry(1, 500, 50_500), entry(2, -200, 50_300), entry(3, 700, 51_000)]
    others = [entry(4, 300, 50_800), entry(5, 900, 90_000)]
    assert path(50_000, 51_000, [*others, *reversed(way)]) == way
    assert path(50_000, 51_001, [*others, *way]) == []


@given(st.lists(st.tuples(st.integers(-3, 5), st.integers(0, 12)), max_size=25), st.integers(0, 12))
def test_a_way_joins_at_each_step_and_uses_no_message_twice(said: list[tuple[int, int]], shown: int) -> None:
    loose = [entry(number, effect, after) for number, (effect, after) in enumerate(said)]
    way = path(6, shown, loose)
    at = 6
    for one in way:
        assert one.before == at
        at = one.after or 0
    assert not way or at == shown
    assert len({one.key for one in way}) == len(way)


MONDAY = AT // DAY_US * DAY_US


def traffic(days: int, hours: range, closed: int | None = None) -> list[int]:
    """Return one receipt an hour on each of the days before `MONDAY`; on a weekday of them the shop is closed."""
    return sorted(
        MONDAY - day * DAY_US + hour * HOUR_US + MINUTE_US
        for day in range(1, days + 1)
        for hour in hours
        if day % 7 != closed
    )


def test_usual_receipts_are_those_of_the_same_weekday_and_hour() -> None:
    times = traffic(14, range(8, 20), closed=0)
    assert usual_receipts(times, MONDAY, MONDAY + DAY_US) == 0, "closed on this weekday"
    tuesday = MONDAY + DAY_US
    assert usual_receipts(times, tuesday + 8 * HOUR_US, tuesday + 12 * HOUR_US) == 4
    assert usual_receipts(times, tuesday + 21 * HOUR_US, tuesday + 24 * HOUR_US) == 0
    assert usual_receipts([], tuesday, tuesday + HOUR_US) == 0


def test_in_the_first_week_usual_is_the_mean_of_the_days_before() -> None:
    times = traffic(3, range(8, 20))
    assert usual_receipts(times, MONDAY + 8 * HOUR_US, MONDAY + 12 * HOUR_US) == pytest.approx(4)


def test_on_the_first_day_half_the_pace_counts_until_the_evening() -> None:
    times = [MONDAY + 8 * HOUR_US + n * 6 * MINUTE_US for n in range(20)]
    now = MONDAY + 10 * HOUR_US
    assert 4 < usual_receipts(times, now, now + HOUR_US) < 6
    night = MONDAY + 18 * HOUR_US
    assert usual_receipts(times, night, night + 4 * HOUR_US) == 0
    assert usual_receipts(times, night, MONDAY + DAY_US + 8 * HOUR_US) == 0, "nor the next morning before it opens"


def test_a_closed_day_that_nobody_expected_makes_no_row_firm_before_many_genuine_receipts_were_due() -> None:
    # Once its balance is firm, a stranger's row has no bound. Each genuine receipt would be its rival.
    times = traffic(14, range(8, 20))

    def usual(since: int, until: int) -> float:
        return usual_receipts(times, since, until)

    began, hours = MONDAY - 2 * HOUR_US, [MONDAY + n * HOUR_US for n in range(72)]
    won = next(at for at in hours if wins(row(began_at=began), began, 30, usual, at))
    assert won < MONDAY + DAY_US, "on the closed day"
    state = replace(taken_over(FIRM, won, proved=False), joined=30, usual_receipts=12)
    firm = next(at for at in hours if is_firm_again(state, usual, 30, at))
    opens = MONDAY + DAY_US + 8 * HOUR_US
    assert usual(opens, firm) >= WINNING_RECEIPTS
