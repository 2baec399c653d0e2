"""The running balance of a line: what explains a break and what never does, and what shows a forgery."""

import pytest

from daemon.core.limits import MINUTE_US
from daemon.core.messages.balance_chain import Absence, Gap, Why
from tests.fakes.balance_line import (
    ACCEPTED,
    FIRST,
    FORGED,
    HELD,
    SUSPECT,
    UNPROVEN,
    Line,
    entry,
    proven,
)
from tests.fakes.rows import AT


def test_a_promotion_is_no_explanation() -> None:
    line = proven()
    line.tell(entry(12, 0, None, pays=False, with_id=False))
    assert line.tell(entry(13, 200, 15700)).holds


@pytest.mark.parametrize(
    ("since", "until", "explained"),
    [(11, 13, True), (12, None, True), (0, 10, False), (14, 15, False), (0, 11, True)],
)
def test_the_modem_having_been_away_explains_a_break(
    since: int, until: int | None, *, explained: bool
) -> None:
    away = Absence(AT + since * MINUTE_US, None if until is None else AT + until * MINUTE_US)
    assert proven(away=[away]).tell(entry(13, 200, 15700)).holds is not explained


def test_a_balance_below_the_amount_is_held_whatever_explains_it() -> None:
    away = [Absence(AT, None)]
    ruling = proven(away=away).tell(entry(13, 2000, 1999))
    assert (ruling.entry.standing, ruling.why) == (HELD, Why.IMPOSSIBLE)
    assert Line().tell(entry(13, 2000, 1999)).holds


def test_a_balance_equal_to_the_previous_one_is_held_whatever_explains_it() -> None:
    # A genuine text sent again with another ID.
    ruling = proven(away=[Absence(AT, None)]).tell(entry(12, 500, 10500))
    assert (ruling.entry.standing, ruling.why) == (HELD, Why.REPEATED)


def test_a_repeated_balance_is_not_released_by_a_receipt_that_fits_without_it() -> None:
    line = proven()
    line.tell(entry(12, 500, 10500), entry(13, 100, 10600))
    assert line.standings() == {"m10": ACCEPTED, "m11": ACCEPTED, "m12": HELD, "m13": ACCEPTED}


def test_a_forgery_that_knew_the_balance_is_flagged_by_the_next_genuine_receipt() -> None:
    line = proven()
    assert not line.tell(entry(12, 9000, 19500)).holds
    ruling = line.tell(entry(13, 200, 10700))
    assert (ruling.why, ruling.entry.standing) == (Why.SKIPS, ACCEPTED)
    assert [(change.after.key, change.suspect) for change in ruling.changes] == [("m12", True)]
    assert line.tell(entry(14, 300, 11000)).why is Why.JOINS
    assert line.gaps() == {}


def test_messages_that_come_late_on_both_sides_take_a_suspicion_back() -> None:
    line = proven(away=(Absence(AT + 11 * MINUTE_US, AT + 13 * MINUTE_US),))
    assert line.tell(entry(14, 1000, 14_500)).why is Why.EXPLAINED
    ruling = line.tell(entry(17, 200, 20_700), entry(18, 100, 20_800))
    assert [change.after.key for change in ruling.changes if change.suspect] == ["m14"]
    ruling = line.tell(entry(12, 3000, 13_500))
    assert not any(change.restored for change in ruling.changes)
    assert line.standings()["m14"] is SUSPECT
    ruling = line.tell(entry(15, 6000, 20_500))
    (change,) = [change for change in ruling.changes if change.after.key == "m14"]
    assert (change.restored, change.released, change.forged, change.suspect) == (
        True,
        False,
        False,
        False,
    )
    assert set(line.standings().values()) == {ACCEPTED}
    assert line.gaps() == {}


def test_a_suspicion_that_only_one_side_clears_stays() -> None:
    line = proven()
    line.tell(entry(12, 9000, 19500), entry(15, 200, 10700))
    ruling = line.tell(entry(13, -8000, 11500))
    assert not any(change.restored for change in ruling.changes)
    assert line.standings()["m12"] is SUSPECT


def test_what_explains_too_late_excuses_neither_a_repeated_nor_an_impossible_balance() -> None:
    for balance in (10500, 100):
        line = proven()
        line.tell(entry(13, 900, balance))
        ruling = line.tell(entry(12, None, None, with_id=False))
        assert ruling.changes == ()
        assert line.standings()["m13"] is HELD


def test_a_doubted_receipt_is_not_released_by_what_explains_too_late() -> None:
    line = proven()
    line.tell(entry(13, 200, 15700, doubted=True))
    line.tell(entry(12, None, None, with_id=False))
    assert line.standings()["m13"] is HELD


def test_a_debit_that_contradicts_a_closed_link_is_unproven_and_not_called_a_forgery() -> None:
    line = proven()
    ruling = line.tell(entry(13, 200, 10700), entry(12, -300, 77_000))
    assert (ruling.entry.standing, ruling.why) == (UNPROVEN, Why.CONTRADICTED)


def test_a_debit_is_the_first_only_where_no_balance_is_known() -> None:
    line = Line()
    assert line.tell(entry(9, -100, 900)).why is Why.FIRST
    assert line.tell(entry(11, -100, 5000)).entry.standing is UNPROVEN


