"""MTN Mobile Money, Uganda. The mark stands before or after the amount; the hard-wrapped form of 2015 prints no ID."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import (
    ADVERT,
    DATE,
    PAYEE_NAME,
    PAYER_NAME,
    PAYER_PHONE,
    REFERENCE,
    TIME,
    Book,
)

NETWORK: Final = "mtn_ug"
DISPLAY_NAME: Final = "MTN MoMo Uganda"
SENDERS: Final = ("MTNMobMoney",)
PLMNS: Final = ("64110",)
COUNTRY: Final = Country("UG", "UGX", r"UGX|UShs?|Ushs?", 180)

_BOOK: Final = Book(NETWORK, COUNTRY, order="ymd")
_A: Final = COUNTRY.either("amount")
_BALANCE: Final = rf"(?:Your )?[Nn]ew balance(?: is)?~:?~{COUNTRY.loose('balance')}"
_ID: Final = r"(?:Financial Transaction Id|ID)~:~(?P<telco_id>\d{9,15})"
_YELLO: Final = r"(?:Y'ello[.,!]? )?"
_CLAUSES: Final = r"(?: [^:]{1,200}\.)?"
_AT: Final = rf"at {DATE} {TIME}~"

WORDINGS: Final = (
    # An agent's company, and the agent in brackets.
    _BOOK.wording(
        "receipt_from_agent",
        Kind.CASH_IN,
        (
            "You have received",
            "on your mobile money account at",
            "Message from sender:",
            "ew balance",
            "Financial Transaction Id:",
        ),
        rf"{_YELLO}You have received {_A} from (?P<agent>\S.{{0,99}}?)\.?~\({PAYER_PHONE} {PAYER_NAME}\) on your mobile "
        rf"money account {_AT}\.~Message from sender:{REFERENCE}\. {_BALANCE}~\.{_CLAUSES} {_ID}\.{ADVERT}",
        "You have received 400000 UGX from Lobortis Company . (256710000834 Gilbert Conan) on your mobile money account "
        "at 2021-03-16 13:58:55. Message from sender: 2. Your new balance: 401726 UGX. Loyalty fee was 0 and loyalty "
        "reward was 0. Promotion was 0. Financial Transaction Id: 11909256728.",
    ),
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
        rf"{_YELLO}You have received {_A} from {PAYER_NAME}\({PAYER_PHONE}~\) on your mobile money account {_AT}\.~Message "
        rf"from sender:{REFERENCE}\. {_BALANCE}~\.{_CLAUSES} {_ID}\.{ADVERT}",
        "You have received 1021725 UGX from TERRA PAYMENT SERVICES (MAURITIUS)  (256731000186) on your mobile money "
        "account at 2021-01-21 17:10:12. Message from sender: International Remittance. Your new balance:1026447 UGX. "
        "Financial Transaction Id: 11582830322.",
    ),
    _BOOK.wording(
        "receipt_with_reason",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "Reason:", "ew balance", "ID"),
        rf"{_YELLO}You have received {_A} from {PAYER_NAME},?~\(?{PAYER_PHONE}\)? on {DATE} {TIME}~[.,](?:~fee:~"
        rf"{COUNTRY.loose('fee')}~\.)?~Reason~:{REFERENCE}\. {_BALANCE}~\.{_CLAUSES} {_ID}~\.{ADVERT}",
        "You have received UGX 204725 from Oscar Palomo, 256725000069 on 2021-07-22 09:18:34. Reason: rent. New "
        "balance: 408926. ID :13190355968.",
        unverified=True,
    ),
    _BOOK.wording(
        "receipt_2015",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "on your mobile money account at", "new balance"),
        rf"{_YELLO}You have received {_A} from {PAYER_NAME}\({PAYER_PHONE}~\) on your mobile money account {_AT}\.~"
        rf"{_BALANCE}\.(?!\d){ADVERT}",
        "Y'ello. You have received\nUGX 1000000.00 from \nABACO\nINVESTMENTS LIMITED\nCOMMISSION\n(256774000827) on "
        "your\nmobile money account at\n2015-05-10\n13:35:12.Your new\nbalance:UGX\n1068816.00.",
    ),
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("You have sent", "Reason:"),
        rf"{_YELLO}You have sent {_A} to {PAYEE_NAME},?~\(?(?P<payee_phone>\+?\d{{9,15}})\)? on {DATE} {TIME}~[.,]~fee~:~"
        rf"{COUNTRY.loose('fee')}~\.~Reason~:{REFERENCE}\. {_BALANCE}~\.{_CLAUSES} {_ID}~\..{{0,300}}",
        "You have sent UGX 204725 to Oscar Palomo, 256725000069 on 2021-07-22 09:18:34, fee: 1100. Reason: .. New "
        "balance: 408926. ID :13190355968.",
    ),
    _BOOK.wording(
        "deducted",
        Kind.BILL,
        ("has deducted", "from your mobile money account", "Message:"),
        rf"{_YELLO}{PAYEE_NAME}\.? has deducted {_A} from your mobile money account\.~Message:{REFERENCE}\. {_BALANCE}"
        rf"~\..{{0,300}}",
        "Y'ello. SAFEBODA . has deducted UGX 20000 from your mobile money account. Message: charge for 20000 UGX. New "
        "balance is:UGX 29608. Your Bonus was: 0. Be safe. Do NOT share your Mobile Money PIN.",
    ),
)
