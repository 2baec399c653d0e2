"""telebirr, Ethiopia. The sender is a short code; a person's number is masked and glued to the name."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "telebirr_et"
DISPLAY_NAME: Final = "telebirr"
SENDERS: Final = ("127",)
PLMNS: Final = ("63601",)
COUNTRY: Final = Country("ET", "ETB", r"ETB|Birr", 180)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.before("amount")
_DEAR: Final = r"Dear [^,\n]{1,60}?,? "
_AT: Final = r"on (?P<date>\d{1,2}/\d{1,2}/\d{4}|\d{4}-\d\d-\d\d) (?P<time>\d\d:\d\d:\d\d)"
_ID: Final = r"(?P<telco_id>[A-Z0-9]{8,12})"
_BALANCE: Final = (
    rf"Your current (?:E-Money Account )?balance is {COUNTRY.before('balance', decimals=2)}~\."
)

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "Your transaction number is", "balance is"),
        rf"{_DEAR}You have received {_A} from {PAYER_NAME}\((?P<payer_phone>\+?[\d*]{{9,13}})\) {_AT}~\. Your transaction "
        rf"number is {_ID}~\. {_BALANCE}{ADVERT}",
        "Dear Hana You have received ETB 1,000.00 from PERSON NAME(2519****2011)  on 31/01/2026 16:51:21. Your transaction "
        "number is DAV3X6DC72. Your current E-Money Account balance is ETB 9,719.23. Thank you for using telebirr Ethio "
        "telecom",
    ),
    _BOOK.wording(
        "receipt_from_bank",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "by transaction number", "balance is"),
        rf"{_DEAR}You have received {_A} by transaction number {_ID} {_AT} from {PAYER_NAME} to your telebirr Account "
        rf"[\d*]{{9,13}}~-~.{{1,60}}?\. {_BALANCE}{ADVERT}",
        "Dear Hana, You have received  ETB 1,200.00 by transaction number DAV5HVJD30 on 2026-01-31 11:26:23 from Zemen "
        "Bank to your telebirr Account 251911000119 - Hana. Your current balance is ETB 1,423.23. Thank you for using "
        "telebirr Ethio telecom",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("You have transferred", "Your transaction number is", "balance is"),
        rf"{_DEAR}You have transferred {_A} to {PAYEE_NAME}\((?P<payee_phone>\+?[\d*]{{9,13}})\) {_AT}~\. Your transaction "
        rf"number is {_ID}~\..{{0,250}}? {_BALANCE}.{{0,300}}",
        "Dear Hana You have transferred ETB 100.00 to PERSON NAME (2519****2011) on 31/01/2026 16:55:21. Your transaction "
        "number is DAV3X6DC73. The service fee is ETB 0.87 and 15% VAT on the service fee is ETB 0.13. Your current "
        "E-Money Account balance is ETB 9,618.23. Thank you for using telebirr Ethio telecom",
    ),
)
