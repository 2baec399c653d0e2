"""What this process can show and ask: colours, symbols, width, zone, prompts and messages.

Decided once, at the start, from the flags and the environment. stdout carries only what was asked
for; everything said here goes to stderr.
"""

import os
import sys
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Final, TextIO

from momo_cli import system
from momo_cli.errors import Failure, usage
from momo_cli.flags import Flags, Output
from momo_cli.locate import Located, locate

DEFAULT_ZONE: Final = "Africa/Accra"
_ANSI: Final[Mapping[str, str]] = {
    "green": "32",
    "yellow": "33",
    "red": "31",
    "cyan": "36",
    "dim": "2",
    "bold": "1",
}
_ASCII: Final[Mapping[str, str]] = {
    "✓": "+", "✗": "x", "…": "...", "—": "-", "·": "-", "→": "->", "─": "-",
}  # fmt: skip
_COMMANDS: Final = ("next:  ", "  next:  ", "       momo ", "         momo ")
"""How lines begin that say what to type."""
ERASE: Final = "\r\x1b[K"
"""Back to the beginning of the line, which is emptied."""
_NO_LIMIT: Final = 10_000
"""Columns of a table that goes to a pipe because `-o table` asked for it: never cut there."""


@dataclass(slots=True)
class Unfinished:
    """Whether the cursor stands in a line that rewrites itself (`progress`), so that what is said begins a new one."""

    open: bool = False


