"""A test key can call every operation of a key, and the answers contain no live data."""

import asyncio
from typing import Any

import httpx
import pytest

from daemon import wire
from daemon.wire import MODE_HEADER, Path, Scope
from tests.api.webhooks.test_redeliver import answered, attempt
from tests.api.webhooks.test_secrets import PASSWORD, prepare
from tests.fakes.api import FakeApi
from tests.fakes.receipts import mtn
from tests.fakes.shop import METHOD_ID

DAY = {"from": "2026-11-20T00:00:00Z", "to": "2026-11-23T00:00:00Z"}
LIVE_PAYER = "KOFI ANTWI BADU"
LIVE_TELCO_ID = "93214500001"
URL = "https://shop.example/hook"


class Rehearsal:
    """Calls operations in test mode, checks each answer, and remembers which operations were called."""

    def __init__(self, client: httpx.AsyncClient, live: set[str]) -> None:
        self.client = client
        self.live = live
        self.called: set[tuple[str, str]] = set()

    async def __call__(self, method: str, path: Path, body: Any = None, **values: Any) -> Any:
        """Call an operation; `params` among `values` is the query, the others fill the path."""
        query = values.pop("params", None)
        url = path.format(**values)
        answer = await self.client.request(method, url, json=body, params=query)
        assert answer.is_success, f"{method} {url}: {answer.text}"
        self.check(method, path, answer.text)
        return answer.json()

    def check(self, method: str, path: Path, text: str) -> None:
        assert [each for each in self.live if each in text] == [], f"{method} {path}: {text}"
        self.called.add((method, path))


async def live_data(api: FakeApi) -> set[str]:
    """Make a live payment, transaction, endpoint, delivery and dead letter; return the texts that identify them."""
    request = await api.shop.request(2500)
    made = (await api.live.post(Path.ENDPOINTS, json={"url": f"{URL}/live"})).json()["data"]["id"]
    await api.shop.read(mtn(2500, LIVE_PAYER, 90_000, "food", LIVE_TELCO_ID))
    await attempt(api, answered(410))
    [letter] = (await api.live.get(Path.DEAD_LETTERS)).json()["data"]
    [payment] = await api.shop.payments()
    return {
        *(METHOD_ID, "+233244124567", api.shop.source.device_id, made, letter["id"]),
        *(request.reference, payment.id, LIVE_PAYER, LIVE_TELCO_ID, f"{URL}/live"),
    }


@pytest.fixture
async def rehearsal(api: FakeApi) -> Rehearsal:
    await prepare(api)
    return Rehearsal(api.test, await live_data(api))


async def lines(call: Rehearsal) -> None:
    """Rehearse the lines: a payment without a number, the number, and the claim."""
    phone, spare = (await call("GET", Path.SIMS))["data"]
    assert [one["sims"][0]["network"] for one in (phone, spare)] == ["MTN", "Telecel"]
    await call("POST", Path.TEST_PAYMENTS, {"amount": "7.00"})
    status = (await call("GET", Path.LINES))["data"]
    assert (status["ready"], status["unplaced_payments"]) == (False, 1)
    aside = {"device_id": spare["device_id"], "slot_index": 0}
    assert (await call("PATCH", Path.SIM, {"ignored": True}, **aside))["data"]["ignored"] is True
    number = {"provider": "momo_mtn", "phone_number": "0551000111", "account_name": "Practice"}
    first = (await call("POST", Path.PAYMENT_METHODS, number))["data"]["id"]
    sim = {"device_id": phone["device_id"], "slot_index": 0}
    await call("PATCH", Path.PAYMENT_METHOD, {"sim": sim, "account_name": "Ama"}, id=first)
    one = (await call("GET", Path.PAYMENT_METHOD, id=first))["data"]
    assert (one["account_name"], one["sim"]["device_name"]) == ("Ama", "simulated-mtn")
    assert (await call("POST", Path.CLAIM_UNPLACED, id=first))["claimed"] == 1
    status = (await call("GET", Path.LINES))["data"]
    assert (status["ready"], status["unplaced_payments"]) == (True, 0)
    other = {**number, "phone_number": "0551000222"}
    second = (await call("POST", Path.PAYMENT_METHODS, other))["data"]["id"]
    await call("DELETE", Path.PAYMENT_METHOD, id=second)
    assert [row["id"] for row in (await call("GET", Path.PAYMENT_METHODS))["data"]] == [first]


