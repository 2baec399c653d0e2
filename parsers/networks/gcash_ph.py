"""GCash, Philippines. Names are cut or masked; month first, no clock time; `Ref. No.` is the ID."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "gcash_ph"
DISPLAY_NAME: Final = "GCash"
SENDERS: Final = ("GCash",)
PLMNS: Final[tuple[str, ...]] = ("51502",)
COUNTRY: Final = Country("PH", "PHP", r"PHP|Php|P|₱", 480)

_BOOK: Final = Book(NETWORK, COUNTRY, order="mdy")
_A: Final = COUNTRY.before("amount")
_PHONE: Final = r"(?P<payer_phone>(?:\+?63|0)9[\d*]{9})"
_TAIL: Final = r"Ref\. No\.~(?P<telco_id>\d{9,16}) on (?P<date>\d{1,2}/\d{1,2}/\d{4})(?: (?P<time>\d{1,2}:\d\d(?:~[AaPp][Mm])?))?~\."
_BALANCE: Final = rf"(?: Your new balance is {COUNTRY.before('balance', decimals=2)}~\.)?"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "Ref. No."),
        rf"You have received {_A} (?:of|in) (?:your )?GCash from {PAYER_NAME}(?:[\s,]{{1,3}}{_PHONE})? with "
        rf"{_TAIL}{_BALANCE}{ADVERT}",
        "You have received PHP 250.00 of GCash from JUANA D. 09171000567 with Ref. No. 9000737402429 on 08/25/2026.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("You have sent", "Ref. No."),
        rf"You have sent {_A} (?:of|in) (?:your )?GCash to {PAYEE_NAME}(?: (?P<payee_phone>(?:\+?63|0)9[\d*]{{9}}))?~\.?(?: with)? "
        rf"{_TAIL}.{{0,200}}",
        "You have sent PHP 50.00 of GCash to JUANA D. 09171000567 with Ref. No. 9000737402430 on 08/25/2026.",
    ),
    _BOOK.wording(
        "receipt_with_message",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "w/ MSG:", "Your new balance is", "Ref. No."),
        rf"You have received {_A} (?:of|in) (?:your )?GCash from {PAYER_NAME}(?:[\s,]{{1,3}}{_PHONE})?~,? w/ MSG:(?P<reference>"
        rf".{{0,1200}}?)\. Your new balance is {COUNTRY.before('balance', decimals=2)}~\.? (?:(?P<date>\d{{1,2}}/\d{{1,2}}/"
        r"\d{2,4}) (?P<time>\d{1,2}:\d\d(?:~[AaPp][Mm])?)~\. )?Ref\. No\.~(?P<telco_id>\d{9,16})~\."
        rf"{ADVERT}",
        "You have received PHP 150.00 of GCash from JUANA D. 09171000567 w/ MSG: lunch. Your new balance is PHP 400.00. "
        "Ref. No. 9000737402431.",
        unverified=True,
    ),
)
