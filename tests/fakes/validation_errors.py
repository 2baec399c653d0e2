"""The fields that an API error of kind VALIDATION_ERROR names."""

import httpx


def wrong(answer: httpx.Response) -> list[tuple[str, str]]:
    """Return (field, code) of each named field."""
    assert answer.status_code == 422, answer.text
    return [(each["field"], each["code"]) for each in answer.json()["details"]]


def wrong_fields(answer: httpx.Response) -> list[str]:
    """Return the named fields."""
    return [field for field, _ in wrong(answer)]
