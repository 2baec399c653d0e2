"""The corpus: what published messages say, and that no other message is taken for a payment.

`tests/corpus/sms_corpus.jsonl` holds published layouts with invented people and IDs. Every entry of MTN and Telecel
Ghana is read with its kind, its fields and its details; the entries of other networks and the frauds give no payment of
these two.
"""

import json
from pathlib import Path
from typing import Any

from parsers.read import PROVIDERS, read
from parsers.reading import Kind, Payment, Reversal, Unreadable, fields

CORPUS = Path(__file__).parent.parent / "corpus" / "sms_corpus.jsonl"
ENTRIES: list[dict[str, Any]] = [
    json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()
]
GHANA = [
    entry
    for entry in ENTRIES
    if entry["country"] == "GH" and entry["network"] in {"mtn", "telecel"}
]

# A till's receipt is, letter for letter, the receipt of a person: only the line tells them apart.
KIND_NOT_IN_TEXT = {"gh-mtn-merchant-recv-momopay"}
# Cut in the middle of its ID: nothing of it may be believed.
CUT = {"gh-adv-mtn-part-one-only"}
# What the corpus says about an entry, and not what the message says.
REMARKS = {"adversarial", "truncated", "channel"}


def test_every_message_of_the_two_networks_is_read_as_the_corpus_says() -> None:
    wrong: list[str] = []
    for entry in GHANA:
        reading = read(entry["sender"], entry["text"])
        if entry["id"] in CUT:
            if not isinstance(reading, Unreadable):
                wrong.append(f"{entry['id']}: read although it is cut: {reading}")
            continue
        if isinstance(reading, Unreadable):
            wrong.append(f"{entry['id']}: {reading.why}")
            continue
        if reading.kind != entry["kind"] and entry["id"] not in KIND_NOT_IN_TEXT:
            wrong.append(f"{entry['id']}: kind {reading.kind}, corpus {entry['kind']}")
        if reading.network != entry["network"]:
            wrong.append(f"{entry['id']}: network {reading.network}")
        got = fields(reading)
        if got != entry["fields"]:
            wrong.append(f"{entry['id']}:\n  got    {got}\n  corpus {entry['fields']}")
        details = {k: v for k, v in (entry.get("extra") or {}).items() if k not in REMARKS}
        got_details = {key: reading.extra.get(key) for key in details}
        if got_details != details:
            wrong.append(f"{entry['id']}:\n  got    {got_details}\n  corpus {details}")
    assert not wrong, "\n" + "\n".join(wrong)
    assert len(GHANA) == 76


def test_money_in_is_a_payment_and_nothing_else_is() -> None:
    received = {Kind.PAYMENT_RECEIVED, Kind.MERCHANT_PAYMENT, Kind.CASH_IN}
    for entry in GHANA:
        reading = read(entry["sender"], entry["text"])
        assert isinstance(reading, Payment) == (entry["kind"] in received), entry["id"]


def test_reading_by_the_sims_network_gives_the_same() -> None:
    for entry in GHANA:
        by_network = read(entry["sender"], entry["text"], network=entry["network"])
        assert by_network == read(entry["sender"], entry["text"]), entry["id"]


def test_no_other_message_of_the_corpus_reads_as_a_payment() -> None:
    ids = [
        entry["id"]
        for entry in ENTRIES
        if entry not in GHANA
        and isinstance(read(entry["sender"], entry["text"]), Payment | Reversal)
    ]
    assert ids == []


def test_frauds_give_no_payment_whatever_sender_they_claim() -> None:
    frauds = [entry for entry in ENTRIES if entry["kind"] == "scam"]
    assert len(frauds) == 10
    for entry in frauds:
        for sender in (entry["sender"], "MobileMoney", "T-CASH", None):
            reading = read(sender, entry["text"])
            assert isinstance(reading, Unreadable), entry["id"]
            assert reading.kind is Kind.OTHER
            assert set(fields(reading).values()) == {None}


def test_only_exact_senders_of_a_network_are_listed() -> None:
    senders = {sender for provider in PROVIDERS.values() for sender in provider.senders}
    assert senders == {"MobileMoney", "T-CASH"}
    for entry in ENTRIES:
        if entry["kind"] == "scam" or "lookalike" in entry["id"]:
            assert entry["sender"] not in senders


def test_a_copied_message_from_an_unknown_sender_is_still_read() -> None:
    # Whether it counts is decided by its sender, elsewhere; a person must see what it pretends to be.
    for entry in GHANA:
        for sender in ("Mobile-Money", "+233244000811", None):
            assert read(sender, entry["text"]) == read(entry["sender"], entry["text"]), entry["id"]
