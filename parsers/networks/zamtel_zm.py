"""Zamtel Kwacha, Zambia. IDs of 8 characters; day first."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "zamtel_zm"
DISPLAY_NAME: Final = "Zamtel Kwacha"
SENDERS: Final = ("Zamtel",)
PLMNS: Final = ("64503",)
COUNTRY: Final = Country("ZM", "ZMW", r"ZMW|K", 120)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.before("amount")
_AT: Final = r"on (?P<date>\d{1,2}-\d{1,2}-\d{4}) (?P<time>\d\d:\d\d:\d\d)"
_ID: Final = r"under Txn ID~:~(?P<telco_id>[A-Z0-9]{6,14})~\."
_BALANCE: Final = rf"Your account balance is(?: now)? {COUNTRY.before('balance', decimals=2)}~\."

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("you have received", "under Txn ID", "Your account balance is"),
        rf"Dear Customer, you have received {_A} from {PAYER_NAME}-~(?P<payer_phone>\+?\d{{9,12}}) {_AT} {_ID} {_BALANCE}{ADVERT}",
        "Dear Customer, you have received ZMW 1,500.00 from John Bandawe - 0970000000 on 03-10-2026 16:59:01 under Txn ID: "
        "9ABC1DE3. Your account balance is now ZMW 4,722.93. Manage your money smarter download the MyZamtel App today!",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("you have sent", "under Txn ID", "Your account balance is"),
        rf"Dear Customer, you have sent {_A} to {PAYEE_NAME}~-~(?P<payee_phone>\+?\d{{9,12}}) {_AT} {_ID}.{{0,100}}? {_BALANCE}"
        r".{0,200}",
        "Dear Customer, you have sent ZMW 100.00 to John Bandawe - 0970000000 on 03-10-2026 17:59:01 under Txn ID: "
        "9ABC1DE4. Your account balance is now ZMW 4,622.93.",
    ),
)
