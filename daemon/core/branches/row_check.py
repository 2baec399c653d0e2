"""Check a row of a branch before its hub stores it: every value has the type that the program reads it with. Pure.

The thief of a branch's key can send false rows of that branch; they must not break a page at head office. A hub checks thousands of
rows a second, so the rules of each column are worked out once.
"""

import functools
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final, get_type_hints

import msgspec

from daemon.core.branches.facts import MODELS
from daemon.core.limits import DAY_US
from parsers.money import EXPONENTS
from parsers.providers import PROVIDERS

_MONEY_MAX: Final = 10**13
"""Minor units; 900,000 rows of it add up to less than 64 bits hold."""
LAST_DAY: Final = 2_932_896
"""9999-12-31, the last day that a date can be, counted from 1970-01-01."""
_LATEST_US: Final = LAST_DAY * DAY_US
_WHOLE_MAX: Final = 1 << 53
_OBJECT: Final = msgspec.json.Decoder(dict).decode
_LIST: Final = msgspec.json.Decoder(list).decode
_JSON: Final = {"meta": _OBJECT, "fields": _OBJECT, "details": _OBJECT, "reasons": _LIST}
_KNOWN: Final = {"currency": frozenset(EXPONENTS), "provider": frozenset(PROVIDERS)}
_Rule = tuple[str, bool, type, Callable[[Any], bool], str]
"""A column, whether it may be NULL, the type of its values in JSON, what else must hold of one, and the fault if it does not."""


def fault_of(kind: str, row: Mapping[str, Any]) -> str:
    """Return the first column of a row that this version cannot read, with the reason; empty if it can read all."""
    for name, optional, of, holds, why in _rules(kind):
        value = row.get(name)
        if value is None:
            if not optional and name in row:
                return f"{name} is missing"
        elif type(value) is not of or not holds(value):
            return f"{name} {why}"
    return ""


@functools.cache
def _rules(kind: str) -> tuple[_Rule, ...]:
    hints = get_type_hints(MODELS[kind])
    return tuple(_rule(name, hints[name]) for name in MODELS[kind].__struct_fields__)


def _rule(name: str, hint: Any) -> _Rule:
    parts = getattr(hint, "__args__", (hint,))
    (of,) = (part for part in parts if part is not type(None))
    optional = len(parts) > 1
    if of is bool:
        return name, optional, int, lambda value: 0 <= value <= 1, "is not 0 or 1"
    if of is int:
        low, high = _range(name)
        return (
            name,
            optional,
            int,
            lambda value: low <= value <= high,
            "is no number that it can be",
        )
    if name in _JSON:
        return name, optional, str, functools.partial(_is_json, _JSON[name]), "is not its JSON"
    known = frozenset(one.value for one in of) if issubclass(of, Enum) else _KNOWN.get(name)
    if known is not None:
        return (
            name,
            optional,
            str,
            known.__contains__,
            "has a value that this version does not know",
        )
    return name, optional, str, _is_text, "is not text"


def _range(name: str) -> tuple[int, int]:
    if name.endswith("_minor"):
        return -_MONEY_MAX, _MONEY_MAX
    return (
        (0, _LATEST_US - 1) if name == "at" or name.endswith("_at") else (-_WHOLE_MAX, _WHOLE_MAX)
    )


def _is_text(value: str) -> bool:
    return "\0" not in value


def _is_json(decode: Callable[[str], object], text: str) -> bool:
    try:
        decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False
    return "\0" not in text
