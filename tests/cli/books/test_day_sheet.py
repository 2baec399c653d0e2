"""`momo today`, `momo report` and `momo data export`: the books of the shop, on a screen and in a file."""

import csv
import io
import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from daemon import wire
from momo_cli.commands.books.export import COLUMNS
from momo_cli.show.render import csv_cell
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.each import each
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, refusal

PAYMENTS = "/local/v1/export/payments"
WRONG = {**samples.REPORT["sheets"][0]["all"]["wallet"], "agrees": False, "says": "3351.50"}


def report(api: FakeApi, data: Any = samples.REPORT, **top: Any) -> None:
    api.on("GET", wire.Path.LOCAL_REPORT, ok(data, **top))
    api.on("GET", wire.Path.REVIEWS, ok([samples.REVIEW]))


def test_the_sheet_fits_eighty_columns(api: FakeApi, momo: Momo) -> None:
    report(api)
    assert momo("today", "-o", "table", COLUMNS="80").out.splitlines() == [
        "Fri 20 Nov · Ama Provisions                MTN      Telecel          All",
        "Paid                           42     2,804.50       314.00     3,118.50",
        "Short (still owed 6.00)         2        76.00            —        76.00",
        "Over (to give back 4.00)        1        54.00            —        54.00",
        "Matched to no transaction       3        96.00            —        96.00",
        "────────────────────────────────────────────────────────────────────────",
        "Money in GHS                   48     3,030.50       314.00     3,344.50",
        "                                                  wallet says 3,344.50 ✓",
    ]


def test_on_a_wide_screen_the_wallet_has_its_say_on_the_same_line(api: FakeApi, momo: Momo) -> None:
    report(api)
    last = momo("today", "-o", "table", COLUMNS="200").out.splitlines()[-1]
    assert last.endswith("3,344.50   wallet says 3,344.50 ✓")


def test_the_sheet_of_one_branch_says_whose_it_is(api: FakeApi, momo: Momo) -> None:
    report(api, {**samples.REPORT, "branch": "kumasi"})
    api.on("GET", wire.Path.LOCAL_HUB, ok([samples.BRANCH]))
    for command in (("today",), ("report", "--yesterday")):
        shown = momo(*command, "--branch", "kumasi", "-o", "table", COLUMNS="100").out
        assert shown.startswith("Fri 20 Nov · Ama Provisions · kumasi")
        asked = [one for one in api.asked if one.path == wire.Path.LOCAL_REPORT][-1]
        assert asked.query["branch"] == "kumasi"


def test_a_narrow_screen_puts_the_lines_below_each_other(api: FakeApi, momo: Momo) -> None:
    report(api)
    shown = momo("today", "-o", "table", COLUMNS="50").out.splitlines()
    assert max(map(len, shown)) <= 50
    assert shown[-2:] == [
        "MTN 024 412 4567               46     3,030.50",
        "Telecel no number               2       314.00",
    ]


def test_an_upright_phone_has_the_sheet_without_the_counts(api: FakeApi, momo: Momo) -> None:
    report(api)
    shown = momo("today", "-o", "table", COLUMNS="40").out.splitlines()
    assert max(map(len, shown)) <= 40
    assert shown[-2:] == ["MTN 024 412 4567                3,030.50", "Telecel no number                 314.00"]


def test_what_does_not_tie_out_is_said_with_the_line_and_what_to_type(api: FakeApi, momo: Momo) -> None:
    sheet = samples.REPORT["sheets"][0]
    first = {**sheet["lines"][0], "wallet": {**WRONG, "says": "3037.50", "difference": "-7.00", "untold_in": "7.00"}}
    told = {**sheet, "lines": [first], "all": {**sheet["all"], "wallet": WRONG | {"difference": "-7.00"}}}
    report(api, {**samples.REPORT, "sheets": [told]})
    ran = momo("today", "-o", "table", COLUMNS="80")
    assert "wallet says 3,351.50 ✗ (-7.00 GHS)" in ran.out
    assert (
        "! MTN 024 412 4567: GHS 7.00 less in the payments than in the wallet; "
        "GHS 7.00 came in without a message." in ran.err
    )
    assert ran.err.endswith("next:  momo review list\n       momo tx list --unsettled\n       momo lines\n")


