"""`momo messages import`: backups in every format, invalid ones, and the requests to the daemon."""

import contextlib
import io
import json
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon import wire
from parsers.phone_backup import FORMS, BackupError, BackupMessage, messages_of
from tests.cli.conftest import Momo
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, refusal

HEAD = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n<!--File Created By SMS Backup-->\n"
XML = (
    HEAD
    + """<smses count="4" backup_date="1763700000000">
  <sms protocol="0" address="MobileMoney" date="1762070405000" date_sent="1762070400000" type="1" subject="null"
    body="Payment received&#10;for GHS 1.00" service_center="+233240000099" read="1" />
  <sms address="+233241234567" date="1762070405123" date_sent="0" type="1" body="Akwaaba &#55357;&#56832;" service_center="null" />
  <sms address="MobileMoney" date="1762070405000" type="2" body="What the phone sent" />
  <mms date="1762070405000"><parts><part data="UklGRg=="/></parts></mms>
  <sms address="MobileMoney" date="soon" type="1" body="x" />
</smses>
"""
)
SENT = "2025-11-02T08:00:00.000Z"
RECEIPT: dict[str, str] = {
    "sender": "MobileMoney", "text": "Payment received\nfor GHS 1.00", "sent_at": SENT, "smsc": "+233240000099",
}  # fmt: skip


def found(text: str, form: str | None = None, size: int = 1000) -> list[BackupMessage]:
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    return list(messages_of(chunks, form, UTC))


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_the_xml_of_a_backup_is_read_however_it_is_cut(size: int) -> None:
    receipt, greeting, bad = found(XML, size=size)
    assert (receipt.line, receipt.body) == (4, RECEIPT)
    assert greeting.body == {
        "sender": "+233241234567",
        "text": "Akwaaba \U0001f600",
        "sent_at": "2025-11-02T08:00:05.123Z",
    }
    assert (bad.line, bad.body) == (9, {})
    assert "'soon' is not a time" in bad.problem


def test_half_a_character_is_no_reason_to_lose_the_message() -> None:
    (one,) = found('<smses><sms address="A" date="1" type="1" body="&#55357; &#56832;x &#55357;"/></smses>')
    assert one.body["text"] == "\ufffd \ufffdx \ufffd"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("hello &#0;", "hello \ufffd"),
        ("nice &#xD83D;&#xDE09; and &#3;", "nice \U0001f609 and \ufffd"),
        ("&#15;&#65535;\x0f", "\ufffd\ufffd\ufffd"),
        ("AT&T &nbsp;", "AT&T &nbsp;"),
    ],
)
def test_odd_character_in_one_message_leaves_the_others_readable(body: str, text: str) -> None:
    odd = f'<sms address="+233200000001" date="1" type="1" body="{body}"/>'
    good = '<sms address="A" date="1" type="1" body="x"/>'
    for size in (1, 1000):
        first, second, last = found(f"<smses>{good}\n{odd}\n{good}</smses>", size=size)
        assert second.body["text"] == text
        assert first.body == last.body != {}


def test_date_of_sending_that_is_none_is_replaced_by_the_date_of_arrival() -> None:
    [one] = found('<smses><sms address="A" date="1762070400000" date_sent="-1" type="1" body="x"/></smses>')
    assert one.body["sent_at"] == SENT


@given(st.text(st.characters(), max_size=500), st.sampled_from([*FORMS, None]))
def test_any_file_is_read_or_refused_with_its_line(text: str, form: str | None) -> None:
    with contextlib.suppress(BackupError):
        found(text, form, size=7)


@given(st.text(st.characters(exclude_characters='"<'), max_size=50), st.text(max_size=20))
def test_any_body_and_date_of_a_message_leaves_the_others_readable(body: str, date: str) -> None:
    date = date.replace('"', "").replace("<", "")
    odd = f'<sms address="B" date="{date}" date_sent="{date}" type="1" body="{body}"/>'
    good = '<sms address="A" date="1" type="1" body="x"/>'
    read = found(f"<smses>{good}{odd}{good}</smses>", size=7)
    assert read[0].body == read[2].body != {}


