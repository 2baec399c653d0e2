"""Changes of a known message by networks, phones and people: it reads the same, or is unreadable.

Genuine messages of Ghana, samples and corpus alike, are written in other ways. Ways that no network means anything by
(spaces, line ends, marks of the currency, thousands) must not matter; harsher ones (letters lost, words swapped, messages
glued together) may make them unreadable, and never another payment. No other message becomes a payment.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from parsers.money import MARKS
from parsers.read import read, wordings
from parsers.reading import NotPayment, Payment, Reversal
from tests.fakes.each import each
from tests.fakes.tiers import share

CORPUS = Path(__file__).parent.parent / "corpus"
MESSAGES = sorted(
    {sample for wording in wordings() for sample in wording.samples}
    | {
        entry["text"]
        for name in ("sms_corpus.jsonl", "sms_found.jsonl")
        for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()
        if (entry := json.loads(line))["country"] == "GH"
    }
)
PAYMENTS = [text for text in MESSAGES if isinstance(read(None, text), Payment)]
LIKE_RECEIPTS = {"loan", "airtime_reversal"}
"""Messages that differ from a receipt by one name only: without that name they are receipts."""
OTHERS = [
    text
    for text in MESSAGES
    if isinstance(reading := read(None, text), NotPayment | Reversal) and reading.wording not in LIKE_RECEIPTS
]
CEDIS = sorted(mark for mark, currency in MARKS.items() if currency == "GHS")
SPACES = (" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2009", "\u202f", " \n ")
_AMOUNT = re.compile(r"(?:GHS|GHC|GHc|GHs)\s?(?=\d)")
_MONEY = re.compile(r"(?<=GHS)(\s?)(\d{1,3}(?:,\d{3})+|\d{4,7})(?=\.\d\d)")


def facts(text: str) -> tuple[object, ...] | None:
    """Return the fields that must stay, None when the text is no payment."""
    reading = read(None, text)
    if not isinstance(reading, Payment):
        return None
    typed = None if reading.reference is None else " ".join(reading.reference.split())
    name = None if reading.payer_name is None else " ".join(reading.payer_name.split())
    return (*money(reading), reading.payer_phone, name, reading.payer_account, typed)


def money(reading: Payment) -> tuple[object, ...]:
    """Return the fields that identify the money."""
    return (reading.amount, reading.telco_id, reading.balance, reading.network, reading.kind)


def sums(text: str) -> tuple[object, ...] | None:
    reading = read(None, text)
    return money(reading) if isinstance(reading, Payment) else None


def test_there_is_enough_to_write_in_other_ways() -> None:
    assert len(PAYMENTS) > 60
    assert len(OTHERS) > 70


@st.composite
def spaced(draw: st.DrawFn) -> tuple[str, str]:
    """Return a payment, and the same with other white space."""
    text = draw(st.sampled_from(PAYMENTS))
    words = text.split(" ")
    some = st.lists(st.sampled_from(SPACES), min_size=len(words) - 1, max_size=len(words) - 1)
    # Two spaces in the text are one empty word, which is kept so that the drawn spaces give no other layout.
    joined = words[0] + "".join(
        (" " if word == "" else space) + word for space, word in zip(draw(some), words[1:], strict=True)
    )
    ends = st.sampled_from(("", " ", "\n", "\ufeff", "\r\n"))
    return text, draw(ends) + joined + draw(ends)


def say_the_same(pair: tuple[str, str]) -> None:
    assert facts(pair[1]) == facts(pair[0])


@given(spaced())
@settings(max_examples=200, deadline=None)
def test_other_spaces_change_nothing(pair: tuple[str, str]) -> None:
    say_the_same(pair)


@pytest.mark.slow
@given(spaced())
@settings(max_examples=share(2_000, 400), deadline=None)
def test_no_other_spaces_whatever_change_anything(pair: tuple[str, str]) -> None:
    say_the_same(pair)


@each("mark", CEDIS)
def test_another_mark_of_the_cedi_changes_nothing(mark: str) -> None:
    for text in PAYMENTS:
        before, after = facts(text), facts(_AMOUNT.sub(mark, text))
        assert before is not None
        assert after is not None, text
        # The typed text may contain an amount as well.
        assert after[:-1] == before[:-1]


def test_thousands_may_be_marked_or_not() -> None:
    for text in PAYMENTS:
        commas = _MONEY.sub(lambda found: f"{found[1]}{int(found[2].replace(',', '')):,}", text)
        bare = _MONEY.sub(lambda found: f"{found[1]}{found[2].replace(',', '')}", text)
        assert sums(commas) == sums(bare) == sums(text), text


def cut(text: str, draw: st.DrawFn) -> str:
    start, stop = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    # A number that lost digits is another number, without a sign of the loss.
    for at in (start, stop):
        assume(not re.fullmatch(r"[\d.,]{2}", text[max(at - 1, 0) : at + 1]))
    return text[start:stop] if draw(st.booleans()) else text[:start] + text[stop:]


def lose(text: str, draw: st.DrawFn) -> str:
    places = [at for at, character in enumerate(text) if character not in "0123456789.,"]
    at = draw(st.sampled_from(places))
    return text[:at] + text[at + 1 :]


def swap(text: str, draw: st.DrawFn) -> str:
    words = text.split(" ")
    # Two numbers that changed places are two other numbers.
    places = [at for at, word in enumerate(words) if not re.search(r"\d", word)]
    one, two = draw(st.tuples(*[st.sampled_from(places)] * 2))
    words[one], words[two] = words[two], words[one]
    return " ".join(words)


def repeat(text: str, draw: st.DrawFn) -> str:
    words = text.split(" ")
    at = draw(st.integers(0, len(words) - 1))
    return " ".join([*words[: at + 1], *words[at:]])


def recase(text: str, draw: st.DrawFn) -> str:
    ways: list[Callable[[str], str]] = [str.upper, str.lower, str.title, str.swapcase]
    way: Callable[[str], str] = draw(st.sampled_from(ways))
    return way(text)


def glue(text: str, draw: st.DrawFn) -> str:
    between, other = draw(st.sampled_from(("", " ", "\n"))), draw(st.sampled_from(MESSAGES))
    return f"{text}{between}{other}"


def mark_behind(text: str, _draw: st.DrawFn) -> str:
    return re.sub(r"GHS\s?([\d,]+\.\d\d)", r"\1 GHS", text)


HARSH: tuple[Callable[[str, st.DrawFn], str], ...] = (cut, lose, swap, repeat, recase, glue, mark_behind)


@st.composite
def harshened(draw: st.DrawFn, texts: list[str]) -> tuple[str, str]:
    text = draw(st.sampled_from(texts))
    return text, draw(st.sampled_from(HARSH))(text, draw)


def is_no_other_payment(pair: tuple[str, str]) -> None:
    reading, changed = read(None, pair[0]), read(None, pair[1])
    assert isinstance(reading, Payment)
    # A wording that is not verified is shown to an operator and pays no transaction.
    if isinstance(changed, Payment) and not changed.unverified:
        assert changed.amount == reading.amount
        assert changed.telco_id == reading.telco_id
        assert changed.balance in (reading.balance, None)


def is_no_payment(pair: tuple[str, str]) -> None:
    reading = read(None, pair[1])
    assert not isinstance(reading, Payment)
    assert not isinstance(reading, Reversal) or isinstance(read(None, pair[0]), Reversal)


@given(harshened(PAYMENTS))
@settings(max_examples=300, deadline=None)
def test_harsher_changes_never_make_another_payment(pair: tuple[str, str]) -> None:
    is_no_other_payment(pair)


@given(harshened(OTHERS))
@settings(max_examples=300, deadline=None)
def test_what_is_no_payment_never_becomes_one(pair: tuple[str, str]) -> None:
    is_no_payment(pair)


@pytest.mark.slow
@given(harshened(PAYMENTS))
@settings(max_examples=share(4_000), deadline=None)
def test_no_harsher_changes_whatever_make_another_payment(pair: tuple[str, str]) -> None:
    is_no_other_payment(pair)


@pytest.mark.slow
@given(harshened(OTHERS))
@settings(max_examples=share(4_000), deadline=None)
def test_nothing_whatever_makes_a_payment_of_what_is_none(pair: tuple[str, str]) -> None:
    is_no_payment(pair)


def test_no_pattern_has_a_space_among_the_characters_of_a_class() -> None:
    # In a class, a space would not mean any white space.
    for wording in wordings():
        classes = re.findall(r"(?<!\\)\[(?:\\.|[^\]\\])*\]", wording.pattern)
        assert not [one for one in classes if " " in one or "~" in one], wording.name