async def endpoints(call: Rehearsal, api: FakeApi) -> str:
    """Rehearse endpoints and rules; return an endpoint that takes every payment."""
    body = {"url": URL, "is_sandbox": True}
    spare = (await call("POST", Path.ENDPOINTS, body))["data"]["id"]
    await call("PUT", Path.ENDPOINT, {"description": "practice"}, id=spare)
    addresses = api.resolver.names.pop("shop.example")  # so that no request leaves this machine
    assert (await call("POST", Path.ENDPOINT_TEST, id=spare))["status_code"] == 0
    api.resolver.names["shop.example"] = addresses
    rule = {"filter": {"amount": {"$gte": "50.00"}}, "name": "large"}
    made = (await call("POST", Path.RULES, rule, id=spare))["data"]["id"]
    await call("PUT", Path.RULE, {**rule, "name": "very large"}, id=spare, rule_id=made)
    assert [row["id"] for row in (await call("GET", Path.RULES, id=spare))["data"]] == [made]
    tried = await call("POST", Path.RULES_TEST, {"sample": {"amount": "60.00"}})
    assert [row["endpoint_id"] for row in tried["data"]["endpoints"]] == [spare]
    await call("DELETE", Path.RULE, id=spare, rule_id=made)
    await call("DELETE", Path.ENDPOINT, id=spare)
    kept: str = (await call("POST", Path.ENDPOINTS, body))["data"]["id"]
    assert [row["id"] for row in (await call("GET", Path.ENDPOINTS))["data"]] == [kept]
    await call("GET", Path.ENDPOINT, id=kept)
    return kept


async def request(call: Rehearsal, **more: Any) -> Any:
    body = {"amount": "25.00", "phone_number": "0244000111", **more}
    return (await call("POST", Path.INITIALIZE, body))["data"]


async def transactions(call: Rehearsal) -> str:
    """Rehearse requests from code to reconcile; return the UUID of a paid one."""
    own = await request(call, client_reference="order-1")
    await call("GET", Path.TRANSACTION, reference=own["reference"])
    await call("GET", Path.TRANSACTION_BY_CODE, svc_code=own["svc_code"])
    await call("GET", Path.TRANSACTION_BY_CLIENT_REF, client_ref="order-1")
    paid = await call("POST", Path.TEST_PAYMENTS, {"amount": "25.00", "reference_text": "food"})
    telco_id = paid["data"]["transaction"]["telco"]["transaction_id"]
    done = await call("POST", Path.RECONCILE, {"transaction_id": telco_id}, reference=own["reference"])
    assert done["data"]["new_transaction_status"] == "SUCCESS"
    told = await call("GET", Path.TRANSACTION_EVENTS, reference=own["reference"])
    assert "transaction.verified" in {event["type"] for event in told["data"]}
    dropped = await request(call)
    await call("POST", Path.CANCEL, reference=dropped["reference"])
    everything = await call("GET", Path.TRANSACTIONS, params={"origin": "all"})
    assert {row["test"] for row in everything["data"]} == {True}
    async with asyncio.timeout(10), call.client.stream("GET", Path.EVENTS, params={"since": "0"}) as answer:
        async for line in answer.aiter_lines():
            call.check("GET", Path.EVENTS, line)
            if dropped["reference"] in line:
                break
    routed = await call("GET", Path.ROUTING, id=own["reference"])
    assert routed["data"]["decisions"]
    return str(own["reference"])


async def deliveries(call: Rehearsal, api: FakeApi, endpoint_id: str) -> None:
    """Rehearse deliveries, dead letters and the replay of a window."""
    listed = (await call("GET", Path.DELIVERIES))["data"]
    await attempt(api, *(answered(410) for _ in listed))
    assert {row["endpoint_id"] for row in listed} == {endpoint_id}
    own = listed[0]["id"]
    assert (await call("GET", Path.DELIVERY, id=own))["data"]["status"] == "failed"
    [tried] = (await call("GET", Path.DELIVERY_ATTEMPTS, id=own))["data"]
    assert tried["response_status_code"] == 410
    letters = (await call("GET", Path.DEAD_LETTERS))["data"]
    first, second = letters[:2]
    await call("GET", Path.DEAD_LETTER, id=first["id"])
    await call("POST", Path.DEAD_LETTER_REPLAY, id=first["id"])
    batch = await call("POST", Path.DEAD_LETTERS_REPLAY, {"dead_letter_ids": [second["id"]]})
    assert batch["replayed"] == 1
    await attempt(api, answered(410), answered(200))
    [again] = (await call("GET", Path.DEAD_LETTERS))["data"]
    await call("POST", Path.DEAD_LETTER_DISMISS, {"notes": "practice"}, id=again["id"])
    await call("POST", Path.REDELIVER, id=first["delivery_id"])
    window = {"endpoint_id": endpoint_id, **DAY}
    assert (await call("GET", Path.GAP, params=window))["data"]
    assert (await call("POST", Path.REPLAY, window))["enqueued"] >= 1


