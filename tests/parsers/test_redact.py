"""A redacted message contains no personal data and keeps its wording."""

import json
import re
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from parsers.read import read, wordings
from parsers.reading import Unreadable
from parsers.redact import _vocabulary, redact

KEY = b"k" * 32
CORPUS = [
    json.loads(line)
    for name in ("sms_corpus.jsonl", "sms_found.jsonl")
    for line in (Path(__file__).parent.parent / "corpus" / name).read_text("utf-8").splitlines()
]
MTN = (
    "Payment received for GHS {amount} from {name}  Current Balance: GHS {balance} . Available Balance: GHS {balance}. "
    "Reference: {reference}. Transaction ID: {telco_id}. TRANSACTION FEE: 0.00"
)
UNKNOWN = "New form! {name} paid {amount} GHS into it ({telco_id}), note {reference}, balance {balance}"
names = st.lists(st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdeéñ", min_size=4, max_size=12), min_size=1, max_size=4).map(
    " ".join
)
numbers = st.integers(10**8, 10**15 - 1).map(str)
amounts = st.integers(1000, 10**9).map(lambda minor: f"{minor // 100}.{minor % 100:02d}")


@given(names, numbers, amounts, amounts, names)
@settings(max_examples=50, deadline=None)
@example("AAAA", "100000000", "10.00", "10.00", "PUSH")
def test_no_name_and_no_number_survives(name: str, telco_id: str, amount: str, balance: str, reference: str) -> None:
    for form in (MTN, UNKNOWN):
        text = form.format(name=name, telco_id=telco_id, amount=amount, balance=balance, reference=reference)
        redacted = redact(text, KEY)
        kept = set(re.findall(r"\w+", redacted))
        for word in (name + " " + reference).split():
            # A word that networks print too is kept where no wording shows that it is a name.
            if form is MTN or word.casefold() not in _vocabulary():
                # A bank's system writes PUSH into the reference.
                assert word not in kept or word in form or word == "PUSH", (word, redacted)
        assert telco_id not in redacted
        for figure in (amount, balance):
            assert not re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d])", redacted), redacted
        assert len(redacted) == len(text)


@given(names, numbers)
@settings(max_examples=50, deadline=None)
def test_the_shape_is_kept_so_that_the_same_wording_reads_it(name: str, telco_id: str) -> None:
    text = MTN.format(name=name, telco_id=telco_id, amount="70.00", balance="1,628.92", reference="x")
    before, after = read(None, text), read(None, redact(text, KEY))
    assert not isinstance(before, Unreadable)
    assert not isinstance(after, Unreadable)
    assert (before.network, before.wording) == (after.network, after.wording)


def test_equal_pieces_stay_equal_and_another_key_gives_others() -> None:
    raw = "ABENA MANU ,233201000456,K7M2QX from VODAFONE"
    text = MTN.format(name="ABENA MANU", telco_id="85614800061", amount="70.00", balance="9.00", reference=raw)
    redacted = redact(text, KEY, sender="MobileMoney")
    reading = read("MobileMoney", redacted)
    assert not isinstance(reading, Unreadable)
    assert reading.extra["via_network"] == "VODAFONE"
    assert redacted == redact(text, KEY, sender="MobileMoney")
    assert redacted != redact(text, b"other", sender="MobileMoney")


def test_every_sample_and_every_corpus_message_keeps_its_wording() -> None:
    texts = [(entry["sender"], entry["text"]) for entry in CORPUS]
    texts += [(None, sample) for wording in wordings() for sample in wording.samples]
    lost = []
    for sender, text in texts:
        before, after = read(sender, text), read(sender, redact(text, KEY, sender=sender))
        if not isinstance(before, Unreadable) and (isinstance(after, Unreadable) or after.wording != before.wording):
            lost.append(text)
    # Where the network's wording depends on the values, the form may be another one.
    assert len(lost) <= len(texts) // 10, lost


def test_no_payer_and_no_transaction_of_the_corpus_is_told() -> None:
    tried = 0
    for entry in CORPUS:
        redacted = redact(entry["text"], KEY, sender=entry["sender"])
        for field in ("payer_phone", "transaction_id"):
            told = entry["fields"][field]
            digits = re.sub(r"\D", "", told or "")[-9:]
            # Of a number, the subscriber's nine digits: texts print it with and without its country.
            if len(digits) == 9 and digits in entry["text"]:
                assert digits not in redacted, entry["id"]
                tried += 1
    assert tried > 200


@given(st.text(max_size=300))
@settings(max_examples=100, deadline=None)
def test_no_text_whatever_makes_redacting_raise(text: str) -> None:
    redact(text, KEY)
