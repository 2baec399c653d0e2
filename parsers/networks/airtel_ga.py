"""Airtel Money, Gabon, in French."""

from typing import Final

from parsers.country import COMVIVA_ID, Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book, Found

NETWORK: Final = "airtel_ga"
DISPLAY_NAME: Final = "Airtel Money Gabon"
SENDERS: Final = ("AirtelMoney",)
PLMNS: Final = ("62803",)
COUNTRY: Final = Country("GA", "XAF", r"FCFA|F\sCFA|XAF|F", 60, spaced=True)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.after("amount")
_ID: Final = rf"TID~:~{COMVIVA_ID}"
_BALANCE: Final = (
    rf"(?:Votre )?(?:[Ss]olde(?: actuel)?|[Nn]ouveau solde)~:?~{COUNTRY.after('balance')}"
)


def _payer_code(found: Found) -> str | None:
    """An agent's code, or a name, stands where another receipt has a number."""
    code = found.pop("payer_code", None)
    if code is not None:
        found["payer_name"] = code
    return None


WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("Recu ", "olde", "TID"),
        rf"Recu {_A} d[ue] (?:(?P<payer_phone>\+?(?:241|0)\d{{7,9}})(?:[\s,]{{1,3}}{PAYER_NAME})?|(?P<payer_code>[A-Z]\S.{{0,98}}?))"
        rf"~\. {_BALANCE}~\.(?:~Co[uû]t:.{{1,20}}?\.)?~{_ID}\.{ADVERT}",
        "Recu 3000FCFA du A67311. Solde actuel 3380.58FCFA. TID:CI251208.1015.B12345.",
        refine=_payer_code,
    ),
    _BOOK.wording(
        "merchant",
        Kind.BILL,
        ("Paiement de", "pour ref", "TID"),
        rf"Paiement de {_A} {PAYEE_NAME} pour ref (?P<reference>\w{{1,30}})(?: .{{0,60}}?)? a [eé]t[eé] effectu[eé] avec "
        rf"succ[eè]s~\. Co[uû]t~:~{COUNTRY.after('fee')}~\. {_BALANCE}~\.~{_ID}\..{{0,200}}",
        "Paiement de 7143 F EBILLING pour ref 5519603429 DigitechPrepai a ete effectue avec succes. Cout: 71.43 FCFA. "
        "Solde 380.58F. TID: MP251208.1101.C00012.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("Envoye ", "olde", "TID"),
        rf"Envoye {_A} [aà]u? (?P<payee_phone>\+?\d{{7,12}})(?:[\s,]{{1,3}}{PAYEE_NAME})?~\.(?: Co[uû]t~:~{COUNTRY.after('fee')}"
        rf"~\.)? {_BALANCE}~\.~{_ID}\..{{0,200}}",
        "Envoye 1000FCFA au 077000123. Cout: 30FCFA. Solde actuel 2350.58FCFA. TID:PP251208.1020.B12346.",
    ),
)
