"""Inputs that people reported of other programs of this kind (`tests/corpus/reports`) are read here."""

import json
from datetime import UTC
from pathlib import Path
from typing import Any

from daemon.core.messages.post import PRESETS, read_post
from daemon.modem import hilink
from momo_cli.commands.payments.reconcile import lines_of
from parsers import phone_backup
from parsers.phone import read_phone
from parsers.read import read
from parsers.reading import NotPayment, normalize_telco_id, valid_for_any

FOLDER = Path(__file__).parents[1] / "corpus" / "reports"


def report(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def backed_up(name: str) -> list[str]:
    octets = (FOLDER / name).read_bytes()
    text = octets.decode(phone_backup.encoding_of(octets), "replace")
    return [one.body["text"] for one in phone_backup.messages_of([text], None, UTC)]


def test_list_of_a_stick_with_one_control_character_is_read_whole() -> None:
    import xmltodict  # type: ignore[import-untyped]

    octets = (FOLDER / "hilink_control_character.xml").read_bytes()
    answer = xmltodict.parse(hilink.readable(octets))
    found = [hilink._message("local", one) for one in hilink._listed(answer["response"])]
    assert [one.index for one in found] == [40001, 40002, 40003]
    assert "64000000001" in found[0].text
    assert found[1].text.startswith("page one")
    assert "64000000002" in found[2].text


def test_backup_with_a_reference_to_a_control_character_is_read() -> None:
    private, receipt = backed_up("backup_control_reference.xml")
    assert private.startswith("hello")
    assert "64000000004" in receipt


def test_backup_with_a_negative_time_of_sending_is_read() -> None:
    (receipt,) = backed_up("backup_negative_date_sent.xml")
    assert "64000000005" in receipt


def test_backup_with_surrogates_as_hex_references_is_read() -> None:
    first, private, last = backed_up("backup_hex_surrogates.xml")
    assert "85614801234" in first
    assert "\U0001f609" in private
    assert "85614901234" in last


def test_post_of_a_phone_with_a_time_of_1970_or_another_member_is_read() -> None:
    (old,) = read_post(PRESETS["capcom6"], (FOLDER / "android_time_1970.json").read_bytes(), UTC).messages
    assert not old.sent_at  # the storing turns it into no time
    assert "64000000003" in old.text
    (other,) = read_post(PRESETS["capcom6"], (FOLDER / "android_other_member.json").read_bytes(), UTC).messages
    assert other.text.startswith("Payment received for GHS 25.00")


def test_file_for_reconcile_may_be_an_export() -> None:
    lines = lines_of((FOLDER / "reconcile_from_export.csv").read_text(encoding="utf-8"), None)
    read_lines = [(one.body["transaction_id"], one.body["amount"], one.problem) for one in lines]
    assert read_lines == [("0000015298826612", "1000.00", ""), ("0000015298826612", "10.00", "")]


def test_pasted_ids_are_those_that_are_stored_or_have_no_form() -> None:
    found = report("pasted_ids.json")
    stored = {one.partition(" ")[0] for one in found["stored"]}
    for typed, expected in found["inputs"].items():
        if expected.startswith("422"):
            assert not valid_for_any(typed), typed
        elif "near" in expected:
            assert {one.lstrip("0") for one in stored} >= {normalize_telco_id(typed)}
        else:
            assert normalize_telco_id(typed) in stored, typed


def test_phone_numbers_with_invisible_marks_are_read() -> None:
    inputs = report("pasted_phones.json")["inputs"]
    assert {read_phone(typed) for typed in inputs} == {"+233244124567"}


def test_money_from_an_own_account_is_no_sale() -> None:
    found = report("own_account.json")
    assert isinstance(read(found["sender"], found["text"]), NotPayment)
