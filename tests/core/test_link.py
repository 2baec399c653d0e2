"""What attempts say about our own link."""

from daemon.core.delivery import Link
from daemon.core.link import LinkWatch


def test_with_no_other_host_known_nothing_can_be_told() -> None:
    watch = LinkWatch()
    assert watch.unreachable("a", 100.0) == Link(other_host_answered=False, other_host_known=False)
    assert watch.down


def test_another_host_that_answered_within_a_minute_speaks_for_our_link() -> None:
    watch = LinkWatch()
    watch.answered("b", 40.0)
    assert watch.unreachable("a", 100.0) == Link(other_host_answered=True, other_host_known=True)
    assert not watch.down
    assert watch.unreachable("a", 100.1) == Link(other_host_answered=False, other_host_known=True)
    assert watch.down


def test_a_host_does_not_speak_for_itself() -> None:
    watch = LinkWatch(["b"])
    watch.answered("a", 99.0)
    assert watch.unreachable("a", 100.0) == Link(other_host_answered=False, other_host_known=True)


def test_a_host_that_is_silent_now_speaks_for_nobody() -> None:
    watch = LinkWatch()
    watch.answered("b", 99.0)
    watch.silent("b")
    assert watch.unreachable("a", 100.0) == Link(other_host_answered=False, other_host_known=True)


def test_only_hosts_that_failed_are_held_and_only_while_the_link_is_down() -> None:
    watch = LinkWatch(["a", "b", "c"])
    assert watch.held() == frozenset()
    watch.unreachable("a", 100.0)
    assert watch.held() == {"a"}
    watch.unreachable("b", 101.0)
    assert watch.held() == {"a", "b"}
    assert watch.to_knock() == ["a", "b"]
    watch.knocked("a", 102.0)
    assert watch.to_knock() == ["b", "a"]
    assert watch.answered("c", 103.0)
    assert watch.held() == frozenset()
    assert not watch.down
    assert not watch.answered("c", 104.0)


def test_witnesses_are_asked_again_when_their_word_is_older_than_the_attempt() -> None:
    watch = LinkWatch()
    for host, at in (("a", 95.0), ("b", 80.0), ("c", 90.0), ("old", 30.0)):
        watch.answered(host, at)
    assert watch.witnesses("a", 99.0, 100.0) == ["c", "b"]
    assert watch.witnesses("a", 90.0, 100.0) == []
