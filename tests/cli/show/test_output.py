"""The output forms: whole outputs, compared with files in golden/."""

import csv
import io
import json
from pathlib import Path

import pytest

from daemon import wire
from momo_cli.frame.command_table import COMMANDS, FIRST
from momo_cli.frame.reference import TOPICS
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.each import each
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, refusal

GOLDEN = Path(__file__).parent / "golden"
ORDERS = ok([samples.PAID, samples.SHORT], pagination=samples.PAGE)


@pytest.fixture
def scripted(api: FakeApi) -> FakeApi:
    api.on("GET", wire.Path.TRANSACTIONS, ORDERS)
    api.on("GET", wire.Path.LINES, ok(samples.LINES))
    api.on("GET", wire.Path.LOCAL_STATUS, ok(samples.STATUS))
    api.on("GET", f"/v1/transactions/by-svc/{samples.CODE}", samples.one("PENDING"))
    api.on("POST", wire.Path.INITIALIZE, ok(samples.CREATED))
    api.on("GET", f"/local/v1/messages/{samples.MESSAGE}", ok(samples.MESSAGE_ROW))
    return api


CASES = {
    "tx_list.tsv": ("tx list", {}),
    "tx_list_header.tsv": ("tx list --header --fields svc_code,status", {}),
    "tx_list.csv": ("tx list -o csv", {}),
    "tx_list.ndjson": ("tx list -o ndjson --fields reference,payer_name", {}),
    "tx_list.id": ("tx list -o id", {}),
    "tx_list_200.txt": ("tx list -o table --utc", {"COLUMNS": "200"}),
    "lines_80.txt": ("lines -o table", {"COLUMNS": "80"}),
    "lines_ascii.txt": ("lines -o table", {"COLUMNS": "80", "LANG": "C"}),
    "status_80.txt": ("status -o table", {"COLUMNS": "80"}),
    "init.txt": ("init 12.50 --phone 0244124567 --name Kofi -o table --utc", {}),
    "tx_show.txt": (f"tx show {samples.CODE} -o table --utc", {}),
    "messages_show.txt": (f"messages show {samples.MESSAGE} -o table --utc", {}),
}


@pytest.mark.usefixtures("scripted")
@each("name", CASES)
def test_output_is_as_it_was(name: str, momo: Momo) -> None:
    line, environ = CASES[name]
    ran = momo(*line.split(), **environ)
    assert ran.code == 0
    assert ran.out.replace("\r\n", "\n") == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.usefixtures("scripted")
def test_narrow_terminal_cuts_ids_in_the_middle_and_nothing_else(momo: Momo) -> None:
    ran = momo("tx", "list", "-o", "table", COLUMNS="100")
    assert max(map(len, ran.out.splitlines())) <= 100
    assert "svc_trx_" not in ran.out or "…" in ran.out
    for word in ("7KQ2MX", "1,012.50", "-2.00", "Kofi Ɔsei"):
        assert word in ran.out


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize(
    ("path", "printed"),
    [
        ("data.reference", samples.REF),
        ("data.client_reference", ""),
        ("data.payer_sms_sent", "false"),
        ("success", "true"),
    ],
)
def test_get_prints_one_value_raw(path: str, printed: str, momo: Momo) -> None:
    ran = momo("init", "12.50", "--phone", "0244124567", "--get", path)
    assert (ran.code, ran.out, ran.err) == (0, printed + "\n", "")


@pytest.mark.usefixtures("scripted")
def test_get_walks_lists_and_prints_objects_as_json(momo: Momo) -> None:
    assert momo("tx", "list", "--get", "data.1.svc_code").out == "9PL8AA\n"
    assert momo("tx", "list", "--get", "data.-1.difference").out == "-2.00\n"
    assert momo("lines", "--get", "data.phones.0.sims.1.line").out == "\n"


@pytest.mark.usefixtures("scripted")
def test_get_of_what_is_not_there_is_exit_2_and_names_what_is(momo: Momo) -> None:
    ran = momo("tx", "list", "--get", "pagination.pages")
    assert (ran.code, ran.out) == (2, "")
    assert "pagination has no 'pages'; it has page, per_page, total" in ran.err


