"""Airtel Money, Malawi. The ID comes first."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "airtel_mw"
DISPLAY_NAME: Final = "Airtel Money Malawi"
SENDERS: Final = ("AirtelMoney",)
PLMNS: Final = ("65010",)
COUNTRY: Final = Country("MW", "MWK", r"MWK|MK|K", 120)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.before("amount")
_HEAD: Final = r"Trans\.?~ID~:~(?P<telco_id>[A-Z]{2}\d{6}\.\d{4}\.[A-Z]\d{5,6}|[A-Z]{2}\d{4,12})~\.~(?:Dear Customer, )?"
_PHONE: Final = r"(?P<payer_phone>(?:\+?265|0)?[189]\d{8})"
_BALANCE: Final = rf"Your (?:new|available) balance is {COUNTRY.before('balance', decimals=2)}~\.?"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("Trans", "You have received", "balance is"),
        rf"{_HEAD}You have received {_A} from (?:{_PHONE}[\s,]{{1,3}})?{PAYER_NAME}\.? {_BALANCE}{ADVERT}",
        "Trans. ID: PP2345. You have received MK 15,000.50 from JANET SMITHA. Your new balance is MK 27,000.50",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("Trans", "You have sent", "balance is"),
        rf"{_HEAD}You have sent {_A} to {PAYEE_NAME}\.? {_BALANCE}.{{0,200}}",
        "Trans. ID: PP2346. You have sent MK 5,000.00 to JANET SMITHA. Your new balance is MK 22,000.50",
    ),
)
