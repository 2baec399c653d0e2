"""One command of an AT session and its answer."""

from typing import Final

from msgspec import Struct

from daemon.modem.session import at


class ModemCommand(Struct, frozen=True):
    """One command.

    `text` has no line end. `prefix` begins the answer lines; empty accepts every line that is not a known notice.
    `timeout_s` None uses the setting. If `needed`, the start cannot continue without an answer. `last` is the prefix of
    the last answer line, for a make that ends the answer without OK.
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


class CommandAnswer(Struct, frozen=True):
    """Lines and result of an answer; neither `ok` nor an error means that no answer came."""

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
        """Return the error text of the phone."""
        return "no answer" if self.error is None else str(self.error)


DONE: Final = CommandAnswer(ok=True)
NO_ANSWER: Final = CommandAnswer(ok=False)
