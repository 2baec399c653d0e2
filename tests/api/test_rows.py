"""One test for each row of the interface's tables of fields: it is there, of its type, within its limits.

What an answer's shape says is held to every answer that a test of this folder gets (`tests/fakes/openapi_check.py`); what a
request's schema says is made by the code that reads it.
"""

import re
from typing import Any

import pytest

from daemon.api import routes  # noqa: F401 -- it brings every operation's description
from daemon.api.http.idempotency import FIELD
from daemon.api.openapi import response_schemas
from daemon.api.openapi.describe import DESCRIPTIONS
from daemon.api.openapi.recorder import body_of, query_of
from tests.fakes.api_rows import FieldRow, field_rows

ROWS = field_rows()
_DECIMAL = response_schemas.AMOUNT["pattern"]


def schema_of(row: FieldRow) -> dict[str, Any]:
    if row.place in response_schemas.SHAPES:
        return response_schemas.SHAPES[row.place]
    about = next(each for each in DESCRIPTIONS.values() if each.id == row.place)
    if about.reads is None:
        assert about.query is not None
        return query_of(about.query)
    found = body_of(about.reads)
    if about.key_field:
        found["properties"][FIELD] = {"type": ["string", "null"]}
    return found


def inside(schema: dict[str, Any], name: str) -> tuple[dict[str, Any], bool]:
    """Return a member's schema, and whether it must be there."""
    required = False
    for part in name.split("."):
        word = part.removesuffix("[]")
        required = word in schema.get("required", ())
        schema = schema["properties"][word]
        if part.endswith("[]"):
            schema = schema["items"]
    return schema, required


def kinds(schema: dict[str, Any]) -> set[str]:
    found = schema["type"]
    return {found} if isinstance(found, str) else set(found)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_field_is_there_of_its_type_and_within_its_limits(row: FieldRow) -> None:
    schema, required = inside(schema_of(row), row.name)
    plain = {"uuid": "string", "time": "string", "decimal": "string"}.get(row.kind, row.kind)
    assert plain in kinds(schema)
    if row.kind == "uuid":
        assert schema["format"] == "uuid"
    if row.kind == "time":
        assert schema["format"] == "date-time"
    if row.kind == "decimal":
        assert schema["pattern"] == _DECIMAL
    if row.nullable:
        assert "null" in kinds(schema)
    if row.place in response_schemas.SHAPES:
        assert required, "an answer always has all of its fields"
    else:
        assert required is row.required
    for limit, value in row.limits.items():
        assert schema[limit] == value


def test_every_row_has_a_name_of_its_own() -> None:
    names = [row.id for row in ROWS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Z][\w, ]+: [\w.\[\]]+", name) for name in names)
