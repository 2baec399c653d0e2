"""Reads a request body or a query into its declared shape, and reports everything that is wrong with it at once.

    new, warnings = read(NewEndpoint, body)

What a declared type means here:

| type | is read as |
|---|---|
| `str` | text, trimmed, without control characters, of 200 characters or its own limit; an empty one counts as absent, or with `min_length` is an error |
| `bool`, `int` (`ge`, `le`), `dict` | true or false; a whole number, 2.0 too; an object, within the mark `most_bytes` |
| an enum, `Literal` | one of the words |
| `list` or `tuple` of `str` or of an enum | 1 to `max_length` entries, untrimmed |
| `int` (`ge`, mark `most`), `bool` in a query | a number, lowered to `most` with a warning; a flag, 1 and 0 too |
| another shape | its members; their errors have its name before theirs |
| mark `read=...` | `amount` (minor units; `number` allows a JSON number, `currency` names the member with the currency), `phone` (E.164), `provider` (canonical), `secret` (unchanged), `time` (microseconds), `uuid`, `any` (unchanged), `cursor` (`integers`: how many) |
| mark `read="text"`, `read="object"` | read as text or an object, whatever the type is that `then` makes of it |
| mark `words` | one of these words only |
| mark `lines` | text that may have line breaks |
| mark `empty` | an empty text is a value |
| mark `null` | null is a value; everywhere else it counts as absent |
| mark `then` | a function of the good value, which returns another value, a `Wrong` or a list of them |

Errors have the order of the declaration; then come unknown members, where the shape forbids them, and then those of
`check`, a static method of the shape for what concerns several members: `check(given, body, fail)` with the members that
were present and good, the body, and `fail(member, code, message)`.
"""

import functools
import re
import uuid
from collections.abc import Callable, Mapping
from enum import EnumMeta
from typing import Any, Final, Literal, TypeVar, cast

from msgspec import Struct

from daemon.core.errors import FieldError, invalid
from daemon.core.json_values import Number, compact, cursor_parts
from daemon.core.limits import TEXT_CHARACTERS_MAX
from daemon.core.names import canonical_name, canonical_names
from daemon.core.shape import DeclaredType, Member, members
from daemon.core.text import Text
from parsers import times
from parsers.money import read_api_amount
from parsers.phone import read_phone

CURSOR_CHARACTERS_MAX: Final = 300
"""Our cursors have fewer than 100; a longer one was not made by us."""
T = TypeVar("T", bound=Struct)
Given = dict[str, Any]

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CONTROL_BUT_LINES: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_INTEGER: Final = re.compile(r"-?[0-9]{1,1000}", re.ASCII)
"""Long numbers are accepted here and lowered to the limit like any other."""
_ISO_8601: Final = "must be ISO 8601 with a zone, such as 2026-01-31T08:00:00Z"
_WRONG: Final = object()
_ABSENT: Final = object()


