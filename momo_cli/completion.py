"""What may stand where somebody pressed TAB: command words, flags, and what the shop has just now.

The shell's script (`completion_scripts.py`) hands over the line as far as the cursor; each answer is
a line `VALUE<TAB>MEANING`, or `:files` where a file is wanted. Whatever goes wrong, the answer is
nothing: a line that somebody types is no place for messages.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from momo_cli.commands import ALIASES, COMMANDS, GROUPS
from momo_cli.flags import SWITCHES, VALUED, Output, lift

FILES: Final = ":files"
Found = tuple[str, str]
"""A value, and what it means; the meaning may be empty."""

_FORMS: Final = tuple(Output)
_FILE_METAVARS: Final = ("FILE", "FOLDER", "PATH")
_KINDS: Final[Mapping[str, str]] = {
    "REF": "orders",
    "REF|CODE": "orders",
    "DEVICE:SLOT": "sims",
    "DEVICE:SLOT|none": "sims",
    "MODEM": "modems",
    "ENDPOINT": "endpoints",
    "METHOD": "methods",
}
"""What a word of the usage line stands for; `ID` is one of its command's own."""
_OPTIONS: Final[Mapping[str, str]] = {
    "--endpoint": "endpoints",
    "--method": "methods",
    "--order": "orders",
    "--replay-to": "endpoints",
}


def answers(line: str, environ: Mapping[str, str], *, bash: bool = False) -> list[str]:
    """Return what may stand at the end of the line, each as the shell's script reads it.

    Args:
        line: The command line from its first word to the cursor.
        environ: The environment.
        bash: Leave out what bash takes for a word of its own (up to the last `:` or `=`), quote
            what it would not, and leave out the meanings.
    """
    words, current = _words(line)
    found = [each for each in _found(words, current, environ) if each[0].startswith(current)]
    if bash:
        kept = max(current.rfind(":"), current.rfind("=")) + 1
        return [name if name == FILES else shlex.quote(name[kept:]) for name, _ in found]
    return [f"{name}\t{meaning}".rstrip("\t") for name, meaning in found]


def _words(line: str) -> tuple[list[str], str]:
    """Split a line that is still being typed: the whole words after `momo`, and the last one."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quote is still open
        words = line.split()
    current = "" if line[-1:].isspace() or len(words) < 2 else words.pop()
    return words[1:], current


def _found(words: Sequence[str], current: str, environ: Mapping[str, str]) -> Iterator[Found]:
    """Yield what may stand there; what does not begin with `current` is left out by the caller."""
    before = words[-1] if words else ""
    if before in VALUED:
        yield from _plainly(_FORMS if VALUED[before] == "output" else ())
        return
    _, rest = lift(words, {})
    named = [word for word in rest if not word.startswith("-")]
    command, arguments = _command(named)
    if command is None:
        yield from _next_words(named, current)
        return
    params = _params(command)
    if current.startswith("-"):
        yield from _flags(params)
        return
    wanted = next((p for p in params if before in p.opts and not getattr(p, "is_flag", True)), None)
    if wanted is None:
        wanted = _argument(params, len(arguments) - _taken(params, rest))
    if wanted is not None:
        yield from _values(command, wanted, before, current, environ)
    elif command == "help":
        yield from _topics()


def _command(named: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return the command that is named already, and the words after it."""
    if not named:
        return None, ()
    first = _meant(named[0], {name.split()[0] for name in COMMANDS})
    if first not in GROUPS:
        return (first, named[1:]) if first in COMMANDS else (None, ())
    verbs = {name.split()[1] for name in COMMANDS if name.startswith(f"{first} ")}
    verb = _meant(named[1], verbs) if len(named) > 1 else ""
    return (f"{first} {verb}", named[2:]) if verb in verbs else (None, ())


def _meant(word: str, known: set[str]) -> str:
    return next((each for each in (word, *ALIASES.get(word, ())) if each in known), word)


def _next_words(named: Sequence[str], current: str) -> Iterator[Found]:
    if current.startswith("-"):
        yield from _flags(())
    elif not named:
        yield from ((name, info.summary) for name, info in COMMANDS.items() if " " not in name)
        yield from ((name, about[0]) for name, about in GROUPS.items())
    elif len(named) == 1:
        group = _meant(named[0], set(GROUPS)) + " "
        for name, info in COMMANDS.items():
            if name.startswith(group):
                yield name.removeprefix(group), info.summary


def _params(command: str) -> Sequence[Any]:
    from momo_cli.group import load  # noqa: PLC0415  # command words need no command's module

    return load(command).params


def _flags(params: Iterable[Any]) -> Iterator[Found]:
    for param in params:
        if param.param_type_name == "option":
            names = [name for name in param.opts if name.startswith("--")]
            yield from ((name, param.help or "") for name in names)
    for name in (*SWITCHES, *VALUED):
        if name.startswith("--"):
            yield name, "of every command"


def _argument(params: Iterable[Any], number: int) -> Any:
    """Return the argument that the next plain word is for; the last one may take many."""
    wanted = [param for param in params if param.param_type_name == "argument"]
    if number < len(wanted):
        return wanted[number]
    return wanted[-1] if wanted and wanted[-1].nargs == -1 else None


def _taken(params: Iterable[Any], rest: Sequence[str]) -> int:
    """Count the plain words that are the values of options."""
    valued = {
        name for param in params if not getattr(param, "is_flag", True) for name in param.opts
    }
    return sum(word in valued for word in rest[:-1])


def _values(
    command: str, param: Any, before: str, current: str, environ: Mapping[str, str]
) -> Iterator[Found]:
    shown = str(param.metavar or "").strip("[].")
    if command in _LISTS:
        yield from _plainly(_LISTS[command])
    elif command == "help":
        yield from _topics()
    elif any(word in shown.split("|") or f"@{word}" in shown for word in _FILE_METAVARS):
        yield FILES, ""
    elif "|" in shown and shown.replace("|", "").isalnum() and shown.islower():
        yield from _plainly(shown.split("|"))
    else:
        kind = _OPTIONS.get(before) or _KINDS.get(shown.rpartition("] ")[2])
        if kind is None and shown == "ID":
            kind = command.partition(" ")[0]
        if kind is not None:
            from momo_cli.completion_values import values  # noqa: PLC0415  # only these ask

            yield from values(kind, current, environ)


_LISTS: Final[Mapping[str, Sequence[str]]] = {
    "completion": ("bash", "zsh", "fish"),
    "api": ("GET", "POST", "PUT", "PATCH", "DELETE"),
}


def _topics() -> Iterator[Found]:
    from momo_cli.topics import TOPICS  # noqa: PLC0415  # only help needs them

    yield from _plainly(TOPICS)
    yield from _next_words((), "")


def _plainly(names: Iterable[str]) -> Iterator[Found]:
    yield from ((name, "") for name in names)
