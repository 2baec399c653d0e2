"""EcoCash, Lesotho. The currency is a single letter."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "ecocash_ls"
DISPLAY_NAME: Final = "EcoCash Lesotho"
SENDERS: Final = ("EcoCash",)
PLMNS: Final = ("65102",)
COUNTRY: Final = Country("LS", "LSL", r"M|LSL", 120)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.before("amount")
# Published IDs hold invented days and letters, so the day inside is not checked.
_ID: Final = r"Approval Code~:~(?P<undated_id>[A-Z]{2}\d{6}\.\d{4}\.[A-Z0-9]{6,7})~\."
_BALANCE: Final = rf"New wallet balance~:~{COUNTRY.before('balance', decimals=2)}~\."

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("Transfer Confirmation.", "Approval Code", "New wallet balance"),
        rf"EcoCash: Transfer Confirmation\. {_A} from {PAYER_NAME}\.? {_ID} {_BALANCE}{ADVERT}",
        "EcoCash: Transfer Confirmation. M 30 from LOREM IPSUM Approval Code: PP250514.0842.A04937. New wallet balance: "
        "M 30.27.",
    ),
    _BOOK.wording(
        "merchant_receipt",
        Kind.MERCHANT_PAYMENT,
        ("You have received", "Approval Code", "New wallet balance"),
        rf"(?:EcoCash: )?You have received {_A} from (?P<payer_phone>\+?\d{{8,12}})~-~{PAYER_NAME}\. {_ID} {_BALANCE}{ADVERT}",
        "You have received M 30 from 58000678 -LOREM IPSUM. Approval Code: MP250514.0843.A04938. New wallet balance: M 30.27.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("Transfer Confirmation", " to ", "Approval Code", "New wallet balance"),
        rf"EcoCash: Transfer Confirmation[.:] {_A} to {PAYEE_NAME}\.? {_ID} {_BALANCE}.{{0,200}}",
        "EcoCash: Transfer Confirmation. M 30 to LOREM IPSUM Approval Code: PP250514.0844.A04939. New wallet balance: M 30.27.",
    ),
)
