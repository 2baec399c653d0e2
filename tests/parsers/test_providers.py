"""Providers: the networks of Ghana, their sender names and SIMs, and readings that need care."""

from parsers.money import Money
from parsers.providers import EVERY_PROVIDER, PROVIDERS, WORDINGS
from parsers.read import read
from parsers.reading import Payment, Unreadable, fields


def sample(network: str, name: str, which: int = 0) -> str:
    return next(w for w in WORDINGS[network] if w.name == name).samples[which]


def test_a_shop_can_have_numbers_of_three_providers_only() -> None:
    assert list(PROVIDERS) == ["momo_mtn", "momo_telecel", "momo_at"]
    assert list(EVERY_PROVIDER) == [*PROVIDERS, "momo_ghanapay", "momo_gmoney", "momo_gcb"]
    for name, provider in EVERY_PROVIDER.items():
        assert name == provider.name == f"momo_{provider.network}"
        assert provider.currency == "GHS"
        assert WORDINGS[provider.network]


def test_a_sim_is_of_one_network() -> None:
    plmns = [plmn for provider in EVERY_PROVIDER.values() for plmn in provider.plmns]
    assert len(set(plmns)) == len(plmns)
    assert all(plmn.isdigit() and len(plmn) == 5 for plmn in plmns)


def test_a_sender_name_is_of_one_network() -> None:
    senders = [sender for provider in EVERY_PROVIDER.values() for sender in provider.senders]
    assert len(set(senders)) == len(senders)
    assert "AT Money" not in senders


def test_a_time_without_seconds_is_shown_as_exactly_as_it_was_printed() -> None:
    reading = read("GCB Bank", sample("gcb", "credit"))
    assert isinstance(reading, Payment)
    assert fields(reading)["timestamp"] == "2026-03-31T15:55"


def test_at_moneys_wordings_are_read_and_marked() -> None:
    for name in ("receipt", "receipt_from_network", "cash_in", "merchant_receipt"):
        reading = read("AT Money", sample("at", name), network="at")
        assert isinstance(reading, Payment)
        assert reading.unverified
    impossible = sample("at", "receipt").replace("PP260912", "PP261312")
    assert isinstance(read(None, impossible), Unreadable)


def test_labels_that_the_payer_typed_change_nothing() -> None:
    typed = "x. Balance: GHS 9,999.00. Ref: y"
    reading = read("GhanaPay", sample("ghanapay", "receipt").replace("K7M2QX", typed))
    assert isinstance(reading, Payment)
    assert (reading.reference, reading.balance) == (typed, Money(3358, "GHS"))


def test_a_second_number_of_a_payer_makes_a_receipt_unreadable() -> None:
    for network, name in (("ghanapay", "receipt_name_first"), ("gmoney", "receipt")):
        text = sample(network, name).replace("BADU", "BADU 0241999999. Ref: x")
        reading = read(None, text, network=network)
        assert isinstance(reading, Unreadable)
        assert "two numbers of a payer" in reading.why


def test_what_is_left_of_a_cut_receipt_is_shown_and_not_read() -> None:
    reading = read("MobileMoney", sample("mtn", "part_of_receipt"))
    assert isinstance(reading, Unreadable)
    assert reading.why == "part_of_receipt: cut off before its end"
    assert fields(reading)["amount"] == "70.00"
    assert fields(reading)["transaction_id"] is None
