"""Dead letters over HTTP: list, replay one, replay a batch."""

from typing import Any

import httpx
import pytest

from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError, RetryPolicy
from daemon.core.webhooks.signing import sign
from daemon.flows.webhooks import deliver
from tests.api.webhooks.test_redeliver import LINK, NOBODY, answered, attempt, code, endpoint
from tests.api.webhooks.test_secrets import signing
from tests.fakes import delivering
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import mtn
from tests.fakes.sender import FakeSender
from tests.fakes.validation_errors import wrong, wrong_fields

PATH = "/v1/webhooks/dead-letters"
LOG = "/v1/open-collections/deliveries"
ENDPOINTS = "/v1/open-collections/endpoints"


async def buried(api: FakeApi, count: int = 1, *, status: int = 410) -> list[dict[str, Any]]:
    """Make an endpoint, let payments come in and be refused; return their dead letters, the newest first."""
    await endpoint(api.live)
    for number in range(count):
        receipt = mtn(
            2500, "KOFI ANTWI BADU", 90_000 + number * 2500, "food", f"9321450000{number}", concatenation=number
        )
        await api.shop.read(receipt)
        await attempt(api, answered(status))
    return await letters(api)


async def letters(api: FakeApi, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await api.live.get(PATH + query)).json()["data"]
    return found


async def again(api: FakeApi, letter: str, **more: Any) -> httpx.Response:
    return await api.live.post(f"{PATH}/{letter}/replay", **more)


async def test_list_has_every_field(api: FakeApi) -> None:
    (letter,) = await buried(api)
    (entry,) = (await api.live.get(LOG)).json()["data"]
    assert letter == {
        "id": letter["id"],
        "delivery_id": entry["id"],
        "webhook_id": entry["webhook_id"],
        "endpoint_id": entry["endpoint_id"],
        "url": "https://shop.example/hook",
        "event": "transaction.forwarded",
        "transaction_id": entry["transaction_id"],
        "reason": "permanent_4xx",
        "error_code": "http_error",
        "last_status_code": 410,
        "last_response_body": "said so",
        "attempt_count": 1,
        "diagnosis": letter["diagnosis"],
        "created_at": entry["failed_at"],
        "replayed_at": None,
        "replay_count": 0,
        "resolved_at": None,
        "dismissed_at": None,
        "dismissed_by": None,
        "notes": None,
        "cause": "gone",
        "failed_at": entry["failed_at"],
        "failing_since": entry["failed_at"],
        "error_message": None,
        "delivery_status": "failed",
        "test": False,
        "payment": {"amount": "25.00", "currency": "GHS", "svc_code": letter["payment"]["svc_code"]},
    }
    sent = (await api.live.get(f"{PATH}/{letter['id']}")).json()["data"]["payload"]["data"]
    assert letter["payment"]["svc_code"] == sent["svc_code"]
    assert letter["diagnosis"].startswith("shop.example answered 410: ")
    meta = (await api.live.get(PATH)).json()["meta"]
    assert meta == {"limit": 100, "offset": 0, "total": 1, "next_cursor": None}


async def test_one_shows_what_was_to_be_sent(api: FakeApi) -> None:
    (letter,) = await buried(api)
    data = (await api.live.get(f"{PATH}/{letter['id']}")).json()["data"]
    payload = data.pop("payload")
    assert data == letter
    assert payload["webhook_id"] == letter["webhook_id"]


async def test_the_newest_failure_comes_first_a_page_at_a_time(api: FakeApi) -> None:
    await buried(api, 3)
    every = [letter["id"] for letter in await letters(api)]
    times = [letter["failed_at"] for letter in await letters(api)]
    assert times == sorted(times, reverse=True)
    assert [letter["id"] for letter in await letters(api, "?limit=2&offset=1")] == every[1:]


async def test_a_walk_by_cursor_neither_repeats_nor_skips_when_letters_come_and_go(api: FakeApi) -> None:
    await buried(api, 4)
    every = [letter["id"] for letter in await letters(api)]
    first = (await api.live.get(f"{PATH}?limit=2")).json()
    assert [letter["id"] for letter in first["data"]] == every[:2]
    # The first is sent again, so an offset would skip the third. It fails again, and is the newest now.
    await again(api, every[0])
    api.shop.clock.advance(1)
    await attempt(api, answered(410))
    assert (await letters(api))[0]["id"] == every[0]
    rest = (await api.live.get(f"{PATH}?limit=2&after={first['meta']['next_cursor']}")).json()
    assert [letter["id"] for letter in rest["data"]] == every[2:]
    assert rest["meta"]["next_cursor"] is None


