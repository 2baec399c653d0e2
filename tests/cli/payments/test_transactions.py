"""Transactions: list, show with events, cancel."""

import shlex
from typing import Any

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok, refusal

TX = f"/v1/transactions/{samples.REF}"
BY_CODE = f"/v1/transactions/by-svc/{samples.CODE}"


@pytest.fixture(autouse=True)
def _no_webhooks(api: FakeApi) -> None:
    api.on("GET", wire.Path.DELIVERIES, ok([]))


def entry(number: int, text: str) -> dict[str, Any]:
    return {"id": str(number), "at": "2026-11-20T09:14:00.000Z", "text": text}


def test_show_with_events_tells_them_below_the_order(api: FakeApi, momo: Momo) -> None:
    api.on("GET", BY_CODE, samples.one("PENDING"))
    api.on("GET", f"{TX}/events", ok([entry(1, "Asked for\tGHS 12.50."), entry(2, "Cancelled.")]))
    ran = momo("tx", "show", samples.CODE, "--events", "-o", "table", "--utc")
    assert ran.code == 0
    assert ran.out.splitlines()[-3:] == ["", "  today 09:14   Asked for GHS 12.50.", "  today 09:14   Cancelled."]


def test_show_names_the_branch_of_an_order_at_a_hub(api: FakeApi, momo: Momo) -> None:
    api.on("GET", TX, samples.one("PENDING"))
    assert "branch" not in momo("tx", "show", samples.REF, "-o", "table").out
    api.on("GET", TX, ok({**samples.ONE, "branch": "kumasi"}))
    assert "  branch    kumasi" in momo("tx", "show", samples.REF, "-o", "table").out.splitlines()
    assert momo("tx", "show", samples.REF, "--fields", "branch").out == "kumasi\n"


@pytest.mark.parametrize("typed", ["{0} {1}", "{0}\u2013{1}", " {0}.{1}", "\u202a{0}{1}\u202c"])
def test_show_finds_a_code_however_it_was_pasted(api: FakeApi, momo: Momo, typed: str) -> None:
    api.on("GET", BY_CODE, samples.one("PENDING"))
    code = samples.CODE.lower()
    assert momo("tx", "show", typed.format(code[:3], code[3:]), "--json").code == 0


@pytest.mark.parametrize(
    ("name", "number", "shown"),
    [
        ("receipt", "receipt", "Kofi · 024 412 4567"),
        ("receipt", "request", "Kofi · 024 412 4567 (from the request)"),
        ("request", "receipt", "Kofi (from the request) · 024 412 4567"),
    ],
)
def test_show_says_what_of_the_payer_the_receipt_does_not_contain(
    name: str, number: str, shown: str, api: FakeApi, momo: Momo
) -> None:
    source = {"phone_number": number, "name": name}
    paid = {**samples.ONE, "status": "SUCCESS", "actual_amount": "12.50", "payer_source": source}
    api.on("GET", TX, ok(paid))
    head = momo("tx", "show", samples.REF, "-o", "table", "--utc").out.splitlines()[0]
    assert head == f"✓ PAID  GHS 12.50 · {shown}"
    plain = momo("tx", "show", samples.REF, "--fields", "payer_phone_source,payer_name_source").out
    assert plain == f"{number}\t{name}\n"


def test_an_unpaid_transaction_shows_its_customer_without_a_remark(api: FakeApi, momo: Momo) -> None:
    api.on("GET", TX, samples.one("PENDING"))
    ran = momo("tx", "show", samples.REF, "-o", "table", "--utc")
    assert ran.out.splitlines()[0].endswith(" · Kofi · 024 412 4567")


def test_the_list_says_what_of_the_payer_the_receipt_does_not_contain(api: FakeApi, momo: Momo) -> None:
    row = {**samples.PAID, "payer_source": {"phone_number": "request", "name": "receipt"}}
    api.on("GET", wire.Path.TRANSACTIONS, ok([row], pagination=samples.PAGE))
    assert "Kofi Ɔsei 024…4567 (request)" in momo("tx", "list", "-o", "table", COLUMNS="200").out


