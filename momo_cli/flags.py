"""The global flags: lifted out of the command line wherever they stand, before it is parsed.

Click takes a group's flags only before the subcommand, but people type `momo lines --json` as well
as `momo --json lines`. So `lift` walks the words once, takes the flags of the tables below out, and
leaves the rest to the command. Everything after `--` is left alone.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from momo_cli.errors import Failure, usage
from momo_cli.times import duration_s, is_duration


class Output(StrEnum):
    """How what was asked for is written to stdout."""

    TABLE = "table"
    PLAIN = "plain"
    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"
    ID = "id"


@dataclass(frozen=True, slots=True)
class Flags:
    """What the global flags and their environment variables say.

    Attributes:
        output: None leaves the choice to the terminal: a table on one, plain in a pipe.
        header: None leaves it to the form: csv has a header, plain has none.
        timeout_s: None when not given; 0 is for ever.
        ping: Who is told that the run began, and how it ended (`ping.py`).
        wait_lock_s: How long a bulk command waits for another run of itself (`alone.py`).
        problem: Why the flags cannot be used; empty when they can.
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
    "--json": ("output", Output.JSON),
    "--plain": ("output", Output.PLAIN),
    "--header": ("header", True),
    "--no-header": ("header", False),
    "-q": ("quiet", True),
    "--quiet": ("quiet", True),
    "-v": ("verbose", True),
    "--verbose": ("verbose", True),
    "--debug": ("debug", True),
    "--no-color": ("no_color", True),
    "--no-input": ("no_input", True),
    "-y": ("yes", True),
    "--yes": ("yes", True),
    "--utc": ("utc", True),
    "--absolute": ("absolute", True),
    "-V": ("version", True),
    "--version": ("version", True),
}
VALUED: Final[Mapping[str, str]] = {
    "-o": "output",
    "--output": "output",
    "--fields": "fields",
    "--get": "get",
    "--socket": "socket",
    "--profile": "profile",
    "--timeout": "timeout_s",
    "--tz": "tz",
    "--ping": "ping",
    "--wait-lock": "wait_lock_s",
}
_WAITS: Final[Mapping[str, str]] = {"init": "10m", "sims": "30s"}
"""Commands whose `--wait` may stand without a value, and what it then means."""
_WATCHES: Final = ("lines", "status")
_WATCH_EVERY: Final = "2s"
"""The same of `--watch`."""

_PROFILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
"""It becomes the name of a folder."""

_SAME: Final = {"--password-stdin": "--password-file=-"}
"""Flags that are another spelling."""

_SHOP_ZONE_COMMAND: Final = "setup"
"""`momo setup --tz` is the shop's zone, not the display's; setup reads it itself."""


@dataclass(slots=True)
class _Words:
    """What `lift` has found so far."""

    found: dict[str, object] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    problem: str = ""


def lift(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[Flags, list[str]]:
    """Take the global flags out of the command line.

    Args:
        argv: The words after the program's name.
        environ: Where the defaults come from (`MOMO_OUTPUT`, `MOMO_NO_INPUT` ...).

    Returns:
        The flags, and the words that are left for the command. A wrong value is told in
        `Flags.problem`, so that the answer can still be written in the form that was asked for.
    """
    words = _Words()
    _environment(words, environ)
    queue = list(argv)
    while queue:
        word = queue.pop(0)
        if word == "--":
            words.rest += [word, *queue]
            break
        _take(words, _SAME.get(word, word), queue)
    return Flags(**words.found, problem=words.problem), words.rest  # type: ignore[arg-type]  # keys and values come from the tables above


def _environment(words: _Words, environ: Mapping[str, str]) -> None:
    for variable, name in (
        ("MOMO_OUTPUT", "output"),
        ("MOMO_TIMEOUT", "timeout_s"),
        ("MOMO_TZ", "tz"),
    ):
        if environ.get(variable):
            _set(words, name, variable, environ[variable])
    if environ.get("MOMO_PROFILE") and not environ.get("MOMO_HOME"):
        # It is read where the folders are looked up; only what is wrong with it is told here.
        problem = _problem_of_profile("MOMO_PROFILE", environ["MOMO_PROFILE"])
        words.problem = words.problem or problem
    for variable, name in (
        ("MOMO_NO_INPUT", "no_input"),
        ("MOMO_NO_COLOR", "no_color"),
        ("MOMO_DEBUG", "debug"),
    ):
        if environ.get(variable, "") not in ("", "0"):
            words.found[name] = True


def _take(words: _Words, word: str, queue: list[str]) -> None:
    command = next((word for word in words.rest if not word.startswith("-")), "")
    name, equals, value = word.partition("=")
    own = name == "--tz" and command == _SHOP_ZONE_COMMAND
    if word in SWITCHES:
        key, what = SWITCHES[word]
        words.found[key] = what
    elif name in VALUED and not own:
        if not equals and (not queue or queue[0].startswith("--")):
            words.problem = words.problem or f"{name} needs a value"
            return
        _set(words, VALUED[name], name, value if equals else queue.pop(0))
    elif word[:2] == "-o" and len(word) > 2:
        _set(words, "output", "-o", word[2:].removeprefix("="))
    elif _is_cluster(word):
        for letter in word[1:]:
            key, what = SWITCHES[f"-{letter}"]
            words.found[key] = what
    elif word == "--wait" and command in _WAITS:
        follows = bool(queue) and is_duration(queue[0])
        words.rest.append(f"--wait={queue.pop(0) if follows else _WAITS[command]}")
    elif word == "--watch" and command in _WATCHES:
        follows = bool(queue) and is_duration(queue[0])
        words.rest.append(f"--watch={queue.pop(0) if follows else _WATCH_EVERY}")
    elif word == "--suggested" and command == "review":
        follows = bool(queue) and queue[0].isascii() and queue[0].isdigit()
        words.rest.append(f"--suggested={queue.pop(0) if follows else 1}")
    else:
        words.rest.append(word)


def _is_cluster(word: str) -> bool:
    """Say whether the word is several short switches in one, such as `-qy`."""
    return (
        len(word) > 2
        and word[0] == "-"
        and word[1] != "-"
        and all(f"-{letter}" in SWITCHES for letter in word[1:])
    )


def _set(words: _Words, key: str, flag: str, value: str) -> None:
    try:
        words.found[key] = _read(key, flag, value)
    except Failure as failure:
        words.problem = words.problem or failure.message
    except ValueError:
        forms = ", ".join(Output)
        words.problem = words.problem or f"{flag}: {value!r} is not one of {forms}"


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
    """Say why a name cannot be that of a profile; empty when it can."""
    if _PROFILE.fullmatch(value):
        return ""
    return f"{flag}: {value!r} is no name of a profile; letters, digits, and . _ - between them"