@pytest.mark.parametrize(
    ("away", "why"),
    [
        (Absence(AT + 13 * MINUTE_US, None), Why.EXPLAINED),
        (Absence(AT + 13 * MINUTE_US + 1, None), Why.BREAKS),
        (Absence(AT, AT + 11 * MINUTE_US), Why.EXPLAINED),
        (Absence(AT, AT + 11 * MINUTE_US - 1), Why.BREAKS),
    ],
)
def test_an_absence_explains_up_to_the_very_moment(away: Absence, why: Why) -> None:
    assert proven(away=(away,)).tell(entry(13, 200, 15_700)).why is why


def test_a_late_message_by_the_known_route_releases_a_doubted_one_behind_it() -> None:
    line = proven()
    assert line.tell(entry(13, 200, 11_400, doubted=True)).holds
    ruling = line.tell(entry(12, 700, 11_200))
    assert [(change.after.key, change.released) for change in ruling.changes] == [("m13", True)]


def test_a_held_receipt_in_front_of_an_excused_one_is_forged_when_its_chain_is_found() -> None:
    line = proven(away=(Absence(AT + 11 * MINUTE_US, AT + 15 * MINUTE_US),))
    assert line.tell(entry(13, 9000, 80_000, doubted=True)).holds
    assert line.tell(entry(16, 100, 11_300)).why is Why.EXPLAINED
    ruling = line.tell(entry(12, 700, 11_200))
    assert [change.after.key for change in ruling.changes if change.forged] == ["m13"]
    assert line.gaps() == {}


def test_a_held_receipt_between_two_that_a_late_message_joins_is_forged() -> None:
    line = proven()
    line.tell(entry(13, 9000, 80_000), entry(16, 100, 11_300))
    assert line.standings()["m13"] is HELD
    line.tell(entry(12, 700, 11_200))
    assert line.standings() == {
        "m10": ACCEPTED, "m11": ACCEPTED, "m12": ACCEPTED, "m13": FORGED, "m16": ACCEPTED,
    }  # fmt: skip


def test_a_forged_first_receipt_shows_as_money_that_is_gone() -> None:
    line = Line()
    line.tell(FIRST)
    assert line.tell(entry(11, 200, 700)).holds
    line.tell(entry(12, 300, 1000))
    assert line.gaps() == {"m11": -9500}


def test_a_forgery_excused_by_an_absence_is_flagged_once_the_genuine_ones_chain() -> None:
    line = proven(away=[Absence(AT + 12 * MINUTE_US, AT + 13 * MINUTE_US)])
    assert line.tell(entry(14, 9000, 80000)).why is Why.EXPLAINED
    assert line.tell(entry(15, 200, 11700)).holds
    line.tell(entry(16, 100, 11800))
    assert line.standings()["m14"] is SUSPECT
    assert line.gaps() == {"m15": 1000}


def test_two_held_receipts_apart_name_the_amount_from_both_balances() -> None:
    line = proven()
    line.tell(entry(13, 1000, 14500))
    ruling = line.tell(entry(15, 100, 15000))
    assert ruling.gaps == (Gap("m11", 4400), Gap("m13", 400))


def test_messages_that_both_came_by_a_new_route_do_not_prove_each_other() -> None:
    line = proven()
    line.tell(entry(12, 1000, 50000, doubted=True))
    assert line.tell(entry(13, 1000, 51000, doubted=True)).holds
    assert line.standings()["m12"] is HELD


def test_a_message_by_the_known_route_proves_one_that_came_by_a_new_one() -> None:
    line = proven()
    line.tell(entry(12, 1000, 50000, doubted=True))
    assert not line.tell(entry(13, 1000, 51000)).holds
    assert line.standings()["m12"] is ACCEPTED


def test_a_new_route_together_with_an_explained_break_is_held() -> None:
    # decisions.md section 4, rule 6: a new SMSC counts together with another doubt.
    line = proven(away=[Absence(AT, None)])
    assert line.tell(entry(12, 1000, 50000, doubted=True)).holds
    assert not line.tell(entry(13, 500, 11000, doubted=True)).holds


def test_an_unreadable_message_by_a_new_route_explains_nothing() -> None:
    line = proven()
    line.tell(entry(12, None, None, with_id=False, doubted=True))
    assert line.tell(entry(13, 200, 15700)).holds


def test_a_debit_that_breaks_is_no_known_balance_until_the_next_message_joins_it() -> None:
    line = proven()
    ruling = line.tell(entry(13, -200, 13300))
    assert (ruling.entry.standing, ruling.holds) == (UNPROVEN, False)
    assert ruling.gaps == (Gap("m11", 3000),)
    assert line.tell(entry(14, 100, 13400)).why is Why.JOINS
    assert line.gaps() == {"m13": 3000}


def test_the_first_receipt_is_accepted_also_behind_a_debit_that_it_does_not_join() -> None:
    line = Line()
    line.tell(entry(9, -100, 2000))
    ruling = line.tell(FIRST)
    assert (ruling.why, ruling.gaps) == (Why.FIRST, (Gap("m9", 5500),))


def test_a_receipt_without_a_balance_waits_for_the_next_one() -> None:
    for after, standing in ((11100, ACCEPTED), (10600, FORGED)):
        line = proven()
        assert line.tell(entry(12, 500, None)).holds
        line.tell(entry(13, 100, after))
        assert line.standings()["m12"] is standing
    assert not Line().tell(entry(12, 500, None)).holds


def test_an_id_that_the_line_has_is_not_judged() -> None:
    line = proven()
    ruling = line.tell(entry(11, 9000, 19500, key="again"))
    assert (ruling.why, ruling.holds, ruling.changes) == (Why.ID_TAKEN, True, ())
