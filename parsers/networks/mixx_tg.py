"""Mixx by Yas, Togo, in French. `Ref:` is the ID; a space parts thousands."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYER_NAME, Book

NETWORK: Final = "mixx_tg"
DISPLAY_NAME: Final = "Mixx by Yas Togo"
SENDERS: Final = ("Mixx By Yas",)
PLMNS: Final = ("61501",)
COUNTRY: Final = Country("TG", "XOF", r"FCFA|F\sCFA|XOF|F", 0, spaced=True)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.after("amount")
_DAY: Final = r"(?P<date>\d{1,2}-\d{1,2}-\d{2,4}) (?P<time>\d{1,2}:\d\d)"
_BALANCE: Final = rf"(?:Votre )?[Nn]ouveau solde(?: Mixx)?~:~{COUNTRY.after('balance')}"
_ID: Final = r"Ref~:~(?P<telco_id>\d{9,15})~\."
_FEE: Final = rf"(?: Frais~:~{COUNTRY.after('fee')}~\.)?"

WORDINGS: Final = (
    _BOOK.wording(
        "cash_out",
        Kind.CASH_OUT,
        ("Retrait de", "ouveau solde", "Ref"),
        rf"Retrait de {_A} effectu[eé] (?:par|aupr[eè]s de) (?P<agent>[^,]{{1,80}}), le {_DAY}~\.(?: Commis?sion~:~[\d\s.,]{{1,15}}"
        rf"FCFA~\.)?{_FEE} {_BALANCE}(?: \([^)]{{1,40}}\))?~\. {_ID}.{{0,200}}",
        "Retrait de 3 000 FCFA effectue par 93000603, le 19-06-26 20:31. Commision: 21 FCFA. Votre nouveau solde Mixx : 3 "
        "165 FCFA (commission incluse). Ref: 17931551307.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("Envoi de", "ouveau solde", "Ref"),
        rf"Envoi de {_A} au (?P<payee_phone>\+?\d{{8,12}})~\((?P<payee_name>[^)]{{1,100}})\)~,(?: le)? {_DAY}~\.{_FEE} "
        rf"{_BALANCE}~\. {_ID}.{{0,200}}",
        "Envoi de 20 000 FCFA au 90000121(TCHALLA JACOB), 19-06-26 09:47. Frais: 0 FCFA. Nouveau solde Mixx: 2 386 FCFA. "
        "Ref: 17912245176.",
    ),
    # The counterpart of what is sent; no genuine one has been seen.
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        (" du ", "ouveau solde", "Ref"),
        rf"(?:R[eé]ception de|Vous avez re[cç]u) {_A} du (?P<payer_phone>\+?\d{{8,12}})~\({PAYER_NAME}\)~,(?: le)? {_DAY}~\.{_FEE} "
        rf"{_BALANCE}~\. {_ID}{ADVERT}",
        "Vous avez recu 20 000 FCFA du 90000121(TCHALLA JACOB), 19-06-26 09:47. Nouveau solde Mixx: 22 386 FCFA. Ref: "
        "17912245177.",
        unverified=True,
    ),
)
