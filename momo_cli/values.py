"""The values of a row, and JSON, as programs get them."""

import json
from collections.abc import Sequence

from momo_cli.answer import Field, Row
from momo_cli.text import at


def dumps(value: object) -> str:
    """Return compact JSON with keys in the order in which they stand."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def with_status(body: Row, status: str) -> str:
    """Return an answer of the API with the word of a verb that brings about a state: `paused`, `already_paused` (cli.md 1.3)."""
    return dumps({**body, "data": {**body["data"], "status": status}})


def values_of(fields: Sequence[Field], row: Row) -> list[object]:
    """Return the values of these fields."""
    return [at(row, field.path or field.name) for field in fields]


def raw(value: object) -> str:
    """Return a value without quotes; empty for null, JSON for what has members."""
    if value is None:
        return ""
    return value if isinstance(value, str) else dumps(value)