async def test_letters_of_the_same_moment_are_split_between_pages(api: FakeApi) -> None:
    await buried(api, 3)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE dead_letters SET failed_at = 1"))
    every = [letter["id"] for letter in await letters(api)]
    seen: list[str] = []
    after: str | None = ""
    for _ in every:
        body = (await api.live.get(PATH, params={"limit": 1, "after": after})).json()
        seen += [letter["id"] for letter in body["data"]]
        after = body["meta"]["next_cursor"]
    assert (seen, after) == (every, None)


async def test_include_replayed_false_leaves_out_what_was_sent_again(api: FakeApi) -> None:
    newest, oldest = await buried(api, 2)
    await again(api, oldest["id"])
    assert [letter["id"] for letter in await letters(api)] == [newest["id"]]
    assert len(await letters(api, "?include_replayed=false")) == 1
    both = await letters(api, "?include_replayed=true")
    assert [letter["id"] for letter in both] == [newest["id"], oldest["id"]]
    assert [letter["replay_count"] for letter in both] == [0, 1]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?endpoint_id={endpoint_id}", 1),
        (f"?endpoint_id={NOBODY}", 0),
        ("?reason=permanent_4xx", 1),
        ("?reason=retries_exhausted", 0),
        ("?error_code=http_error", 1),
        ("?error_code=timeout", 0),
    ],
)
async def test_the_list_is_narrowed(api: FakeApi, query: str, found: int) -> None:
    (letter,) = await buried(api)
    assert len(await letters(api, query.format(**letter))) == found


@each(
    ("query", "named"),
    [
        ("limit=0", "limit"),
        ("offset=-1", "offset"),
        ("after=x", "after"),
        ("after=WzFd", "after"),  # a position in the deliveries
        ("include_replayed=maybe", "include_replayed"),
        ("endpoint_id=1", "endpoint_id"),
        ("reason=bad", "reason"),
        ("error_code=bad", "error_code"),
    ],
)
async def test_each_wrong_query_is_refused_by_name(api: FakeApi, query: str, named: str) -> None:
    answer = await api.live.get(f"{PATH}?{query}")
    assert code(answer) == (422, "VALIDATION_ERROR")
    assert wrong_fields(answer) == [named]


async def test_a_limit_above_500_is_lowered_and_told(api: FakeApi) -> None:
    meta = (await api.live.get(f"{PATH}?limit=501")).json()["meta"]
    assert (meta["limit"], meta["warnings"]) == (500, ["`limit` was lowered to 500."])


async def test_replay_one_sends_the_original_payload_under_its_id_with_a_fresh_counter(api: FakeApi) -> None:
    (letter,) = await buried(api)
    before = await api.shop.bodies()
    answer = await again(api, letter["id"])
    body = answer.json()
    assert answer.status_code == 200
    assert body["data"]["id"] == letter["id"]
    assert body["data"]["replayed_at"] is not None
    assert body["data"]["replay_count"] == 1
    assert body["data"]["diagnosis"] == letter["diagnosis"]
    delivery = body["delivery"]
    assert (delivery["status"], delivery["attempt_count"], delivery["run"]) == ("pending", 0, 2)
    assert delivery["webhook_id"] == letter["webhook_id"]
    api.shop.clock.advance(60)
    due = await delivering.lease(api.shop.env, limit=1, per_endpoint=1, running={})
    assert [leased.body.decode() for leased in due.leased] == before
    sender: Any = FakeSender(lambda _url: answered(200), [])
    await deliver.attempt(api.shop.env, sender, due.leased[0])
    (secret,) = await signing(api, letter["endpoint_id"])
    fresh = sign(
        [secret], webhook_id=letter["webhook_id"], timestamp=api.shop.clock.now_us() // 1_000_000,
        body=before[0].encode(),
    )  # fmt: skip
    assert fresh.items() <= sender.headers.items()
    assert (sender.headers["X-Svc-Replay"], sender.headers["X-Svc-Attempt"]) == ("true", "1")
    await delivering.record_outcome(api.shop.env, due.leased[0], answered(200), link=LINK, policy=RetryPolicy())
    (after,) = await letters(api, "?include_replayed=1")
    assert after["resolved_at"] is not None
    assert (after["last_status_code"], after["delivery_status"]) == (410, "delivered")


async def test_a_second_failure_opens_it_again_with_what_it_failed_of_then(api: FakeApi) -> None:
    (letter,) = await buried(api)
    await again(api, letter["id"])
    api.shop.clock.advance(60)
    await attempt(api, answered(401))
    (after,) = await letters(api)
    assert (after["id"], after["created_at"]) == (letter["id"], letter["created_at"])
    assert (after["replayed_at"], after["replay_count"]) == (None, 1)
    assert (after["cause"], after["failed_at"] > letter["failed_at"]) == ("refused_signature", True)