def test_a_payment_that_its_balance_denies_has_the_mark_of_the_watch_screen(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.TRANSACTIONS, ok([samples.PAID], pagination=samples.PAGE))
    api.on("GET", TX, ok({**samples.ONE, "status": "SUCCESS"}))
    denied = {**samples.RECENT, "order": {**samples.PAID, "reference": samples.REF}}
    for doubted, mark in ((True, "✗ DO NOT TRUST"), (False, "✓ PAID")):
        recent = [{**denied, "doubted": doubted}]
        api.on("GET", wire.Path.LOCAL_REPORT, ok({**samples.REPORT, "recent": recent}))
        for words in (("list",), ("show", samples.REF)):
            assert mark in momo("tx", *words, "-o", "table", COLUMNS="120").out
        assert "SUCCESS" in momo("tx", "list", "--plain").out, "a script is told the status"


def test_the_list_shows_live_transactions_or_with_sandbox_the_others(api: FakeApi, momo: Momo) -> None:
    more = {**samples.PAGE, "has_next": True}
    api.on("GET", wire.Path.TRANSACTIONS, ok([samples.PAID], pagination=more))
    for flags, mode in (((), "live"), (("--sandbox",), "test")):
        ran = momo("tx", "list", *flags, "-o", "table")
        assert api.asked[-1].query["mode"] == mode
        # The command for the next page asks for the same kind.
        (command,) = [line for line in ran.err.splitlines() if line.startswith("next:  ")]
        assert ("--sandbox" in command) is bool(flags)
        momo(*shlex.split(command.removeprefix("next:  momo ")))
        assert (api.asked[-1].query["mode"], api.asked[-1].query["page"]) == (mode, "2")
        momo("tx", "list", *flags, "--all", "--json")
        assert api.asked[-1].query["mode"] == mode


def test_show_with_events_is_one_document(api: FakeApi, momo: Momo) -> None:
    api.on("GET", TX, samples.one("PENDING"))
    api.on("GET", f"{TX}/events", ok([entry(1, "Asked for GHS 12.50.")]))
    ran = momo("tx", "show", samples.REF, "--events", "--json")
    assert ran.json["data"]["reference"] == samples.REF
    assert ran.json["events"] == [entry(1, "Asked for GHS 12.50.")]
    assert momo("tx", "show", samples.REF, "--events", "--get", "events.0.id").out == "1\n"


def test_a_program_gets_the_events_one_a_line(api: FakeApi, momo: Momo) -> None:
    api.on("GET", TX, samples.one("PENDING"))
    api.on("GET", f"{TX}/events", ok([entry(1, "Asked for GHS 12.50."), entry(2, "Cancelled.")]))
    ran = momo("tx", "show", samples.REF, "--events", "--plain")
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert [row[0] for row in rows] == ["1", "2"]
    assert [row[4] for row in rows] == ["Asked for GHS 12.50.", "Cancelled."]
    assert momo("tx", "show", samples.REF, "--events", "--fields", "text").out == ("Asked for GHS 12.50.\nCancelled.\n")


def test_show_reads_every_page_of_the_events(api: FakeApi, momo: Momo) -> None:
    page = [entry(number, "x") for number in range(500)]
    api.on("GET", TX, samples.one("PENDING"))
    api.on("GET", f"{TX}/events", ok(page), ok([entry(500, "last")]))
    ran = momo("tx", "show", samples.REF, "--events", "--json")
    assert len(ran.json["events"]) == 501
    assert [asked.query for asked in api.asked[1:3]] == [
        {"limit": "500", "offset": "0"},
        {"limit": "500", "offset": "500"},
    ]


def test_show_with_events_names_the_sms_and_the_webhooks(api: FakeApi, momo: Momo) -> None:
    api.on("GET", TX, ok({**samples.ONE, "status": "SUCCESS", "matched_by": "code"}))
    paid = {**entry(2, "Paid."), "message_id": samples.MESSAGE}
    api.on("GET", f"{TX}/events", ok([entry(1, "Asked."), paid]))
    api.on("GET", wire.Path.DELIVERIES, ok([samples.DELIVERY]))
    ran = momo("tx", "show", samples.REF, "--events", "-o", "table")
    assert ran.out.splitlines()[-3:] == [
        "",
        f"  sms       {samples.MESSAGE}",
        f"  webhook   ✓ DELIVERED  transaction.forwarded  200  {samples.DELIVERY['id']}",
    ]
    assert momo("tx", "show", samples.REF, "--events", "--json").json["local"] == {
        "message_id": samples.MESSAGE,
        "matched_by": "code",
        "review": None,
        "deliveries": [samples.DELIVERY],
    }
    assert api.asked[-1].query == {"transaction_id": samples.REF, "kind": "all", "limit": "200"}


