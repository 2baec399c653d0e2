"""Which questions of `momo setup` a person put off: `state/setup.json`, so that none is asked twice."""

import json
import os
from typing import Final

_NAME: Final = "setup.json"


def put_off(state: str) -> dict[str, str]:
    """Return the questions that were put off, by name; a file that cannot be read holds none."""
    try:
        with open(f"{state}/{_NAME}", encoding="utf-8") as file:  # noqa: PTH123  # no pathlib here
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(state: str, name: str, *, later: bool) -> None:
    """Note that a question was put off, or that it is answered now."""
    kept = {**put_off(state), name: "later"}
    if not later:
        kept.pop(name)
    os.makedirs(state, mode=0o700, exist_ok=True)  # noqa: PTH103  # no pathlib here
    with open(f"{state}/{_NAME}", "w", encoding="utf-8") as file:  # noqa: PTH123 -- pathlib is not needed here
        json.dump(kept, file)
