"""The JSON Schemas of the commands are up to date and complete, and the output of the commands fits them."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs

from tests.cli import samples
from tests.fakes.each import each
from tests.house.doc_schemas import SHARED, schemas

FOLDER = Path(__file__).parents[2] / "docs" / "developers" / "schema"
MADE = schemas()


def test_they_are_up_to_date() -> None:
    there = {path.name: path.read_text() for path in FOLDER.glob("*.json")}
    assert there == MADE, "run: make docs"


def whole(name: str) -> dict[str, Any]:
    """Return a schema with its shared definitions included."""
    inside = MADE[name].replace(f"{SHARED}#", "#")
    made: dict[str, Any] = json.loads(inside)
    return {**made, "$defs": json.loads(MADE[SHARED])["$defs"]}


@each("name", sorted(set(MADE) - {SHARED}))
def test_each_is_a_schema_and_refers_to_what_is_there(name: str) -> None:
    validator = jsonschema_rs.Draft202012Validator(whole(name))
    assert not validator.is_valid({"success": False})


def test_what_is_printed_fits_and_what_is_not_does_not() -> None:
    validator = jsonschema_rs.Draft202012Validator(whole("keys-rotate.json"))
    validator.validate(samples.ROTATED)
    assert not validator.is_valid({**samples.ROTATED, "previous": None})