def test_the_held_payments_that_explain_a_difference_are_named(api: FakeApi, momo: Momo) -> None:
    sheet = samples.REPORT["sheets"][0]
    wallet = {**WRONG, "says": "3037.50", "difference": "-20.00", "untold_in": "20.00"}
    line = {**sheet["lines"][0], "wallet": wallet}
    report(api, {**samples.REPORT, "sheets": [{**sheet, "lines": [line]}]})
    held = {**samples.REVIEW, "payment": None}
    counted = samples.REVIEW  # its payment is in the sheet, only its transaction is not paid
    doubted = {
        **samples.REVIEW,
        "amount": "7.50",
        "balance_chain": {"standing": "doubtful"},
        "message": {**held["message"], "fields": {}},
    }
    yesterday = {**held["message"], "smsc_ts": "2026-11-19T09:14:00.000Z"}
    debit = {**held["message"], "kind": "payment_sent"}
    others = [
        {**held, "test": True},
        {**held, "line": {**held["line"], "payment_method_id": "other"}},
        {**held, "message": yesterday},
        {**held, "message": debit},
    ]
    assert held["line"]["payment_method_id"] == line["payment_method_id"]
    api.on("GET", wire.Path.REVIEWS, ok([held, counted, doubted, *others]))
    ran = momo("today", "-o", "table", COLUMNS="100")
    notes = ran.err.splitlines()
    assert notes[1:4] == [
        "  GHS 12.50 from ESI ANSAH 055…0099, today 09:14, is held: momo review show 3f6d9e0a",
        "  GHS 7.50, today 09:14, is held: momo review show 3f6d9e0a",
        "  Together they are the difference.",
    ]
    assert "       momo lines" in notes
    api.on("GET", wire.Path.REVIEWS, ok([held]))
    assert "the difference" not in momo("today", "-o", "table").err
    api.on("GET", wire.Path.REVIEWS, refusal(503, "UNAVAILABLE"))
    assert momo("today", "-o", "table").code == 0


def test_a_payment_that_is_not_trusted_is_named(api: FakeApi, momo: Momo) -> None:
    sheet = samples.REPORT["sheets"][0]
    every = {**sheet["all"], "doubted": {"count": 1, "amount": "1012.50"}}
    recent = [
        {**samples.RECENT, "doubted": True},
        samples.RECENT,
        {**samples.RECENT, "doubted": True, "at": "2026-11-19T09:14:00.000Z"},
    ]
    report(api, {**samples.REPORT, "sheets": [{**sheet, "all": every}], "recent": recent})
    ran = momo("today", "-o", "table", "--utc", COLUMNS="80")
    assert [line for line in (ran.out + ran.err).splitlines() if "rusted" in line] == [
        "Not trusted, not counted        1",
        "  GHS 1,012.50 from Kofi Ɔsei 024…4567, today 09:14, is not trusted: momo tx show 7KQ2MX",
    ]


def test_what_matched_no_order_is_looked_for_where_it_is(api: FakeApi, momo: Momo) -> None:
    report(api)
    waits = momo("today", "-o", "table").err
    assert waits.endswith("next:  momo review list\n       momo tx list --unsettled\n")
    api.on("GET", wire.Path.REVIEWS, ok([]))
    walk_in = momo("today", "-o", "table").err
    command = "momo tx list --origin open --from 2026-11-20 --to 2026-11-20"
    assert walk_in.endswith(f"next:  {command}\n       momo tx list --unsettled\n")
    # Elsewhere the shop's day does not begin at midnight.
    away = momo("today", "-o", "table", "--tz", "Africa/Lagos").err
    first, last = samples.REPORT["from"], samples.REPORT["to"]
    assert away.endswith(
        f"next:  momo tx list --origin open --from {first} --to {last}\n       momo tx list --unsettled\n"
    )
    asked = len(api.asked)
    momo("today", "--json")
    assert len(api.asked) == asked + 1


def test_what_matched_no_order_of_the_sandbox_is_looked_for_in_the_sandbox(api: FakeApi, momo: Momo) -> None:
    report(api, {**samples.REPORT, "test": True})
    waits = momo("today", "--sandbox", "-o", "table").err
    assert api.asked[-1].query["mode"] == "test"
    assert waits.endswith("next:  momo review list --sandbox\n       momo tx list --unsettled --sandbox\n")


def test_a_day_that_all_matched_names_no_list(api: FakeApi, momo: Momo) -> None:
    sheet = samples.REPORT["sheets"][0]
    none = {**sheet["all"], "unmatched": {"count": 0, "amount": "0.00"}}
    report(api, {**samples.REPORT, "sheets": [{**sheet, "all": none}]})
    assert "momo review list" not in momo("today", "-o", "table").err


def test_a_day_without_money_is_no_failure(api: FakeApi, momo: Momo) -> None:
    report(api, {**samples.REPORT, "sheets": []})
    ran = momo("today")
    assert (ran.code, ran.out, ran.err) == (0, "", "Nothing came in: Fri 20 Nov · Ama Provisions.\n")


def test_yesterday_is_the_day_before_in_the_shops_zone(api: FakeApi, momo: Momo) -> None:
    report(api)
    momo("today", "--date", "yesterday", "--plain")
    momo("today", "--plain")
    momo("report", "--from", "2026-11-01", "--to", "2026-11-19", "--plain")
    asked = [call.query for call in api.asked]
    assert asked[0] == {"date": "2026-11-19"}
    assert asked[1] == {}
    assert asked[2] == {"from": "2026-11-01T00:00:00.000Z", "to": "2026-11-20T00:00:00.000Z"}


