"""What `momo setup` need not ask or do again: `state/setup.json` names what a person put off, and what was tried."""

import json
import os
from typing import Final

_NAME: Final = "setup.json"


def put_off(state: str) -> dict[str, str]:
    """Return what need not come again, by name; a file that cannot be read holds none."""
    try:
        with open(f"{state}/{_NAME}", encoding="utf-8") as file:  # noqa: PTH123  # no pathlib here
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(state: str, name: str, *, later: bool) -> None:
    """Note that something need not come again, or that it may."""
    kept = {**put_off(state), name: "later"}
    if not later:
        kept.pop(name)
    os.makedirs(state, mode=0o700, exist_ok=True)  # noqa: PTH103  # no pathlib here
    with open(f"{state}/{_NAME}", "w", encoding="utf-8") as file:  # noqa: PTH123 -- pathlib is not needed here
        json.dump(kept, file)
