"""G-Money, Ghana: the wallet of GCB, on any SIM. No genuine receipt could be found, so its readings are only shown."""

from typing import Final

from parsers.reading import Kind
from parsers.wording import (
    ADVERT,
    AMOUNT,
    BALANCE,
    DATE,
    PAYEE_NAME,
    PAYEE_PHONE,
    PAYER_NAME,
    PAYER_PHONE,
    REFERENCE,
    TIME,
    WordingFactory,
    check_one_payer,
)

NETWORK: Final = "gmoney"
SENDERS: Final = ("G-Money",)

_FACTORY: Final = WordingFactory(NETWORK, unverified=True)
_ID: Final = r"(?:Transaction|Txn) I[Dd]~:~(?P<telco_id>\d{9,15})\."
_PHONE: Final = rf"(?:[\s\-,(]{{1,4}}{PAYER_PHONE}\)?)"
_AT: Final = rf"(?: on {DATE},?(?: at)? {TIME})?"
_TAIL: Final = (
    rf"(?:Ref(?:erence)?:{REFERENCE}\. )?Transaction ID:~(?P<telco_id>\d{{9,15}})\. Your (?:new )?G-Money balance is "
    rf"{BALANCE}~\.{ADVERT}"
)
_TAIL_WITH_REFERENCE: Final = (
    rf"Ref(?:erence)?~:{REFERENCE}\. {_ID} (?:Your )?(?:(?:[Nn]ew|[Cc]urrent|[Aa]vailable) )?G-Money "
    rf"[Bb]alance(?: is|~:)~{BALANCE}~\.{ADVERT}"
)

WORDINGS: Final = (
    _FACTORY.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "Ref", "alance", "G-Money "),
        rf"You have received {AMOUNT} from (?P<payer_name>[A-Za-z].{{0,175}}?){_PHONE}{_AT}~\. {_TAIL_WITH_REFERENCE}",
        "You have received GHS 40.00 from KOFI ANTWI BADU 0241000123. Ref: K7M2QX. Transaction ID: 512163210186. Your "
        "G-Money balance is GHS 90.00.",
        refine=check_one_payer,
    ),
    _FACTORY.wording(
        "receipt_number_first",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "Ref", "alance", "G-Money "),
        rf"You have received {AMOUNT} from {PAYER_PHONE}[\s\-,]{{1,4}}{PAYER_NAME}{_AT}~\. {_TAIL_WITH_REFERENCE}",
        "You have received GHS 40.00 from 0241000123 KOFI ANTWI BADU. Ref: K7M2QX. Transaction ID: 512163210186. Your "
        "G-Money balance is GHS 90.00.",
    ),
    _FACTORY.wording(
        "receipt_without_reference",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "Transaction ID:", "G-Money balance is"),
        rf"You have received {AMOUNT} from (?P<payer_name>[A-Za-z].{{0,175}}?){_PHONE}{_AT}~\. {_ID} Your (?:new )?"
        rf"G-Money balance is {BALANCE}~\.{ADVERT}",
        "You have received GHS 40.00 from KOFI ANTWI BADU 0241000123. Transaction ID: 512163210186. Your G-Money balance "
        "is GHS 90.00.",
    ),
    _FACTORY.wording(
        "sent",
        Kind.SENT,
        ("You have sent", "Transaction ID:", "G-Money balance is"),
        rf"You have (?:sent|transferred) {AMOUNT} to {PAYEE_NAME} {PAYEE_PHONE}~\. {_TAIL}",
        "You have sent GHS 40.00 to KOFI ANTWI BADU 0241000123. Ref: rent. Transaction ID: 512163210187. Your G-Money "
        "balance is GHS 50.00.",
    ),
)
