"""Approve and reject reviews: questions, requests, output."""

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
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


def test_a_script_says_yes_and_names_the_file(doubtful: FakeApi, momo: Momo, tmp_path: Path) -> None:
    file = tmp_path / "pw.txt"
    file.write_text("correct horse\n")
    assert momo("review", "approve", ID, "--yes", "--password-file", str(file)).code == 0
    assert posted(doubtful) == [{"password": "correct horse"}]
    missing = momo("review", "approve", ID, "--yes", "--password-file", str(tmp_path / "no"))
    assert missing.code == 2


def test_the_password_may_come_from_stdin(doubtful: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_person_sees_the_evidence_says_yes_and_gives_the_password(doubtful: FakeApi, shop: Shop) -> None:
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
    api.on("POST", f"{ONE}/undo", ok({**DOUBTFUL, "state": "open"}, transaction=transaction, settled=0))
    ran = momo("review", "undo", ID, "-o", "table")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "✓ Taken back. GHS 12.50 waits for a decision again.",
        f"  transaction  {transaction['reference']}  … waiting",
    ]


def test_a_decision_that_is_not_taken_back_is_refused_with_the_reason(api: FakeApi, momo: Momo) -> None:
    api.on("POST", f"{ONE}/undo", refusal(409, "DECISION_NOT_UNDOABLE", reason="too_late"))
    ran = momo("review", "undo", ID)
    assert ran.code == 5
    assert ran.err.splitlines()[-1] == f"  next:  momo review show {ID}"


