"""The global flags, extracted from anywhere in the command line before it is parsed.

Click accepts a group's flags only before the subcommand, but people type `momo lines --json` as well as
`momo --json lines`. So `lift` walks the words once, extracts the flags of the tables below, and leaves the rest to the
command. It does not touch anything after `--`. `with_shop_flags` adds the flags of this run to suggested commands.
"""

import re
import shlex
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from momo_cli.errors import Failure, usage
from momo_cli.times import duration_s, is_duration

_DURATIONS: Final[Mapping[tuple[str, str], str]] = {
    ("init", "--wait"): "10m",
    ("phones", "--wait"): "30s",
    ("lines", "--wait"): "1h",
    ("lines", "--watch"): "2s",
    ("status", "--watch"): "2s",
}
"""Flags of a command that may stand without a duration, and their default."""
_PROFILE: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""A profile's name; it becomes the name of a folder."""
_SAME: Final = {"--password-stdin": "--password-file=-"}
"""Flags that are an alias of another."""
_WORDS: Final = r"(?<![\w./-])momo ([a-z][a-z-]*)(?: ([a-z-]+))?"


class Output(StrEnum):
    """The form in which the result is written to stdout."""

    TABLE = "table"
    PLAIN = "plain"
    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"
    ID = "id"


class Flags(NamedTuple):  # a dataclass of so many fields takes 2 ms to make
    """The values of the global flags and their environment variables.

    Attributes:
        output: None: a table on a terminal, plain in a pipe.
        header: None: csv has a header, plain has none.
        sandbox: Every call is made in test mode: the sandbox, without real money.
        timeout_s: None if not given; 0 is no limit.
        ping: The URL that is called at the start and at the end of the run.
        wait_lock_s: How long a bulk command waits for another run of itself.
        problem: Why the flags are invalid; empty if they are valid.
    """

    output: Output | None = None
    header: bool | None = None
    fields: tuple[str, ...] = ()
    get: str | None = None
    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    no_color: bool = False
    no_input: bool = False
    yes: bool = False
    sandbox: bool = False
    socket: str | None = None
    profile: str | None = None
    timeout_s: float | None = None
    utc: bool = False
    absolute: bool = False
    tz: str | None = None
    version: bool = False
    ping: str | None = None
    wait_lock_s: float | None = None
    problem: str = ""


SWITCHES: Final[Mapping[str, tuple[str, object]]] = {
    "--json": ("output", Output.JSON), "--plain": ("output", Output.PLAIN), "--header": ("header", True),
    "--no-header": ("header", False), "-q": ("quiet", True), "--quiet": ("quiet", True), "-v": ("verbose", True),
    "--verbose": ("verbose", True), "--debug": ("debug", True), "--no-color": ("no_color", True),
    "--no-input": ("no_input", True), "-y": ("yes", True), "--yes": ("yes", True), "--sandbox": ("sandbox", True),
    "--utc": ("utc", True), "--absolute": ("absolute", True), "-V": ("version", True), "--version": ("version", True),
}  # fmt: skip
"""Flags without a value: the field of `Flags` and its new value."""
VALUED: Final[Mapping[str, str]] = {
    "-o": "output", "--output": "output", "--fields": "fields", "--get": "get", "--socket": "socket",
    "--profile": "profile", "--timeout": "timeout_s", "--tz": "tz", "--ping": "ping", "--wait-lock": "wait_lock_s",
}  # fmt: skip
"""Flags with a value: the field of `Flags`."""


@dataclass(slots=True)
class _Words:
    """The state of `lift`."""

    found: dict[str, object] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    problem: str = ""


