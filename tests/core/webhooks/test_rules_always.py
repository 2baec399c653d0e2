"""Routing rules: properties that hold for every filter and every payment."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.webhooks import rules
from daemon.core.webhooks.routing import shown_values
from daemon.core.webhooks.rule_fields import (
    FIELDS,
    PART_OPERATORS,
    ShownFacts,
    kind_of,
)
from daemon.core.webhooks.rules import Filter, explain_filter, read_filter
from tests.core.webhooks.test_rules import FACTS, read

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10_000, 10_000),
    st.text(max_size=8),
    st.sampled_from(
        ["25.00", "mtn", "+233244124567", "SUCCESS", "RENT", "2026-11-21T08:02:00Z", "momo_mtn"]
    ),
)
NAMES = st.sampled_from([*FIELDS, "meta.table", "meta.a.b", "colour", "telco"])
CONDITIONS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(rules.OPERATORS), inner, max_size=3),
        st.lists(inner, max_size=3),
    ),
    max_leaves=6,
)
FILTERS = st.recursive(
    st.dictionaries(NAMES, CONDITIONS, max_size=3),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$not": inner}),
        st.fixed_dictionaries({"$or": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"$and": st.lists(inner, max_size=3)}),
    ),
    max_leaves=5,
)
SAMPLES = st.dictionaries(st.sampled_from([*FIELDS, "meta.table", "meta"]), SCALARS, max_size=6)


@st.composite
def valid_filters(draw: st.DrawFn, depth: int = 1) -> dict[str, Any]:
    """Valid filters with every field and operator."""
    found: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from([*FIELDS, "meta.table"]), max_size=2)):
        kind = kind_of(name)
        assert kind is not None
        good = [
            text
            for text in ("25.00", "mtn", "0244124567", "SUCCESS", "EXACT", "7", "true",
                         "2026-11-21T08:02:00Z", "momo_mtn", "code", "Rent", "receipt")
            if kind.raw(text) is not None
        ]  # fmt: skip
        value = draw(st.sampled_from(good))
        operator = draw(st.sampled_from(["$eq", "$neq", "$in", "$nin", "$exist", *kind.operators]))
        wanted: Any = {"$in": [value, None], "$nin": [value], "$exist": True}.get(operator, value)
        if operator in PART_OPERATORS:
            wanted = "+233" if name.endswith("phone_number") else value
        found[name] = {operator: wanted}
    if depth < 4 and draw(st.booleans()):
        inner = st.lists(valid_filters(depth + 1), min_size=1, max_size=2)
        logic = draw(st.sampled_from(["$and", "$or", "$not"]))
        found[logic] = draw(valid_filters(depth + 1)) if logic == "$not" else draw(inner)
    return found


@given(filter_=FILTERS, sample=SAMPLES)
def test_no_filter_and_no_payment_raises(filter_: Any, sample: dict[str, Any]) -> None:
    found = read_filter(json.dumps(filter_))
    if isinstance(found, Filter):
        found.root.holds(ShownFacts(sample))
        found.root.holds(FACTS)
        explain_filter(found, ShownFacts(sample))
    else:
        assert found
        assert all(error.field.startswith("filter") for error in found)


@given(filter_=valid_filters(depth=2), sample=SAMPLES)
def test_not_gives_the_opposite_of_every_filter(filter_: Any, sample: dict[str, Any]) -> None:
    plain, inverted = read(filter_), read({"$not": filter_})
    for facts in (FACTS, ShownFacts(sample)):
        assert plain.root.holds(facts) is not inverted.root.holds(facts)


@given(filter_=valid_filters())
def test_a_filter_survives_being_written_and_read_again(filter_: Any) -> None:
    text = json.dumps(filter_)
    assert json.loads(text) == filter_
    assert read_filter(text) == read_filter(json.dumps(json.loads(text), indent=1))


@given(filter_=valid_filters())
def test_what_is_kept_of_a_payment_decides_as_the_payment_did(filter_: Any) -> None:
    found = read(filter_)
    kept = ShownFacts(json.loads(json.dumps(shown_values(FACTS, found.names))))
    assert found.root.holds(kept) is found.root.holds(FACTS)
    assert explain_filter(found, kept) == explain_filter(found, FACTS)
