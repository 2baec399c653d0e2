"""Records the fields of an operation by running its reader: each field that the reader asks for, with its limits.

So the API description always agrees with the validation. A recorded schema never forbids an accepted value: an absent
field may be null (and an empty string if that counts as absent), blanks are trimmed before a value is compared with an
enum, and a page size that is lowered has no maximum.
"""

from collections.abc import Callable, Collection
from typing import Final

from daemon.api.http.fields import Fields, Query
from daemon.api.openapi.json_schema import Schema
from daemon.core.limits import TEXT_CHARACTERS_MAX
from daemon.core.names import canonical_name, canonical_names, provider_aliases

_ISO: Final = (
    r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}(:[0-9]{2})?(\.[0-9]{1,9})?"
    r"([Zz]|[+-][0-9]{2}:?[0-9]{2})\s*$"
)
"""The times accepted by `parsers.times.read_iso`, as a JSON Schema pattern (ECMA-262), with trimmed blanks."""


class ReaderFinished(Exception):
    """Raised by `done`: the reader has asked for every field."""


class RecordedObject:
    """The recorded members of one object."""

    def __init__(self) -> None:
        self.members: dict[str, Schema | RecordedObject] = {}
        self.required: list[str] = []
        self.closed = False

    def add(self, name: str, schema: Schema, *, required: bool) -> None:
        """Record a member."""
        if required:
            self.required.append(name)
        elif "type" in schema:
            schema = {**schema, "type": [*_list(schema["type"]), "null"]}
            if "enum" in schema:
                schema["enum"] = [*schema["enum"], None]
        self.members[name] = schema

    def schema(self) -> Schema:
        """Return the object's schema."""
        members = {
            name: each if isinstance(each, dict) else {**each.schema(), "type": ["object", "null"]}
            for name, each in self.members.items()
        }
        found: Schema = {"type": "object", "properties": members}
        if self.required:
            found["required"] = self.required
        if self.closed:
            found["additionalProperties"] = False
        return found


class Recorder(Fields):
    """Stands in for a body and records the fields that a reader asks for."""

    def __init__(self, notes: RecordedObject | None = None) -> None:
        super().__init__({})
        self.notes = notes or RecordedObject()

    def _note(self, name: str, schema: Schema, *, required: bool = False) -> None:
        self.notes.add(name, schema, required=required)

    def done(self) -> None:
        """End the reader."""
        raise ReaderFinished

    def refuse_unknown(self, known: Collection[str]) -> None:  # noqa: ARG002 -- the signature of Fields
        """Record that no other members are allowed."""
        self.notes.closed = True

    def inside(self, name: str) -> "Recorder":
        """Record an object and return the recorder of its members."""
        inner = Recorder()
        self.notes.members[name] = inner.notes
        return inner

    def value(self, name: str, *, required: bool = False) -> None:
        """Record a member of any type."""
        self._note(name, {}, required=required)

    def text(
        self,
        name: str,
        *,
        required: bool = False,
        most: int = TEXT_CHARACTERS_MAX,
        lines: bool = False,  # noqa: ARG002 -- the signature of Fields
        blank: bool = True,
    ) -> None:
        """Record a string."""
        schema: Schema = {"type": "string", "maxLength": most}
        if required or not blank:
            schema["minLength"] = 1
        self._note(name, schema, required=required)

    def boolean(self, name: str, default: bool) -> bool:  # noqa: FBT001 -- the signature of Fields
        """Record true or false."""
        self._note(name, {"type": "boolean", "default": default})
        return default

    def switch(self, name: str) -> None:
        """Record true or false."""
        self._note(name, {"type": "boolean"})

    def integer(self, name: str, low: int, high: int, *, required: bool = False) -> None:
        """Record a whole number."""
        self._note(name, {"type": "integer", "minimum": low, "maximum": high}, required=required)

    def object(self, name: str, *, most_bytes: int | None = None) -> None:
        """Record an object with any members."""
        schema: Schema = {"type": "object", "additionalProperties": True}
        if most_bytes is not None:
            schema["x-maxBytes"] = most_bytes
        self._note(name, schema)

    def secret(self, name: str, *, required: bool = False, confirms: bool = False) -> None:
        """Record a string that is used unchanged."""
        schema: Schema = {"type": "string", "format": "password"}
        self._note(name, schema, required=required or confirms)

    def word(self, name: str, words: Collection[str]) -> None:
        """Record one of some words."""
        self._note(name, _word(words))

    def words(
        self,
        name: str,
        words: Collection[str] | None,
        *,
        most: int,
        required: bool = False,
        must: str | None = None,
    ) -> None:
        """Record a list of strings."""
        items: Schema = {"type": "string"} if words is None else _word(words)
        schema: Schema = {"type": "array", "items": items, "minItems": 1, "maxItems": most}
        if must is not None:
            schema["contains"] = {"const": str(must)}
        self._note(name, schema, required=required)

    def amount(
        self, name: str, currency: str = "GHS", *, required: bool = False, number: bool = False
    ) -> None:
        """Record a decimal."""
        assert currency
        schema: Schema = {"type": "string", "pattern": r"^[0-9]{1,13}(\.[0-9]{1,2})?$"}
        if number:
            schema = {"type": ["string", "number"], "pattern": schema["pattern"]}
        self._note(name, schema, required=required)

    def provider(
        self, name: str, among: Collection[str] | None = None, *, required: bool = False
    ) -> None:
        """Record a provider: its canonical names and aliases."""
        allowed = among or canonical_names()
        schema = _word(
            [*allowed, *(each for each in provider_aliases() if canonical_name(each) in allowed)]
        )
        self._note(name, schema, required=required)

    def time(self, name: str, *, required: bool = False) -> None:
        """Record a time."""
        self._note(name, _time(), required=required)

    def phone(self, name: str, *, required: bool = False) -> None:
        """Record a phone number."""
        schema: Schema = {"type": "string", "minLength": 1, "maxLength": TEXT_CHARACTERS_MAX}
        self._note(name, schema, required=required)

    def uuid(self, name: str, *, required: bool = False) -> None:
        """Record a UUID."""
        self._note(name, {"type": "string", "format": "uuid"}, required=required)


