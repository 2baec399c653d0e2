"""M-PESA, Lesotho. The currency is a single letter, the ID has 12 characters and may begin with zeros."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "mpesa_ls"
DISPLAY_NAME: Final = "M-Pesa Lesotho"
SENDERS: Final = ("M-PESA",)
PLMNS: Final = ("65101",)
COUNTRY: Final = Country("LS", "LSL", r"M|LSL", 120)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.before("amount")
_HEAD: Final = r"(?:Transact(?:ion)? ID~:?~)(?P<telco_id>[A-Z0-9]{8,14}) [Cc]onfirmed~\.?~"
_AT: Final = r"on (?P<date>\d{1,2}/\d{1,2}/\d{2,4}) at (?P<time>\d{1,2}:\d\d~[AaPp][Mm])"
_BALANCE: Final = rf"New M-P[Ee][Ss][Aa] balance is {COUNTRY.before('balance', decimals=2)}"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("Transact", "onfirmed", "You have received", "balance is"),
        rf"{_HEAD}You have received {_A} from (?:(?:(?P<payer_phone>\+?266\d{{8}}|\d{{8}})|(?P<payer_account>\d{{4,7}}))~-~)?"
        rf"{PAYER_NAME} {_AT}~\.?~{_BALANCE}~\.?{ADVERT}",
        "Transact ID 00W5RLCCL672 Confirmed.You have received M150.00 from 26658000398 - BOLELOANE MPHAKA on 10/5/25 at "
        "4:30 PM New M-Pesa balance is M151.80 Customer Care :114",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("Transact", "onfirmed", "sent to", "balance is"),
        rf"{_HEAD}{_A} sent to (?:(?P<payee_phone>\+?\d{{8,15}})~-~)?{PAYEE_NAME} {_AT}~\.?.{{0,120}}?{_BALANCE}.{{0,300}}",
        "Transact ID 00W5RLCCL673 Confirmed. M50.00 sent to 26658000399 - THABO MOKOENA on 10/5/25 at 4:35 PM New M-Pesa "
        "balance is M101.80 Customer Care :114",
    ),
)
