"""The context of the steps of `momo setup`, and the steps that were postponed or done (`state/setup.json`)."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from momo_cli import system
from momo_cli.errors import Failure
from momo_cli.service.daemon_program import run_verb
from momo_cli.setup.answer_file import SetupAnswers
from momo_cli.show.answer import Row, raw
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client
from momo_cli.text import at, clean

_NAME: Final = "setup.json"


def postponed_steps(state: str) -> dict[str, str]:
    """Return the recorded steps by name; empty if the file cannot be read."""
    try:
        with open(f"{state}/{_NAME}", encoding="utf-8") as file:  # noqa: PTH123  # no pathlib here
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def record_step(state: str, name: str, *, later: bool) -> None:
    """Record that a step need not be repeated, or with `later=False` remove the record."""
    kept = {**postponed_steps(state), name: "later"}
    if not later:
        kept.pop(name)
    system.make_own_folder(state)
    with open(f"{state}/{_NAME}", "w", encoding="utf-8") as file:  # noqa: PTH123 -- pathlib is not needed here
        json.dump(kept, file)


@dataclass(slots=True)
class Setup:
    """One run.

    Attributes:
        asks: Questions may be asked on the terminal.
        looks: Only check, change nothing; a difference from the answers is `needs_action` (`--check`).
        restart: A setting was changed while the daemon was running.
        service_failed: The service was written in this run, but the service manager did not take it.
        port_taken: The daemon cannot start, because another program uses the port of `http.bind`.
    """

    client: Client
    terminal: Terminal
    answers: SetupAnswers
    asks: bool
    looks: bool = False
    restart: bool = False
    port_taken: bool = False
    service_failed: bool = False
    _settings: dict[str, Any] = field(default_factory=dict)

    def may_ask(self, name: str) -> bool:
        """Return whether a question may be asked: there is a terminal, and the step was not postponed before."""
        return self.asks and not self.noted(name)

    def noted(self, name: str) -> bool:
        """Return whether a step was postponed, or done for good."""
        return not self.answers.again and name in postponed_steps(self._state)

    def note(self, name: str, *, later: bool) -> None:
        """Record that a question is not to be asked again, or that it is."""
        record_step(self._state, name, later=later)

    def ask(self, question: str, flag: str) -> str:
        """Ask a question; without a terminal, fail and name the flag (exit 2)."""
        return self.terminal.ask(f"  {question}", flag)

    def agreed(self, question: str, flag: str) -> bool:
        """Ask a yes/no question; Enter is a no."""
        return self.terminal.yes_or_no(f"  {question}", flag, default=False)

    def declined(self, question: str, flag: str) -> bool:
        """Ask a yes/no question and return whether the answer is no; Enter is a yes."""
        return not self.terminal.yes_or_no(f"  {question}", flag, default=True)

    def say(self, text: str) -> None:
        """Write a line, if there is a person to read it."""
        if self.asks:
            self.terminal.note(text)

    def warn(self, text: str) -> None:
        """Write a line about a problem, if there is a person to read it."""
        self.say(f"  {self.terminal.style('!', 'yellow', message=True)} {text}")

    def warn_of(self, failure: Failure) -> None:
        """Warn of a refusal, by its first wrong field if it names one."""
        details = at(failure.body, "error.details.0.message")
        self.warn(clean(details or failure.message))

    def get(self, key: str) -> str:
        """Return a setting from the settings file; a list as JSON."""
        if not self._settings:
            rows = run_verb(self.terminal, "config", "--json", "show").data
            self._settings = {row["key"]: row["value"] for row in rows}
        return raw(self._settings[key])

    def set(self, key: str, value: str, *, live: bool = True) -> str:
        """Set a setting unless it has that value; return it. With `live`, a running daemon then needs a restart."""
        if self.get(key) != value:
            run_verb(self.terminal, "config", "--json", "set", "--", key, value)
            self._settings[key] = value
            self.restart |= live and self.client.alive()
        return value

    @property
    def _state(self) -> str:
        return self.terminal.located.places.state


def outcome(status: str, detail: str, fix: str | None = None) -> Row:
    """Return the result of a step, in the form of the document of `momo setup`."""
    return {"status": status, "detail": detail, "fix": fix}
