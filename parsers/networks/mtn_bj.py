"""MTN Mobile Money, Benin, in French: a long form, and a telegram style where `de` is in and `a` is out."""

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
)

NETWORK: Final = "mtn_bj"
DISPLAY_NAME: Final = "MTN MoMo Bénin"
SENDERS: Final = ("MobileMoney",)
PLMNS: Final = ("61603",)
COUNTRY: Final = Country("BJ", "XOF", r"FCFA|F\sCFA|Fcfa|XOF|F", 60, spaced=True)

_BOOK: Final = Book(NETWORK, COUNTRY, order="ymd")
_A: Final = COUNTRY.after("amount")
_SOLDE: Final = rf"Solde:~{COUNTRY.after('balance')}"
_FEE: Final = rf"Frais:~{COUNTRY.after('fee')}"
# It stands at the end without a full stop; a shorter one was cut.
_ID: Final = r"ID:~(?P<telco_id>\d{11,15})"
_AT: Final = rf"(?:le )?{DATE} {TIME}"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("un transfert de", "Reference:", "Nouveau solde", "ID de la transaction"),
        rf"Vous avez re[cç]u un transfert de {_A} de {PAYER_NAME}\({PAYER_PHONE}~\) {_AT}~\.~Reference:{REFERENCE}\. Nouveau "
        rf"solde~:~{COUNTRY.after('balance')}~\.(?:~{_FEE}~\.)? ID de la transaction~:~(?P<telco_id>\d{{9,15}})\.{ADVERT}",
        "Vous avez recu un transfert de 10000FCFA de MFS ORABANK DIS SP  (2290150000863) le 2025-11-24 17:14:31. "
        "Reference: K7M2QX. Nouveau solde: 10482 FCFA. ID de la transaction : 11043695924..",
    ),
    _BOOK.wording(
        "receipt_short",
        Kind.PAYMENT_RECEIVED,
        ("Transfert ", "Ref:", "Solde:", "ID:"),
        rf"Transfert {_A} de {PAYER_NAME}\({PAYER_PHONE}~\) {_AT}(?: {_FEE})? Ref:{REFERENCE} {_SOLDE} {_ID}\.?",
        "Transfert 10000F de AEIG GROUPE (2290151000272) 2025-11-25 19:36:20 Ref:K7M2QX Solde:14607F ID:11031556530",
    ),
    _BOOK.wording(
        "deposit",
        Kind.CASH_IN,
        ("Solde:", "Frais:", "ID:"),
        rf"D[eé]p[oô]t re[cç]u {_A} de (?P<agent>[^()]{{1,100}}\([^()]{{1,60}}\)) {_AT} {_SOLDE} {_ID}~{_FEE}~\.{ADVERT}",
        "Depot recu 3250F de NORBERT DOSSA BLADO (2290167000314 - ) le 2025-11-12 20:48:52 Solde:4222F "
        "ID:10909828573Frais:0F.",
    ),
    _BOOK.wording(
        "sent_short",
        Kind.SENT,
        ("Transfert ", "Frais:", "Solde:", "ID:"),
        rf"Transfert {_A} [aà] {PAYEE_NAME}\({PAYEE_PHONE}~\) {_AT} {_FEE} {_SOLDE} Ref:{REFERENCE} {_ID}\.?",
        "Transfert 5825F a WILFRID GBEDO DJIMA(2290161000275) 2025-11-24 20:38:42 Frais: 50F Solde:4607F Ref: Food  ID: "
        "11063372275",
    ),
    _BOOK.wording(
        "paid",
        Kind.BILL,
        ("Paiement ", "Frais:", "Solde:", "ID:"),
        rf"Paiement {_A} [aà] {PAYEE_NAME}\({PAYEE_PHONE}~\) {_AT} {_FEE} {_SOLDE}(?: Ref:{REFERENCE})? {_ID}\.?",
        "Paiement 2100F a LA VENDEUSE P2M (2290153000836) 2025-11-14 18:17:31 Frais:0F Solde:12997F ID:10926269484",
    ),
    _BOOK.wording(
        "cash_out",
        Kind.CASH_OUT,
        ("Retrait ", " via ", "Solde:", "ID:"),
        rf"Retrait {_A} via\s.{{1,150}}?\s{_AT} {_SOLDE} {_FEE} {_ID}\.?",
        "Retrait 4000F via WANDE SERVICE GEST 1(2290150000120 - RBCCM/ABC/22 A 51015) 2025-11-25 21:27:14 Solde:10482F "
        "Frais:125F ID:11011626502",
    ),
    _BOOK.wording(
        "promo",
        Kind.PROMO,
        ("MoMopay", "points de fid"),
        r"Gr[aâà]ce [aà] ton paiement via MoMopay .{1,300}",
        "Grace à ton paiement via MoMopay tu as gagné des points de fidélité",
        once=False,
    ),
)
