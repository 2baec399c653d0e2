"""Approve and reject reviews: questions, requests, output."""

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, ok, refusal
from tests.fakes.terminal import at_terminal, read_until

ID = samples.REVIEW["id"]
ONE = f"/v1/reviews/{ID}"
BY_CODE = f"/v1/transactions/by-svc/{samples.CODE}"
DOUBTFUL: dict[str, Any] = {
    **samples.REVIEW,
    "reason": "unknown_sender",
    "summary": "not from the network's sender",
    "needs_password": True,
    "payment": None,
    "request": None,
}
PAID: dict[str, Any] = {**samples.ONE, "status": "SUCCESS", "origin": "request"}
HOLDER: dict[str, Any] = {**samples.ONE, "status": "SUCCESS", "origin": "open"}


def decided(state: str, transaction: Any, **changes: Any) -> Any:
    return ok({**samples.REVIEW, "state": state, **changes}, transaction=transaction)


@pytest.fixture
def trusted(api: FakeApi) -> FakeApi:
    api.on("GET", ONE, ok(samples.REVIEW))
    api.on("POST", f"{ONE}/approve", decided("approved", PAID))
    return api


@pytest.fixture
def doubtful(api: FakeApi) -> FakeApi:
    api.on("GET", ONE, ok(DOUBTFUL))
    api.on("POST", f"{ONE}/approve", decided("approved", HOLDER))
    return api


def posted(api: FakeApi) -> list[Any]:
    return [asked.body for asked in api.asked if asked.method == "POST"]


def test_a_trusted_payment_is_approved_without_questions(trusted: FakeApi, momo: Momo) -> None:
    ran = momo("review", "approve", ID, "--notes", "she showed it", "-o", "table")
    assert (ran.code, ran.out) == (0, f"✓ Approved. GHS 12.50 → {samples.REF}  ✓ PAID\n")
    assert posted(trusted) == [{"notes": "she showed it"}]
    assert len(trusted.asked[-1].headers["idempotency-key"]) == 32


def test_an_order_may_be_named_by_its_code(trusted: FakeApi, momo: Momo) -> None:
    trusted.on("GET", BY_CODE, samples.one("PENDING"))
    assert momo("review", "approve", ID, "--order", samples.CODE).code == 0
    assert posted(trusted) == [{"reference": samples.REF}]


def test_a_sale_of_its_own_is_said_to_be_one(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(samples.REVIEW))
    api.on("POST", f"{ONE}/approve", decided("approved", HOLDER))
    ran = momo("review", "approve", ID, "-o", "table")
    assert ran.out == f"✓ Approved. GHS 12.50 is recorded as a new transaction ({samples.REF}).\n"


def test_what_may_be_forged_is_not_approved_by_a_script_that_does_not_say_yes(
    doubtful: FakeApi, momo: Momo, tmp_path: Path
) -> None:
    file = tmp_path / "pw.txt"
    file.write_text("correct horse\n")
    ran = momo("review", "approve", ID, "--password-file", str(file))
    assert ran.code == 2
    assert "--yes" in ran.err
    assert posted(doubtful) == []


def test_what_may_be_forged_needs_the_password_too(doubtful: FakeApi, momo: Momo) -> None:
    ran = momo("review", "approve", ID, "--yes")
    assert ran.code == 2
    assert "--password-file FILE is missing" in ran.err
    assert posted(doubtful) == []


def test_a_script_says_yes_and_names_the_file(
    doubtful: FakeApi, momo: Momo, tmp_path: Path
) -> None:
    file = tmp_path / "pw.txt"
    file.write_text("correct horse\n")
    assert momo("review", "approve", ID, "--yes", "--password-file", str(file)).code == 0
    assert posted(doubtful) == [{"password": "correct horse"}]
    missing = momo("review", "approve", ID, "--yes", "--password-file", str(tmp_path / "no"))
    assert missing.code == 2


