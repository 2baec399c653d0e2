"""M-Pesa, Mozambique, in Portuguese; the ID stands behind `Confirmado`. No reference."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "mpesa_mz"
DISPLAY_NAME: Final = "M-Pesa Moçambique"
SENDERS: Final = ("M-Pesa",)
PLMNS: Final = ("64304",)
COUNTRY: Final = Country("MZ", "MZN", r"MTs?|MZN|Mt", 120)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.after("amount")
_HEAD: Final = r"Confirmado (?P<telco_id>[A-Z0-9]{8,13})~\.~"
_AT: Final = r"aos (?P<date>\d{1,2}/\d{1,2}/\d{2,4}) [aà]s (?P<time>\d{1,2}:\d\d(?:~[AaPp][Mm])?)"
_BALANCE: Final = rf"[oO] (?:teu |seu )?novo saldo M-P[Ee][Ss][Aa] [eé] de {COUNTRY.after('balance', decimals=2)}~\."
_COST: Final = rf"(?:A taxa foi de|e a taxa foi de|Taxa:?) {COUNTRY.after('fee')}~\.?"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("Confirmado", "Recebeste", "novo saldo"),
        rf"{_HEAD}Recebeste {_A} de (?:(?P<payer_phone>\+?258\d{{9}}|8\d{{8}})|(?P<payer_account>\d{{4,8}}))~-~{PAYER_NAME} "
        rf"{_AT}~\.? {_BALANCE}{ADVERT}",
        "Confirmado DET8LJTY448. Recebeste  12,345.67MT de 123411 - SIMAO aos 29/5/26  as 6:22 PM o novo saldo  M-Pesa e "
        "de 1,234.56MT. Aproveita e transfere SEM TAXAS de M-Pesa para M-Pesa. Em caso de duvida, liga 100.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("Confirmado", "Transferiste"),
        rf"{_HEAD}Transferiste {_A}(?:~{_COST})? para (?P<payee_phone>\+?\d{{5,15}})~-~{PAYEE_NAME} {_AT}~\.?~"
        rf"{_BALANCE}.{{0,300}}",
        "Confirmado DET8LJTY449. Transferiste 100.00MT e a taxa foi de 0.00MT para 258841000567 - ANA MARIA aos 29/5/26 "
        "as 6:25 PM. O teu novo saldo M-Pesa e de 1,134.56MT.",
    ),
)