def test_control_characters_of_strangers_reach_no_terminal(api: FakeApi, momo: Momo) -> None:
    evil = {**samples.PAID, "payer_name": "a\x1b[31mb\tc\nd\u202ee"}
    api.on("GET", wire.Path.TRANSACTIONS, ok([evil], pagination=samples.PAGE))
    assert "a [31mb c d e" in momo("tx", "list").out
    assert "a [31mb c d e" in momo("tx", "list", "-o", "table").out


def test_all_pages_are_one_stream_with_a_summary(api: FakeApi, momo: Momo) -> None:
    page = {**samples.PAGE, "per_page": 1}
    pages = (ok(rows, pagination=page) for rows in ([samples.PAID], [samples.SHORT], []))
    api.on("GET", wire.Path.TRANSACTIONS, *pages)
    ran = momo("tx", "list", "--all", "--json", "--status", "success", "--sort", "oldest")
    assert [line.split(",")[0] for line in ran.out.splitlines()] == [
        '{"type":"item"',
        '{"type":"item"',
        '{"type":"summary"',
    ]
    behind = [asked.query.get("after") for asked in api.asked]
    assert behind == [None, samples.PAID["reference"], samples.SHORT["reference"]]
    assert {(a.query["status"], a.query["sort"]) for a in api.asked} == {("SUCCESS", "oldest")}


def test_order_of_the_sandbox_does_not_look_paid(api: FakeApi, momo: Momo) -> None:
    rows = [samples.PAID, {**samples.PAID, "test": True}]
    api.on("GET", wire.Path.TRANSACTIONS, ok(rows, pagination=samples.PAGE))
    shown = momo("tx", "list", "-o", "table", COLUMNS="120").out.splitlines()
    assert shown[3].startswith("✓ PAID        7KQ2MX")
    assert shown[4].startswith("✓ PAID, TEST  7KQ2MX")


def test_csv_of_a_list_holds_no_formula_and_plain_is_as_it_came(api: FakeApi, momo: Momo) -> None:
    row = {**samples.SHORT, "payer_name": '=HYPERLINK("http://x")'}
    api.on("GET", wire.Path.TRANSACTIONS, ok([row], pagination=samples.PAGE))
    form = ("tx", "list", "--fields", "payer_name,payer_phone,difference", "-o")
    (cells,) = list(csv.reader(momo(*form, "csv").out.splitlines()))[1:]
    assert cells == ['\'=HYPERLINK("http://x")', row["payer_phone"], "-2.00"]
    plain = momo(*form, "plain").out
    assert plain == f"{row['payer_name']}\t{row['payer_phone']}\t-2.00\n"


