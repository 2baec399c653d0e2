"""G-Money, Ghana: GCB's wallet, on any SIM. No genuine receipt could be found, so what it reads is only shown."""

from typing import Final

from parsers.country import GHANA
from parsers.reading import Kind
from parsers.template import (
    ADVERT,
    AMOUNT,
    BALANCE,
    PAYEE_NAME,
    PAYEE_PHONE,
    PAYER_NAME,
    PAYER_PHONE,
    REFERENCE,
    Book,
)

NETWORK: Final = "gmoney"
DISPLAY_NAME: Final = "G-Money"
SENDERS: Final = ("G-Money",)
PLMNS: Final[tuple[str, ...]] = ()
COUNTRY: Final = GHANA

_BOOK: Final = Book(NETWORK, COUNTRY, unverified=True)
_TAIL: Final = (
    rf"(?:Ref(?:erence)?:{REFERENCE}\. )?Transaction ID:~(?P<telco_id>\d{{9,15}})\. Your (?:new )?G-Money balance is "
    rf"{BALANCE}~\.{ADVERT}"
)

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "Transaction ID:", "G-Money balance is"),
        rf"You have received {AMOUNT} from {PAYER_NAME} {PAYER_PHONE}~\. {_TAIL}",
        "You have received GHS 40.00 from KOFI ANTWI BADU 0241000123. Ref: K7M2QX. Transaction ID: 512163210186. Your "
        "G-Money balance is GHS 90.00.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("You have sent", "Transaction ID:", "G-Money balance is"),
        rf"You have (?:sent|transferred) {AMOUNT} to {PAYEE_NAME} {PAYEE_PHONE}~\. {_TAIL}",
        "You have sent GHS 40.00 to KOFI ANTWI BADU 0241000123. Ref: rent. Transaction ID: 512163210187. Your G-Money "
        "balance is GHS 50.00.",
    ),
)
