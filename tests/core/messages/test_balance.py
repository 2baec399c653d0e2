"""The running balance of a line: what joins, what is held, what ends a hold (decisions.md section 4, rule 5)."""

from dataclasses import replace

import pytest

from daemon.core.limits import MINUTE_US
from daemon.core.messages.balance import Ruling, Unaccounted, judge, unaccounted
from daemon.core.messages.balance_chain import Gap, Standing, Why
from tests.fakes.balance_line import ACCEPTED, FIRST, FORGED, HELD, NOTED, Line, entry, proven
from tests.fakes.rows import AT


def test_the_first_receipt_of_a_line_is_accepted() -> None:
    ruling = Line().tell(FIRST)
    assert ruling == Ruling(replace(FIRST, standing=ACCEPTED), Why.FIRST)
    assert not ruling.holds


def test_a_receipt_that_finds_the_balance_is_accepted() -> None:
    new = entry(11, 500, 10500)
    ruling = judge([replace(FIRST, standing=ACCEPTED)], new)
    assert ruling == Ruling(replace(new, standing=ACCEPTED, gap_minor=0), Why.JOINS)


def test_outgoing_money_and_its_fee_are_taken_into_account() -> None:
    line = Line()
    ruling = line.tell(FIRST, entry(11, -4038, 5962), entry(12, 1000, 6962))
    assert (ruling.why, line.gaps()) == (Why.JOINS, {})


def test_an_unexplained_break_is_held_and_names_the_amount() -> None:
    line = Line()
    ruling = line.tell(FIRST, entry(11, 1000, 14000))
    assert ruling.holds
    assert (ruling.entry.standing, ruling.why) == (HELD, Why.BREAKS)
    assert ruling.gaps == (Gap("m10", 3000),)


def test_a_hold_is_released_when_the_next_receipt_chains_from_it() -> None:
    line = Line()
    ruling = line.tell(FIRST, entry(11, 1000, 14000), entry(12, 200, 14200))
    (change,) = ruling.changes
    assert (change.released, change.forged, change.suspect) == (True, False, False)
    assert (change.after.key, change.after.gap_minor) == ("m11", 3000)
    assert line.standings() == {"m10": ACCEPTED, "m11": ACCEPTED, "m12": ACCEPTED}


def test_a_released_hold_leaves_its_gap_reported_as_missing() -> None:
    line = proven()
    ruling = line.tell(entry(13, 1000, 14500), entry(14, 200, 14700))
    assert [change.released for change in ruling.changes] == [True]
    assert line.standings() == dict.fromkeys(("m10", "m11", "m13", "m14"), ACCEPTED)
    assert line.gaps() == {"m13": 3000}
    assert unaccounted(line.entries.values()) == Unaccounted(3000, 0, AT + 13 * MINUTE_US)


def test_what_is_missing_is_summed_each_way_since_the_first_of_it() -> None:
    line = proven()
    line.tell(entry(13, 1000, 14500), entry(14, 200, 14700))
    line.tell(entry(16, 100, 12800), entry(17, 100, 12900))
    assert line.gaps() == {"m13": 3000, "m16": -2000}
    assert unaccounted(line.entries.values()) == Unaccounted(3000, 2000, AT + 13 * MINUTE_US)


def test_a_held_receipt_is_forged_when_the_next_chains_from_the_balance_before() -> None:
    line = proven()
    ruling = line.tell(entry(12, 9000, 80000), entry(13, 200, 10700))
    assert [change.forged for change in ruling.changes] == [True]
    assert line.standings()["m12"] is FORGED
    assert ruling.why is Why.JOINS
    assert unaccounted(line.entries.values()) == Unaccounted(0, 0, None)


def test_a_late_message_closes_the_gap_and_releases_the_hold() -> None:
    line = proven()
    assert line.tell(entry(13, 1000, 14500)).holds
    ruling = line.tell(entry(12, 3000, 13500))
    assert (ruling.why, ruling.changes[0].released) == (Why.JOINS, True)
    assert line.gaps() == {}


def test_a_late_message_makes_a_reported_gap_smaller() -> None:
    line = proven()
    line.tell(entry(14, 1000, 14500), entry(15, 200, 14700))
    assert line.gaps() == {"m14": 3000}
    line.tell(entry(13, 1200, 13500))
    assert line.gaps() == {"m13": 1800}


def test_a_late_forgery_between_two_that_join_is_forged_at_once() -> None:
    line = proven()
    ruling = line.tell(replace(entry(105, 900, 90000), telco_id="93000000010.5"))
    assert ruling.holds
    line = Line()
    line.tell(FIRST, entry(13, 500, 10500))
    ruling = line.tell(entry(11, 900, 90000))
    assert (ruling.entry.standing, ruling.why) == (FORGED, Why.CONTRADICTED)
    assert ruling.holds


