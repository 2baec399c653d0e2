"""The calls about hubs and branches, and their refusals."""

import asyncio
import contextlib
import gzip
import json
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from daemon import wire
from daemon.core.branches.facts import BYTES_MAX
from daemon.core.branches.place import Place
from daemon.store.engine import Tx
from daemon.wire import ShopRole
from tests.fakes.api import FakeApi, running
from tests.fakes.each import each
from tests.fakes.receipts import mtn

SYNC = wire.Path.BRANCH_SYNC
EMPTY = {
    "epoch": 1, "turn": 1, "after": 0, "upto": 1, "facts": [], "outcomes": {}, "stale": False,
    "version": "1", "now": 0,
}  # fmt: skip


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with running(tmp_path / "hub") as made:
        assert (await made.local.post(wire.Path.LOCAL_HUB, json={})).status_code == 200
        yield made


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with running(tmp_path / "shop") as made:
        yield made


def refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def invited(hub: FakeApi, name: str = "kumasi") -> str:
    made = await hub.local.post(wire.Path.LOCAL_HUB_INVITES, json={"name": name})
    return str(made.json()["data"]["word"])


async def key_of(hub: FakeApi) -> str:
    given = await hub.live.post(wire.Path.BRANCH_JOIN, json={"word": await invited(hub)})
    return str(given.json()["data"]["key"])


async def test_an_invitation_works_once(hub: FakeApi) -> None:
    word = await invited(hub)
    tried = await hub.live.post(wire.Path.BRANCH_JOIN, json={"word": word, "dry_run": True})
    assert "key" not in tried.json()["data"]
    given = await hub.live.post(wire.Path.BRANCH_JOIN, json={"word": word})
    assert given.json()["data"]["name"] == "kumasi"
    assert given.headers["cache-control"] == "no-store"
    again = await hub.live.post(wire.Path.BRANCH_JOIN, json={"word": word})
    assert refused(again) == (403, "INVITATION_INVALID")
    hub.shop.clock.advance(1)
    late = await invited(hub, "tamale")
    hub.shop.clock.advance(15 * 60)
    assert refused(await hub.live.post(wire.Path.BRANCH_JOIN, json={"word": late})) == (403, "INVITATION_INVALID")


async def test_a_stolen_key_ends_with_an_invitation_that_distrusts_it(hub: FakeApi) -> None:
    headers = {"Authorization": f"Bearer {await key_of(hub)}"}
    asked = {"name": "kumasi", "distrust_since": "2026-11-20T14:00:00Z"}
    made = await hub.local.post(wire.Path.LOCAL_HUB_INVITES, json=asked)
    assert (made.json()["data"]["distrusted"], made.json()["data"]["paid_orders"]) == ([], [])
    answer = await hub.live.post(wire.Path.BRANCH_ROWS, json={"kind": "payment"}, headers=headers)
    assert refused(answer) == (401, "UNAUTHORIZED")
    unknown = await hub.local.post(wire.Path.LOCAL_HUB_INVITES, json={**asked, "name": "nowhere"})
    assert refused(unknown) == (404, "BRANCH_NOT_FOUND")
    wrong = await hub.local.post(wire.Path.LOCAL_HUB_INVITES, json={**asked, "distrust_since": "x"})
    assert refused(wrong) == (422, "VALIDATION_ERROR")


async def test_a_branch_can_be_distrusted_before_it_is_invited_again(hub: FakeApi) -> None:
    headers = {"Authorization": f"Bearer {await key_of(hub)}"}
    done = await hub.local.post(wire.Path.LOCAL_HUB_DISTRUST, json={"branch": "kumasi"})
    told = {"branch": "kumasi", "distrusted": [], "paid_orders": []}
    assert (done.status_code, done.json()["data"]) == (200, told)
    answer = await hub.live.post(wire.Path.BRANCH_ROWS, json={"kind": "payment"}, headers=headers)
    assert refused(answer) == (401, "UNAUTHORIZED")
    unknown = await hub.local.post(wire.Path.LOCAL_HUB_DISTRUST, json={"branch": "nowhere"})
    assert refused(unknown) == (404, "BRANCH_NOT_FOUND")


