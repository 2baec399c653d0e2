"""`momo messages parse`: the reading of pasted messages, without a daemon and without a shop."""

import json
from pathlib import Path

import pytest

from daemon.modem.codec.pdu_encode import encode_deliver
from tests.cli.conftest import Momo
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, mtn_receipt

pytestmark = pytest.mark.usefixtures("in_process")

RECEIPT = mtn_receipt(7000, "ESI NAANA QUANSAH", 62892, "Q4T9WD", "85614800061")
TELECEL = (
    "0000014673911819 Confirmed. You have received GHS45.00 from 233209000543 - KOJO ANSAH BEKOE on 2026-09-07 at "
    "11:02:51. Your Telecel Cash balance is GHS135.25.\n\nReference: K7M2QX.\nStay alert."
)
CORPUS = [
    json.loads(line)
    for name in ("sms_corpus.jsonl", "sms_found.jsonl")
    for line in (Path(__file__).parents[2] / "corpus" / name).read_text("utf-8").splitlines()
]


@pytest.fixture
def pasted(tmp_path: Path) -> Path:
    return tmp_path / "pasted.txt"


def test_a_pasted_receipt_is_told_in_full_and_never_pays(momo: Momo, pasted: Path) -> None:
    pasted.write_text(RECEIPT)
    ran = momo("messages", "parse", str(pasted), "--sender", MTN_SENDER, "--json", MOMO_HOME="/nonexistent")
    assert ran.code == 0
    [told] = ran.json["data"]
    assert told["fields"] == {
        "amount": "70.00",
        "currency": "GHS",
        "payer_name": "ESI NAANA QUANSAH",
        "payer_phone": None,
        "reference": "Q4T9WD",
        "transaction_id": "85614800061",
        "balance": "628.92",
        "fee": "0.00",
        "timestamp": None,
    }
    assert (told["network"], told["wording"], told["is_receipt"]) == ("mtn", "receipt", True)
    assert told["why"] == "pasted text is never a payment; only a message received by the phone can be"


def test_several_messages_are_parted_and_an_empty_line_inside_one_is_not_a_border(momo: Momo, pasted: Path) -> None:
    pasted.write_text(f"{RECEIPT}\n\nsee you at five\n---\n{TELECEL}\n")
    told = momo("messages", "parse", str(pasted), "--json").json["data"]
    assert [row["wording"] for row in told] == ["receipt", None, "receipt"]
    assert told[2]["fields"]["reference"] == "K7M2QX"


def test_what_is_not_understood_says_where_it_left_the_nearest_wording(momo: Momo, pasted: Path) -> None:
    pasted.write_text(RECEIPT.replace("Available Balance", "Usable Funds"))
    [told] = momo("messages", "parse", str(pasted), "--json").json["data"]
    assert (told["kind"], told["is_receipt"]) == ("other", False)
    assert (told["nearest"]["network"], told["nearest"]["wording"]) == ("mtn", "receipt")
    assert told["nearest"]["found"].startswith("Usable Funds: GHS 628.92")
    assert "nearest to mtn receipt" in told["why"]
    human = momo("messages", "parse", str(pasted), "-o", "table")
    assert "! not understood" in human.out
    assert "'Usable Funds" in human.out


def test_a_sender_that_the_network_does_not_use_is_told(momo: Momo, pasted: Path) -> None:
    pasted.write_text(RECEIPT)
    [told] = momo("messages", "parse", str(pasted), "--sender", "Mobile-Money", "--json").json["data"]
    assert "MTN MoMo does not send from 'Mobile-Money'; its sender is MobileMoney" in told["why"]


def test_the_network_chooses_the_wordings(momo: Momo, pasted: Path) -> None:
    pasted.write_text(RECEIPT)
    assert momo("messages", "parse", str(pasted), "--network", "mtn", "--json").json["data"][0]["is_receipt"]
    [told] = momo("messages", "parse", str(pasted), "--network", "telecel", "--json").json["data"]
    assert not told["is_receipt"]
    assert momo("messages", "parse", str(pasted), "--network", "glo").code == 2


def test_jsonl_answers_one_line_for_each_line(momo: Momo, tmp_path: Path) -> None:
    given = tmp_path / "corpus.jsonl"
    given.write_text("\n".join(json.dumps({"sender": e["sender"], "text": e["text"]}) for e in CORPUS))
    ran = momo("messages", "parse", str(given), "--jsonl")
    told = [json.loads(line) for line in ran.out.splitlines()]
    assert len(told) == len(CORPUS)
    for entry, one in zip(CORPUS, told, strict=True):
        assert set(one) == {"kind", "fields", "why"}
        if entry["kind"] == "scam" or entry["country"] != "GH":
            assert (one["kind"], set(one["fields"].values())) == ("other", {None})
        else:
            assert one["fields"] == {**one["fields"], **entry["fields"]}, entry["id"]


def test_pdus_are_decoded_and_parts_joined(momo: Momo, tmp_path: Path) -> None:
    pdus = list(encode_deliver(MTN_SENDER, RECEIPT, STARTED, smsc=MTN_SMSC, reference=7))
    dump = tmp_path / "dump.txt"
    dump.write_text("\n".join([*reversed(pdus), "00GARBAGE"]))
    told = momo("messages", "parse", "--pdu", str(dump), "--json").json["data"]
    assert [row["wording"] for row in told] == ["receipt", None]
    assert told[0]["sender"] == MTN_SENDER
    lines = tmp_path / "dump.jsonl"
    lines.write_text("\n".join([json.dumps({"pdu": pdus}), json.dumps({"pdu": pdus[0]})]))
    first, second = momo("messages", "parse", "--jsonl", str(lines)).out.splitlines()
    assert json.loads(first)["fields"]["transaction_id"] == "85614800061"
    assert json.loads(second)["why"] == "1 of 2 parts"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("messages", "parse", "nowhere.txt"), "No such file"),
        (("messages", "parse", "x", "--pdu", "--jsonl"), "--pdu does not go with --jsonl"),
    ],
)
def test_wrong_use_is_2(momo: Momo, argv: tuple[str, ...], said: str) -> None:
    ran = momo(*argv)
    assert ran.code == 2
    assert said in ran.err


def test_a_line_that_is_no_json_is_named(momo: Momo, pasted: Path) -> None:
    pasted.write_text('{"text": "hi"}\n{"text"\n')
    ran = momo("messages", "parse", str(pasted), "--jsonl")
    assert ran.code == 2
    assert "line 2" in ran.err


@pytest.mark.parametrize(
    ("argv", "needs_utf8"),
    [
        (("messages", "parse"), True),
        (("messages", "import", "--line", "0244124567"), False),
        (("reconcile", "--from-file"), True),
    ],
)
def test_a_file_that_cannot_be_read_is_named_once_with_the_reason(
    argv: tuple[str, ...], needs_utf8: bool, momo: Momo, tmp_path: Path
) -> None:
    missing, picture = tmp_path / "none.txt", tmp_path / "picture.txt"
    picture.write_bytes(b"\x89PNG\xff")
    files = [(missing, "No such file or directory")]
    if needs_utf8:  # a backup of an old phone may be in another encoding
        files.append((picture, "it is not text (UTF-8)"))
    for path, why in files:
        ran = momo(*argv, str(path))
        assert ran.code == 2
        assert ran.err.splitlines()[0] == f"error: {path}: {why}  [USAGE]"
