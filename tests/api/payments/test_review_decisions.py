"""POST /v1/reviews/{id}/approve and /reject, over HTTP: bodies, callers, the password."""

from typing import Any

import httpx
from argon2 import PasswordHasher

from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.wire import Mode, Scope
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import MTN_SMSC, STARTED, mtn, mtn_receipt
from tests.fakes.reviews import ask_about_newest
from tests.fakes.validation_errors import wrong

ID = "93214500001"
PASSWORD = " correct horse "


async def held(api: FakeApi) -> tuple[str, str]:
    """Make a review of a trusted payment; returns its path and the order's reference."""
    request = await api.shop.request(2500, expected_payer_phone="+233241234567")
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, request.svc_code or "", ID))
    return await waiting(api), request.reference


async def forged(api: FakeApi) -> str:
    """Make a review of a stranger's message in a shop with a password; returns its path."""
    hashed = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    await api.shop.env.store.write(
        lambda tx: tx.run("UPDATE users SET password_hash = :hash", {"hash": hashed})
    )
    text = mtn_receipt(70_000, "KOFI ANTWI BADU", 90_000, "food", "93214500002")
    await api.shop.read_pdus(encode_deliver("MobileMony", text, STARTED, smsc=MTN_SMSC))
    await ask_about_newest(api.shop)
    return await waiting(api)


async def waiting(api: FakeApi) -> str:
    (review_id,) = await api.shop.values("SELECT id FROM reviews WHERE state = 'open'")
    return f"/v1/reviews/{review_id}"


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_approve_answers_with_the_review_and_the_transaction(api: FakeApi) -> None:
    path, reference = await held(api)
    answer = await api.live.post(f"{path}/approve")
    body = answer.json()
    assert answer.status_code == 200
    assert list(body) == ["success", "data", "transaction", "settled", "meta"]
    assert body["data"] == (await api.live.get(path)).json()["data"]
    shown = (await api.live.get(f"/v1/transactions/{reference}")).json()["data"]
    names = ("pay_to", "settled_at", "settled_by", "settlement", "settles")
    found = {"held_review_id": None, **{name: shown[name] for name in names}}
    assert {**body["transaction"], **found} == shown
    assert body["data"]["decided_by"].startswith("key:")
    assert code(await api.live.post(f"{path}/approve")) == (409, "REVIEW_ALREADY_DECIDED")


async def test_approve_takes_a_reference_and_notes(api: FakeApi) -> None:
    path, _reference = await held(api)
    other = await api.shop.request(2500)
    said = {"reference": f" {other.reference} ", "notes": "line\nline", "refrence": "x"}
    body = (await api.live.post(f"{path}/approve", json=said)).json()
    assert body["transaction"]["reference"] == other.reference
    assert body["data"]["notes"] == "line\nline"
    assert body["meta"]["warnings"] == ["Unknown field `refrence` was ignored."]


async def test_reject_answers_with_the_holder(api: FakeApi) -> None:
    path, reference = await held(api)
    body = (await api.live.post(f"{path}/reject", json={"notes": "not ours"})).json()
    assert (body["data"]["state"], body["data"]["request"]["reference"]) == ("rejected", reference)
    assert (body["transaction"]["origin"], body["transaction"]["rejected"]) == ("open", True)
    assert code(await api.live.post(f"{path}/reject", json={"notes": "x"})) == (
        409,
        "REVIEW_ALREADY_DECIDED",
    )


@each(
    ("verb", "body", "named"),
    [
        ("reject", {}, [("notes", "required")]),
        ("reject", {"notes": " "}, [("notes", "required")]),
        ("reject", {"notes": 1}, [("notes", "wrong_type")]),
        ("approve", {"notes": "x" * 2001}, [("notes", "too_long")]),
        (
            "approve",
            {"reference": 1, "notes": 1, "password": 1},
            [("reference", "wrong_type"), ("notes", "wrong_type"), ("password", "wrong_type")],
        ),
    ],
)
async def test_wrong_bodies_decide_nothing(
    api: FakeApi, verb: str, body: dict[str, Any], named: list[tuple[str, str]]
) -> None:
    path, _reference = await held(api)
    answer = await api.live.post(f"{path}/{verb}", json=body)
    assert code(answer) == (422, "VALIDATION_ERROR")
    assert wrong(answer) == named
    assert await waiting(api) == path


async def test_the_list_can_be_of_live_money_alone(api: FakeApi) -> None:
    path, _reference = await held(api)
    live = (await api.local.get("/v1/reviews", params={"mode": "live"})).json()
    assert [f"/v1/reviews/{one['id']}" for one in live["data"]] == [path]
    sandbox = (await api.local.get("/v1/reviews", params={"mode": "test"})).json()
    assert sandbox["data"] == []
    assert (await api.local.get("/v1/reviews", params={"mode": "both"})).status_code == 422


async def test_an_unknown_review_is_404(api: FakeApi) -> None:
    for review_id in ("nonsense", "00000000-0000-4000-8000-000000000000"):
        for verb in ("approve", "reject"):
            answer = await api.live.post(f"/v1/reviews/{review_id}/{verb}", json={"notes": "x"})
            assert code(answer) == (404, "REVIEW_NOT_FOUND")


