"""Read a request field by field and say everything that is wrong with it at once (decisions.md section 9).

Over 300 lines because it is one list: each kind of field that there is.
"""

import re
import uuid
from collections.abc import Collection, Mapping
from typing import Any, Final

from daemon.api.read_json import Number, compact
from daemon.core.errors import FieldError, invalid
from daemon.core.provider_names import canonical, known
from parsers import when
from parsers.money import read_api_amount
from parsers.phone import read_phone

TEXT_CHARACTERS_MAX: Final = 200
"""Names and labels; a payload holds several of them within its 20 kB."""
OFFSET_MAX: Final = 1_000_000_000_000
"""Far past the end of any list, and it still fits an integer of the database."""
UNREAD_MAX: Final = 20
"""Parameters of a query that nobody knows, in one answer."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CONTROL_BUT_LINES: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_INTEGER: Final = re.compile(r"-?[0-9]{1,1000}", re.ASCII)
"""However long: one beyond all lists is lowered like any other."""


class Fields:
    """The members of a JSON object. `null` counts as absent, unless an operation says otherwise.

    Each method returns the value, or None when it is absent or wrong; `done` raises when anything was wrong, so that
    what was required is there afterwards. Whatever is read here is also how the API's description learns what an
    operation takes (`daemon/api/recorder.py`), so a reader asks for all of its fields, whatever came, before `done`.
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

    def given(self, name: str) -> bool:
        """Say whether a member is there; it tells nothing about what the operation takes."""
        return self.body.get(name) is not None

    def inside(self, name: str) -> "Fields | None":
        """Return the members of an object within this one; what is wrong with them is told with the rest."""
        value = self.object(name)
        if value is None:
            return None
        inner = Fields(value, f"{self._prefix}{name}.")
        inner.errors = self.errors
        return inner

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
        blank: bool = True,
    ) -> str | None:
        """Return a string of 1 to `most` characters, trimmed.

        Args:
            name: The member.
            required: It must be there.
            most: Its length at most, blanks at the ends included.
            lines: It may hold line ends and tabs.
            blank: An empty one counts as absent; else it is wrong.
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
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 2.0 is whole: some languages write every number so
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(name, "wrong_type", "must be a whole number")
        elif not low <= value <= high:
            self.fail(name, "out_of_range", f"must be from {low} to {high}")
        else:
            return value
        return None

    def switch(self, name: str) -> bool | None:
        """Return true or false, None when nothing is said."""
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

    def secret(self, name: str, *, required: bool = False) -> str | None:
        """Return a string as it is: blanks at the ends of a password belong to it."""
        value = self.value(name, required=required)
        if value is not None and not isinstance(value, str):
            self.fail(name, "wrong_type", "must be a string")
            return None
        return value

    def word(self, name: str, words: Collection[str]) -> str | None:
        """Return one of some words."""
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
        """Return a list of 1 to `most` strings: of some words, or with None of any; `must` is among them."""
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

    def amount(
        self, name: str, currency: str = "GHS", *, required: bool = False, number: bool = False
    ) -> int | None:
        """Return money in minor units, from a decimal string; `number` takes a JSON number too.

        A number is judged by how it is written, never by its float.
        """
        value = self.value(name, required=required)
        if value is None:
            return None
        if not isinstance(value, str):
            if not number or isinstance(value, bool) or not isinstance(value, int | Number):
                kind = "a decimal, as a string or a number" if number else "a string"
                self.fail(name, "wrong_type", f'must be {kind}, such as "12.50"')
                return None
            value = value.text if isinstance(value, Number) else str(value)
        minor = read_api_amount(value, currency)
        if minor is None:
            text = "must be digits with at most 2 decimals, 0.01 to 1000000.00"
            self.fail(name, "invalid", text)
        return minor

    def provider(
        self, name: str, among: Collection[str] | None = None, *, required: bool = False
    ) -> str | None:
        """Return a provider's canonical name, one of `among`; aliases are accepted."""
        text = self.text(name, required=required, blank=False)
        if text is None:
            return None
        found = canonical(text)
        if found is None or found not in (among or known()):
            self.fail(name, "invalid", f"must be one of {', '.join(among or known())}")
            return None
        return found

    def time(self, name: str, *, required: bool = False) -> int | None:
        """Return a time in microseconds; its zone is required."""
        text = self.text(name, required=required, blank=False)
        if text is None:
            return None
        found = when.read_iso(text)
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
            self.fail(name, "invalid", "is no valid phone number")
        return found


class Query(Fields):
    """The members of a query string: text that may mean something else. An empty one counts as absent."""

    def __init__(self, query: Mapping[str, str]) -> None:
        """Read `query`: of several members with one name the last counts."""
        super().__init__({name: value for name, value in query.items() if value})
        self.warnings: list[str] = []
        self._unread = dict.fromkeys(query)

    def value(self, name: str, *, required: bool = False) -> Any:
        """Return a parameter as it is."""
        self._unread.pop(name, None)
        return super().value(name, required=required)

    def number(self, name: str, default: int, *, low: int = 1, high: int | None = None) -> int:
        """Return a whole number from `low`; one above `high` is lowered, with a warning."""
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
        """Return a time in microseconds; its zone is required, and a `+` that was not escaped has become a space."""
        text = self.body.get(name)
        if text is not None:
            self.body = {**self.body, name: text.strip().replace(" ", "+")}
        return super().time(name, required=required)

    def page(self, limit: int, limit_max: int) -> tuple[int, int]:
        """Return how many entries are asked for and how many come before them."""
        return (
            self.number("limit", limit, high=limit_max),
            self.number("offset", 0, low=0, high=OFFSET_MAX),
        )

    def flag(self, name: str) -> bool:
        """Return whether a switch is on."""
        value = self.value(name) or "0"
        if value not in ("0", "1", "true", "false"):
            self.fail(name, "wrong_type", "must be 1 or 0")
        return value in ("1", "true")

    def meta(self, **members: Any) -> dict[str, Any] | None:
        """Return the `meta` of a list: `members`, and what was lowered."""
        if self.warnings:
            members["warnings"] = self.warnings
        return members or None

    def unread(self) -> list[str]:
        """Return the warnings that name the parameters that nobody has read by now; `Resource` adds them to the answer."""
        return [
            f"Unknown parameter `{name[:TEXT_CHARACTERS_MAX]}` was ignored."
            for name in list(self._unread)[:UNREAD_MAX]
        ]


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
