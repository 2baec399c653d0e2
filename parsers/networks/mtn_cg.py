"""MTN Mobile Money, Congo (Brazzaville), in French. The printed time has no month, so it stays as it is printed."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import PAYER_NAME, PAYER_PHONE, REFERENCE, Book

NETWORK: Final = "mtn_cg"
DISPLAY_NAME: Final = "MTN MoMo Congo"
SENDERS: Final = ("MobileMoney",)
PLMNS: Final = ("62910",)
COUNTRY: Final = Country("CG", "XAF", r"XAF|FCFA|F\sCFA|Fcfa", 60, spaced=True)

_BOOK: Final = Book(NETWORK, COUNTRY, order="ymd")

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("sur votre compte", "Message de l'exp", "ID:"),
        rf"[Vv]ous avez re[cç]u {COUNTRY.after('amount')} de {PAYER_NAME}\({PAYER_PHONE}~\) sur votre compte [Mm]obile "
        rf"[Mm]oney le (?:(?P<compact_time>20\d{{9,12}})|(?P<date>\d{{4}}-\d\d-\d\d) (?P<time>\d\d:\d\d:\d\d))~\. Message "
        rf"de l'exp[eé]diteur~:{REFERENCE}\.(?: Votre nouveau solde est de~:?~{COUNTRY.after('balance')}~\.)? "
        r"ID:~(?P<telco_id>\d{10,15})\.?",
        "vous avez recu 6000 FCFA de OKEMBA (242066000841) sur votre compte mobile Money le 202621153849. Message de "
        "l'expediteur: 1. ID: 8070646312",
    ),
)
