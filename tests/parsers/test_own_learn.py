"""Proposals of a wording from marked messages."""

import pytest

from parsers.own import load_wordings
from parsers.own_learn import CannotPropose, parse_marks, propose_wording
from parsers.read import read
from parsers.reading import Payment

INLINE = (
    "You got {amount:GHS 70.00} from {payer_name:ESI QUANSAH}. Wallet: GHS {balance:628.92}. Note: {reference:Q4T9WD}. "
    "Token: {transaction_id:85614800061}. Thanks for using MoMo. Dial *170# to win."
)
OTHER = (
    "You got {amount:5.00} GHS from {payer_name:KOFI BADU}. Wallet: {balance:GHS 1,633.92}. Note: {reference:x}. Token: "
    "{transaction_id:85614800199}. Thanks for using MoMo. Download the app."
)


def test_a_proposal_passes_the_check_and_reads_the_next_message() -> None:
    text = propose_wording("receipt_2027", "mtn", "payment_received", [parse_marks(INLINE), parse_marks(OTHER)])
    loaded = load_wordings(text)
    assert loaded.problems == ()
    assert "Thanks for using MoMo.{advert}" in text
    assert 'amount = "70.00"' in text
    message = "You got GHS 9.50 from AMA B. OWUSU. Wallet: GHS 10.00. Note: K7M2QX. Token: 101234567890. Thanks for using MoMo."
    reading = read("MobileMoney", message, own=loaded.wordings)
    assert isinstance(reading, Payment)
    assert (reading.telco_id, reading.reference) == ("101234567890", "K7M2QX")


def test_values_can_be_told_instead_of_marked() -> None:
    plain = parse_marks(INLINE).message
    values = {
        "amount": "70.00",
        "payer_name": "ESI QUANSAH",
        "balance": "628.92",
        "reference": "Q4T9WD",
        "transaction_id": "85614800061",
    }
    assert parse_marks(plain, values) == parse_marks(INLINE)


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        ([], "there are no messages"),
        (["You got {amout:5}"], "unknown field 'amout'"),
        (["You got {amount:GHS 5.00}."], "too little fixed text"),
        ([INLINE, OTHER.replace("Wallet", "Purse")], "differ near"),
    ],
)
def test_what_cannot_be_learnt_says_why(samples: list[str], why: str) -> None:
    with pytest.raises(CannotPropose) as refused:
        propose_wording("x", "mtn", "payment_received", [parse_marks(sample) for sample in samples])
    assert why in str(refused.value)


def test_a_value_that_does_not_stand_there_is_named() -> None:
    with pytest.raises(CannotPropose, match="amount: the message does not contain '7'"):
        parse_marks("You got it", {"amount": "7"})
