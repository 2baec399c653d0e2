"""POST /v1/transactions/{reference}/reconcile: bodies, fields and refusals, over HTTP."""

import re
from typing import Any

import httpx
import pytest

from tests.fakes.api import FakeApi
from tests.fakes.dash import HASH, PASSWORD
from tests.fakes.each import each
from tests.fakes.receipts import MTN_SENDER, mtn
from tests.fakes.validation_errors import wrong

ID = "93214500001"


async def order(api: FakeApi) -> str:
    return (await api.shop.request(2500)).reference


async def pay(api: FakeApi, amount: int = 2500, telco_id: str = ID, reference: str = "food") -> None:
    await api.shop.read(mtn(amount, "KOFI ANTWI BADU", 90_000, reference, telco_id))


async def post(api: FakeApi, reference: str, body: Any, client: httpx.AsyncClient | None = None) -> httpx.Response:
    return await (client or api.live).post(f"/v1/transactions/{reference}/reconcile", json=body)


async def test_a_match_is_200_and_says_so(api: FakeApi) -> None:
    reference = await order(api)
    await pay(api, 2400)
    answer = await post(api, reference, {"transaction_id": f" {ID} ", "notes": "shown\non paper"})
    body = answer.json()
    assert answer.status_code == 200
    assert body["success"] is True
    assert body["data"] == {
        "reconciliation_id": body["data"]["reconciliation_id"],
        "status": "VERIFIED",
        "transaction_id": ID,
        "transaction_updated": True,
        "new_transaction_status": "PARTIAL",
        "matched_amount": "24.00",
        "expected_amount": "25.00",
        "difference": "-1.00",
        "difference_type": "underpaid",
        "message": "Short by GHS 1.00: received 24.00 of 25.00.",
    }
    assert re.fullmatch(r"rec_[0-9a-f]{32}", body["data"]["reconciliation_id"])


@pytest.mark.parametrize("written", ["24.00", "24", 24, 24.0, "24.0"])
async def test_amount_may_be_a_string_or_a_number(api: FakeApi, written: Any) -> None:
    reference = await order(api)
    await pay(api, 2400)
    answer = await post(api, reference, {"transaction_id": ID, "amount": written})
    assert answer.status_code == 200


async def test_another_amount_changes_nothing(api: FakeApi) -> None:
    reference = await order(api)
    await pay(api, 2400)
    answer = await post(api, reference, {"transaction_id": ID, "amount": "25.00"})
    body = answer.json()
    assert (answer.status_code, body["error"]["code"]) == (422, "AMOUNT_MISMATCH")
    assert (body["claimed_amount"], body["matched_amount"]) == ("25.00", "24.00")
    assert body["error"]["claimed_amount"] == "25.00"
    assert (await api.live.get(f"/v1/transactions/{reference}")).json()["data"]["status"] == "PENDING"


async def test_a_number_is_judged_by_how_it_is_written(api: FakeApi) -> None:
    reference = await order(api)
    await pay(api, 2400)
    path = f"/v1/transactions/{reference}/reconcile"
    for written in (b"24.000000000000000001", b"2.4e1", b"24.001", b"-24", b"1e400"):
        content = b'{"transaction_id":"%b","amount":%b}' % (ID.encode(), written)
        answer = await api.live.post(path, content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code == (400 if written == b"1e400" else 422), written


@each(
    ("body", "named"),
    [
        ({}, [("transaction_id", "required")]),
        ({"transaction_id": ""}, [("transaction_id", "required")]),
        ({"transaction_id": 12}, [("transaction_id", "wrong_type")]),
        ({"transaction_id": "1" * 65}, [("transaction_id", "too_long")]),
        ({"transaction_id": ID, "amount": "x"}, [("amount", "invalid")]),
        ({"transaction_id": ID, "amount": True}, [("amount", "wrong_type")]),
        ({"transaction_id": ID, "amount": {}}, [("amount", "wrong_type")]),
        ({"transaction_id": ID, "notes": "x" * 2001}, [("notes", "too_long")]),
        ({"transaction_id": ID, "provider": "mtn"}, [("provider", "invalid")]),
        ({"transaction_id": ID, "ammount": "24"}, [("ammount", "unknown_field")]),
    ],
)
async def test_each_wrong_field_is_refused_by_name(api: FakeApi, body: Any, named: list[tuple[str, str]]) -> None:
    answer = await post(api, await order(api), body)
    assert wrong(answer) == named


async def test_an_alias_of_the_provider_is_accepted(api: FakeApi) -> None:
    reference = await order(api)
    await pay(api)
    body = {"transaction_id": ID, "provider": "momo_vodafone"}
    assert (await post(api, reference, body)).json()["error"]["code"] == "NO_MATCHING_TRANSACTION"


@pytest.mark.parametrize("reference", ["svc_trx_" + "0" * 32, "nonsense", "SVC_TRX_" + "0" * 32])
async def test_an_unknown_reference_is_404(api: FakeApi, reference: str) -> None:
    answer = await post(api, reference, {"transaction_id": ID})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "TRANSACTION_NOT_FOUND")


