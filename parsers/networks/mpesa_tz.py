"""M-PESA, Tanzania, in English and Swahili: twins with one ID, which is the first word. No reference."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "mpesa_tz"
DISPLAY_NAME: Final = "M-Pesa Tanzania"
SENDERS: Final = ("M-PESA",)
PLMNS: Final = ("64004",)
COUNTRY: Final = Country("TZ", "TZS", r"T[Ss]h\.?|TZS", 180)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.before("amount")
_ID: Final = r"(?P<telco_id>[A-Z0-9]{8,13})"
_HEAD: Final = rf"{_ID} [Cc]onfirmed~\.?~"
_DAY: Final = r"(?P<date>\d{1,2}/\d{1,2}/\d{2,4})"
_HOUR: Final = r"(?P<time>\d{1,2}:\d\d(?:~[AaPp][Mm])?)"
_AT: Final = rf"on {_DAY} at {_HOUR}"
_FROM: Final = (
    rf"(?:(?:(?P<payer_phone>\+?255\d{{9}}|0\d{{9}})|(?P<payer_account>\d{{5,7}}))~-~)?{PAYER_NAME}"
)
_BALANCE: Final = (
    rf"New (?:M-P[Ee][Ss][Aa] )?balance is {COUNTRY.before('balance', decimals=2)}~\.?"
)
_LEVY: Final = rf"(?:~\((?:M-Pesa fee|M-Pesa Ada).{{1,40}}?\+ (?:Government levy|TOZO ya Serikali) {COUNTRY.before('tax')}\))?"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("onfirmed", "You have received", "balance is"),
        rf"{_HEAD}You have received (?:a payment of )?{_A} from {_FROM} {_AT}~\.?~{_BALANCE}{ADVERT}",
        "AGO9U7B8739 Confirmed.You have received Tsh3,000.00 from 255757000811 - JUMA POMBE MASAWE  on 24/7/23 at 10:37 "
        "AM New M-Pesa balance is Tsh3,118.00.",
        "DFJ0K9XP76 confirmed. You have received a payment of Tsh4,000.00 from 922700 - TIPS-SELCOM MF on 19/6/26 at "
        "10:38 pm. New M-Pesa balance is Tsh4,000.36",
    ),
    # Its balance is a whole number without a full stop: nothing shows whether it was cut.
    _BOOK.wording(
        "receipt_2014",
        Kind.PAYMENT_RECEIVED,
        ("onfirmed", "You have received", "balance is"),
        rf"{_HEAD}You have received {_A} from {_FROM} {_AT}~\.?~New M-PESA balance is (?:T[Ss]h|TZS)\s{{0,3}}"
        r"(?P<balance>\d{1,3}(?:,\d{3}){0,4})",
        "Z10DN611 Confirmed.\nYou have received Tsh50,000 from\nFREDERICK KIMARIO\non 27/1/14 at 1:19 PM\nNew M-PESA "
        "balance is Tsh214,676",
        unverified=True,
    ),
    _BOOK.wording(
        "receipt_swahili",
        Kind.PAYMENT_RECEIVED,
        ("mepokea", "Salio"),
        rf"{_ID} [Ii]methibitishwa~[.,]?~[Uu]mepokea (?:malipo ya |kiasi cha )?{_A} kutoka (?:kwa )?{_FROM} "
        rf"(?:tarehe|mnamo) {_DAY} saa {_HOUR}~\.?~Salio (?:lako )?(?:jipya )?(?:la M-P[Ee][Ss][Aa] )?ni "
        rf"{COUNTRY.before('balance', decimals=2)}~\.?{ADVERT}",
        "DFJ0K9XP76 imethibitishwa. Umepokea malipo ya Tsh4,000.00 kutoka 922700 - TIPS-SELCOM MF tarehe 19/6/26 saa "
        "10:38 pm. Salio lako jipya la M-Pesa ni Tsh4,000.36",
        unverified=True,
    ),
    _BOOK.wording(
        "till_swahili",
        Kind.MERCHANT_PAYMENT,
        ("Pokea kiasi cha", "kutoka kwa", "Jumla ya Ada", "Salio ni"),
        rf"{_ID} [Ii]methibitishwa~\.? tarehe {_DAY} saa {_HOUR}~\.? Pokea kiasi cha {_A} kutoka kwa {_FROM}\.? Jumla ya Ada "
        rf"{COUNTRY.before('fee')}{_LEVY}~\. Salio ni {COUNTRY.before('balance', decimals=2)}~\.{ADVERT}",
        "AGH9E3C6M12 Imethibitishwa tarehe 17/7/23 saa 4:23 PM Pokea kiasi cha Tsh15,000.00 kutoka kwa 100400 - Idrissa "
        "Mohamedi Ahmada H/O TILL Jumla ya Ada Tsh1,645.00 (M-Pesa Ada Tsh1,450.00 + TOZO ya Serikali Tsh195.00). Salio "
        "ni Tsh0.93.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("onfirmed", "sent to", "balance is"),
        rf"{_HEAD}{_A} sent to (?:(?P<payee_phone>\+?\d{{9,15}})~-~)?{PAYEE_NAME} {_AT}~\.? Total fee {COUNTRY.before('fee')}"
        rf"{_LEVY}~\. New (?:M-P[Ee][Ss][Aa] )?balance is {COUNTRY.before('balance')}~\.?.{{0,300}}",
        "AGN1Q1BMM08 Confirmed. Tsh5,000.00 sent to 255767000014 - GREGORI CHANGA KULWA on 23/7/23 at 8:53 PM Total fee "
        "Tsh130.00 (M-Pesa fee Tsh130.00 + Government levy Tsh0.00). New balance is Tsh118.00.",
    ),
)
