"""AT Money (formerly AirtelTigo), Ghana. No verbatim receipt of today's AT Money could be found.

Today's wordings are modelled on the sister platforms. They are marked unverified, and no sender name is listed: their
readings are shown to an operator, and do not pay until a genuine message has been seen (one program uses `ATMoney` as
sender name, which is not enough evidence). The wordings of Airtel Ghana (2013) and Tigo Cash (2015) are real, but no
longer in use.
"""

from typing import Final

from parsers.reading import COMVIVA, Kind
from parsers.wording import (
    ADVERT,
    AMOUNT,
    BALANCE,
    FEE_AND_LEVY,
    PAYEE_NAME,
    PAYEE_PHONE,
    PAYER_NAME,
    PAYER_PHONE,
    REFERENCE,
    VIA,
    Groups,
    WordingFactory,
)

NETWORK: Final = "at"
PROVIDER: Final = "momo_at"
SENDERS: Final[tuple[str, ...]] = ()
PLMNS: Final = ("62003", "62006")
"""Formerly Tigo, formerly Airtel."""
_BALANCE: Final = (
    r"(?:Your )?(?:(?:[Nn]ew|[Aa]vailable|[Cc]urrent) )?(?:(?:AT|AirtelTigo)(?: |-)?Money )?[Bb]alance(?: is~:?|~:)~"
    rf"{BALANCE}~\.{FEE_AND_LEVY}"
)
_FACTORY: Final = WordingFactory(NETWORK, order="mdy", unverified=True, middles=(rf"\. {_BALANCE} Ref",))
_NEW_BALANCE: Final = rf"(?:Your )?[Nn]ew (?:(?:AT|AirtelTigo) Money )?balance is {BALANCE}~\."
_ID_LABEL: Final = r"(?:Trans(?:action)?\.?~I[Dd]|Txn~I[Dd]|TID)"
_ANY_ID: Final = rf"(?P<telco_id>{COMVIVA}|\d{{9,15}})"
_ID: Final = rf"{_ID_LABEL}~:~{_ANY_ID}(?:\.|$|(?=\s))"
_TYPED: Final = rf"Ref(?:erence)?~:?{REFERENCE}\."
_AT: Final = r"(?: on (?P<date>\d{4}-\d\d-\d\d),?(?: at)? (?P<time>\d\d:\d\d:\d\d))?"
# A number and a name in either order; one of them may be missing.
_PAYER: Final = (
    rf"(?:{PAYER_PHONE}(?:[\s,\-]{{1,4}}(?P<payer_name>[A-Za-z].{{0,175}}?))?"
    r"|(?P<payer_name_first>[A-Za-z].{0,175}?)(?:[\s,(\-]{1,4}(?P<payer_phone_last>\+?\d{9,15})\)?)?)"
)
_OLD_ID: Final = r"Trans\.?~ID:~(?P<telco_id>\d{12,13})\.?"
_OLD_BALANCE: Final = rf"Your available balance is {BALANCE}~\."


def _whichever_came(found: Groups) -> str | None:
    """Take the payer from either of the two possible positions."""
    for name, other in (("payer_name", "payer_name_first"), ("payer_phone", "payer_phone_last")):
        text = found.pop(other, None)
        if text is not None:
            found[name] = text
    return None


