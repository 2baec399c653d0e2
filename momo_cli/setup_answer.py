"""How `momo setup` shows what came of its steps, and the keys and the secret that are shown once."""

from collections.abc import Sequence
from typing import Any, Final

from momo_cli.answer import Cell, Row
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.wizard import MARKS
from momo_cli.words import styled

_SECRETS: Final = {"api_key": "API key", "test_api_key": "test API key", "webhook_secret": "webhook secret"}  # fmt: skip


def lines(terminal: Terminal, data: dict[str, Any], steps: Sequence[Row]) -> list[str]:
    """Return each step, and what to type where one is not done; then what is shown this once."""
    found = []
    for step in steps:
        mark = styled(Cell(*MARKS.get(str(step.get("status")), ("?", ""))), terminal)
        found.append(f"{mark} {clean(step.get('detail') or step.get('id'))}")
        if step.get("fix"):
            found.append(f"    {clean(step['fix'])}")
    return [*found, *secrets(terminal, data)]


def rows(data: dict[str, Any], steps: Sequence[Row]) -> list[Row]:
    """Return the steps, and below them what is shown this once: a script that reads no JSON must get it too."""
    made = [{"id": name, "status": "done", "detail": data.get(name)} for name in _SECRETS]
    return [*steps, *(row for row in made if row["detail"])]


def secrets(terminal: Terminal, data: dict[str, Any]) -> list[str]:
    """Return what is shown this once."""
    shown = [
        f"  {title:<15} {terminal.style(clean(data[name]), 'bold')}"
        for name, title in _SECRETS.items()
        if data.get(name)
    ]
    return ["", "Shown this once; keep them somewhere safe:", *shown] if shown else []