async def test_rows_kept_aside_and_payments_with_one_id_are_accepted_by_name_and_id(hub: FakeApi) -> None:
    await key_of(hub)
    done = await hub.local.post(wire.Path.LOCAL_HUB_ACCEPT, json={"what": "kumasi"})
    assert done.json()["data"] == {"branch": "kumasi", "payment_id": None, "stored": 0, "refused": 0, "counted": []}
    for what, fault in (
        ("nowhere", (404, "BRANCH_NOT_FOUND")),
        (hub.shop.env.new_id(), (404, "NO_MATCHING_TRANSACTION")),
    ):
        assert refused(await hub.local.post(wire.Path.LOCAL_HUB_ACCEPT, json={"what": what})) == fault


async def test_a_hub_that_no_branch_joined_becomes_an_ordinary_shop_again(hub: FakeApi) -> None:
    word = await invited(hub)
    ended = await hub.local.delete(wire.Path.LOCAL_HUB)
    assert ended.json()["data"] == {"changed": True, "withdrawn": 1, "ended": []}
    assert hub.shop.env.place.role is ShopRole.ALONE
    assert refused(await hub.local.get(wire.Path.LOCAL_HUB)) == (409, "NOT_A_HUB")
    again = await hub.local.delete(wire.Path.LOCAL_HUB)
    assert again.json()["data"] == {"changed": False, "withdrawn": 0, "ended": []}
    # The invitation is not open again at a hub that is made anew.
    assert (await hub.local.post(wire.Path.LOCAL_HUB, json={})).json()["data"]["changed"] is True
    joining = await hub.live.post(wire.Path.BRANCH_JOIN, json={"word": word})
    assert refused(joining) == (403, "INVITATION_INVALID")


async def test_a_hub_that_a_branch_joined_stays_a_hub(hub: FakeApi) -> None:
    await key_of(hub)
    await invited(hub, "tamale")
    refusal = await hub.local.delete(wire.Path.LOCAL_HUB)
    assert refused(refusal) == (409, "BRANCH_EXISTS")
    assert "(kumasi)" in refusal.json()["error"]["message"]
    rows = (await hub.local.get(wire.Path.LOCAL_HUB)).json()["data"]
    assert [row["name"] for row in rows] == ["kumasi", "tamale"]


async def test_only_the_key_of_a_branch_may_send(hub: FakeApi) -> None:
    assert refused(await hub.live.post(SYNC, json=EMPTY)) == (403, "INSUFFICIENT_SCOPE")
    assert refused(await hub.local.post(SYNC, json=EMPTY)) == (404, "BRANCH_NOT_FOUND")
    key = await key_of(hub)
    client = await hub.client(key)
    assert (await client.post(SYNC, json=EMPTY)).status_code == 200
    again = await client.post(SYNC, json=EMPTY | {"version": "other"})
    assert refused(again) == (409, "BRANCH_STALE")
    disputed = await client.post(SYNC, json=EMPTY | {"turn": 2, "stale": True})
    assert refused(disputed) == (409, "BRANCH_DISPUTED")
    assert refused(await client.get(wire.Path.TRANSACTIONS)) == (403, "INSUFFICIENT_SCOPE")
    await invited(hub)
    await key_of(hub)
    assert (await client.post(SYNC, json=EMPTY)).status_code == 401


