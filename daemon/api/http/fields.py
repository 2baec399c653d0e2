"""Validated access to request fields; all errors are reported at once."""

import re
import uuid
from collections.abc import Collection, Mapping
from typing import Any, Final, TypeVar

from msgspec import Struct

from daemon.core.errors import FieldError, invalid
from daemon.core.json_values import compact
from daemon.core.limits import TEXT_CHARACTERS_MAX
from daemon.core.reading import read_query
from daemon.core.shape import members
from parsers import times
from parsers.phone import read_phone

OFFSET_MAX: Final = 1_000_000_000_000
"""Larger than any list, and still a valid integer of the database."""
UNREAD_MAX: Final = 20
"""Largest number of unknown query parameters named in one answer."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CONTROL_BUT_LINES: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_INTEGER: Final = re.compile(r"-?[0-9]{1,1000}", re.ASCII)
"""Long numbers are accepted here and lowered to the limit like any other."""


T = TypeVar("T", bound=Struct)


class Fields:
    """The members of a JSON object. `null` counts as absent, unless an operation documents otherwise.

    Each method returns the value, or None if it is absent or invalid. `done` raises if anything was invalid, so that all
    required values are present afterwards. For operations of the socket alone; those of /v1 declare their bodies
    (`daemon/core/reading.py`).
    """

    def __init__(self, body: Mapping[str, Any], prefix: str = "") -> None:
        self.body = body
        self.errors: list[FieldError] = []
        self._prefix = prefix

    def fail(self, name: str, code: str, message: str) -> None:
        """Record an error for a field."""
        self.errors.append(FieldError(self._prefix + name, code, message))

    def done(self) -> None:
        """Raise VALIDATION_ERROR with every recorded error, if there is any."""
        if self.errors:
            raise invalid(self.errors)

    def unknown(self, known: Collection[str]) -> list[str]:
        """Return the members that are not among `known`."""
        return [name for name in self.body if name not in known]

    def refuse_unknown(self, known: Collection[str]) -> None:
        """Record an error for every member that is not among `known`."""
        for name in self.unknown(known):
            self.fail(name[:TEXT_CHARACTERS_MAX], "unknown_field", "there is no such field")

    def given(self, name: str) -> bool:
        """Return whether a member is present; this does not declare a field for the API description."""
        return self.body.get(name) is not None

    def inside(self, name: str) -> "Fields | None":
        """Return the members of a nested object; their errors are reported together with the others."""
        value = self.object(name)
        if value is None:
            return None
        inner = Fields(value, f"{self._prefix}{name}.")
        inner.errors = self.errors
        return inner

    def value(self, name: str, *, required: bool = False) -> Any:
        """Return a member unchanged."""
        value = self.body.get(name)
        if value is None and required:
            self.fail(name, "required", "this field is required")
        return value

    def text(
        self,
        name: str,
        *,
        required: bool = False,
        most: int = TEXT_CHARACTERS_MAX,
        lines: bool = False,
        blank: bool = True,
    ) -> str | None:
        """Return a string of 1 to `most` characters, trimmed.

        Args:
            name: The member.
            required: The member must be present.
            most: Maximum length, including blanks at the ends.
            lines: Allow line breaks and tabs.
            blank: An empty string counts as absent; otherwise it is an error.
        """
        value = self.value(name, required=required)
        if value is None:
            return None
        if not isinstance(value, str):
            self.fail(name, "wrong_type", "must be a string")
            return None
        size, value = len(value), value.strip()
        if not value:
            if required or not blank:
                self.fail(name, "required", "may not be empty")
            return None
        if size > most:
            self.fail(name, "too_long", f"has more than {most} characters")
        elif (_CONTROL_BUT_LINES if lines else _CONTROL).search(value):
            self.fail(name, "invalid", "holds control characters")
        else:
            return value
        return None

    def boolean(self, name: str, default: bool) -> bool:  # noqa: FBT001 -- the value of the field
        """Return true or false."""
        value = self.value(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fail(name, "wrong_type", "must be true or false")
            return default
        return value

    def integer(self, name: str, low: int, high: int, *, required: bool = False) -> int | None:
        """Return a whole number from `low` to `high`."""
        value = self.value(name, required=required)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 2.0 is whole: some languages write every number with a fraction
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(name, "wrong_type", "must be a whole number")
        elif not low <= value <= high:
            self.fail(name, "out_of_range", f"must be from {low} to {high}")
        else:
            return value
        return None

    def switch(self, name: str) -> bool | None:
        """Return true or false, None if absent."""
        return self.boolean(name, default=False) if self.given(name) else None

    def object(self, name: str, *, most_bytes: int | None = None) -> dict[str, Any] | None:
        """Return an object, of at most `most_bytes` as compact JSON in UTF-8."""
        value: Any = self.value(name)
        if value is not None and not isinstance(value, dict):
            self.fail(name, "wrong_type", "must be an object")
            return None
        if (
            value is not None
            and most_bytes is not None
            and len(compact(value).encode()) > most_bytes
        ):
            self.fail(name, "too_long", f"is larger than {most_bytes} bytes as compact JSON")
        found: dict[str, Any] | None = value
        return found

    def secret(self, name: str, *, required: bool = False, confirms: bool = False) -> str | None:
        """Return a string unchanged: blanks at the ends of a password are part of it.

        `confirms`: described as required; the caller answers INVALID_PASSWORD if it is absent.
        """
        del confirms  # only for the API description
        value = self.value(name, required=required)
        if value is not None and not isinstance(value, str):
            self.fail(name, "wrong_type", "must be a string")
            return None
        return value

    def word(self, name: str, words: Collection[str]) -> str | None:
        """Return a string that must be one of `words`."""
        value = self.text(name, blank=False)
        if value is not None and value not in words:
            self.fail(name, "invalid", f"must be one of {', '.join(words)}")
            return None
        return value

    def words(
        self,
        name: str,
        words: Collection[str] | None,
        *,
        most: int,
        required: bool = False,
        must: str | None = None,
    ) -> list[str] | None:
        """Return a list of 1 to `most` strings from `words` (None allows any string); it must contain `must`."""
        value = self.value(name, required=required)
        if value is None:
            return None
        if not isinstance(value, list):
            self.fail(name, "wrong_type", "must be a list of strings")
            return None
        wrong = [
            place
            for place, each in enumerate(value)
            if not isinstance(each, str) or (words is not None and each not in words)
        ]
        if must is not None and must not in value:
            self.fail(name, "invalid", f"must hold {must}")
        elif not 0 < len(value) <= most:
            self.fail(name, "out_of_range", f"must hold 1 to {most} entries")
        elif not wrong:
            return value
        for place in wrong[:most]:
            code = "invalid" if words else "wrong_type"
            text = f"must be one of {', '.join(words)}" if words else "must be a string"
            self.fail(f"{name}[{place}]", code, text)
        return None

    def time(self, name: str, *, required: bool = False) -> int | None:
        """Return a time in microseconds; the time zone is required."""
        text = self.text(name, required=required, blank=False)
        if text is None:
            return None
        found = times.read_iso(text)
        if found is None:
            text = "must be ISO 8601 with a zone, such as 2026-01-31T08:00:00Z"
            self.fail(name, "invalid", text)
        return found

    def uuid(self, name: str, *, required: bool = False) -> str | None:
        """Return a UUID in its usual spelling."""
        value = self.text(name, required=required, blank=False)
        if value is None:
            return None
        found = read_uuid(value)
        if found is None:
            self.fail(name, "invalid", "must be a UUID")
        return found

    def phone(self, name: str, *, required: bool = False) -> str | None:
        """Return a phone number as E.164."""
        value = self.text(name, required=required, blank=False)
        if value is None:
            return None
        found = read_phone(value)
        if found is None:
            self.fail(name, "invalid", "must be a phone number such as 0244765432 or +447700900123")
        return found


class Query(Fields):
    """The members of a query string: text that may stand for another type. An empty value counts as absent."""

    def __init__(self, query: Mapping[str, str]) -> None:
        """Read `query`; the last of several members with the same name counts."""
        super().__init__({name: value for name, value in query.items() if value})
        self.warnings: list[str] = []
        self._unread = dict.fromkeys(query)

    def read(self, shape: type[T]) -> T:
        """Return the query in its shape.

        Raises:
            Refusal: VALIDATION_ERROR, naming every wrong parameter.
        """
        for each in members(shape):
            self._unread.pop(each.name, None)
        found, lowered = read_query(shape, self.body)
        self.warnings += lowered
        return found

    def value(self, name: str, *, required: bool = False) -> Any:
        """Return a parameter unchanged and mark it as known."""
        self._unread.pop(name, None)
        return super().value(name, required=required)

    def number(self, name: str, default: int, *, low: int = 1, high: int | None = None) -> int:
        """Return a whole number of at least `low`; a number above `high` is lowered to it, with a warning."""
        value = self.value(name)
        if value is None:
            return default
        if not _INTEGER.fullmatch(value):
            self.fail(name, "wrong_type", "must be a whole number")
            return default
        number = int(value)
        if number < low:
            self.fail(name, "out_of_range", f"must be at least {low}")
            return default
        if high is not None and number > high:
            self.warnings.append(f"`{name}` was lowered to {high}.")
            return high
        return number

    def time(self, name: str, *, required: bool = False) -> int | None:
        """Return a time in microseconds; the time zone is required. An unescaped `+`, decoded as a space, is accepted."""
        text = self.body.get(name)
        if text is not None:
            self.body = {**self.body, name: text.strip().replace(" ", "+")}
        return super().time(name, required=required)

    def page(self, limit: int, limit_max: int) -> tuple[int, int]:
        """Return limit and offset."""
        return (
            self.number("limit", limit, high=limit_max),
            self.number("offset", 0, low=0, high=OFFSET_MAX),
        )

    def flag(self, name: str) -> bool:
        """Return whether a flag is set."""
        value = self.value(name) or "0"
        if value not in ("0", "1", "true", "false"):
            self.fail(name, "wrong_type", "must be true or false")
        return value in ("1", "true")

    def meta(self, **members: Any) -> dict[str, Any] | None:
        """Return the `meta` of a list: `members` and the warnings about lowered numbers."""
        if self.warnings:
            members["warnings"] = self.warnings
        return members or None

    def unread(self) -> list[str]:
        """Return a warning for each parameter not read so far; `Resource` adds them to the answer."""
        return [
            f"Unknown parameter `{name[:TEXT_CHARACTERS_MAX]}` was ignored."
            for name in list(self._unread)[:UNREAD_MAX]
        ]


def read_uuid(text: str) -> str | None:
    """Return a UUID in its usual spelling, None if `text` is not a UUID."""
    if len(text) != 36:
        return None
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def ignored(names: Collection[str]) -> list[str]:
    """Return a warning for each unknown field."""
    return [f"Unknown field `{name[:TEXT_CHARACTERS_MAX]}` was ignored." for name in names]
