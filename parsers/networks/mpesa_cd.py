"""M-PESA, DR Congo, in French: a form with one field a line. `Ref:` is the ID; a wallet holds dollars or francs."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import Book

NETWORK: Final = "mpesa_cd"
DISPLAY_NAME: Final = "M-Pesa RDC"
SENDERS: Final = ("M-PESA",)
PLMNS: Final = ("63001",)
# The country has two clocks, and a receipt does not say which.
COUNTRY: Final = Country("CD", "CDF", r"USD|CDF", None)

_BOOK: Final = Book(NETWORK, COUNTRY)
_AT: Final = r"(?P<date>\d{1,2}/\d{1,2}/\d{4}) (?P<time>\d\d:\d\d:\d\d)"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("ARGENT RECU du", "Montant:", "Ref:", "Solde Disponible:"),
        rf"ARGENT RECU du (?P<payer_phone>\+?\d{{9,15}}) le {_AT}(?: Du compte:~(?P<payer_account>\d{{4,20}}))? "
        rf"Montant:~{COUNTRY.bare('amount')} (?P<currency>USD|CDF)(?: Frais:~{COUNTRY.bare('fee')} (?P=currency))? "
        rf"Ref:~(?P<telco_id>[A-Z0-9]{{8,15}}) Solde Disponible:~{COUNTRY.bare('balance')} (?P=currency)~\.?",
        "ARGENT RECU du 243881000264 le 13/01/2015 12:51:37\nDu compte: 1065952890\nMontant: 0.20 USD\nFrais: 0.00 "
        "USD\nRef: 186947842\nSolde Disponible: 0.20 USD",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("ARGENT ENVOYE", "Montant:", "Ref:", "Solde Disponible:"),
        rf"ARGENT ENVOYE [aà]u? (?P<payee_phone>\+?\d{{9,15}}) le {_AT}.{{0,80}}? Montant:~{COUNTRY.bare('amount')} "
        rf"(?P<currency>USD|CDF)(?: Frais:~{COUNTRY.bare('fee')} (?P=currency))? Ref:~(?P<telco_id>[A-Z0-9]{{8,15}}) Solde "
        rf"Disponible:~{COUNTRY.bare('balance')} (?P=currency)~\.?",
        "ARGENT ENVOYE au 243881000265 le 13/01/2015 12:55:37\nMontant: 0.10 USD\nFrais: 0.00 USD\nRef: 186947843\nSolde "
        "Disponible: 0.10 USD",
    ),
)
