"""What every step of `momo setup` works with: the daemon, the person, the flags, and what was put off before."""

from dataclasses import dataclass, field
from typing import Any

from momo_cli.answer import Row
from momo_cli.client import Client
from momo_cli.process import ask
from momo_cli.setup_memory import put_off, remember
from momo_cli.setup_wishes import Wishes
from momo_cli.terminal import Terminal
from momo_cli.values import raw


@dataclass(slots=True)
class Setup:
    """One run.

    Attributes:
        asks: There is a person to ask.
        looks: Nothing is changed: what was wished for and is not so needs somebody (`--check`).
        restart: A setting was changed under a daemon that runs.
    """

    client: Client
    terminal: Terminal
    wishes: Wishes
    asks: bool
    looks: bool = False
    restart: bool = False
    _settings: dict[str, Any] = field(default_factory=dict)

    def may_ask(self, name: str) -> bool:
        """Say whether a question may be asked: there is a person, who has not put it off before."""
        return self.asks and not self.noted(name)

    def noted(self, name: str) -> bool:
        """Say whether something was put off, or done once and for all."""
        return not self.wishes.again and name in put_off(self._state)

    def note(self, name: str, *, later: bool) -> None:
        """Remember that a question is not to be asked again, or that it is."""
        remember(self._state, name, later=later)

    def ask(self, question: str, flag: str) -> str:
        """Ask; without a terminal, name the flag that says it (exit 2)."""
        return self.terminal.ask(f"  {question}", flag)

    def agreed(self, question: str, flag: str) -> bool:
        """Ask for a yes; anything else is a no."""
        return self.ask(f"{question} [y/N] ", flag).lower() in ("y", "yes")

    def say(self, text: str) -> None:
        """Say something to the person, if there is one."""
        if self.asks:
            self.terminal.note(text)

    def warn(self, text: str) -> None:
        """The same, for what went wrong."""
        self.say(f"  {self.terminal.style('!', 'yellow', message=True)} {text}")

    def get(self, key: str) -> str:
        """Return a setting as it is for the daemon's next start; a list as JSON."""
        if not self._settings:
            rows = ask(self.terminal, "config", "--json", "show").body["data"]
            self._settings = {row["key"]: row["value"] for row in rows}
        return raw(self._settings[key])

    def set(self, key: str, value: str, *, live: bool = True) -> str:
        """Set a setting, unless it is so already; return it. `live` says that a daemon that runs has the old one."""
        if self.get(key) != value:
            ask(self.terminal, "config", "--json", "set", "--", key, value)
            self._settings[key] = value
            self.restart |= live and self.client.alive()
        return value

    @property
    def _state(self) -> str:
        return self.terminal.located.places.state


def row(name: str, status: str, detail: str, fix: str | None = None) -> Row:
    """Return what came of a step, as the document of `momo setup` has it."""
    return {"id": name, "status": status, "detail": detail, "fix": fix}
