"""Orange Money, Mali, in French. The balance is hidden; the only time is the one inside the ID."""

from typing import Final

from parsers.country import COMVIVA_ID, Country
from parsers.reading import Kind
from parsers.template import ADVERT, Book

NETWORK: Final = "orange_ml"
DISPLAY_NAME: Final = "Orange Money Mali"
SENDERS: Final = ("OrangeMoney",)
PLMNS: Final = ("61002",)
COUNTRY: Final = Country("ML", "XOF", r"FCFA|F\sCFA|XOF|F", 0, spaced=True)

_BOOK: Final = Book(NETWORK, COUNTRY)

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("ous avez re", "un transfert de", "ID:"),
        rf"(?:Bonjour, )?[Vv]ous avez re[cç]u un transfert de {COUNTRY.after('amount')} du "
        rf"(?P<payer_phone>\+?\d{{8,12}})(?:[\s,]{{1,3}}(?P<payer_name>[^.]{{1,60}}))?~\. ID:~{COMVIVA_ID}\.{ADVERT}",
        "Vous avez recu un transfert de 3300 FCFA du 79000543. ID: PP251226.2111.C00673. Consultez votre nouveau solde "
        "sur Max it ou au #144#6#. OFM MALI",
    ),
)
