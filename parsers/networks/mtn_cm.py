"""MTN Mobile Money, Cameroon, in French. XAF and FCFA stand in one message; adverts are glued to the ID."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import (
    ADVERT,
    DATE,
    PAYEE_NAME,
    PAYEE_PHONE,
    PAYER_NAME,
    PAYER_PHONE,
    REFERENCE,
    TIME,
    Book,
    Found,
)

NETWORK: Final = "mtn_cm"
DISPLAY_NAME: Final = "MTN MoMo Cameroun"
SENDERS: Final = ("MobileMoney",)
PLMNS: Final = ("62401",)
COUNTRY: Final = Country("CM", "XAF", r"XAF|FCFA|F\sCFA|Fcfa", 60, spaced=True)

_BOOK: Final = Book(NETWORK, COUNTRY, order="ymd")
_A: Final = COUNTRY.after("amount")
_BALANCE: Final = rf"(?:Votre )?[Nn]ouveau solde(?: est)?(?: de)?~:?~{COUNTRY.after('balance')}"
_FEE: Final = rf"(?:Frais|FRAIS)~:?~{COUNTRY.after('fee')}"
_ID: Final = r"Transaction I[Dd]~:~(?P<telco_id>\d{9,15})"
_FROM: Final = rf"de {PAYER_NAME}"
_ACCOUNT: Final = rf"sur votre compte (?:Mobile Money|MoMo)(?: le)? {DATE} {TIME}~\."
_TYPED: Final = rf"Message de l'exp[eé]diteur~:{REFERENCE}\."
_RECEIVED: Final = ("sur votre compte", "Message de l'exp", "ouveau solde", "Transaction I")


def _nothing_typed(found: Found) -> str | None:
    """A dash stands for an empty message."""
    if found.get("reference") == "-":
        del found["reference"]
    return None


WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        _RECEIVED,
        rf"Vous avez re[cç]u {_A} {_FROM}~\({PAYER_PHONE}(?: [^()]{{0,100}})?\) {_ACCOUNT}~{_TYPED} {_BALANCE}~\.(?:~{_FEE}~\.)?"
        rf"~{_ID}\.{ADVERT}",
        "Vous avez recu 26800 XAF de ALPHA NEGOCE SARL (237652000001 ) sur votre compte Mobile Money 2026-06-23 "
        "09:50:32. Message de l'expediteur:K7M2QX. Votre nouveau solde est de 29398 FCFA. Frais: 0 XAF. Transaction ID: "
        "17618746367.Prix Cassés chez MoMo pour tout le monde !",
        refine=_nothing_typed,
    ),
    # No number: an agent's or a company's deposit.
    _BOOK.wording(
        "deposit",
        Kind.CASH_IN,
        _RECEIVED,
        rf"Vous avez re[cç]u {_A} de (?P<payer_name>[^\s(][^(]{{0,99}}?) {_ACCOUNT}~{_TYPED} {_BALANCE}~\.(?:~{_FEE}~\.)?"
        rf"~{_ID}\.{ADVERT}",
        "Vous avez recu 5000 FCFA de VEGA SA  sur votre compte Mobile Money 2018-01-29 13:52:55. Message de "
        "l'expediteur: . Votre nouveau solde est de: 5025 FCFA. Transaction Id: 225486194.",
        refine=_nothing_typed,
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("Transfert de", "avec succ", "Transaction I"),
        rf"Transfert de {_A} effectu[eé] avec succ[eè]s [aà] {PAYEE_NAME}\({PAYEE_PHONE}~\) le {DATE} {TIME}~\. {_FEE}~\. "
        rf"{_ID}~[;.] Reference~:{REFERENCE}\. {_BALANCE}~\..{{0,400}}",
        "Transfert de 5000 FCFA effectue avec succes a VALERIE SIMO (237674000517) le 2017-12-22 14:38:15. FRAIS 50 "
        "FCFA. Transaction Id: 205952040 ; Reference: Chaussures. Nouveau solde est: 5350 FCFA.",
        refine=_nothing_typed,
    ),
    _BOOK.wording(
        "paid",
        Kind.BILL,
        ("Votre paiement de", "effectu", "Transaction I"),
        rf"Votre paiement de {_A} [aà] {PAYEE_NAME} a [eé]t[eé] effectu[eé](?: avec succ[eè]s)? le {DATE} {TIME}~\. {_BALANCE}"
        rf"~\. {_FEE}~\. Message~:{REFERENCE}\. {_ID}~\..{{0,400}}",
        "Votre paiement de 10700 XAF a CANALPLUS DIRECT  a ete effectue le 2026-07-29 23:29:39. Votre nouveau solde: "
        "403 XAF. Frais: 0 XAF. Message: -. Transaction Id: 18171554471.  Emprunte jusqu'à 100 000 FCFA d'avance.",
        refine=_nothing_typed,
    ),
    _BOOK.wording(
        "balance",
        Kind.BALANCE,
        ("Solde Courant", "Solde disponible"),
        rf"Solde Courant~:~{COUNTRY.after('balance')}~;~Solde disponible~:.{{0,300}}",
        "Solde Courant: 0 FCFA ; Solde disponible: 0 FCFA ; Solde Credit de communication: 195 FCFA; Point de fidelite: 0",
    ),
)