@pytest.mark.parametrize(("form", "total"), [("plain", 10_000), ("ndjson", 10_000), ("csv", 10_000), ("table", 1_200)])
def test_ten_thousand_orders_are_never_held_at_once(
    form: str, total: int, api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are written before the next pages are requested, so few rows are held in memory."""
    sink = io.BytesIO()
    waiting: list[int] = []

    def answer(asked: Asked) -> Says:
        number = int(asked.query.get("after", "0"))
        waiting.append(number - sink.getvalue().count(b"\n"))
        rows = [{**samples.PAID, "reference": str(number + 1 + n)} for n in range(100)]
        return ok(rows if number < total else [], pagination={"per_page": 100})

    api.on("GET", wire.Path.TRANSACTIONS, answer)
    out = io.TextIOWrapper(sink, encoding="utf-8", write_through=True)
    monkeypatch.setattr("sys.stdout", out)
    assert momo("tx", "list", "--all", "-o", form, COLUMNS="200").code == 0
    assert len(waiting) == total // 100 + 1
    assert max(waiting) <= 500
    assert sink.getvalue().count(b"\n") >= total


def test_stream_that_breaks_off_ends_with_a_line_of_type_error(api: FakeApi, momo: Momo) -> None:
    first = ok([samples.PAID], pagination={**samples.PAGE, "per_page": 1})
    api.on("GET", wire.Path.TRANSACTIONS, first, refusal(503, "UNAVAILABLE"))
    ran = momo("tx", "list", "--all", "--json")
    last = json.loads(ran.out.splitlines()[-1])
    assert (ran.code, last["type"], last["exit_code"]) == (7, "error", 7)
    api.on("GET", wire.Path.TRANSACTIONS, refusal(503, "UNAVAILABLE"))
    assert "type" not in momo("tx", "list", "--all", "--json").json


@each("name", COMMANDS)
def test_help_of_every_command_has_an_example_that_parses(name: str, momo: Momo) -> None:
    ran = momo(*name.split(), "--help")
    assert ran.code == 0
    assert "\nExamples:\n  momo " in ran.out.replace("$(momo", "\n  momo")
    assert max(map(len, ran.out.splitlines())) <= 110


@pytest.mark.parametrize("topic", TOPICS)
def test_topics_are_text_and_json(topic: str, momo: Momo) -> None:
    text = momo("help", topic)
    assert text.code == 0
    assert momo("help", topic, "--json").json["data"]["text"] == text.out.rstrip("\n")


def test_exit_codes_topic_names_every_error_code(momo: Momo) -> None:
    shown = momo("help", "exit-codes").out
    assert all(f"  {code} " in shown for code in wire.ErrorCode)


def test_help_of_a_command_both_ways_round(momo: Momo) -> None:
    assert momo("help", "tx", "list").out == momo("tx", "list", "-h").out
    assert momo("help").out == momo("--help").out


def test_a_group_without_a_list_shows_its_help_and_exits_2(momo: Momo) -> None:
    assert momo().code == momo("data").code == 2
    assert momo().out == momo("--help").out


def test_the_first_screen_fits_on_the_smallest_terminal_and_help_all_has_the_rest(momo: Momo) -> None:
    top = {name.split()[0] for name in COMMANDS}
    first = momo(COLUMNS="80").out.splitlines()
    assert len(top) <= 34
    assert len(first) <= 23
    assert [line.split()[0] for line in first if line.startswith("  ")][1:] == list(FIRST)
    every = momo("help", "all").out
    assert [name for name in top if f"\n  {name} " not in every] == []


@pytest.mark.parametrize("flags", [(), ("--all",), ("--json",)])
def test_a_noun_alone_is_its_list(flags: tuple[str, ...], api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_NOTICES, ok([]))
    assert momo("notices", *flags) == momo("notices", "list", *flags)
    assert api.asked[0] == api.asked[1]


def test_version_needs_no_daemon_and_no_shop(momo: Momo) -> None:
    ran = momo("-V", MOMO_HOME="/nonexistent")
    assert ran.code == 0
    assert ran.out.startswith("momo ")
    assert ran.out.endswith(" (daemon not running)\n")


def test_version_names_the_daemon_that_runs(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_STATUS, ok(samples.STATUS))
    assert momo("--version").out.endswith(" (daemon 0.1.0, schema 1, sqlite 3.40.1)\n")
    assert momo("--version", "--json").json["data"]["daemon"] == "0.1.0"


@pytest.mark.parametrize(
    ("room", "said"),
    [
        ("plenty", ""),
        ("low", "the disk has 90 MB left\n"),
        ("tight", "no backup and no export is made"),
        ("full", "new transactions are refused, payments are still recorded"),
    ],
)
def test_the_status_says_what_a_full_disk_stops(room: str, said: str, api: FakeApi, momo: Momo) -> None:
    data = {**samples.STATUS, "phones": [], "disk_free_bytes": 90_000_000, "disk": {"room": room}}
    api.on("GET", wire.Path.LOCAL_STATUS, ok(data))
    ran = momo("status", "--fail-if-unhealthy", "-o", "table")
    assert ran.code == 6  # the sample has more that needs attention
    assert said in ran.out + ran.err
    assert ("the disk has" in ran.out + ran.err) is bool(said)
