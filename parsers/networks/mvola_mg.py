"""MVola, Madagascar, in French. `Raison` is what the payer typed, `Ref` the ID; a space parts thousands."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import PAYEE_NAME, PAYER_NAME, REFERENCE, Book

NETWORK: Final = "mvola_mg"
DISPLAY_NAME: Final = "MVola"
SENDERS: Final = ("MVola",)
PLMNS: Final = ("64604",)
COUNTRY: Final = Country("MG", "MGA", r"Ar|MGA", 180, spaced=True)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.after("amount")
_AT: Final = r"le (?P<date>\d{1,2}/\d{1,2}/\d{2,4}) [aà] (?P<time>\d{1,2}:\d\d)"
# At the end, without a full stop: a shorter one was cut.
_TAIL: Final = rf"Solde~:~{COUNTRY.after('balance')}~\. Ref~:?~(?P<telco_id>\d{{10,15}})~\.?"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("Ar re", "Raison:", "Solde:", "Ref"),
        rf"{_A} re[cç]u de {PAYER_NAME}\(?(?P<payer_phone>(?:\+?261|0)\d{{9}})\)? {_AT}~\. Raison:{REFERENCE}\. {_TAIL}",
        "1 000 Ar recu de Jean Romain 0381000343 le 22/08/26 a 23:02. Raison: K7M2QX. Solde: 2 859 Ar. Ref 5821674034",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("envoy", "Raison:", "Solde:", "Ref"),
        rf"{_A} envoy[eé] [aà] {PAYEE_NAME}\(?(?P<payee_phone>(?:\+?261|0)\d{{9}})\)? {_AT}~\.(?: Frais~:~"
        rf"{COUNTRY.after('fee')}~\.)? Raison:{REFERENCE}\. {_TAIL}",
        "1 000 Ar envoye a Jean Romain 0381000343 le 22/08/26 a 23:12. Frais: 50 Ar. Raison: riz. Solde: 1 809 Ar. Ref "
        "5821674035",
    ),
)