def test_show_with_events_names_the_review_that_holds_the_order(api: FakeApi, momo: Momo) -> None:
    api.on("GET", TX, samples.one("MANUAL_REVIEW"))
    api.on("GET", f"{TX}/events", ok([entry(1, "Asked.")]))
    held = {**samples.REVIEW, "request": {"reference": samples.REF}}
    other = {**samples.REVIEW, "id": "other", "request": None}
    api.on("GET", wire.Path.REVIEWS, ok([other, held]))
    ran = momo("tx", "show", samples.REF, "--events", "--get", "local.review")
    assert ran.out == f"{samples.REVIEW['id']}\n"


def test_show_without_events_does_not_ask_for_them(api: FakeApi, momo: Momo) -> None:
    api.on("GET", TX, samples.one("PENDING"))
    assert "events" not in momo("tx", "show", samples.REF, "--json").json
    assert [asked.path for asked in api.asked] == [TX]


def test_cancel_sends_the_reason_under_an_idempotency_key(api: FakeApi, momo: Momo) -> None:
    api.on("GET", BY_CODE, samples.one("PENDING"))
    api.on("POST", f"{TX}/cancel", samples.one("CANCELLED"))
    ran = momo("tx", "cancel", samples.CODE, "--reason", "sold out", "-o", "table")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "✗ CANCELLED  GHS 12.50 · Kofi · 024 412 4567")
    assert api.asked[-1].body == {"reason": "sold out"}
    assert len(api.asked[-1].headers["idempotency-key"]) == 32


def test_cancel_of_a_paid_order_is_5_and_names_it(api: FakeApi, momo: Momo) -> None:
    api.on("POST", f"{TX}/cancel", refusal(409, "TRANSACTION_NOT_CANCELLABLE", transaction_status="SUCCESS"))
    ran = momo("tx", "cancel", samples.REF)
    assert ran.code == 5
    assert ran.err.splitlines()[-1] == f"  next:  momo tx show {samples.REF}"


def test_settle_says_how_under_an_idempotency_key_and_undo_takes_it_back(api: FakeApi, momo: Momo) -> None:
    api.on("POST", f"{TX}/settle", samples.one("PARTIAL"))
    api.on("DELETE", f"{TX}/settle", samples.one("PARTIAL"))
    for words, body in (
        (("rest", "--payment", "0012345679"), {"kind": "rest_received", "payment": "0012345679"}),
        (("rest", "--notes", "in cash"), {"kind": "rest_received", "notes": "in cash"}),
        (("waive",), {"kind": "waived"}),
        (("change",), {"kind": "change_given"}),
    ):
        assert momo("tx", "settle", samples.REF, *words).code == 0
        assert api.asked[-1].body == body
        assert len(api.asked[-1].headers["idempotency-key"]) == 32
    assert momo("tx", "settle", samples.REF, "--undo").code == 0
    assert api.asked[-1].method == "DELETE"


def test_settle_needs_one_way_or_undo_and_says_so_once(api: FakeApi, momo: Momo) -> None:
    for words in ((), ("waive", "--undo"), ("forget",)):
        ran = momo("tx", "settle", samples.REF, *words)
        assert ran.code == 2
        assert len(ran.err.splitlines()) == 2, "the error, and what to type next"
    assert api.asked == []


@pytest.mark.parametrize(
    ("status", "settlement", "line", "following"),
    [
        ("PARTIAL", None, "", ["momo tx settle {} rest", "momo tx settle {} waive"]),
        ("OVERPAID", None, "", ["momo tx settle {} change"]),
        ("PARTIAL", "rest_received", "  settled   the rest came, GHS 5.00, today 09:14", []),
        ("PARTIAL", "waived", "  settled   waived, GHS 5.00, today 09:14", []),
        ("OVERPAID", "change_given", "  settled   change given, GHS 5.00, today 09:14", []),
    ],
)
def test_show_says_how_it_was_settled_or_how_it_can_be(
    status: str, settlement: str | None, line: str, following: list[str], api: FakeApi, momo: Momo
) -> None:
    how = settlement and {"kind": settlement, "amount": "5.00", "payment_reference": None, "notes": None}
    at = "2026-11-20T09:14:00.000Z" if settlement else None
    api.on("GET", TX, ok({**samples.ONE, "status": status, "settlement": how, "settled_at": at}))
    ran = momo("tx", "show", samples.REF, "-o", "table", "--utc")
    assert [each for each in ran.out.splitlines() if "settled" in each] == [line][: bool(line)]
    typed = [each.removeprefix("next:").strip() for each in ran.err.splitlines()]
    assert typed == [each.format(samples.REF) for each in following]


