"""Adverts: recognised from the network's own sender only, and never if the text mentions money."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.read import ADVERT, is_advert, read, wordings
from parsers.reading import Kind, NotPayment, Unreadable
from tests.fakes.each import each

ADVERTISED = (
    "FREE 300MB! Use the MoMo App for your transfers, airtime, or bills and claim your bonus. Life is easier on the App! "
    "Access now: https://mtnmymomo.onelink.me/XJOt/cVm1x"
)
PHRASES = (
    ADVERTISED,
    "Send money to loved ones for FREE! Deposit money into your MoMo wallet & send up to GHS100 at no fees. Dial *170#",
    "Y'ello! 233533000740, GHS 1.4 MILLION in prizes is waiting. Dial *5030# for FREE. To exit send STOP to 5030.",
    "0533000740, enjoy 1.86GB for just GHc9 this Thursday. Ts and Cs apply.",
    "Win a car with Telecel Cash! T&Cs apply.",
)


@each("text", PHRASES)
@each(("sender", "network"), [("MobileMoney", "mtn"), ("T-CASH", "telecel")])
def test_an_advert_of_the_networks_own_sender_is_read_as_one(text: str, sender: str, network: str) -> None:
    expected = NotPayment(network=network, wording=ADVERT, kind=Kind.PROMO)
    assert read(sender, text) == expected
    assert read(sender, text, network=network) == expected


@pytest.mark.parametrize("sender", [None, "MTN", "Mobile-Money", "mobilemoney", "+233244000811"])
def test_the_same_text_of_another_sender_is_not_read(sender: str | None) -> None:
    assert isinstance(read(sender, ADVERTISED), Unreadable)
    assert isinstance(read("MobileMoney", ADVERTISED, network="telecel"), Unreadable)


@each(
    "said",
    [
        "You have received GHS 20.00.",
        "GHS 20.00 was credited.",
        "Your new balance is GHS 20.00.",
        "Bal: GHS 20.00.",
        "Transaction ID: 12345.",
        "Ref. K7M2QX.",
        "85614800061.",
        "PP260912.1432.A12345.",
        "GHS 20.00 has been reversed.",
        "Your loan of GHS 20.00 was approved.",
        "Your PIN was changed.",
        "Use code 48213.",
        "The transfer failed.",
        "Your wallet is suspended.",
    ],
)
def test_one_word_about_money_makes_it_a_message_that_nothing_reads(said: str) -> None:
    for text in (f"{said} {ADVERTISED}", f"{ADVERTISED} {said}", f"{said.upper()} {ADVERTISED}"):
        assert isinstance(read("MobileMoney", text), Unreadable), text


def test_a_text_that_asks_for_nothing_is_no_advert() -> None:
    assert isinstance(read("MobileMoney", "GHS 20.00 from AMA"), Unreadable)
    assert isinstance(read("MobileMoney", "Hello"), Unreadable)


def test_no_message_that_a_wording_reads_for_its_money_is_an_advert_in_any_cut() -> None:
    for wording in wordings():
        if wording.kind in {Kind.PROMO, Kind.OTP}:
            continue
        for sample in wording.samples:
            if not any(mark in sample for mark in ("GHS", "GHC", "GHc")):
                continue
            assert not is_advert(sample), wording.name
            # The half with the amount and the payer, with an advert behind it.
            assert not is_advert(f"{sample[: len(sample) // 2]} {ADVERTISED}"), wording.name


@given(st.text(max_size=80), st.integers(9, 18))
@settings(max_examples=100)
def test_a_number_as_long_as_an_id_is_never_in_an_advert(around: str, length: int) -> None:
    number = "8" * length
    assert not is_advert(f"{around} {number} {ADVERTISED}")
