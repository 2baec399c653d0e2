"""Airtel Money, Madagascar, in Malagasy."""

from typing import Final

from parsers.country import COMVIVA_ID, Country
from parsers.reading import Kind
from parsers.template import ADVERT, Book

NETWORK: Final = "airtel_mg"
DISPLAY_NAME: Final = "Airtel Money Madagascar"
SENDERS: Final = ("AirtelMoney",)
PLMNS: Final = ("64601",)
COUNTRY: Final = Country("MG", "MGA", r"Ar|MGA|ARIARY", 180, spaced=True)

_BOOK: Final = Book(NETWORK, COUNTRY)
_TAIL: Final = rf"Toebolanao {COUNTRY.before('balance')}~\. Trans ID~:~{COMVIVA_ID}\.?{ADVERT}"

WORDINGS: Final = (
    _BOOK.wording(
        "cash_in",
        Kind.CASH_IN,
        ("azo tamin'ny agent", "Toebolanao", "Trans ID"),
        rf"{COUNTRY.before('amount')} azo tamin'ny agent (?P<agent>\d{{6,12}})~\. {_TAIL}",
        "Ar 2000 azo tamin'ny agent 331000366. Toebolanao Ar 2094. Trans ID: CI260811.1140.E89335",
    ),
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("azo tamin'ny", "Toebolanao", "Trans ID"),
        rf"{COUNTRY.before('amount')} azo tamin'ny (?P<payer_phone>\+?\d{{9,12}})(?: (?P<payer_name>[^.]{{1,60}}))?~\. {_TAIL}",
        "Ar 2000 azo tamin'ny 331000366. Toebolanao Ar 2094. Trans ID: PP260811.1140.E89335",
        unverified=True,
    ),
)
