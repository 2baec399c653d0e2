"""Detect an outage of our own connection from the results of attempts."""

from daemon.core.webhooks.connectivity import ConnectivityState
from daemon.core.webhooks.delivery import LinkState


def test_with_no_other_host_known_nothing_can_be_told() -> None:
    watch = ConnectivityState()
    assert watch.unreachable("a", 100.0) == LinkState(other_host_answered=False, other_host_known=False)
    assert watch.down


def test_another_host_that_answered_within_a_minute_speaks_for_our_link() -> None:
    watch = ConnectivityState()
    watch.answered("b", 40.0)
    assert watch.unreachable("a", 100.0) == LinkState(other_host_answered=True, other_host_known=True)
    assert not watch.down
    assert watch.unreachable("a", 100.1) == LinkState(other_host_answered=False, other_host_known=True)
    assert watch.down


def test_a_host_does_not_speak_for_itself() -> None:
    watch = ConnectivityState(["b"])
    watch.answered("a", 99.0)
    assert watch.unreachable("a", 100.0) == LinkState(other_host_answered=False, other_host_known=True)


def test_a_host_that_is_silent_now_speaks_for_nobody() -> None:
    watch = ConnectivityState()
    watch.answered("b", 99.0)
    watch.silent("b")
    assert watch.unreachable("a", 100.0) == LinkState(other_host_answered=False, other_host_known=True)


def test_only_hosts_that_failed_are_held_and_only_while_the_link_is_down() -> None:
    watch = ConnectivityState()
    for host in ("a", "b", "c"):
        watch.know(host)
    assert watch.held() == frozenset()
    watch.unreachable("a", 100.0)
    assert watch.held() == {"a"}
    watch.unreachable("b", 101.0)
    assert watch.held() == {"a", "b"}
    # The least recently checked host first, so that a host that is gone does not hide a working one.
    assert watch.hosts_to_check() == ["c", "a", "b"]
    watch.check_failed("a", 102.0)
    watch.check_failed("c", 102.5)
    assert watch.hosts_to_check() == ["b", "a", "c"]
    assert watch.answered("c", 103.0)
    assert watch.held() == frozenset()
    assert not watch.down
    assert not watch.answered("c", 104.0)


def test_witnesses_are_asked_again_when_their_word_is_older_than_the_attempt() -> None:
    watch = ConnectivityState()
    for host, at in (("a", 95.0), ("b", 80.0), ("c", 90.0), ("old", 30.0)):
        watch.know(host)
        watch.answered(host, at)
    assert watch.witnesses("a", 99.0, 100.0) == ["c", "b", "old"]
    assert watch.witnesses("a", 90.0, 100.0) == []


def test_who_never_spoke_is_asked_too_and_only_a_few_are() -> None:
    watch = ConnectivityState(["probe"])
    for host in ("a", "b", "c", "d", "e", "f"):
        watch.know(host)
    watch.check_failed("b", 50.0)
    watch.answered("d", 60.0)
    assert watch.witnesses("a", 99.0, 100.0) == ["d", "c", "e", "f"]


def test_the_only_host_is_not_held_back_but_knocked_at() -> None:
    watch = ConnectivityState()
    watch.unreachable("a", 100.0)
    assert (watch.down, watch.held(), watch.hosts_to_check()) == (True, frozenset(), ["a"])
    assert watch.answered("a", 110.0)


def test_with_a_probe_host_the_only_receiver_is_held_back() -> None:
    watch = ConnectivityState(["probe"])
    watch.unreachable("a", 100.0)
    assert watch.held() == {"a"}
    assert watch.hosts_to_check() == ["a"]


def test_an_outage_before_a_restart_ends_with_the_first_answer() -> None:
    watch = ConnectivityState()
    watch.was_down()
    assert watch.answered("a", 100.0)
