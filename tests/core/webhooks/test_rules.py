"""The language of routing rules: one test for each of its statements."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.json_values import dump
from daemon.core.webhooks import rules
from daemon.core.webhooks.routing import shown_values
from daemon.core.webhooks.rule_fields import FIELDS, PART_OPERATORS, PaymentFacts, ShownFacts, kind_of
from daemon.core.webhooks.rule_json import RuleTrialAnswer
from daemon.core.webhooks.rules import NEVER, Filter, explain_filter, read_filter, stored_filter
from tests.fakes import rows
from tests.fakes.each import each

FACTS = PaymentFacts(
    rows.verified(client_reference="Order-7"),
    rows.payment(amount_minor=2500, reference_text="Rent June A7K2M9"),
    rows.method(),
)


def read(filter_: Any) -> Filter:
    found = read_filter(json.dumps(filter_))
    assert isinstance(found, Filter), found
    return found


def claims(filter_: Any) -> bool:
    return read(filter_).root.holds(FACTS)


def wrong(filter_: Any) -> list[tuple[str, str]]:
    found = read_filter(json.dumps(filter_, ensure_ascii=False))
    assert isinstance(found, list), filter_
    return [(error.field, error.code) for error in found]


@each(
    ("filter_", "claimed"),
    [
        ({"amount": {"$eq": "25.00"}}, True),
        ({"amount": {"$neq": "25.00"}}, False),
        ({"amount": {"$gt": "25.00"}}, False),
        ({"amount": {"$gt": "24.99"}}, True),
        ({"amount": {"$gte": "25.00"}}, True),
        ({"amount": {"$lt": "25.00"}}, False),
        ({"amount": {"$lte": "25.00"}}, True),
        ({"telco.provider": {"$in": ["telecel", "mtn"]}}, True),
        ({"telco.provider": {"$nin": ["telecel", "mtn"]}}, False),
        ({"telco.reference_text": {"$startsWith": "RENT"}}, True),
        ({"telco.reference_text": {"$endsWith": "a7k2m9"}}, True),
        ({"telco.reference_text": {"$contains": "june"}}, True),
        ({"telco.reference_text": {"$contains": "july"}}, False),
        ({"payer.name": {"$exist": True}}, True),
        ({"payer.name": {"$exist": False}}, False),
        ({"payer_source.phone_number": "receipt", "payer_source.name": "Receipt"}, True),
        ({"payer_source.phone_number": "request"}, False),
        ({"$and": [{"currency": "GHS"}, {"late": False}]}, True),
        ({"$and": [{"currency": "GHS"}, {"late": True}]}, False),
        ({"$or": [{"currency": "USD"}, {"late": False}]}, True),
        ({"$or": [{"currency": "USD"}, {"late": True}]}, False),
        ({"$not": {"late": True}}, True),
        ({"amount": {"$not": {"$gt": "10"}}}, False),
        ({"amount": {"$or": [{"$lt": "5"}, {"$gt": "20"}]}}, True),
        ({"amount": {"$and": [{"$gt": "5"}, {"$lt": "20"}]}}, False),
    ],
)
def test_each_operator_claims_what_it_says(filter_: Any, claimed: bool) -> None:
    assert claims(filter_) is claimed


def test_the_keys_of_a_filter_are_joined_by_and() -> None:
    both = {
        "payment_method.phone_number": "+233244124567",
        "amount": {"$gte": "20.00", "$lt": "30.00"},
        "telco.reference_text": {"$startsWith": "RENT"},
    }
    assert claims(both)
    assert not claims({**both, "late": True})


def test_a_filter_without_a_condition_claims_every_payment() -> None:
    assert claims({})


def test_amounts_compare_as_numbers() -> None:
    assert claims({"amount": {"$gt": "9.00"}})  # as text "25.00" would come first
    assert claims({"amount": "25"})
    assert claims({"amount": 25})
    assert claims({"amount": 25.0})
    assert wrong({"amount": {"$gte": "5e1"}}) == [("filter.amount.$gte", "invalid")]
    assert wrong({"amount": "25.001"}) == [("filter.amount", "invalid")]


def test_phones_compare_as_e164() -> None:
    assert claims({"payment_method.phone_number": "024 412 4567"})
    assert claims({"payment_method.phone_number": {"$startsWith": "+23324"}})
    assert claims({"payment_method.phone_number": {"$endsWith": "567"}})
    assert wrong({"payment_method.phone_number": "12"}) == [("filter.payment_method.phone_number", "invalid")]


def test_a_phone_does_not_start_with_a_local_prefix() -> None:
    # It would be accepted and would never match.
    assert wrong({"payer.phone_number": {"$startsWith": "024"}}) == [
        ("filter.payer.phone_number.$startsWith", "invalid")
    ]


def test_reference_text_compares_case_insensitively() -> None:
    assert claims({"telco.reference_text": "rent june a7k2m9"})
    assert claims({"telco.reference_text": {"$in": ["x", "RENT JUNE A7K2M9"]}})


def test_a_client_reference_is_compared_as_it_is() -> None:
    assert claims({"client_reference": "Order-7"})
    assert not claims({"client_reference": "order-7"})


def test_aliases_of_a_provider_are_accepted() -> None:
    assert claims({"payment_method.provider": {"$nin": ["momo_vodafone"]}})
    assert claims({"payment_method.provider": "momo_mtn"})


def test_what_the_order_was_made_with_compares_as_text() -> None:
    assert claims({"meta.table": 4})
    assert claims({"meta.table": "4"})
    assert claims({"meta.branch": {"$exist": False}})
    assert claims({"meta.vat": {"$startsWith": "1."}})


def test_times_compare_as_times() -> None:
    assert claims({"received_at": {"$gte": "2026-11-21T09:02:00+01:00"}})
    assert not claims({"received_at": {"$lt": "2026-11-21T08:02:00Z"}})


def test_what_is_unknown_equals_null_and_nothing_else() -> None:
    unplaced = PaymentFacts(rows.verified(), rows.payment(payment_method_id=None), None)
    for filter_, claimed in (
        ({"payment_method.phone_number": None}, True),
        ({"payment_method.phone_number": {"$neq": "0244124567"}}, True),
        ({"payment_method.phone_number": {"$nin": ["0244124567"]}}, True),
        ({"payment_method.phone_number": {"$in": [None]}}, True),
        ({"payment_method.phone_number": {"$startsWith": "+233"}}, False),
        ({"payment_method.phone_number": {"$exist": True}}, False),
        ({"difference": {"$lte": "0"}}, False),
    ):
        assert read(filter_).root.holds(unplaced) is claimed, filter_


def test_an_unknown_field_is_named_with_its_path() -> None:
    assert wrong({"$or": [{"late": True}, {"colour": "red"}]}) == [("filter.$or[1].colour", "unknown_field")]
    assert wrong({"telco": {"provider": "mtn"}}) == [("filter.telco", "unknown_field")]
    assert wrong({"meta.": 1}) == [("filter.meta.", "unknown_field")]


def test_an_unknown_operator_is_named_with_its_path() -> None:
    assert wrong({"amount": {"$regex": "2.*"}}) == [("filter.amount.$regex", "unknown_operator")]
    assert wrong({"$nor": [{"late": True}]}) == [("filter.$nor", "unknown_operator")]
    assert wrong({"amount": {"gte": "5"}}) == [("filter.amount.gte", "unknown_operator")]
    assert wrong({"amount": {"$startsWith": "2"}}) == [("filter.amount.$startsWith", "unknown_operator")]


def test_everything_wrong_is_said_at_once() -> None:
    assert wrong({"amount": "x", "late": 1, "$and": [], "sim.slot_index": {"$in": []}}) == [
        ("filter.amount", "invalid"),
        ("filter.late", "invalid"),
        ("filter.$and", "wrong_type"),
        ("filter.sim.slot_index.$in", "wrong_type"),
    ]


def nested(levels: int) -> Any:
    filter_: Any = {"late": False}
    for _ in range(levels - 1):
        filter_ = {"$and": [filter_]}
    return filter_


def test_filters_are_four_deep_at_most() -> None:
    assert claims(nested(4))
    assert wrong(nested(5)) == [("filter.$and[0].$and[0].$and[0].$and[0]", "too_deep")]


def test_a_filter_has_four_kilobytes_at_most() -> None:
    def of(size: int) -> str:
        text = json.dumps({"client_reference": ""}, separators=(",", ":"))
        return text.replace('""', f'"{"x" * (size - len(text))}"')

    assert isinstance(read_filter(of(4096)), Filter)
    found = read_filter(of(4097))
    assert isinstance(found, list)
    assert [error.code for error in found] == ["too_long"]


def test_a_stored_filter_that_cannot_be_read_claims_nothing() -> None:
    assert stored_filter('{"of a newer momo":1}') is NEVER
    assert not NEVER.root.holds(FACTS)


def test_each_clause_says_what_it_wanted_and_what_it_saw() -> None:
    text = json.dumps({"amount": {"$gte": "50.00"}, "$or": [{"late": True}, {"currency": "ghs"}]})
    assert json.loads(dump(RuleTrialAnswer.of(text, FACTS).clauses)) == [
        {
            "path": "amount.$gte",
            "field": "amount",
            "operator": "$gte",
            "expected": "50.00",
            "actual": "25.00",
            "matched": False,
        },
        {
            "path": "$or[0].late",
            "field": "late",
            "operator": "$eq",
            "expected": True,
            "actual": False,
            "matched": False,
        },
        {
            "path": "$or[1].currency",
            "field": "currency",
            "operator": "$eq",
            "expected": "ghs",
            "actual": "GHS",
            "matched": True,
        },
    ]


def test_there_is_a_field_for_each_member_of_the_payload() -> None:
    from daemon.core.json_values import dump
    from daemon.core.webhooks.body import forwarded

    data = forwarded(rows.verified(), rows.payment(), rows.method())
    leaves = {
        name if not isinstance(value, dict) else f"{name}.{inner}": value[inner] if isinstance(value, dict) else value
        for name, value in json.loads(dump(data)).items()
        if name != "meta"
        for inner in (value if isinstance(value, dict) else [""])
    }
    facts = PaymentFacts(rows.verified(), rows.payment(), rows.method())
    # Only a hub's payloads name a branch.
    assert shown_values(facts, frozenset(FIELDS)) == leaves | {"branch.id": None}


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10_000, 10_000),
    st.text(max_size=8),
    st.sampled_from(["25.00", "mtn", "+233244124567", "SUCCESS", "RENT", "2026-11-21T08:02:00Z", "momo_mtn"]),
)
NAMES = st.sampled_from([*FIELDS, "meta.table", "meta.a.b", "colour", "telco"])
CONDITIONS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(rules.OPERATORS), inner, max_size=3), st.lists(inner, max_size=3)
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