def test_settle_of_what_is_not_short_is_5_and_says_its_state(api: FakeApi, momo: Momo) -> None:
    answer = refusal(409, "NOT_SETTLEABLE", transaction_status="SUCCESS")
    api.on("POST", f"{TX}/settle", answer)
    ran = momo("tx", "settle", samples.REF, "waive")
    assert ran.code == 5
    assert ran.err.splitlines()[-1] == f"  next:  momo tx show {samples.REF}"


def test_an_order_that_is_held_leads_to_the_reviews(api: FakeApi, momo: Momo) -> None:
    api.on("GET", TX, samples.one("MANUAL_REVIEW"))
    ran = momo("tx", "show", samples.REF, "-o", "table")
    assert ran.err.splitlines()[0] == "next:  momo review list"


def test_status_leads_to_the_reviews_when_one_waits(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_STATUS, ok(samples.STATUS))
    assert momo("status", "-o", "table").err.splitlines()[-1].strip() == "momo review list"
    quiet = {**samples.STATUS, "today": {"review": 0}}
    api.on("GET", wire.Path.LOCAL_STATUS, ok(quiet))
    assert "review" not in momo("status", "-o", "table").err


def test_the_next_page_keeps_every_filter(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.TRANSACTIONS, ok([samples.PAID], pagination={**samples.PAGE, "has_next": True}))
    argv = (
        "tx", "list", "--status", "paid", "--origin", "all", "--since", "7d", "--until", "today", "--phone",
        "0244124567", "--search", "o'neil b", "--sort", "largest", "--limit", "1",
    )  # fmt: skip
    told = momo(*argv, "-o", "table").err
    typed = (
        "momo tx list --status SUCCESS --origin all --from 7d --to today --phone 0244124567 --search 'o'\"'\"'neil b' "
        "--sort largest --per-page 1 --page 2"
    )
    assert told == f"next:  {typed}\n"
    first = api.asked[0].query
    assert momo(*shlex.split(typed)[1:]).code == 0
    assert {**first, "page": "2"} == api.asked[-1].query


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ((), "No transactions.\n"),
        (("--status", "short"), "No short transactions.\n"),
        (("--status", "EXPIRED"), "No expired transactions.\n"),
        (("--origin", "open"), "No payments without a transaction.\n"),
    ],
)
def test_an_empty_list_says_what_there_is_none_of(argv: tuple[str, ...], said: str, api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.TRANSACTIONS, ok([], pagination=samples.PAGE))
    assert momo("tx", "list", *argv).err == said


def test_money_without_an_order_is_asked_for(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.TRANSACTIONS, ok([samples.PAID], pagination=samples.PAGE))
    ran = momo("tx", "list", "--origin", "open", "-o", "table")
    assert ran.out.startswith("Showing 1 of 2 payments without a transaction, page 1\n")
    assert api.asked[0].query["origin"] == "open"


def test_a_transaction_id_without_a_digit_is_not_looked_up(api: FakeApi, momo: Momo) -> None:
    ran = momo("reconcile", "7KQ2MX", "abc")
    assert ran.code == 2
    assert "'abc' has no digit: a transaction ID is the digits in the customer's SMS" in ran.err
    assert api.asked == []


@pytest.mark.parametrize(("by", "same"), [("40412345678", True), ("40499999999", False)])
def test_a_repeated_match_says_that_it_was_this_payment(by: str, same: bool, api: FakeApi, momo: Momo) -> None:
    known = {"transaction_status": "SUCCESS", "verified_by_transaction_id": by}
    path = wire.Path.RECONCILE.format(reference=samples.REF)
    api.on("POST", path, refusal(409, "ALREADY_VERIFIED", **known))
    ran = momo("reconcile", samples.REF, "40412345678")
    assert ran.code == 5
    assert (f"It was matched to this same payment before: {by}." in ran.err) is same
