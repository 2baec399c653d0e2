"""The JSON Schemas in docs/developers/schema, one per command: the output of `momo COMMAND --json` on success.

A command prints the API's body unchanged, so its schema is that of the operation which it calls (listed in the matrix
of `tests/cli/cases.py`). Shared parts are in `shared.json`. Operations of the Unix socket alone are not described, and
have no schema.
"""

import json
import re
from typing import Any, Final

from daemon.api.openapi.document import document
from daemon.api.routes import OPERATIONS
from tests.cli.cases import CASES

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
SHARED: Final = "shared.json"
ANY_CALL: Final = "api"
"""Calls any operation, so it has no schema of its own."""
_PART: Final = "#/components/schemas/"


def schemas() -> dict[str, str]:
    """Return the files: name -> text."""
    made = document(OPERATIONS, "")
    shared = _moved(made["components"]["schemas"], "#/$defs/")
    found = {SHARED: {"$schema": DIALECT, "$defs": shared}}
    for name, case in CASES.items():
        answer = _answer(made["paths"], *case.call)
        if answer is not None and name != ANY_CALL:
            found[f"{name.replace(' ', '-')}.json"] = {
                "$schema": DIALECT,
                "title": f"momo {name} --json",
                **_with_states(_moved(answer, f"{SHARED}#/$defs/"), case.states),
            }
    return {name: json.dumps(schema, indent=1) + "\n" for name, schema in found.items()}


def _answer(paths: dict[str, Any], method: str, path: str) -> dict[str, Any] | None:
    """Return the schema of an operation's success answer, or None."""
    for template, operations in paths.items():
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
        operation = operations.get(method.lower())
        if operation is None or re.fullmatch(pattern, path) is None:
            continue
        good = next(said for status, said in operation["responses"].items() if status[0] == "2")
        schema: dict[str, Any] | None = good.get("content", {}).get("application/json", {}).get("schema")
        return schema
    return None


def _with_states(schema: Any, states: tuple[str, ...]) -> Any:
    """Return the schema of an answer, with the command's status word in its `data`."""
    if not states:
        return schema
    word = {"type": "string", "enum": list(states), "examples": [states[0]]}
    added = {"type": "object", "properties": {"status": word}, "required": ["status"]}
    properties = schema["properties"]
    return {**schema, "properties": {**properties, "data": {"allOf": [properties["data"], added]}}}


def _moved(value: Any, place: str) -> Any:
    """Return a schema with its references changed to the location of the shared parts."""
    if isinstance(value, dict):
        return {key: one.replace(_PART, place) if key == "$ref" else _moved(one, place) for key, one in value.items()}
    return [_moved(one, place) for one in value] if isinstance(value, list) else value
