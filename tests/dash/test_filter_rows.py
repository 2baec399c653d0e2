"""Rows of a form and the filter of a rule are the same thing; a filter that rows cannot express stays JSON."""

import json

import pytest

from daemon.dash.pages.webhooks.rules import FilterRow, filter_of, rows_of
from daemon.wire import Role
from tests.dash.places import ENDPOINT
from tests.fakes import outbox
from tests.fakes.api import FakeApi
from tests.fakes.dash import log_in

HOOK = f"/dash/webhooks/{ENDPOINT}"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"amount": {"$gte": "50.00"}},
        {"amount": {"$gte": "50", "$lt": "500"}, "telco.provider": {"$in": ["mtn", "telecel"]}},
        {"meta.branch": {"$eq": "4"}, "$and": [{"meta.branch": {"$eq": "5"}}]},
        {"payer.name": {"$exist": False}},
    ],
)
def test_a_plain_filter_and_its_rows_say_the_same(given: dict[str, object]) -> None:
    rows = rows_of(given)
    assert rows is not None
    assert filter_of(rows) == given


def test_a_bare_value_is_a_row_too() -> None:
    rows = rows_of({"late": True})
    assert rows is not None
    assert rows[0] == FilterRow("late", "$eq", "true")


@pytest.mark.parametrize(
    "given",
    [
        {"$or": [{"late": True}]},
        {"amount": {"$not": {"$gt": "5"}}},
        {"amount": None},
        {"payer.name": {"$in": ["A, B"]}},
        {f"meta.m{number}": "1" for number in range(7)},
        [1],
    ],
)
def test_what_rows_cannot_say_stays_json(given: object) -> None:
    assert rows_of(given) is None


async def test_a_rule_is_made_of_rows_without_typing_json(api: FakeApi) -> None:
    await outbox.add_endpoint(api.shop, ENDPOINT)
    person = await log_in(api, Role.MANAGER)
    shown = (await person.get(f"{HOOK}/rules/new")).text
    assert 'name="field_0" value="amount"' in shown
    assert "textarea" not in shown
    form = {
        "name": "rent",
        "enabled": "1",
        "field_0": "telco.reference_text",
        "operator_0": "$startsWith",
        "value_0": "RENT",
        "field_1": "amount",
        "operator_1": "$gte",
        "value_1": "50",
    }
    answer = await person.post(f"{HOOK}/rules/new", form)
    assert answer.status_code == 303
    [(rule, stored)] = await api.shop.values("SELECT id, filter FROM rules")
    assert json.loads(stored) == {"telco.reference_text": {"$startsWith": "RENT"}, "amount": {"$gte": "50"}}
    page = (await person.get(f"{HOOK}/rules/{rule}")).text
    assert 'name="value_0" value="RENT"' in page
    assert "textarea" in (await person.get(f"{HOOK}/rules/{rule}?as=json")).text
    wrong = await person.post(f"{HOOK}/rules/new", {**form, "field_1": "colour"})
    assert wrong.status_code == 422
    assert "filter.colour" in wrong.text
    assert 'name="value_0" value="RENT"' in wrong.text
