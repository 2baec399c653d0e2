"""The running balance of a line: what the setting says, what a person decides, and when a person is told."""

from daemon.core.messages.balance import HELD_US_MAX, BalanceCheck, decide, overdue
from daemon.core.messages.balance_chain import Gap, Why
from tests.fakes.balance_line import ACCEPTED, FORGED, HELD, NOTED, SUSPECT, entry, proven


def test_balance_check_warn_accepts_and_says_so() -> None:
    line = proven(check=BalanceCheck.WARN)
    ruling = line.tell(entry(12, 9000, 80000))
    assert (ruling.holds, ruling.warning, ruling.gaps) == (False, True, (Gap("m11", 60500),))
    assert ruling.entry.standing is ACCEPTED
    # The wallet goes on from the balance before: the accepted one is flagged.
    line.tell(entry(13, 200, 10700))
    assert line.standings()["m12"] is SUSPECT
    assert line.tell(entry(14, 200, 10700)).entry.standing is SUSPECT


def test_balance_check_off_accepts_everything_and_says_nothing() -> None:
    line = proven(check=BalanceCheck.OFF)
    ruling = line.tell(entry(12, 9000, 1))
    assert (ruling.holds, ruling.warning, ruling.gaps) == (False, False, ())
    assert ruling.entry.standing is ACCEPTED
    assert line.tell(entry(13, -1, None)).entry.standing is NOTED


def test_a_person_who_accepts_a_held_receipt_settles_those_behind_it() -> None:
    line = proven()
    line.tell(entry(13, 1000, 14500), entry(15, 100, 15000))
    ruling = decide(line.entries.values(), "m13", genuine=True)
    assert (ruling.why, ruling.entry.standing, ruling.entry.gap_minor) == (
        Why.PERSON,
        ACCEPTED,
        3000,
    )
    line.keep(ruling)
    assert line.tell(entry(14, 400, 14900)).why is Why.JOINS
    assert line.standings()["m15"] is ACCEPTED


def test_a_persons_word_ends_the_doubt_of_the_route_too() -> None:
    line = proven()
    line.tell(entry(13, 1000, 14500, doubted=True), entry(14, 100, 14600, doubted=True))
    assert (line.standings()["m13"], line.standings()["m14"]) == (HELD, HELD)
    ruling = decide(line.entries.values(), "m13", genuine=True)
    assert not ruling.entry.doubted
    assert [(change.after.key, change.released) for change in ruling.changes] == [("m14", True)]
    refused = decide(line.entries.values(), "m13", genuine=False)
    assert (refused.entry.doubted, refused.changes) == (True, ())


def test_a_person_who_rejects_a_held_receipt_takes_it_out_of_the_chain() -> None:
    line = proven()
    line.tell(entry(13, 1000, 14500))
    line.keep(decide(line.entries.values(), "m13", genuine=False))
    assert line.standings()["m13"] is FORGED
    assert line.tell(entry(14, 100, 14600)).holds


def test_a_receipt_held_for_half_an_hour_is_due_for_a_notice() -> None:
    line = proven()
    held = line.tell(entry(12, 9000, 80000)).entry
    entries = line.entries.values()
    assert overdue(entries, held.stored_at + HELD_US_MAX - 1) == []
    assert overdue(entries, held.stored_at + HELD_US_MAX) == [held]
