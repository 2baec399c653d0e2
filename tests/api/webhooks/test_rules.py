"""Rules of endpoints over the API: the payments that they claim, with the reasons."""

import json
from typing import Any

import httpx

from tests.fakes.api import FakeApi
from tests.fakes.receipts import mtn
from tests.fakes.validation_errors import wrong_fields

ENDPOINTS = "/v1/open-collections/endpoints"
TEST = "/v1/open-collections/rules/test"
NOWHERE = "6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f99"


async def endpoint(api: FakeApi, path: str = "a", **more: Any) -> str:
    body = {"url": f"https://shop.example/{path}", **more}
    answer = await api.live.post(ENDPOINTS, json=body)
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["data"]["id"]
    return made


async def rule(api: FakeApi, of: str, filter_: Any, **more: Any) -> httpx.Response:
    return await api.live.post(f"{ENDPOINTS}/{of}/rules", json={"filter": filter_, **more})


async def pay(api: FakeApi, telco_id: str, amount: int = 2500, text: str = "food") -> None:
    balance = api.shop.wallet(amount)
    await api.shop.read(mtn(amount, "KOFI ANTWI BADU", balance, text, telco_id))


async def forwards(api: FakeApi) -> list[tuple[str, str]]:
    """Return (endpoint, amount) of everything that was forwarded."""
    among = "event = 'transaction.forwarded'"
    to = await api.shop.values(
        f"SELECT (SELECT id FROM endpoints WHERE seq = endpoint_seq) FROM deliveries WHERE {among} ORDER BY seq"
    )
    return [
        (endpoint_id, json.loads(body)["data"]["amount"])
        for endpoint_id, body in zip(to, await api.shop.bodies(among), strict=True)
    ]


async def unclaimed(api: FakeApi) -> int:
    count: int = (await api.live.get(ENDPOINTS)).json()["meta"]["unclaimed_payments"]
    return count


async def test_a_rule_is_made_listed_changed_and_deleted(api: FakeApi) -> None:
    of = await endpoint(api)
    made = await rule(api, of, {"amount": {"$gte": "50.00"}}, name="big")
    assert made.status_code == 201
    data = made.json()["data"]
    assert list(data) == ["id", "endpoint_id", "name", "position", "enabled", "filter", "created_at", "updated_at"]
    assert (data["endpoint_id"], data["name"], data["position"]) == (of, "big", 1)
    assert (data["enabled"], data["filter"]) == (True, {"amount": {"$gte": "50.00"}})
    one = f"{ENDPOINTS}/{of}/rules/{data['id']}"
    api.shop.clock.advance(60)
    changed = (await api.live.put(one, json={"enabled": False})).json()["data"]
    assert (changed["enabled"], changed["name"]) == (False, "big")
    assert changed["created_at"] == data["created_at"] < changed["updated_at"]
    listed = (await api.live.get(f"{ENDPOINTS}/{of}/rules")).json()
    assert listed == {"success": True, "data": [changed]}
    assert (await api.live.delete(one)).json() == {"success": True, "deleted": True}
    assert (await api.live.get(f"{ENDPOINTS}/{of}/rules")).json()["data"] == []
    gone = await api.live.delete(one)
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "RULE_NOT_FOUND")


async def test_a_payment_goes_to_every_endpoint_with_a_matching_rule_once(api: FakeApi) -> None:
    first, second, third = [await endpoint(api, path) for path in "abc"]
    await rule(api, first, {"amount": {"$gte": "10.00"}})
    await rule(api, first, {"currency": "GHS"})  # rules of one endpoint are OR: one delivery
    await rule(api, second, {"telco.provider": "mtn"})
    await rule(api, third, {"amount": {"$gt": "25.00"}})
    await pay(api, "93214500001")
    assert sorted(await forwards(api)) == sorted([(first, "25.00"), (second, "25.00")])


async def test_only_if_no_rule_claims_it_every_catch_all_gets_a_payment(api: FakeApi) -> None:
    ruled, other = await endpoint(api, "a"), await endpoint(api, "b")
    await endpoint(api, "c", catch_all=False)
    await rule(api, ruled, {"telco.reference_text": {"$startsWith": "RENT"}})
    await pay(api, "93214500001", 1000, "rent may")
    assert await forwards(api) == [(ruled, "10.00")]
    await pay(api, "93214500002", 2000, "food")
    assert (await forwards(api))[1:] == [(ruled, "20.00"), (other, "20.00")]


