"""Orange Money, Madagascar, in French."""

from typing import Final

from parsers.country import COMVIVA_ID, Country
from parsers.reading import Kind
from parsers.template import ADVERT, Book

NETWORK: Final = "orange_mg"
DISPLAY_NAME: Final = "Orange Money Madagascar"
SENDERS: Final = ("OrangeMoney",)
PLMNS: Final = ("64602",)
COUNTRY: Final = Country("MG", "MGA", r"Ar|MGA|Ariary", 180, spaced=True)

_BOOK: Final = Book(NETWORK, COUNTRY)
_TAIL: Final = rf"Nouveau Solde~:~{COUNTRY.after('balance')}~\. Trans Id~:~{COMVIVA_ID}\.{ADVERT}"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("un transfert de", "venant du", "Nouveau Solde", "Trans Id"),
        rf"Vous avez re[cç]u un transfert de {COUNTRY.after('amount')} venant du (?P<payer_phone>\+?\d{{9,12}})~\.?~{_TAIL}",
        "Vous avez recu un transfert de 51300Ar venant du 0324000896\nNouveau Solde: 51328Ar. Trans Id: "
        "PP251104.0841.D90859. Orange Money vous remercie.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("transfert de", "vers le", "Nouveau Solde", "Trans Id"),
        rf"Votre transfert de {COUNTRY.after('amount')} vers le (?P<payee_phone>\+?\d{{9,12}})\s.{{0,60}}?(?:Frais~:~"
        rf"{COUNTRY.after('fee')}~\.?~)?{_TAIL}",
        "Votre transfert de 1000Ar vers le 0324000896 est reussi. Frais: 50Ar. Nouveau Solde: 50278Ar. Trans Id: "
        "PP251104.0841.D90860. Orange Money vous remercie.",
    ),
)
