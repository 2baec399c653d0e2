"""The fair queue: whoever was served last is served again last."""

from daemon.core.webhooks.delivery import SERVED_MAX, QueueKey, mark_served


def test_whoever_had_a_place_last_has_the_highest_number_and_the_oldest_is_forgotten() -> None:
    served: dict[QueueKey, int] = {}
    for name in ("a", "b", "a"):
        mark_served(served, (name, False))
    assert served[("a", False)] > served[("b", False)]
    for number in range(SERVED_MAX - 1):
        mark_served(served, (f"e{number}", False))
    assert len(served) == SERVED_MAX
    assert ("b", False) not in served
    assert list(served.values()) == sorted(served.values())