async def test_the_first_rule_does_not_switch_catch_all_off_and_warns_so(api: FakeApi) -> None:
    of = await endpoint(api)
    made = await rule(api, of, {"late": True})
    assert "still takes every payment" in made.json()["meta"]["warnings"][0]
    assert (await api.live.get(f"{ENDPOINTS}/{of}")).json()["data"]["catch_all"] is True
    await pay(api, "93214500001")
    assert await forwards(api) == [(of, "25.00")]


async def test_a_disabled_rule_claims_nothing(api: FakeApi) -> None:
    of = await endpoint(api, catch_all=False)
    await rule(api, of, {}, enabled=False)
    await pay(api, "93214500001")
    assert await forwards(api) == []


async def test_paused_endpoints_still_claim(api: FakeApi) -> None:
    paused = await endpoint(api, "a")
    await endpoint(api, "b")
    await rule(api, paused, {"currency": "GHS"})
    await api.live.put(f"{ENDPOINTS}/{paused}", json={"is_active": False})
    await pay(api, "93214500001")
    assert await forwards(api) == [(paused, "25.00")]


async def test_unplaced_payments_go_to_catch_alls_only(api: FakeApi) -> None:
    ruled = await endpoint(api, "a", catch_all=False)
    rest = await endpoint(api, "b")
    await rule(api, ruled, {})
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET sim_seq = NULL"))
    await pay(api, "93214500001")
    assert await forwards(api) == [(rest, "25.00")]
    [body] = await api.shop.bodies()
    assert json.loads(body)["data"]["placed"] is False


async def test_a_rule_claims_a_payment_of_the_sandbox_which_has_no_numbers(api: FakeApi) -> None:
    by_rule = await endpoint(api, "a", is_sandbox=True, catch_all=False)
    await rule(api, by_rule, {"telco.reference_text": {"$startsWith": "RENT"}, "placed": True})
    await endpoint(api, "b", is_sandbox=True)
    body = {"amount": "5.00", "reference_text": "RENT MAY"}
    paid = (await api.test.post("/v1/test/payments", json=body)).json()["data"]["transaction"]
    assert await forwards(api) == [(by_rule, "5.00")]
    told = await api.test.get(f"/v1/open-collections/payments/{paid['reference']}/routing")
    assert told.json()["data"]["today"]["placed"] is True


async def test_what_nobody_claims_is_kept_counted_and_replayable(api: FakeApi) -> None:
    of = await endpoint(api, catch_all=False)
    await pay(api, "93214500001")
    assert await forwards(api) == []
    assert await unclaimed(api) == 1
    await rule(api, of, {"amount": "25.00"})
    window = {"endpoint_id": of, "from": "2026-01-01T00:00:00Z", "to": "2026-01-31T00:00:00Z"}
    at = (await api.live.get("/v1/transactions?origin=open")).json()["data"][0]["created_at"]
    window |= {"from": f"{at[:10]}T00:00:00Z", "to": f"{at[:10]}T23:59:59Z"}
    gap = await api.live.get("/v1/open-collections/gap", params=window)
    assert gap.json()["meta"]["missing"] == 1
    replay = await api.live.post("/v1/open-collections/replay", json=window)
    assert replay.json()["enqueued"] == 1  # replay uses today's rules
    assert await forwards(api) == [(of, "25.00")]
    assert await unclaimed(api) == 0


async def test_replay_skips_what_todays_rules_give_to_another(api: FakeApi) -> None:
    first = await endpoint(api, "a")
    second = await endpoint(api, "b", catch_all=False)
    await pay(api, "93214500001")
    await rule(api, second, {"amount": "25.00"})
    at = (await api.live.get("/v1/transactions?origin=open")).json()["data"][0]["created_at"]
    window = {"from": f"{at[:10]}T00:00:00Z", "to": f"{at[:10]}T23:59:59Z", "dry_run": True}
    answers = [
        (await api.live.post("/v1/open-collections/replay", json={**window, "endpoint_id": of})).json()
        for of in (first, second)
    ]
    assert [one["enqueued"] for one in answers] == [0, 1]
    assert answers[1]["already_delivered_elsewhere"] == 0


