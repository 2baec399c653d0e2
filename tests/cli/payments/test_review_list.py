"""Open reviews: the list, and one review with its evidence."""

from typing import Any

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok

ID = samples.REVIEW["id"]
ONE = f"/v1/reviews/{ID}"


def test_list_is_a_table_of_why(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.REVIEWS, ok([samples.REVIEW], meta={"total": 3}))
    ran = momo("review", "list", "-o", "table", COLUMNS="120")
    heading, heads, *rest = ran.out.splitlines()
    assert heading == "Showing 1 of 3 reviews, next: --offset 1"
    assert heads.split() == ["STATE", "AMOUNT", "WHY", "CODE", "WHEN", "ID"]
    assert "! WAITS" in rest[-1]
    assert "another payer than expected" in rest[-1]
    assert ran.err == f"next:  momo review show {ID}\n"


def test_the_order_that_a_doubtful_message_names_is_told_and_approving_it_is_offered(
    api: FakeApi, momo: Momo
) -> None:
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
    assert ran.out.splitlines()[-4:] == [
        "decided",
        "  when   today 09:15",
        "  by     socket:0",
        "  notes  asked her",
    ]
    assert ran.err.split("\n") == [
        f"next:  momo tx show {samples.REF}",
        f"       momo review undo {ID}",
        "",
    ]


FOREIGN: dict[str, Any] = {
    **samples.REVIEW,
    "reason": "balance_break",
    "summary": "unknown service centre",
    "why": "The message came through a service centre that this SIM never used.",
    "by_itself": "It pays by itself 90 minutes after the messages around it prove its balance.",
    "payment": None,
}


def test_a_held_message_is_shown_with_why_it_waits_and_what_releases_it(
    api: FakeApi, momo: Momo
) -> None:
    api.on("GET", ONE, ok(FOREIGN))
    said = momo("review", "show", ID, "-o", "table", COLUMNS="200").out
    assert f"{FOREIGN['why']} {FOREIGN['by_itself']}\n" in said
    assert "centre     +233240000099" in said
