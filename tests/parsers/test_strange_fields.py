"""Unusual names and references: the figures of the receipt stay, and a payment code is found."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.read import compile_pattern, read, wordings
from parsers.reading import Kind, Payment
from parsers.svc_code import candidates
from parsers.wording import Wording
from tests.fakes.each import each

NAMED = [
    (wording, sample)
    for wording in wordings()
    if wording.kind in {Kind.PAYMENT_RECEIVED, Kind.MERCHANT_PAYMENT} and not wording.cut
    for sample in wording.samples
]


def sums(text: str) -> tuple[object, ...] | None:
    """Return the fields that identify the money, None when the text is no payment."""
    reading = read(None, text)
    if not isinstance(reading, Payment):
        return None
    return (reading.amount, reading.telco_id, reading.balance, reading.network, reading.kind)


def with_name(wording: Wording, sample: str, name: str) -> str | None:
    """Return the sample with another payer, None when it prints none or repeats him elsewhere."""
    match = compile_pattern(wording.pattern).fullmatch(sample)
    assert match is not None
    group = next((one for one in ("payer_name", "payer_name_first") if match.groupdict().get(one)), "")
    if not group or sample.count(match[group].strip()) > 1:
        return None
    start = match.start(group)
    return sample[:start] + name + sample[start + len(match[group].rstrip()) :]


@each(
    "name",
    [
        "O'BRIEN KOFI",
        "KWAME\u2019S 24/7 SHOP",
        "A. B. MENSAH-OSEI (JNR)",
        "BigPay 0099",
        "GHS 100 VENTURES",
        "PIUS 4 .",
        "ABENA",
        "MADE ON TIME AND FROM HOME LTD",
        "Ng'ang'a \u00c9l\u00e8ve",
        "233 FOODS, ACCRA",
        "NEW BALANCE SHOES",
        "Balance Refills",
        "Payment received LTD",
        "Payment received from Balance Ventures",
        "Transaction Fee Services",
        "FTR - MM DescAcctTrsfSenderAMASERWAA - 09FG06151350342536301",
        ("LONG NAME " * 16).strip() + "X",
    ],
)
def test_strange_names_change_nothing_else(name: str) -> None:
    tried = 0
    for wording, sample in NAMED:
        text = with_name(wording, sample, name)
        # Where the number of the payer stands first, a name that begins with digits could be one.
        if text is None or (name[0].isdigit() and wording.network != "mtn"):
            continue
        assert sums(text) == sums(sample), (wording.network, wording.name)
        tried += 1
    assert tried > 7


def with_reference(sample: str, typed: str) -> str | None:
    """Return the sample with another typed text, None when it prints none, or wraps or repeats it."""
    reading = read(None, sample)
    assert isinstance(reading, Payment)
    old = reading.reference
    if old is None or reading.reference_raw is not None or sample.count(old) > 1:
        return None
    return sample.replace(old, typed)


@each(
    "typed",
    [
        "Balance",
        "Payment received",
        "NEW BALANCE SHOES",
        "You have received",
        "Confirmed",
        "refund for Refilwe",
        "TRANSACTION FEE",
        "Token 12",
        "ID 5",
        "T&Cs, see www.example.com *110#",
        "FTR - MM DescAcctTrsfSenderAMASERWAA - 09FG06151350342536301",
        "two words and " * 11 + "enough",
    ],
)
def test_strange_references_change_nothing_else(typed: str) -> None:
    tried = 0
    for wording, sample in NAMED:
        text = with_reference(sample, typed)
        if text is None:
            continue
        reading = read(None, text)
        assert isinstance(reading, Payment), (wording.network, wording.name, reading)
        assert reading.reference == typed
        assert sums(text) == sums(sample)
        tried += 1
    assert tried > 7


@pytest.mark.parametrize("date", ["2026-09-19", "19/09/2026", "on 2026-09-19 at 18:20:07", "9-9-26"])
def test_a_date_in_a_name_is_not_part_of_it(date: str) -> None:
    for wording, sample in NAMED:
        for name in (f"EFUA ATTA {date}", f"EFUA {date} ATTA", f"EFUA ATTA. {date}"):
            text = with_name(wording, sample, name)
            if text is not None:
                reading = read(None, text)
                assert isinstance(reading, Payment), (wording.network, wording.name)
                assert reading.payer_name == "EFUA ATTA"
                assert sums(text) == sums(sample)


@given(
    st.sampled_from(("K7M2QX", "A7K2M9")),
    st.sampled_from(("", " ", "-", ".", " - ", "  ", "\u2013", " \u2011")),
    st.integers(1, 5),
    st.sampled_from(("", "order ", "pay for ", "Gh Gh ", "No. ", "'", "(")),
    st.sampled_from(("", " thanks", " for rice", "!", ")", "'", " 2 bags", ", Ama")),
    st.sampled_from((str.upper, str.lower)),
)
@settings(max_examples=60, deadline=None)
def test_a_code_is_found_however_it_was_typed(
    code: str, joint: str, at: int, before: str, behind: str, case: Callable[[str], str]
) -> None:
    typed = f"{before}{case(code[:at] + joint + code[at:])}{behind}"
    tried = 0
    for wording, sample in NAMED:
        text = with_reference(sample, typed)
        if text is None:
            continue
        reading = read(None, text)
        assert isinstance(reading, Payment), (wording.network, wording.name, reading)
        assert reading.reference is not None
        assert code in candidates(reading.reference), (wording.name, reading.reference)
        tried += 1
    assert tried > 7
