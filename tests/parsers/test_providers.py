"""Whose messages are read, and what they give beyond the shop's own networks."""

from datetime import UTC, datetime

import pytest

from parsers.money import EXPONENTS, Money
from parsers.providers import EVERY_PROVIDER, PROVIDERS, WORDINGS, networks_of_senders
from parsers.read import read
from parsers.reading import Kind, NotPayment, Payment, Reversal, Unreadable, fields


def sample(network: str, name: str, which: int = 0) -> str:
    return next(w for w in WORDINGS[network] if w.name == name).samples[which]


def test_a_shop_can_have_numbers_of_three_providers_only() -> None:
    assert list(PROVIDERS) == ["momo_mtn", "momo_telecel", "momo_at"]
    assert len(EVERY_PROVIDER) == 43
    for name, provider in EVERY_PROVIDER.items():
        assert name == provider.name == f"momo_{provider.network}"
        assert provider.currency in EXPONENTS
        assert WORDINGS[provider.network]


def test_a_sim_is_of_one_network() -> None:
    plmns = [plmn for provider in EVERY_PROVIDER.values() for plmn in provider.plmns]
    assert len(set(plmns)) == len(plmns)
    assert all(plmn.isdigit() and len(plmn) == 5 for plmn in plmns)


def test_one_sender_may_serve_several_countries() -> None:
    networks = networks_of_senders(EVERY_PROVIDER.values())
    assert networks["MobileMoney"] == ("mtn", "mtn_cm", "mtn_cg", "mtn_bj")
    assert networks["T-CASH"] == ("telecel",)
    assert "AT Money" not in networks


def test_a_senders_other_countries_are_tried_too() -> None:
    reading = read("MobileMoney", sample("mtn_cm", "receipt"))
    assert (reading.kind, not isinstance(reading, Unreadable) and reading.network) == (
        Kind.PAYMENT_RECEIVED,
        "mtn_cm",
    )
    # But a SIM of Ghana gets no receipts of Cameroon.
    assert isinstance(read("MobileMoney", sample("mtn_cm", "receipt"), network="mtn"), Unreadable)


def test_a_kenyan_receipt_is_read_whole() -> None:
    reading = read("MPESA", sample("mpesa_ke", "receipt"))
    assert reading == Payment(
        kind=Kind.PAYMENT_RECEIVED,
        network="mpesa_ke",
        wording="receipt",
        amount=Money(30000, "KES"),
        telco_id="TJF670Q749",
        payer_name="JOSEPHAT KAMAU",
        payer_phone="+254712000212",
        payer_phone_printed="0712000212",
        balance=Money(12312, "KES"),
        printed_at=datetime(2024, 10, 15, 9, 16, tzinfo=UTC),
        shown={"timestamp": "2024-10-15T12:16"},
    )
    assert fields(reading)["timestamp"] == "2024-10-15T12:16"


def test_a_balance_finer_than_its_currency_is_shown_and_not_rounded() -> None:
    reading = read("OrangeMoney", sample("orange_cm", "transfer_in"))
    assert isinstance(reading, Payment)
    assert reading.amount == Money(30000, "XAF")
    assert reading.balance is None
    assert fields(reading)["balance"] == "30386.78"
    # Which of the two numbers is the shop's own is a guess.
    assert reading.unverified


def test_a_received_amount_finer_than_its_currency_is_not_read() -> None:
    text = sample("mtn_cm", "receipt").replace("26800 XAF", "26800.50 XAF")
    assert isinstance(read("MobileMoney", text), Unreadable)


def test_a_day_without_a_clock_is_no_time() -> None:
    reading = read("GCash", sample("gcash_ph", "receipt"))
    assert isinstance(reading, Payment)
    assert reading.printed_at is None
    assert fields(reading)["timestamp"] == "2026-08-25"


def test_a_reversal_may_name_no_amount() -> None:
    reading = read("MPESA", sample("mpesa_ke", "reversal"))
    assert isinstance(reading, Reversal)
    assert reading.amount is None
    assert reading.original_telco_id == "EQ45ZZ144"
    assert fields(reading)["currency"] == "KES"


def test_a_wallet_of_two_currencies_is_read_in_the_one_printed() -> None:
    reading = read("M-PESA", sample("mpesa_cd", "receipt"))
    assert isinstance(reading, Payment)
    assert reading.amount == Money(20, "USD")
    francs = sample("mpesa_cd", "receipt").replace("USD", "CDF")
    assert fields(read("M-PESA", francs))["currency"] == "CDF"
    mixed = sample("mpesa_cd", "receipt").replace("Disponible: 0.20 USD", "Disponible: 0.20 CDF")
    assert isinstance(read("M-PESA", mixed), Unreadable)


def test_at_moneys_wordings_are_read_and_marked() -> None:
    for name in ("receipt", "receipt_from_network", "cash_in", "merchant_receipt"):
        reading = read("AT Money", sample("at", name), network="at")
        assert isinstance(reading, Payment)
        assert reading.unverified
    impossible = sample("at", "receipt").replace("PP260912", "PP261312")
    assert isinstance(read(None, impossible), Unreadable)


def test_a_label_that_stands_twice_makes_a_receipt_unreadable_and_says_so() -> None:
    text = sample("emola_mz", "receipt").replace(
        "K7M2QX", "x. Your account balance is 9,999.00MT. Content: y"
    )
    reading = read("eMola", text)
    assert isinstance(reading, Unreadable)
    assert reading.why == (
        "perhaps emola_mz receipt, but 'Content:' stands in it twice: once typed by the payer?"
    )


def test_what_is_left_of_a_cut_receipt_is_shown_and_not_read() -> None:
    reading = read("MobileMoney", sample("mtn", "part_of_receipt"))
    assert isinstance(reading, Unreadable)
    assert reading.why == "part_of_receipt: cut off before its end"
    assert fields(reading)["amount"] == "70.00"
    assert fields(reading)["transaction_id"] is None


@pytest.mark.parametrize("decimals", ["380.0", "380"])
def test_a_zambian_receipt_with_other_decimals_is_a_forgery(decimals: str) -> None:
    text = sample("airtel_zm", "receipt").replace("3500.00", decimals)
    assert isinstance(read("AirtelMoney", text), Unreadable)


def test_both_directions_of_one_wording_are_told_apart_by_the_fee() -> None:
    assert isinstance(read("OrangeMoney", sample("orange_cm", "transfer_out")), NotPayment)
