"""What the owner is told of a receiver that fails, in his words: what it answered last, and what he can do. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from daemon.core.diagnosis import explain

Facts = Mapping[str, Any]

URL_CHARACTERS_MAX: Final = 80
"""So that one line has room for what happened at it."""


def failing(facts: Facts) -> str:
    """Say how often it failed in a row, why, and what comes of it."""
    then = "After 20 it is paused."
    if facts.get("implicit"):
        then = (
            "It is the address of orders and is never paused: each webhook is tried for three days."
        )
    count = facts.get("consecutive_failures")
    return f"{count} deliveries in a row failed at {_where(facts)}.{_last(facts)} {then}"


def paused(facts: Facts) -> str:
    """Say that nothing is sent to it any more."""
    count = facts.get("consecutive_failures", 20)
    return (
        f"{_where(facts)} was paused after {count} failures in a row.{_last(facts)} What it is owed waits and nothing is "
        "lost."
    )


def resumed(facts: Facts) -> str:
    """Say that a pause is over."""
    return f"{_where(facts)} was resumed: what it is owed goes out."


def deleted(facts: Facts) -> str:
    """Say that there is nothing to mend any more."""
    return f"{_where(facts)} was deleted."


def recovered(facts: Facts) -> str:
    """Say that it is well again."""
    return f"{_where(facts)} answers again."


def blocked(facts: Facts) -> str:
    """Say that its address may not be called."""
    why = facts.get("why") or "its address is not public"
    return f"Nothing may be sent to {_where(facts)}: {why}. It is tried again, and what it is owed waits."


def unblocked(facts: Facts) -> str:
    """Say that its address may be called again."""
    return f"{_where(facts)} may be called again: what it is owed goes out."


def not_called(facts: Facts) -> str:
    """Say that the address it had is not called any more, by its owner's will."""
    return f"{_where(facts)} was changed or paused."


def given_up(facts: Facts) -> str:
    """Say that a webhook is a dead letter."""
    return f"A webhook to {_where(facts)} was given up: it is a dead letter now.{_last(facts)}"


def _where(facts: Facts) -> str:
    """Return the address without its query, which may hold a key: a notice goes by e-mail and SMS."""
    url = str(facts.get("url", "an endpoint")).partition("?")[0]
    return url if len(url) <= URL_CHARACTERS_MAX else f"{url[: URL_CHARACTERS_MAX - 3]}..."


def _last(facts: Facts) -> str:
    """Return how it failed last, as a sentence with the space before it; nothing when that is not known."""
    error_code, status_code = facts.get("last_error_code"), facts.get("last_status_code")
    if error_code is None:
        return ""
    means, mend = explain(status_code, error_code)
    if status_code is None:
        return f" The last time, {means}. {mend}."
    return f" Its last answer was {status_code}: {means}. {mend}."
