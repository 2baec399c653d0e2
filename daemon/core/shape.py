"""The words in which a request body, a query or an answer is declared, once, as a `msgspec.Struct`.

    class EndpointAnswer(Struct, frozen=True):
        id: Id
        description: Annotated[str, sample("the till")]
        last_success_at: Time | None
        queued: Annotated[int, sample(2, "deliveries queued by a resume", ge=0)] | UnsetType = UNSET

From the declaration come the JSON of the answer (`shown`), the description in the API document
(`daemon/api/openapi/schemas.py`), and for a request also its reading and its checks (`daemon/core/reading.py`). So a resource is written:

1. Its answer stands beside its row, members in the order of the JSON: the row is `Endpoint`, the answer `EndpointAnswer`.
   A member that may be absent is `X | UnsetType = UNSET`. Times and amounts are strings in an answer and integers in a row: with
   the type `Time` of this module `shown` renders them.
2. `shown(EndpointAnswer, row, is_sandbox=...)` takes every member of the row that has its name, and the others as given.
   What several answers share is a base class, or a member marked `FLAT` where it stands in the middle.
3. Its requests stand beside it. A member that must be present has no default. `reading.py` lists what a type means
   when it is read.
4. The operation names them: `@described("Get an endpoint", answer(EndpointAnswer), reads=EndpointChanges)`.
   An answer that others refer to by name is a row of `COMPONENTS` in `daemon/api/openapi/schemas.py`.

Limits are written into the part that is not None: `Annotated[str, Meta(max_length=5)] | None`. A second `Meta` may replace
the description and the sample, and may not repeat a limit. A structure does not check what it is made of; the tests
compare each answer with the document.
"""

import functools
import json
from collections.abc import Callable, Sequence
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from daemon.core.limits import NOTES_CHARACTERS_MAX
from daemon.core.names import canonical_names
from daemon.core.text import Text
from daemon.wire import Mode, TransactionStatus
from parsers import times

T = TypeVar("T", bound=Struct)
_LIMITS: Final = ("ge", "le", "min_length", "max_length", "pattern")
_TEXTS: Final = ("description", "examples")
_READ_AS: Final = {"text": str, "object": dict}
"""What a value is read as, if its function (`then`) makes another type of it."""


def sample(example: object, note: str = "", *, schema: dict[str, Any] | None = None, **limits: Any) -> Meta:
    """Return the sample and the description of a member.

    `example` is a valid value as it stands in JSON; the samples of the document and of the CLI's tests are made of it.
    `schema` has further keywords of the JSON Schema, such as a `format`; `limits` are those of `msgspec.Meta`, such as
    `max_length`.
    """
    return Meta(examples=[example], description=note or None, extra_json_schema=schema, **limits)


def marked(**marks: Any) -> Meta:
    """Return marks for `shown` (`show`) or for the reader (the others; see `reading.py`)."""
    return Meta(extra=marks)


def about(note: str) -> Meta:
    """Return a description alone; the sample is that of the type."""
    return Meta(description=note)


def page_size(most: int, *, name: str = "entries per page", low: int = 1, shown: int = 50) -> Meta:
    """Return the limits of a number of a query; one above `most` is lowered to it, with a warning."""
    return Meta(ge=low, description=name, examples=[shown], extra={"most": most})


def const(value: str | bool) -> Meta:  # noqa: FBT001 -- a constant, no option
    """Return the sample and the limit of a member that has always the same value."""
    return sample(value, schema={"const": value})


def stored_json(text: str) -> msgspec.Raw:
    """Return stored JSON text to be sent unchanged."""
    return msgspec.Raw(text.encode())


