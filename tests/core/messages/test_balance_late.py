"""The running balance of a line: what a message that comes late puts right, and what a forged one cannot."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from daemon.core.limits import MINUTE_US
from daemon.core.messages.balance_chain import REORDERED_US_MAX, Entry, Why
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

CAME = entry(12, 9000, 19_500)
LEFT = entry(14, -9000, 10_500)
NEXT = entry(16, 200, 10_700)


def skipped(came: Entry = CAME) -> Line:
    """A line in which a receipt is suspect, because the next one goes on without it."""
    line = proven()
    line.tell(came, NEXT)
    assert line.standings()[came.key] is SUSPECT
    return line


def everything_is_accepted(line: Line) -> bool:
    return set(line.standings().values()) == {ACCEPTED} and line.gaps() == {}


def test_a_cash_out_that_comes_late_clears_the_receipt_that_seemed_to_be_skipped() -> None:
    line = skipped()
    ruling = line.tell(LEFT)
    assert (ruling.why, ruling.gaps) == (Why.JOINS, ())
    assert [(change.after.key, change.restored) for change in ruling.changes] == [("m12", True)]
    assert everything_is_accepted(line)


def test_the_suspicion_stays_until_all_that_came_late_leads_on_to_the_next_one() -> None:
    line = skipped()
    ruling = line.tell(entry(13, 500, 20_000))
    assert (ruling.entry.standing, ruling.why) == (HELD, Why.CONTRADICTED)
    assert line.standings()["m12"] is SUSPECT
    ruling = line.tell(entry(14, -9500, 10_500))
    assert {change.after.key: (change.restored, change.released) for change in ruling.changes} == {
        "m12": (True, False),
        "m13": (False, True),
    }
    assert everything_is_accepted(line)


def test_every_hold_ends_when_a_late_cash_out_closes_the_chain_behind_several_receipts() -> None:
    line = proven()
    line.tell(NEXT, entry(12, 9000, 19_500), entry(13, 500, 20_000))
    assert [line.standings()[key] for key in ("m12", "m13")] == [HELD, HELD]
    ruling = line.tell(entry(14, -9500, 10_500))
    assert [change.released for change in ruling.changes] == [True, True]
    assert everything_is_accepted(line)


def test_two_receipts_that_seemed_to_be_skipped_are_cleared_each_by_its_own_cash_out() -> None:
    for late in itertools.permutations((LEFT, entry(18, -200, 10_500))):
        line = skipped()
        line.tell(entry(20, 100, 10_600))
        assert [line.standings()[key] for key in ("m12", "m16")] == [SUSPECT, SUSPECT]
        line.tell(*late)
        assert everything_is_accepted(line)


@pytest.mark.parametrize(
    "late",
    [
        replace(LEFT, doubted=True),
        replace(LEFT, at=NEXT.at + REORDERED_US_MAX + 1),
        replace(LEFT, effects=(-8999,)),
        replace(LEFT, after=10_501),
    ],
    ids=["of an unknown route", "sent afterwards", "finds another balance", "leaves another one"],
)
def test_what_a_forger_can_send_afterwards_clears_nothing(late: Entry) -> None:
    line = skipped()
    ruling = line.tell(late)
    assert (ruling.entry.standing, ruling.changes) == (UNPROVEN, ())
    line.tell(entry(17, 300, 11_000))
    assert line.standings()["m12"] is SUSPECT


def test_a_cash_out_of_the_same_moment_as_the_next_receipt_is_in_time() -> None:
    line = skipped()
    line.tell(replace(LEFT, at=NEXT.at + REORDERED_US_MAX))
    assert everything_is_accepted(line)


def test_the_suspect_receipt_may_have_come_by_a_route_that_was_new_then() -> None:
    line = skipped(replace(CAME, doubted=True))
    line.tell(LEFT)
    assert everything_is_accepted(line)


def test_a_pair_that_is_sent_afterwards_neither_pays_nor_clears() -> None:
    line = skipped()
    since = NEXT.at + 10 * MINUTE_US
    assert line.tell(entry(13, 500, 20_000, at=since)).holds
    assert line.tell(entry(14, -9500, 10_500, at=since)).changes == ()
    line.tell(entry(17, 300, 11_000))
    found = [line.standings()[key] for key in ("m12", "m13", "m14")]
    assert found == [SUSPECT, HELD, UNPROVEN]


def test_a_pair_that_is_sent_afterwards_pays_nothing_where_nothing_is_suspect_either() -> None:
    line = proven()
    line.tell(NEXT)
    since = NEXT.at + 10 * MINUTE_US
    assert line.tell(replace(CAME, at=since)).holds
    assert line.tell(replace(LEFT, at=since)).changes == ()
    assert [line.standings()[key] for key in ("m12", "m14")] == [HELD, UNPROVEN]


def test_what_a_forger_sends_afterwards_does_not_stand_in_the_way_of_the_genuine_one() -> None:
    line = skipped()
    since = NEXT.at + 10 * MINUTE_US
    line.tell(entry(13, -9000, 10_500, at=since, key="forged"))
    line.tell(LEFT)
    standings = line.standings()
    assert standings.pop("forged") is UNPROVEN
    assert set(standings.values()) == {ACCEPTED}


def test_a_genuine_message_clears_nothing_together_with_a_forged_one() -> None:
    line = skipped()
    line.tell(entry(14, -9500, 10_500, at=NEXT.at + 10 * MINUTE_US))
    assert line.tell(entry(13, 500, 20_000)).holds
    assert line.standings()["m12"] is SUSPECT


def test_the_longest_way_is_the_one_that_is_believed() -> None:
    # The last one to come would be explained by its two neighbours alone, too.
    line = proven()
    line.tell(entry(20, 200, 10_700), entry(12, 700, 11_200), entry(16, 700, 11_200))
    line.tell(entry(18, -700, 10_500))
    assert [line.standings()[key] for key in ("m12", "m16", "m18")] == [HELD, HELD, UNPROVEN]
    line.tell(entry(14, -700, 10_500))
    assert everything_is_accepted(line)


def test_a_held_receipt_beside_the_way_waits_for_what_may_yet_come() -> None:
    line = skipped()
    line.tell(entry(13, 500, 20_000), entry(15, -9000, 10_500))
    standings = line.standings()
    assert (standings.pop("m13"), set(standings.values())) == (HELD, {ACCEPTED})
    line.tell(entry(14, -500, 19_500))
    assert everything_is_accepted(line)


def test_a_held_receipt_is_not_let_go_by_a_debit_that_leads_nowhere() -> None:
    # Its neighbours join each other; that some message goes on from it is no other way between them.
    line = proven()
    line.tell(NEXT, entry(14, -8000, 11_500))
    ruling = line.tell(CAME)
    assert (ruling.entry.standing, ruling.why) == (HELD, Why.CONTRADICTED)


def test_of_two_receipts_that_a_late_cash_out_fits_equally_none_is_cleared() -> None:
    line = skipped()
    line.tell(entry(13, 9000, 19_500))
    ruling = line.tell(LEFT)
    assert (ruling.entry.standing, ruling.changes) == (UNPROVEN, ())
    assert [line.standings()[key] for key in ("m12", "m13")] == [SUSPECT, HELD]


def test_a_late_receipt_that_joins_nothing_is_forged_beside_a_suspect_one_too() -> None:
    line = skipped()
    assert line.tell(entry(13, 700, 90_000)).entry.standing is FORGED


BEFORE, BEHIND = entry(13, 3000, 13_500), entry(15, 6000, 20_500)
AFTERWARDS = AT + 17 * MINUTE_US + REORDERED_US_MAX + 1


def excused() -> Line:
    """A line in which an excused receipt is suspect, because the two behind it go on from what was there before."""
    line = proven()
    line.tell(entry(12, None, None, with_id=False))
    assert line.tell(entry(14, 1000, 14_500)).why is Why.EXPLAINED
    line.tell(entry(17, 200, 20_700), entry(18, 100, 20_800))
    assert line.standings()["m14"] is SUSPECT
    return line


@pytest.mark.parametrize(
    "late",
    [
        (BEFORE, replace(BEHIND, doubted=True)),
        (BEFORE, replace(BEHIND, at=AFTERWARDS)),
        (replace(BEFORE, at=AFTERWARDS), BEHIND),
        (BEFORE, entry(15, 2000, 16_500, at=AFTERWARDS), entry(16, 4000, 20_500, at=AFTERWARDS)),
    ],
    ids=["of an unknown route", "sent afterwards", "sent afterwards, before it", "two of them"],
)
def test_nothing_of_the_kind_clears_a_receipt_whose_two_sides_it_fills(
    late: tuple[Entry, ...],
) -> None:
    line = excused()
    line.tell(*late, entry(19, 100, 20_900))
    assert line.standings()["m14"] is SUSPECT


def lines() -> Iterator[tuple[Entry, ...]]:
    """Lines whose balances come back: up to four messages behind the first receipt."""
    for effects in itertools.product((700, -700, 300), repeat=4):
        balance, line = 10_000, []
        for number, effect in enumerate(effects, 6):
            balance += effect
            line.append(entry(2 * number, effect, balance))
        yield tuple(line)


def test_lines_whose_balance_comes_back_join_in_whatever_order_they_are_told() -> None:
    for line in lines():
        for order in itertools.permutations(line):
            books = Line()
            books.tell(FIRST, *order)
            assert everything_is_accepted(books), [told.key for told in order]