@pytest.mark.parametrize(
    "command",
    [
        ("report", "--from", "today", "--to", "yesterday"),
        ("report", "--from", "2027-01-01"),
        ("data", "export", "payments", "--from", "2026-11-03", "--to", "2026-11-02"),
    ],
)
def test_a_time_that_ends_before_it_begins_is_a_usage_error(command: tuple[str, ...], api: FakeApi, momo: Momo) -> None:
    ran = momo(*command)
    assert (ran.code, ran.out, api.asked) == (2, "", [])
    assert "is not after --from" in ran.err


def test_rows_by_payer_are_a_table_and_say_how_many_are_left_out(api: FakeApi, momo: Momo) -> None:
    row = {"payer_phone": None, "payer_name": "=KOFI", "currency": "GHS", "count": 2, "amount": "5.00"}
    report(api, {**samples.REPORT, "rows": [row]}, meta={"total": 7})
    ran = momo("report", "--yesterday", "--by", "payer", "--format", "csv")
    assert ran.out == "payer_name,payer_phone,currency,count,amount\r\n'=KOFI,,GHS,2,5.00\r\n"
    shown = momo("today", "--by", "payer", "-o", "table", COLUMNS="80")
    assert "the first 1 of 7" in shown.out


def test_the_page_of_a_report_is_whole_and_escapes_what_strangers_wrote(api: FakeApi, momo: Momo) -> None:
    report(api, {**samples.REPORT, "shop": {"name": "<b>Ama</b>", "timezone": "Africa/Accra"}})
    page = momo("report", "--yesterday", "--format", "html").out
    assert page.startswith("<!doctype html>")
    assert "<b>" not in page
    assert "3,344.50 ✓" in page