class Report:
    """What is wrong with a request, and warnings about what was changed."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []

    def fail(self, place: str, code: str, message: Text | str) -> Any:
        """Record an error of the member with this path."""
        self.errors.append(FieldError(place, code, message))
        return _WRONG


Reader = Callable[[Any, str, Given, Report], Any]
"""Reads a value: of the value, its path, the good members before it, and the report."""


class Wrong(Struct, frozen=True):
    """What the function of the mark `then` found wrong; `inside` is the place inside the member, such as `.X-Shop`."""

    code: str
    message: Text | str
    inside: str = ""


def read(shape: type[T], body: Mapping[str, Any]) -> tuple[T, list[str]]:
    """Return the body in its shape, and a warning for each member that the shape has not.

    Raises:
        Refusal: VALIDATION_ERROR, naming everything that is wrong.
    """
    report = Report()
    found = _object(shape, body, "", report)
    if report.errors:
        raise invalid(report.errors)
    return cast(T, found), ignored(shape, body)


def read_query(shape: type[T], query: Mapping[str, str]) -> tuple[T, list[str]]:
    """Return a query string in its shape, and a warning for each number that was lowered. An empty value counts as absent.

    Raises:
        Refusal: VALIDATION_ERROR, naming everything that is wrong.
    """
    report = Report()
    found = _object(shape, query, "", report, in_query=True)
    if report.errors:
        raise invalid(report.errors)
    return cast(T, found), report.warnings


def ignored(shape: type[Struct], body: Mapping[str, Any]) -> list[str]:
    """Return a warning for each member that the shape has not."""
    return [f"Unknown field `{name[:TEXT_CHARACTERS_MAX]}` was ignored." for name in body if name not in _known(shape)]


@functools.cache
def _known(shape: type[Struct]) -> frozenset[str]:
    """Return the names of the members, and those in `known` of a shape, which something else reads or refuses."""
    return frozenset((*(each.name for each in members(shape)), *getattr(shape, "known", ())))


def _object(
    shape: type[Struct], body: Mapping[str, Any], prefix: str, report: Report, *, in_query: bool = False
) -> Any:
    given: Given = {}
    is_good = True
    for member, reader in _readers(shape, in_query):
        value = (body.get(member.name) or None) if in_query else body.get(member.name)
        if value is None and not (member.kind.marks.get("null") and member.name in body):
            if member.required:
                report.fail(prefix + member.name, "required", "this field is required")
                is_good = False
            continue
        read_as = None if value is None else reader(value, prefix + member.name, given, report)
        if read_as is _WRONG:
            is_good = False
        elif read_as is not _ABSENT:
            given[member.attribute] = read_as
    if shape.__struct_config__.forbid_unknown_fields:
        for name in body:
            if name not in _known(shape):
                report.fail(prefix + name[:TEXT_CHARACTERS_MAX], "unknown_field", "there is no such field")
    check = getattr(shape, "check", None)
    if check is not None:
        check(given, body, lambda name, code, text: report.fail(prefix + name, code, text))
    return shape(**given) if is_good else _WRONG


@functools.cache
def _readers(shape: type[Struct], in_query: bool) -> tuple[tuple[Member, Reader], ...]:  # noqa: FBT001 -- cached by it
    return tuple((each, _reader(each.kind, in_query=in_query)) for each in members(shape))


def _reader(kind: DeclaredType, *, in_query: bool) -> Reader:
    """Return the reader of a type."""
    named = kind.marks.get("read")
    if in_query and (named or kind.base) in _IN_QUERY:
        return _IN_QUERY[named or kind.base](kind)
    if named in _BY_MARK:
        made = _BY_MARK[named](kind)
    elif "words" in kind.marks:
        made = _word(kind.marks["words"], kind.base)
    elif kind.base in _BY_TYPE:
        made = _BY_TYPE[kind.base](kind)
    elif isinstance(kind.base, EnumMeta):
        made = _word(list(kind.base), kind.base)
    else:
        assert issubclass(kind.base, Struct), f"no reader for {kind.base}"

        def reader(value: Any, place: str, _given: Given, report: Report) -> Any:
            if not isinstance(value, dict):
                return report.fail(place, "wrong_type", "must be an object")
            return _object(kind.base, value, f"{place}.", report)

        made = reader
    then = kind.marks.get("then")
    return made if then is None else _checked(made, then)


def _checked(made: Reader, then: Callable[[Any], Any]) -> Reader:
    def reader(value: Any, place: str, given: Given, report: Report) -> Any:
        found = made(value, place, given, report)
        if found is _WRONG or found is _ABSENT:
            return found
        result = then(found)
        wrong = result if isinstance(result, list) else [result]
        if not wrong or not isinstance(wrong[0], Wrong):
            return result
        for each in wrong:
            report.fail(place + each.inside, each.code, each.message)
        return _WRONG

    return reader


def _text(kind: DeclaredType) -> Reader:
    most = kind.limits.get("max_length", TEXT_CHARACTERS_MAX)
    control = _CONTROL_BUT_LINES if kind.marks.get("lines") else _CONTROL
    is_empty_wrong, is_empty_given = "min_length" in kind.limits, kind.marks.get("empty")

    def reader(value: Any, place: str, _given: Given, report: Report) -> Any:
        if not isinstance(value, str):
            return report.fail(place, "wrong_type", "must be a string")
        size, value = len(value), value.strip()  # blanks at the ends count
        if not value:
            if is_empty_wrong:
                return report.fail(place, "required", "may not be empty")
            return "" if is_empty_given else _ABSENT
        if size > most:
            return report.fail(place, "too_long", f"has more than {most} characters")
        if control.search(value):
            return report.fail(place, "invalid", "holds control characters")
        return value

    return reader


_LINE: Final = _text(DeclaredType(str, (), False, {"min_length": 1}, {}, {}))
"""Reads the text of a value with a form of its own."""


def _formed(form: Callable[[str], Any], message: str) -> Callable[[DeclaredType], Reader]:
    """Return what makes the reader of a text with a form; `form` returns None for a text without it."""

    def reader(value: Any, place: str, given: Given, report: Report) -> Any:
        text = _LINE(value, place, given, report)
        if text is _WRONG:
            return _WRONG
        found = form(text)
        return report.fail(place, "invalid", message) if found is None else found

    return lambda _kind: reader


def _word(words: list[Any], convert: Callable[[str], Any] = str) -> Reader:
    message = f"must be one of {', '.join(words)}"

    def reader(value: Any, place: str, given: Given, report: Report) -> Any:
        text = _LINE(value, place, given, report)
        if text is _WRONG:
            return _WRONG
        return convert(text) if text in words else report.fail(place, "invalid", message)

    return reader


def _entries(kind: DeclaredType) -> Reader:
    entry = kind.args[0]
    words: list[Any] | None = entry.marks.get("words")
    if words is None and isinstance(entry.base, EnumMeta):
        words = list(entry.base)
    most, must = kind.limits["max_length"], kind.marks.get("holds")
    code = "wrong_type" if words is None else "invalid"
    message = "must be a string" if words is None else f"must be one of {', '.join(words)}"

    def reader(value: Any, place: str, _given: Given, report: Report) -> Any:
        if not isinstance(value, list):
            return report.fail(place, "wrong_type", "must be a list of strings")
        wrong = [
            at
            for at, each in enumerate(value)
            if not isinstance(each, str) or (words is not None and each not in words)
        ]
        if must is not None and must not in value:
            report.fail(place, "invalid", f"must hold {must}")
        elif not 0 < len(value) <= most:
            report.fail(place, "out_of_range", f"must hold 1 to {most} entries")
        elif not wrong:
            return kind.base(value if words is None else map(entry.base, value))
        for at in wrong[:most]:
            report.fail(f"{place}[{at}]", code, message)
        return _WRONG

    return reader


def _boolean(_kind: DeclaredType) -> Reader:
    def reader(value: Any, place: str, _given: Given, report: Report) -> Any:
        return value if isinstance(value, bool) else report.fail(place, "wrong_type", "must be true or false")

    return reader


def _integer(kind: DeclaredType) -> Reader:
    low, high = kind.limits["ge"], kind.limits["le"]

    def reader(value: Any, place: str, _given: Given, report: Report) -> Any:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 2.0 is whole: some languages write every number with a fraction
        if isinstance(value, bool) or not isinstance(value, int):
            return report.fail(place, "wrong_type", "must be a whole number")
        return value if low <= value <= high else report.fail(place, "out_of_range", f"must be from {low} to {high}")

    return reader


def _free(kind: DeclaredType) -> Reader:
    most = kind.marks.get("most_bytes")

    def reader(value: Any, place: str, _given: Given, report: Report) -> Any:
        if not isinstance(value, dict):
            return report.fail(place, "wrong_type", "must be an object")
        if most is not None and len(compact(value).encode()) > most:
            return report.fail(place, "too_long", f"is larger than {most} bytes as compact JSON")
        return value

    return reader


def _secret(_kind: DeclaredType) -> Reader:
    def reader(value: Any, place: str, _given: Given, report: Report) -> Any:
        return value if isinstance(value, str) else report.fail(place, "wrong_type", "must be a string")

    return reader


def _amount(kind: DeclaredType) -> Reader:
    may_be_number, currency = kind.marks.get("number"), kind.marks.get("currency", "")
    a_decimal = "a decimal, as a string or a number" if may_be_number else "a string"

    def reader(value: Any, place: str, given: Given, report: Report) -> Any:
        if not isinstance(value, str):
            if not may_be_number or isinstance(value, bool) or not isinstance(value, int | Number):
                return report.fail(place, "wrong_type", f'must be {a_decimal}, such as "12.50"')
            # Of a JSON number the text is read, never the float.
            value = value.text if isinstance(value, Number) else str(value)
        minor = read_api_amount(value, given.get(currency) or "GHS")
        if minor is None:
            text = "must be digits with at most 2 decimals, 0.01 to 1000000.00"
            return report.fail(place, "invalid", text)
        return minor

    return reader


def _provider(kind: DeclaredType) -> Reader:
    """Read a provider by its name or an alias; the mark `words` has those that are allowed."""
    among = kind.marks.get("words") or canonical_names()

    def canonical(text: str) -> str | None:
        found = canonical_name(text)
        return found if found in among else None

    return _formed(canonical, f"must be one of {', '.join(among)}")(kind)


def _number(kind: DeclaredType) -> Reader:
    """Read a number of a query, such as a size of a page; one above the mark `most` is lowered to it, with a warning."""
    low, most = kind.limits["ge"], kind.marks["most"]

    def reader(value: str, place: str, _given: Given, report: Report) -> Any:
        if not _INTEGER.fullmatch(value):
            return report.fail(place, "wrong_type", "must be a whole number")
        number = int(value)
        if number < low:
            return report.fail(place, "out_of_range", f"must be at least {low}")
        if number > most:
            report.warnings.append(f"`{place}` was lowered to {most}.")
        return min(number, most)

    return reader


def _flag(_kind: DeclaredType) -> Reader:
    def reader(value: str, place: str, _given: Given, report: Report) -> Any:
        if value not in ("0", "1", "true", "false"):
            return report.fail(place, "wrong_type", "must be true or false")
        return value in ("1", "true")

    return reader


def _cursor(kind: DeclaredType) -> Reader:
    """Read the position after which a page starts: as many integers as the mark `integers` says."""
    text_of = _text(DeclaredType(str, (), False, {"max_length": CURSOR_CHARACTERS_MAX}, {}, {}))

    def reader(value: Any, place: str, given: Given, report: Report) -> Any:
        text = text_of(value, place, given, report)
        if not isinstance(text, str):
            return text
        found = [part for part in cursor_parts(text) or () if isinstance(part, int)]
        if len(found) != kind.marks["integers"]:
            return report.fail(place, "invalid", "must be the `next_cursor` of an earlier answer")
        return tuple(found)

    return reader


def read_uuid(text: str) -> str | None:
    """Return a UUID in its usual spelling, None if `text` is not a UUID."""
    if len(text) != 36:
        return None
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


_BY_TYPE: Final[dict[Any, Callable[[DeclaredType], Reader]]] = {
    str: _text, bool: _boolean, int: _integer, dict: _free, list: _entries, tuple: _entries,
    Literal: lambda kind: _word(list(kind.args)),
}  # fmt: skip
_BY_MARK: Final[dict[str, Callable[[DeclaredType], Reader]]] = {
    "amount": _amount, "cursor": _cursor, "any": lambda _kind: lambda value, _place, _given, _report: value,
    "phone": _formed(read_phone, "must be a phone number such as 0244765432 or +447700900123"), "provider": _provider,
    "secret": _secret, "time": _formed(times.read_iso, _ISO_8601), "uuid": _formed(read_uuid, "must be a UUID"),
}  # fmt: skip
_IN_QUERY: Final[dict[Any, Callable[[DeclaredType], Reader]]] = {
    int: _number,
    bool: _flag,
    # An unescaped `+` is decoded as a blank.
    "time": _formed(lambda text: times.read_iso(text.replace(" ", "+")), _ISO_8601),
}