WORDINGS: Final = (
    _FACTORY.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "Ref", "alance"),
        rf"You have received {AMOUNT} from {_PAYER}{_AT}~\. {_BALANCE} {_TYPED} {_ID}{ADVERT}",
        "You have received GHS 50.00 from 0261000654 KOBINA ESHUN. Your AT Money balance is GHS 120.45. Reference: "
        "K7M2QX. Trans ID: PP260912.1432.A12345.",
        "You have received GHS 50.00 from KOBINA ESHUN (0261000654). New balance: GHS 120.45. Ref: K7M2QX. TxnId: "
        "PP260912.1432.A12345.",
        refine=_whichever_came,
    ),
    _FACTORY.wording(
        "receipt_id_first",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "Ref", "alance"),
        rf"{_ID_LABEL}~:~{_ANY_ID}\.? You have received {AMOUNT} from {_PAYER}{_AT}~\. {_BALANCE} {_TYPED}{ADVERT}",
        "Trans ID: PP260912.1432.A12345. You have received GHS 50.00 from 0261000654 KOBINA ESHUN. Your AT Money balance is "
        "GHS 120.45. Reference: K7M2QX.",
        refine=_whichever_came,
    ),
    _FACTORY.wording(
        "receipt_from_network",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "MOBILE MONEY. Sender:", "Reference", "balance is"),
        rf"You have received {AMOUNT} from {VIA}~\. Sender:~{PAYER_PHONE}(?: -)? "
        rf"{PAYER_NAME}\. {_TYPED} {_BALANCE} {_ID}{ADVERT}",
        "You have received GHS 75.00 from MTN MOBILE MONEY. Sender: 233241000123 KOFI ANTWI BADU. Reference: x8p3lm. Your "
        "AT Money balance is GHS 245.45. Trans ID: CI260912.1501.C00017",
    ),
    _FACTORY.wording(
        "cash_in",
        Kind.CASH_IN,
        ("Cash-In of", "is successful", "balance is"),
        rf"Cash-In of {AMOUNT} from Agent~-~(?P<agent>\S.{{0,175}}?) is successful~\. {_NEW_BALANCE} {_ID}{ADVERT}",
        "Cash-In of GHS 100.00 from Agent - MANTSE VENTURES is successful. New balance is GHS 345.45. TxnId: "
        "CI260912.1510.D00042. Thank you for using AT Money.",
    ),
    _FACTORY.wording(
        "merchant_receipt",
        Kind.MERCHANT_PAYMENT,
        ("Payment of", "received from", "Till Number", "Reference", "balance is"),
        rf"Payment of {AMOUNT} received from {PAYER_PHONE}(?: -)? {PAYER_NAME}\. Till Number~:?~(?P<till>\d{{4,10}})~\. {_TYPED} "
        rf"{_BALANCE} {_ID}{ADVERT}",
        "Payment of GHS 35.00 received from 0271000987 MERCY ADDISON. Till Number 300700. Reference K7M2QX. Your balance "
        "is GHS 1,380.45. TID : MP260912.1525.E00088.",
    ),
    _FACTORY.wording(
        "sent",
        Kind.SENT,
        ("You have sent", "balance is"),
        rf"You have sent {AMOUNT} to {PAYEE_PHONE}(?: -)? {PAYEE_NAME}\. (?:Fee.{{0,40}}?\. )?{_BALANCE}(?: {_TYPED})? {_ID}"
        r".{0,300}",
        "You have sent GHS 50.00 to 0261000654 KOBINA ESHUN. Your AT Money balance is GHS 70.45. Reference: rent. Trans "
        "ID: PP260912.1433.A12346.",
    ),
    # Airtel Ghana, 2013.
    _FACTORY.wording(
        "receipt_2013",
        Kind.PAYMENT_RECEIVED,
        ("Trans. ID:", "You have received", "available balance is"),
        rf"{_OLD_ID} You have received {AMOUNT} from {PAYER_PHONE}~\. {_OLD_BALANCE}",
        "Trans. ID: 313963014731\nYou have received 20GHS from 233261000567. Your available balance is 270.67GHS.",
    ),
    _FACTORY.wording(
        "sent_2013",
        Kind.SENT,
        ("Trans. ID:", "You have sent", "available balance is"),
        rf"{_OLD_ID} You have sent {AMOUNT} to {PAYEE_PHONE}~\. {_OLD_BALANCE}",
        "Trans. ID: 313784369452\nYou have sent 20GHS to 233261000567.  Your available balance is 250.67GHS.",
    ),
    _FACTORY.wording(
        "bill_2013",
        Kind.BILL,
        ("TransID:", "you have paid", "to reference code"),
        rf"{_OLD_ID} Transaction successful, you have paid {AMOUNT} to reference code (?P<reference>\w{{3,30}})~\.?",
        "TransID: 3132166916358\nTransaction successful, you have paid 50.00GHS to reference code 0261000567",
    ),
    _FACTORY.wording(
        "airtime_2013",
        Kind.AIRTIME,
        ("Trans. ID:", "You have received Airtime of"),
        rf"{_OLD_ID} You have received Airtime of {AMOUNT} from {PAYER_PHONE}~\..{{0,200}}",
        "Trans. ID: 313984276979. You have received Airtime of GHS 10.00 from 233261000567.",
    ),
    # Tigo Cash, 2015.
    _FACTORY.wording(
        "cash_out_2015",
        Kind.CASH_OUT,
        ("Successful Tigo Cash withdrawal", "New Tigo Cash balance", "Ref No"),
        rf"Successful Tigo Cash withdrawal: collect {AMOUNT} from Agent (?P<agent>\S.{{0,175}}?)~\. New Tigo Cash balance:~"
        rf"{BALANCE}~\. (?P<date>\d{{1,2}}/\d{{1,2}}/\d\d) (?P<time>\d{{1,2}}:\d\d [AP]M)~\. Ref No (?P<telco_id>\d{{9,12}})\."
        r".{0,100}",
        "Successful Tigo Cash withdrawal: collect GHC 98.00 from Agent DERRICK EGYIN - 0278000007. New Tigo Cash balance: "
        "GHC 0.61. 10/19/15 08:33 PM. Ref No 646218397. Thank you",
    ),
)