Id = Annotated[str, sample("0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f", schema={"format": "uuid"})]
Time = Annotated[
    str, sample("2026-11-21T06:31:00.123Z", "ISO 8601, UTC", schema={"format": "date-time"}), marked(show=times.render)
]
NoTime = Annotated[Time | None, Meta(examples=[None])]
"""A time whose sample is null: of what happens rarely."""
Amount = Annotated[str, sample("25.00", "a decimal with two places", schema={"pattern": r"^-?[0-9]+\.[0-9]{2}$"})]
Currency = Annotated[str, sample("GHS")]
Phone = Annotated[str, sample("+233241234567", "E.164")]
Reference = Annotated[
    str,
    sample(
        "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f",
        "the transaction's public id",
        schema={"pattern": "^svc_trx_[0-9a-f]{32}$"},
    ),
]
OrderReference = Annotated[str, sample("order-1042")]
Code = Annotated[str, sample("A7K2M9", "the code that the customer types as payment reference")]
AccountName = Annotated[str, sample("Ama Provisions")]
TelcoId = Annotated[str, sample("0012345678")]
Provider = Annotated[str, sample("momo_mtn"), marked(words=canonical_names())]
Status = Annotated[TransactionStatus, sample(TransactionStatus.SUCCESS)]
BranchId = Annotated[str, sample("7k2mxq9")]
BranchName = Annotated[str, sample("kumasi", "the branch's name, in lists")]
Flag = Annotated[bool, Meta(examples=[False])]
On = Annotated[bool, Meta(examples=[True])]
Count = Annotated[int, Meta(ge=0, examples=[0])]
Test = Annotated[bool, sample(False, "true for everything that is not real money")]
Offset = Annotated[int, page_size(1_000_000_000_000, name="entries to skip", low=0, shown=0)]
"""At most larger than any list, and still a valid integer of the database."""
CursorOf1 = Annotated[
    tuple[int, ...],
    about("the `next_cursor` of the previous answer, independent of new entries"),
    marked(read="cursor", integers=1),
]
CursorOf2 = Annotated[CursorOf1, marked(integers=2)]
Notes = Annotated[
    str,
    sample("she showed her phone", "free text, for the record", max_length=NOTES_CHARACTERS_MAX),
    marked(lines=True),
]
FromTime = Annotated[int, sample("2026-11-20T00:00:00Z", "start of the time window, inclusive"), marked(read="time")]
ToTime = Annotated[int, sample("2026-11-21T00:00:00Z", "end of the time window, exclusive"), marked(read="time")]
UuidRead = marked(read="uuid")
ModeFilter = Annotated[Mode, sample("live", "only live money, or only the sandbox; default both")] | None
BranchFilter = (
    Annotated[str, sample("kumasi", "at a hub: only transactions of the branch with this name", max_length=40)] | None
)
DryRun = Annotated[bool, sample(True, "only return the result, without changes")]
Password = Annotated[str, sample("correct horse battery", "the account password"), marked(read="secret")]
ConfirmingPassword = Annotated[Password, marked(required=True)]
"""Described as required; without it the answer is INVALID_PASSWORD."""
Success = Annotated[bool, const(True)]
Warnings = (
    Annotated[
        list[Annotated[str, sample("Unknown field `colour` was ignored.")]],
        sample([], "ignored or lowered values, and other remarks"),
    ]
    | UnsetType
)
"""The last member of each `meta`: any call may have unknown parameters."""


class PageMeta(Struct, frozen=True):
    """The `meta` of a page of a list."""

    limit: Annotated[int, sample(50, ge=0)]
    offset: Count
    total: Annotated[int, sample(1, ge=0)]
    warnings: Warnings = UNSET


class OnlyWarnings(Struct, frozen=True):
    """A `meta` that has warnings at most."""

    warnings: Warnings = UNSET


class CursorPageMeta(Struct, frozen=True):
    """The `meta` of a page of a list with a cursor."""

    limit: Annotated[int, sample(50, ge=0)]
    offset: Count
    total: Annotated[int, sample(1, ge=0)]
    next_cursor: Annotated[str | None, sample(None, "the `after` of the next page; null on the last one")]
    warnings: Warnings = UNSET