@each(
    "changed",
    [
        {"epoch": -1}, {"turn": True}, {"facts": {}}, {"facts": [{}]}, {"facts": ["x"] * 501}, {"outcomes": []},
        {"facts": [{"seq": 9, "kind": "payment", "id": "1", "row": {}}]},
        {"facts": [{"seq": 1, "kind": "", "id": "1", "row": {}}]},
        {"facts": [{"seq": 1, "kind": "payment", "id": "1", "row": 5}]},
        {"facts": [{"seq": 1, "kind": "payment", "id": "a\0", "row": {}}]},
        {"facts": [{"seq": 1, "kind": "payment", "id": "1", "row": {"a": [[1]]}}]},
        {"outcomes": {"c": {"a": {"b": {}}}}},
    ],
)  # fmt: skip
async def test_a_request_that_is_not_one_is_refused(hub: FakeApi, changed: dict[str, Any]) -> None:
    client = await hub.client(await key_of(hub))
    assert refused(await client.post(SYNC, json=EMPTY | changed)) == (422, "VALIDATION_ERROR")


@each(
    ("changed", "field"),
    [
        ({"epoch": -1}, "epoch"),
        ({"facts": [{"seq": 1, "kind": "payment", "id": "1", "row": 5}]}, "facts"),
        ({"now": "noon"}, "now"),
    ],
)
async def test_the_wrong_member_of_a_request_is_named(hub: FakeApi, changed: dict[str, Any], field: str) -> None:
    client = await hub.client(await key_of(hub))
    answer = await client.post(SYNC, json=EMPTY | changed)
    assert [one["field"] for one in answer.json()["error"]["details"]] == [field]
    missing = await client.post(SYNC, json={"epoch": 1})
    assert [one["field"] for one in missing.json()["error"]["details"]] == ["turn"]


@each("body", [b"{", b'{"a":' * 100_000, b"\xff"])
async def test_a_body_that_is_no_json_is_refused(hub: FakeApi, body: bytes) -> None:
    client = await hub.client(await key_of(hub))
    answer = await client.post(SYNC, content=body, headers={"content-type": "application/json"})
    assert refused(answer) == (400, "INVALID_JSON")


async def test_a_request_may_be_gzipped_and_is_limited_in_size(hub: FakeApi) -> None:
    client = await hub.client(await key_of(hub))
    zipped = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    good = gzip.compress(json.dumps(EMPTY).encode())
    assert (await client.post(SYNC, content=good, headers=zipped)).status_code == 200
    bomb = gzip.compress(b" " * (8 * BYTES_MAX))
    assert refused(await client.post(SYNC, content=bomb, headers=zipped)) == (413, "PAYLOAD_TOO_LARGE")
    assert refused(await client.post(SYNC, content=good[:-9], headers=zipped)) == (400, "INVALID_JSON")
    other = zipped | {"Content-Encoding": "br"}
    assert refused(await client.post(SYNC, content=good, headers=other)) == (415, "UNSUPPORTED_MEDIA_TYPE")


async def test_a_shop_is_alone_a_hub_or_a_branch(api: FakeApi, hub: FakeApi) -> None:
    local = api.local
    assert refused(await local.get(wire.Path.LOCAL_HUB)) == (409, "NOT_A_HUB")
    assert refused(await local.get(wire.Path.LOCAL_BRANCH)) == (409, "NOT_A_BRANCH")
    nobody = {"url": "http://127.0.0.1:1", "word": "x"}
    answer = await local.post(wire.Path.LOCAL_BRANCH, json=nobody)
    assert refused(answer) == (502, "HUB_REFUSED")
    assert answer.json()["error"]["answered"] is False
    plain = {"url": "http://hub.example", "word": "x"}
    assert refused(await local.post(wire.Path.LOCAL_BRANCH, json=plain)) == (422, "VALIDATION_ERROR")
    joining = {"url": hub.base_url, "word": await invited(hub)}
    tried = await local.post(wire.Path.LOCAL_BRANCH, json=joining | {"dry_run": True})
    assert tried.json()["data"]["joined"] is False
    joined = await local.post(wire.Path.LOCAL_BRANCH, json=joining)
    assert joined.json()["data"]["joined"] is True
    assert (await local.get(wire.Path.LOCAL_BRANCH)).json()["data"]["name"] == "kumasi"
    asked = await local.get(wire.Path.LOCAL_BRANCH, params={"compare": "recent"})
    assert asked.json()["data"]["compared"]["agrees"] is True
    assert refused(await local.post(wire.Path.LOCAL_BRANCH, json=joining)) == (409, "BRANCH_EXISTS")
    assert refused(await local.post(wire.Path.LOCAL_HUB, json={})) == (409, "BRANCH_EXISTS")
    assert (await local.post(wire.Path.LOCAL_BRANCH_RESTORE, json={})).status_code == 200
    left = await local.post(wire.Path.LOCAL_BRANCH_LEAVE, json={"force": True})
    assert left.json()["data"] == {"left": True, "unanswered": []}


