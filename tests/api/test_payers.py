"""Payers over HTTP: expected names, approved payers, and suggested transactions."""

from typing import Any

import pytest

from daemon.core.access.callers import KeyKind
from daemon.wire import Mode
from parsers.svc_code import ALPHABET
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import mtn
from tests.fakes.validation_errors import wrong, wrong_fields

INITIALIZE = "/v1/transactions/initialize"
PAYERS = "/v1/approved-payers"
PLAIN = {"amount": "25.00", "phone_number": "0241234567", "expected_payer_phone": "0241234567"}
NAME = "KOFI ANTWI BADU"


async def make(api: FakeApi, **changes: Any) -> dict[str, Any]:
    answer = await api.live.post(INITIALIZE, json={**PLAIN, **changes})
    assert answer.status_code == 201
    found: dict[str, Any] = answer.json()["data"]
    return found


async def pay(api: FakeApi, typed: str, number: int = 1) -> None:
    balance, telco_id = 90_000 + number * 2500, f"932145000{number:02d}"
    await api.shop.read(mtn(2500, NAME, balance, typed, telco_id, concatenation=number))


async def waiting(api: FakeApi) -> dict[str, Any]:
    [found] = (await api.live.get("/v1/reviews")).json()["data"]
    assert isinstance(found, dict)
    return found


async def status(api: FakeApi, reference: str) -> str:
    return str((await api.live.get(f"/v1/transactions/{reference}")).json()["data"]["status"])


# expected_payer_name ------------------------------------------------------------------------------


async def test_an_order_that_expects_a_name_is_paid_by_it(api: FakeApi) -> None:
    order = await make(api, expected_payer_name="Badu, Kofi A.")
    await pay(api, order["svc_code"])
    assert await status(api, order["reference"]) == "SUCCESS"
    events = (await api.live.get(f"/v1/transactions/{order['reference']}/events")).json()["data"]
    texts = [entry["text"] for entry in events]
    assert any("its payer name is the expected one" in text for text in texts)


async def test_the_review_shows_the_name_that_was_expected(api: FakeApi) -> None:
    order = await make(api, expected_payer_name="Esi Ansah")
    await pay(api, order["svc_code"])
    shown = await waiting(api)
    assert (shown["reason"], shown["request"]["expected_payer_name"]) == ("payer_unknown", "Esi Ansah")


@each(
    ("name", "code"),
    [
        ("", "required"),
        ("   ", "required"),
        ("A. B.", "invalid"),
        ("Mr.", "invalid"),
        ("0244", "invalid"),
        (7, "wrong_type"),
        ("x" * 201, "too_long"),
        ("Kofi\u0000Badu", "invalid"),
    ],
)
async def test_a_name_that_protects_nothing_is_422(api: FakeApi, name: Any, code: str) -> None:
    answer = await api.live.post(INITIALIZE, json={**PLAIN, "expected_payer_name": name})
    assert wrong(answer) == [("expected_payer_name", code)]


async def test_a_name_without_a_number_is_422(api: FakeApi) -> None:
    body = {"amount": "25.00", "phone_number": "0241234567", "expected_payer_name": NAME}
    answer = await api.live.post(INITIALIZE, json=body)
    assert wrong(answer) == [("expected_payer_name", "needs_phone")]


async def test_a_publishable_key_may_not_name_the_payer(api: FakeApi) -> None:
    browser = await api.client(await api.key(kind=KeyKind.PUBLISHABLE))
    body = {"amount": "25.00", "phone_number": "0241234567", "expected_payer_name": NAME}
    answer = await browser.post(INITIALIZE, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "SECRET_KEY_REQUIRED")


# Approved payers ----------------------------------------------------------------------------------


