"""Orange Money, Côte d'Ivoire, in French. It prints no ID, so a person has to look at it."""

from typing import Final

from parsers.country import COMVIVA_ID, Country
from parsers.reading import Kind
from parsers.template import ADVERT, Book

NETWORK: Final = "orange_ci"
DISPLAY_NAME: Final = "Orange Money Côte d'Ivoire"
SENDERS: Final = ("OrangeMoney",)
PLMNS: Final = ("61203",)
COUNTRY: Final = Country("CI", "XOF", r"FCFA|F\sCFA|XOF", 0, spaced=True)

_BOOK: Final = Book(NETWORK, COUNTRY)

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("Bonjour, vous avez re", "un transfert de"),
        rf"Bonjour, vous avez re[cç]u un transfert de {COUNTRY.after('amount')} du (?P<payer_phone>\+?(?:225)?\d{{10}})"
        rf"(?: (?P<payer_name>[^.]{{1,60}}))?~\.(?:~(?:Votre )?[Nn]ouveau solde(?: est de)?~:?~{COUNTRY.after('balance')}~\.)?"
        rf"(?:~(?:ID|Ref)~:~{COMVIVA_ID}\.?)?{ADVERT}",
        "Bonjour, vous avez recu un transfert de 450.00 FCFA du 0709000973.",
    ),
)
