"""Present faults: one for each cause, with notices after a minute, after hours, and at the end."""

from daemon.core.limits import MINUTE_US
from daemon.core.upkeep.faults import NOTICE_AGAIN_US, Faults, as_notice, fault_json
from daemon.core.upkeep.notice_rules import notice
from daemon.wire import FaultCause

NOW = 1_795_248_000_000_000
FULL = {FaultCause.DISK_FULL: ("The disk is full.", "momo backup prune")}


def test_a_fault_begins_once_and_ends_once() -> None:
    faults = Faults()
    began, ended = faults.see(FULL, "id-1", NOW)
    assert ([one.id for one in began], ended) == (["id-1"], [])
    assert faults.see(FULL, "id-2", NOW + 1) == ([], [])
    assert [one.since for one in faults.all()] == [NOW]
    began, ended = faults.see({}, "id-3", NOW + 2)
    assert (began, [one.id for one in ended]) == ([], ["id-1"])
    assert faults.all() == []


def test_a_short_fault_is_not_told_and_a_long_one_is_told_again_after_hours() -> None:
    faults = Faults()
    faults.see(FULL, "id-1", NOW)
    assert faults.due(NOW + MINUTE_US - 1) == []
    assert len(faults.due(NOW + MINUTE_US)) == 1
    assert faults.due(NOW + 2 * MINUTE_US) == []
    assert len(faults.due(NOW + MINUTE_US + NOTICE_AGAIN_US)) == 1


def test_a_clock_that_is_set_back_does_not_silence_a_fault() -> None:
    faults = Faults()
    faults.see(FULL, "id-1", NOW)
    assert len(faults.due(NOW + MINUTE_US)) == 1
    assert len(faults.due(NOW - NOTICE_AGAIN_US)) == 1


def test_a_fault_is_shown_in_the_status_and_as_an_urgent_notice() -> None:
    faults = Faults()
    faults.see(FULL, "id-1", NOW)
    (fault,) = faults.all()
    shown, told = fault_json(fault), notice(as_notice(fault))
    assert (shown["cause"], shown["next"]) == ("disk_full", "momo backup prune")
    assert (told["id"], told["kind"], told["urgent"]) == ("id-1", "fault.disk_full", True)
    assert told["text"] == shown["text"] == "The disk is full."
