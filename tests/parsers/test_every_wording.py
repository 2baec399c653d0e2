"""Every wording of incoming money: no typed text and no lost part changes the reading.

The texts that a payer could type are made of the pieces of that very wording's own receipts, with other figures in them:
the worst that a free field can hold.
"""

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.read import compile_pattern, read, wordings
from parsers.reading import Kind, Payment, Reading, Reversal
from parsers.wording import Wording
from tests.fakes.each import each
from tests.fakes.tiers import share

RECEIVED = {Kind.PAYMENT_RECEIVED, Kind.MERCHANT_PAYMENT, Kind.CASH_IN}
MONEY_IN = [wording for wording in wordings() if wording.kind in RECEIVED]
FREE = ("payer_name", "agent", "reference")
PART_CHARACTERS = (153, 67)


def facts(reading: Reading) -> tuple[object, ...] | None:
    """Return the fields that must not change, or None when the reading is no payment."""
    if not isinstance(reading, Payment):
        return None
    phone = None if reading.payer_phone_typed else reading.payer_phone_printed
    return (reading.amount, reading.telco_id, reading.balance, phone, reading.network)


def agrees(got: tuple[object, ...] | None, genuine: tuple[object, ...] | None) -> bool:
    """Return whether a reading equals the genuine one; only the payer's number may be missing."""
    if got is None or genuine is None:
        return got is None
    return all(a == b or (place == 3 and a is None) for place, (a, b) in enumerate(zip(got, genuine, strict=True)))


def free_fields(wording: Wording, sample: str) -> list[tuple[int, int]]:
    """Return the positions of the fields with the payer's text or name."""
    match = compile_pattern(wording.pattern).fullmatch(sample)
    assert match is not None
    return sorted(match.span(name) for name in FREE if match.groupdict().get(name))


@cache
def pieces(sample: str) -> list[str]:
    """Return parts of a receipt with other figures, whole and cut at its words."""
    forged = re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), sample)
    cuts = [match.start() for match in re.finditer(r"(?<=[\s.:,(])\S", forged)][:40]
    return [forged, *(forged[cut:] for cut in cuts), *(forged[:cut] for cut in cuts), ". ", "\n"]


def with_typed(sample: str, spans: list[tuple[int, int]], typed: list[str]) -> str:
    """Return the sample with other text in its free fields."""
    text, end = "", 0
    for (start, stop), instead in zip(spans, typed, strict=True):
        text += sample[end:start] + instead
        end = stop
    return text + sample[end:]


TYPED = st.lists(st.one_of(st.integers(0, 9_999), st.text(max_size=20)), max_size=3)
"""A text as numbers of pieces and free characters; the pieces are the wording's."""


def check(wording: Wording, which: int, typed: list[int | str], other: list[int | str]) -> None:
    sample = wording.samples[which % len(wording.samples)]
    spans = free_fields(wording, sample)
    genuine = facts(read(None, sample))
    known = pieces(sample)
    texts = [
        "".join(known[bit % len(known)] if isinstance(bit, int) else bit for bit in bits) for bits in (typed, other)
    ]
    # Mostly one field alone: two strange ones at once are seldom read at all.
    chosen = which // len(wording.samples) % (len(spans) + 1)
    instead = [
        texts[place % 2] if chosen in (place, len(spans)) else sample[start:stop]
        for place, (start, stop) in enumerate(spans)
    ]
    reading = read(None, with_typed(sample, spans, instead))
    assert agrees(facts(reading), genuine), instead
    assert not isinstance(reading, Reversal)


def name(wording: Wording) -> str:
    return f"{wording.network}-{wording.name}"


@pytest.mark.parametrize("wording", [w for w in MONEY_IN if free_fields(w, w.samples[0])], ids=name)
@given(which=st.integers(0, 99), typed=TYPED, other=TYPED)
@settings(max_examples=50, deadline=None)
def test_no_typed_text_changes_what_a_receipt_says(
    wording: Wording, which: int, typed: list[int | str], other: list[int | str]
) -> None:
    check(wording, which, typed, other)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "wording", [w for w in MONEY_IN if w.network in {"mtn", "telecel"} and w.name.startswith("receipt")], ids=name
)
@given(which=st.integers(0, 99), typed=TYPED, other=TYPED)
@settings(max_examples=share(10_000), deadline=None)
def test_none_does_in_many_tries(wording: Wording, which: int, typed: list[int | str], other: list[int | str]) -> None:
    check(wording, which, typed, other)


@each("wording", MONEY_IN)
def test_a_receipt_without_its_tail_or_a_part_says_nothing_else(wording: Wording) -> None:
    if wording.unverified:
        # Never matched without an operator; some have no sign that they are whole.
        return
    for sample in wording.samples:
        genuine = facts(read(None, sample))
        for end in range(len(sample)):
            assert agrees(facts(read(None, sample[:end])), genuine), sample[:end]
        for size in PART_CHARACTERS:
            parts = [sample[at : at + size] for at in range(0, len(sample), size)]
            for lost in range(len(parts) if len(parts) > 1 else 0):
                rest = "".join(part for at, part in enumerate(parts) if at != lost)
                assert agrees(facts(read(None, rest)), genuine), rest
