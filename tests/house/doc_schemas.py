"""The JSON Schemas in docs/schema, one a command: what `momo COMMAND --json` prints when all is well.

A command prints the API's body unchanged, so its schema is that of the operation which it calls (the matrix of
`tests/cli/cases.py` knows which). Parts that several share stand in `shared.json`. What only the Unix socket offers is not
described, and has none.
"""

import json
import re
from typing import Any, Final

from daemon.api.app import served
from daemon.api.openapi import document
from tests.cli.cases import CASES

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
SHARED: Final = "shared.json"
ANY_CALL: Final = "api"
"""Makes any call, so it has no schema of its own."""
_PART: Final = "#/components/schemas/"


def schemas() -> dict[str, str]:
    """Return the files: name -> text."""
    nobody: Any = None
    made = document(served(nobody, nobody).operations, "")
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
    """Return the schema of an operation's good answer; None where there is none."""
    for template, operations in paths.items():
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
        operation = operations.get(method.lower())
        if operation is None or re.fullmatch(pattern, path) is None:
            continue
        good = next(said for status, said in operation["responses"].items() if status[0] == "2")
        schema: dict[str, Any] | None = (
            good.get("content", {}).get("application/json", {}).get("schema")
        )
        return schema
    return None


def _with_states(schema: Any, states: tuple[str, ...]) -> Any:
    """Return the schema of an answer to whose `data` a command adds the word of a state."""
    if not states:
        return schema
    word = {"type": "string", "enum": list(states), "examples": [states[0]]}
    added = {"type": "object", "properties": {"status": word}, "required": ["status"]}
    properties = schema["properties"]
    return {
        **schema,
        "properties": {**properties, "data": {"allOf": [properties["data"], added]}},
    }


def _moved(value: Any, place: str) -> Any:
    """Return a schema whose references point to where the shared parts stand now."""
    if isinstance(value, dict):
        return {
            key: one.replace(_PART, place) if key == "$ref" else _moved(one, place)
            for key, one in value.items()
        }
    return [_moved(one, place) for one in value] if isinstance(value, list) else value
