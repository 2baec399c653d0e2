"""Easypaisa, Pakistan. The sender is a short code; frauds write that code inside the text instead."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "easypaisa_pk"
DISPLAY_NAME: Final = "Easypaisa"
SENDERS: Final = ("3737",)
PLMNS: Final[tuple[str, ...]] = ("41006",)
COUNTRY: Final = Country("PK", "PKR", r"Rs\.?|PKR", 300)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.before("amount")
_HEAD: Final = r"Trx ID~:?~(?P<telco_id>\d{9,15})~\."
_BALANCE: Final = (
    rf"(?: Your (?:new )?(?:Easypaisa )?(?:account )?balance is {COUNTRY.before('balance')}~\.)?"
)
_TID: Final = r" TID~:~\d{3,15}\."

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("Trx ID", "You have received", "TID:"),
        rf"{_HEAD} You have received {_A} from {PAYER_NAME} (?:with|in) (?:your )?[Ee]asypaisa [Aa]ccount"
        rf"(?: (?P<payer_phone>0\d{{3}}-?\d{{7}}|\+?92\d{{10}}))?~\.{_BALANCE}{_TID}",
        "Trx ID 15582585778. You have received Rs.10000 from KHALIDA BANO with Easypaisa Account. TID: 12345.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("Trx ID", "You have sent"),
        rf"{_HEAD} You have sent {_A} to {PAYEE_NAME} (?:with|from|in) (?:your )?[Ee]asypaisa [Aa]ccount.{{0,200}}",
        "Trx ID 15582585779. You have sent Rs.1000 to KHALIDA BANO with Easypaisa Account. TID: 12345.",
    ),
)
