"""Reading a request into its declared shape: accepted values, rejected values, and one answer that names all errors."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import given, strategies
from msgspec import UNSET, Meta, Struct, UnsetType, field, structs

from daemon.api.http.body import parse
from daemon.core.errors import Refusal
from daemon.core.reading import Wrong, read, read_query
from daemon.core.shape import marked
from daemon.wire import Mode


class Slot(Struct, frozen=True):
    slot_index: Annotated[int, Meta(ge=0, le=15)]


class Everything(Struct, frozen=True):
    name: Annotated[str, Meta(max_length=5)] | None = None
    label: Annotated[str, marked(empty=True)] | None = None
    reason: Annotated[str, Meta(min_length=1), marked(lines=True)] | None = None
    late: bool | None = None
    days: Annotated[int, Meta(ge=1, le=3)] | None = None
    mode: Mode | None = None
    kind: Literal["b", "a"] | None = None
    modes: Annotated[tuple[Mode, ...], Meta(max_length=3), marked(holds=Mode.LIVE)] | None = None
    ids: Annotated[list[str], Meta(max_length=2)] | None = None
    meta: Annotated[dict[str, Any], marked(most_bytes=10)] | None = None
    slot: Annotated[Slot, marked(null=True)] | UnsetType | None = UNSET
    amount: Annotated[int, marked(read="amount", currency="currency")] | None = None
    paid: Annotated[int, marked(read="amount", number=True)] | None = None
    phone: Annotated[str, marked(read="phone")] | None = None
    provider: Annotated[str, marked(read="provider")] | None = None
    password: Annotated[str, marked(read="secret")] | None = None
    since: Annotated[int, marked(read="time")] | None = field(name="from", default=None)
    id: Annotated[str, marked(read="uuid")] | None = None
    any: Annotated[Any, marked(read="any")] = None


def wrong(shape: type[Struct], body: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    with pytest.raises(Refusal) as refused:
        read(shape, body)
    return [(each["field"], each["code"], each["message"]) for each in refused.value.extras["details"]]


@pytest.mark.parametrize(
    ("json", "found"),
    [
        ('{"name": " Ama "}', {"name": "Ama"}),
        ('{"name": "  "}', {"name": None}),
        ('{"label": " "}', {"label": ""}),
        ('{"reason": "a\\n\\tb"}', {"reason": "a\n\tb"}),
        ('{"late": false}', {"late": False}),
        ('{"days": 2}', {"days": 2}),
        # JSON Schema (2020-12, section 6.1.1 of validation) calls these integers, and PHP and Lua write them so.
        ('{"days": 2.0}', {"days": 2}),
        ('{"days": 20e-1}', {"days": 2}),
        ('{"mode": " test"}', {"mode": Mode.TEST}),
        ('{"kind": "a"}', {"kind": "a"}),
        ('{"modes": ["live", "live"]}', {"modes": (Mode.LIVE, Mode.LIVE)}),
        ('{"ids": [" a "]}', {"ids": [" a "]}),
        ('{"meta": {"a": 1}}', {"meta": {"a": 1}}),
        ('{"slot": {"slot_index": 1}}', {"slot": Slot(1)}),
        ('{"slot": null}', {"slot": None}),
        ("{}", {"slot": UNSET, "name": None}),
        ('{"amount": "12.5"}', {"amount": 1250}),
        ('{"paid": 0.29}', {"paid": 29}),
        ('{"paid": 7}', {"paid": 700}),
        ('{"phone": "024 476 5432"}', {"phone": "+233244765432"}),
        ('{"provider": "momo_vodafone"}', {"provider": "momo_telecel"}),
        ('{"password": " x "}', {"password": " x "}),
        ('{"from": "1970-01-01T00:00:01Z"}', {"since": 1_000_000}),
        ('{"id": "0192F0C1-7D2A-7C3E-9A54-3F2B8C1D4E5F"}', {"id": "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"}),
        ('{"any": [1]}', {"any": [1]}),
        ('{"name": null, "days": null}', {"name": None, "days": None}),
    ],
)
def test_a_good_value_is_read(json: str, found: dict[str, Any]) -> None:
    value, warnings = read(Everything, parse(json.encode()))
    assert {name: getattr(value, name) for name in found} == found
    assert warnings == []


_DECIMAL = "must be digits with at most 2 decimals, 0.01 to 1000000.00"
_TIME = "must be ISO 8601 with a zone, such as 2026-01-31T08:00:00Z"
_PHONE = "must be a phone number such as 0244765432 or +447700900123"


@pytest.mark.parametrize(
    ("json", "errors"),
    [
        ('{"name": 1}', [("name", "wrong_type", "must be a string")]),
        ('{"name": " Ama  "}', [("name", "too_long", "has more than 5 characters")]),
        ('{"name": "a\\nb"}', [("name", "invalid", "holds control characters")]),
        ('{"reason": " "}', [("reason", "required", "may not be empty")]),
        ('{"reason": "a\\u0000"}', [("reason", "invalid", "holds control characters")]),
        ('{"late": 1}', [("late", "wrong_type", "must be true or false")]),
        ('{"days": 2.5}', [("days", "wrong_type", "must be a whole number")]),
        ('{"days": true}', [("days", "wrong_type", "must be a whole number")]),
        ('{"days": "2"}', [("days", "wrong_type", "must be a whole number")]),
        ('{"days": 0}', [("days", "out_of_range", "must be from 1 to 3")]),
        ('{"days": 1e300}', [("days", "out_of_range", "must be from 1 to 3")]),
        ('{"mode": ""}', [("mode", "required", "may not be empty")]),
        ('{"provider": " "}', [("provider", "required", "may not be empty")]),
        ('{"mode": "x"}', [("mode", "invalid", "must be one of live, test")]),
        ('{"kind": "c"}', [("kind", "invalid", "must be one of b, a")]),
        ('{"modes": "live"}', [("modes", "wrong_type", "must be a list of strings")]),
        ('{"modes": ["test"]}', [("modes", "invalid", "must hold live")]),
        (
            '{"modes": ["live", "x", 7]}',
            [
                ("modes[1]", "invalid", "must be one of live, test"),
                ("modes[2]", "invalid", "must be one of live, test"),
            ],
        ),
        ('{"ids": []}', [("ids", "out_of_range", "must hold 1 to 2 entries")]),
        ('{"ids": [1]}', [("ids[0]", "wrong_type", "must be a string")]),
        ('{"meta": []}', [("meta", "wrong_type", "must be an object")]),
        ('{"meta": {"abcdef": 1}}', [("meta", "too_long", "is larger than 10 bytes as compact JSON")]),
        ('{"slot": 1}', [("slot", "wrong_type", "must be an object")]),
        ('{"slot": {}}', [("slot.slot_index", "required", "this field is required")]),
        ('{"amount": "1.234"}', [("amount", "invalid", _DECIMAL)]),
        ('{"amount": 7}', [("amount", "wrong_type", 'must be a string, such as "12.50"')]),
        ('{"paid": true}', [("paid", "wrong_type", 'must be a decimal, as a string or a number, such as "12.50"')]),
        ('{"phone": "12"}', [("phone", "invalid", _PHONE)]),
        ('{"provider": "x"}', [("provider", "invalid", "must be one of momo_mtn, momo_telecel, momo_at")]),
        ('{"password": 1}', [("password", "wrong_type", "must be a string")]),
        ('{"from": "yesterday"}', [("from", "invalid", _TIME)]),
        ('{"id": "7"}', [("id", "invalid", "must be a UUID")]),
    ],
)
def test_a_bad_value_is_named_with_its_reason(json: str, errors: list[Any]) -> None:
    assert wrong(Everything, parse(json.encode())) == errors


def test_unknown_members_are_told_in_warnings() -> None:
    _, warnings = read(Everything, {"colour": 1, "x" * 300: 2})
    assert warnings == ["Unknown field `colour` was ignored.", f"Unknown field `{'x' * 200}` was ignored."]


def _upper(text: str) -> object:
    return Wrong("invalid", "must not be x") if text == "x" else text.upper()


class Strict(Struct, frozen=True, forbid_unknown_fields=True):
    known: ClassVar = ("key",)

    first: Annotated[str, Meta(min_length=1), marked(then=_upper)]
    second: Annotated[int, Meta(ge=0, le=9)] | None = None
    third: Annotated[int, Meta(ge=0, le=9)] | None = None

    @staticmethod
    def check(given: Mapping[str, Any], body: Mapping[str, Any], fail: Any) -> None:
        if "second" in given and "third" in given and given["second"] > given["third"]:
            fail("third", "out_of_range", "must not be less than `second`")
        if len(body) > 4:
            fail("body", "too_long", "has too many members")


def test_what_a_function_makes_of_a_value_counts() -> None:
    assert read(Strict, {"first": "a", "key": 1}) == (Strict("A"), [])
    assert wrong(Strict, {"first": "x"}) == [("first", "invalid", "must not be x")]


def test_errors_have_the_order_of_the_declaration_and_those_of_the_whole_come_last() -> None:
    body = {"colour": 1, "third": 3, "second": 5, "more": 1, "key": 2}
    assert wrong(Strict, body) == [
        ("first", "required", "this field is required"),
        ("colour", "unknown_field", "there is no such field"),
        ("more", "unknown_field", "there is no such field"),
        ("third", "out_of_range", "must not be less than `second`"),
        ("body", "too_long", "has too many members"),
    ]


def test_a_check_of_two_members_never_sees_a_bad_one() -> None:
    assert wrong(Strict, {"first": "a", "second": "9", "third": 3}) == [
        ("second", "wrong_type", "must be a whole number")
    ]


_JSON: Any = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats(allow_nan=False, allow_infinity=False)
    | strategies.text(max_size=8)
    | strategies.sampled_from(["live", "2026-01-31T08:00:00Z", "0244765432", "12.50"]),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(strategies.text(max_size=5) | strategies.just("slot_index"), inner)
    ),
    max_leaves=5,
)
_NAMES = [each.encode_name for each in structs.fields(Everything)]


@given(strategies.dictionaries(strategies.sampled_from(_NAMES) | strategies.text(max_size=4), _JSON))
def test_any_body_is_read_or_refused_with_the_members_that_are_wrong(body: dict[str, Any]) -> None:
    try:
        read(Everything, body)
    except Refusal as refused:
        for each in refused.extras["details"]:
            member = each["field"].partition(".")[0].partition("[")[0]
            assert body.get(member) is not None


class Page(Struct, frozen=True):
    limit: Annotated[int, Meta(ge=1), marked(most=200)] = 50
    offset: Annotated[int, Meta(ge=0), marked(most=10**12)] = 0
    all: bool = False
    mode: Mode | None = None
    since: Annotated[int, marked(read="time")] | None = None
    after: Annotated[tuple[int, ...], marked(read="cursor", integers=2)] | None = None


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"limit": "7"}, {"limit": 7}),
        ({"limit": "", "mode": ""}, {"limit": 50, "mode": None}),
        ({"all": "1"}, {"all": True}),
        ({"all": "false"}, {"all": False}),
        ({"mode": "live"}, {"mode": Mode.LIVE}),
        # A plus that was not escaped is a blank here.
        ({"since": "1970-01-01T01:00:01 01:00"}, {"since": 1_000_000}),
        ({"after": "WzEsMl0"}, {"after": (1, 2)}),
    ],
)
def test_a_query_is_read(query: dict[str, str], found: dict[str, Any]) -> None:
    value, warnings = read_query(Page, query)
    assert {name: getattr(value, name) for name in found} == found
    assert warnings == []


@pytest.mark.parametrize("size", ["2305843009213693951", "9" * 900])
def test_a_page_beyond_all_measure_is_lowered_like_any_other(size: str) -> None:
    value, warnings = read_query(Page, {"limit": size, "offset": size})
    assert value == Page(200, 10**12)
    assert warnings == ["`limit` was lowered to 200.", "`offset` was lowered to 1000000000000."]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"limit": "x"}, "wrong_type"),
        ({"limit": "0"}, "out_of_range"),
        ({"all": "yes"}, "wrong_type"),
        ({"mode": "x"}, "invalid"),
        ({"after": "WzFd"}, "invalid"),
    ],
)
def test_a_bad_parameter_is_named(query: dict[str, str], code: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_query(Page, query)
    details = refused.value.extras["details"]
    assert [(each["field"], each["code"]) for each in details] == [(*query, code)]
