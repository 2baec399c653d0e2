"""`momo api`: any call, sent unchanged."""

import io
import json
from pathlib import Path

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.each import each
from tests.fakes.fake_api import FakeApi, Says, ok, refusal

LIST = ok([samples.PAID], pagination=samples.PAGE)


def test_answer_comes_as_it_is_and_the_query_is_kept(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.TRANSACTIONS, LIST)
    ran = momo("api", "get", "/v1/transactions?status=PENDING", "--json")
    assert (ran.code, ran.json) == (0, LIST.body)
    assert momo("api", "GET", "/v1/transactions").out == ran.out
    assert api.asked[0].query == {"status": "PENDING"}


def test_people_get_it_indented(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.TRANSACTIONS, ok([]))
    shown = momo("api", "GET", "/v1/transactions", "-o", "table").out
    assert shown == '{\n  "success": true,\n  "data": []\n}\n'


@pytest.mark.parametrize("given", ['{"a": "ɔ"}', "@body.json", "@-"])
def test_body_comes_from_the_words_a_file_or_stdin(
    given: str, api: FakeApi, momo: Momo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "body.json").write_text('{"a": "ɔ"}')
    monkeypatch.setattr("sys.stdin", io.StringIO('{"a": "ɔ"}'))
    api.on("POST", "/v1/x", ok({}))
    assert momo("api", "POST", "/v1/x", "-d", given, "-H", "Idempotency-Key: k 1").code == 0
    (asked,) = api.asked
    assert (asked.body, asked.headers["idempotency-key"]) == ({"a": "ɔ"}, "k 1")


def test_include_shows_status_and_headers_first(api: FakeApi, momo: Momo) -> None:
    api.on("GET", "/v1/x", Says({"success": True}, 202, headers={"X-Seen": "yes"}))
    first, *others = momo("api", "GET", "/v1/x", "--include").out.splitlines()
    assert first == "HTTP/1.1 202"
    assert "X-Seen: yes" in others
    assert others[-2:] == ["", '{"success": true}']


def test_text_that_is_no_json_is_passed_on_and_wrapped_for_json(api: FakeApi, momo: Momo) -> None:
    api.on("GET", "/metrics", Says(raw=b"momo_up 1\n"))
    assert momo("api", "GET", "/metrics").out == "momo_up 1\n"
    wrapped = {"success": True, "data": "momo_up 1\n"}
    assert momo("api", "GET", "/metrics", "--json").json == wrapped


def test_stream_that_never_ends_is_not_waited_for(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.EVENTS, Says(stream=": hello\n\n"))
    ran = momo("api", "GET", wire.Path.EVENTS)
    assert ran.code == 2
    assert "momo tx watch" in ran.err


def test_refusal_exits_as_any_command_would(api: FakeApi, momo: Momo) -> None:
    api.on("DELETE", "/v1/x", refusal(409, "ALREADY_VERIFIED"))
    assert momo("api", "DELETE", "/v1/x").code == 5
    assert momo("api", "GET", "/v1/nothing").code == 3


def test_the_answer_comes_as_it_is_when_it_is_no_success_too(api: FakeApi, momo: Momo) -> None:
    said = refusal(409, "ALREADY_VERIFIED", transaction_status="SUCCESS")
    api.on("DELETE", "/v1/x", said)
    ran = momo("api", "DELETE", "/v1/x")
    assert json.loads(ran.out) == said.body
    assert ran.err.startswith("error: this transaction is already paid  [ALREADY_VERIFIED]\n")
    assert '  "success": false,\n' in momo("api", "DELETE", "/v1/x", "-o", "table").out
    document = momo("api", "DELETE", "/v1/x", "--json").json
    assert document["exit_code"] == 5, "one document, which says what any command says"
    assert momo("api", "DELETE", "/v1/x", "--get", "data").out == ""


@each(
    "argv",
    [
        ("TRACE", "/v1/x"),
        ("GET", "v1/x"),
        ("GET", "/v1/x y"),
        ("GET", "/v1/ɔ"),
        ("POST", "/v1/x", "-d", "{"),
        ("GET", "/v1/x", "-H", "nothing"),
        ("GET", "/v1/x", "-H", "Host: other"),
        ("GET", "/v1/x", "-H", "A: b\r\nC: d"),
    ],
)
def test_call_that_cannot_be_made_is_exit_2(argv: tuple[str, ...], momo: Momo) -> None:
    assert momo("api", *argv).code == 2
