"""One command of an AT session and how it ended."""

from dataclasses import dataclass
from typing import Final

from daemon.modem import at


@dataclass(frozen=True, slots=True)
class Ask:
    """One command.

    Attributes:
        text: Without its line end.
        prefix: How lines of its answer begin; empty takes every line that is no known notice.
        timeout_s: None is as long as the settings say.
        needed: The start cannot go on without its answer.
        last: How the last line of its answer begins, for a make that ends it without OK.
    """

    text: str
    prefix: str = ""
    timeout_s: float | None = None
    needed: bool = False
    last: str = ""

    @property
    def name(self) -> str:
        """Return the command without its arguments."""
        return self.text.partition("=")[0]


@dataclass(frozen=True, slots=True)
class Answer:
    """The lines of an answer and how it ended; neither carried out nor an error is no answer."""

    ok: bool
    error: at.Error | None = None
    lines: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """Return the first line, empty when there is none."""
        return self.lines[0] if self.lines else ""

    @property
    def code(self) -> int | None:
        """Return the number of the error, if it has one."""
        return None if self.error is None else self.error.code

    @property
    def why(self) -> str:
        """Return the error in the phone's words."""
        return "no answer" if self.error is None else str(self.error)


DONE: Final = Answer(ok=True)
NOTHING: Final = Answer(ok=False)
