"""What an answer of the API says is wrong with what was asked."""

import httpx


def wrong(answer: httpx.Response) -> list[tuple[str, str]]:
    """Return (field, code) of each field that a VALIDATION_ERROR names."""
    assert answer.status_code == 422, answer.text
    return [(each["field"], each["code"]) for each in answer.json()["details"]]


def wrong_fields(answer: httpx.Response) -> list[str]:
    """Return the fields that a VALIDATION_ERROR names."""
    return [field for field, _ in wrong(answer)]