LAUGHS = '<!DOCTYPE smses [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>\n'
OUTSIDE = '<!DOCTYPE smses [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LAUGHS + '<smses><sms address="A" date="1" type="1" body="&b;"/></smses>', "line 1: it has a document type"),
        (OUTSIDE + '<smses><sms address="A" date="1" type="1" body="&x;"/></smses>', "line 1: it has a document type"),
        ('<smses>\n<sms address="A"\n date=1 />', "line 3: not the XML of a backup"),
        (XML[: XML.index("<mms")], "no element found"),
    ],
)
def test_bad_xml_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(BackupError, match=says):
        found(text, "android-xml")


def test_csv_is_read_by_the_names_of_its_columns() -> None:
    text = (
        "\ufeffDate;Address;Body;Type;Service center\r\n"
        '1762070400000;MobileMoney;"Payment received\nfor GHS 1.00";1;+233240000099\r\n'
        "1762070400;MobileMoney;Sent by the phone;2;\r\n"
        "\r\n"
        "2025-11-02 08:00;MobileMoney;Later;inbox\r\n"
        "yesterday;MobileMoney;Never;1;\r\n"
    )
    for size in (1, 1000):
        first, later, bad = found(text, size=size)
        assert (first.line, first.body) == (2, RECEIPT)
        assert later.body == {"sender": "MobileMoney", "text": "Later", "sent_at": SENT}
        assert (bad.line, "is not a time" in bad.problem) == (7, True)


def test_csv_without_the_columns_is_refused() -> None:
    with pytest.raises(BackupError, match="line 1: no column text, date"):
        found("sender,amount\nMobileMoney,12\n", "csv")
    with pytest.raises(BackupError, match="line 1: not CSV"):
        found('sender,text,"date\nMobileMoney,never ends,1\n', "csv")


@pytest.mark.parametrize(
    "odd", ['MobileMoney,"never ends,1', 'MobileMoney,"He said "hi" to me",1', "MobileMoney,a\rb,1"]
)
@pytest.mark.parametrize("size", [1, 1000])
def test_a_line_that_is_no_csv_is_told_and_the_others_are_read(odd: str, size: int) -> None:
    good = 'MobileMoney,"two\nlines",1762070400000\n'
    first, bad, *others = found(f"sender,text,date\n{good}{odd}\n{good}{good}", "csv", size=size)
    assert (bad.line, bad.body, "not CSV" in bad.problem) == (4, {}, True)
    assert [one.line for one in (first, *others)] == [2, 5, 7]
    assert all(one.body["text"] == "two\nlines" for one in (first, *others))


def test_pdus_stand_one_a_line() -> None:
    assert found("07 91 AA\n\nXYZ\n0791BB\n", "pdu") == [
        BackupMessage(1, {"pdu": "0791AA"}),
        BackupMessage(3, {"pdu": "XYZ"}, "not a PDU in hex"),
        BackupMessage(4, {"pdu": "0791BB"}),
    ]
    assert [one.body for one in found("0791BB")] == [{"pdu": "0791BB"}]


def answer(asked: Asked) -> Says:
    """Answer like the daemon: accept receipts, report known ones, and skip other senders."""
    fates = {"MobileMoney": ("new", "historical"), "Known": ("known", "duplicate")}
    told = [fates.get(one["sender"], ("other_sender", None)) for one in asked.body["messages"]]
    rows = [{"fate": fate, "state": state, "id": None, "why": None} for fate, state in told]
    return ok({"messages": rows, "dry_run": asked.body["dry_run"]})