async def test_deciding_needs_the_write_scope_and_the_right_mode(api: FakeApi) -> None:
    path, _reference = await held(api)
    key = await api.key(Mode.LIVE, Scope.TRANSACTIONS_READ, Scope.TRANSACTIONS_INITIALIZE)
    reader = await api.client(key)
    for verb in ("approve", "reject"):
        refused = await reader.post(f"{path}/{verb}", json={"notes": "x"})
        assert refused.json()["required_scopes"] == ["transactions:write"]
        other = await api.test.post(f"{path}/{verb}", json={"notes": "x"})
        assert code(other) == (404, "REVIEW_NOT_FOUND")
    assert await waiting(api) == path


async def test_a_key_cannot_make_money_of_a_strangers_message(api: FakeApi) -> None:
    path = await forged(api)
    refused = await api.live.post(f"{path}/approve", json={"password": PASSWORD})
    assert code(refused) == (403, "SESSION_REQUIRED")
    assert await api.shop.payments() == []
    assert (await api.live.post(f"{path}/reject", json={"notes": "false"})).status_code == 200


async def test_the_owner_gives_the_password_for_a_strangers_message(api: FakeApi) -> None:
    path = await forged(api)
    missing = await api.local.post(f"{path}/approve", json={})
    assert (code(missing), missing.json()["attempts_remaining"]) == ((403, "INVALID_PASSWORD"), 5)
    wrong = await api.local.post(f"{path}/approve", json={"password": PASSWORD.strip()})
    assert (code(wrong), wrong.json()["attempts_remaining"]) == ((403, "INVALID_PASSWORD"), 4)
    right = await api.local.post(f"{path}/approve", json={"password": PASSWORD})
    assert (right.status_code, right.json()["data"]["state"]) == (200, "approved")
    assert right.json()["transaction"]["actual_amount"] == "700.00"
    (later,) = await api.shop.values("SELECT COUNT(*) FROM password_attempts")
    assert code(await api.local.post(f"{path}/approve", json={"password": "x"})) == (
        409,
        "REVIEW_ALREADY_DECIDED",
    )
    assert await api.shop.values("SELECT COUNT(*) FROM password_attempts") == [later]


async def test_the_sixth_password_waits_even_when_it_is_right(api: FakeApi) -> None:
    path = await forged(api)
    for _again in range(5):
        await api.local.post(f"{path}/approve", json={"password": "wrong"})
    answer = await api.local.post(f"{path}/approve", json={"password": PASSWORD})
    assert code(answer) == (429, "TOO_MANY_ATTEMPTS")
    assert answer.headers["retry-after"] == str(answer.json()["retry_after"]) == "900"
    assert await api.shop.payments() == []


async def test_the_idempotency_header_replays_without_the_password_in_it(api: FakeApi) -> None:
    path = await forged(api)
    headers = {"Idempotency-Key": "k1"}
    said = {"notes": "seen", "password": PASSWORD}
    first = await api.local.post(f"{path}/approve", json=said, headers=headers)
    again = await api.local.post(f"{path}/approve", json={"notes": "seen"}, headers=headers)
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    other = await api.local.post(f"{path}/approve", json={"notes": "x"}, headers=headers)
    assert code(other) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_a_repeated_rejection_gets_the_same_bytes(api: FakeApi) -> None:
    path, _reference = await held(api)
    call: dict[str, Any] = {
        "json": {"notes": "not ours"},
        "headers": {"Idempotency-Key": "k1"},
    }
    first = await api.live.post(f"{path}/reject", **call)
    again = await api.live.post(f"{path}/reject", **call)
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")


async def test_the_password_is_written_nowhere(api: FakeApi) -> None:
    path = await forged(api)
    await api.local.post(f"{path}/approve", json={"password": PASSWORD + "no"})
    await api.local.post(
        f"{path}/approve", json={"password": PASSWORD}, headers={"Idempotency-Key": "k1"}
    )
    dump = await api.shop.values("SELECT body || fingerprint FROM idempotency_keys")
    events = await api.shop.values("SELECT data FROM events")
    assert not any("correct horse" in text for text in (*dump, *events, str(api.log.lines)))


async def test_undo_answers_with_the_open_review_and_the_order_as_it_was(api: FakeApi) -> None:
    path, reference = await held(api)
    assert code(await api.live.post(f"{path}/undo")) == (409, "DECISION_NOT_UNDOABLE")
    await api.live.post(f"{path}/approve")
    answer = await api.live.post(f"{path}/undo", headers={"Idempotency-Key": "once"})
    assert answer.status_code == 200
    assert answer.json()["data"]["state"] == "open"
    assert answer.json()["transaction"]["reference"] == reference
    assert answer.json()["transaction"]["status"] == "MANUAL_REVIEW"
    again = await api.live.post(f"{path}/undo", headers={"Idempotency-Key": "once"})
    assert again.json()["data"] == answer.json()["data"]
    refused = (await api.live.post(f"{path}/undo")).json()["error"]
    assert (refused["code"], refused["reason"]) == ("DECISION_NOT_UNDOABLE", "open")


async def test_a_key_takes_back_no_decision_about_a_forgery(api: FakeApi) -> None:
    path = await forged(api)
    await api.local.post(f"{path}/approve", json={"password": PASSWORD})
    assert code(await api.live.post(f"{path}/undo")) == (403, "SESSION_REQUIRED")
    assert (await api.local.post(f"{path}/undo")).json()["data"]["state"] == "open"