class QueryRecorder(Query):
    """Stands in for a query string and records the parameters that a reader asks for."""

    def __init__(self) -> None:
        super().__init__({})
        self.notes = RecordedObject()

    def done(self) -> None:
        """End the reader."""
        raise ReaderFinished

    def _note(self, name: str, schema: Schema, *, required: bool = False) -> None:
        self.notes.members[name] = schema
        if required:
            self.notes.required.append(name)

    def value(self, name: str, *, required: bool = False) -> None:
        """Record a parameter."""
        self._note(name, {"type": "string"}, required=required)

    def number(self, name: str, default: int, *, low: int = 1, high: int | None = None) -> int:
        """Record a whole number."""
        schema: Schema = {"type": "integer", "minimum": low, "default": default}
        if high is not None and high < 1_000_000:
            schema["description"] = (
                f"at most {high}; a larger value is lowered to it, with a warning in `meta.warnings`"
            )
        self._note(name, schema)
        return default

    def text(
        self,
        name: str,
        *,
        required: bool = False,
        most: int = TEXT_CHARACTERS_MAX,
        lines: bool = False,  # noqa: ARG002 -- the signature of Fields
        blank: bool = True,  # noqa: ARG002 -- the same
    ) -> None:
        """Record a string."""
        self._note(name, {"type": "string", "maxLength": most}, required=required)

    def word(self, name: str, words: Collection[str]) -> None:
        """Record one of some words."""
        self._note(name, _word(words))

    def time(self, name: str, *, required: bool = False) -> None:
        """Record a time."""
        self._note(name, _time(), required=required)

    def phone(self, name: str, *, required: bool = False) -> None:
        """Record a phone number."""
        self._note(name, {"type": "string"}, required=required)

    def uuid(self, name: str, *, required: bool = False) -> None:
        """Record a UUID."""
        self._note(name, {"type": "string", "format": "uuid"}, required=required)

    def flag(self, name: str) -> bool:
        """Record true or false; 1 and 0 are accepted too."""
        self._note(name, {"type": "boolean", "default": False})
        return False


def body_of(reader: Callable[[Fields], object]) -> Schema:
    """Return the schema of the body that a reader accepts."""
    recorder = Recorder()
    _run(lambda: reader(recorder))
    return recorder.notes.schema()


def query_of(reader: Callable[[Query], object]) -> Schema:
    """Return the schema of the parameters that a reader accepts, as members of one object."""
    recorder = QueryRecorder()
    _run(lambda: reader(recorder))
    return recorder.notes.schema()


def _run(reader: Callable[[], object]) -> None:
    try:
        reader()
    except ReaderFinished:
        return
    raise AssertionError("a reader must end with `done`")


def _word(words: Collection[str]) -> Schema:
    return {"type": "string", "enum": [str(each) for each in words]}


def _time() -> Schema:
    text = "ISO 8601 with a zone, such as 2026-01-31T08:00:00Z"
    return {"type": "string", "pattern": _ISO, "description": text}


def _list(kind: str | list[str]) -> list[str]:
    return [kind] if isinstance(kind, str) else kind
