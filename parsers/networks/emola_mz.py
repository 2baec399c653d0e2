"""e-Mola, Mozambique, in English. `Content:` is what the payer typed; the ID comes first."""

from typing import Final

from parsers.country import COMVIVA_ID, Country
from parsers.reading import Kind
from parsers.template import ADVERT, REFERENCE, Book

NETWORK: Final = "emola_mz"
DISPLAY_NAME: Final = "e-Mola"
SENDERS: Final = ("eMola",)
PLMNS: Final = ("64303",)
COUNTRY: Final = Country("MZ", "MZN", r"MTs?|MZN|Mt", 120)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.after("amount")
_HEAD: Final = rf"Transaction ID~:~{COMVIVA_ID}~\."
_AT: Final = r"at (?P<time>\d\d:\d\d:\d\d) on (?P<date>\d{1,2}/\d{1,2}/\d{4})~\."
_BALANCE: Final = rf"Your account balance is {COUNTRY.after('balance', decimals=2)}~\."
_CLAUSES: Final = rf"(?: Fee~:~{COUNTRY.after('fee')}~\.)?"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("Transaction ID", "You received", "Content:", "Your account balance is"),
        rf"{_HEAD} You received {_A} from (?P<payer_phone>\+?\d{{9,12}})~,~name~:~(?P<payer_name>\S.{{0,99}}?) {_AT}{_CLAUSES} "
        rf"Content:{REFERENCE}\. {_BALANCE}{ADVERT}",
        "Transaction ID: PP260603.0854.K22241. You received 123.45MT from 871000567, name: JOAO DOMINGOS at 08:54:09 on "
        "03/06/2026. Content: K7M2QX. Your account balance is 1,234.56MT. In case of doubt, please call 100. Thank you!",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("Transaction ID", "You transferred", "Content:", "Your account balance is"),
        rf"{_HEAD} You transferred {_A} to (?P<payee_phone>\+?\d{{9,12}})~,~name~:~(?P<payee_name>\S.{{0,99}}?) {_AT}{_CLAUSES} "
        rf"Content:{REFERENCE}\. {_BALANCE}.{{0,300}}",
        "Transaction ID: PP260603.0855.K22242. You transferred 100.00MT to 871000567, name: JOAO DOMINGOS at 08:55:09 on "
        "03/06/2026. Fee: 0.00MT. Content: pao. Your account balance is 1,134.56MT. In case of doubt, please call 100.",
    ),
)
