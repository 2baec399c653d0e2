"""Invented messages in the networks' own forms: payments, debits, reversals, and others.

`tests/corpus/sms_invented.jsonl` holds, for each, its class and the fields that must be read: forms that change from year
to year, words of a receipt in names and references, long narrations of banks, adverts, loans, codes and reminders.
"""

import json
from pathlib import Path
from typing import Any

from parsers.read import EVERY_PROVIDER, read
from parsers.reading import Kind, NotPayment, Payment, Reversal, Unreadable, fields
from tests.fakes.each import each

ENTRIES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "corpus" / "sms_invented.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
DEBITS = {Kind.SENT, Kind.BILL, Kind.CASH_OUT, Kind.AIRTIME}


@each("entry", ENTRIES)
def test_each_is_read_for_what_it_is(entry: dict[str, Any]) -> None:
    reading = read(entry["sender"], entry["text"])
    expected = entry["expected"]
    assert isinstance(reading, Payment) == (expected in {"payment", "unverified"}), reading
    assert isinstance(reading, Reversal) == (expected == "reversal"), reading
    if isinstance(reading, Payment):
        assert reading.unverified == (expected == "unverified")
    if expected == "debit":
        assert isinstance(reading, NotPayment), reading
        assert reading.kind in DEBITS
    found = fields(reading)
    assert {word: found[word] for word in entry["fields"]} == entry["fields"]


def test_what_is_no_payment_is_none_whatever_sender_it_claims() -> None:
    senders = [None, *(name for one in EVERY_PROVIDER.values() for name in one.senders)]
    for entry in ENTRIES:
        if entry["expected"] == "nothing":
            for sender in senders:
                assert isinstance(read(sender, entry["text"]), NotPayment | Unreadable)


def test_there_are_enough_of_each() -> None:
    classes = [entry["expected"] for entry in ENTRIES]
    assert len({entry["id"] for entry in ENTRIES}) == len(ENTRIES)
    assert classes.count("payment") > 40
    assert classes.count("nothing") > 20
    assert classes.count("debit") == 10
