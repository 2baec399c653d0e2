"""Golis Sahal, Somalia: English and Somali twins with one ID. Dollars, balances with three decimals, month first."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "sahal_so"
DISPLAY_NAME: Final = "Golis Sahal"
SENDERS: Final = ("SAHAL",)
PLMNS: Final = ("63730",)
COUNTRY: Final = Country("SO", "USD", r"\$|USD", 180)

_BOOK: Final = Book(NETWORK, COUNTRY, order="mdy")
_A: Final = COUNTRY.before("amount")
_PHONE: Final = r"\((?P<payer_phone>\+?\d{7,12})\)"
_AT: Final = r"(?P<date>\d{1,2}/\d{1,2}/\d{4}) (?P<time>\d{1,2}:\d\d:\d\d [AP]M)"
_BALANCE: Final = rf"{COUNTRY.before('balance', decimals=3)}~\."

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("[SAHAL]", "Received from", "balance is"),
        rf"\[SAHAL\] Ref:~(?P<telco_id>\d{{8,12}}) [Cc]onfirmed~\. {_A} [Rr]eceived from {PAYER_NAME}~{_PHONE} on {_AT}~\. New "
        rf"A/c balance is {_BALANCE}{ADVERT}",
        "[SAHAL] Ref:307424744 confirmed. $100 Received from c/rasaaq axmad(7760077) on 10/23/2014 12:07:57 PM. New A/c "
        "balance is $101.780.",
    ),
    _BOOK.wording(
        "receipt_somali",
        Kind.PAYMENT_RECEIVED,
        ("[SAHAL]", "ka heshay", "Haraagaagu waa"),
        rf"\[SAHAL\] Tix:~(?P<telco_id>\d{{8,12}}) waxaad {_A} ka heshay {PAYER_NAME}~{_PHONE} tar:~{_AT}~\. Haraagaagu waa "
        rf"{_BALANCE}{ADVERT}",
        "[SAHAL] Tix:302527198 waxaad $1 ka heshay CABDULAAHI MIRE AXMAD MUSE(252633000717) tar:11/6/2014 10:32:40 AM. "
        "Haraagaagu waa $55.980.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("[SAHAL]", "ent to", "balance is"),
        rf"\[SAHAL\] Ref:~(?P<telco_id>\d{{8,12}}) [Cc]onfirmed~\. {_A} [Ss]ent to {PAYEE_NAME}\((?P<payee_phone>\+?\d{{7,12}})\) "
        rf"on {_AT}~\. New A/c balance is {_BALANCE}",
        "[SAHAL] Ref:307424745 confirmed. $10 Sent to c/rasaaq axmad(7760077) on 10/23/2014 12:17:57 PM. New A/c balance "
        "is $91.780.",
    ),
)