@contextlib.asynccontextmanager
async def other_program(data: dict[str, Any]) -> AsyncIterator[str]:
    """Serve one answer to every request on loopback; yield the address."""
    body = json.dumps({"success": True, "data": data}).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = re.findall(rb"(?i)content-length: (\d+)", head)
        await reader.readexactly(int(length))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@each("data", [{}, {"name": "kumasi"}, {"branch_id": 5, "name": "kumasi", "epoch": "x"}])
async def test_an_answer_to_join_that_is_not_understood_is_named_and_changes_nothing(
    api: FakeApi, data: dict[str, Any]
) -> None:
    async with other_program(data) as address:
        answer = await api.local.post(wire.Path.LOCAL_BRANCH, json={"url": address, "word": "x"})
    assert refused(answer) == (502, "HUB_REFUSED")
    assert answer.json()["error"]["message"].startswith("The hub's answer is not understood: ")
    assert refused(await api.local.get(wire.Path.LOCAL_BRANCH)) == (409, "NOT_A_BRANCH")


async def test_a_box_takes_no_orders(api: FakeApi) -> None:
    api.shop.env.place = Place(ShopRole.BRANCH, "nothing")
    order = {"amount": "5.00", "phone_number": "0241234567"}
    assert refused(await api.live.post(wire.Path.INITIALIZE, json=order)) == (409, "HUB_DECIDES")


def _run(tx: Tx, sql: str) -> int:
    return tx.run(sql)


async def test_what_a_branch_decides_is_not_changed_at_the_hub(hub: FakeApi) -> None:
    shop = hub.shop
    await key_of(hub)
    mine, order = await shop.request(2500), await shop.request(2500)
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 92_500, "food", "93214500001"))
    for table in ("payments", f"transactions WHERE id = '{order.id}'"):
        name, _, where = table.partition(" ")
        sql = f"UPDATE {name} SET branch_id = (SELECT id FROM branches) {where}"
        await shop.env.store.write(partial(_run, sql=sql))
    body = {"transaction_id": "93214500001"}
    asked = await hub.live.post(f"/v1/transactions/{mine.reference}/reconcile", json=body)
    assert refused(asked) == (503, "BRANCH_ASKED")
    assert asked.headers["retry-after"] == "5"
    cancelled = await hub.live.post(f"/v1/transactions/{order.reference}/cancel", json={})
    assert refused(cancelled) == (409, "BELONGS_TO_BRANCH")
    for named, expected in (("kumasi", [("kumasi", order.reference)]), ("tamale", [])):
        listed = await hub.live.get(wire.Path.TRANSACTIONS, params={"branch": named})
        rows = listed.json()["data"]
        assert [(row["branch"], row["reference"]) for row in rows] == expected
    own = await hub.live.get(wire.Path.TRANSACTIONS)
    assert [row.get("branch") for row in own.json()["data"]] == ["kumasi", None]