def lift(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[Flags, list[str]]:
    """Return the global flags among the words after the program's name, and the other words, for the command.

    The environment has the defaults (`MOMO_OUTPUT`, `MOMO_NO_INPUT` ...). A wrong value is reported in `Flags.problem`,
    so that the error can still be written in the requested form.
    """
    words = _Words()
    valued = {"MOMO_OUTPUT": "output", "MOMO_TIMEOUT": "timeout_s", "MOMO_TZ": "tz"}
    for variable, name in valued.items():
        if environ.get(variable):
            _set(words, name, variable, environ[variable])
    if environ.get("MOMO_PROFILE") and not environ.get("MOMO_HOME"):
        # It is read where the folders are looked up; here it is only checked.
        problem = _problem_of_profile("MOMO_PROFILE", environ["MOMO_PROFILE"])
        words.problem = words.problem or problem
    for name in ("no_input", "no_color", "debug"):
        variable = f"MOMO_{name.upper()}"
        if environ.get(variable, "") not in ("", "0"):
            words.found[name] = True
    queue = list(argv)
    while queue:
        word = queue.pop(0)
        if word == "--":
            words.rest += [word, *queue]
            break
        _take(words, _SAME.get(word, word), queue)
    return Flags(**words.found, problem=words.problem), words.rest  # type: ignore[arg-type]  # keys and values come from the tables above


def _take(words: _Words, word: str, queue: list[str]) -> None:
    command = next((word for word in words.rest if not word.startswith("-")), "")
    name, equals, value = word.partition("=")
    # `momo setup --tz` is the shop's time zone, not the display's; setup reads it itself.
    own = name == "--tz" and command == "setup"
    if word in SWITCHES:
        key, setting = SWITCHES[word]
        words.found[key] = setting
    elif name in VALUED and not own:
        if not equals and (not queue or queue[0].startswith("--")):
            words.problem = words.problem or f"{name} needs a value"
            return
        _set(words, VALUED[name], name, value if equals else queue.pop(0))
    elif word[:2] == "-o" and len(word) > 2:
        _set(words, "output", "-o", word[2:].removeprefix("="))
    elif _is_cluster(word):
        for letter in word[1:]:
            key, setting = SWITCHES[f"-{letter}"]
            words.found[key] = setting
    elif default := _DURATIONS.get((command, word)):
        follows = bool(queue) and is_duration(queue[0])
        words.rest.append(f"{word}={queue.pop(0) if follows else default}")
    elif word == "--suggested" and command == "review":
        follows = bool(queue) and queue[0].isascii() and queue[0].isdigit()
        words.rest.append(f"--suggested={queue.pop(0) if follows else 1}")
    else:
        words.rest.append(word)


def _is_cluster(word: str) -> bool:
    """Return whether the word is several short switches in one, such as `-qy`."""
    bare = word.removeprefix("-")
    return 1 < len(bare) < len(word) and all(f"-{letter}" in SWITCHES for letter in bare)


def _set(words: _Words, key: str, flag: str, value: str) -> None:
    try:
        words.found[key] = _read(key, flag, value)
    except Failure as failure:
        words.problem = words.problem or failure.message
    except ValueError:
        words.problem = words.problem or f"{flag}: {value!r} is not one of {', '.join(Output)}"


def _read(key: str, flag: str, value: str) -> object:
    if key == "output":
        return Output(value)
    if key == "fields":
        return tuple(name.strip() for name in value.split(",") if name.strip())
    if key in ("timeout_s", "wait_lock_s"):
        return duration_s(value, flag)
    if key == "profile" and (problem := _problem_of_profile(flag, value)):
        raise usage(problem)
    return value


def _problem_of_profile(flag: str, value: str) -> str:
    """Return why a name is not valid for a profile; empty if it is valid."""
    if re.fullmatch(_PROFILE, value):
        return ""
    return f"{flag}: {value!r} is not a valid profile name: use letters and digits, with . _ - after the first one"


def with_shop_flags(text: str, flags: Flags, commands: Container[str], *, self_contained: bool) -> str:
    """Insert `--profile` and `--socket` into the commands in a text, so that they work if pasted.

    The word momo followed by anything but `commands`, the words of every command, is prose. A `self_contained` shop is
    that of MOMO_HOME, which ignores profiles.
    """
    given = [] if flags.profile is None or self_contained else ["--profile", flags.profile]
    given += [] if flags.socket is None else ["--socket", flags.socket]
    if not given or "momo " not in text:
        return text
    words = shlex.join(given)

    def put(found: re.Match[str]) -> str:
        first, second = found.groups()
        known = first in commands or f"{first} {second}" in commands or second == "--help"
        return found[0].replace("momo ", f"momo {words} ", 1) if known else found[0]

    return re.sub(_WORDS, put, text)