def test_a_rejection_of_several_messages_asks_for_the_password(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("POST", f"{ONE}/reject", refusal(403, "INVALID_PASSWORD", settled=3))
    ran = momo("review", "reject", ID, "--notes", "not paid")
    assert ran.code == 2
    assert "--password-file FILE is missing" in ran.err
    file = tmp_path / "pw.txt"
    file.write_text("correct horse\n")
    api.on("POST", f"{ONE}/reject", ok({**DOUBTFUL, "state": "rejected"}, transaction=None, settled=3))
    ran = momo("review", "reject", ID, "--notes", "not paid", "--password-file", str(file))
    assert ran.code == 0
    assert posted(api)[-1] == {"notes": "not paid", "password": "correct horse"}


def test_list_is_a_table_of_why(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.REVIEWS, ok([samples.REVIEW], meta={"total": 3}))
    ran = momo("review", "list", "-o", "table", COLUMNS="120")
    heading, heads, *rest = ran.out.splitlines()
    assert heading == "Showing 1 of 3 reviews, next: --offset 1"
    assert heads.split() == ["STATE", "AMOUNT", "WHY", "CODE", "WHEN", "ID"]
    assert "! WAITS" in rest[-1]
    assert "another payer than expected" in rest[-1]
    assert ran.err == f"next:  momo review show {ID}\n"


def test_the_order_that_a_doubtful_message_names_is_told_and_approving_it_is_offered(api: FakeApi, momo: Momo) -> None:
    waiting = {**samples.SHORT, "status": "PENDING"}
    forged = {**samples.REVIEW, "request": None, "orders_named": [waiting]}
    api.on("GET", wire.Path.REVIEWS, ok([forged]))
    api.on("GET", ONE, ok(forged))
    assert " 9PL8AA? " in momo("review", "list", "-o", "table", COLUMNS="120").out
    said = momo("review", "show", ID, "-o", "table").err
    assert f"momo review approve {ID} --order 9PL8AA\n" in said


def test_list_asks_for_open_ones_unless_told_otherwise(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.REVIEWS, ok([]))
    momo("review", "list", "--open")
    momo("review", "list", "--all", "--limit", "5", "--offset", "10")
    momo("review", "list", "--sandbox")
    assert [asked.query for asked in api.asked] == [
        {"mode": "live", "limit": "50", "offset": "0"},
        {"state": "all", "mode": "live", "limit": "5", "offset": "10"},
        {"mode": "test", "limit": "50", "offset": "0"},
    ]


@pytest.mark.parametrize(("rows", "code"), [([samples.REVIEW], 6), ([], 0)])
def test_fail_if_any_is_6_when_somebody_is_waited_for(
    rows: list[dict[str, Any]], code: int, api: FakeApi, momo: Momo
) -> None:
    api.on("GET", wire.Path.REVIEWS, ok(rows))
    ran = momo("review", "list", "--fail-if-any", "-q")
    assert (ran.code, ran.out) == (code, "")
    says = f"error: 1 payment to review\nnext:  momo review show {samples.REVIEW['id']}\n"
    assert ran.err == (says if rows else "")
    # An explicit output form is printed also with --quiet.
    assert momo("review", "list", "--fail-if-any", "-q", "--json").json["data"] == rows


def test_what_to_type_next_is_about_one_that_still_waits(api: FakeApi, momo: Momo) -> None:
    decided = {**samples.REVIEW, "id": samples.METHOD, "state": "approved"}
    api.on("GET", wire.Path.REVIEWS, ok([decided, samples.REVIEW]), ok([decided]))
    ran = momo("review", "list", "--all", "-o", "table")
    assert f"next:  momo review show {samples.REVIEW['id']}\n" in ran.err
    assert "next:" not in momo("review", "list", "--all", "-o", "table").err


def test_list_in_a_pipe_has_one_column_for_each_field(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.REVIEWS, ok([samples.REVIEW]))
    ran = momo("review", "list", "--fields", "reason,amount,sender,line,svc_code")
    assert ran.out == "payer_mismatch\t12.50\tMobileMoney\t+233244124567\t7KQ2MX\n"


def test_show_lays_the_evidence_side_by_side(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(samples.REVIEW))
    ran = momo("review", "show", ID, "-o", "table", "--utc")
    assert ran.out.splitlines() == [
        "! WAITS  GHS 12.50  another payer than expected",
        "",
        "The transaction expects another payer than the one on the receipt.",
        "",
        "the message",
        "  from       MobileMoney",
        "  centre     +233240000099",
        "  sent       today 09:13",
        "  stored     today 09:14",
        "  to line    024 412 4567",
        "  trusted    yes",
        "  doubts     payer_mismatch",
        "  says       GHS 12.50 · ESI ANSAH · 233550000099",
        "  reference  7KQ2MX",
        "  balance    900.00",
        "  its ID     40412345678",
        f"  id         {samples.MESSAGE}",
        "",
        "the payment",
        "  ID        40412345678",
        "  network   MTN",
        "  received  GHS 12.50",
        "  payer     ESI ANSAH",
        "  number    055 000 0099",
        "  paid      today 09:13",
        "  balance   900.00",
        "",
        "the transaction",
        "  CODE      7KQ2MX",
        "  status    ! REVIEW",
        "  expected  GHS 12.50",
        "  from      024 412 4567",
        "  created   today 09:00",
        "  expires   21 Nov 09:00",
        f"  ref       {samples.REF}",
        "",
        "What to do: Ask the customer who paid.",
    ]
    assert ran.err.splitlines() == [
        f"next:  momo messages show {samples.MESSAGE} --show-body",
        f"       momo review approve {ID}",
        f'       momo review reject {ID} --notes "not paid"',
    ]


def test_show_names_the_networks_own_sender_beside_a_strangers(api: FakeApi, momo: Momo) -> None:
    message = {**samples.REVIEW["message"], "sender": "+233541234567", "trusted": False}
    row = {**samples.REVIEW, "message": message, "payment": None, "request": None}
    api.on("GET", ONE, ok(row))
    out = momo("review", "show", ID, "-o", "table", "--utc").out
    assert "  from       +233541234567  (the network sends from MobileMoney)\n" in out
    assert "  trusted    no\n" in out
    assert "\nthe payment\n" not in out
    named = out.split("transactions with a code in its reference\n")[1].splitlines()[0]
    assert named == f"  7KQ2MX  ! REVIEW  GHS 1,012.50  {samples.REF}"


def test_show_lays_the_balances_of_the_line_beside_a_held_receipt(api: FakeApi, momo: Momo) -> None:
    def entry(moved: str | None, balance: str | None, standing: str, **more: object) -> object:
        plain = {"timestamp": "2026-11-20T09:13:58.000Z", "this": False, "unaccounted": None}
        return {**plain, "moved": moved, "balance": balance, "standing": standing, **more}

    row = {
        **samples.REVIEW,
        "payment": None,
        "request": None,
        "orders_named": [],
        "details": {"gaps": [{"amount": "7.00", "currency": "GHS"}]},
        "balance_chain": {
            "explanation": "Its balance does not follow from any message before it.",
            "currency": "GHS",
            "messages": [
                entry(None, None, "noted"),
                entry("-10.00", "900.00", "accepted", unaccounted="-3.00"),
                entry("25.00", "932.00", "forged", this=True),
                entry("1.00", "901.00", "accepted", unaccounted="0.00"),
            ],
        },
    }
    api.on("GET", ONE, ok(row))
    out = momo("review", "show", ID, "-o", "table", "--utc").out
    assert out.split("the balance of the line\n")[1].splitlines()[:6] == [
        "              Its balance does not follow from any message before it.",
        "  before      today 09:13  ?",
        "  before      today 09:13  -10.00  left GHS 900.00  (GHS -3.00 without a message)",
        "  this one    today 09:13  +25.00  left GHS 932.00  forged",
        "  after       today 09:13  +1.00  left GHS 901.00",
        "  differs by  GHS 7.00",
    ]


def test_show_of_a_decided_one_says_who_decided(api: FakeApi, momo: Momo) -> None:
    decided = {
        **samples.REVIEW,
        "state": "approved",
        "decided_at": "2026-11-20T09:15:00.000Z",
        "decided_by": "socket:0",
        "notes": "asked\nher",
        "payment": {**samples.REVIEW["payment"], "reference": samples.REF},
    }
    api.on("GET", ONE, ok(decided))
    ran = momo("review", "show", ID, "-o", "table", "--utc")
    assert ran.out.splitlines()[-4:] == ["decided", "  when   today 09:15", "  by     socket:0", "  notes  asked her"]
    assert ran.err.split("\n") == [f"next:  momo tx show {samples.REF}", f"       momo review undo {ID}", ""]


FOREIGN: dict[str, Any] = {
    **samples.REVIEW,
    "reason": "balance_break",
    "summary": "unknown service centre",
    "why": "The message came through a service centre that this SIM never used.",
    "by_itself": "It pays by itself 90 minutes after the messages around it prove its balance.",
    "payment": None,
}


def test_a_held_message_is_shown_with_why_it_waits_and_what_releases_it(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(FOREIGN))
    said = momo("review", "show", ID, "-o", "table", COLUMNS="200").out
    assert f"{FOREIGN['why']} {FOREIGN['by_itself']}\n" in said
    assert "centre     +233240000099" in said
