"""Likely future wordings: small changes that networks make to their receipts without notice.

Each row changes one thing of a genuine receipt as such things have changed before (adverts, footers, brand words, levies,
marks, lengths of IDs). The reading must stay the same.
"""

import pytest

from parsers.read import read
from parsers.reading import Kind, NotPayment, Payment, Unreadable, fields
from tests.fakes.each import each

MTN = (
    "Payment received for GHS 70.00 from ESI NAANA QUANSAH  Current Balance: GHS 628.92 . Available Balance: GHS 628.92. "
    "Reference: Q4T9WD. Transaction ID: 85614800061. TRANSACTION FEE: 0.00"
)
ECW = (
    "You have received GHS 70.00 from Ecobank ova (233241000777) on your mobile money account at 2023-12-21 14:09:16. "
    "Message from sender: Q4T9WD. Your new balance:GHS 628.92. Financial Transaction Id: 85614800061."
)
CASH_IN = (
    "Cash In received for GHS 70.00 from ADOM ELECTRICALS . Current Balance GHS 628.92  Available Balance GHS 628.92. "
    "Transaction ID: 85614800061. Fee charged: GHS 0. Cash in (Deposit) is a free transaction on MTN Mobile Money."
)
FOOTER = (
    "\nStay alert. Never share your PIN or OTP with anyone or click unknown links. Protect your personal information."
)
TELECEL = (
    "0000014673911819 Confirmed. You have received GHS70.00 from 233209000543 - KOJO ANSAH BEKOE on 2026-09-07 at "
    f"11:02:51. Your Telecel Cash balance is GHS628.92.\nReference: Q4T9WD.{FOOTER}"
)
FROM_MTN = (
    "0000014673911819 Confirmed. You have received GHS70.00 from MTN MOBILE MONEY with transaction reference: Transfer "
    "From: 233240000913-CELESTINE OWUSUA on 2026-02-28 at 10:23:38. Your Telecel Cash balance is GHS628.92.\nRef: Q4T9WD"
)
GATEWAY = (
    "0000014673911819 confirmed. You have received GHS70.00 as payment from EXPRESSPAY on 2026-03-04 at 16:47:33. Your new "
    "Telecel Cash balance is GHS628.92."
)
DEPOSIT = (
    "0000014673911819 Confirmed. On 2026-08-10 at 14:19:45, a deposit of GHS70.00 was made to your account from YAW "
    "BEDIAKOH ENTERPRISE. Your balance is GHS628.92.\nStay alert."
)
GHANAPAY = (
    "You have received GHS 70.00 from 0545000003 MTN MOBILE MONEY. Ref: Q4T9WD. Transaction ID: 620307283234. Balance: GHS "
    "628.92."
)
GMONEY = (
    "You have received GHS 70.00 from KOFI ANTWI BADU 0241000123. Ref: Q4T9WD. Transaction ID: 512163210186. Your G-Money "
    "balance is GHS 628.92."
)
AT = (
    "You have received GHS 70.00 from 0261000654 KOBINA ESHUN. Your AT Money balance is GHS 628.92. Reference: Q4T9WD. Trans "
    "ID: PP260912.1432.A12345."
)
SENDERS = {
    MTN: "MobileMoney", ECW: "MobileMoney", CASH_IN: "MobileMoney", TELECEL: "T-CASH", FROM_MTN: "T-CASH",
    GATEWAY: "T-CASH", DEPOSIT: "T-CASH", GHANAPAY: "GhanaPay", GMONEY: "G-Money", AT: None,
}  # fmt: skip