@pytest.mark.parametrize("first", ["m12", "m13"])
def test_payments_of_one_moment_may_be_booked_against_the_order_of_their_ids(first: str) -> None:
    line = proven()
    pair = [entry(12, 700, 11400), entry(13, 200, 10700)]
    for new in sorted(pair, key=lambda new: new.key != first):
        line.tell(new)
    assert set(line.standings().values()) == {ACCEPTED}
    assert line.tell(entry(14, 100, 11500)).why is Why.JOINS
    assert line.gaps() == {}


@pytest.mark.parametrize(("apart_us", "standing"), [(MINUTE_US, ACCEPTED), (MINUTE_US + 1, FORGED)])
def test_only_payments_within_a_minute_are_of_one_moment(apart_us: int, standing: Standing) -> None:
    line = proven()
    line.tell(entry(13, 200, 10700))
    later = entry(12, 700, 11400, at=AT + 13 * MINUTE_US + apart_us)
    assert line.tell(later).entry.standing is standing


def test_a_held_receipt_turns_no_other_of_its_moment() -> None:
    line = proven()
    assert line.tell(entry(13, 200, 20700)).holds
    assert line.tell(entry(12, 700, 21400)).holds
    assert line.standings() == {"m10": ACCEPTED, "m11": ACCEPTED, "m12": HELD, "m13": HELD}


def test_a_place_that_two_receipts_leave_no_room_for_is_not_taken_by_turning() -> None:
    line = proven()
    line.tell(entry(13, 200, 10700), entry(14, 100, 10800))
    ruling = line.tell(entry(12, 700, 11400))
    assert (ruling.entry.standing, ruling.why) == (FORGED, Why.CONTRADICTED)
    assert ruling.changes == ()


def test_a_late_receipt_that_only_starts_where_its_neighbour_starts_is_held() -> None:
    line = Line()
    line.tell(FIRST, entry(13, 500, 10500))
    ruling = line.tell(entry(11, 900, 10900))
    assert (ruling.entry.standing, ruling.why) == (HELD, Why.CONTRADICTED)


def test_money_that_came_and_left_again_is_put_right_when_both_messages_come_late() -> None:
    line = Line()
    line.tell(FIRST, entry(15, 500, 10500))
    assert line.tell(entry(12, 700, 10700)).holds
    ruling = line.tell(entry(13, -700, 10000))
    assert [change.released for change in ruling.changes] == [True]
    assert set(line.standings().values()) == {ACCEPTED}
    assert line.gaps() == {}


def test_a_debit_without_a_balance_explains_and_fits_when_it_says_what_it_took() -> None:
    line = proven()
    assert line.tell(entry(12, -500, None)).entry.standing is NOTED
    assert line.tell(entry(13, 200, 10200)).why is Why.JOINS


def test_a_debit_that_took_something_else_explains_the_break() -> None:
    line = proven()
    ruling = line.tell(entry(12, -500, None), entry(13, 200, 9200))
    assert (ruling.entry.standing, ruling.why) == (ACCEPTED, Why.EXPLAINED)
    assert ruling.gaps == (Gap("m11", -1000),)
    assert unaccounted(line.entries.values()).went_out_minor == 1000


def test_an_unreadable_message_explains_a_break_and_the_chain_goes_on_from_there() -> None:
    line = proven()
    unread = entry(12, None, None, with_id=False)
    ruling = line.tell(unread, entry(13, 200, 15700))
    assert (ruling.why, ruling.gaps) == (Why.EXPLAINED, (Gap("m11", 5000),))
    assert line.tell(entry(14, 300, 16000)).why is Why.JOINS
    assert line.gaps() == {"m13": 5000}


def test_an_unreadable_message_before_the_last_known_balance_explains_nothing() -> None:
    line = Line()
    line.tell(FIRST, entry(11, None, None, with_id=False), entry(12, 500, 10500))
    assert line.tell(entry(13, 200, 15700)).holds


def test_an_unreadable_message_after_the_receipt_explains_nothing() -> None:
    line = proven()
    line.tell(entry(12, 200, 15700), entry(13, None, None, with_id=False))
    assert line.standings()["m12"] is HELD


def test_an_explanation_that_comes_late_releases_the_hold() -> None:
    line = proven()
    line.tell(entry(13, 200, 15700))
    ruling = line.tell(entry(12, None, None, with_id=False))
    assert [change.released for change in ruling.changes] == [True]
    assert line.gaps() == {"m13": 5000}
