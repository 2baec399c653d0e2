"""GhanaPay, Ghana: the wallet of the banks, on any SIM. The payer may be a masked bank account."""

from typing import Final

from parsers.reading import Kind
from parsers.wording import (
    ADVERT,
    AMOUNT,
    BALANCE,
    FEE_AND_LEVY,
    PAYEE_PHONE,
    PAYER_NAME,
    PAYER_PHONE,
    REFERENCE,
    WordingFactory,
    check_one_payer,
)

NETWORK: Final = "ghanapay"
SENDERS: Final = ("GhanaPay",)

_FACTORY: Final = WordingFactory(NETWORK)
_NEW_BALANCE: Final = rf"(?:(?:Your )?(?:[Nn]ew|[Aa]vailable|[Cc]urrent|[Ww]allet) )?[Bb]alance(?: is)?~:?~{BALANCE}"
_YOU: Final = r"(?:Hello [^,]{1,60},~)?[Yy]ou have"
_TAIL: Final = (
    rf"Ref(?:erence)?~:{REFERENCE}~\. (?:Transaction|Txn) I[Dd]~:~(?P<telco_id>\d{{9,15}})\. "
    rf"{_NEW_BALANCE}(?:~\.{FEE_AND_LEVY}{ADVERT}|$)"
)
_WALLET: Final = r"(?i:mobile money|money|cash|momo)"
_VIA: Final = r"(?P<via_network>[A-Za-z][\w&\s\-]{1,40}?)"

WORDINGS: Final = (
    _FACTORY.wording(
        "receipt_from_bank",
        Kind.PAYMENT_RECEIVED,
        ("ou have received", "Ref", "alance"),
        rf"{_YOU} received {AMOUNT} from~:?~(?P<payer_account>\d{{2,8}}[*xX]{{2,8}}\d{{2,6}})~,~{_VIA}~\. {_TAIL}",
        "You have received GHS 400.00 from: 2255****789 , Ecobank. Ref: REF: 705864944511576 . Transaction ID: "
        "618642757936. Balance: GHS 506.58.",
    ),
    _FACTORY.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("ou have received", "Ref", "alance"),
        rf"{_YOU} received {AMOUNT} from~:?~{PAYER_PHONE}(?:[\s,]{{1,4}}(?!.{{0,60}}\s{_WALLET}~\.){PAYER_NAME})?(?:[\s,]{{1,4}}"
        rf"(?P<via_network>[A-Z][A-Za-z]{{1,11}} {_WALLET}))?\s?\. {_TAIL}",
        "You have received GHS 20.00 from 0545000003 MTN MOBILE MONEY. Ref: K7M2QX. Transaction ID: 620307283234. Balance: "
        "GHS 33.58.",
        "Hello AMA, you have received GHS 20.00 from 0545000003 MTN MOBILE MONEY. Reference: K7M2QX. Transaction ID: 620307283234. "
        "Wallet Balance is: GHS 33.58",
    ),
    _FACTORY.wording(
        "receipt_name_first",
        Kind.PAYMENT_RECEIVED,
        ("ou have received", "Ref", "alance"),
        rf"{_YOU} received {AMOUNT} from~:?~(?P<payer_name>[A-Za-z].{{0,175}}?)(?:[\s,(]{{1,4}}{PAYER_PHONE}\)?)?\s?\. {_TAIL}",
        "You have received GHS 20.00 from KOFI ANTWI BADU 0545000003. Ref: K7M2QX. Transaction ID: 620307283234. Balance: "
        "GHS 33.58.",
        refine=check_one_payer,
    ),
    _FACTORY.wording(
        "sent",
        Kind.SENT,
        ("ou have transferred", "Ref", "alance"),
        rf"{_YOU} transferred {AMOUNT} to~:?~(?:{PAYEE_PHONE}|(?P<payee_account>[\d*xX]{{6,20}}))"
        rf"(?: on)?(?:[\s,]{{1,4}}[A-Z].{{0,60}}?)?\. {_TAIL}",
        "You have transferred GHS 20.00 to 0545000003 MTN MOBILE MONEY. Ref: uber. Transaction ID: 620307283233. Balance: "
        "GHS 13.58.",
    ),
)
