"""Orange Money, Cameroon, in French: one wording for both directions, `Transfert de X vers Y`.

Which of the two is the wallet's owner is not said. A transfer whose net amount includes a fee was sent by him; otherwise
`Details:` marks what came in. That is a guess, so what it reads is never matched without a person.
"""

from typing import Final

from parsers.country import COMVIVA_ID, Country
from parsers.reading import Kind
from parsers.template import ADVERT, Book

NETWORK: Final = "orange_cm"
DISPLAY_NAME: Final = "Orange Money Cameroun"
SENDERS: Final = ("OrangeMoney",)
PLMNS: Final = ("62402",)
COUNTRY: Final = Country("CM", "XAF", r"FCFA|F\sCFA|XAF|F", 60, spaced=True)

_BOOK: Final = Book(NETWORK, COUNTRY)
_NUMBER: Final = r"\+?\d{9,12}"
_ZERO: Final = r"0{1,3}(?:\.0{1,2})?"
_TAIL: Final = (
    rf"Commission~:~[\d.,\s]{{1,20}}(?:FCFA|XAF), Montant Net~:~[\d.,\s]{{1,20}}(?:FCFA|XAF), Nouveau Solde~:~"
    rf"{COUNTRY.after('balance')}~\.{ADVERT}"
)
_GUARDS: Final = (
    "Transfert de",
    " vers ",
    "ID transaction",
    "Montant Transaction",
    "Nouveau Solde",
)

WORDINGS: Final = (
    _BOOK.wording(
        "transfer_in",
        Kind.PAYMENT_RECEIVED,
        (*_GUARDS, "Details"),
        rf"Transfert de (?P<payer_phone>{_NUMBER}) (?P<payer_name>\S.{{0,99}}?) vers (?P<own_number>{_NUMBER}) .{{1,100}}? "
        rf"r[eé]ussi~\. D[eé]tails~:~ID transaction~:~{COMVIVA_ID}~, Montant Transaction~:~{COUNTRY.after('amount')}, "
        rf"Frais~:~(?P<fee>{_ZERO})\s{{0,3}}(?:FCFA|XAF), {_TAIL}",
        "Transfert de 656000382 AWONO EPSE KALLA vers 656000453 EBONGUE AGBOR reussi. Details: ID transaction: "
        "PP260730.1050.B28461, Montant Transaction: 30000FCFA, Frais: 0 FCFA, Commission: 0 FCFA, Montant Net: 30000 "
        "FCFA, Nouveau Solde: 30386.78 FCFA.",
        unverified=True,
    ),
    _BOOK.wording(
        "transfer_out",
        Kind.SENT,
        _GUARDS,
        rf"Transfert de (?P<own_number>{_NUMBER}) .{{1,100}}? vers (?P<payee_phone>{_NUMBER}) (?P<payee_name>\S.{{0,99}}?) "
        rf"r[eé]ussi~\. (?:D[eé]tails~:~(?!.{{0,150}}Frais~:~{_ZERO}\s{{0,3}}(?:FCFA|XAF)))?ID transaction~:~{COMVIVA_ID}~, "
        rf"Montant Transaction~:~{COUNTRY.after('amount')}, Frais~:~{COUNTRY.after('fee')}, {_TAIL}",
        "Transfert de 656000453 EBONGUE AGBOR vers 693000976 WAMBELE reussi. ID transaction: PP260727.1142.A77135, "
        "Montant Transaction: 554 FCFA, Frais: 5.1 FCFA, Commission: 0 FCFA, Montant Net: 559.1 FCFA, Nouveau Solde: "
        "386.78 FCFA.",
    ),
)
