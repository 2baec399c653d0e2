"""Airtel Money, Uganda. IDs of 11 digits; receipts carry neither a reference nor a time."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book, Found

NETWORK: Final = "airtel_ug"
DISPLAY_NAME: Final = "Airtel Money Uganda"
SENDERS: Final = ("AirtelMoney",)
PLMNS: Final = ("64101",)
COUNTRY: Final = Country("UG", "UGX", r"UGX|UShs?|Ushs?", 180)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.before("amount")
_ID: Final = r"(?:Trans ID|TID|Txn ID)~:~(?P<telco_id>\d{9,15})"
_DATE: Final = r"Date~:?~(?P<date>\d{1,2}-[A-Za-z]{3,9}-\d{4}) (?P<time>\d{1,2}:\d\d)"
_BALANCE: Final = rf"(?:Your )?Bal(?:ance)?(?: is)?~:?~{COUNTRY.before('balance')}"
_CHARGE: Final = rf"(?:~(?:Charge|Fee)~:?~{COUNTRY.before('fee')}~\.)?"
_TAX: Final = rf"(?:~Tax~:?~{COUNTRY.before('tax')}~\.)?"


def _name_first(found: Found) -> str | None:
    """The number stands before the name or behind it."""
    if "name_first" in found:
        found["payer_name"] = found.pop("name_first")
        found["payer_phone"] = found.pop("phone_second")
    return None


WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "ID:"),
        rf"You have received {_A} from (?P<payer_phone>\+?\d{{9,12}})~,~{PAYER_NAME}\. {_BALANCE}~\.~{_ID}\.{ADVERT}",
        "You have received UGX 34,000 from 256748000631, September Emmanuella. Your Balance is UGX 45,299. Trans ID: "
        "56112848739.",
    ),
    _BOOK.wording(
        "cash_in",
        Kind.CASH_IN,
        ("Cash deposit of", "with Agent"),
        rf"Cash deposit of {_A} with Agent(?: ID)?~:~(?P<agent>\w{{3,20}})~\.{_CHARGE}~{_BALANCE}~\.~{_ID}~\.~{_DATE}~\.{_TAX}"
        rf"{ADVERT}",
        "Cash deposit of UGX 130,000 with Agent ID:98791200399. Balance UGX 184,139. Trans ID:57162390997. Date "
        "08-July-2021 17:21.",
    ),
    _BOOK.wording(
        "cash_out",
        Kind.CASH_OUT,
        ("Cash withdrawal of", "with Agent"),
        rf"Cash withdrawal of {_A} with Agent(?: ID)?~:~(?P<agent>\w{{3,20}})~\.{_CHARGE}~{_BALANCE}~\.~{_ID}~\.~{_DATE}~\.{_TAX}",
        "Cash withdrawal of UGX400,000 with Agent ID: 22282200399.ChargeUGX7,000. Bal UGX 9,762.TID: 57810228666. Date "
        "23-July-2021 10:37.Tax UGX 2,000.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("You have sent", "ID:"),
        rf"You have sent {_A} to {PAYEE_NAME}(?:[\s,]{{1,4}}(?P<payee_phone>\+?\d{{9,12}}))?\.{_CHARGE}~{_BALANCE}~\.~{_ID}\..{{0,200}}",
        "You have sent UGX 20,000 to September Emmanuella, 256748000631. Fee UGX 500. Balance UGX 25,299. Trans ID: "
        "56112848740.",
    ),
    # The form with the ID in front, of 2022 and later.
    _BOOK.wording(
        "receipt_id_first",
        Kind.PAYMENT_RECEIVED,
        ("RECEIVED", "TID", " from ", "Bal"),
        rf"RECEIVED~\.?~TID~:?~(?P<telco_id>\d{{9,15}})~\.~{_A} from (?:(?P<payer_phone>\+?\d{{9,12}})~,?~{PAYER_NAME}|"
        rf"(?P<name_first>[^\d\s].{{0,99}}?)[\s,]{{1,3}}(?P<phone_second>\+?\d{{9,12}}))~\.~{_BALANCE}~\.{ADVERT}",
        "RECEIVED. TID 104863458034. UGX 20,000 from 256748000631, September Emmanuella. Bal UGX 45,299. View txns on "
        "MyAirtel App",
        refine=_name_first,
        unverified=True,
    ),
    _BOOK.wording(
        "sent_id_first",
        Kind.SENT,
        ("SENT", "TID", " to ", "Bal"),
        rf"SENT~\.?~TID~:?~(?P<telco_id>\d{{9,15}})~\.~{_A} to {PAYEE_NAME}\.{_CHARGE}~{_BALANCE}~\..{{0,200}}",
        "SENT. TID 104863458035. UGX 5,000 to September Emmanuella 0748000631. Fee UGX 100. Bal UGX 40,199. Date "
        "08-July-2024 17:21.",
    ),
)