async def test_an_exhausted_schedule_is_a_dead_letter_too(api: FakeApi) -> None:
    await endpoint(api.live)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    slow = AttemptOutcome(None, "", DeliveryError.TIMEOUT, "no answer in 15 s", 15_000_000, connected=True)
    await attempt(api, *[slow] * 13)
    (letter,) = await letters(api)
    assert (letter["reason"], letter["attempt_count"]) == ("retries_exhausted", 13)
    assert (letter["error_code"], letter["last_status_code"]) == ("timeout", None)
    assert letter["failing_since"] < letter["failed_at"]


@pytest.mark.parametrize("then", [(), (503,), (200,)])
async def test_one_on_its_way_or_arrived_is_already_replayed(api: FakeApi, then: tuple[int, ...]) -> None:
    (letter,) = await buried(api)
    await again(api, letter["id"])
    await attempt(api, *map(answered, then))
    assert code(await again(api, letter["id"])) == (409, "DEAD_LETTER_ALREADY_REPLAYED")
    assert await api.shop.values("SELECT run FROM deliveries") == [2]


async def test_replay_to_a_paused_endpoint_waits_and_says_so(api: FakeApi) -> None:
    (letter,) = await buried(api)
    await api.live.put(f"{ENDPOINTS}/{letter['endpoint_id']}", json={"is_active": False})
    body = (await again(api, letter["id"])).json()
    assert body["delivery"]["waiting"] == "endpoint_paused"
    assert body["meta"]["warnings"] == ["An endpoint is paused: its deliveries wait until it is resumed."]


async def test_the_letter_of_a_deleted_endpoint_is_kept_and_not_replayed(api: FakeApi) -> None:
    (letter,) = await buried(api)
    await api.live.delete(f"{ENDPOINTS}/{letter['endpoint_id']}")
    assert [each["id"] for each in await letters(api)] == [letter["id"]]
    assert code(await again(api, letter["id"])) == (409, "ENDPOINT_DELETED")


async def test_what_a_deletion_left_undelivered_says_so(api: FakeApi) -> None:
    target = await endpoint(api.live)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    await api.live.delete(f"{ENDPOINTS}/{target}")
    (letter,) = await letters(api)
    assert (letter["cause"], letter["attempt_count"]) == ("endpoint_deleted", 0)
    assert letter["failing_since"] is None


async def test_a_requests_own_webhook_has_no_endpoint_id(api: FakeApi) -> None:
    request = await api.shop.request(webhook_url="https://shop.example/own")
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, request.svc_code or "", "93214500001"))
    await attempt(api, answered(404))
    (letter,) = await letters(api)
    assert (letter["endpoint_id"], letter["url"]) == (None, "https://shop.example/own")
    assert (await again(api, letter["id"])).status_code == 200


async def test_a_dismissed_dead_letter_leaves_the_list_with_a_note_and_can_still_be_replayed(api: FakeApi) -> None:
    (letter,) = await buried(api)
    path = f"{PATH}/{letter['id']}/dismiss"
    assert (await api.live.post(path, json={})).status_code == 422
    done = (await api.live.post(path, json={"notes": "written into the books by hand"})).json()
    assert done["data"]["notes"] == "written into the books by hand"
    assert done["data"]["dismissed_at"] is not None
    assert await letters(api) == []
    assert [one["id"] for one in await letters(api, "?include_replayed=true")] == [letter["id"]]
    status = (await api.local.get("/local/v1/status")).json()["data"]
    assert status["queue"]["dead_letters"] == 0
    # A second call has no effect.
    twice = (await api.live.post(path, json={"notes": "other"})).json()["data"]
    assert twice == done["data"]
    types = await api.shop.values("SELECT type FROM events WHERE type = 'dead_letter.dismissed'")
    assert len(types) == 1
    assert (await again(api, letter["id"])).status_code == 200
    assert (await api.live.post(path, json={"notes": "x"})).json()["error"]["code"] == ("DEAD_LETTER_ALREADY_REPLAYED")


async def test_a_dismissed_dead_letter_that_fails_again_is_open_again(api: FakeApi) -> None:
    (letter,) = await buried(api)
    await api.live.post(f"{PATH}/{letter['id']}/dismiss", json={"notes": "enough"})
    await again(api, letter["id"])
    await attempt(api, answered(410))
    (after,) = await letters(api)
    assert (after["id"], after["notes"], after["dismissed_at"]) == (letter["id"], None, None)


