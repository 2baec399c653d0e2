"""Reading fields: accepted values, rejected values, and one answer that names all errors."""

from typing import Any

import pytest

from daemon.api.http.body import parse
from daemon.api.http.fields import Fields, Query
from daemon.core.errors import Refusal


def wrong(fields: Fields) -> list[tuple[str, str]]:
    return [(error.field, error.code) for error in fields.errors]


@pytest.mark.parametrize(("text", "read"), [("2", 2), ("2.0", 2), ("20e-1", 2)])
def test_a_whole_number_may_be_written_with_a_fraction_of_zero(text: str, read: int) -> None:
    # JSON Schema (2020-12, section 6.1.1 of validation) calls it an integer, and PHP and Lua write it so.
    fields = Fields(parse(b'{"days": %b}' % text.encode()))
    assert fields.integer("days", 1, 3) == read
    assert fields.errors == []


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("2.5", "wrong_type"),
        ("true", "wrong_type"),
        ('"2"', "wrong_type"),
        ("0", "out_of_range"),
        ("1e300", "out_of_range"),
    ],
)
def test_other_numbers_are_wrong(value: str, code: str) -> None:
    fields = Fields(parse(b'{"days": %b}' % value.encode()))
    assert fields.integer("days", 1, 3) is None
    assert wrong(fields) == [("days", code)]


@pytest.mark.parametrize("size", ["2305843009213693951", "9" * 900])
def test_a_page_beyond_all_measure_is_lowered_like_any_other(size: str) -> None:
    query = Query({"limit": size, "offset": size})
    limit, offset = query.page(50, 200)
    assert (limit, offset) == (200, 1_000_000_000_000)
    assert query.errors == []
    assert len(query.warnings) == 2


def test_blanks_are_trimmed_and_count() -> None:
    assert Fields({"name": " Ama "}).text("name", most=5) == "Ama"
    fields = Fields({"name": " Ama  "})
    assert fields.text("name", most=5) is None
    assert wrong(fields) == [("name", "too_long")]


@pytest.mark.parametrize(("blank", "errors"), [(True, []), (False, [("name", "required")])])
def test_an_empty_text_is_absent_or_wrong(blank: bool, errors: list[Any]) -> None:
    fields = Fields({"name": "  "})
    assert fields.text("name", blank=blank) is None
    assert wrong(fields) == errors


def test_what_is_wrong_inside_is_told_with_the_rest() -> None:
    fields = Fields({"sim": {"slot_index": "x"}, "name": 1})
    inner = fields.inside("sim")
    assert inner is not None
    inner.integer("slot_index", 0, 15)
    fields.text("name")
    with pytest.raises(Refusal) as told:
        fields.done()
    assert [each["field"] for each in told.value.extras["details"]] == ["sim.slot_index", "name"]


def test_each_wrong_entry_of_a_list_is_named() -> None:
    fields = Fields({"scopes": ["a", "x", 7]})
    assert fields.words("scopes", ("a", "b"), most=9) is None
    assert wrong(fields) == [("scopes[1]", "invalid"), ("scopes[2]", "invalid")]


def test_a_plus_that_was_not_escaped_is_a_zone() -> None:
    assert Query({"from": "2026-01-31T08:00:00 00:00"}).time("from") == 1_769_846_400_000_000


@pytest.mark.parametrize("kind", ["word", "time", "uuid", "phone"])
def test_an_empty_word_time_number_or_id_is_wrong_and_not_absent(kind: str) -> None:
    # An empty `kind` made a secret key, and an empty `expected_payer_phone` gave no protection.
    fields = Fields({"it": ""})
    arguments: tuple[Any, ...] = (("a", "b"),) if kind == "word" else ()
    assert getattr(fields, kind)("it", *arguments) is None
    assert wrong(fields) == [("it", "required")]
