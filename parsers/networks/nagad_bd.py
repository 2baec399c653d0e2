"""Nagad, Bangladesh: labelled fields, mostly one a line. `N/A` is an empty reference."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, REFERENCE, Book, Found

NETWORK: Final = "nagad_bd"
DISPLAY_NAME: Final = "Nagad"
SENDERS: Final = ("NAGAD",)
PLMNS: Final[tuple[str, ...]] = ()
COUNTRY: Final = Country("BD", "BDT", r"Tk\.?|BDT", 360)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = rf"Amount~:~{COUNTRY.before('amount')}"
_TAIL: Final = (
    rf"TxnID~:~(?P<telco_id>[A-Z0-9]{{8,12}})(?: (?:Fee|Charge|Comm)~:~{COUNTRY.before('fee')})? Balance~:~"
    rf"{COUNTRY.before('balance')} (?P<date>\d{{1,2}}/\d{{1,2}}/\d{{4}}) (?P<time>\d{{1,2}}:\d\d)"
)


def _not_available(found: Found) -> str | None:
    """`N/A` is printed where nothing was typed."""
    if found.get("reference") == "N/A":
        del found["reference"]
    return None


WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("Money Received.", "Amount:", "Sender:", "Ref:", "TxnID", "Balance"),
        rf"Money Received\. {_A} Sender~:~(?P<payer_phone>(?:\+?88)?01[\d*]{{9}}) Ref:{REFERENCE} {_TAIL}{ADVERT}",
        "Money Received. Amount: Tk 1500.00 Sender: 01712000678 Ref: N/A TxnID: 71A2B3C4 Balance: Tk 4500.00 17/07/2026 "
        "21:00",
        refine=_not_available,
    ),
    _BOOK.wording(
        "cash_in",
        Kind.CASH_IN,
        ("Cash In Received.", "Amount:", "TxnID", "Balance"),
        rf"Cash In Received\. {_A} Uddokta~:~(?P<agent>[\d*]{{9,14}}) {_TAIL}{ADVERT}",
        "Cash In Received.\nAmount: Tk 1500.00\nUddokta: 01712000678\nTxnID: 71A2B3C5\nBalance: Tk 6000.00\n17/07/2026 "
        "21:05",
        unverified=True,
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("Money Sent Successfully.", "Amount:", "Receiver:", "TxnID", "Balance"),
        rf"Money Sent Successfully\. {_A} Receiver~:~(?P<payee_phone>(?:\+?88)?01\d{{9}}) Ref~:{REFERENCE} {_TAIL}.{{0,200}}",
        "Money Sent Successfully.\nAmount: Tk 100.00\nReceiver: 01712000678\nRef: N/A\nTxnID: 71A2B3C6\nFee: Tk "
        "5.00\nBalance: Tk 5895.00\n17/07/2026 21:10",
        refine=_not_available,
    ),
)