async def test_two_catch_alls_both_get_it_and_creation_says_so(api: FakeApi) -> None:
    await endpoint(api, "a")
    made = await api.live.post(ENDPOINTS, json={"url": "https://shop.example/b"})
    assert any("no rule claims" in each for each in made.json()["meta"]["warnings"])
    await pay(api, "93214500001")
    assert len(await forwards(api)) == 2


async def test_an_endpoint_that_does_not_ask_for_forwards_claims_nothing(api: FakeApi) -> None:
    made = await api.live.post(ENDPOINTS, json={"url": "https://shop.example/a", "events": ["transaction.expired"]})
    assert "claims no payments" in made.json()["meta"]["warnings"][0]
    await pay(api, "93214500001")
    assert await forwards(api) == []


async def test_rules_test_lists_every_endpoint_and_why(api: FakeApi) -> None:
    ruled, rest = await endpoint(api, "a", catch_all=False), await endpoint(api, "b")
    await rule(api, ruled, {"amount": {"$gte": "50.00"}}, name="big")
    body = {"sample": {"amount": "60.00", "telco": {"provider": "mtn"}, "colour": "red"}}
    answer = (await api.live.post(TEST, json=body)).json()
    assert answer["meta"]["warnings"] == ["Unknown field `sample.colour` was ignored."]
    first, second = answer["data"]["endpoints"]
    assert (first["endpoint_id"], first["claims"], first["claimed_by"]) == (ruled, True, "rule")
    assert first["reason"] == "Its rule big matches."
    assert first["rules"][0]["clauses"] == [
        {
            "path": "amount.$gte",
            "field": "amount",
            "operator": "$gte",
            "expected": "50.00",
            "actual": "60.00",
            "matched": True,
        }
    ]
    assert (second["endpoint_id"], second["claims"]) == (rest, False)
    assert "only what no rule claims" in second["reason"]


async def test_a_filter_is_tried_before_it_is_saved(api: FakeApi) -> None:
    body = {"sample": {"amount": "60.00"}, "filter": {"amount": {"$lt": "5"}}}
    assert (await api.live.post(TEST, json=body)).json()["data"]["filter"]["matched"] is False
    wrong = await api.live.post(TEST, json={"sample": {"amount": "lots"}, "filter": {"x": 1}})
    assert wrong_fields(wrong) == ["sample.amount", "filter.x"]


async def test_the_routing_of_a_payment_is_told_by_the_rules_of_then(api: FakeApi) -> None:
    of = await endpoint(api)
    made = (await rule(api, of, {"amount": {"$gte": "20.00"}}, name="big")).json()["data"]
    await pay(api, "93214500001")
    await api.live.put(f"{ENDPOINTS}/{of}/rules/{made['id']}", json={"filter": {"amount": {"$lt": "1"}}})
    await api.live.put(f"{ENDPOINTS}/{of}", json={"catch_all": False})
    [transaction] = await api.shop.values("SELECT id FROM transactions WHERE origin = 'open'")
    path = f"/v1/open-collections/payments/{transaction}/routing"
    data = (await api.live.get(path)).json()["data"]
    assert data["transaction_id"] == transaction
    [then] = data["decisions"]
    assert (then["claims"], then["endpoints"][0]["claimed_by"]) == (1, "rule")
    assert then["endpoints"][0]["catch_all"] is True
    assert then["endpoints"][0]["rules"][0]["clauses"][0]["actual"] == "25.00"
    assert (data["today"]["claims"], data["today"]["endpoints"][0]["claims"]) == (0, False)
    unknown = await api.live.get(f"/v1/open-collections/payments/{NOWHERE}/routing")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "TRANSACTION_NOT_FOUND")


async def test_an_unpaid_request_was_routed_nowhere(api: FakeApi) -> None:
    request = await api.shop.request()
    path = f"/v1/open-collections/payments/{request.id}/routing"
    data = (await api.live.get(path)).json()["data"]
    assert (data["payment"], data["decisions"], data["today"]) == (None, [], None)


async def test_an_unknown_field_or_operator_is_422_with_its_path(api: FakeApi) -> None:
    of = await endpoint(api)
    answer = await rule(api, of, {"$or": [{"colour": "red"}, {"amount": {"$regex": "5"}}]})
    assert wrong_fields(answer) == ["filter.$or[0].colour", "filter.$or[1].amount.$regex"]
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