async def reviews(call: Rehearsal) -> None:
    """Rehearse the decisions of an operator, and the approval of a name that comes with one."""
    for _ in range(2):
        held = await request(call, expected_payer_phone="0244000111")
        body = {"reference": held["reference"], "payer_name": "ABENA OSEI"}
        await call("POST", Path.TEST_PAYMENTS, body)
    first, second = (await call("GET", Path.REVIEWS))["data"]
    await call("GET", Path.REVIEW, id=first["id"])
    await call("POST", Path.REVIEW_REJECT, {"notes": "not hers"}, id=first["id"])
    decided = await call("POST", Path.REVIEW_APPROVE, {}, id=second["id"])
    assert decided["transaction"]["status"] == "SUCCESS"
    [payer] = (await call("GET", Path.APPROVED_PAYERS))["data"]
    await call("GET", Path.APPROVED_PAYER, id=payer["id"])
    await call("DELETE", Path.APPROVED_PAYER, id=payer["id"])
    await call("POST", Path.REVIEW_UNDO, {}, id=first["id"])


async def settlements(call: Rehearsal) -> None:
    """Rehearse how a short payment is settled, and that taken back."""
    short = await request(call)
    body = {"amount": "5.00", "reference": short["reference"]}
    await call("POST", Path.TEST_PAYMENTS, body)
    await call("POST", Path.SETTLE, {"kind": "waived"}, reference=short["reference"])
    await call("DELETE", Path.SETTLE, reference=short["reference"])


async def test_every_operation_of_a_key_succeeds_with_a_test_key_and_shows_nothing_live(
    api: FakeApi, rehearsal: Rehearsal
) -> None:
    await lines(rehearsal)
    endpoint_id = await endpoints(rehearsal, api)
    await transactions(rehearsal)
    await deliveries(rehearsal, api, endpoint_id)
    await reviews(rehearsal)
    await settlements(rehearsal)
    every = {
        (method, path.replace(":path}", "}"))
        for path, operations in api.application.operations.items()
        for method, operation in operations.items()
        if operation.scopes and Scope.BRANCH not in operation.scopes
    }
    assert every - rehearsal.called == set()
    assert len(rehearsal.called) > 23


async def test_a_session_in_test_mode_reveals_and_rotates_the_secret_of_a_sandbox_endpoint(
    api: FakeApi, rehearsal: Rehearsal
) -> None:
    body = {"url": URL, "is_sandbox": True}
    made = await rehearsal("POST", Path.ENDPOINTS, body)
    login = await api.live.post(Path.LOGIN, json={"password": PASSWORD})
    session = await api.client(login.json()["data"]["token"])
    session.headers[MODE_HEADER] = "test"
    call = Rehearsal(session, rehearsal.live)
    target, password = made["data"]["id"], {"password": PASSWORD}
    shown = await call("POST", Path.ENDPOINT_SECRET, password, id=target)
    assert shown["secret"] == made["secret"]
    rotated = await call("POST", Path.ENDPOINT_ROTATE, password, id=target)
    assert rotated["secret"] != made["secret"]
    await lines(call)


async def test_live_keys_see_nothing_of_the_sandboxs_lines(api: FakeApi, rehearsal: Rehearsal) -> None:
    await lines(rehearsal)
    practised = [row["id"] for row in (await api.test.get(Path.PAYMENT_METHODS)).json()["data"]]
    for path in (Path.SIMS, Path.PAYMENT_METHODS, Path.LINES):
        text = (await api.live.get(path)).text
        assert "simulated" not in text
        assert not any(each in text for each in practised)
    for path in (wire.Path.LOCAL_MODEMS, wire.Path.LOCAL_STATUS):
        assert "simulated-mtn" not in (await api.local.get(path)).text
    assert (await api.live.get(f"{Path.PAYMENT_METHODS}/{practised[0]}")).status_code == 404
