"""The terminal: colours, symbols, width, time zone, prompts and messages.

Determined once, at the start, from the flags and the environment. stdout carries only the result; messages go to stderr.
"""

import os
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, Final, TextIO, cast

from momo_cli import system
from momo_cli.errors import Failure, usage
from momo_cli.flags import Flags, Output
from momo_cli.socket.connect import Located, locate

DEFAULT_ZONE: Final = "Africa/Accra"
_ANSI: Final[Mapping[str, str]] = {"green": "32", "yellow": "33", "red": "31", "cyan": "36", "dim": "2", "bold": "1"}
_ASCII: Final[Mapping[str, str]] = {"✓": "+", "✗": "x", "…": "...", "—": "-", "·": "-", "→": "->", "─": "-"}
_YES_OR_NO: Final[Mapping[str, bool]] = {"y": True, "yes": True, "n": False, "no": False}
_COMMANDS: Final = ("next:  ", "  next:  ", "      momo ", "       momo ", "         momo ")
"""Beginnings of lines with a command to type."""
ERASE: Final = "\r\x1b[K"
"""Return to the beginning of the line and clear it."""
_NO_LIMIT: Final = 10_000
"""The width of what goes to no terminal: a table with `-o table` is never shortened, a message never wrapped."""


class UnwrittenError(Exception):
    """stdout could not be written, such as on a full disk; carries the reason."""


