"""Reading messages: samples of each wording, providers, whole readings, and speed."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from parsers.money import Money
from parsers.read import (
    EVERY_PROVIDER,
    PROVIDERS,
    collapse_spaces,
    network_of_imsi,
    provider_of,
    provider_of_network,
    read,
    read_with,
    wordings,
)
from parsers.reading import FIELD_WORDS, Kind, NotPayment, Payment, Reversal, Unreadable, fields, is_valid_telco_id
from parsers.wording import Wording
from tests.fakes.each import each

WORDINGS = list(wordings())

ON_NET = (
    "Payment received for GHS 70.00 from ESI NAANA QUANSAH  Current Balance: GHS 628.92 . Available Balance: GHS "
    "628.92. Reference: Q4T9WD. Transaction ID: 85614800061. TRANSACTION FEE: 0.00"
)


@each("wording", WORDINGS)
def test_each_wording_reads_its_samples_and_no_other_does(wording: Wording) -> None:
    assert wording.samples
    for sample in wording.samples:
        readers = [
            other.name
            for other in WORDINGS
            if read_with(other, sample, collapse_spaces(sample)) is not None
            # An airtime reversal and a loan have the receipt's own layout; they are asked first.
            and not (wording.name in {"airtime_reversal", "loan"} and other.name == "receipt")
        ]
        assert readers == [wording.name]
        reading = read(None, sample)
        if wording.cut:
            assert isinstance(reading, Unreadable)
            assert reading.seen
            continue
        assert not isinstance(reading, Unreadable)
        assert (reading.network, reading.wording, reading.kind) == (wording.network, wording.name, wording.kind)


def test_names_of_wordings_are_unique_in_their_network() -> None:
    names = [(wording.network, wording.name) for wording in WORDINGS]
    assert len(set(names)) == len(names)


def test_ids_of_receipts_have_their_networks_form() -> None:
    for wording in WORDINGS:
        for sample in wording.samples:
            reading = read(None, sample)
            if not isinstance(reading, Payment) or reading.telco_id is None:
                continue
            provider = provider_of_network(reading.network)
            # The other providers are not trusted; Airtel Ghana's IDs of 2013 are no longer in use.
            if provider is not None and not wording.name.endswith("_2013"):
                assert is_valid_telco_id(reading.telco_id, provider)


def test_an_on_net_receipt_is_read_whole() -> None:
    assert read("MobileMoney", ON_NET) == Payment(
        kind=Kind.PAYMENT_RECEIVED,
        network="mtn",
        wording="receipt",
        amount=Money(7000, "GHS"),
        telco_id="85614800061",
        payer_name="ESI NAANA QUANSAH",
        reference="Q4T9WD",
        balance=Money(62892, "GHS"),
        fee=Money(0, "GHS"),
        extra={"available_balance": "628.92"},
    )


def test_a_receipt_from_another_network_names_its_payer() -> None:
    raw = "ABENA DUFIE MANU ,233201000456,K7M2QX from VODAFONE"
    text = ON_NET.replace("ESI NAANA QUANSAH", "ABENA DUFIE MANU").replace("Q4T9WD", raw)
    reading = read("MobileMoney", text)
    assert isinstance(reading, Payment)
    assert reading.payer_phone == "+233201000456"
    assert reading.payer_phone_printed == "233201000456"
    assert reading.reference == "K7M2QX"
    assert reading.reference_raw == raw
    assert reading.extra == {"available_balance": "628.92", "reference_raw": raw, "via_network": "VODAFONE"}
    # A payer of our own network could have typed the same text, with the own name.
    assert reading.payer_phone_typed


def test_a_telecel_receipt_prints_its_time_and_payer() -> None:
    reading = read("T-CASH", next(w for w in WORDINGS if w.network == "telecel").samples[0])
    assert reading == Payment(
        kind=Kind.PAYMENT_RECEIVED,
        network="telecel",
        wording="receipt",
        amount=Money(4500, "GHS"),
        telco_id="0000014673911819",
        payer_name="KOJO ANSAH BEKOE",
        payer_phone="+233209000543",
        payer_phone_printed="233209000543",
        reference="K7M2QX",
        balance=Money(13525, "GHS"),
        printed_at=datetime(2026, 9, 7, 11, 2, 51, tzinfo=UTC),
    )


def test_a_reversal_names_the_payment_it_undoes() -> None:
    wording = next(w for w in WORDINGS if w.network == "telecel" and w.reverses)
    reading = read("T-CASH", wording.samples[0])
    assert isinstance(reading, Reversal)
    assert reading.kind is Kind.REVERSAL
    assert reading.reference is None
    assert reading.original_telco_id == "0000014673911819"
    assert reading.telco_id == "0000014641483779"
    assert reading.amount == Money(4500, "GHS")
    assert reading.balance == Money(9025, "GHS")


def test_money_that_comes_back_to_the_wallet_is_no_payment() -> None:
    text = ON_NET.replace("ESI NAANA QUANSAH", "Other Networks").replace("Q4T9WD", "Reversal from Airtime Purchase")
    reading = read("MobileMoney", text)
    assert isinstance(reading, NotPayment)
    assert reading.kind is Kind.REVERSAL


def test_ids_of_nine_to_fifteen_digits_are_read_and_others_not() -> None:
    for length in range(5, 20):
        text = ON_NET.replace("85614800061", "8" * length)
        assert isinstance(read("MobileMoney", text), Payment) == (9 <= length <= 15)


@pytest.mark.parametrize(
    "tail",
    [
        ". Download the MoMo App for a Faster & Easier Experience. Click here: https://bit.ly/x",
        " Cash Offers! Dial *170#",
        ".Download the MoMo App",
        ", Tax Charged 0",
        ".",
    ],
)
def test_adverts_behind_an_mtn_receipt_are_ignored(tail: str) -> None:
    assert isinstance(read("MobileMoney", ON_NET + tail), Payment)


def test_line_breaks_in_the_middle_of_sentences_change_nothing() -> None:
    assert read("MobileMoney", f" {ON_NET.replace(' for ', chr(10) + 'for' + chr(13) + chr(10))}\n") == read(
        "MobileMoney", ON_NET
    )


def test_an_amount_grouped_wrongly_and_an_impossible_time_are_unreadable() -> None:
    assert isinstance(read("MobileMoney", ON_NET.replace("70.00", "7,0.00")), Unreadable)
    assert isinstance(read("MobileMoney", ON_NET.replace("70.00", "70.001")), Unreadable)
    sample = next(w for w in WORDINGS if w.network == "telecel").samples[0]
    assert isinstance(read("T-CASH", sample.replace("2026-09-07", "2026-09-37")), Unreadable)


def test_the_senders_network_chooses_the_wordings_and_an_unknown_network_has_none() -> None:
    assert isinstance(read("T-CASH", ON_NET), Unreadable)
    assert isinstance(read("T-CASH", ON_NET, network="mtn"), Payment)
    assert isinstance(read("MobileMoney", ON_NET, network="telecel"), Unreadable)
    assert isinstance(read("MobileMoney", ON_NET, network="glo"), Unreadable)
    assert isinstance(read("MobileMoney", ON_NET, network="at"), Unreadable)
    assert isinstance(read("+233244000811", ON_NET), Payment)


def test_longer_texts_than_any_receipt_are_not_looked_at() -> None:
    assert read("MobileMoney", ON_NET + " " * 1600) == Unreadable("longer than 1600 characters")


def test_every_field_word_is_always_there() -> None:
    assert tuple(fields(read("MobileMoney", ON_NET))) == FIELD_WORDS
    assert tuple(fields(read("MobileMoney", "hello"))) == FIELD_WORDS


def test_providers_are_found_by_name_alias_network_and_sim() -> None:
    assert list(PROVIDERS)[:3] == list(EVERY_PROVIDER)[:3]
    assert provider_of_network("ghanapay") is None
    assert provider_of("momo_ghanapay") is None
    assert EVERY_PROVIDER["momo_ghanapay"].senders == ("GhanaPay",)
    assert network_of_imsi("639020123456789") is None
    assert list(PROVIDERS) == ["momo_mtn", "momo_telecel", "momo_at"]
    assert provider_of("momo_mtn") == "momo_mtn"
    assert provider_of("momo_vodafone") == "momo_telecel"
    assert provider_of("momo_tigo") == provider_of("momo_airteltigo") == "momo_at"
    assert provider_of("mtn") is None
    assert provider_of_network("telecel") == "momo_telecel"
    assert provider_of_network("glo") is None
    assert network_of_imsi("620010123456789") == "mtn"
    assert network_of_imsi("620020123456789") == "telecel"
    assert network_of_imsi("620030123456789") == network_of_imsi("620060123456789") == "at"
    assert network_of_imsi("310150123456789") is None
    assert network_of_imsi("") is None


def test_importing_money_imports_no_network_and_reading_no_phone_library() -> None:
    program = (
        "import sys, parsers.money\n"
        "assert not any(name.startswith('parsers.networks') for name in sys.modules)\n"
        "from parsers.read import read\n"
        f"read('MobileMoney', {ON_NET!r})\n"
        "assert 'phonenumbers' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_long_dash_is_a_dash() -> None:
    sample = next(w for w in WORDINGS if w.network == "telecel").samples[0]
    assert read("T-CASH", sample.replace(" - KOJO", " \u2013 KOJO")) == read("T-CASH", sample)


def test_a_telecel_footer_of_next_year_is_not_the_payers() -> None:
    sample = next(w for w in WORDINGS if w.network == "telecel").samples[0]
    text = sample.replace(sample[sample.index("Stay alert") :], "Win a car when you pay bills this month.")
    reading = read("T-CASH", text)
    assert isinstance(reading, Payment)
    assert reading.reference == "K7M2QX"


def test_a_balance_in_whole_cedis_is_read_where_the_fee_proves_the_end() -> None:
    assert isinstance(read("MobileMoney", ON_NET.replace("628.92", "628")), Payment)


@pytest.mark.parametrize("fee", ["70.00", "70.01"])
def test_a_receipt_whose_fee_leaves_nothing_is_no_payment(fee: str) -> None:
    found = read("MobileMoney", ON_NET.replace("FEE: 0.00", f"FEE: {fee}"))
    assert isinstance(found, Unreadable)
    assert "the fee is not below the amount received" in found.why


@pytest.mark.parametrize("amount", ["0.00", "0", "0.0"])
def test_a_receipt_of_nothing_is_no_payment(amount: str) -> None:
    text = (
        f"Payment received for GHS {amount} from ESI NAANA QUANSAH  Current Balance: GHS 628.92 . Available Balance: "
        "GHS 628.92. Reference: Q4T9WD. Transaction ID: 85614800061. TRANSACTION FEE: 0.00"
    )
    found = read("MobileMoney", text, network="mtn")
    assert isinstance(found, Unreadable)
    assert "the amount received is missing or zero" in found.why


@each(
    ("after", "minor"),
    [
        (" Current Balance: GHS 258.40.", 25840),
        (". Your new balance: GHS 258.40. Available Balance: GHS 258.40. Call 100.", 25840),
        (" Current Balance: GHS 258", None),
        (" Current Balance: GHS 258.4", None),
        (". Current Balance: GHS 9.00. Current Balance: GHS 258.40.", None),
        (".", None),
    ],
)
def test_a_reversal_of_mtn_prints_the_balance_that_follows(after: str, minor: int | None) -> None:
    text = "Transaction 91234567803 of GHS 70.00 from ESI NAANA QUANSAH has been reversed."
    reading = read("MobileMoney", text.removesuffix(".") + "." * (after[0] == " ") + after)
    assert isinstance(reading, Reversal)
    assert (reading.balance and reading.balance.minor) == minor


_BALANCES = "Current Balance: GHS 1628.92 . Available Balance: GHS 1628.92."
_RECEIPTS = {
    "receipt": f"Payment received for GHS 990.00 from {{}}  {_BALANCES} Reference: rent. Transaction ID: 85614800062. "
    "TRANSACTION FEE: 0.00",
    "id first": f"Payment received for GHS 990.00 from {{}}. Transaction ID: 85614800062. {_BALANCES} Reference: rent. "
    "TRANSACTION FEE: 0.00",
    "reference first": f"Payment received for GHS 990.00 from {{}}. Reference: rent. {_BALANCES} Transaction ID: 85614800062. "
    "TRANSACTION FEE: 0.00",
    "fee first": f"Payment received for GHS 990.00 from {{}} {_BALANCES} Reference: rent. TRANSACTION FEE: 0.00. "
    "Transaction ID: 85614800062.",
    "with number": "You have received GHS 990.00 from {} (233241000777) on your mobile money account at 2026-09-21 14:09:16. "
    "Message from sender: rent. Your new balance:GHS 1628.92. Financial Transaction Id: 85614800062.",
    "deposit": "Money Transfer Deposit received for GHS 990.00 from {} Token: 998469693069 Transaction ID: 85614800062. "
    "TRANSACTION FEE IS 0",
}


@each("text", _RECEIPTS.values())
@each(
    ("name", "held"),
    [
        ("INTEROPERABILITY PULL OVA", True),
        ("INTEROPERABILITY PULL OVA LTD", False),
        ("KOFI PULL OVA", False),
        ("ECOBANK OVA", False),
    ],
)
def test_money_of_mtns_pull_account_is_held_by_that_name_alone(text: str, name: str, *, held: bool) -> None:
    reading = read("MobileMoney", text.format(name))
    assert isinstance(reading, Payment), reading
    assert (reading.payer_name, reading.perhaps_own) == (name, held)
    assert not reading.unverified