async def test_the_sandbox_never_alarms_the_live_shop(api: FakeApi) -> None:
    """As after a test with `momo listen`: its endpoint is gone, and its webhook waited."""
    made = await endpoint(api.test, is_sandbox=True)
    await api.test.post("/v1/test/payments", json={"amount": "25.00", "reference_text": "food"})
    assert (await api.test.delete(f"{ENDPOINTS}/{made}")).status_code == 200
    assert await api.shop.values("SELECT mode FROM dead_letters") == ["test"]
    status = (await api.local.get("/local/v1/status")).json()["data"]
    assert status["queue"]["dead_letters"] == 0
    assert await letters(api, "?mode=live") == []
    (letter,) = await letters(api, "?mode=test")
    assert (letter["reason"], letter["test"]) == ("endpoint_deleted", True)
    assert len((await api.live.get(f"{LOG}?mode=test")).json()["data"]) == 1
    assert (await api.live.get(f"{LOG}?mode=live")).json()["data"] == []
    done = await api.test.post(f"{PATH}/{letter['id']}/dismiss", json={"notes": "a test"})
    assert done.json()["data"]["notes"] == "a test"
    assert await letters(api) == []


async def test_a_test_key_cannot_dismiss_what_is_live(api: FakeApi) -> None:
    (letter,) = await buried(api)
    assert await api.shop.values("SELECT mode FROM dead_letters") == ["live"]
    answer = await api.test.post(f"{PATH}/{letter['id']}/dismiss", json={"notes": "x"})
    assert code(answer) == (403, "LIVE_KEY_REQUIRED")


BATCH = f"{PATH}/replay-batch"


async def test_batch_replays_each_once_and_says_what_came_of_it(api: FakeApi) -> None:
    newest, middle, oldest = (letter["id"] for letter in await buried(api, 3))
    await again(api, oldest)
    asked = [newest, newest.upper(), NOBODY, "not-an-id", oldest, middle]
    answer = await api.live.post(BATCH, json={"dead_letter_ids": asked})
    body = answer.json()
    assert answer.status_code == 200
    assert body["replayed"] == 2
    assert body["data"]["replayed"] == [newest, middle]
    assert [(each["id"], each["code"]) for each in body["data"]["failed"]] == [
        (NOBODY, "DEAD_LETTER_NOT_FOUND"),
        ("not-an-id", "DEAD_LETTER_NOT_FOUND"),
        (oldest, "DEAD_LETTER_ALREADY_REPLAYED"),
    ]
    assert all(each["message"] for each in body["data"]["failed"])
    assert await letters(api) == []


@each(
    ("ids", "why"),
    [
        ([], "out_of_range"),
        ([NOBODY] * 101, "out_of_range"),
        (None, "required"),
        ("x", "wrong_type"),
        ([1], "wrong_type"),
    ],
)
async def test_batch_of_none_or_more_than_100_is_refused(api: FakeApi, ids: object, why: str) -> None:
    answer = await api.live.post(BATCH, json={"dead_letter_ids": ids})
    assert code(answer) == (422, "VALIDATION_ERROR")
    named = wrong(answer)
    assert named == [("dead_letter_ids[0]" if ids == [1] else "dead_letter_ids", why)]


async def test_batch_of_100_is_taken(api: FakeApi) -> None:
    answer = await api.live.post(BATCH, json={"dead_letter_ids": [f"id-{n}" for n in range(100)]})
    assert len(answer.json()["data"]["failed"]) == 100


async def test_a_test_key_sees_and_replays_no_live_letter(api: FakeApi) -> None:
    (letter,) = await buried(api)
    assert (await api.test.get(PATH)).json()["data"] == []
    one, replay = f"{PATH}/{letter['id']}", f"{PATH}/{letter['id']}/replay"
    for answer in (await api.test.get(one), await api.test.post(replay)):
        assert code(answer) == (403, "LIVE_KEY_REQUIRED")
    body = (await api.test.post(BATCH, json={"dead_letter_ids": [letter["id"]]})).json()
    assert [each["code"] for each in body["data"]["failed"]] == ["LIVE_KEY_REQUIRED"]
    assert len(await letters(api)) == 1


async def test_the_same_key_replays_once(api: FakeApi) -> None:
    newest, oldest = (letter["id"] for letter in await buried(api, 2))
    headers = {"Idempotency-Key": "k1"}
    for path, body in ((f"{PATH}/{newest}/replay", {}), (BATCH, {"dead_letter_ids": [oldest]})):
        first = await api.live.post(path, json=body, headers=headers)
        second = await api.live.post(path, json=body, headers=headers)
        assert first.status_code == 200
        assert (second.content, second.headers["Idempotency-Replayed"]) == (first.content, "true")
    assert await api.shop.values("SELECT run FROM deliveries") == [2, 2]


@pytest.mark.parametrize("wrong", [NOBODY, "1"])
async def test_an_unknown_letter_is_not_found(api: FakeApi, wrong: str) -> None:
    for answer in (await api.live.get(f"{PATH}/{wrong}"), await again(api, wrong)):
        assert code(answer) == (404, "DEAD_LETTER_NOT_FOUND")