class _Stdout:
    """stdout, with `UnwrittenError` for a failed write, which no other file raises; a closed pipe stays one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _unwritten():
            return self._stream.write(text)

    def flush(self) -> None:
        with _unwritten():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:  # the rest of a stream
        return getattr(self._stream, name)


@contextmanager
def _unwritten() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise UnwrittenError(problem.strerror or type(problem).__name__) from None


@dataclass(slots=True)
class Unfinished:
    """Whether the cursor is in a progress line, so that the next message must clear it first."""

    open: bool = False


@dataclass(frozen=True, slots=True)
class Terminal:
    """The input and output of a command.

    Attributes:
        output: The form of stdout.
        on_screen: stdout is a terminal.
        color: stdout may have colour.
        color_messages: stderr may have colour.
        symbols: Characters outside ASCII may be shown.
        width: Columns of the terminal that shows stdout.
        message_width: Columns of the terminal that shows stderr.
        commands: The words of every command, to recognise commands in texts.
        shop_zone: Returns the name of the shop's time zone; empty if unknown.
        unfinished: The state of the progress line on stderr.
    """

    flags: Flags
    located: Located
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    output: Output
    on_screen: bool
    color: bool
    color_messages: bool
    symbols: bool
    width: int
    message_width: int
    now: Callable[[], datetime] = system.now
    commands: Container[str] = ()
    shop_zone: Callable[[], str] = str
    unfinished: Unfinished = field(default_factory=Unfinished)

    def note(self, text: str) -> None:
        """Write a line to stderr, unless `-q` is given."""
        if not self.flags.quiet:
            self.complain(text)

    def verbatim(self, text: str) -> None:
        """Write text for copying to stderr, neither wrapped nor changed, unless `-q` is given."""
        if not self.flags.quiet:
            self.stderr.write(text + "\n")
            self.stderr.flush()

    def complain(self, text: str) -> None:
        """Write a line to stderr, even with `-q`; on a terminal it is wrapped between words, except for commands."""
        text = self.plain(text)
        if len(text) > self.message_width and not text.startswith(_COMMANDS):
            from momo_cli.show.wrapping import wrap_hanging  # noqa: PLC0415  # only long lines need it

            wrapped = (wrap_hanging(line, self.message_width) for line in text.split("\n"))
            text = "\n".join(piece for pieces in wrapped for piece in pieces)
        if self.unfinished.open:
            self.stderr.write(ERASE)
            self.unfinished.open = False
        self.stderr.write(text + "\n")
        self.stderr.flush()

    def reaching(self, text: str) -> str:
        """Return the text with `--profile` and `--socket` added to its commands, so that they reach this shop."""
        if self.flags.profile is None and self.flags.socket is None:
            return text
        from momo_cli.flags import with_shop_flags  # noqa: PLC0415  # only a run with one of these flags needs it

        alone = self.located.places.self_contained
        return with_shop_flags(text, self.flags, self.commands, self_contained=alone)

    def plain(self, text: str) -> str:
        """Return the text in a form that this terminal can show, and with complete commands (see `reaching`)."""
        text = self.reaching(text)
        if not self.symbols:
            for symbol, letter in _ASCII.items():
                text = text.replace(symbol, letter)
        return text

    def style(self, text: str, style: str, *, message: bool = False) -> str:
        """Return the text in a style, if its stream may have colour."""
        allowed = self.color_messages if message else self.color
        if not allowed or style not in _ANSI or not text:
            return text
        return f"\x1b[{_ANSI[style]}m{text}\x1b[0m"

    @property
    def tick(self) -> str:
        """Return a green tick, the beginning of a line about a success."""
        return self.style("✓", "green")

    @property
    def human(self) -> bool:
        """Return whether stdout is for people, not for programs."""
        return self.output is Output.TABLE and self.flags.get is None

    @property
    def zone(self) -> tzinfo:
        """Return the zone of times on the screen and in flags: `--utc`, `--tz`, `MOMO_TZ`, the shop's, or Accra's."""
        if self.flags.utc:
            return UTC
        return zone_of(self.flags.tz) if self.flags.tz else _default_zone(self.shop_zone())

    def ask(self, question: str, flag: str) -> str:
        """Ask for a value; without a terminal, fail and name the flag for it (exit 2)."""
        self._may_ask(flag)
        self.stderr.write(self.plain(question))
        self.stderr.flush()
        answer = self.stdin.readline()
        if not answer:
            raise usage(f"no answer; give it with {flag}")
        return answer.strip()

    def confirm(self, question: str) -> bool:
        """Ask a yes/no question, unless `--yes` is given; Enter is a no."""
        return self.flags.yes or self.yes_or_no(question, "--yes", default=False)

    def yes_or_no(self, question: str, flag: str, *, default: bool) -> bool:
        """Ask a yes/no question until the answer is one of them, or Enter for the default; without a terminal, as `ask`."""
        choices = "[Y/n]" if default else "[y/N]"
        while True:
            answer = self.ask(f"{question} {choices} ", flag).lower()
            if not answer:
                return default
            if answer in _YES_OR_NO:
                return _YES_OR_NO[answer]
            self.complain("Type y for yes or n for no.")

    def ask_key(self, question: str, flag: str) -> str:
        """Read one key, without Enter; without a terminal, fail and name the flag for it (exit 2)."""
        self._may_ask(flag)
        import termios  # noqa: PLC0415  # only one question is answered with a key
        import tty  # noqa: PLC0415  # the same

        descriptor = self.stdin.fileno()
        before = termios.tcgetattr(descriptor)
        try:
            # Before the question, because this discards pending input, which must not include a quick answer.
            tty.setcbreak(descriptor)
            self.stderr.write(self.plain(question))
            self.stderr.flush()
            key = os.read(descriptor, 1).decode("ascii", "replace")
        finally:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        self.stderr.write(f"{key if key.isprintable() else ''}\n")
        return key

    def ask_secret(self, question: str, flag: str) -> str:
        """Ask for a secret without echo; without a terminal, fail and name the flag of its file (exit 2)."""
        self._may_ask(flag)
        import getpass  # noqa: PLC0415  # only setup asks for secrets

        try:
            return getpass.getpass(self.plain(question), stream=self.stderr)
        except EOFError:
            raise usage(f"no answer; give it with {flag}") from None

    def can_ask(self) -> bool:
        """Return whether questions may be asked: stdin is a terminal and `--no-input` is not given."""
        return not self.flags.no_input and self.stdin.isatty()

    def _may_ask(self, flag: str) -> None:
        if not self.can_ask():
            raise usage(f"{flag} is missing, and there is no terminal to ask on")


def open_terminal(flags: Flags, environ: Mapping[str, str], commands: Container[str] = ()) -> Terminal:
    """Return the terminal of this process, from its streams and environment."""
    stdin, stdout, stderr = sys.stdin, sys.stdout, sys.stderr
    on_screen = _is_tty(stdout)
    output = flags.output or (Output.TABLE if on_screen else Output.PLAIN)
    return Terminal(
        flags=flags, located=locate(flags, environ, os.getuid()), stdin=stdin, stdout=cast("TextIO", _Stdout(stdout)),
        stderr=stderr, output=output, on_screen=on_screen, color=_color(stdout, flags, environ),
        color_messages=_color(stderr, flags, environ), symbols=_speaks_utf8(environ),
        width=_width(stdout, environ, on_screen=on_screen),
        message_width=_width(stderr, environ, on_screen=True) if _is_tty(stderr) else _NO_LIMIT, now=system.now,
        commands=commands,
    )  # fmt: skip


def zone_of(name: str) -> tzinfo:
    """Return the time zone with that name; fail if there is none (exit 2)."""
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # only times on a screen need zones

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        form = f"write for example {DEFAULT_ZONE}"
        raise usage(f"--tz: there is no time zone {name!r}; {form}") from None


def _default_zone(shops: str) -> tzinfo:
    for name in (shops, DEFAULT_ZONE):
        with suppress(Failure):
            return zone_of(name)
    return UTC  # no zone data on this machine; Ghana keeps UTC all year


def _is_tty(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _color(stream: TextIO, flags: Flags, environ: Mapping[str, str]) -> bool:
    """Return whether to use colour: no-color.org first, then FORCE_COLOR, then whether the stream is a terminal."""
    if flags.no_color or environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return _is_tty(stream) and environ.get("TERM") != "dumb"


def _speaks_utf8(environ: Mapping[str, str]) -> bool:
    """Return whether the locale is UTF-8, from the first set of LC_ALL, LC_CTYPE, LANG, as setlocale(3)."""
    for variable in ("LC_ALL", "LC_CTYPE", "LANG"):
        # Python itself sets LC_CTYPE=C.UTF-8 in the C locale (PEP 538), even if the terminal cannot show UTF-8.
        if environ.get(variable) and (variable, environ[variable]) != ("LC_CTYPE", "C.UTF-8"):
            return "utf" in environ[variable].lower()
    return False


def _width(stream: TextIO, environ: Mapping[str, str], *, on_screen: bool) -> int:
    columns = environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    if not on_screen:
        return _NO_LIMIT
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
