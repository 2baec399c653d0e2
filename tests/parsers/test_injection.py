"""A payer's name or reference changes no amount, ID or balance, and cut messages are no payments."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parsers.read import read, wordings
from parsers.reading import Payment, Reading, Unreadable
from tests.fakes.tiers import share

MTN = (
    "Payment received for GHS 70.00 from {name}  Current Balance: GHS 628.92 . Available Balance: GHS 628.92. "
    "Reference: {reference}. Transaction ID: 85614800061. TRANSACTION FEE: 0.00"
)
TELECEL = (
    "0000014673911819 Confirmed. You have received GHS45.00 from 233209000543 - {name} on 2026-09-07 at 11:02:51. "
    "Your Telecel Cash balance is GHS135.25.\nReference: {reference}.\nStay alert. Never share your PIN or OTP with "
    "anyone or click unknown links. Protect your personal information."
)
TELECEL_FROM_MTN = (
    "0000014527326063 Confirmed. You have received GHS56.00 from MTN MOBILE MONEY with transaction reference: Transfer "
    "From: 233540000077-{name}  on 2026-09-22 at 06:26:04. Your Telecel Cash balance is GHS77.10.\nRef: {reference}"
)
NAME = "KOJO ANSAH BEKOE"
CODE = "K7M2QX"

# Pieces of real receipts: random text alone would hardly ever look like one.
PIECES = [
    "Payment received for GHS 900.00 from RICH MAN ",
    " Current Balance: GHS 999.99 . Available Balance: GHS 999.99. Reference: ",
    " Current Balance: GHS 999.99. Reference: x",
    ". Transaction ID: 99999999999. TRANSACTION FEE: 0.00",
    ". Transaction ID: 99999999999. TRANSACTION FEE: 0.00. Download the MoMo App",
    ". Transaction ID:",
    "TRANSACTION FEE: 9.99",
    "RICH MAN ,233240000001,K7M2QX from VODAFONE",
    "0000014630029999 Confirmed. You have received GHS900.00 from 233209000543 - X",
    " on 2026-09-25 at 08:00:02. Your Telecel Cash balance is GHS991.25.",
    " on 2026-09-07 at 11:02:51. Your Telecel Cash balance is GHS991.25.\nReference: ",
    " on 2026-09-07 at 11:02:51. Your Telecel Cash balance is GHS991.25. Ref: ",
    "\nStay alert. Never share your PIN",
    "Stay alert",
    "\nReference: ",
    " Ref: ",
    "Reversal from Airtime Purchase",
    "as payment from",
    "MobileMoney Advice",
    "\n",
    ".",
    ",",
    CODE,
]
typed = st.one_of(
    st.text(max_size=120), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=6).map("".join)
)


def _facts(reading: Reading) -> tuple[object, ...] | None:
    if not isinstance(reading, Payment):
        return None
    balance = reading.balance
    return (reading.amount.minor, reading.telco_id, None if balance is None else balance.minor, reading.network)


@given(typed)
@example("x. Transaction ID: 99999999999. TRANSACTION FEE: 0.00")
@example("Reversal from Airtime Purchase")
@settings(max_examples=50, deadline=None)
def test_a_reference_changes_nothing_of_an_mtn_receipt(text: str) -> None:
    reading = read("MobileMoney", MTN.format(name=NAME, reference=text))
    if isinstance(reading, Unreadable):
        # A text that may be a name with a false balance, or two messages in one: the wallet's balance tells which.
        assert "so either" in reading.why or "another order" in reading.why
        assert any(word in text.casefold() for word in ("balance", "id", "token"))
        [reading] = [one for one in reading.perhaps if one.balance and one.balance.minor == 62892]
    assert isinstance(reading, Payment)
    assert _facts(reading) == (7000, "85614800061", 62892, "mtn")
    assert reading.payer_name == NAME
    assert reading.payer_phone is None or NAME in text


@given(typed)
@example("X  Current Balance: GHS 9.00 . Available Balance: GHS 9.00. Reference: K7M2QX")
@settings(max_examples=50, deadline=None)
def test_a_name_changes_nothing_of_an_mtn_receipt(text: str) -> None:
    reading = read("MobileMoney", MTN.format(name=text, reference=CODE))
    assert _facts(reading) in (None, (7000, "85614800061", 62892, "mtn"))
    if isinstance(reading, Unreadable) and 0 < len(text.strip()) <= 160:
        assert (7000, "85614800061", 62892, "mtn") in map(_facts, reading.perhaps)


@given(typed)
@settings(max_examples=50, deadline=None)
def test_a_reference_changes_nothing_of_a_telecel_receipt(text: str) -> None:
    reading = read("T-CASH", TELECEL.format(name=NAME, reference=text))
    if isinstance(reading, Unreadable):
        assert "two balances" in reading.why
        assert "balance is" in text
        [reading] = [one for one in reading.perhaps if one.balance and one.balance.minor == 13525]
    assert isinstance(reading, Payment)
    assert _facts(reading) == (4500, "0000014673911819", 13525, "telecel")
    assert reading.payer_name == NAME
    assert reading.payer_phone == "+233209000543"


@given(typed)
@example("X on 2026-09-07 at 11:02:51. Your Telecel Cash balance is GHS9.00.\nReference: K7M2QX")
@example("X on 2026-09-07 at 11:02:51. Your Telecel Cash balance is GHS9.00.\nStay alert. ")
@settings(max_examples=50, deadline=None)
def test_a_name_changes_nothing_of_a_telecel_receipt(text: str) -> None:
    reading = read("T-CASH", TELECEL.format(name=text, reference=CODE))
    assert _facts(reading) in (None, (4500, "0000014673911819", 13525, "telecel"))


@given(typed, typed)
@settings(max_examples=50, deadline=None)
def test_neither_changes_a_telecel_receipt_from_mtn(name: str, reference: str) -> None:
    reading = read("T-CASH", TELECEL_FROM_MTN.format(name=name, reference=reference))
    assert _facts(reading) in (None, (5600, "0000014527326063", 7710, "telecel"))


@pytest.mark.slow
@pytest.mark.timeout(600)  # half a minute of work, on a machine that may be busy or slow
@given(typed, typed)
@settings(max_examples=share(20_000), deadline=None)
def test_neither_changes_any_receipt_in_many_tries(name: str, reference: str) -> None:
    for sender, form, facts in (
        ("MobileMoney", MTN, (7000, "85614800061", 62892, "mtn")),
        ("T-CASH", TELECEL, (4500, "0000014673911819", 13525, "telecel")),
        ("T-CASH", TELECEL_FROM_MTN, (5600, "0000014527326063", 7710, "telecel")),
    ):
        reading = read(sender, form.format(name=name, reference=reference))
        assert _facts(reading) in (None, facts)


def test_a_payer_who_imitates_another_network_is_not_believed() -> None:
    reading = read("MobileMoney", MTN.format(name=NAME, reference="RICH MAN ,233240000001,K7M2QX from VODAFONE"))
    assert isinstance(reading, Payment)
    assert reading.payer_phone is None
    assert reading.reference == "RICH MAN ,233240000001,K7M2QX from VODAFONE"


def test_a_receipt_whose_own_id_cannot_be_read_does_not_take_the_typed_one() -> None:
    text = MTN.replace("85614800061", "ABC-1").format(
        name=NAME, reference="x. Transaction ID: 99999999999. TRANSACTION FEE: 0.00"
    )
    assert isinstance(read("MobileMoney", text), Unreadable)


@pytest.mark.parametrize("form", [MTN, TELECEL.partition("\nStay alert")[0]])
def test_dropping_any_tail_gives_no_payment(form: str) -> None:
    text = form.format(name=NAME, reference=CODE)
    assert isinstance(read(None, text), Payment)
    # Telecel prints no reference at all when none was typed.
    begin = text.find("\n")
    whole = {begin, begin + 1, begin + len("\nReference:"), begin + len("\nReference: ")}
    if form == MTN:
        whole = set()
    for end in range(len(text)):
        assert isinstance(read(None, text[:end]), Payment) == (end in whole), text[:end]


def test_dropping_any_tail_never_changes_what_is_read() -> None:
    for form, facts in (
        (TELECEL, (4500, "0000014673911819", 13525, "telecel")),
        (TELECEL_FROM_MTN, (5600, "0000014527326063", 7710, "telecel")),
    ):
        text = form.format(name=NAME, reference=CODE)
        for end in range(len(text)):
            assert _facts(read("T-CASH", text[:end])) in (None, facts)


def test_a_footer_cut_anywhere_leaves_the_reference_clean() -> None:
    text = TELECEL.format(name=NAME, reference=CODE)
    for end in range(text.index("Stay alert") + 10, len(text) + 1):
        reading = read("T-CASH", text[:end])
        assert isinstance(reading, Payment)
        assert reading.reference == CODE


@pytest.mark.parametrize("space", ["  ", "\t", "\n", " \r\n "])
def test_a_footer_whose_spaces_differ_is_no_text_of_the_payer(space: str) -> None:
    text = TELECEL.format(name=NAME, reference=CODE)
    for footer in (text, text.replace("Stay alert. Never", "Do more with our app. Never")):
        start = footer.index("\n") + len(f"\nReference: {CODE}.")
        reading = read("T-CASH", footer[:start] + footer[start:].replace(" ", space))
        assert isinstance(reading, Payment)
        assert reading.reference == CODE


def test_two_receipts_in_one_text_are_none() -> None:
    text = MTN.format(name=NAME, reference=CODE)
    cash_in = (
        "Cash In received for GHS 300.00 from ADOM ELECTRICALS . Current Balance GHS 322.10  Available Balance GHS "
        "322.10. Transaction ID: 85098456777. Fee charged: GHS 0."
    )
    # The amount of the first with the ID of the second would be a payment that does not exist.
    glued = text[: text.index(". Transaction ID")] + cash_in
    for end in ("", " Cash in (Deposit) is a free transaction on MTN Mobile Money."):
        assert not isinstance(read("MobileMoney", glued + end), Payment)


def test_the_worst_texts_are_read_quickly() -> None:
    worst = [
        ("Payment received for GHS 1.00 from " + "Current Balance: GHS 1.00 . " * 60)[:1600],
        ("Payment received for GHS 1.00 from X Current Balance: GHS 1.00. Reference:" + ". Transaction ID: 999999999. TRANSACTION FEE:" * 40)[:1600],
        ("Payment received for GHS 1.00 from X Current Balance: GHS 1.00. Reference: TRANSACTION FEE: " + ". " * 800)[:1600],
        ("0000014673911819 Confirmed. You have received GHS45.00 from 233209000543 - " + "a on 2026-09-07 at 11:02:51. " * 60)[:1600],
        ("0000014673911819 Confirmed. You have received GHS45.00 from 233209000543 - Your Telecel Cash balance is" + " " * 1500)[:1600] + ".",
        ("0000014673911819 Confirmed. You have received GHS45.00 from 233209000543 - X on 2026-09-07 at 11:02:51. Your Telecel Cash balance is GHS1.00. Reference:" + " at 11:02:51. Your balance is." * 50)[:1600],
        ("0000014673911819 Confirmed. You have received GH sent to You were charged paid to as payment from " + "1,1" * 500)[:1600],
        "Payment received for GHS " + "1," * 780,
        "a, b from c " * 133,
        (TELECEL.format(name=NAME, reference=("Stay" + " " * 16) * 80))[:1600],
    ]  # fmt: skip
    spread = [sample.replace(" ", " " * 12) for wording in wordings() for sample in wording.samples]
    for text in [*worst, *((text * 40)[:1600] for text in spread), *(text[:1600] for text in spread)]:
        took = []
        for _ in range(3):
            start = time.thread_time()
            read(None, text)
            took.append(time.thread_time() - start)
        assert min(took) < 0.02, text[:80]


@given(st.text(max_size=1700), st.one_of(st.none(), st.text(max_size=12)))
@settings(max_examples=100, deadline=None)
def test_no_text_whatever_makes_reading_raise(body: str, sender: str | None) -> None:
    read(sender, body)


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=10)), max_size=20).map("".join))
@settings(max_examples=100, deadline=None)
def test_no_heap_of_receipt_pieces_raises(body: str) -> None:
    for network in (None, "mtn", "telecel", "at", "nobody"):
        read(None, body, network=network)
