"""M-PESA, Kenya. The ID is the first word; a person's receipt carries no reference, a PayBill's has `Account Number`.

The full stop behind `Confirmed` has often no space behind it. Tills mask the payer's number.
"""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, PAYEE_NAME, PAYER_NAME, Book

NETWORK: Final = "mpesa_ke"
DISPLAY_NAME: Final = "M-PESA Kenya"
SENDERS: Final = ("MPESA",)
PLMNS: Final = ("63902",)
COUNTRY: Final = Country("KE", "KES", r"Ksh\.?|KSh\.?|KES|Kes", 180)

_BOOK: Final = Book(NETWORK, COUNTRY)
_A: Final = COUNTRY.either("amount")
_ID: Final = r"(?P<telco_id>[A-Z0-9]{8,12})"
_HEAD: Final = rf"(?:Congratulations! )?{_ID} [Cc]onfirmed~\.?~"
_AT: Final = r"[Oo]n (?P<date>\d{1,2}/\d{1,2}/\d{2,4}) at (?P<time>\d{1,2}:\d\d~[AaPp][Mm])"
_PHONE: Final = r"(?P<payer_phone>(?:\+?254|0)[\d*]{8,9})"
_PAYEE: Final = r"(?P<payee_phone>(?:\+?254|0)[\d*\s]{8,12}\d)"
_BALANCE: Final = (
    rf"New (?:M-PESA|business|Business) balance is {COUNTRY.before('balance', decimals=2)}~\.?"
)
_TILL_BALANCE: Final = rf"New (?:Account|Utility|Merchant|Organization|Working) balance is {COUNTRY.before('balance', decimals=2)}~\.?"
_COST: Final = rf"Transaction cost,~{COUNTRY.before('fee', decimals=2)}~\.?"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("onfirmed", "You have received", "balance is"),
        rf"{_HEAD}You have received {_A} from (?:(?P<payer_account>\d{{5,7}}) - )?{PAYER_NAME}(?: {_PHONE})? {_AT}~\.?~"
        rf"{_BALANCE}{ADVERT}",
        "TJF670Q749 Confirmed.You have received Ksh300.00 from JOSEPHAT KAMAU 0712000212 on 15/10/24 at 12:16 PM  New "
        "M-PESA balance is Ksh123.12. Earn interest daily on Ziidi MMF,Dial *334#",
        "DT83QN861 Confirmed.\nYou have received Ksh3,500.00 from\n501901 - KCB Money Transfer Services \non 31/7/13 at "
        "6:43 PM\nNew M-PESA balance is Ksh11,312.00.Save & get a loan on Mshwari",
    ),
    _BOOK.wording(
        "till",
        Kind.MERCHANT_PAYMENT,
        ("onfirmed", "received from", "Account balance is"),
        rf"{_HEAD}{_AT}~,?~{_A} received from {_PHONE} {PAYER_NAME}\. {_TILL_BALANCE}(?:~{_COST})?{ADVERT}",
        "RCI8ACF175 Confirmed. on 18/3/26 at 1:18 PM Ksh100.00 received from 2547******78 JANET WERE. New Account balance "
        "is Ksh1,234.00. Transaction cost, Ksh0.00",
    ),
    _BOOK.wording(
        "paybill",
        Kind.MERCHANT_PAYMENT,
        ("onfirmed", "received from", "Account Number", "balance is"),
        rf"{_HEAD}{_AT}~,?~{_A} received from {PAYER_NAME} {_PHONE}~\.?~Account Number (?P<reference>\S.{{0,1200}}?)\.?\s{{1,3}}"
        rf"{_TILL_BALANCE}(?:~{_COST})?{ADVERT}",
        "BH48QV054 Confirmed.\non 5/4/11 at 2:45 PM\nKsh950.00 received from BORIS BARASA 254723000002.\nAccount Number "
        "K7M2QX\nNew Utility balance is Ksh50,802.00",
        "JGU7XRU292 Confirmed. on 30/7/15 at 11:03 PM Ksh50.00 received from ANTONY BARAZA 254728000438.  Account Number "
        "IPN Test New Utility balance is Ksh41,614.00",
    ),
    _BOOK.wording(
        "deposit",
        Kind.CASH_IN,
        ("onfirmed", "Give", "cash to", "balance is"),
        rf"{_HEAD}{_AT}~,?~Give {_A} cash to (?P<agent>\S.{{0,99}}?)\.?~{_BALANCE}{ADVERT}",
        "TJF670Q750 Confirmed. on 15/10/24 at 12:16 PM Give Ksh300.00 cash to WAMBUI AGENCIES New M-PESA balance is "
        "Ksh423.12.",
        unverified=True,
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("onfirmed", "sent to", "balance is"),
        rf"{_HEAD}{_A} sent to {PAYEE_NAME}(?: {_PAYEE})?(?: for account (?P<reference>.{{1,60}}?))? {_AT}~\.?~{_BALANCE}"
        rf"(?:~{_COST})?.{{0,400}}",
        "TJK2P9QA53 Confirmed. Ksh50.00 sent to PETER OUMA 0711 000 111 on 20/10/24 at 6:27 PM. New M-PESA balance is "
        "Ksh123.12. Transaction cost, Ksh0.00.  Amount you can transact within the day is 499,745.00. Earn interest "
        "daily on Ziidi MMF,Dial *334#",
    ),
    _BOOK.wording(
        "paid",
        Kind.BILL,
        ("onfirmed", "paid to", "balance is"),
        rf"{_HEAD}{_A} paid to {PAYEE_NAME}\.? {_AT}~\.?~{_BALANCE}(?:~{_COST})?.{{0,400}}",
        "TJK2P9QA54 Confirmed. Ksh150.00 paid to NAIVAS WESTGATE. on 20/10/24 at 6:29 PM.New M-PESA balance is Ksh10.12. "
        "Transaction cost, Ksh0.00.",
    ),
    _BOOK.wording(
        "cash_out",
        Kind.CASH_OUT,
        ("onfirmed", "Withdraw", "balance is"),
        rf"{_HEAD}{_AT}~\.?~Withdraw {_A} from (?P<agent>\S.{{0,99}}?) {_BALANCE}(?:~{_COST})?.{{0,400}}",
        "TJK2P9QA55 Confirmed.on 20/10/24 at 6:30 PM Withdraw Ksh500.00 from 123456 - WAMBUI AGENCIES New M-PESA balance "
        "is Ksh10.12. Transaction cost, Ksh29.00.",
    ),
    _BOOK.wording(
        "airtime",
        Kind.AIRTIME,
        ("onfirmed", "You bought", "of airtime"),
        rf"{_HEAD}You bought {_A} of airtime(?: for \d{{9,15}})? {_AT}~\.?~{_BALANCE}(?:~{_COST})?.{{0,400}}",
        "TJK2P9QA56 confirmed.You bought Ksh20.00 of airtime on 20/10/24 at 6:31 PM.New M-PESA balance is Ksh90.12. "
        "Transaction cost, Ksh0.00.",
    ),
    # It names the payment that is undone, and not the money.
    _BOOK.wording(
        "reversal",
        Kind.REVERSAL,
        ("onfirmed", "has been reversed"),
        rf"{_HEAD}(?:Reversal of )?[Tt]ransaction (?P<reversed_transaction_id>[A-Z0-9]{{8,12}}) has been(?: successfully)? "
        rf"reversed(?: {_AT})?~\.?(?: and {COUNTRY.either('amount')} .{{1,80}}?\.)? (?:Your account balance is now|New M-PESA "
        rf"(?:account )?balance is) {COUNTRY.before('balance', decimals=2)}~\.?.{{0,300}}",
        "ER32QV403 Confirmed. Transaction EQ45ZZ144 has been reversed.  Your account balance is now Ksh5,987.00.",
        reverses=True,
    ),
    # Money of ours that comes back; no payment to us is undone.
    _BOOK.wording(
        "refund",
        Kind.REVERSAL,
        ("onfirmed", "has been refunded by"),
        rf"{_HEAD}Your .{{1,40}}? transaction (?P<reversed_transaction_id>[A-Z0-9]{{8,12}}) of {_A} has been refunded by "
        rf".{{1,300}}? Your account balance is now {COUNTRY.either('balance')}~\..{{0,300}}",
        "EE58VC345 confirmed. Your Pay Shop transaction EE55PJ639 of 10Ksh has been refunded by 971500 - JUKWA "
        "ENTERPRISES. Please contact 971500 - JUKWA ENTERPRISES for more information.  Your account balance is now "
        "47Ksh.",
    ),
    _BOOK.wording(
        "failed",
        Kind.FAILED,
        ("Failed.",),
        rf"(?:{_ID} )?Failed\. .{{1,200}}? of {COUNTRY.before('amount')}~\..{{0,300}}",
        "Failed. M-PESA is temporarily unable to authorise airtime purchase of Ksh100.00.\nPlease try again later.",
    ),
    _BOOK.wording(
        "no_funds",
        Kind.FAILED,
        ("Failed", "You do not have enough money"),
        r"(?:[A-Z0-9]{8,12} )?Failed[.,] You do not have enough money.{0,400}",
        "Failed. You do not have enough money in your M-PESA account to pay Ksh100.00. Your M-PESA balance is Ksh20.00.",
    ),
    _BOOK.wording(
        "balance",
        Kind.BALANCE,
        ("onfirmed", "balance was"),
        rf"{_HEAD}Your (?:M-PESA|account) balance was~:?~{COUNTRY.before('balance', decimals=2)} {_AT}~\..{{0,300}}",
        "DQ93GX358 Confirmed.\nYour M-PESA balance was Ksh339.00\non 2/7/13 at 6:46 PM.Safaricom only calls you from "
        "0722000000",
    ),
)