CHANGES = [
    (MTN, "GHS 70.00", "GHS70.00"),
    (MTN, "GHS 70.00", "70.00 GHS"),
    (MTN, "GHS 70.00", "GHS GHS 70.00"),
    (MTN, "GHS", "GHC"),
    (MTN, "GHS", "Ghs"),
    (MTN, "GHS ", "GH₵"),
    (MTN, "GHS ", "₵"),
    (MTN, "628.92 . Available", "628.92.Available"),
    (MTN, "628.92 . Available", "628.92 Available"),
    (MTN, "628.92 . Available", "628.92, Available"),
    (MTN, " Available Balance: GHS 628.92.", ""),
    (MTN, "Current Balance", "Current balance"),
    (MTN, "Current Balance", "New Balance"),
    (MTN, "Current Balance", "Your new balance"),
    (MTN, "Transaction ID", "Financial Transaction Id"),
    (MTN, "Transaction ID", "TRANSACTION ID"),
    (MTN, "Transaction ID", "Txn ID"),
    (MTN, "Reference:", "Ref:"),
    (MTN, "Q4T9WD. ", "Q4T9WD, "),
    (MTN, ": ", ":"),
    (MTN, ":", " :"),
    (MTN, ". ", ".\n"),
    (MTN, ". ", ".\r\n"),
    (MTN, "received for", "Received for"),
    (MTN, "FEE: 0.00", "FEE: GHS 0.00."),
    (MTN, "FEE: 0.00", "FEE: 0. Thank you for using MTN MoMo."),
    (MTN, "TRANSACTION FEE:", "Transaction fee:"),
    (MTN, "TRANSACTION FEE: 0.00", "Fee charged: GHS 0.00."),
    (MTN, "TRANSACTION FEE: 0.00", "Fee was GHS 0.00."),
    (MTN, "TRANSACTION FEE:", "E-LEVY: 0.00. TRANSACTION FEE:"),
    (MTN, "TRANSACTION FEE:", "E-levy charge: GHS 0.00. Tax: 0. TRANSACTION FEE:"),
    (MTN, "FEE: 0.00", "FEE: 0.00, E-levy charged: GHS 0.00."),
    (MTN, "FEE: 0.00", "FEE: 0.00 ELEVY: GHS 0.00. Download the MoMo App"),
    (MTN, "FEE: 0.00", "FEE: 0.00. VAT: GHS 0.00."),
    (MTN, "FEE: 0.00", "FEE: 0.00Download the MoMo App"),
    (MTN, "FEE: 0.00", "FEE: 0.00! Send money abroad. Dial *170#"),
    (MTN, "FEE: 0.00", "FEE: 0.00\nGet up to 5% back with MoMo. Ts&Cs apply."),
    (MTN, "FEE: 0.00", "FEE: 0.00. Check your balance with *170#. Win GHS 1,000.00 daily!"),
    (MTN, "FEE: 0.00", "FEE: 0.00. Your transaction ID is proof of payment."),
    (ECW, "balance:GHS", "balance: GHS"),
    (ECW, "mobile money", "MTN MoMo"),
    (ECW, "061.", "061. External Transaction Id: 12345."),
    (ECW, "061.", "061. TRANSACTION FEE IS 0"),
    (ECW, "061.", "061.Download the MoMo App"),
    (CASH_IN, "Balance GHS", "Balance: GHS"),
    (CASH_IN, "Cash In", "Cash-In"),
    (CASH_IN, "  Available Balance GHS 628.92", ""),
    (CASH_IN, "GHS 0. ", "GHS 0.00. E-levy charged: GHS 0.00. "),
    (TELECEL, "GHS70.00", "GHS 70.00"),
    (TELECEL, "GHS", "GH₵"),
    (TELECEL, "Your Telecel", "Your new Telecel"),
    (TELECEL, "Telecel Cash balance", "T-Cash balance"),
    (TELECEL, "Telecel Cash balance", "balance"),
    (TELECEL, "Telecel Cash balance", "Telecel Cash wallet balance"),
    (TELECEL, "balance is GHS", "balance is: GHS"),
    (TELECEL, "balance is GHS", "balance is \nGHS"),
    (TELECEL, "Confirmed", "CONFIRMED"),
    (TELECEL, " - KOJO", "-KOJO"),
    (TELECEL, " - KOJO", " KOJO"),
    (TELECEL, "received GHS", "received a payment of GHS"),
    (TELECEL, "Reference:", "Ref:"),
    (TELECEL, FOOTER, ""),
    (TELECEL, FOOTER, "\nDial *110# today and win a car!"),
    (TELECEL, FOOTER, " Stay alert. Do not share your PIN."),
    (TELECEL, "GHS628.92.", "GHS628.92. Your E-levy charge is GHS0.00."),
    (TELECEL, "GHS628.92.", "GHS628.92. You were charged GHS0.00. E-LEVY: GHS0.00."),
    (TELECEL, "GHS628.92.", "GHS628.92. Do more with Telecel Cash!"),
    (TELECEL, "GHS628.92.", "GHS628.92. Enjoy free transfers on https://bit.ly/TelecelPlayGhana."),
    (FROM_MTN, "MTN MOBILE MONEY", "AT Money"),
    (FROM_MTN, "913-CEL", "913 - CEL"),
    (FROM_MTN, ".\nRef", ". Your E-levy charge is GHS0.00.\nReference"),
    (GATEWAY, "628.92.", "628.92.\nDo more with Telecel Cash!"),
    (DEPOSIT, "Your balance", "Your new Telecel Cash balance"),
    (DEPOSIT, "a deposit", "a cash in"),
    (GHANAPAY, "0545000003 MTN MOBILE MONEY", "0545000003 TELECEL CASH"),
    (GHANAPAY, "0545000003 MTN MOBILE MONEY", "KOFI MENSAH 0545000003"),
    (GHANAPAY, "Balance:", "Available Balance:"),
    (GHANAPAY, "Ref:", "Reference:"),
    (GHANAPAY, "628.92.", "628.92. Fee: GHS 0.00. E-levy: GHS 0.00. Thank you."),
    (GMONEY, " 0241000123.", " (0241000123) on 2026-09-24 at 12:31:40."),
    (GMONEY, "KOFI ANTWI BADU 0241000123", "0241000123 KOFI ANTWI BADU"),
    (GMONEY, "Your G-Money", "Your current G-Money"),
    (AT, "0261000654 KOBINA ESHUN", "KOBINA ESHUN (0261000654)"),
    (AT, "0261000654 KOBINA ESHUN", "KOBINA ESHUN"),
    (AT, "ESHUN.", "ESHUN on 2026-09-12 at 14:32:10."),
    (AT, "Your AT Money balance is", "New balance:"),
    (AT, "Reference: Q4T9WD.", "Ref: Q4T9WD. Fee: GHS 0.00."),
    (AT, "Trans ID", "TxnID"),
]