@pytest.fixture
def file(tmp_path: Path, api: FakeApi) -> str:
    api.on("POST", wire.Path.LOCAL_IMPORT, answer)
    path = tmp_path / "backup.xml"
    path.write_text(XML, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_file_in_utf16_is_read_like_one_in_utf8(file: str, api: FakeApi, momo: Momo, encoding: str) -> None:
    Path(file).write_bytes(XML.replace("UTF-8", "UTF-16").encode(encoding))
    ran = momo("messages", "import", file, "--line", "0244124567", "--json")
    *rows, _last = map(json.loads, ran.out.splitlines())
    assert [(row["file_line"], row.get("fate")) for row in rows] == [(4, "new"), (6, "other_sender"), (9, None)]


def test_octet_that_is_no_text_leaves_the_other_messages_readable(file: str, api: FakeApi, momo: Momo) -> None:
    Path(file).write_bytes(XML.encode().replace(b"Akwaaba", b"Akwaaba \xff"))
    ran = momo("messages", "import", file, "--line", "0244124567", "--json")
    *rows, _last = map(json.loads, ran.out.splitlines())
    assert [row.get("fate") for row in rows] == ["new", "other_sender", None]


def test_each_message_is_told_and_the_last_line_is_the_sum(file: str, api: FakeApi, momo: Momo) -> None:
    ran = momo("messages", "import", file, "--line", "0244124567", "--json")
    *rows, last = map(json.loads, ran.out.splitlines())
    assert ran.code == 9
    assert [(row["file_line"], row.get("fate"), row.get("code")) for row in rows] == [
        (4, "new", None),
        (6, "other_sender", None),
        (9, None, "UNREADABLE"),
    ]
    sums = {"read": 2, "new": 1, "known": 0, "skipped": 1, "failed": 1}
    assert last == {"type": "summary", "requested": 3, **sums}
    (asked,) = [one for one in api.asked if one.path == wire.Path.LOCAL_IMPORT]
    assert asked.body["line"] == "0244124567"
    assert asked.body["messages"][0] == RECEIPT


def test_a_person_gets_one_sentence(file: str, momo: Momo) -> None:
    ran = momo("messages", "import", file, "--line", "0244124567", "--dry-run", "-o", "table")
    assert "2 read, 1 new, 1 skipped, 1 refused (1 UNREADABLE)." in ran.out
    assert "nothing is stored" in ran.err


def test_stdin_is_read_like_a_file(file: str, momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(Path(file).read_text(encoding="utf-8")))
    ran = momo("messages", "import", "-", "--line", "0244124567", "--quiet", "--plain")
    assert (ran.code, len(ran.out.splitlines())) == (9, 3)


def test_many_go_in_batches(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("POST", wire.Path.LOCAL_IMPORT, answer)
    path = tmp_path / "many.csv"
    rows = [f"MobileMoney,{'x' * (900 if n > 60 else 9)},{n}\n" for n in range(1, 101)]
    path.write_text("sender,text,date\n" + "".join(rows))
    ran = momo("messages", "import", str(path), "--line", "0244124567", "--json")
    asked = [one for one in api.asked if one.path == wire.Path.LOCAL_IMPORT]
    sizes = [len(one.body["messages"]) for one in asked]
    assert (ran.code, sum(sizes), max(sizes)) == (0, 100, 50)
    assert max(len(json.dumps(one.body)) for one in asked) < 20_000


def test_a_bad_file_and_an_unknown_number_change_nothing(file: str, api: FakeApi, momo: Momo) -> None:
    Path(file).write_text(XML.replace("</smses>", "</sms>"), encoding="utf-8")
    ran = momo("messages", "import", file, "--line", "0244124567")
    assert (ran.code, ran.out) == (2, "")
    assert f"{file}: line 10: not the XML of a backup" in ran.err
    assert not [one for one in api.asked if one.path == wire.Path.LOCAL_IMPORT]
    Path(file).write_text(XML, encoding="utf-8")
    api.on("POST", wire.Path.LOCAL_IMPORT, refusal(404, "PAYMENT_METHOD_NOT_FOUND", "no such"))
    assert momo("messages", "import", file, "--line", "0200000000").code == 3
    missing: Any = momo("messages", "import", file + "x", "--line", "0244124567")
    assert (missing.code, "No such file" in missing.err) == (2, True)
    assert momo("messages", "import", file, "--line", "1", "--format", "pdf").code == 2


def test_one_pasted_message_is_sent_with_the_number_that_got_it(
    api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = {"fate": "new", "state": "historical", "id": "x", "why": None}
    api.on("POST", wire.Path.LOCAL_IMPORT, ok({"messages": [stored], "dry_run": False}))
    monkeypatch.setattr("sys.stdin", io.StringIO("Payment received\nfor GHS 1.00\n\n"))
    ran = momo("messages", "import", "--paste", "--line", "0244124567", "-o", "table")
    assert (ran.code, ran.out) == (0, "✓ Stored as history.  historical\n")
    body = api.asked[-1].body
    assert (body["pasted"], body["line"]) == (True, "0244124567")
    (message,) = body["messages"]
    assert (message["sender"], message["text"]) == ("", "Payment received\nfor GHS 1.00")


def test_pasting_is_not_a_file(momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert momo("messages", "import", "--paste", "--line", "0244124567").code == 2
    assert momo("messages", "import", "--line", "0244124567").code == 2
