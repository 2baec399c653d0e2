"""Sandbox and live never add up: what is said of live money is the same after work in the sandbox, and the other way round.

Every list, sum, count, status and export that has an address of its own is read, and every page of the dashboard. A new one is
read too.
"""

import difflib
import json
import re
from typing import Any

import pytest

from daemon.api.books import KINDS
from daemon.api.routes import OPERATIONS
from daemon.dash.tables import PAGES
from daemon.store.webhooks import attempts
from daemon.wire import Path, Role
from tests.fakes import outbox
from tests.fakes.api import FakeApi
from tests.fakes.dash import Person, log_in
from tests.fakes.receipts import mtn_receipts

INIT = "/v1/transactions/initialize"
BODY = {"amount": "25.00", "phone_number": "0209000111"}
HOOK = {"url": "https://shop.example/hook"}
NOT_OF_MONEY = frozenset(
    {
        Path.DOCS, Path.DOCS_ERRORS, Path.MANUAL, Path.OPENAPI, Path.EVENTS, Path.LOCAL_DOCTOR, Path.LOCAL_LOGS, Path.KEYS,
        Path.GAP, "/dash/login", "/dash/login/code", "/dash/enter", "/dash/account/second-factor", "/dash/health",
        "/dash/health/checks", "/dash/keys", "/dash/journal", "/dash/replay",
    }
)  # fmt: skip
"""Documents, a stream, forms, keys and the size of the database; `GAP` is of one endpoint. The journal and the endpoints that may
be chosen say of each entry that it is of the sandbox."""
LIVE_ONLY = (Path.LOCAL_STATUS, Path.METRICS)
CHANGING = re.compile(
    r'"(?:bytes|uptime_s|disk_free_bytes)": ?[^,}]+|momo_database_bytes \d.*|name="form_token" value="[^"]*"|nonce-[^\'"]+|nonce="[^"]*"'
)
"""What differs between two readings of the same."""


def of_mode(value: Any, test: bool) -> Any:
    """Return a JSON value without the entries of lists that say that they are of the other mode: endpoints and keys of both are
    listed together."""
    if isinstance(value, list):
        kept = (
            one for one in value if not isinstance(one, dict) or one.get("test", one.get("is_sandbox", test)) is test
        )
        return [of_mode(one, test) for one in kept]
    if isinstance(value, dict):
        left_out = ("pagination", "request_id")
        return {name: of_mode(one, test) for name, one in value.items() if name not in left_out}
    return value


async def said(api: FakeApi, person: Person, mode: str) -> dict[str, str]:
    """Return what is said of one mode at each address."""
    client, test = (api.test, True) if mode == "test" else (api.live, False)
    exports = [f"{Path.LOCAL_EXPORT.format(what=what)}" for what in KINDS if what != "audit"]
    found = {}
    for path in [*(str(one) for one, verbs in OPERATIONS.items() if "GET" in verbs), *exports]:
        if "{" in path or path in NOT_OF_MONEY or (test and path in LIVE_ONLY):
            continue
        local = path.startswith("/local")
        asked = f"{path}?mode={mode}" if path in (*exports, Path.LOCAL_REPORT, Path.LOCAL_MESSAGES) else path
        answer = await (api.local if local else client).get(asked, headers={"Svc-Mode": mode})
        assert answer.status_code in (200, 409), answer.text  # this shop is no hub
        is_json = "json" in answer.headers["content-type"]
        found[path] = json.dumps(of_mode(answer.json(), test), indent=1) if is_json else answer.text
    for page in PAGES if not test else ():
        if "{" not in page.path and page.path not in NOT_OF_MONEY:
            found[page.path] = (await person.get(page.path)).text
    return {path: CHANGING.sub("", text) for path, text in found.items()}


def differing(before: dict[str, str], after: dict[str, str]) -> dict[str, list[str]]:
    """Return the lines that differ, by address."""
    cut = re.compile(r"(?<=[>\n])")
    return {
        path: [
            line
            for line in difflib.unified_diff(cut.split(before[path]), cut.split(after[path]), lineterm="", n=0)
            if not line.startswith(("---", "+++", "@@"))
        ]
        for path in before
        if before[path] != after[path]
    }


async def give_up_one(api: FakeApi, *, test: bool) -> None:
    leased = await outbox.lease(api.shop, 50)
    one = next(one for one in leased if one.delivery.test is test)
    await outbox.fail(api.shop, one, 400)
    await api.shop.env.store.write(attempts.release_all)


async def sandbox_work(api: FakeApi) -> None:
    made = await api.test.post("/v1/open-collections/endpoints", json=HOOK | {"is_sandbox": True})
    assert made.status_code == 201, made.text
    bodies: list[dict[str, Any]] = [{"amount": "7.00"}, {"amount": "8.00", "sender": "+233241112222"}]
    for more in ({}, {"amount": "20.00"}, {"reference_text": "food"}):
        order = (await api.test.post(INIT, json=BODY)).json()["data"]
        bodies.append({"reference": order["reference"], **more})
    for body in bodies:
        assert (await api.test.post(Path.TEST_PAYMENTS, json=body)).status_code == 200
    await give_up_one(api, test=True)


async def live_work(api: FakeApi) -> None:
    assert (await api.live.post("/v1/open-collections/endpoints", json=HOOK)).status_code == 201
    order = (await api.live.post(INIT, json=BODY)).json()["data"]
    made = list(mtn_receipts(3, references=[order["svc_code"], "food", "rice"]))
    for receipt in made:
        await api.shop.read(receipt)
    await give_up_one(api, test=False)


async def test_nothing_that_is_said_of_live_money_differs_after_work_in_the_sandbox(api: FakeApi) -> None:
    await api.shop.begin_chain(50_000)
    await live_work(api)
    person = await log_in(api, Role.OWNER)
    before = await said(api, person, "live")
    await sandbox_work(api)
    after = await said(api, person, "live")
    assert differing(before, after) == {}


async def test_nothing_that_is_said_of_the_sandbox_differs_after_live_work(api: FakeApi) -> None:
    await api.shop.begin_chain(50_000)
    person = await log_in(api, Role.OWNER)
    await sandbox_work(api)
    before = await said(api, person, "test")
    await live_work(api)
    after = await said(api, person, "test")
    assert differing(before, after) == {}


@pytest.mark.parametrize("path", sorted(NOT_OF_MONEY))
def test_each_address_that_is_left_out_is_one(path: str) -> None:
    assert path in {str(one) for one in OPERATIONS} | {page.path for page in PAGES}