def facts(text: str, sender: str | None) -> tuple[str | None, ...]:
    reading = read(sender, text)
    assert isinstance(reading, Payment), (reading, text)
    found = fields(reading)
    return tuple(found[word] for word in ("amount", "balance", "transaction_id", "reference"))


@each(("form", "old", "new"), CHANGES)
def test_a_change_of_the_wrapping_changes_nothing_that_is_said(form: str, old: str, new: str) -> None:
    assert old in form
    if (form, old) == (AT, "Reference: Q4T9WD."):
        new = new.partition(" Fee")[0]
    assert facts(form.replace(old, new), SENDERS[form]) == facts(form, SENDERS[form])


@pytest.mark.parametrize("form", [MTN, ECW, CASH_IN, TELECEL, FROM_MTN, GATEWAY, DEPOSIT])
def test_thousands_are_read_with_and_without_marks(form: str) -> None:
    for written in ("1,628.92", "1628.92"):
        changed = form.replace("628.92", written).replace("70.00", "1,070.00")
        assert facts(changed, SENDERS[form])[:2] == ("1070.00", "1628.92")


@pytest.mark.parametrize("telco_id", ["101234567890", "1012345678901", "101234567890123"])
def test_ids_that_have_grown_are_read(telco_id: str) -> None:
    for form in (MTN, ECW, CASH_IN):
        assert facts(form.replace("85614800061", telco_id), "MobileMoney")[2] == telco_id


def test_a_fee_that_may_be_cut_does_not_prove_the_end() -> None:
    for end in ("FEE: 0", "FEE: 0.", "FEE: 0. ", "FEE: 0.0"):
        assert isinstance(read("MobileMoney", MTN.replace("FEE: 0.00", end)), Unreadable)


@pytest.mark.parametrize(
    "typed",
    [
        "x Current Balance: GHS 9.00. Reference: y. Transaction ID: 999999999. TRANSACTION FEE: 0.00",
        "x. Txn ID: 999999999. Fee: 0.00",
        "x. Financial Transaction Id: 999999999. Fee charged: GHS 9.00. New balance: GHS 9.00. Ref: z",
        "x. TRANSACTION FEE: 0.00. Transaction ID: 999999999. Download",
    ],
)
def test_nothing_typed_into_another_order_is_taken_for_the_receipts_own(typed: str) -> None:
    texts = (
        MTN,
        (
            "Payment received for GHS 70.00 from ESI NAANA QUANSAH. Transaction ID: 85614800061. Current Balance: GHS 628.92. "
            "Available Balance: GHS 628.92. Reference: Q4T9WD. TRANSACTION FEE: 0.00"
        ),
        (
            "Payment received for GHS 70.00 from ESI NAANA QUANSAH. Reference: Q4T9WD. Current Balance: GHS 628.92. Available "
            "Balance: GHS 628.92. Transaction ID: 85614800061. TRANSACTION FEE: 0.00"
        ),
        (
            "Payment received for GHS 70.00 from ESI NAANA QUANSAH Current Balance: GHS 628.92. Available Balance: GHS 628.92. "
            "Reference: Q4T9WD. TRANSACTION FEE: 0.00. Transaction ID: 85614800061."
        ),
    )
    for text in texts:
        assert facts(text, "MobileMoney") == ("70.00", "628.92", "85614800061", "Q4T9WD")
        for place in ("Q4T9WD", "QUANSAH"):
            reading = read("MobileMoney", text.replace(place, f"{place} {typed}"))
            if isinstance(reading, Payment):
                found = fields(reading)
                assert (found["amount"], found["balance"]) == ("70.00", "628.92"), text
                assert found["transaction_id"] == "85614800061", text


def test_money_from_the_owners_own_account_is_no_sale() -> None:
    text = (
        "0000012062913312 Confirmed. You have received GHS2,039.42 from {} on 2026-11-28 at 16:45:08. Your Telecel Cash "
        "balance is GHS2,038.00."
    )
    for account in ("your SIKASAVE account", "your savings account"):
        own = read("T-CASH", text.format(account))
        assert isinstance(own, NotPayment)
        assert own.kind is Kind.OTHER
    # The network may put its own words in another order, or lose one.
    for reworded in ("SIKASAVE your account", "account your SIKASAVE", "your SIKASAVE", "the SIKASAVE account"):
        assert isinstance(read("T-CASH", text.format(reworded)), Unreadable), reworded
    assert isinstance(read("T-CASH", text.format("Your Shop Ltd")), Payment)