@dataclass(frozen=True, slots=True)
class Terminal:
    """The person's side of a command.

    Attributes:
        flags: The global flags.
        located: The shop.
        stdin: Where answers to questions come from.
        stdout: Takes what was asked for.
        stderr: Takes everything else.
        output: The form of stdout, decided.
        on_screen: stdout is a terminal.
        color: stdout may carry colour.
        color_messages: stderr may carry colour.
        symbols: Characters outside ASCII may be shown.
        width: Columns of the terminal.
        now: Reads the clock.
        commands: The words of every command, by which hints are known.
        shop_zone: Names the shop's zone, as far as that is known; else empty.
        unfinished: The line of stderr that the cursor stands in.
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
    now: Callable[[], datetime] = system.now
    commands: Container[str] = ()
    shop_zone: Callable[[], str] = str
    unfinished: Unfinished = field(default_factory=Unfinished)

    def note(self, text: str) -> None:
        """Say something on stderr, unless `-q`."""
        if not self.flags.quiet:
            self.complain(text)

    def verbatim(self, text: str) -> None:
        """Say on stderr, unless `-q`, what is copied: it is neither wrapped nor changed."""
        if not self.flags.quiet:
            self.stderr.write(text + "\n")
            self.stderr.flush()

    def complain(self, text: str) -> None:
        """Say something on stderr, also with `-q`; on a screen no word is broken, but for commands, which are copied."""
        text = self.plain(text)
        if self.on_screen and len(text) > self.width and not text.startswith(_COMMANDS):
            from momo_cli.wrapping import hung  # noqa: PLC0415  # only long lines need it

            text = "\n".join(piece for line in text.split("\n") for piece in hung(line, self.width))
        if self.unfinished.open:
            self.stderr.write(ERASE)
            self.unfinished.open = False
        self.stderr.write(text + "\n")
        self.stderr.flush()

    def reaching(self, text: str) -> str:
        """Return the text with each command that it names made to reach the shop of this run."""
        if self.flags.profile is None and self.flags.socket is None:
            return text
        from momo_cli.hints import reaching  # noqa: PLC0415  # only a run with one of these flags needs it

        alone = self.located.places.self_contained
        return reaching(text, self.flags, self.commands, self_contained=alone)

    def plain(self, text: str) -> str:
        """Return the text as this terminal can show it, ASCII where it must be, its commands as they must be typed."""
        text = self.reaching(text)
        if not self.symbols:
            for symbol, letter in _ASCII.items():
                text = text.replace(symbol, letter)
        return text

    def style(self, text: str, style: str, *, message: bool = False) -> str:
        """Colour the text if its stream takes colour."""
        allowed = self.color_messages if message else self.color
        if not allowed or style not in _ANSI or not text:
            return text
        return f"\x1b[{_ANSI[style]}m{text}\x1b[0m"

    @property
    def human(self) -> bool:
        """Say whether a person reads stdout, rather than a program."""
        return self.output is Output.TABLE and self.flags.get is None

    @property
    def zone(self) -> tzinfo:
        """Return the zone of times on the screen and in flags: `--utc`, `--tz`, `MOMO_TZ`, else the shop's, else Accra's."""
        if self.flags.utc:
            return UTC
        return zone_of(self.flags.tz) if self.flags.tz else _default_zone(self.shop_zone())

    def ask(self, question: str, flag: str) -> str:
        """Ask for a value; without a terminal, name the flag that gives it (exit 2)."""
        self._may_ask(flag)
        self.stderr.write(self.plain(question))
        self.stderr.flush()
        answer = self.stdin.readline()
        if not answer:
            raise usage(f"no answer; give it with {flag}")
        return answer.strip()

    def ask_key(self, question: str, flag: str) -> str:
        """Ask for one key, without a line end; without a terminal, name the flag that says it (exit 2)."""
        self._may_ask(flag)
        import termios  # noqa: PLC0415  # only one question is answered with a key
        import tty  # noqa: PLC0415 -- loaded only when it is needed

        descriptor = self.stdin.fileno()
        before = termios.tcgetattr(descriptor)
        try:
            # Before the question: it throws away what was typed until now, and an early answer must not be among it.
            tty.setcbreak(descriptor)
            self.stderr.write(self.plain(question))
            self.stderr.flush()
            key = os.read(descriptor, 1).decode("ascii", "replace")
        finally:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        self.stderr.write(f"{key if key.isprintable() else ''}\n")
        return key

    def ask_secret(self, question: str, flag: str) -> str:
        """Ask for a secret without showing what is typed; never taken from a plain flag."""
        self._may_ask(flag)
        import getpass  # noqa: PLC0415  # only setup asks for secrets

        try:
            return getpass.getpass(self.plain(question), stream=self.stderr)
        except EOFError:
            raise usage(f"no answer; give it with {flag}") from None

    def can_ask(self) -> bool:
        """Say whether there is a person to ask."""
        return not self.flags.no_input and self.stdin.isatty()

    def _may_ask(self, flag: str) -> None:
        if not self.can_ask():
            raise usage(f"{flag} is missing, and there is nobody to ask")


def open_terminal(
    flags: Flags, environ: Mapping[str, str], commands: Container[str] = ()
) -> Terminal:
    """Look at the process's streams and environment once, and decide how to speak."""
    stdin, stdout, stderr = sys.stdin, sys.stdout, sys.stderr
    on_screen = _is_tty(stdout)
    output = flags.output or (Output.TABLE if on_screen else Output.PLAIN)
    return Terminal(
        flags=flags,
        located=locate(flags, environ, os.getuid()),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        output=output,
        on_screen=on_screen,
        color=_color(stdout, flags, environ),
        color_messages=_color(stderr, flags, environ),
        symbols=_speaks_utf8(environ),
        width=_width(stdout, environ, on_screen=on_screen),
        now=system.now,
        commands=commands,
    )


def zone_of(name: str) -> tzinfo:
    """Return the named zone; exit 2 when there is none."""
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # only times on a screen need zones

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise usage(
            f"--tz: there is no time zone {name!r}; write for example {DEFAULT_ZONE}"
        ) from (None)


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
    """Decide on colour: no-color.org, then FORCE_COLOR, then what the stream is."""
    if flags.no_color or environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return _is_tty(stream) and environ.get("TERM") != "dumb"


def _speaks_utf8(environ: Mapping[str, str]) -> bool:
    """Read the locale as setlocale(3) does: LC_ALL, LC_CTYPE, LANG; the first that is set.

    Python itself puts LC_CTYPE=C.UTF-8 into the environment of a process in the C locale (PEP 538);
    that says nothing about the terminal.
    """
    for variable in ("LC_ALL", "LC_CTYPE", "LANG"):
        if environ.get(variable) and (variable, environ[variable]) != ("LC_CTYPE", "C.UTF-8"):
            return "utf" in environ[variable].lower()
    return False


def _width(stdout: TextIO, environ: Mapping[str, str], *, on_screen: bool) -> int:
    columns = environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    if not on_screen:
        return _NO_LIMIT
    try:
        return os.get_terminal_size(stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
