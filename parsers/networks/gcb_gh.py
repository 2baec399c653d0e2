"""GCB Bank, Ghana: alerts of a bank account. They print no ID, so an operator has to check each payment."""

from typing import Final

from parsers.reading import Kind
from parsers.wording import AMOUNT, BALANCE, FEE, WordingFactory

NETWORK: Final = "gcb"
SENDERS: Final = ("GCB Bank",)

_FACTORY: Final = WordingFactory(NETWORK)
_HEAD: Final = r"Hi .{1,80}? Your A/C No~:~(?P<own_account>[X*\d]{4,20}) has been"
_TAIL: Final = (
    r"Desc:~(?P<reference>.{0,600}) Date:~(?P<date>\d{4}-\d\d-\d\d) (?P<time>\d\d:\d\d(?::\d\d)?) Bal:~"
    + BALANCE
    + r"~\.?"
)

WORDINGS: Final = (
    _FACTORY.wording(
        "credit",
        Kind.PAYMENT_RECEIVED,
        ("has been credited", "Desc:", "Date:", "Bal:"),
        rf"{_HEAD} credited(?: with)? {AMOUNT} {_TAIL}",
        "Hi Kofi Antwi\nYour A/C No:XXXX4111\nhas been credited GHS1,050.00\nDesc: Transfer to 9021000000411 Food "
        "T260\nDate: 2026-03-31 15:55\nBal: GHS 1,062.61",
    ),
    _FACTORY.wording(
        "debit",
        Kind.SENT,
        ("has been debited", "Desc:", "Date:", "Bal:"),
        rf"{_HEAD} debited(?: with)? {AMOUNT}(?: Fees?:~{FEE})? {_TAIL}",
        "Hi Kofi Antwi\nYour A/C No:XXXX4111\nhas been debited GHS270.00\nFees: GHS 2.70\nDesc: Bank to Wallet 0241000123 "
        "groceries\nDate: 2026-04-07 16:27\nBal: GHS 229.41",
    ),
    _FACTORY.wording(
        "warning",
        Kind.PROMO,
        ("Dear Valued Customer,", "GCB Bank"),
        r"Dear Valued Customer, .{0,60}GCB Bank .{1,800}",
        "Dear Valued Customer,\nGCB Bank will NEVER call, text, or send a link to request your Ghana Card or PIN. \nWe do "
        "NOT deactivate services for ignoring such messages. All updates are done at our branches.",
    ),
)