RequestId = Annotated[str, sample("req_5d1f0c3a9b7e4c2d8f6a1b0c9d8e7f6a", schema={"pattern": "^req_[0-9a-f]{32}$"})]
Secret = Annotated[str, sample("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "the signing secret")]
STORED_JSON: Final = marked(show=stored_json)
"""The mark of a member that the row keeps as JSON text."""
Sentence = Annotated[Text | str, marked(read="text")]
FLAT: Final = marked(flat=True)
"""The mark of a member whose own members stand in its place: `flat` makes the JSON of such an answer."""


class DeclaredType(Struct, frozen=True):
    """A type as it is declared.

    Attributes:
        base: The class, `Literal`, `Union`, or `Any`.
        args: The types of the entries or members; the values of a literal.
        nullable: It may be None.
        limits: The limits by their name in `msgspec.Meta`.
        json: Its description, its sample and further keywords of its JSON Schema.
        marks: Its marks.
    """

    base: Any
    args: tuple[Any, ...]
    nullable: bool
    limits: dict[str, Any]
    json: dict[str, Any]
    marks: dict[str, Any]


class Member(Struct, frozen=True):
    """One member of a shape: its name in JSON, its attribute, its type, and its default if it may be absent."""

    name: str
    attribute: str
    kind: DeclaredType
    required: bool
    default: Any


@functools.cache
def members(shape: type[Struct]) -> tuple[Member, ...]:
    """Return the members of a shape in their order."""
    hints = get_type_hints(shape, include_extras=True)
    found: list[Member] = []
    for each in msgspec.structs.fields(shape):
        kind = kind_of(hints[each.name])
        if "flat" in kind.marks:
            found += members(kind.base)
        else:
            found.append(Member(each.encode_name, each.name, kind, each.required, each.default))
    return tuple(found)


def kind_of(hint: Any) -> DeclaredType:
    """Return a type as it is declared; what stands further outside replaces what stands further inside."""
    metas: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *found = get_args(hint)
        metas = tuple(found)
    if get_origin(hint) in (Union, UnionType):
        parts = [each for each in get_args(hint) if each not in (NoneType, UnsetType)]
        nullable = NoneType in get_args(hint)
        if len(parts) > 1:
            inner = DeclaredType(Union, tuple(map(kind_of, parts)), nullable, {}, {}, {})
        else:
            inner = kind_of(parts[0])
            inner = replace(inner, nullable=nullable or inner.nullable)
    else:
        origin = get_origin(hint) or hint
        of = get_args(hint)
        args = of if origin is Literal else tuple(kind_of(each) for each in of if each is not ...)
        inner = DeclaredType(origin, args, False, {}, {}, {})
    limits, texts, marks = dict(inner.limits), dict(inner.json), dict(inner.marks)
    for meta in metas:
        limits |= {name: value for name in _LIMITS if (value := getattr(meta, name)) is not None}
        texts |= {name: value for name in _TEXTS if (value := getattr(meta, name)) is not None}
        texts |= meta.extra_json_schema or {}
        marks |= meta.extra or {}
    base = _READ_AS.get(marks.get("read", ""), inner.base)
    return DeclaredType(base, inner.args, inner.nullable, limits, texts, marks)


def stored(request: Struct) -> dict[str, Any]:
    """Return the columns of a row that a request sets: its members that are not None, lists as JSON text."""
    return {
        name: json.dumps(value) if isinstance(value, list | tuple) else value
        for name in request.__struct_fields__
        if (value := getattr(request, name)) is not None
    }


def shown(shape: type[T], row: object, **given: Any) -> T:
    """Return an answer: each member as given, else the row's attribute of its name.

    Times are rendered, and stored JSON is passed on unchanged. A member that may be absent is taken only if it is given.
    """
    names, values_of, shows = _plan(shape, tuple(given))
    values = list(values_of(row))
    for at, show in shows:
        if values[at] is not None:
            values[at] = show(values[at])
    return shape(**dict(zip(names, values, strict=True)), **given)


def taken(shape: type[T], source: Struct, **given: Any) -> T:
    """Return a structure whose members are those of `source` with the same names, and the others as given."""
    names = {*shape.__struct_fields__} & {*source.__struct_fields__}
    return shape(**{name: getattr(source, name) for name in names} | given)


def flat(answer: Struct) -> dict[str, Any]:
    """Return the members of an answer that are present; those of a member marked `FLAT` stand in its place."""
    found: dict[str, Any] = {}
    for name, encoded, is_flat in _places(type(answer)):
        value = getattr(answer, name)
        if is_flat:
            found |= flat(value)
        elif value is not UNSET:
            found[encoded] = value
    return found


@functools.cache
def _places(shape: type[Struct]) -> tuple[tuple[str, str, bool], ...]:
    hints = get_type_hints(shape, include_extras=True)
    return tuple(
        (each.name, each.encode_name, "flat" in kind_of(hints[each.name]).marks)
        for each in msgspec.structs.fields(shape)
    )


@functools.cache
def _plan(
    shape: type[Struct], given: tuple[str, ...]
) -> tuple[tuple[str, ...], Callable[[object], Sequence[Any]], list[tuple[int, Any]]]:
    """Return the attributes that come from the row, what reads them, and how those at some places are rendered."""
    own = {*shape.__struct_fields__} - {*given}
    taken = [each for each in members(shape) if each.required and each.attribute in own]
    names = tuple(each.attribute for each in taken)
    shows = [(at, each.kind.marks.get("show")) for at, each in enumerate(taken)]
    # With one name, attrgetter returns the value itself.
    values_of = attrgetter(*names) if len(names) > 1 else lambda row: [getattr(row, names[0])]
    return names, values_of, [(at, show) for at, show in shows if show is not None]
