"""Airtel Money, DR Congo, in French and English. Four decimals; a wallet holds dollars or francs; the ID comes first."""

from typing import Final

from parsers.country import COMVIVA_ID, Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "airtel_cd"
DISPLAY_NAME: Final = "Airtel Money RDC"
SENDERS: Final = ("AirtelMoney",)
PLMNS: Final = ("63002",)
COUNTRY: Final = Country("CD", "CDF", r"USD|CDF", None)

_BOOK: Final = Book(NETWORK, COUNTRY)
_HEAD: Final = rf"(?:\d{{1,6}}\|)?Trans(?:action|\.)?~ID~:~{COMVIVA_ID}~[.:]~"
_A: Final = rf"{COUNTRY.bare('amount')} (?P<currency>USD|CDF)"
_PHONE: Final = r"(?P<payer_phone>\+?\d{9,12})"
_BALANCE: Final = rf"[Vv]otre (?:nouveau solde est(?: de)?|solde disponible est(?: de)?)~:?~{COUNTRY.bare('balance', decimals=4)}~(?P=currency)"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("ous avez recu", "Venant de", "solde disponible est"),
        rf"{_HEAD}Vous avez re[cç]u {_A}~\. Venant de {_PHONE} {PAYER_NAME}\. {_BALANCE}~\.{ADVERT}",
        "Trans. ID: CO200606.2320.C43804. Vous avez recu 1000.0000 CDF. Venant de 995000840 BOB MUTEBA. Votre solde "
        "disponible est de:  5500.0000 CDF.",
    ),
    _BOOK.wording(
        "cash_in",
        Kind.CASH_IN,
        ("ous avez recu", "a partir de", "nouveau solde est"),
        rf"{_HEAD}Vous avez re[cç]u {_A} [aà] partir de (?P<agent>[A-Z0-9]{{3,20}}),~{PAYER_NAME}\.~{_BALANCE}~\.~"
        rf"Co[uû]t~:~{COUNTRY.bare('fee')}~(?P=currency)~\.?",
        "Transaction ID: CI200530.1831.D59161:Vous avez recu 1.0000 USD a partir de ALBER901LK, ALBERTINE OMBE SHAKO. "
        "votre nouveau solde est 6.4960 USD.Cout:0.0000USD",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("You have sent", "available balance is"),
        rf"{_HEAD}(?:Dear Customer[.,] )?You have sent (?P<currency>USD|CDF) {COUNTRY.bare('amount')} to "
        rf"(?P<payee_phone>\+?\d{{9,12}}) {PAYEE_NAME}\. Your available balance is (?P=currency) {COUNTRY.bare('balance', decimals=4)}~\.",
        "9012|Trans ID: CO200530.1836.A69427. Dear Customer. You have sent USD 1.0000 to 975000099 ALBERTINE OMBE SHAKO. "
        "Your available balance is USD 5.2960.",
    ),
    _BOOK.wording(
        "receipt_english",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "available balance is"),
        rf"{_HEAD}(?:Dear Customer[.,] )?You have received (?P<currency>USD|CDF) {COUNTRY.bare('amount')} from {_PHONE} "
        rf"{PAYER_NAME}\. Your available balance is (?P=currency) {COUNTRY.bare('balance', decimals=4)}~\.{ADVERT}",
        "Trans ID: CI200530.1836.A69428. Dear Customer. You have received USD 2.0000 from 975000099 ALBERTINE OMBE SHAKO. "
        "Your available balance is USD 7.2960.",
        unverified=True,
    ),
)
