"""The detail lines below an error message: facts from the error body, without a repetition of the message."""

from typing import Any

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.each import each
from tests.fakes.fake_api import FakeApi, ok, refusal

TX = f"/v1/transactions/{samples.REF}"
OTHER = samples.REF[:-1] + "0"
USED = {
    **samples.ONE,
    "reference": OTHER,
    "status": "SUCCESS",
    "actual_amount": "40.00",
    "payer_source": {"phone_number": "request", "name": "receipt"},
    "telco": {"provider": "mtn", "transaction_id": "40412345678", "timestamp": None},
    "timeline": {**samples.ONE["timeline"], "completed_at": "2026-11-20T09:14:00.000Z"},
}


def used(api: FakeApi) -> None:
    answer = refusal(409, "TRANSACTION_ID_ALREADY_USED", used_by_reference=OTHER)
    api.on("POST", f"{TX}/reconcile", answer)


def test_a_payment_that_was_used_is_shown_with_what_it_paid(api: FakeApi, momo: Momo) -> None:
    used(api)
    api.on("GET", f"/v1/transactions/{OTHER}", ok(USED))
    ran = momo("reconcile", samples.REF, "40412345678", "--utc")
    assert ran.code == 5
    assert ran.err == (
        "error: the payment with that transaction ID already paid another transaction: do not hand over goods"
        "  [TRANSACTION_ID_ALREADY_USED]\n"
        f"    40412345678 (MTN, GHS 40.00, from Kofi 024…4567 (request)) paid {OTHER} today at 09:14.\n"
        f"  next:  momo tx show {OTHER}\n"
    )


def test_the_refusal_stands_where_what_it_paid_cannot_be_looked_up(api: FakeApi, momo: Momo) -> None:
    used(api)
    ran = momo("reconcile", samples.REF, "40412345678", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (5, "TRANSACTION_ID_ALREADY_USED")


@each(
    ("status", "code", "extras", "line"),
    [
        (409, "ALREADY_VERIFIED",
         {"transaction_status": "PARTIAL", "verified_by_transaction_id": "0012"}, "transaction status SHORT, verified by transaction id 0012"),
        (422, "AMOUNT_MISMATCH", {"claimed_amount": "40.00", "matched_amount": "4.00"},
         "claimed amount 40.00, matched amount 4.00"),
        (409, "LINES_NOT_READY",
         {"sims_without_number": [{"name": "zte-back", "slot_index": 0}, {"device_id": "d", "slot_index": 1}]},
         "sims without number zte-back:0 or d:1"),
        (409, "SIM_ALREADY_ASSIGNED", {"phone_number": "+233244124567"}, "phone number 024 412 4567"),
        (403, "INVALID_PASSWORD", {"attempts_remaining": 1}, "attempts remaining 1"),
        (429, "TOO_MANY_ATTEMPTS", {"retry_after": 90}, "retry after 90 s, at 09:19:30"),
        (409, "DELIVERY_NOT_REDELIVERABLE", {"delivery_status": "retrying"}, "delivery status RETRYING"),
        (403, "INSUFFICIENT_SCOPE", {"required_scopes": ["a:read", "b:manage"]}, "required scopes a:read or b:manage"),
        (422, "AMBIGUOUS_TRANSACTION_ID", {"providers": ["momo_mtn", "momo_at"]}, "providers momo_mtn or momo_at"),
        (409, "TRANSACTION_NOT_CANCELLABLE", {"transaction_status": "SUCCESS"}, "transaction status PAID"),
        (409, "REVIEW_ALREADY_DECIDED",
         {"review_state": "approved", "decided_at": "2026-11-20T09:14:00.000Z"}, "review state approved, today 09:14"),
        (409, "REVIEW_ALREADY_DECIDED",
         {"review_state": "used_elsewhere", "decided_at": "2026-11-20T09:14:00.000Z"},
         "review state used elsewhere, today 09:14"),
    ],
)  # fmt: skip
def test_what_an_answer_carries_besides_its_code_is_told(
    status: int, code: str, extras: dict[str, Any], line: str, api: FakeApi, momo: Momo
) -> None:
    api.on("GET", wire.Path.LINES, refusal(status, code, "said by the daemon", **extras))
    assert momo("lines", "--utc").err.splitlines()[1] == f"    {line}"
    api.on("GET", wire.Path.LINES, refusal(status, code, "said by the daemon"))
    happened, below = momo("lines", "--utc").err.splitlines()[:2]
    assert happened == f"error: said by the daemon  [{code}]"
    assert below.startswith("  next:")


def test_of_an_id_that_two_networks_carry_each_is_typed_out(api: FakeApi, momo: Momo) -> None:
    answer = refusal(422, "AMBIGUOUS_TRANSACTION_ID", providers=["momo_mtn", "momo_at"])
    api.on("POST", f"{TX}/reconcile", answer)
    assert momo("reconcile", samples.REF, "0012", "--json").json["error"]["next"] == [
        f"momo reconcile {samples.REF} 0012 --provider momo_mtn",
        f"momo reconcile {samples.REF} 0012 --provider momo_at",
    ]


def test_a_sim_that_is_taken_leads_to_both_ways_out(api: FakeApi, momo: Momo) -> None:
    holder = samples.MESSAGE
    api.on("GET", wire.Path.SIMS, ok(samples.SIMS))
    answer = refusal(409, "SIM_ALREADY_ASSIGNED", payment_method_id=holder, phone_number="+233200000011")
    api.on("PATCH", f"/v1/payment-methods/{samples.METHOD}", answer)
    ran = momo("lines", "update", samples.METHOD, "--sim", "zte-front:0", "--json")
    assert ran.json["error"]["next"] == [
        f"momo lines update {samples.METHOD} --sim zte-front:0 --move",
        "momo lines update +233200000011 --sim none",
    ]


def test_too_many_of_something_is_told_in_the_daemons_words(api: FakeApi, momo: Momo) -> None:
    many = refusal(429, "RATE_LIMITED", "This SIM has sent as many SMS as it may.", retry_after=90)
    api.on("GET", wire.Path.LINES, many)
    ran = momo("lines", "--utc")
    assert ran.code == 4
    assert ran.err.splitlines()[:2] == [
        "error: this SIM has sent as many SMS as it may  [RATE_LIMITED]",
        "    retry after 90 s, at 09:19:30",
    ]
