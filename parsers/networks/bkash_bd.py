"""bKash, Bangladesh. A reference of several words may follow the number; the ID and the time stand at the end."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, Book

NETWORK: Final = "bkash_bd"
DISPLAY_NAME: Final = "bKash"
SENDERS: Final = ("bKash",)
PLMNS: Final[tuple[str, ...]] = ()
"""A wallet of any SIM of the country."""
COUNTRY: Final = Country("BD", "BDT", r"Tk\.?|BDT", 360)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.before("amount")
_PHONE: Final = r"(?P<payer_phone>(?:\+?88)?01[\d*]{9})"
_PAYEE: Final = r"(?P<payee_phone>(?:\+?88)?01\d{9})"
_REF: Final = r"(?:~\. Ref:? (?P<reference>\S.{0,1200}?))?~\."
_TAIL: Final = (
    rf"(?:Fee {COUNTRY.before('fee')}~\. )?Balance {COUNTRY.before('balance', decimals=2)}~\. TrxID~:?~"
    r"(?P<telco_id>[A-Z0-9]{8,12}) at (?P<date>\d{1,2}/\d{1,2}/\d{4}) (?P<time>\d{1,2}:\d\d)~\.?"
)

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "Balance", "TrxID"),
        rf"You have received {_A} from {_PHONE}{_REF} {_TAIL}{ADVERT}",
        "You have received Tk 6,400.00 from 01700000000. Fee Tk 0.00. Balance Tk 20,288.41. TrxID ABC1234XYZ at "
        "26/05/2026 10:58.",
        "You have received Tk 10.00 from 01712000234. Ref test payment. Fee Tk 0.00. Balance Tk 1,580.14. TrxID "
        "DED429A110 at 17/05/2026 15:45",
    ),
    _BOOK.wording(
        "merchant_receipt",
        Kind.MERCHANT_PAYMENT,
        ("You have received payment", "Balance", "TrxID"),
        rf"You have received payment {_A} from {_PHONE}{_REF} {_TAIL}{ADVERT}",
        "You have received payment Tk 500.00 from 01700000000. Ref K7M2QX. Fee Tk 0.00. Balance Tk 20,788.41. TrxID "
        "ABC1234XYA at 26/05/2026 11:58",
        unverified=True,
    ),
    _BOOK.wording(
        "cash_in",
        Kind.CASH_IN,
        ("Cash In", "successful", "Balance", "TrxID"),
        rf"Cash In {_A} from {_PHONE} successful~\. {_TAIL}{ADVERT}",
        "Cash In Tk 500.00 from 01900000000 successful. Fee Tk 0.00. Balance Tk 506.91. TrxID GHI9012RST at 29/05/2026 "
        "19:00. Download App: https://bKa.sh/8app",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("Send Money", "successful", "TrxID"),
        rf"Send Money {_A} to {_PAYEE} successful{_REF} {_TAIL}.{{0,300}}",
        "Send Money Tk 500.00 to 01900000000 successful. Ref rent. Fee Tk 5.00. Balance Tk 1.91. TrxID GHI9012RSU at "
        "29/05/2026 19:10",
    ),
    _BOOK.wording(
        "paid",
        Kind.BILL,
        ("Payment", "successful", "TrxID"),
        rf"Payment (?:of )?{_A} to (?P<payee_name>\S.{{0,99}}?) (?:is )?successful{_REF} {_TAIL}.{{0,300}}",
        "Payment Tk 120.00 to 01700000001 successful. Fee Tk 0.00. Balance Tk 1.91. TrxID GHI9012RSV at 29/05/2026 19:11",
    ),
    _BOOK.wording(
        "cash_out",
        Kind.CASH_OUT,
        ("Cash Out", "successful", "TrxID"),
        rf"Cash Out {_A} to (?P<agent>(?:\+?88)?01\d{{9}}) successful~\. {_TAIL}.{{0,300}}",
        "Cash Out Tk 500.00 to 01900000000 successful. Fee Tk 9.25. Balance Tk 6.91. TrxID GHI9012RSW at 29/05/2026 19:12",
    ),
)