async def test_the_refusals_of_the_specification(api: FakeApi) -> None:
    paid, other = await order(api), await order(api)
    missing = await post(api, paid, {"transaction_id": ID})
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "NO_MATCHING_TRANSACTION")
    await pay(api)
    assert (await post(api, paid, {"transaction_id": ID})).status_code == 200
    again = await post(api, paid, {"transaction_id": ID})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "ALREADY_VERIFIED")
    assert again.json()["transaction_status"] == "SUCCESS"
    used = await post(api, other, {"transaction_id": ID})
    assert (used.status_code, used.json()["error"]["code"]) == (409, "TRANSACTION_ID_ALREADY_USED")
    assert used.json()["expected_amount"] == "25.00"


async def test_the_eleventh_unknown_id_in_a_quarter_of_an_hour_is_refused(api: FakeApi) -> None:
    reference = await order(api)
    for number in range(10):
        await post(api, reference, {"transaction_id": f"9321450000{number}"})
    stopped = await post(api, reference, {"transaction_id": "93214500099"})
    assert (stopped.status_code, stopped.json()["error"]["code"]) == (429, "TOO_MANY_ATTEMPTS")
    assert stopped.headers["retry-after"] == str(stopped.json()["retry_after"]) == "900"


async def test_the_idempotency_header_replays(api: FakeApi) -> None:
    reference = await order(api)
    await pay(api)
    path = f"/v1/transactions/{reference}/reconcile"
    headers = {"Idempotency-Key": "k1"}
    first = await api.live.post(path, json={"transaction_id": ID}, headers=headers)
    again = await api.live.post(path, json={"transaction_id": ID}, headers=headers)
    assert (first.status_code, again.content) == (200, first.content)
    assert again.headers["idempotency-replayed"] == "true"


async def test_only_the_right_mode_reconciles_it(api: FakeApi) -> None:
    reference = await order(api)
    other_mode = await post(api, reference, {"transaction_id": ID}, api.test)
    assert other_mode.json()["error"]["code"] == "TRANSACTION_NOT_FOUND"


async def set_password(api: FakeApi) -> None:
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE users SET password_hash = :hash", {"hash": HASH}))


async def test_a_pasted_message_is_reconciled_only_by_its_owner_with_the_password(api: FakeApi) -> None:
    """Anybody who may import can paste a receipt that never was, so no program may use it."""
    await set_password(api)
    reference = await order(api)
    text = mtn(2500, "KOFI ANTWI BADU", 90_000, "food", ID).text
    message = {"sender": MTN_SENDER, "text": text, "sent_at": "2026-11-20T08:00:00Z"}
    pasted = {"line": "0244124567", "messages": [message]}
    assert (await api.local.post("/local/v1/messages/import", json=pasted)).status_code == 200
    for body in ({"transaction_id": ID}, {"transaction_id": ID, "password": PASSWORD}):
        key = await post(api, reference, body)
        assert (key.status_code, key.json()["error"]["code"]) == (403, "SESSION_REQUIRED")
        assert "of GHS 25.00 came from a file" in key.json()["error"]["message"]
    without = await post(api, reference, {"transaction_id": ID}, api.local)
    assert (without.status_code, without.json()["error"]["code"]) == (403, "INVALID_PASSWORD")
    assert "came from a file, a paste" in without.json()["error"]["message"]
    assert without.json()["attempts_remaining"] == 5
    wrong_one = await post(api, reference, {"transaction_id": ID, "password": "nonsense"}, api.local)
    assert wrong_one.json()["attempts_remaining"] == 4
    body = {"transaction_id": ID, "password": PASSWORD}
    path = f"/v1/transactions/{reference}/reconcile"
    named = {"Idempotency-Key": "once"}
    done = [await api.local.post(path, json=body, headers=named) for _ in range(2)]
    assert [answer.status_code for answer in done] == [200, 200]
    assert done[0].content == done[1].content


@pytest.mark.parametrize(
    "pasted", [f"Transaction ID: {ID}.", f"\u202a{ID}\u202c", "93214 500001", f'="{ID}"', f"'{ID}"]
)
async def test_an_id_is_found_as_it_was_pasted_and_echoed_as_it_was_sent(api: FakeApi, pasted: str) -> None:
    reference = await order(api)
    await pay(api)
    answer = await post(api, reference, {"transaction_id": pasted})
    assert (answer.status_code, answer.json()["data"]["transaction_id"]) == (200, pasted)


async def test_a_form_that_no_network_uses_is_refused_and_is_no_guess(api: FakeApi) -> None:
    reference = await order(api)
    for form in ("9.3E+10", "1234567", "12345678901234567890", *(f"hello{n}" for n in range(12))):
        answer = await post(api, reference, {"transaction_id": form})
        assert wrong(answer) == [("transaction_id", "invalid")]
    await pay(api)
    assert (await post(api, reference, {"transaction_id": ID})).status_code == 200


async def test_an_id_without_its_zeros_names_the_payment_and_counts_as_a_guess(api: FakeApi) -> None:
    reference = await order(api)
    whole = f"000{ID}"
    await pay(api, telco_id=whole)
    answer = await post(api, reference, {"transaction_id": ID})
    assert answer.status_code == 404
    assert answer.json()["error"]["near_transaction_id"] == whole
    assert await api.shop.values("SELECT COUNT(*) FROM reconcile_misses") == [1]
    assert (await post(api, reference, {"transaction_id": whole})).status_code == 200
    other = await order(api)
    used = await post(api, other, {"transaction_id": ID})
    assert "near_transaction_id" not in used.json()["error"]
