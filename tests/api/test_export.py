"""Export of whole tables page by page: in order, each row once, and recorded in the journal."""

import json
from typing import Any

import pytest

from daemon.api.books import KINDS
from momo_cli.commands.books.export import COLUMNS
from tests.fakes.api import FakeApi
from tests.fakes.receipts import mtn

PATH = "/local/v1/export/"


async def filled(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    await api.shop.request(900)
    hook = {"url": "https://shop.example/hook"}
    await api.live.post("/v1/open-collections/endpoints", json=hook)
    code = str(request.svc_code)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 92_500, code, "93214500001"))
    api.shop.clock.advance(3600)
    await api.shop.read(mtn(900, "ESI OWUSU MENSAH", 93_400, "rent paid", "93214500002"))


@pytest.mark.parametrize("what", KINDS)
async def test_pages_join_and_columns_are_the_documented_ones(api: FakeApi, what: str) -> None:
    await filled(api)
    # Each export adds an entry to the journal.
    whole = (await api.local.get(PATH + what)).json()
    assert whole["meta"]["next"] is None
    assert list(whole["data"][0]) == list(COLUMNS[what])
    found: list[Any] = []
    after: int | None = 0
    while after is not None and len(found) < len(whole["data"]):
        page = (await api.local.get(PATH + what, params={"after": after, "limit": 1})).json()
        found += page["data"]
        after = page["meta"]["next"]
    assert found == whole["data"]


async def test_times_narrow_a_table(api: FakeApi) -> None:
    await filled(api)
    rows = (await api.local.get(PATH + "payments")).json()["data"]
    later = {"from": rows[1]["stored_at"]}
    earlier = {"to": rows[1]["stored_at"]}
    for query, wanted in ((later, rows[1:]), (earlier, rows[:1])):
        assert (await api.local.get(PATH + "payments", params=query)).json()["data"] == wanted


async def test_texts_are_shown_when_asked_for_and_the_journal_says_who_did(api: FakeApi) -> None:
    await filled(api)
    masked = (await api.local.get(PATH + "messages")).text
    assert "KOFI" not in masked
    shown = (await api.local.get(PATH + "messages", params={"show_body": "1"})).json()["data"]
    assert "KOFI" in shown[0]["body"]
    await api.local.get(PATH + "messages", params={"show_body": "1", "after": "1"})
    await api.local.get(PATH + "messages", params={"after": "1"})
    noted = await api.shop.values("SELECT actor, data FROM events WHERE type = 'export.made'")
    assert [(json.loads(data)["show_body"], json.loads(data)["after"]) for _, data in noted] == [
        (False, 0),
        (True, 0),
        (True, 1),
    ]
    assert {actor.partition(":")[0] for actor, _ in noted} == {"socket"}


async def test_what_is_no_table_or_not_local_is_refused(api: FakeApi) -> None:
    assert (await api.local.get(PATH + "secrets")).status_code == 404
    assert (await api.live.get(PATH + "payments")).status_code == 404
    refused = await api.local.get(PATH + "payments", params={"show_body": "1"})
    assert refused.status_code == 422


async def test_whoever_is_shown_whole_phone_numbers_is_in_the_journal(api: FakeApi) -> None:
    path = "/local/v1/phones-shown"
    answer = await api.local.post(path, json={"command": "data query"})
    assert answer.json()["data"] == {"noted": True}
    lines = await api.shop.values("SELECT data FROM events WHERE type = 'phones.shown'")
    assert [json.loads(line) for line in lines] == [{"command": "data query"}]
    assert (await api.live.post(path, json={"command": "data query"})).status_code == 404


@pytest.mark.parametrize("what", ["transactions", "payments", "messages"])
async def test_money_of_the_sandbox_is_never_beside_live_money(api: FakeApi, what: str) -> None:
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    await api.shop.env.store.write(
        lambda tx: [tx.run(f"UPDATE {table} SET mode = 'test'") for table in ("transactions", "payments", "messages")]
    )
    await api.shop.read(mtn(9900, "KOFI ANTWI BADU", 99_900, "food", "93214500002", concatenation=2))

    async def rows(query: str) -> list[Any]:
        return list((await api.local.get(f"{PATH}{what}{query}")).json()["data"])

    live, test, said = await rows(""), await rows("?mode=test"), await rows("?mode=live")
    assert (len(live), len(test)) == (1, 1)
    assert live == said
    assert live != test


async def test_the_journal_has_both_modes_unless_one_is_asked_for(api: FakeApi) -> None:
    json_body = {"amount": "25.00", "phone_number": "0244000009"}
    for client in (api.live, api.test):
        made = await client.post("/v1/transactions/initialize", json=json_body)
        assert made.status_code == 201, made.text

    async def modes(query: str) -> list[bool]:
        rows = (await api.local.get(f"{PATH}audit{query}")).json()["data"]
        return [row["test"] for row in rows if row["type"] == "transaction.created"]

    assert await modes("") == [False, True]
    assert await modes("?mode=live") == [False]
    assert await modes("?mode=test") == [True]