async def test_an_approved_name_is_listed_and_revoked(api: FakeApi) -> None:
    order = await make(api)
    await pay(api, order["svc_code"])
    review = await waiting(api)
    await api.live.post(f"/v1/reviews/{review['id']}/approve", json={})
    answer = (await api.live.get(PAYERS)).json()
    [payer] = answer["data"]
    assert answer["meta"]["total"] == 1
    assert payer == {
        "id": payer["id"],
        "phone_number": "+233241234567",
        "name": NAME,
        "state": "approved",
        "review_id": review["id"],
        "approved_by": payer["approved_by"],
        "approved_at": payer["approved_at"],
        "revoked_by": None,
        "revoked_at": None,
        "test": False,
    }
    assert payer["approved_by"].startswith("key:")
    assert (await api.live.get(f"{PAYERS}?phone_number=0241234567")).json()["data"] == [payer]
    assert (await api.live.get(f"{PAYERS}?phone_number=0209999999")).json()["data"] == []
    assert (await api.live.get(f"{PAYERS}/{payer['id']}")).json()["data"] == payer
    revoked = (await api.live.delete(f"{PAYERS}/{payer['id']}")).json()["data"]
    assert (revoked["state"], revoked["revoked_by"]) == ("revoked", payer["approved_by"])
    assert (await api.live.delete(f"{PAYERS}/{payer['id']}")).json()["data"] == revoked
    assert (await api.live.get(f"{PAYERS}/{payer['id']}")).json()["data"] == revoked
    assert (await api.live.get(PAYERS)).json()["data"] == []
    assert (await api.live.get(f"{PAYERS}?state=all")).json()["data"] == [revoked]


@pytest.mark.parametrize("wanted", ["x", "00000000-0000-4000-8000-000000000000"])
async def test_what_is_not_there_is_404(api: FakeApi, wanted: str) -> None:
    for method in ("GET", "DELETE"):
        answer = await api.live.request(method, f"{PAYERS}/{wanted}")
        found = answer.status_code, answer.json()["error"]["code"]
        assert found == (404, "APPROVED_PAYER_NOT_FOUND")


async def test_a_wrong_question_is_422(api: FakeApi) -> None:
    answer = await api.live.get(f"{PAYERS}?phone_number=12&state=x&limit=0")
    assert wrong_fields(answer) == ["limit", "phone_number", "state"]


async def test_the_sandbox_does_not_see_approvals_of_real_money(api: FakeApi) -> None:
    order = await make(api)
    await pay(api, order["svc_code"])
    await api.live.post(f"/v1/reviews/{(await waiting(api))['id']}/approve", json={})
    [payer] = (await api.live.get(PAYERS)).json()["data"]
    sandbox = await api.client(await api.key(mode=Mode.TEST))
    assert (await sandbox.get(PAYERS)).json()["data"] == []
    assert (await sandbox.get(f"{PAYERS}/{payer['id']}")).status_code == 404
    assert (await sandbox.delete(f"{PAYERS}/{payer['id']}")).status_code == 404


# Suggestions --------------------------------------------------------------------------------------


async def test_a_review_suggests_the_order_that_a_payment_nearly_names(api: FakeApi) -> None:
    order = await make(api, client_reference="o-1", expected_payer_phone=None)
    code = order["svc_code"]
    wrong = code[:-1] + ALPHABET[(ALPHABET.index(code[-1]) + 1) % len(ALPHABET)]
    await pay(api, wrong)
    review = await waiting(api)
    [suggested] = review["suggestions"]
    assert (review["reason"], review["request"], review["payment"]["standing"]) == ("near_miss", None, "open")
    assert {
        name: suggested[name] for name in ("rank", "reasons", "why", "reference", "svc_code", "client_reference")
    } == {
        "rank": 1,
        "reasons": ["code_wrong_character", "amount"],
        "why": ("The reference has its code with one wrong character, and the amount is exactly its own."),
        "reference": order["reference"],
        "svc_code": code,
        "client_reference": "o-1",
    }
    assert suggested["expires_at"] == order["expires_at"]
    path = f"/v1/reviews/{review['id']}/approve"
    answer = await api.live.post(path, json={"reference": order["reference"]})
    assert answer.json()["transaction"]["status"] == "SUCCESS"
    events = (await api.live.get(f"/v1/transactions/{order['reference']}/events")).json()["data"]
    assert any(entry["text"].startswith("An operator accepted the suggestion") for entry in events)


async def test_other_reviews_suggest_nothing(api: FakeApi) -> None:
    order = await make(api)
    await pay(api, order["svc_code"])
    assert (await waiting(api))["suggestions"] == []
