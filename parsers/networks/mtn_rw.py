"""MTN Mobile Money, Rwanda. Forms of the `*165*S*...*EN#` kind print no ID; a receipt does, behind the typed text."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import ADVERT, AGENT, DATE, PAYEE_NAME, PAYER_NAME, REFERENCE, TIME, Book

NETWORK: Final = "mtn_rw"
DISPLAY_NAME: Final = "MTN MoMo Rwanda"
SENDERS: Final = ("M-Money",)
PLMNS: Final = ("63510",)
COUNTRY: Final = Country("RW", "RWF", r"RWF|Rwf|Frw|FRW", 120)

_BOOK: Final = Book(NETWORK, COUNTRY, order="ymd")
_ID: Final = r"Financial Transaction Id:~(?P<telco_id>\d{9,15})\."
_A: Final = COUNTRY.either("amount")
_BALANCE: Final = rf"(?i:Your new balance|New balance)~:~{COUNTRY.either('balance')}"
_FEE: Final = COUNTRY.either("fee")
_AT: Final = rf"at {DATE} {TIME}~"
_START: Final = r"(?:\*\d{3}\*[A-Z]\*)?"

WORDINGS: Final = (
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        (
            "You have received",
            "on your mobile money account at",
            "Message from sender:",
            "ew balance",
            "Financial Transaction Id:",
        ),
        rf"{_START}You have received {_A} from {PAYER_NAME}\((?P<payer_phone>\+?[\d*]{{9,15}})\) on your mobile money "
        rf"account {_AT}\.~Message from sender:{REFERENCE}\.~{_BALANCE}~\.(?: [^:]{{1,150}}\.)? {_ID}{ADVERT}",
        "You have received 2000 RWF from Jeanne Mukamana (*********013) on your mobile money account at 2024-05-10 "
        "16:30:51. Message from sender: . Your new balance:2000 RWF. Financial Transaction Id: 76633288374.",
    ),
    _BOOK.wording(
        "bank_deposit",
        Kind.CASH_IN,
        ("A bank deposit of", "has been added to your mobile money account at"),
        rf"{_START}A bank deposit of {_A} has been added to your mobile money account {_AT}\.~{_BALANCE}~\.(?:~Cash "
        rf"Deposit.{{0,120}}?\.)?~Thank you for using .{{0,200}}",
        "*113*R*A bank deposit of 40000 RWF has been added to your mobile money account at 2024-05-11 18:43:49. Your "
        "NEW BALANCE :40400 RWF. Cash Deposit::CASH::::0::250795000036.Thank you for using MTN MobileMoney.*EN#",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("transferred to",),
        rf"{_START}{_A} transferred to {PAYEE_NAME}\((?P<payee_phone>\+?[\d*]{{9,15}})\) from \d{{4,15}} {_AT}\.~Fee "
        rf"was~:?~{_FEE}~\.~{_BALANCE}.{{0,300}}",
        "*165*S*10000 RWF transferred to Samuel Karangwa (250791000666) from 36520038 at 2024-05-11 20:34:47 . Fee was: "
        "100 RWF. New balance: 28300 RWF. Kugura ama inite cg interineti kuri MoMo, Kanda *182*2*1# .*EN#",
    ),
    _BOOK.wording(
        "paid",
        Kind.BILL,
        ("TxId:", "Your payment of", "has been completed at"),
        rf"{_START}TxId:~(?P<telco_id>\d{{9,15}})~\.~Your payment of {_A} to {PAYEE_NAME}(?: (?P<merchant_code>\d{{4,12}}))? "
        rf"(?:with token .{{0,80}}? )?has been completed {_AT}\.~{_BALANCE}~\. Fee was~:?~{_FEE}.{{0,300}}",
        "TxId: 81870648848. Your payment of 3,000 RWF to Alex Ndoli 20511 has been completed at 2024-08-05 12:51:38. "
        "Your new balance: 7,390 RWF. Fee was 0 RWF.",
    ),
    _BOOK.wording(
        "debited",
        Kind.BILL,
        ("A transaction of", "on your MOMO account was successfully completed at"),
        rf"{_START}(?:Y'ello,~)?A transaction of {_A} by {PAYEE_NAME} on your MOMO account was successfully completed "
        rf"{_AT}\. Message from debit receiver:.{{0,300}}?\. {_BALANCE}~\. Fee was~:?~{_FEE}~\. {_ID}.{{0,200}}",
        "*164*S*Y'ello,A transaction of 20000 RWF by INTOUCH COMMUNICATIONS  LTD on your MOMO account was successfully "
        "completed at 2024-06-29 00:32:19. Message from debit receiver: 250795000036. Your new balance:21670 RWF. Fee "
        "was 0 RWF. Financial Transaction Id: 14564804006. External Transaction Id: 169634640497560656206116185.*EN#",
    ),
    _BOOK.wording(
        "cash_out",
        Kind.CASH_OUT,
        ("have via agent:", "withdrawn"),
        rf"{_START}You .{{1,100}}? have via agent: {AGENT}, withdrawn {_A} from your mobile money account:?~\d{{4,15}} "
        rf"{_AT}(?:and .{{1,80}}?)?\. {_BALANCE}~\. Fee paid:~{_FEE}~\..{{0,200}}?{_ID}.{{0,200}}",
        "You Jean Bosco HABIMANA (*********036) have via agent: Agent Solange (250790000777), withdrawn 20000 RWF from "
        "your mobile money account: 36520038 at 2024-05-26 02:10:27 and you can now collect your money in cash. Your "
        "new balance: 6400 RWF. Fee paid: 350 RWF. Message from agent: 1. Financial Transaction Id: 14025534953.",
    ),
    # Of money that was sent by us; no payment of ours is undone.
    _BOOK.wording(
        "reversal_started",
        Kind.REVERSAL,
        ("A reversal has been initiated for your transaction to",),
        rf"{_START}A reversal has been initiated for your transaction to {PAYEE_NAME}\((?P<payee_phone>\+?[\d*]{{9,15}})\) "
        rf"with {_A}.{{0,200}}",
        "A reversal has been initiated for your transaction to Mediatrice UWINEZA (250788000286) with 3000 RWF.",
    ),
    _BOOK.wording(
        "failed",
        Kind.FAILED,
        ("the transaction with amount", "failed at"),
        rf"{_START}(?:Y'ello,~)?the transaction with amount {_A} for .{{1,300}}? failed {_AT}\..{{0,300}}",
        "*143*R*Y'ello, the transaction with amount 14200 RWF for ESICO LTD with message: 1734874172697940248161756 "
        "failed at 2024-09-21 15:49:01 .Please Contact MobileMoney HelpLine for Assistance.Thank you for using MTN "
        "MobileMoney.*EN#",
    ),
    _BOOK.wording(
        "otp",
        Kind.OTP,
        ("one-time password is",),
        r"(?:<#> )?Dear Customer, your .{1,60} one-time password is~:~\d{4,8}\..{0,300}",
        "<#> Dear Customer, your MTN MoMo application one-time password is :2476.MTN MoMo does not recommend that you "
        "share or expose your one-time password with anyone. Be Vigilant. RdbS6eMOXvx N/RywfrtIZL>.",
        once=False,
    ),
    # "You have just bought", in Kinyarwanda.
    _BOOK.wording(
        "bundle",
        Kind.AIRTIME,
        ("Umaze kugura", "igura"),
        rf"(?:Y'?ello!~)?Umaze kugura .{{1,80}}? igura {_A}.{{0,200}}",
        "Yello!Umaze kugura 3000Frw=2500Mins+100SMS igura 3,000 RWF",
    ),
    _BOOK.wording(
        "bought",
        Kind.AIRTIME,
        ("TxId:", "Your payment of", "to Airtime", "has been completed at"),
        rf"\*\d{{3}}\*TxId:~(?P<telco_id>\d{{9,15}})\*[A-Z]\*Your payment of {_A} to (?P<payee_name>Airtime) (?:with token "
        rf".{{0,80}}? ?)?has been completed {_AT}\.~Fee was~:?~{_FEE}~\.~{_BALANCE}.{{0,300}}",
        "*162*TxId:13913173274*S*Your payment of 2000 RWF to Airtime with token  has been completed at 2024-05-12 "
        "11:41:28. Fee was 0 RWF. New balance: 25280 RWF . Message: - -. *EN#",
    ),
    _BOOK.wording(
        "bill",
        Kind.BILL,
        ("TxId:", "Your payment of", "has been completed at", "Fee was"),
        rf"\*\d{{3}}\*TxId:~(?P<telco_id>\d{{9,15}})\*[A-Z]\*Your payment of {_A} to (?!Airtime\s){PAYEE_NAME} (?:with token "
        rf"(?P<token>[\d\-]{{4,60}}) )?has been completed {_AT}\.~Fee was~:?~{_FEE}~\.~{_BALANCE}.{{0,300}}",
        "*162*TxId:14098463509*S*Your payment of 4000 RWF to MTN Cash Power with token 38906-35125-43450-42530 has been "
        "completed at 2024-05-31 20:18:04. Fee was 0 RWF. New balance: 6400 RWF . Message: - -. *EN#",
    ),
    _BOOK.wording(
        "sent_from_account",
        Kind.SENT,
        ("You have transferred", "from your mobile money account", "Financial Transaction Id:"),
        rf"{_START}You have transferred {_A} to {PAYEE_NAME}\((?P<payee_phone>\+?[\d*]{{9,15}})\) from your mobile money "
        rf"account \d{{4,15}} {_AT}\.~{_BALANCE}~\..{{0,300}}?{_ID}.{{0,200}}",
        "You have transferred 5000 RWF to Samuel Karangwa (250791000666) from your mobile money account 36520038 at "
        "2024-05-11 20:34:47. Your new balance: 28300 RWF. Message from sender: . Message to receiver: . Financial "
        "Transaction Id: 14098463510.",
    ),
)
