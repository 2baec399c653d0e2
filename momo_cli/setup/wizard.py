"""The steps of `momo setup` after the shop is created, up to a first payment, and their result.

Each step checks whether it is done, else applies the flags, else asks, once: a postponed step is recorded in
`state/setup.json` and shown with the command for it. If a step fails, the next one still runs.
"""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from momo_cli.errors import Failure
from momo_cli.setup import machine, phone, selling
from momo_cli.setup.step import Setup, outcome
from momo_cli.show.answer import Cell, Row
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import styled
from momo_cli.text import clean

STEPS: Final[Mapping[str, tuple[str, Callable[[Setup], Row]]]] = {
    "http": ("The address", machine.http),
    "service": ("Start with the machine", machine.service),
    "awake": ("Sleep", machine.keep_awake),
    "daemon": ("The daemon", machine.daemon),
    "modem": ("The phone", phone.modem),
    "number": ("The number", selling.number),
    "practice": ("A practice payment", selling.practice),
    "first_payment": ("A test payment of real money", phone.first_payment),
    "endpoint": ("Webhooks to your program", selling.endpoint),
    "backup": ("A second copy of backups", machine.backup),
}
"""Each step by its id; creating the shop is the first one, before these."""
TOTAL: Final = len(STEPS) + 1
_ASK_THE_DAEMON: Final = frozenset({"modem", "number", "practice", "first_payment", "endpoint"})
MARKS: Final = {
    "done": ("✓", "green"),
    "skipped": ("—", "dim"),
    "needs_action": ("!", "yellow"),
    "failed": ("✗", "red"),
}
_SECRETS: Final = {"api_key": "API key", "test_api_key": "test API key", "webhook_secret": "webhook secret"}  # fmt: skip


def run_steps(setup: Setup, results: list[Row]) -> None:
    """Run all steps; append the result of each, in the form of the document of `momo setup`."""
    for number, (name, (title, step)) in enumerate(STEPS.items(), 2):
        heads = (f"{number} of {TOTAL}", title)
        bold = [setup.terminal.style(text, "bold", message=True) for text in heads]
        setup.say(f"\n{'  '.join(bold)}")
        results.append({"id": name, **_done(setup, name, step)})
        tell_result(setup, results[-1])


def _done(setup: Setup, name: str, step: Callable[[Setup], Row]) -> Row:
    if name in _ASK_THE_DAEMON and not setup.client.alive():
        if setup.looks:
            detail = "Not known while the daemon does not run"
            return outcome("skipped", detail, "momo daemon start")
        # The step before has printed the reason and the next command.
        return outcome("skipped", "Not done, because the daemon does not run")
    try:
        return step(setup)
    except Failure as failure:
        fix = failure.next[0] if failure.next else "momo setup"
        return outcome("failed", failure.message or failure.code, fix)


def tell_result(setup: Setup, result: Row) -> None:
    """Show the result of a step, and the command to type if it is not done."""
    mark, style = MARKS.get(str(result["status"]), ("?", ""))
    said = setup.terminal.style(mark, style, message=True)
    detail = clean(result.get("detail") or result["id"])
    room = max(min(setup.terminal.width, 100) - 4, 20)
    setup.say(f"  {said} " + "\n    ".join(textwrap.wrap(detail, room)))
    if result.get("fix"):
        setup.say(f"      {clean(result['fix'])}")


def parts_of(body: Row) -> tuple[dict[str, Any], list[Row]]:
    """Return the data and the steps of the document of `momo setup`."""
    data: dict[str, Any] = dict(body.get("data") or {})
    return data, data.get("steps") or []


def setup_lines(terminal: Terminal, data: dict[str, Any], steps: Sequence[Row]) -> list[str]:
    """Return a line for each step, with the command to type if it is not done; then the secrets."""
    found = []
    for step in steps:
        mark = styled(Cell(*MARKS.get(str(step.get("status")), ("?", ""))), terminal)
        found.append(f"{mark} {clean(step.get('detail') or step.get('id'))}")
        if step.get("fix"):
            found.append(f"    {clean(step['fix'])}")
    return [*found, *secret_lines(terminal, data)]


def setup_rows(data: dict[str, Any], steps: Sequence[Row]) -> list[Row]:
    """Return the steps, and then the secrets, so that a script that does not read JSON gets them too."""
    made = [{"id": name, "status": "done", "detail": data.get(name)} for name in _SECRETS]
    return [*steps, *(row for row in made if row["detail"])]


def secret_lines(terminal: Terminal, data: dict[str, Any]) -> list[str]:
    """Return the lines of the keys and the secret that are shown only once."""
    shown = [
        f"  {title:<15} {terminal.style(clean(data[name]), 'bold')}"
        for name, title in _SECRETS.items()
        if data.get(name)
    ]
    return ["", "Shown only once; keep them somewhere safe:", *shown] if shown else []