def test_a_report_is_mailed_as_plain_text_and_says_nothing_when_quiet(api: FakeApi, momo: Momo) -> None:
    report(api)
    api.on("POST", wire.Path.LOCAL_REPORT_MAIL, ok({"queued": ["email"]}))
    ran = momo("report", "--yesterday", "--mail", "ama@shop.example", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    sent = api.asked[-1].body
    assert (sent["to"], sent["subject"]) == ("ama@shop.example", "Fri 20 Nov · Ama Provisions")
    assert "wallet says 3,344.50 ✓" in sent["text"]
    assert "\x1b" not in sent["text"]


def test_mail_that_no_server_sends_says_what_to_set(api: FakeApi, momo: Momo) -> None:
    report(api)
    detail = {"field": "to", "code": "not_configured", "message": "the settings name no server"}
    no = refusal(422, "VALIDATION_ERROR", details=[detail])
    api.on("POST", wire.Path.LOCAL_REPORT_MAIL, no)
    ran = momo("report", "--yesterday", "--mail", "ama@shop.example")
    assert ran.code == 2
    assert "the settings name no server" in ran.err
    assert "momo config set smtp.host mail.example.com" in ran.err
    assert "momo config set smtp.to ama@shop.example" in ran.err


def test_mail_is_text_and_says_so_when_another_form_is_wanted(momo: Momo) -> None:
    ran = momo("report", "--yesterday", "--mail", "ama@shop.example", "--format", "html")
    assert (ran.code, "leave out --format html" in ran.err) == (2, True)


# export ------------------------------------------------------------------------------------------------


def pages(count: int) -> tuple[Says, ...]:
    """Make so many pages of two payments."""
    row = dict.fromkeys(COLUMNS["payments"], "x")
    return tuple(
        ok([{**row, "id": f"{page}-{place}"} for place in range(2)], meta={"next": page + 1})
        if page + 1 < count
        else ok([{**row, "id": f"{page}-0"}], meta={"next": None})
        for page in range(count)
    )


def test_an_export_goes_on_where_each_page_ended(api: FakeApi, momo: Momo) -> None:
    api.on("GET", PAYMENTS, *pages(3))
    ran = momo("data", "export", "payments")
    table = list(csv.reader(io.StringIO(ran.out, newline="")))
    assert table[0] == list(COLUMNS["payments"])
    assert [line[0] for line in table[1:]] == ["0-0", "0-1", "1-0", "1-1", "2-0"]
    assert [call.query["after"] for call in api.asked] == ["0", "1", "2"]
    assert ran.out.count("\r\n") == 6


def test_ten_thousand_rows_are_never_held_at_once(api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a page is asked for, every row of those before it is written already."""
    sink = io.BytesIO()
    written: list[int] = []
    row = dict.fromkeys(COLUMNS["payments"])

    def answer(asked: Asked) -> Says:
        written.append(sink.getvalue().count(b"\r\n"))
        after = int(asked.query["after"])
        return ok([row] * 500, meta={"next": after + 500 if after < 9500 else None})

    api.on("GET", PAYMENTS, answer)
    out = io.TextIOWrapper(sink, encoding="utf-8", write_through=True)
    monkeypatch.setattr("sys.stdout", out)
    assert momo("data", "export", "payments").code == 0
    # The header, and every row of the pages before.
    assert written == [0, *range(501, 9502, 500)]
    assert sink.getvalue().count(b"\r\n") == 10_001


def test_a_file_is_private_whole_and_never_replaced_by_accident(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    file = tmp_path / "payments.csv"
    api.on("GET", PAYMENTS, *pages(1))
    assert momo("data", "export", "payments", "-O", str(file), "--bom").code == 0
    assert file.read_bytes().startswith(b"\xef\xbb\xbfid,network")
    assert file.stat().st_mode & 0o777 == 0o600
    ran = momo("data", "export", "payments", "-O", str(file))
    assert ran.code == 2
    assert "--force replaces it" in ran.err
    assert momo("data", "export", "payments", "-O", str(file), "--force", "--json").json["data"]["rows"] == 1
    api.on("GET", PAYMENTS, pages(2)[0], refusal(503, "UNAVAILABLE"))
    before = file.read_bytes()
    assert momo("data", "export", "payments", "-O", str(file), "--force").code == 7
    assert (file.read_bytes(), list(tmp_path.glob(".momo*"))) == (before, [])


def test_ndjson_ends_with_a_summary_and_fields_choose_the_columns(api: FakeApi, momo: Momo) -> None:
    api.on("GET", PAYMENTS, *pages(1))
    for argv in (("--format", "ndjson"), ("--json",)):
        lines = momo("data", "export", "payments", *argv).out.splitlines()
        assert [json.loads(line)["type"] for line in lines] == ["item", "summary"]
    assert momo("data", "export", "payments", "--fields", "id,fee").out == "id,fee\r\n0-0,x\r\n"


@each(
    ("value", "plain", "excel"),
    [
        ("=1+1", "'=1+1", "'=1+1"),
        ("  =1+1", "'  =1+1", "'  =1+1"),
        ("@SUM(A1)", "'@SUM(A1)", "'@SUM(A1)"),
        ("-2+3", "'-2+3", "'-2+3"),
        ("\uff1d1", "'\uff1d1", "'\uff1d1"),
        ("+233244124567", "+233244124567", '="+233244124567"'),
        ("0000012345", "0000012345", '="0000012345"'),
        ("-2.00", "-2.00", "-2.00"),
        ("12.50", "12.50", "12.50"),
        (None, "", ""),
        (True, "true", "true"),
    ],
)
def test_no_cell_is_a_formula_that_a_stranger_wrote(value: object, plain: str, excel: str) -> None:
    assert (csv_cell(value), csv_cell(value, excel=True)) == (plain, excel)


def test_only_messages_have_a_text_to_show(api: FakeApi, momo: Momo) -> None:
    assert momo("data", "export", "payments", "--show-body").code == 2
    api.on("GET", "/local/v1/export/messages", ok([], meta={"next": None}))
    assert momo("data", "export", "messages", "--show-body").code == 0
    assert api.asked[-1].query["show_body"] == "1"


def test_a_csv_file_says_how_its_line_ends_become_plain(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("GET", PAYMENTS, ok([], meta={"next": None}))
    file = tmp_path / "my payments.csv"
    said = momo("data", "export", "payments", "--format", "csv", "-O", str(file)).err
    command = said.rpartition("plain ones: ")[2].strip()
    assert command == f"tr -d '\\r' < '{file}'"
    plain = subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout
    assert file.read_bytes().endswith(b"\r\n")
    assert plain == file.read_bytes().replace(b"\r\n", b"\n")
    other = momo("data", "export", "payments", "--format", "ndjson", "-O", str(tmp_path / "x"))
    assert "CR LF" not in other.err


@pytest.mark.parametrize(("free_mb", "code"), [(99, 2), (100, 0)])
def test_a_file_on_the_tight_disk_of_the_shop_is_refused(
    free_mb: int, code: int, api: FakeApi, momo: Momo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.on("GET", "/local/v1/export/payments", ok([], meta={"next": None}))
    room = SimpleNamespace(f_bavail=free_mb, f_frsize=1_000_000)
    monkeypatch.setattr("momo_cli.commands.books.export.os.statvfs", lambda _folder: room)
    file = tmp_path / "payments.csv"
    ran = momo("data", "export", "payments", "-O", str(file))
    assert (ran.code, file.exists()) == (code, code == 0)
    assert ("has 99 MB left, which are reserved for payments" in ran.err) is (code == 2)
    assert len(api.asked) == (0 if code else 1)
