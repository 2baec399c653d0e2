"""Read a request field by field and say everything that is wrong with it at once (decisions.md section 9)."""

import re
import uuid
from collections.abc import Collection, Mapping
from typing import Any, Final

from daemon.core.errors import FieldError, invalid
from parsers import when
from parsers.phone import read_phone

TEXT_CHARACTERS_MAX: Final = 200
"""Names and labels; a payload holds several of them within its 20 kB."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CONTROL_BUT_LINES: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}", re.ASCII)


class Fields:
    """The members of a JSON object. `null` counts as absent, unless an operation says otherwise.

    Each method returns the value, or None when it is absent or wrong; `done` raises when anything was wrong, so that
    what was required is there afterwards.
    """

    def __init__(self, body: Mapping[str, Any], prefix: str = "") -> None:
        self.body = body
        self.errors: list[FieldError] = []
        self._prefix = prefix

    def fail(self, name: str, code: str, message: str) -> None:
        """Note that a field is wrong."""
        self.errors.append(FieldError(self._prefix + name, code, message))

    def done(self) -> None:
        """Raise VALIDATION_ERROR naming every field that was wrong, if any was."""
        if self.errors:
            raise invalid(self.errors)

    def unknown(self, known: Collection[str]) -> list[str]:
        """Return the members that are not among `known`."""
        return [name for name in self.body if name not in known]

    def refuse_unknown(self, known: Collection[str]) -> None:
        """Note every member that is not among `known` as wrong."""
        for name in self.unknown(known):
            self.fail(name[:TEXT_CHARACTERS_MAX], "unknown_field", "there is no such field")

    def value(self, name: str, *, required: bool = False) -> Any:
        """Return a member as it is."""
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
    ) -> str | None:
        """Return a string, trimmed, of 1 to `most` characters; `lines` allows line ends and tabs."""
        value = self.value(name, required=required)
        if value is None:
            return None
        if not isinstance(value, str):
            self.fail(name, "wrong_type", "must be a string")
            return None
        value = value.strip()
        if not value:
            if required:
                self.fail(name, "required", "may not be empty")
            return None
        if len(value) > most:
            self.fail(name, "too_long", f"has more than {most} characters")
        elif (_CONTROL_BUT_LINES if lines else _CONTROL).search(value):
            self.fail(name, "invalid", "holds control characters")
        else:
            return value
        return None

    def boolean(self, name: str, default: bool) -> bool:  # noqa: FBT001 -- it is what is read
        """Return true or false."""
        value = self.value(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fail(name, "wrong_type", "must be true or false")
            return default
        return value

    def integer(self, name: str, low: int, high: int, *, required: bool = False) -> int | None:
        """Return a whole number of a range."""
        value = self.value(name, required=required)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(name, "wrong_type", "must be a whole number")
        elif not low <= value <= high:
            self.fail(name, "out_of_range", f"must be from {low} to {high}")
        else:
            return value
        return None

    def object(self, name: str) -> dict[str, Any] | None:
        """Return an object."""
        value = self.value(name)
        if value is not None and not isinstance(value, dict):
            self.fail(name, "wrong_type", "must be an object")
            return None
        return value

    def uuid(self, name: str, *, required: bool = False) -> str | None:
        """Return a UUID in its usual spelling."""
        value = self.text(name, required=required)
        if value is None:
            return None
        found = read_uuid(value)
        if found is None:
            self.fail(name, "invalid", "must be a UUID")
        return found

    def phone(self, name: str, *, required: bool = False) -> str | None:
        """Return a phone number as E.164."""
        value = self.text(name, required=required)
        if value is None:
            return None
        found = read_phone(value)
        if found is None:
            self.fail(name, "invalid", "is no valid phone number")
        return found


class Query(Fields):
    """The members of a query string: text that may mean something else. An empty one counts as absent."""

    def __init__(self, query: Mapping[str, str]) -> None:
        super().__init__({name: value for name, value in query.items() if value})
        self.warnings: list[str] = []

    def number(self, name: str, default: int, *, low: int = 1, high: int | None = None) -> int:
        """Return a whole number from `low`; one above `high` is lowered, with a warning."""
        value = self.body.get(name)
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

    def word(self, name: str, words: Collection[str]) -> str | None:
        """Return one of some words."""
        value: str | None = self.body.get(name)
        if value is not None and value not in words:
            self.fail(name, "invalid", f"must be one of {', '.join(words)}")
            return None
        return value

    def time(self, name: str) -> int | None:
        """Return a time in microseconds; its zone is required."""
        value = self.body.get(name)
        if value is None:
            return None
        # A `+` that was not escaped has become a space.
        found = when.read_iso(value.replace(" ", "+"))
        if found is None:
            self.fail(name, "invalid", "must be ISO 8601 with a zone, such as 2026-01-31T08:00:00Z")
        return found

    def flag(self, name: str) -> bool:
        """Return whether a switch is on."""
        value = self.body.get(name, "0")
        if value not in ("0", "1", "true", "false"):
            self.fail(name, "wrong_type", "must be 1 or 0")
        return value in ("1", "true")

    def meta(self, **members: Any) -> dict[str, Any] | None:
        """Return the `meta` of a list: `members`, and what was lowered."""
        if self.warnings:
            members["warnings"] = self.warnings
        return members or None


def read_uuid(text: str) -> str | None:
    """Return a UUID in its usual spelling, None when it is none."""
    if len(text) != 36:
        return None
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def ignored(names: Collection[str]) -> list[str]:
    """Return the warnings that name fields nobody reads."""
    return [f"Unknown field `{name[:TEXT_CHARACTERS_MAX]}` was ignored." for name in names]