def test_the_password_may_come_from_stdin(
    doubtful: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    assert momo("review", "approve", ID, "--yes", "--password-file", "-").code == 0
    assert posted(doubtful) == [{"password": "correct horse"}]


def test_a_decided_one_is_asked_nothing_and_refused(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok({**DOUBTFUL, "state": "rejected"}))
    api.on("POST", f"{ONE}/approve", refusal(409, "REVIEW_ALREADY_DECIDED"))
    api.on("POST", f"{ONE}/reject", refusal(409, "REVIEW_ALREADY_DECIDED"))
    for argv in (("approve", ID), ("reject", ID, "--notes", "not paid")):
        ran = momo("review", *argv)
        assert ran.code == 5
        assert ran.err.splitlines()[-1] == f"  next:  momo review show {ID}"


def test_a_wrong_password_says_how_many_attempts_are_left(doubtful: FakeApi, momo: Momo) -> None:
    doubtful.on("POST", f"{ONE}/approve", refusal(403, "INVALID_PASSWORD", attempts_remaining=3))
    with_file = ("review", "approve", ID, "--yes", "--password-file", "/dev/null")
    ran = momo(*with_file)
    assert ran.code == 4
    assert ran.err == (
        "error: the password is wrong  [INVALID_PASSWORD]\n"
        "    attempts remaining 3\n"
        f"  next:  momo review approve {ID}\n"
    )
    doubtful.on("POST", f"{ONE}/approve", refusal(429, "TOO_MANY_ATTEMPTS", retry_after=600))
    assert momo(*with_file).code == 4


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("TRANSACTION_NOT_FOUND", 404, 3),
        ("REVIEW_NOT_FOUND", 404, 3),
        ("ALREADY_VERIFIED", 409, 5),
        ("TRANSACTION_ID_ALREADY_USED", 409, 5),
        ("PAYMENT_REVERSED", 409, 5),
        ("NETWORK_MISMATCH", 422, 5),
        ("SESSION_REQUIRED", 403, 4),
    ],
)
def test_refusals_have_their_usual_exit_codes(
    code: str, status: int, expected: int, trusted: FakeApi, momo: Momo
) -> None:
    trusted.on("POST", f"{ONE}/approve", refusal(status, code))
    ran = momo("review", "approve", ID, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (expected, code)


def test_reject_sends_why_and_says_what_became_of_the_money(api: FakeApi, momo: Momo) -> None:
    api.on("POST", f"{ONE}/reject", decided("rejected", HOLDER))
    ran = momo("review", "reject", ID, "--notes", "not ours", "-o", "table")
    assert (ran.code, ran.out) == (
        0,
        (
            f"✓ Rejected. GHS 12.50 is recorded and not forwarded ({samples.REF}).\n"
            f"  transaction  {samples.REF}  ! REVIEW\n"
        ),
    )
    assert posted(api) == [{"notes": "not ours"}]
    assert momo("review", "reject", ID, "--reason", "not ours").code == 0


def test_reject_of_a_message_says_that_it_counts_as_nothing(api: FakeApi, momo: Momo) -> None:
    api.on("POST", f"{ONE}/reject", decided("rejected", None, payment=None))
    ran = momo("review", "reject", ID, "--notes", "forged", "-o", "table")
    assert ran.out == "✓ Rejected. The message is ignored.\n"


def test_reject_without_a_reason_is_2(api: FakeApi, momo: Momo) -> None:
    assert momo("review", "reject", ID).code == 2
    assert api.asked == []


def on_terminal(shop: Shop, answers: list[tuple[bytes, bytes]]) -> tuple[int, bytes, bytes]:
    """Run `review approve` on a terminal and answer each question; return exit code, stdout and the terminal's text."""
    words = [sys.executable, "-m", "momo_cli", "review", "approve", ID, "--json"]
    with at_terminal(words, shop.environ) as (process, master):
        shown = b""
        for question, reply in answers:
            shown += read_until(master, question)
            os.write(master, reply)
        assert process.stdout is not None
        out = process.stdout.read()
        code = process.wait(30)
    return code, out, shown


def test_a_person_sees_the_evidence_says_yes_and_gives_the_password(
    doubtful: FakeApi, shop: Shop
) -> None:
    asked = [(b"Type YES: ", b"YES\n"), (b"The owner's password: ", b"correct horse\n")]
    code, out, shown = on_terminal(shop, asked)
    assert code == 0
    assert json.loads(out)["data"]["state"] == "approved"
    assert b"not from the network's sender" in shown
    assert b"horse" not in shown
    assert posted(doubtful) == [{"password": "correct horse"}]


def test_a_person_who_does_not_say_yes_changes_nothing(doubtful: FakeApi, shop: Shop) -> None:
    code, out, _shown = on_terminal(shop, [(b"Type YES: ", b"yes\n")])
    assert code == 10
    assert json.loads(out)["data"]["state"] == "open"
    assert posted(doubtful) == []


def test_both_decisions_say_how_many_other_messages_they_settled(api: FakeApi, momo: Momo) -> None:
    row = {**samples.REVIEW, "state": "approved"}
    api.on("GET", ONE, ok(samples.REVIEW))
    api.on("POST", f"{ONE}/approve", ok(row, transaction=PAID, settled=5))
    ran = momo("review", "approve", ID, "-o", "table")
    assert ran.out.endswith("✓ PAID\n  5 other held messages settled with it.\n")
    api.on("POST", f"{ONE}/reject", ok(row, transaction=None, settled=1))
    ran = momo("review", "reject", ID, "--notes", "forged", "-o", "table")
    assert ran.out.endswith("ignored.\n  1 other held message settled with it.\n")


def test_a_message_that_breaks_the_balance_asks_for_it(api: FakeApi, shop: Shop) -> None:
    details = {"smsc": "+233240000099"}
    api.on("GET", ONE, ok({**DOUBTFUL, "reason": "balance_break", "details": details}))
    asked = b"Have you seen GHS 900.00 in the wallet itself? Type YES: "
    code, _out, _shown = on_terminal(shop, [(asked, b"no\n")])
    assert (code, posted(api)) == (10, [])


def test_undo_says_what_stands_now(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(DOUBTFUL))
    transaction = {"reference": "svc_trx_" + "1" * 32, "status": "PENDING", "origin": "request"}
    api.on(
        "POST", f"{ONE}/undo", ok({**DOUBTFUL, "state": "open"}, transaction=transaction, settled=0)
    )
    ran = momo("review", "undo", ID, "-o", "table")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "✓ Taken back. GHS 12.50 waits for a decision again.",
        f"  transaction  {transaction['reference']}  … waiting",
    ]


def test_a_decision_that_is_not_taken_back_is_refused_with_the_reason(
    api: FakeApi, momo: Momo
) -> None:
    api.on("POST", f"{ONE}/undo", refusal(409, "DECISION_NOT_UNDOABLE", reason="too_late"))
    ran = momo("review", "undo", ID)
    assert ran.code == 5
    assert ran.err.splitlines()[-1] == f"  next:  momo review show {ID}"


def test_a_rejection_of_several_messages_asks_for_the_password(
    api: FakeApi, momo: Momo, tmp_path: Path
) -> None:
    api.on("POST", f"{ONE}/reject", refusal(403, "INVALID_PASSWORD", settled=3))
    ran = momo("review", "reject", ID, "--notes", "not paid")
    assert ran.code == 2
    assert "--password-file FILE is missing" in ran.err
    file = tmp_path / "pw.txt"
    file.write_text("correct horse\n")
    api.on(
        "POST", f"{ONE}/reject", ok({**DOUBTFUL, "state": "rejected"}, transaction=None, settled=3)
    )
    ran = momo("review", "reject", ID, "--notes", "not paid", "--password-file", str(file))
    assert ran.code == 0
    assert posted(api)[-1] == {"notes": "not paid", "password": "correct horse"}
