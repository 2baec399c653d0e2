"""Airtel Money, Zambia. The balance is hidden; frauds copy the form, with other capitals, decimals and numbers."""

from typing import Final

from parsers.country import COMVIVA_ID, Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book, Found

NETWORK: Final = "airtel_zm"
DISPLAY_NAME: Final = "Airtel Money Zambia"
SENDERS: Final = ("AirtelMoney",)
PLMNS: Final = ("64501",)
COUNTRY: Final = Country("ZM", "ZMW", r"ZMW|K", 120)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.before("amount", decimals=2)
_ID: Final = rf"TID~:~{COMVIVA_ID}"
_PHONE: Final = r"(?P<payer_phone>(?:\+?260|0)?[79][5-7]\d{7})"
_DIAL: Final = r"(?:~Dial \*115# .{1,60}?\.)?(?: Deposits are free\.)?"
_BALANCE: Final = rf"(?:Your )?(?:Airtel Money )?(?:[Bb]al(?:ance)?|new balance)(?: is)?~:?~{COUNTRY.before('balance')}"


def _reason(found: Found) -> str | None:
    """The typed text stands before or behind the balance."""
    reason = found.pop("reason", None)
    if reason is not None:
        if "reference" in found:
            return "two reasons, so either could be the payer's text"
        found["reference"] = reason
    return None


WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "TID"),
        rf"You have received {_A} from {_PHONE} {PAYER_NAME}\.(?:~Reason~:(?P<reference>.{{0,300}})\.)?(?:~{_BALANCE}~\.)?{_DIAL}"
        rf"(?:~Reason~:(?P<reason>.{{0,300}})\.)?~{_ID}\.?{ADVERT}",
        "You have received ZMW 3500.00 from 977000242 Saili Phiri.Dial *115# to check your new Bal. TID: "
        "PP260817.1950.D53775.",
        refine=_reason,
    ),
    _BOOK.wording(
        "receipt_from_bank",
        Kind.PAYMENT_RECEIVED,
        ("Money received", "TID"),
        rf"Money received {_A} from (?P<payer_account>\d{{4,12}}) {PAYER_NAME}\.(?:~{_BALANCE}~\.)?{_DIAL}~{_ID}\.?{ADVERT}",
        "Money received K1350.00 from 0245900 NFS SETTLEMENT ACCOUNT. Dial *115# to check balance. Deposits are free. "
        "TID: CI260726.1451.D88401",
    ),
    _BOOK.wording(
        "till_payment",
        Kind.BILL,
        ("Payment of", "Till Number", "TID"),
        rf"Payment of {_A} Till Number {PAYEE_NAME}\. {_BALANCE}~\.~{_ID}\.?.{{0,200}}",
        "Payment of K10.00 Till Number SOCHESCARE AIRTEL NETWORKS SELF CARE SOCHE. Airtel Money bal is K45.23. TID : "
        "MP260728.0729.D33897.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("sent to", "TID"),
        rf"(?:Money|You have) sent (?:{_A} )?to {PAYEE_NAME}\.(?: {_BALANCE}~\.)?.{{0,120}}?{_ID}\.?.{{0,200}}",
        "Money sent to Saili Phiri on 977000242. Airtel Money bal is K45.23. TID : PP260728.0729.D33898.",
    ),
)
