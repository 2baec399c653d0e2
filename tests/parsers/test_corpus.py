"""The corpus: published messages are read correctly, and no fraud is read as a payment.

`tests/corpus/sms_corpus.jsonl` and `sms_found.jsonl` hold published layouts with invented people and IDs; the second were
found later, mostly in whole inboxes. Every entry of a network of Ghana is read with its kind, its fields and its details;
frauds and the messages of other countries' networks give no payment from any sender name.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from parsers.providers import WORDINGS
from parsers.read import EVERY_PROVIDER, PROVIDERS, read
from parsers.reading import Kind, NotPayment, Payment, Reversal, Unreadable, fields
from tests.fakes.each import each

CORPUS = Path(__file__).parent.parent / "corpus"
ENTRIES: list[dict[str, Any]] = [
    json.loads(line)
    for name in ("sms_corpus.jsonl", "sms_found.jsonl")
    for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()
]
OTHER_COUNTRIES = [entry for entry in ENTRIES if entry["country"] != "GH" and entry["kind"] != "scam"]
GENUINE = [entry for entry in ENTRIES if entry["country"] == "GH" and entry["kind"] != "scam"]
FRAUDS = [entry for entry in ENTRIES if entry["kind"] == "scam"]
GHANA = [entry for entry in ENTRIES if entry["country"] == "GH" and entry["network"] in {"mtn", "telecel"}]

# A till's receipt has the same text as a person's receipt: only the line distinguishes them.
KIND_NOT_IN_TEXT = {"gh-mtn-merchant-recv-momopay"}
# Only a message from the network's own sender is called its advert.
ADVERTS = {entry["id"] for entry in ENTRIES if "-advert-" in entry["id"]}
# Cut in the middle of its ID: the rest is shown and never trusted.
CUT = {"gh-adv-mtn-part-one-only"}
# Remarks of the corpus about an entry, not fields of the message.
REMARKS = {"adversarial", "truncated", "channel", "claimed"}
# Networks with another name in the corpus.
SHORT_NAMES = {"bank": "gcb"}
SENDERS = {sender for provider in EVERY_PROVIDER.values() for sender in provider.senders}


def network_of(entry: dict[str, Any]) -> str:
    """Return our short name of an entry's network."""
    network: str = entry["network"]
    return SHORT_NAMES.get(network, network)


def mismatches(entry: dict[str, Any], sender: str | None) -> list[str]:
    """Return the differences between the reading of an entry and its fields in the corpus."""
    reading = read(sender, entry["text"])
    if isinstance(reading, Unreadable) and entry["id"] not in CUT:
        return [reading.why]
    wrong: list[str] = []
    if reading.kind != entry["kind"] and entry["id"] not in KIND_NOT_IN_TEXT:
        wrong.append(f"kind {reading.kind}, corpus {entry['kind']}")
    got = fields(reading)
    wrong += [
        f"{word} {got[word]!r}, corpus {value!r}" for word, value in entry["fields"].items() if got[word] != value
    ]
    if isinstance(reading, Unreadable):
        return wrong
    if reading.network != network_of(entry):
        wrong.append(f"network {reading.network}")
    details = {k: v for k, v in (entry.get("extra") or {}).items() if k not in REMARKS}
    wrong += [
        f"{word} {reading.extra.get(word)!r}, corpus {value!r}"
        for word, value in details.items()
        if reading.extra.get(word) != value
    ]
    return wrong


def table(wrong: dict[str, list[str]]) -> str:
    """Return one line for each network, with its errors below."""
    entries = Counter(network_of(entry) for entry in GENUINE)
    lines = [f"{'network':<14} {'entries':>7} {'wrong':>5}"]
    for network, count in sorted(entries.items()):
        of_network = [e["id"] for e in GENUINE if network_of(e) == network and wrong.get(e["id"])]
        lines.append(f"{network:<14} {count:>7} {len(of_network):>5}")
        lines += [f"    {name}: {'; '.join(wrong[name])}" for name in of_network]
    return "\n".join(lines)


def test_every_message_is_read_as_the_corpus_says() -> None:
    wrong = {entry["id"]: mismatches(entry, entry["sender"]) for entry in GENUINE}
    report = table(wrong)
    print(report)
    assert not any(wrong.values()), f"\n{report}"
    assert (len(ENTRIES), len(GENUINE), len(GHANA)) == (193 + 68, 91 + 68, 76 + 67)


def test_every_message_is_read_alike_when_its_sender_is_unknown() -> None:
    # Other code decides by the sender whether it counts; an operator must see the fields that it claims.
    for sender in ("Mobile-Money", "+233244000811", None):
        wrong = {entry["id"]: mismatches(entry, sender) for entry in GENUINE if entry["id"] not in ADVERTS}
        assert not any(wrong.values()), f"\n{table(wrong)}"


def test_money_in_is_a_payment_and_nothing_else_is() -> None:
    received = {Kind.PAYMENT_RECEIVED, Kind.MERCHANT_PAYMENT, Kind.CASH_IN}
    for entry in GHANA:
        reading = read(entry["sender"], entry["text"])
        assert isinstance(reading, Payment) == (entry["kind"] in received), entry["id"]


def test_reading_by_the_sims_network_gives_the_same() -> None:
    for entry in GHANA:
        by_network = read(entry["sender"], entry["text"], network=entry["network"])
        assert by_network == read(entry["sender"], entry["text"]), entry["id"]


def test_messages_of_other_countries_and_frauds_never_pay_whatever_sender_they_claim() -> None:
    assert (len(OTHER_COUNTRIES), len(FRAUDS)) == (92, 10)
    networks = (None, *WORDINGS)
    for entry in OTHER_COUNTRIES + FRAUDS:
        for sender in (entry["sender"], None, *SENDERS):
            for network in networks:
                reading = read(sender, entry["text"], network=network)
                assert isinstance(reading, Unreadable), (entry["id"], sender, network)
                assert reading.kind is Kind.OTHER
                assert set(fields(reading).values()) == {None}


def test_what_no_genuine_message_confirms_is_marked() -> None:
    for entry in GENUINE:
        reading = read(entry["sender"], entry["text"])
        if isinstance(reading, Payment) and reading.network in {"at", "gmoney"}:
            assert reading.unverified, entry["id"]
        if entry in GHANA and isinstance(reading, Payment):
            assert not reading.unverified, entry["id"]


def test_only_exact_senders_of_a_network_are_listed() -> None:
    senders = {sender for provider in PROVIDERS.values() for sender in provider.senders}
    assert senders == {"MobileMoney", "T-CASH"}
    for entry in ENTRIES:
        if entry["kind"] == "scam" or "lookalike" in entry["id"]:
            assert entry["sender"] not in senders


ENTRIES_invented: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "corpus" / "sms_invented.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
DEBITS = {Kind.SENT, Kind.BILL, Kind.CASH_OUT, Kind.AIRTIME}


@each("entry", ENTRIES_invented)
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
    for entry in ENTRIES_invented:
        if entry["expected"] == "nothing":
            for sender in senders:
                assert isinstance(read(sender, entry["text"]), NotPayment | Unreadable)


def test_there_are_enough_of_each() -> None:
    classes = [entry["expected"] for entry in ENTRIES_invented]
    assert len({entry["id"] for entry in ENTRIES_invented}) == len(ENTRIES_invented)
    assert classes.count("payment") > 40
    assert classes.count("nothing") > 20
    assert classes.count("debit") == 10
