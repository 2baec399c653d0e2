"""The rest of `momo setup`: from a shop on the disk to a first payment, one step after the other.

Each step looks whether it is done, does what the flags say, and else asks, once: what a person put off is remembered
in `state/setup.json` and named with what to type. A step that fails is told and the next one goes on.
"""

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from momo_cli import setup_machine, setup_number, setup_phone, setup_selling
from momo_cli.answer import Row
from momo_cli.errors import Failure
from momo_cli.setup_step import Setup, row
from momo_cli.text import clean

STEPS: Final[Mapping[str, tuple[str, Callable[[Setup], Row]]]] = {
    "http": ("The address", setup_machine.http),
    "service": ("Start with the machine", setup_machine.service),
    "awake": ("Sleep", setup_machine.awake),
    "daemon": ("The daemon", setup_machine.daemon),
    "modem": ("The phone", setup_phone.modem),
    "number": ("The number", setup_number.number),
    "practice": ("A practice payment", setup_selling.practice),
    "first_payment": ("A first real payment", setup_phone.first_payment),
    "endpoint": ("Your own program", setup_selling.endpoint),
    "backup": ("A second place for backups", setup_machine.backup),
}
"""Each step by its id; the shop itself is the first one, before these."""
TOTAL: Final = len(STEPS) + 1
_ASK_THE_DAEMON: Final = frozenset({"modem", "number", "first_payment", "endpoint"})
MARKS: Final = {
    "done": ("✓", "green"),
    "skipped": ("—", "dim"),
    "needs_action": ("!", "yellow"),
    "failed": ("✗", "red"),
}


@dataclass(slots=True)
class Wizard:
    """One run. `steps` holds what came of each, as the document of `momo setup` lists them."""

    setup: Setup
    steps: list[Row] = field(default_factory=list)

    def run(self) -> None:
        """Go through all steps."""
        for number, (name, (title, step)) in enumerate(STEPS.items(), 2):
            self.setup.say(f"\n{self._bold(f'{number} of {TOTAL}')}  {self._bold(title)}")
            self.steps.append(self._done(name, step))
            self.tell(self.steps[-1])

    def _done(self, name: str, step: Callable[[Setup], Row]) -> Row:
        if self.setup.looks and name in _ASK_THE_DAEMON and not self.setup.client.alive():
            detail = "Not known while the daemon does not run"
            return row(name, "skipped", detail, "momo daemon start")
        try:
            return step(self.setup)
        except Failure as failure:
            fix = failure.next[0] if failure.next else "momo setup"
            return row(name, "failed", failure.message or failure.code, fix)

    def tell(self, told: Row) -> None:
        """Show what came of a step, and what to type when it is not done."""
        mark, style = MARKS.get(str(told["status"]), ("?", ""))
        said = self.setup.terminal.style(mark, style, message=True)
        detail = clean(told.get("detail") or told["id"])
        room = max(min(self.setup.terminal.width, 100) - 4, 20)
        self.setup.say(f"  {said} " + "\n    ".join(textwrap.wrap(detail, room)))
        if told.get("fix"):
            self.setup.say(f"      {clean(told['fix'])}")

    def _bold(self, text: str) -> str:
        return self.setup.terminal.style(text, "bold", message=True)
