"""No GET changes anything, because a foreign page, a preview in a chat or a prefetching browser can send one."""

import asyncio
import sqlite3
from typing import Any

from daemon.store.payments import payments
from daemon.wire import Mode, Path
from tests.api.webhooks.test_dead_letters import buried
from tests.fakes.api import FakeApi
from tests.fakes.receipts import mtn
from tests.fakes.shop import METHOD_ID

STREAMS: set[str] = {Path.EVENTS}
AUDITED: dict[str, set[str]] = {
    Path.LOCAL_EXPORT: {"events", "sqlite_sequence"},
    Path.LOCAL_MESSAGE: {"events", "sqlite_sequence"},
}
"""Tables that a GET may write: an export or a view of SMS texts on the socket is recorded in the journal."""
QUERIES: dict[str, str] = {
    Path.GAP: "?endpoint_id={endpoint}&from=2026-11-01T00:00:00Z&to=2026-11-30T00:00:00Z",
    Path.LOCAL_DOCTOR: "?area=modem",
    Path.LOCAL_MESSAGE: "?show_body=1",
}


async def things(api: FakeApi) -> dict[str, dict[str, str]]:
    """Make one object of each kind, and return the values for the parts of each path."""
    letter = (await buried(api))[0]
    made = await api.live.post(
        "/v1/transactions/initialize",
        json={"amount": "25.00", "phone_number": "0241234567", "client_reference": "order 1"},
    )
    request = made.json()["data"]
    rule = await api.live.post(
        Path.RULES.format(id=letter["endpoint_id"]), json={"name": "x", "filter": {"amount": {"$gte": "1.00"}}}
    )
    waiting = await api.shop.request(2500, expected_payer_phone="+233201234567")
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 95_000, waiting.svc_code or "", "93214511111", concatenation=9))
    review = (await api.live.get(Path.REVIEWS)).json()["data"][0]
    key = (await api.local.get(Path.KEYS)).json()["data"][0]
    device = (await api.local.get(Path.SIMS)).json()["data"][0]
    message = (await api.local.get(Path.LOCAL_MESSAGES)).json()["data"][0]
    payer = await approved(api, review["id"])
    modem = Path.LOCAL_MODEM_TEXTS.format(id=device["device_id"])
    text = (await api.local.post(modem, json={"number": "0244124567"})).json()["data"]
    shift = (await api.local.post(Path.LOCAL_SHIFTS)).json()["data"]
    of_request = {"reference": request["reference"], **request}
    endpoint = {"id": letter["endpoint_id"]}
    return {
        Path.TRANSACTION: of_request,
        Path.TRANSACTION_BY_CODE: of_request,
        Path.TRANSACTION_BY_CLIENT_REF: {"client_ref": "order 1"},
        Path.TRANSACTION_EVENTS: of_request,
        Path.KEY: key,
        Path.REVIEW: review,
        Path.PAYMENT_METHOD: {"id": METHOD_ID},
        Path.ENDPOINT: endpoint,
        Path.RULES: endpoint,
        Path.RULE: {**endpoint, "rule_id": rule.json()["data"]["id"]},
        Path.ROUTING: {"id": letter["transaction_id"]},
        Path.DELIVERY: {"id": letter["delivery_id"]},
        Path.DELIVERY_ATTEMPTS: {"id": letter["delivery_id"]},
        Path.DEAD_LETTER: letter,
        Path.APPROVED_PAYER: {"id": payer},
        Path.LOCAL_MODEM: {"id": device["device_id"]},
        Path.LOCAL_MODEM_TEXT: {"id": device["device_id"], "text_id": text["id"]},
        Path.LOCAL_MESSAGE: message,
        Path.LOCAL_SHIFT: {"shift_id": shift["id"]},
        Path.LOCAL_CHECKOUT: of_request,
        Path.LOCAL_EXPORT: {"what": "messages"},
        Path.MANUAL_PAGE: {"folder": "shop", "name": "modems"},
        Path.MANUAL_PICTURE: {"name": "demo.svg"},
        "/pay/{slug}": {"slug": request["public_slug"]},
        "query": {"endpoint": letter["endpoint_id"]},
    }


async def approved(api: FakeApi, review: str) -> str:
    """Approve a name for a number, and return the id of that."""
    payer_id = api.shop.env.new_id()
    await api.shop.env.store.write(
        lambda tx: payments.approve_payer(
            tx,
            payer_id=payer_id,
            mode=Mode.LIVE,
            phone_number="+233244124567",
            name="ESI ANSAH",
            review_id=review,
            by="socket:0",
            now=api.shop.clock.now_us(),
        )
    )
    return payer_id


def rows(path: str) -> dict[str, list[Any]]:
    """Return all that the database holds, by table."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'search'"  # has no rows to show
            )
        ]
        return {name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'))) for name in tables}
    finally:
        connection.close()


OF_A_CHAIN = {Path.LOCAL_HUB, Path.LOCAL_BRANCH}
"""Refused with a sentence by a shop that has no hub, as this one."""


async def gets(api: FakeApi) -> dict[str, str]:
    """Return the URL of each GET of the API by its path, for a shop with one object of each kind."""
    known = await things(api)
    found = {}
    for served, operations in api.application.operations.items():
        path = served.replace(":path", "")
        if "GET" in operations and path not in STREAMS | OF_A_CHAIN:
            query = QUERIES.get(path, "").format(**known["query"])
            found[path] = path.format(**known.get(path, {})) + query
    page = "/pay/{slug}".format(**known["/pay/{slug}"])
    pages = (page, f"{page}?paid=1&net=mtn&lang=en", f"{page}/status", Path.HEALTH)
    return {**found, **{path: path for path in pages}}


async def test_no_get_writes_anything(api: FakeApi) -> None:
    targets = await gets(api)
    before = rows(api.shop.env.store.path)
    assert all(before[name] for name in ("transactions", "reviews", "dead_letters", "api_keys"))
    wrote, strange = [], []
    for path, target in targets.items():
        for method in ("GET", "HEAD"):
            answer = await api.local.request(method, target)
            if answer.status_code != 200:
                strange.append((method, target, answer.status_code))
        after = rows(api.shop.env.store.path)
        changed = {name for name in after if after[name] != before[name]}
        if changed - AUDITED.get(path, set()):
            wrote.append((path, changed))
        before = after
    assert (wrote, strange) == ([], [])


async def test_a_shop_without_a_hub_says_so_and_writes_nothing(api: FakeApi) -> None:
    before = rows(api.shop.env.store.path)
    codes = [(await api.local.get(path)).json()["error"]["code"] for path in sorted(OF_A_CHAIN)]
    assert codes == ["NOT_A_BRANCH", "NOT_A_HUB"]
    assert rows(api.shop.env.store.path) == before


async def test_no_stream_writes_anything(api: FakeApi) -> None:
    known = await things(api)
    before = rows(api.shop.env.store.path)
    for target in (Path.EVENTS, f"/pay/{known['/pay/{slug}']['slug']}/events"):
        async with asyncio.timeout(10), api.local.stream("GET", f"{target}?since=0") as response:
            assert response.status_code == 200
            async for line in response.aiter_lines():
                if line.startswith("data:"):
                    break
    assert rows(api.shop.env.store.path) == before
