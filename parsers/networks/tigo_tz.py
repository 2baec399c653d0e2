"""Tigo Pesa, now Mixx by Yas, Tanzania. The receipt begins with the balance; IDs of three forms over the years."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "tigo_tz"
DISPLAY_NAME: Final = "Mixx by Yas Tanzania"
SENDERS: Final = ("TIGOPESA", "MixxByYas")
PLMNS: Final = ("64002",)
COUNTRY: Final = Country("TZ", "TZS", r"TS[Hh]\.?|Tsh\.?|TSh\.?|TZS", 180)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.before("amount")
# One published ID has no possible day in it, so the day inside is not checked.
_ID: Final = r"TxnI[dD]~:~(?P<undated_id>[A-Z]{2}\d{6}\.\d{4}\.[A-Z]\d{5,6}|\d{9,15})~\."
_DAY: Final = r"(?P<date>\d{1,2}/\d{1,2}/\d{2,4}) (?P<time>\d{1,2}:\d\d(?:~[AaPp][Mm])?)"
_BALANCE: Final = rf"New balance is {COUNTRY.before('balance')}~\."

WORDINGS: Final = (
    _BOOK.wording(
        "receipt_balance_first",
        Kind.PAYMENT_RECEIVED,
        ("New balance is", "You have received", "TxnI"),
        rf"{_BALANCE}~You have received {_A} from {PAYER_NAME},~(?P<payer_phone>(?:\+?255|0)\d{{9}})~\. {_DAY}~;? with "
        rf"{_ID}{ADVERT}",
        "New balance is Tsh 138,522.\nYou have received Tsh 50,000\nfrom CHARLES KOMBO,\n0727000074. 31/01/2014 05:36 PM; "
        "with TxnId:\nPP141141.1843.D82201.\nTransact with...",
    ),
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "New balance is", "TxnI"),
        rf"You have received {_A} from {PAYER_NAME}~[,\-]~(?P<payer_phone>(?:\+?255|0)\d{{9}})~\. {_BALANCE} {_ID} {_DAY}~\.?"
        rf"{ADVERT}",
        "You have received TSh 52,000 from JANETH MOSHA - 255601861282. New balance is TSh 60,000. TxnID: 26499781175440. "
        "14/06/26 19:30.",
        unverified=True,
    ),
    _BOOK.wording(
        "cash_in",
        Kind.CASH_IN,
        ("Cash-In of", "from Agent", "New balance is", "TxnI"),
        rf"Cash-In of {_A} from Agent~-~(?P<agent>\S.{{0,99}}?) is successful~\. {_BALANCE} {_ID} {_DAY}~\.?{ADVERT}",
        "Cash-In of TSh 100,000 from Agent - PENINA SUKUMA is successful. New balance is TSh 100,000. TxnId: 13492757290. "
        "16/08/23 15:19. Dial150 01# or use Tigo Pesa App. No Levy while sending money with Tigo Pesa",
    ),
    _BOOK.wording(
        "pending",
        Kind.OTHER,
        ("You have sent", "TxnI", "Please wait for confirmation"),
        rf"You have sent {_A} to (?:\w{{3,20}} receiver )?{PAYEE_NAME}~-~(?P<payee_phone>\+?\d{{9,15}})~\.(?: Charges "
        rf"{COUNTRY.before('fee')}~\.)?(?: VAT {COUNTRY.before('tax')}~\.)? {_BALANCE} {_ID} {_DAY}~\.? Please wait for "
        r"confirmation.{0,200}",
        "You have sent TSh 52,000 to Vodacom receiver JANETH MOSHA - 255601861282. Charges TSh 1,125. VAT TSh 172. New "
        "balance is TSh 0. TxnID: 26499781175439. 14/06/26 19:19 Please wait for confirmation. Every Transaction is a "
        "Winning Goal!",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("You have sent", "New balance is", "TxnI"),
        rf"You have sent {_A} to (?:\w{{3,20}} receiver )?{PAYEE_NAME}~-~(?P<payee_phone>\+?\d{{9,15}})~\.(?: Charges "
        rf"{COUNTRY.before('fee')}~\.)?(?: VAT {COUNTRY.before('tax')}~\.)? {_BALANCE} {_ID} {_DAY}"
        r"(?!.{0,40}wait for).{0,300}",
        "You have sent TSh 2,000 to JANETH MOSHA - 255601861282. Charges TSh 100. VAT TSh 15. New balance is TSh 90. "
        "TxnID: 26499781175441. 14/06/26 19:40",
    ),
)
