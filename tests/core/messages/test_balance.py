"""The rules of the balance chain: messages that continue it, rows that wait beside it, and the events that settle a row."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US
from daemon.core.messages.balance import LineMessages
from daemon.core.messages.balance_chain import Absence, ChainEntry, Standing, Why
from daemon.core.messages.foreign_path import SEARCH_MAX
from daemon.core.messages.line_history import usual_receipts
from daemon.core.messages.trust import Doubt
from tests.fakes.balance_line import (
    ACCEPTED,
    HELD,
    NOTED,
    REFUTED,
    UNCONFIRMED,
    Wallet,
    entry,
)


def busy(_since: int, _until: int) -> float:
    return 6.0


def quiet(_since: int, _until: int) -> float:
    return 5.9


def test_receipts_debits_and_reversals_that_join_continue_the_chain() -> None:
    wallet = Wallet()
    assert wallet.tell(entry(1, 500, 10_500)) is ACCEPTED
    assert wallet.tell(entry(2, -300, 10_200)) is ACCEPTED
    assert wallet.tell(entry(3, 800, 11_000)) is ACCEPTED
    assert wallet.end == 11_000
    assert not wallet.gaps()


def test_the_first_home_message_of_a_line_begins_the_chain() -> None:
    wallet = Wallet(None)
    assert wallet.tell(entry(1, 900, 7_000, home=False)) is HELD
    assert wallet.tell(entry(2, 500, 10_500)) is ACCEPTED
    assert wallet.entries["m2"].why is Why.FIRST
    assert wallet.tell(entry(3, 500, 11_000)) is ACCEPTED
    assert wallet.tell(entry(4, 500, 90_000)) is UNCONFIRMED


def test_no_other_message_begins_the_chain_while_the_owners_test_payment_is_expected() -> None:
    wallet = Wallet(None)
    wallet.change(lambda line: line.take(entry(1, 500, 90_000), claims=True, begins=False))
    assert wallet.standings("m1") == [UNCONFIRMED]
    wallet.change(lambda line: line.begin(entry(3, 137, 10_137)))
    assert wallet.standings("m1") == [REFUTED]
    assert wallet.tell(entry(4, 500, 10_637)) is ACCEPTED


def test_the_owners_test_payment_begins_the_chain() -> None:
    wallet = Wallet(None)
    wallet.change(lambda line: line.begin(entry(1, 137, 10_137)))
    assert wallet.tell(entry(2, 500, 10_637)) is ACCEPTED


def test_a_break_opens_a_row_beside_the_chain_and_the_chain_goes_on() -> None:
    wallet = Wallet()
    assert wallet.tell(entry(1, 9_000, 99_000)) is UNCONFIRMED
    assert wallet.tell(entry(2, 500, 10_500)) is ACCEPTED
    assert wallet.end == 10_500


def test_the_chain_that_goes_on_refutes_the_row() -> None:
    wallet = Wallet()
    wallet.tell(entry(1, 9_000, 99_000), entry(2, 500, 99_500))
    wallet.tell(entry(4, 500, 10_500))
    assert wallet.standings("m1", "m2") == [REFUTED, REFUTED]


def test_a_message_of_the_same_minute_refutes_no_row() -> None:
    wallet = Wallet()
    wallet.tell(entry(1, 500, 11_000), entry(2, 300, 10_300))
    assert wallet.standings("m1", "m2") == [UNCONFIRMED, ACCEPTED]


def test_messages_in_another_order_join_when_the_missing_one_comes() -> None:
    wallet = Wallet()
    wallet.tell(entry(2, 500, 11_000), entry(3, 500, 11_500))
    assert wallet.tell(entry(1, 500, 10_500, late=9)) is ACCEPTED
    assert wallet.standings("m2", "m3") == [ACCEPTED, ACCEPTED]
    assert wallet.end == 11_500
    assert not wallet.gaps()


def test_a_row_pays_nothing_of_its_own_when_it_is_only_prolonged() -> None:
    wallet = Wallet()
    wallet.tell(*(entry(n, 500, 99_000 + n * 500) for n in range(1, 9)))
    assert set(wallet.standings(*(f"m{n}" for n in range(1, 9)))) == {UNCONFIRMED}


def test_the_lines_own_traffic_confirms_a_row_and_the_gap_is_kept() -> None:
    wallet = Wallet()
    wallet.tell(*(entry(n, 500, 4_000 + n * 500) for n in range(1, 4)))
    wallet.change(lambda line: line.confirm_rows(wallet.at(9), (), quiet))
    assert wallet.end == 10_000
    wallet.change(lambda line: line.confirm_rows(wallet.at(9), (), busy))
    assert wallet.standings("m1", "m2", "m3") == [ACCEPTED] * 3
    assert wallet.gaps() == {"m1": -6_000}
    assert wallet.tell(entry(10, 500, 6_000)) is ACCEPTED


def test_two_messages_confirm_nothing() -> None:
    wallet = Wallet()
    wallet.tell(entry(1, 500, 4_500), entry(2, 500, 5_000))
    wallet.change(lambda line: line.confirm_rows(wallet.at(90), (), busy))
    assert wallet.standings("m1", "m2") == [UNCONFIRMED, UNCONFIRMED]


def test_a_row_beside_which_another_one_grows_waits_for_a_person() -> None:
    wallet = Wallet()
    wallet.tell(*(entry(n, 500, 4_000 + n * 500) for n in range(1, 4)), entry(4, 100, 88_000))
    wallet.change(lambda line: line.confirm_rows(wallet.at(90), (), busy))
    assert wallet.standings("m1", "m4") == [UNCONFIRMED, UNCONFIRMED]


def test_the_row_after_the_second_of_two_breaks_is_confirmed() -> None:
    wallet = Wallet()
    wallet.tell(entry(1, 500, 4_500))
    wallet.tell(*(entry(n, 500, 30_000 + n * 500) for n in range(2, 5)))
    wallet.change(lambda line: line.confirm_rows(wallet.at(90), (), busy))
    assert wallet.standings("m1", "m2", "m4") == [UNCONFIRMED, ACCEPTED, ACCEPTED]
    wallet.tell(entry(60, 500, 32_500))
    assert wallet.standings("m1") == [UNCONFIRMED], "it lies in the gap, and waits"


def test_the_clock_of_a_row_stands_while_the_modem_is_away() -> None:
    wallet = Wallet()
    wallet.tell(*(entry(n, 500, 4_000 + n * 500) for n in range(1, 4)))
    asked: list[int] = []

    def usual(since: int, until: int) -> float:
        asked.append(until - since)
        return 0.0

    away = [Absence(wallet.at(11), wallet.at(71)), Absence(wallet.at(91), None)]
    wallet.change(lambda line: line.confirm_rows(wallet.at(101), away, usual))
    assert asked == [30 * MINUTE_US]


def test_a_late_message_that_fits_a_gap_from_one_side_is_accepted() -> None:
    wallet = Wallet()
    wallet.tell(*(entry(n, 500, 20_000 + n * 500) for n in range(3, 6)))
    wallet.change(lambda line: line.confirm_rows(wallet.at(9), (), busy))
    assert wallet.gaps() == {"m3": 11_000}
    assert wallet.tell(entry(1, 1_000, 11_000, late=60)) is ACCEPTED
    assert wallet.gaps() == {"m3": 10_000}
    assert wallet.tell(entry(2, 4_000, 21_000, late=60)) is ACCEPTED
    assert wallet.gaps() == {"m2": 6_000}
    assert wallet.tell(entry(2, 6_000, 17_000, late=61, key="m2a")) is ACCEPTED
    assert not wallet.gaps()


def test_a_late_message_without_a_gap_at_its_time_is_refuted() -> None:
    wallet = Wallet()
    wallet.tell(entry(1, 500, 10_500), entry(9, 500, 11_000))
    assert wallet.tell(entry(4, 700, 11_700, late=9)) is ACCEPTED, "it joins the end"
    assert wallet.tell(entry(4, 300, 10_800, late=9, key="x")) is REFUTED


@pytest.mark.parametrize(
    "new",
    [
        entry(1, 500, 10_500, home=False),
        entry(1, 500, 10_500, doubts=(Doubt.ID_TOO_HIGH,)),
        entry(1, 500, 10_500, doubts=(Doubt.ID_TAKEN,)),
        entry(1, 500, None),
        entry(1, 500, 400),
    ],
    ids=["foreign", "ID ahead", "ID taken", "no balance", "balance below its amount"],
)
def test_what_is_held_changes_nothing_for_the_messages_after_it(new: ChainEntry) -> None:
    wallet = Wallet()
    assert wallet.tell(new) is HELD
    assert wallet.tell(entry(3, 700, 10_700)) is ACCEPTED
    assert wallet.tell(entry(4, 700, 11_400)) is ACCEPTED
    assert wallet.standings("m1") == [HELD]


def test_a_doubt_about_typed_text_leaves_the_message_in_the_chain() -> None:
    wallet = Wallet()
    assert wallet.tell(entry(1, 500, 10_500, doubts=(Doubt.REFERENCE_TOO_LONG,))) is ACCEPTED


def test_a_receipt_without_a_balance_is_confirmed_by_the_message_behind_it() -> None:
    wallet = Wallet()
    assert wallet.tell(entry(1, 500, None)) is HELD
    assert wallet.tell(entry(2, 300, 10_800)) is ACCEPTED
    assert wallet.standings("m1") == [ACCEPTED]
    assert wallet.entries["m1"].why is Why.NO_BALANCE


def test_of_two_receipts_without_a_balance_that_could_both_be_meant_none_is_confirmed() -> None:
    wallet = Wallet()
    wallet.tell(entry(1, 500, None), entry(2, 500, None, key="twin"))
    assert wallet.tell(entry(3, 300, 10_800)) is ACCEPTED
    assert wallet.standings("m1", "twin") == [HELD, HELD]


def test_a_debit_without_a_balance_explains_its_own_amount_and_no_other() -> None:
    wallet = Wallet()
    assert wallet.tell(entry(1, -400, None)) is NOTED
    assert wallet.tell(entry(2, 500, 10_100)) is ACCEPTED
    assert wallet.tell(entry(3, None, None, pays=False)) is NOTED
    assert wallet.tell(entry(4, 500, 50_000)) is UNCONFIRMED, "an unreadable one explains nothing"


def between(wallet: Wallet, minutes: int, *absences: Absence) -> None:
    wallet.change(lambda line: line.release_between(wallet.at(minutes), absences))


def test_a_foreign_message_is_released_90_minutes_after_home_messages_stand_on_both_sides() -> None:
    wallet = Wallet()
    assert wallet.tell(entry(1, 500, 10_500, home=False)) is HELD
    assert wallet.tell(entry(2, 500, 11_000)) is UNCONFIRMED
    between(wallet, 91)
    assert wallet.standings("m1", "m2") == [HELD, UNCONFIRMED]
    between(wallet, 92)
    assert wallet.standings("m1", "m2") == [ACCEPTED, ACCEPTED]
    assert wallet.entries["m1"].why is Why.BETWEEN
    assert wallet.end == 11_000
    assert not wallet.gaps()


def test_the_90_minutes_stand_still_while_the_modem_is_away() -> None:
    wallet = Wallet()
    wallet.tell(entry(1, 500, 10_500, home=False), entry(2, 500, 11_000))
    between(wallet, 92, Absence(wallet.at(10), wallet.at(30)))
    assert wallet.standings("m1") == [HELD]
    between(wallet, 112, Absence(wallet.at(10), wallet.at(30)))
    assert wallet.standings("m1") == [ACCEPTED]


def test_a_late_genuine_message_takes_the_place_of_a_foreign_one() -> None:
    wallet = Wallet()
    wallet.tell(entry(1, 500, 10_500, home=False, key="told"), entry(3, 500, 11_000))
    assert wallet.tell(entry(2, 500, 10_500, late=49)) is ACCEPTED
    between(wallet, 200)
    wallet.change(lambda line: line.refute_taken(wallet.entries.values(), wallet.at(200)))
    assert wallet.standings("told", "m2", "m3") == [REFUTED, ACCEPTED, ACCEPTED]


def test_several_foreign_messages_in_a_row_are_released_together() -> None:
    wallet = Wallet()
    wallet.tell(*(entry(n, 500, 10_000 + n * 500, home=False) for n in range(1, 4)))
    wallet.tell(entry(4, 500, 12_000))
    between(wallet, 95)
    assert wallet.standings("m1", "m2", "m3", "m4") == [ACCEPTED] * 4


def test_two_ways_from_one_home_message_to_the_next_release_none() -> None:
    wallet = Wallet()
    wallet.tell(
        entry(1, 500, 10_500, home=False),
        entry(1, 200, 10_200, home=False, key="half"),
        entry(2, 300, 10_500, home=False, key="rest"),
        entry(3, 500, 11_000),
    )
    between(wallet, 200)
    assert wallet.standings("m1", "half", "rest") == [HELD] * 3


def test_a_made_up_debit_makes_no_room_for_a_made_up_receipt() -> None:
    wallet = Wallet()
    wallet.tell(
        entry(1, 900, 10_900, home=False),
        entry(2, -400, 10_500, home=False, key="debit"),
        entry(3, 500, 11_000),
    )
    between(wallet, 200)
    assert wallet.standings("m1", "debit") == [HELD, HELD]


@pytest.mark.parametrize("effect", [-400, 0])
def test_a_made_up_fee_makes_no_room_for_a_made_up_receipt(effect: int) -> None:
    wallet = Wallet()
    wallet.tell(
        entry(1, effect, 10_000 + effect, home=False, pays=True),
        entry(3, 500, 10_500 + effect),
    )
    between(wallet, 200)
    assert wallet.standings("m1") == [HELD]


def test_a_foreign_message_that_only_a_home_one_follows_is_not_released() -> None:
    wallet = Wallet()
    wallet.tell(entry(1, 500, 30_500, home=False), entry(2, 500, 31_000))
    between(wallet, 200)
    assert wallet.standings("m1") == [HELD]


def test_a_flood_of_guesses_ends_the_search_without_a_release() -> None:
    wallet = Wallet()
    guesses = [
        entry(1, 100, 10_000 + 100 * step, home=False, key=f"g{step}-{twin}")
        for step in range(1, 8)
        for twin in range(20)
    ]
    wallet.tell(*guesses)
    wallet.tell(entry(2, 300, 90_000))
    between(wallet, 200)
    assert len(guesses) < SEARCH_MAX
    assert set(wallet.standings(*(one.key for one in guesses))) == {HELD}


def test_an_approval_takes_the_whole_row_into_the_chain() -> None:
    wallet = Wallet()
    wallet.tell(*(entry(n, 500, 40_000 + n * 500) for n in range(1, 5)))
    assert wallet.change(lambda line: line.approve("m2")) is True
    assert wallet.standings("m1", "m2", "m3", "m4") == [ACCEPTED] * 4
    assert wallet.gaps() == {"m1": 30_000}
    assert wallet.tell(entry(9, 500, 42_500)) is ACCEPTED


def test_an_approved_row_that_the_chain_has_passed_does_not_become_its_end() -> None:
    wallet = Wallet()
    wallet.tell(entry(10, 500, 50_500))
    wallet.change(lambda line: line.approve("m10"))
    wallet.tell(entry(20, 500, 51_000))
    row = [entry(10 + one, 100, 200_000 + 100 * one, late=15) for one in range(1, 7)]
    wallet.tell(*row)
    wallet.change(lambda line: line.approve("m12"))
    assert wallet.standings(*(one.key for one in row)) == [ACCEPTED] * 6
    assert {wallet.entries[one.key].position for one in row} == {None}
    assert wallet.end == 51_000
    assert wallet.tell(entry(30, 500, 51_500)) is ACCEPTED


def test_an_approved_foreign_message_takes_those_with_it_that_join_it_by_the_same_smsc() -> None:
    wallet = Wallet()
    wallet.tell(*(entry(n, 500, 10_000 + n * 500, home=False) for n in range(1, 4)))
    assert wallet.change(lambda line: line.approve("m2")) is True, "its row joins the chain"
    assert wallet.standings("m1", "m2", "m3") == [ACCEPTED] * 3
    assert wallet.end == 11_500


def test_the_smsc_of_an_approved_message_whose_balance_does_not_join_stays_foreign() -> None:
    wallet = Wallet()
    wallet.tell(entry(1, 500, 70_000, home=False))
    assert wallet.change(lambda line: line.approve("m1")) is False
    assert wallet.end == 70_000


def test_held_messages_are_judged_again_when_their_smsc_is_home() -> None:
    wallet = Wallet()
    wallet.tell(*(entry(n, 500, 10_000 + n * 500, home=False) for n in (1, 2)))
    wallet.tell(entry(4, 500, 30_000, home=False))

    def decide(line: LineMessages) -> None:
        line.approve("m1")
        line.trust(lambda smsc: smsc == "+447000000001")

    wallet.change(decide)
    assert wallet.standings("m1", "m2", "m4") == [ACCEPTED, ACCEPTED, UNCONFIRMED]


def test_a_rejection_refutes_the_whole_row_and_leaves_the_chain() -> None:
    wallet = Wallet()
    wallet.tell(*(entry(n, 500, 40_000 + n * 500) for n in range(1, 4)))
    wallet.change(lambda line: line.reject("m3"))
    assert wallet.standings("m1", "m2", "m3") == [REFUTED] * 3
    assert wallet.tell(entry(5, 500, 10_500)) is ACCEPTED


def test_what_came_through_a_distrusted_smsc_leaves_the_chain() -> None:
    wallet = Wallet()
    wallet.tell(entry(1, 500, 10_500), entry(2, 900, 11_400, smsc="+233290000001"))
    wallet.tell(entry(3, 500, 11_000))
    wallet.change(lambda line: line.distrust("+233290000001"))
    assert wallet.standings("m1", "m2", "m3") == [ACCEPTED, REFUTED, ACCEPTED]
    assert wallet.end == 11_000


def test_a_sender_that_sets_the_smsc_time_ahead_is_refuted_all_the_same() -> None:
    wallet = Wallet()
    new = entry(1, 900, 77_000)
    wallet.tell(replace(new, at=new.at + DAY_US))
    wallet.tell(entry(3, 500, 10_500))
    assert wallet.standings("m1") == [REFUTED]


def test_usual_receipts_are_the_mean_of_the_same_stretch_of_the_last_days() -> None:
    now = 100 * DAY_US
    times = [day * DAY_US + hour * HOUR_US for day in range(80, 100) for hour in (9, 10, 11, 18)]
    morning = now + 9 * HOUR_US, now + 12 * HOUR_US
    assert usual_receipts(times, *morning, morning[1]) == 3
    assert usual_receipts(times, now + 19 * HOUR_US, now + 30 * HOUR_US, now + 30 * HOUR_US) == 0


def test_a_busy_hour_of_the_first_week_is_not_usual() -> None:
    times = [hour * HOUR_US for hour in (9, 11, 13, 15)]
    times += [12 * HOUR_US + n * 5 * MINUTE_US for n in range(8)]
    since = DAY_US + 12 * HOUR_US
    until = since + 40 * MINUTE_US
    assert usual_receipts(sorted(times), since, until, until) < 3
    weeks = sorted(at + day * DAY_US for at in times for day in range(14))
    later = since + 13 * DAY_US
    assert usual_receipts(weeks, later, later + 40 * MINUTE_US, later + 40 * MINUTE_US) == 8


def test_on_the_first_day_half_the_pace_so_far_is_usual() -> None:
    times = [n * 10 * MINUTE_US for n in range(1, 7)]
    since = 61 * MINUTE_US
    assert usual_receipts(times, since, since + 51 * MINUTE_US, since + HOUR_US) == 3
    assert usual_receipts([], since, since + HOUR_US, since + HOUR_US) == 0


def test_on_the_first_day_nothing_is_usual_after_18_hours() -> None:
    times = [n * HOUR_US for n in range(8, 18)]
    evening, night = 20 * HOUR_US, 24 * HOUR_US
    assert usual_receipts(times, evening, night, night) == 0
    assert 0 < usual_receipts(times, 17 * HOUR_US, night, night) < 1.2


@given(
    st.lists(st.tuples(st.integers(-500, 2_000), st.integers(0, 3)), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
)
def test_genuine_home_messages_in_any_order_are_all_accepted_in_the_end(
    moves: list[tuple[int, int]], random: Random
) -> None:
    """Messages of a few minutes in a random order: the last one closes every gap."""
    balance, told = 10_000, list[ChainEntry]()
    for seq, (move, _) in enumerate(moves):
        balance += move
        new = entry(1, move, balance, key=f"k{seq}", pays=move > 0)
        told.append(replace(new, seq=seq))
    random.shuffle(told)
    wallet = Wallet()
    wallet.tell(*told)
    assert wallet.end == balance or _ambiguous(moves)


def _ambiguous(moves: list[tuple[int, int]]) -> bool:
    """Return whether two messages begin or end at the same balance, so that more than one order is possible."""
    balances = [10_000]
    for move, _ in moves:
        balances.append(balances[-1] + move)
    return len(set(balances)) < len(balances)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 900), st.integers(0, 12_000)), max_size=20))
def test_foreign_messages_never_change_what_home_ones_do(
    forged: list[tuple[bool, int, int]],
) -> None:
    """The chain of the genuine messages is the same with and without any foreign ones between them."""
    wallet = Wallet()
    balance = 10_000
    for number, (before, amount, after) in enumerate(forged, 1):
        foreign = entry(2 * number, amount, after, home=False, key=f"f{number}", pays=before)
        balance += 100
        genuine = entry(2 * number + 1, 100, balance)
        wallet.tell(*((foreign, genuine) if before else (genuine, foreign)))
        assert wallet.end == balance
    between(wallet, 10_000)
    assert all(
        one.standing is not Standing.ACCEPTED for one in wallet.entries.values() if not one.home
    )
