"""Rocket (Dutch-Bangla Bank), Bangladesh. The sender is a short code; amounts below one have no zero in front."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, Book

NETWORK: Final = "rocket_bd"
DISPLAY_NAME: Final = "Rocket"
SENDERS: Final = ("16216",)
PLMNS: Final[tuple[str, ...]] = ()
COUNTRY: Final = Country("BD", "BDT", r"Tk|BDT", 360)

_BOOK: Final = Book(NETWORK, COUNTRY)
_FEE: Final = r"Tk\s{0,3}(?P<fee>\d{1,7}(?:\.\d\d)?|\.\d\d)"
_TAIL: Final = (
    rf"{COUNTRY.before('amount', decimals=2)} Fee~:~{_FEE}~,~Your A/C Balance~:~"
    rf"{COUNTRY.before('balance', decimals=2)}~\.~TxnId~:~(?P<telco_id>\d{{9,12}})~(?:Date~:~"
    r"(?P<date>\d{1,2}-[A-Za-z]{3}-\d{2,4}) (?P<time>\d{1,2}:\d\d(?::\d\d)?(?: [aApP][mM])?))~\."
)

WORDINGS: Final = (
    _BOOK.wording(
        "cash_in",
        Kind.CASH_IN,
        ("Cash-In from A/C:", "Balance", "TxnId"),
        rf"Cash-In from A/C:~(?P<payer_account>[\d*]{{4,16}}) {_TAIL}{ADVERT}",
        "Cash-In from A/C: ***1211 Tk1500.00 Fee: Tk.00, Your A/C Balance: Tk4500.00.TxnId:5473288690 Date:17-JUL-26 "
        "09:00:00 pm.",
    ),
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("received from A/C:", "Balance", "TxnId"),
        rf"{COUNTRY.before('amount', decimals=2)} received from A/C:~(?P<payer_account>[\d*]{{4,16}}) Fee~:~"
        rf"{_FEE}~,~Your A/C Balance~:~{COUNTRY.before('balance', decimals=2)}~\.~TxnId~:~"
        r"(?P<telco_id>\d{9,12})~(?:Date~:~(?P<date>\d{1,2}-[A-Za-z]{3}-\d{2,4}) (?P<time>\d{1,2}:\d\d(?::\d\d)?(?: "
        rf"[aApP][mM])?))~\.{ADVERT}",
        "Tk100.00 received from A/C: ***1212 Fee: Tk0, Your A/C Balance: Tk4600.00.TxnId:5473288691 Date:17-JUL-26 "
        "09:10:00 pm.",
        unverified=True,
    ),
)
