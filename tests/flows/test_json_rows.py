"""A statement reads any number of rows and members from one JSON array, on each database."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.store.rows import json_ids, json_rows
from daemon.wire import DeliveryStatus
from tests.fakes.shop import FakeShop

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
PLAIN = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@PLAIN
@given(rows=st.lists(st.tuples(NUMBERS | st.none(), TEXTS | st.none()), max_size=40))
async def test_rows_come_back_as_they_were_and_in_their_order(
    shop: FakeShop, rows: list[tuple[int | None, str | None]]
) -> None:
    sql = "SELECT CAST(value ->> 0 AS BIGINT), value ->> 1 FROM json_each(:rows)"
    params = {"rows": json_rows(rows)}
    assert await shop.env.store.read(lambda reader: reader.all(sql, params)) == rows


@PLAIN
@given(members=st.lists(NUMBERS, max_size=40), texts=st.lists(TEXTS, max_size=40))
async def test_members_come_back_as_they_were(shop: FakeShop, members: list[int], texts: list[str]) -> None:
    sql = "SELECT CAST(value AS BIGINT) FROM json_each(:members)"
    params = {"members": json_rows(members)}
    found = await shop.env.store.read(lambda reader: reader.all(sql, params))
    assert [number for (number,) in found] == members
    sql = "SELECT value ->> 0 FROM json_each(:texts)"
    params = {"texts": json_ids(texts)}
    found = await shop.env.store.read(lambda reader: reader.all(sql, params))
    assert [text for (text,) in found] == texts


def test_a_member_of_an_enumeration_is_its_value() -> None:
    assert json_rows([(DeliveryStatus.PENDING, None)]) == '[["pending",null]]'