@each("column", ["branch_id", "made_for"])
@each("place", ["{0.reference}", "by-svc/{0.svc_code}", "by-client-ref/INV-17"])
async def test_one_order_names_the_branch_that_made_it_or_that_it_was_made_for(
    hub: FakeApi, column: str, place: str
) -> None:
    await key_of(hub)
    order, own = await hub.shop.request(2500, client_reference="INV-17"), await hub.shop.request(2500)
    sql = f"UPDATE transactions SET {column} = (SELECT id FROM branches) WHERE id = '{order.id}'"
    await hub.shop.env.store.write(partial(_run, sql=sql))
    found = (await hub.live.get(f"/v1/transactions/{place.format(order)}")).json()["data"]
    assert (found["reference"], found["branch"]) == (order.reference, "kumasi")
    assert "branch" not in (await hub.live.get(f"/v1/transactions/{own.reference}")).json()["data"]


async def test_reviews_are_listed_by_branch(hub: FakeApi) -> None:
    shop = hub.shop
    await key_of(hub)
    order = await shop.request(2500, expected_payer_phone="+233201234567")
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 92_500, str(order.svc_code), "93214500001"))
    sql = "UPDATE reviews SET branch_id = (SELECT id FROM branches)"
    await shop.env.store.write(partial(_run, sql=sql))
    for named, expected in (("kumasi", ["kumasi"]), ("tamale", [])):
        listed = await hub.live.get(wire.Path.REVIEWS, params={"branch": named})
        assert [row["branch"] for row in listed.json()["data"]] == expected


async def test_what_was_handed_up_is_not_used_at_the_branch(api: FakeApi) -> None:
    shop = api.shop
    mine = await shop.request(2500)
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 92_500, "food", "93214500001"))

    def hand(tx: Any) -> None:
        tx.run("UPDATE payments SET decider = 'hub', standing = 'handed'")
        tx.run(
            "INSERT INTO hub_link (id, branch_id, name, url, spki, key_sealed, decides, epoch, turn, acked_seq, sent_seq, "
            "problem) VALUES (1, 'b', 'kumasi', 'https://hub.example', '', '', 'all', 1, 1, 9, 9, '')"
        )

    await shop.env.store.write(hand)
    body = {"transaction_id": "93214500001"}
    answer = await api.live.post(f"/v1/transactions/{mine.reference}/reconcile", json=body)
    assert refused(answer) == (409, "PAYMENT_HANDED_UP")


async def test_a_command_for_a_branch_is_checked_at_the_hub(hub: FakeApi) -> None:
    await invited(hub)
    for kind, body, wrong in (
        ("send_sms", {"number": "0244123456"}, "body.text"),
        ("send_sms", {"number": "12", "text": "Ready."}, "body.number"),
        ("forget_payer", {"number": "12"}, "body.number"),
        ("forget_payer", {"number": "0244123456", "all": "yes"}, "body.all"),
        ("settings", {"key": "sms.limit"}, "body.value"),
        ("settings", None, "body"),
    ):
        asked = {"branch": "kumasi", "kind": kind, "body": body}
        answer = await hub.local.post(wire.Path.LOCAL_HUB_COMMANDS, json=asked)
        assert answer.status_code == 422, answer.text
        assert [one["field"] for one in answer.json()["error"]["details"]] == [wrong]


async def test_the_day_sheet_is_read_by_branch(hub: FakeApi) -> None:
    shop = hub.shop
    await key_of(hub)
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 92_500, "food", "93214500001"))
    await shop.read(mtn(900, "KOFI ANTWI BADU BEKOE", 93_400, "food", "93214500002"))
    sql = "UPDATE payments SET branch_id = (SELECT id FROM branches) WHERE amount_minor = 900"
    await shop.env.store.write(partial(_run, sql=sql))
    for asked, expected in (({}, "34.00"), ({"branch": "kumasi"}, "9.00")):
        query: dict[str, str | int] = {
            "from": "2026-11-01T00:00:00Z",
            "to": "2026-12-01T00:00:00Z",
            "recent": 5,
            **asked,
        }
        data = (await hub.local.get(wire.Path.LOCAL_REPORT, params=query)).json()["data"]
        assert data["sheets"][0]["all"]["money_in"]["amount"] == expected
        assert data["branch"] == asked.get("branch")
        assert len(data["recent"]) == data["sheets"][0]["all"]["money_in"]["count"]
