"""Clear messages for wrong command lines, instead of the parser's.

The parser (the Click inside Typer) raises one class per mistake; the classes are private to Typer, so they are
recognised by their names and their documented members.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from momo_cli.errors import Failure, usage
from momo_cli.flags import SWITCHES, VALUED

_EXTRA: Final = r"(?s)unexpected extra arguments?(?:\(s\))? \((.*)\)"
_NUMBER: Final = r"-[0-9][0-9.,]*"
_LIKE: Final = 0.6
"""How similar two words must be for a suggestion; the value of Python's own suggestions."""


def explain_problem(problem: Exception, command: str) -> Failure:
    """Return the failure (exit 2) for an exception of the parser; `command` is empty if there is only `momo`."""
    read = _READERS.get(type(problem).__name__, _as_it_is)
    typed = f"momo {command}".rstrip()
    return usage(read(problem, typed), f"{typed} --help")


def no_such_command(
    group: str, word: str, there: Iterable[str], groups: Sequence[str] = ()
) -> Failure:
    """Return the failure for an unknown command, with the most similar one as suggestion.

    `group` is the word before it, empty directly after `momo`; `there` are the valid words; `groups` have the command.
    """
    of = f"momo {group}".rstrip()
    if groups:
        needs = f"{word!r} needs a word before it: {', '.join(groups)}"
        return usage(needs, *(f"momo {each} {word}" for each in groups[:2]), f"{of} --help")
    meant = _alike(word, there)
    asked = f"; did you mean {meant!r}?" if meant else ""
    next_ = (f"{of} {meant}", f"{of} --help") if meant else (f"{of} --help",)
    return usage(f"there is no command {f'{group} {word}'.strip()!r}{asked}", *next_)


def missing_command(group: str, there: Iterable[str]) -> Failure:
    """Return the failure for a group without a command, for programs; people get its help."""
    of = f"momo {group}".rstrip()
    return usage(f"{of} needs a command: {', '.join(there)}", f"{of} --help")


def check_words(command: Any, context: Any, words: Sequence[str]) -> None:  # the parser's own types
    """Reject (exit 2) mistakes that the parser accepts silently: a flag given twice, or a flag in the place of a value."""
    values, _, order = command.make_parser(context).parse_args(list(words))
    flags = {name for each in command.params for name in _names(each)} | {*SWITCHES, *VALUED}
    seen: set[str] = set()
    for each in order:
        if each.param_type_name != "option":
            continue
        name, value = _name(each), values.get(each.name)
        if isinstance(value, str) and value.startswith("--") and value.partition("=")[0] in flags:
            raise usage(f"{name} needs a value, but {value} is a flag")
        if name in seen and not each.multiple and not each.is_flag:
            raise usage(f"{name} is given twice, but takes one value")
        seen.add(name)


def _no_such_flag(problem: Any, command: str) -> str:
    word = str(problem.option_name)
    if re.fullmatch(_NUMBER, word):
        return f"there is no flag {word}; put -- before a value that begins with -"
    own = [name for each in _params(problem) for name in _names(each)]
    meant = _alike(word, [*own, *SWITCHES, *VALUED]) if word.startswith("--") else ""
    return f"{command} has no flag {word}" + (f"; did you mean {meant}?" if meant else "")


def _missing(problem: Any, command: str) -> str:  # noqa: ARG001  # every reader has this signature
    """Return a message with all missing arguments; the parser reads the given ones first."""
    read: Mapping[str, object] = problem.ctx.params if problem.ctx is not None else {}
    lacking = [each for each in _params(problem) if each.required and each.name not in read]
    names = [_name(each) for each in lacking] or [_name(problem.param)]
    *first, last = names
    return f"{', '.join(first)} and {last} are missing" if first else f"{last} is missing"


def _wrong_value(problem: Any, command: str) -> str:  # noqa: ARG001  # as above
    name = _name(problem.param) if problem.param is not None else "a value"
    kind = getattr(problem.param, "type", None)
    value = str(problem.message).partition(" is not ")[0]
    if choices := getattr(kind, "choices", None):
        return f"{name}: {value} is not one of {', '.join(str(each) for each in choices)}"
    if str(getattr(kind, "name", "")).startswith("int"):
        return f"{name}: {value} is not a whole number{_range(kind)}"
    return f"{name}: {problem.message}".rstrip(".")


def _range(kind: Any) -> str:
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if least is not None and most is not None:
        return f" from {least} to {most}"
    if least is not None:
        return f" of at least {least}"
    return f" of at most {most}" if most is not None else ""


def _wrong_use(problem: Any, command: str) -> str:
    name = str(problem.option_name)
    if "does not take a value" in problem.message:
        return f"{name} takes no value"
    if "requires an argument" in problem.message:
        return f"{name} needs a value"
    return _as_it_is(problem, command)


def _misused(problem: Any, command: str) -> str:
    extra = re.search(_EXTRA, str(problem.message))
    if extra is None:
        return _as_it_is(problem, command)
    taken = [_name(each) for each in _params(problem) if each.param_type_name == "argument"]
    takes = f"takes {' '.join(taken)}" if taken else "takes flags only"
    return f"unexpected {extra[1]!r}: {command} {takes} (quote a value that has spaces)"


def _as_it_is(problem: Any, command: str) -> str:  # noqa: ARG001  # as above
    said = str(problem.format_message()).rstrip(".")
    return said[:1].lower() + said[1:]


_READERS: Final = {
    "NoSuchOption": _no_such_flag,
    "MissingParameter": _missing,
    "BadParameter": _wrong_value,
    "BadOptionUsage": _wrong_use,
    "UsageError": _misused,
}
"""One reader per class of mistake, by the name of the class."""


def _params(problem: Any) -> list[Any]:
    return [] if problem.ctx is None else list(problem.ctx.command.params)


def _names(param: Any) -> list[str]:
    return [*param.opts, *param.secondary_opts] if param.param_type_name == "option" else []


def _name(param: Any) -> str:
    """Return the name of a parameter: `--phone`, or for an argument the word of the usage line."""
    if param.param_type_name == "option":
        return str(max(param.opts, key=len))
    return str(param.metavar or param.name.upper()).strip("[]")


def _alike(word: str, there: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  # only a mistake needs it

    return next(iter(get_close_matches(word, list(there), n=1, cutoff=_LIKE)), "")
