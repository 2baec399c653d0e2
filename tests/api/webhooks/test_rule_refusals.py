"""Rules of endpoints over the API: every refusal."""

from typing import Any

from tests.api.webhooks.test_rules import ENDPOINTS, NOWHERE, TEST, endpoint, forwards, pay, rule
from tests.fakes.api import FakeApi, running
from tests.fakes.validation_errors import wrong_fields


async def test_an_unknown_field_or_operator_is_422_with_its_path(api: FakeApi) -> None:
    of = await endpoint(api)
    answer = await rule(api, of, {"$or": [{"colour": "red"}, {"amount": {"$regex": "5"}}]})
    assert wrong_fields(answer) == [
        "filter.$or[0].colour",
        "filter.$or[1].amount.$regex",
    ]
    assert (await rule(api, of, None)).status_code == 422
    assert (await rule(api, of, [])).status_code == 422


async def test_an_endpoint_has_twenty_rules_at_most(api: FakeApi) -> None:
    of = await endpoint(api)
    for _ in range(20):
        assert (await rule(api, of, {"late": False})).status_code == 201
    answer = await rule(api, of, {"late": False})
    assert answer.status_code == 422
    assert answer.json()["details"][0]["code"] == "too_many"


async def test_a_filter_over_four_kilobytes_is_422(api: FakeApi) -> None:
    of = await endpoint(api)
    answer = await rule(api, of, {"client_reference": "x" * 4096})
    assert [each["code"] for each in answer.json()["details"]] == ["too_long"]


async def test_rules_of_an_unknown_endpoint_are_404(api: FakeApi) -> None:
    answer = await rule(api, NOWHERE, {})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "ENDPOINT_NOT_FOUND")


async def test_test_keys_touch_rules_of_sandbox_endpoints_only(api: FakeApi) -> None:
    live = await endpoint(api, "a")
    sandbox = await endpoint(api, "b", is_sandbox=True)
    refused = await api.test.post(f"{ENDPOINTS}/{live}/rules", json={"filter": {}})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "LIVE_KEY_REQUIRED")
    made = await api.test.post(f"{ENDPOINTS}/{sandbox}/rules", json={"filter": {}})
    assert made.status_code == 201
    await pay(api, "93214500001")  # a sandbox endpoint's rule claims no real money
    assert await forwards(api) == [(live, "25.00")]
    trial = await api.test.post(TEST, json={"sample": {"amount": "1.00"}})
    assert [each["endpoint_id"] for each in trial.json()["data"]["endpoints"]] == [sandbox]


async def test_rules_are_refused_while_open_collections_are_off(tmp_path: Any) -> None:
    from daemon.runtime.config import Config, OpenCollections

    config = Config(open_collections=OpenCollections(enabled=False))
    async with running(tmp_path, config) as api:
        for method, path in (
            ("POST", f"{ENDPOINTS}/{NOWHERE}/rules"),
            ("PUT", f"{ENDPOINTS}/{NOWHERE}/rules/{NOWHERE}"),
            ("DELETE", f"{ENDPOINTS}/{NOWHERE}/rules/{NOWHERE}"),
            ("POST", TEST),
        ):
            answer = await api.live.request(method, path, json={})
            assert answer.json()["error"]["code"] == "OPEN_COLLECTIONS_DISABLED", path


async def test_rules_need_the_scope_webhooks_manage(api: FakeApi) -> None:
    from daemon.wire import Mode, Scope

    caller = await api.client(await api.key(Mode.LIVE, Scope.TRANSACTIONS_READ))
    for path in (f"{ENDPOINTS}/{NOWHERE}/rules", "/v1/open-collections/payments/x/routing"):
        answer = await caller.get(path)
        assert answer.json()["error"]["code"] == "INSUFFICIENT_SCOPE"
