"""Airtel Money, Kenya. The ID of 13 digits comes first; no number, no time."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "airtel_ke"
DISPLAY_NAME: Final = "Airtel Money Kenya"
SENDERS: Final = ("AirtelMoney",)
PLMNS: Final = ("63903",)
COUNTRY: Final = Country("KE", "KES", r"Ksh\.?|KSh\.?|KES", 180)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.either("amount")
_HEAD: Final = r"Trans\.?~ID~:~(?P<telco_id>\d{9,15})~\.?~"
_BALANCE: Final = rf"Your available balance is {COUNTRY.either('balance')}~\."

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "available balance is"),
        rf"{_HEAD}You have received {_A} from {PAYER_NAME}\. {_BALANCE}{ADVERT}",
        "Trans. ID: 1444598935637 You have received 50.00Ksh from\nANGELINE NZIOKA. Your available\nbalance is 155.00Ksh.",
    ),
    _BOOK.wording(
        "paid",
        Kind.BILL,
        ("You have sent", "in reference to", "available balance is"),
        rf"{_HEAD}You have sent {_A} to {PAYEE_NAME} in reference to (?P<reference>\S.{{0,99}}?)~\. {_BALANCE}.{{0,300}}",
        "Trans. ID: 2244455041248 You have sent 50.00Ksh to\nUHASIBU in reference to TEST.\nYour available balance "
        "is\n105.00Ksh.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("You have sent", "available balance is"),
        rf"{_HEAD}You have sent {_A} to (?!.{{0,150}} in reference to ){PAYEE_NAME}\. {_BALANCE}.{{0,300}}",
        "Trans. ID: 1444598935638 You have sent 20.00Ksh to ANGELINE NZIOKA. Your available balance is 135.00Ksh.",
    ),
)
