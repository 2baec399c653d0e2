r"""MTN Mobile Money, Ghana: receipts and the other messages of the same sender.

A receipt is always longer than one SMS, and its transaction ID follows the text typed by the payer. So the ID is the one
after the *last* `. Transaction ID:`, and everything between `Reference:` and that is the payer's text. The fee clause
after the ID is required: it proves that the message is complete, because a truncated ID looks like a shorter valid one.
IDs have 9 to 15 digits: they reach 12 about February 2027. Adverts after the fee change every year and are ignored.
"""

import re
from typing import Final

from parsers.reading import Kind
from parsers.wording import (
    ADVERT,
    AGENT,
    AMOUNT,
    BALANCE,
    CEDI,
    DATE,
    FEE,
    FEE_PROVEN,
    PAYEE_NAME,
    PAYER_NAME,
    PAYER_PHONE,
    REFERENCE,
    REST,
    TAX,
    TIME,
    Groups,
    WordingFactory,
)

NETWORK: Final = "mtn"
PROVIDER: Final = "momo_mtn"
SENDERS: Final = ("MobileMoney",)
"""11 characters, the maximum for an alphanumeric originating address."""
PLMNS: Final = ("62001",)

_ID: Final = r"(?P<telco_id>\d{9,15})"
_EXTERNAL: Final = r"External Transaction Id:~(?P<external_id>[A-Za-z0-9\-]{1,40})"
# The text after the balance proves that the message is complete, so the balance needs no decimals for that.
_BALANCE: Final = AMOUNT.replace("<amount>", "<balance>")
_AVAILABLE: Final = AMOUNT.replace("<amount>", "<available_balance>")
_CURRENT: Final = rf"(?:Your )?(?:[Cc]urrent|[Nn]ew) [Bb]alance~:~{_BALANCE}~[.,]?"
_USABLE: Final = rf"(?:Your )?[Aa]vailable [Bb]alance~:~{_AVAILABLE}~[.,]?"
_BALANCES: Final = rf"{_CURRENT}(?:~{_USABLE})?~(?:[Rr]eference|Ref)~:"
# A number that was cut off has no decimals, and of two balances either could be meant: then none is read.
_REVERSED_TO: Final = (
    rf"(?:Your )?(?:[Cc]urrent|[Nn]ew) [Bb]alance~:~{BALANCE}(?!\d)~[.,]?(?:~{_USABLE})?(?!.{{0,400}}alance)"
)
_ACCOUNT: Final = r"(?i:(?:mtn )?(?:mobile ?money|momo))"
_ID_PAID: Final = rf"Financial Transaction Id:~{_ID}\.(?:~{_EXTERNAL}\.)?{ADVERT}"
_PAID_TAIL: Final = rf"Reference:{REFERENCE}\. {_ID_PAID}"
_FEE_AND_TAX: Final = rf"Fee was {FEE}~\.?(?: Tax (?:was|charged~:) {TAX}~\.?)?"
_OWN_AIRTIME: Final = r"MTN (?:BUNDLE|AIRTIME)"
_ADVICE: Final = rf"Current Balance:~{_BALANCE} Available Balance:~{_AVAILABLE} Reference:"
_ID_LABEL: Final = r"(?:Financial )?(?i:transaction id|txn id)~:"
_LEVY: Final = r"(?i:(?:your )?(?:e-?levy|vat|tax)(?: charged?)?)(?: is| was)?~:?~"
# Before the fee, as in Telecel's messages and in pushes; used twice, because a repeated group may not contain a repetition.
_LEVIES: Final = rf"(?:{_LEVY}(?:{CEDI}\s{{0,3}})?(?:[\d.,]{{0,11}}\d|-)[.,]?~)?"
_FEE_CLAUSE: Final = rf"(?i:(?:transaction )?fee(?: charged)?(?:~:| is| was))~{FEE_PROVEN}"
_RECEIPT_TAIL: Final = (
    rf"[.,]~{_ID_LABEL}~{_ID}[.,]?~{_LEVIES}{_LEVIES}{_FEE_CLAUSE}"
    rf"(?:~[,.]?~{_LEVY}{TAX})?(?:(?!\d){ADVERT})?"
)

_CHARGED: Final = rf"Fee charged~:~{FEE}(?:[.,]?~(?i:tax charged)~:?~{TAX})?(?:(?!\d){ADVERT})?"
_PAID_FOR: Final = rf"{_CURRENT}(?:~{_USABLE})?~{_ID_LABEL}~{_ID}[.,]~{_CHARGED}"
_RECEIVED: Final = rf"Payment [Rr]eceived(?: for| of|~:) {AMOUNT} from"
_LABEL: Final = re.compile(
    r"(?:balance|reference|\bref|\bid|\bfee)\s{0,16}(?::|charged\b|is\b|was\b)", re.ASCII | re.IGNORECASE
)
# Labels that the name or the reference contains if the message is an `ordered_receipt` with a typed receipt in it.
_IN_NAME: Final = re.compile(r"\bid\s{0,16}:\s{0,16}\d|\bref(?:erence)?\s{0,16}:", re.ASCII | re.IGNORECASE)
_IN_REFERENCE: Final = re.compile(
    r"\bref(?:erence)?\s{0,16}:.{0,1200}?balance\s{0,16}:", re.ASCII | re.DOTALL | re.IGNORECASE
)
_FROM_NETWORK: Final = re.compile(
    r"(?P<name>[^,]{1,160}),(?P<payer>[^,]{1,40}?)(?:,(?P<typed>.{0,1200}))?\sfrom\s{1,4}(?P<via>[^,]{1,40})",
    re.ASCII | re.DOTALL,
)
_NUMBER: Final = re.compile(r"\+?\d{9,15}", re.ASCII)
_TO_NETWORK: Final = re.compile(
    r"(?P<name>[^,]{0,160}),(?P<payee>\+?\d{9,15})(?:,(?P<typed>.{0,1200}))?", re.ASCII | re.DOTALL
)
_NOTHING_TYPED: Final = frozenset({"Funds transfer wallet to wallet", "-"})
"""Fixed texts that other networks send when the payer's text was lost."""


def _typed_by_payer(found: Groups) -> str | None:
    """Extract the typed text from the form of other networks: `NAME ,NUMBER,TEXT from NETWORK`.

    An MTN payer can type the same form. It is believed only if the name in it is the payer's name.
    """
    reference = found.get("reference", "")
    if _IN_NAME.search(found["payer_name"]) or _IN_REFERENCE.search(reference):
        return "another order of the fields is possible"
    match = _FROM_NETWORK.fullmatch(reference)
    if match is None or match["name"].split() != found["payer_name"].split():
        return None
    found["reference_raw"] = reference
    found["via_network"] = match["via"].strip()
    payer = match["payer"].strip()
    if _NUMBER.fullmatch(payer):
        found["payer_phone"] = payer
        # A payer can type their own name too, so the number is not proven.
        found["payer_phone_typed"] = "yes"
    else:
        found["payer_account"] = payer
    _set_reference(found, match["typed"] or "")
    return None


def _in_another_order(found: Groups) -> str | None:
    """Reject a message with fixed words of a receipt in a free field, because the payer could have typed them."""
    for name in ("payer_name", "reference"):
        if _LABEL.search(found.get(name, "")):
            return f"the {name.replace('_', ' ')} contains fixed words of a receipt"
    return _typed_by_payer(found)


def _typed_for_payee(found: Groups) -> str | None:
    """Extract the typed text from `NAME,NUMBER,TEXT` of a transfer to another network."""
    reference = found.get("reference", "")
    match = _TO_NETWORK.fullmatch(reference)
    if match is None:
        _set_reference(found, reference)
        return None
    found["reference_raw"] = reference
    if match["typed"] is None:
        # Universal QR: a comma and the payer's own number, without typed text.
        del found["reference"]
        return None
    found["payee_name"] = match["name"].strip()
    found["payee_phone"] = match["payee"]
    _set_reference(found, match["typed"])
    return None


def _set_reference(found: Groups, typed: str) -> None:
    text = typed.strip()
    if text and " ".join(text.split()) not in _NOTHING_TYPED:
        found["reference"] = text
    else:
        found.pop("reference", None)


_wording = WordingFactory(NETWORK, middles=(_BALANCES, _ADVICE), own_account="INTEROPERABILITY PULL OVA").wording

WORDINGS: Final = (
    # Before `receipt`, because it has the same layout: money of the wallet's owner comes back. No payer has this name.
    _wording(
        "airtime_reversal",
        Kind.REVERSAL,
        ("Payment received for", "from Other Networks", "Reference: Reversal from"),
        rf"Payment received for {AMOUNT} from (?P<payer_name>Other Networks)~{_BALANCES}~"
        rf"(?P<reference>Reversal from [A-Za-z\s]{{1,60}}){_RECEIPT_TAIL}",
        "Payment received for  GHS 50.00 from Other Networks    Current Balance: GHS 71.40 . Available Balance: "
        "GHS 71.40. Reference: Reversal from Airtime Purchase. Transaction ID: 19786842540. TRANSACTION FEE: 0.00",
    ),
    # A loan to the wallet's owner arrives as a receipt too, from the account of the lending network.
    _wording(
        "loan",
        Kind.OTHER,
        ("Payment ", "eceived", "alance", " OVA "),
        rf"{_RECEIVED} (?P<lender>(?i:\w{{0,20}}~loan|xtra~cash)(?: [A-Za-z]{{1,20}})? OVA)~"
        rf"{_BALANCES}{REFERENCE}{_RECEIPT_TAIL}",
        "Payment received for GHS 528.00 from QwikLoan OVA Current Balance: GHS 2998.94 . Available Balance: GHS 2998.94. "
        "Reference: . Transaction ID: 75416854259. TRANSACTION FEE: 0.00",
    ),
    _wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("Payment ", "eceived", "alance"),
        rf"{_RECEIVED} {PAYER_NAME}{_BALANCES}{REFERENCE}{_RECEIPT_TAIL}",
        "Payment received for GHS 70.00 from ESI NAANA QUANSAH  Current Balance: GHS 628.92 . Available Balance: "
        "GHS 628.92. Reference: Q4T9WD. Transaction ID: 85614800061. TRANSACTION FEE: 0.00",
        "Payment received for GHS 1000.00 from YAW OPARE DANKYI  Current Balance: GHS 4061.17 . Available Balance: "
        "GHS 4061.17. Reference: payment. Transaction ID: 28175366793. TRANSACTION FEE: 0.00, Tax Charged 0",
        "Payment received for GHS 9.00 from JEMIMA OFOSUA OKYERE Current Balance: GHS 9.09. Reference: JEMIMA OFOSUA "
        "OKYERE ,233201000597,5 from VODAFONE. Transaction ID: 80929972527. TRANSACTION FEE: 0.00",
        refine=_typed_by_payer,
    ),
    # The same pieces in another order, as sister networks of the group print them. The payer's text is in another position
    # then, so it may not contain a fixed word.
    _wording(
        "ordered_receipt_id_first",
        Kind.PAYMENT_RECEIVED,
        ("Payment ", "eceived", "alance", "ID"),
        rf"{_RECEIVED} {PAYER_NAME}\.~{_ID_LABEL}~{_ID}[.,]~{_BALANCES}{REFERENCE}[.,]~"
        rf"{_LEVIES}{_LEVIES}{_FEE_CLAUSE}(?:(?!\d){ADVERT})?",
        "Payment received for GHS 70.00 from ESI NAANA QUANSAH. Transaction ID: 85614800061. Current Balance: GHS 628.92. "
        "Available Balance: GHS 628.92. Reference: Q4T9WD. TRANSACTION FEE: 0.00",
        refine=_in_another_order,
    ),
    _wording(
        "ordered_receipt_reference_first",
        Kind.PAYMENT_RECEIVED,
        ("Payment ", "eceived", "alance", "ef"),
        rf"{_RECEIVED} {PAYER_NAME}\.~(?:[Rr]eference|Ref)~:{REFERENCE}[.,]~{_CURRENT}"
        rf"(?:~{_USABLE})?~{_ID_LABEL}~{_ID}[.,]?~{_LEVIES}{_LEVIES}{_FEE_CLAUSE}(?:(?!\d){ADVERT})?",
        "Payment received for GHS 70.00 from ESI NAANA QUANSAH. Reference: Q4T9WD. Current Balance: GHS 628.92. Available "
        "Balance: GHS 628.92. Transaction ID: 85614800061. TRANSACTION FEE: 0.00",
        refine=_in_another_order,
    ),
    _wording(
        "ordered_receipt_fee_first",
        Kind.PAYMENT_RECEIVED,
        ("Payment ", "eceived", "alance", "ef"),
        rf"{_RECEIVED} {PAYER_NAME}{_BALANCES}{REFERENCE}[.,]~{_LEVIES}{_LEVIES}"
        rf"{_FEE_CLAUSE}[.,]~{_ID_LABEL}~{_ID}\.{ADVERT}",
        "Payment received for GHS 70.00 from ESI NAANA QUANSAH Current Balance: GHS 628.92. Available Balance: GHS 628.92. "
        "Reference: Q4T9WD. TRANSACTION FEE: 0.00. Transaction ID: 85614800061.",
        refine=_in_another_order,
    ),
    # The first of two parts: its ID looks like a shorter valid one, and the fee is missing.
    _wording(
        "part_of_receipt",
        Kind.OTHER,
        ("Payment ", "eceived", "alance"),
        rf"{_RECEIVED} {PAYER_NAME}{_BALANCES}{REFERENCE}[.,]~{_ID_LABEL}~\d{{0,15}}",
        "Payment received for GHS 70.00 from ESI NAANA QUANSAH  Current Balance: GHS 628.92 . Available Balance: GHS "
        "628.92. Reference: Q4T9WD. Transaction ID: 85614",
        cut=True,
    ),
    _wording(
        "ecw_receipt",
        Kind.PAYMENT_RECEIVED,
        ("You have received", "account at", "Message from sender:", "Your new balance:", "Financial Transaction Id:"),
        rf"You have received {AMOUNT} from {PAYER_NAME}(?:\({PAYER_PHONE}\))? on your {_ACCOUNT} account at "
        rf"{DATE} {TIME}\. Message from sender:{REFERENCE}\. Your new balance:~{_BALANCE}~\. "
        rf"Financial Transaction Id:~{_ID}\.(?:~{_EXTERNAL}\.)?(?:~TRANSACTION FEE(?: IS|:) {FEE}\.?)?{ADVERT}",
        "You have received GHS 1000.00 from Ecobank ova (233241000777) on your mobile money account at 2023-12-21 "
        "14:09:16. Message from sender: . Your new balance:GHS 1403.44. Financial Transaction Id: 32328501316.",
        "You have received 1000.00 GHS from Ecobank ova on your mobile money account at 2022-12-21 14:09:16. "
        "Message from sender: . Your new balance:1403.44 GHS. Financial Transaction Id: 21328501316.",
    ),
    # It names no balance. Only the last ID and its fee can end the message.
    _wording(
        "deposit",
        Kind.PAYMENT_RECEIVED,
        ("Money Transfer Deposit received for", "Token", "ransaction I"),
        rf"Money Transfer Deposit received for {AMOUNT} from {PAYER_NAME} Token~:~(?P<token>\d{{4,20}})[.,]?~{_ID_LABEL}~{_ID}[.,]~"
        rf"(?i:(?:transaction )?fee(?: charged)?(?:~:| is| was))~{FEE}(?:(?!\d){ADVERT})?",
        "Money Transfer Deposit received for GHS 66.00 from KOFI ANTWI BADU Token: 998469693069 Transaction ID: 52041773425. "
        "TRANSACTION FEE IS 0",
    ),
    # 2012 to 2014. It prints no ID, so an operator has to check it.
    _wording(
        "advice_2012",
        Kind.PAYMENT_RECEIVED,
        ("MobileMoney Advice", "Payment received for", "Current Balance:", "Available Balance:", "QJV"),
        rf"MobileMoney Advice Payment received for {AMOUNT} from {PAYER_NAME} {_ADVICE}{REFERENCE} "
        rf"QJV\w{{0,40}}",
        "MobileMoney Advice\nPayment received for GHC20.00 from KOFI ANTWI BADU\nCurrent Balance: GHC35.50\n"
        "Available Balance: GHC35.50\nReference: school fees\nQJV",
    ),
    _wording(
        "cash_in",
        Kind.CASH_IN,
        ("received for", "Current Balance", "Transaction I", "Fee charged:"),
        rf"Cash(?: |-)[Ii]n received for {AMOUNT} from {AGENT}\. Current Balance:?~{_BALANCE}~\.?(?: Available Balance:?~"
        rf"{_AVAILABLE}~\.)? Transaction I[Dd]:~{_ID}[.,] Fee charged:~{FEE}\.{ADVERT}",
        "Cash In received for GHS 300.00 from ADOM ELECTRICALS . Current Balance GHS 322.10  Available Balance GHS "
        "322.10. Transaction ID: 85098456777. Fee charged: GHS 0. Cash in (Deposit) is a free transaction on MTN "
        "Mobile Money. Please do not pay any fees for it.",
    ),
    _wording(
        "cash_in_without_id",
        Kind.CASH_IN,
        ("Cash In received for", "Current Balance", "is a free transaction", "Fee charged:"),
        rf"Cash In received for {AMOUNT} from {AGENT}\. Current Balance:?~{_BALANCE}~\.? Available Balance:?~"
        rf"{_AVAILABLE}~\. Cash in \(Deposit\) is a free transaction .{{0,200}}\. Fee charged:~{FEE}\.",
        "Cash In received for GHS 5.00 from DELALI SENA TSC GR -. Current Balance GHS 50.00  Available Balance GHS "
        "50.00. Cash in (Deposit) is a free transaction on MTN Mobile Money. Please do not pay any fees for it. "
        "Thank you for using MTN MobileMoney. Fee charged: GHS 0.",
    ),
    _wording(
        "interest",
        Kind.OTHER,
        ("has been credited to your mobile money account", "Interest"),
        rf"An amount of {AMOUNT} has been credited to your mobile money account\. Message:~Interest for .{{1,80}}\. "
        rf"Your new balance:~{_BALANCE}\. Financial Transaction Id:~{_ID}\.{ADVERT}",
        "An amount of GHS 99.91 has been credited to your mobile money account. Message:Interest for July to "
        "September 2022. Your new balance: GHS 4102.11. Financial Transaction Id: 20149080693.",
    ),
    _wording(
        "sent",
        Kind.SENT,
        ("Payment made for", "Fee charged"),
        rf"Payment made for {AMOUNT} to {PAYEE_NAME}\.?~{_BALANCES}{REFERENCE}\. {_ID_LABEL}~{_ID}[.,] {_CHARGED}",
        "Payment made for GHS 30.00 to SELASI AGBEKO Current Balance: GHS 468.61 . Available Balance: GHS 468.61. "
        "Reference: lunch. Transaction ID: 79728153259. Fee charged: GHS0.00 Tax charged: 0. Download the MoMo App",
        "Payment made for GHS 30.00 to SELASI AGBEKO. Current Balance: GHS 468.61. Available Balance: GHS 468.61. "
        "Reference: lunch. Transaction ID: 79728153259. Fee charged: GHS 0.00 TAX charged: GHS 0.00.",
    ),
    _wording(
        "push",
        Kind.SENT,
        ("Your payment of", "PUSH", "has been completed at"),
        rf"Your payment of {AMOUNT} to (?P<payee_name>[A-Z]{{2,20}} PUSH) has been completed at {DATE} {TIME}\. "
        rf"Your new balance:~{_BALANCE}\. {_FEE_AND_TAX} {_PAID_TAIL}",
        "Your payment of GHS 24.00 to TELECEL PUSH has been completed at 2026-05-22 08:15:05. Your new balance: GHS "
        "648.90. Fee was GHS 0.38 Tax was GHS -. Reference: ABENA KWAFOWA,233500000004,Waakye. Financial Transaction "
        "Id: 81796856984. External Transaction Id: 81796856984.Download the MoMo App",
        refine=_typed_for_payee,
    ),
    _wording(
        "paid",
        Kind.BILL,
        ("Your payment of", "has been completed at"),
        rf"Your payment of {AMOUNT} to (?![A-Z]{{2,20}} PUSH\s|{_OWN_AIRTIME}\s){PAYEE_NAME} has been completed at {DATE} {TIME}\. "
        rf"Your new balance:~{_BALANCE}\. {_FEE_AND_TAX} {_PAID_TAIL}",
        "Your payment of GHS 1224.00 to GhQR has been completed at 2022-11-18 14:03:55. Your new balance: GHS 310.77. "
        "Fee was GHS 5.00 Tax was GHS 16.86. Reference: ,233241000123. Financial Transaction Id: 20429931310. "
        "External Transaction Id: 20429931310.Download the MoMo App",
        refine=_typed_for_payee,
    ),
    _wording(
        "paid_reference_first",
        Kind.BILL,
        ("Your payment of", "has been completed at", "Reference:"),
        rf"Your payment of {AMOUNT} to (?!{_OWN_AIRTIME}\s){PAYEE_NAME} has been completed at {DATE} {TIME}\. "
        rf"Reference:{REFERENCE}\. Your new balance:~{_BALANCE}~\. {_FEE_AND_TAX} {_ID_PAID}",
        "Your payment of GHS 27.00 to SIKA KITCHEN has been completed at 2026-07-17 09:33:49. Reference: . Your new balance: "
        "GHS 7.38. Fee was GHS 0.50 Financial Transaction Id: 85544976831. External Transaction Id: -.",
        "Your payment of GHS 5.00 to FIT FOR LIFE GYM LIMITED has been completed at 2026-03-09 07:36:18. Reference: . Your new "
        "balance: GHS 47.95. Fee was GHS 0.50 Tax charged: GHS0. Financial Transaction Id: 76807586512. External Transaction "
        "Id: -.Download the MoMo App for a Faster & Easier Experience",
        refine=_typed_for_payee,
    ),
    _wording(
        "paid_own_airtime",
        Kind.AIRTIME,
        ("Your payment of", "to MTN ", "has been completed at"),
        rf"Your payment of {AMOUNT} to (?P<payee_name>{_OWN_AIRTIME}) has been completed at {DATE} {TIME}\. "
        rf"Your new balance:~{_BALANCE}\. {_FEE_AND_TAX} {_PAID_TAIL}",
        "Your payment of GHS 10.00 to MTN AIRTIME has been completed at 2026-06-10 21:00:02. Your new balance: GHS 90.57. Fee "
        "was GHS 0.00 Tax was GHS -. Reference: -. Financial Transaction Id: 83077174612. External Transaction Id: "
        "83077174612.Download the MoMo App",
        refine=_typed_for_payee,
    ),
    _wording(
        "paid_to_merchant",
        Kind.BILL,
        ("You have Paid", "Message from sender:", "Your new balance:"),
        rf"(?:Y.ello~[.,!]?~)?You have Paid {AMOUNT} to {PAYEE_NAME} on your {_ACCOUNT} account at "
        rf"(?:(?P<compact_time>\d{{12}})|{DATE} {TIME})\. Message from sender:{REFERENCE}\. Your new balance:~{_BALANCE}~\. "
        rf"{_FEE_AND_TAX} {_ID_PAID}",
        "Y'ello. You have Paid GHS 40 to Merchant 104911 on your mobile money account at 202608184348. Message from sender: 1. "
        "Your new balance: GHS 106.39 . Fee was GHS 0.50 . Financial Transaction Id: 84997229712.",
        refine=_typed_for_payee,
    ),
    _wording(
        "transferred",
        Kind.SENT,
        ("You have transferred", "account", "Message to receiver:", "Your new balance:"),
        rf"You have transferred {AMOUNT} to {PAYEE_NAME} from your {_ACCOUNT} account(?: \d{{1,15}})? at {DATE} {TIME}\. "
        rf"Your new balance:~{_BALANCE}~\. Message from sender:{REFERENCE}\. Message to receiver:(?P<message_to_receiver>.{{0,200}})"
        rf"\. {_ID_PAID}",
        "You have transferred GHS 10.00  to Other Networks   from your mobile money account 39000001 at 2026-07-19 09:37:20. "
        "Your new balance: 4652.89 GHS. Message from sender: airtime:Telecel:0200000123:6. Message to receiver: . Financial "
        "Transaction Id: 85672169712.",
    ),
    _wording(
        "push_failed",
        Kind.FAILED,
        ("Your payment of", "has failed at"),
        rf"Your payment of {AMOUNT} to {PAYEE_NAME} has failed at {DATE} {TIME}\. Reference:{REFERENCE}\. "
        rf"Financial Transaction Id:~{_ID}\. {_EXTERNAL}\. TRANSACTION FEE IS {FEE}\.?",
        "Your payment of GHS 350.00 to VODAFONE PUSH  has failed at 2024-10-02 12:28:49. Reference: DESMOND TEI-BOADU,"
        "233201000333,1243. Financial Transaction Id: 45341834535. External Transaction Id: 45341834535. "
        "TRANSACTION FEE IS 0",
        refine=_typed_for_payee,
    ),
    _wording(
        "limit_exceeded",
        Kind.FAILED,
        ("You have exceeded your", "TRANSACTION FEE IS"),
        rf"You have exceeded your .{{1,60}}limit\..{{1,200}}Financial Transaction Id:~{_ID}\. {_EXTERNAL}\. "
        rf"TRANSACTION FEE IS {FEE}\.?",
        "You have exceeded your daily transaction limit. Go to my wallet to check your wallet limit. Financial "
        "Transaction Id: 27200888410. External Transaction Id: MTN960258056745471944. TRANSACTION FEE IS 0.",
    ),
    _wording(
        "cash_out",
        Kind.CASH_OUT,
        ("Cash Out made for", "Fee charged:"),
        rf"Cash Out made for {AMOUNT} to {PAYEE_NAME}\. Current Balance:~{_BALANCE}~\.? Financial Transaction Id:~"
        rf"{_ID}\..{{0,300}}Fee charged:~{FEE}\.",
        "Cash Out made for GHS200.00 to ODUMASI SAVINGS AND LOANS. Current Balance: GHS572.58 Financial Transaction "
        "Id: 76717962581. Cash-out fee is charged automatically from your MTN MoMo wallet. Please do not pay any fees "
        "to the Agent. Thank you for using MTN MobileMoney. Fee charged: GHS2.00.",
    ),
    _wording(
        "airtime",
        Kind.AIRTIME,
        ("Payment for", "MTN ", "Fee charged"),
        rf"Payment for {AMOUNT} to (?P<payee_name>{_OWN_AIRTIME})~\.?~{_PAID_FOR}",
        "Payment for GHS3.00 to MTN BUNDLE .Current Balance: GHS 0.38. Transaction Id: 85713132800. Fee charged: "
        "GHS0.00,Tax Charged 0.",
    ),
    _wording(
        "bill",
        Kind.BILL,
        ("Payment for", "ransaction I", "Fee charged"),
        rf"Payment for {AMOUNT} to (?!{_OWN_AIRTIME}){PAYEE_NAME}\.{{0,2}}~{_PAID_FOR}",
        "Payment for GHS50.50 to Bills.INV ..Current Balance: GHS 113.41. Transaction Id: 79854486507. Fee charged: "
        "GHS0.00,Tax Charged 0.",
        "Payment for GHS260.00 to SIKA SCHOOL FEES.Current Balance: GHS 13.41. Transaction Id: 85854486507. Fee charged: GHS0.00.",
    ),
    # Often beside the message of the same payment and ID, `Your payment of ... to <bank> has been completed`.
    _wording(
        "deposited_at_bank",
        Kind.SENT,
        ("Deposit made to your bank account number",),
        rf"Deposit made to your bank account number~:?~(?P<payee_account>[\dxX*]{{4,24}})(?:(?:(?!alance).){{0,80}}?{AMOUNT})?"
        rf"(?:.{{0,120}}?{_CURRENT})?(?:.{{0,120}}?{_ID_LABEL}~{_ID}\b)?{REST}",
        "Deposit made to your bank account number: ****4111. Amount: GHS 90.00. Current Balance: GHS 13.41. Transaction Id: "
        "85854486512. Fee charged: GHS 0.00.",
    ),
    _wording(
        "refund",
        Kind.REVERSAL,
        ("has successfully refunded", "Message from refunder:"),
        rf"(?:Hello, )?(?P<refunder>.{{1,100}}?) has successfully refunded {AMOUNT} to your mobile money account at "
        rf"{DATE} {TIME}\. Message from refunder:.{{0,200}}\. Your new balance:~{_BALANCE}\. "
        rf"Financial Transaction Id:~{_ID}\. {_EXTERNAL}\. TRANSACTION FEE IS {FEE}\.?",
        "Hello, MTN BUNDLE  (CISNG.sp) has successfully refunded GHS 3.00 to your mobile money account at 2026-07-11 "
        "23:09:24. Message from refunder: . Your new balance:295.83 GHS. Financial Transaction Id: 85219335035. "
        "External Transaction Id: -. TRANSACTION FEE IS 0",
    ),
    _wording(
        "voucher_expired",
        Kind.REVERSAL,
        ("Your voucher", "has expired and has been returned"),
        rf"Your voucher (?P<token>\d{{4,20}}) with {AMOUNT} from {PAYER_PHONE} has expired and has been returned to "
        rf"the sender\. Financial Transaction Id:~{_ID}\. TRANSACTION FEE IS {FEE}\.?",
        "Your voucher 998469693069 with GHS 66.00 from 233241000123 has expired and has been returned to the sender. "
        "Financial Transaction Id: 53674359001. TRANSACTION FEE IS 0",
    ),
    # No money moved, although the sender is genuine.
    _wording(
        "failed_to_you",
        Kind.FAILED,
        ("failed to send", "to your account"),
        rf"(?:You have exceeded your .{{1,60}}limit\.~)?{PAYER_NAME} failed to send {AMOUNT} to your account\b"
        rf"(?:.{{0,300}}?Financial [Tt]ransaction Id:~{_ID}\..{{0,100}}|.{{0,400}})",
        "KOFI ANTWI BADU failed to send GHS 50.00 to your account because your limit is reached.",
        "You have exceeded your daily transaction limit. INTEROPERABILITY PULL OVA failed to send GHS 990.00 to your account. "
        "Go to my wallet to check your wallet limit. Financial transaction Id: 86187286912. Transaction Fee is 0.",
    ),
    # From the network's own shop, also if another wallet paid; it has no balance.
    _wording(
        "airtime_bought",
        Kind.OTHER,
        ("You have successfully purchased", "irtime from"),
        rf"You have successfully purchased {AMOUNT} [Aa]irtime from {PAYEE_NAME} on {DATE}~\.~Ref~:~{_ID}\.{ADVERT}",
        "You have successfully purchased GHS 10.00 Airtime from MTNONLINEAIRTIMEVENDOR on 2026-06-16.Ref: 83485501312.",
    ),
    _wording(
        "data_bundle",
        Kind.PROMO,
        ("you have successfully purchased", "Data Bundle"),
        rf"Y'ello! you have successfully purchased {AMOUNT} Data Bundle and received .{{1,400}}",
        "Y'ello! you have successfully purchased GHC50.0 Data Bundle and received 26.83GB. This bundle does not expire.",
    ),
    # From the sender EVD: airtime for a reseller, although it contains "received", "from" and "Transaction ID".
    _wording(
        "evd_airtime",
        Kind.AIRTIME,
        ("You have received", "a/c balance is", "Recharge"),
        rf"You have received {AMOUNT} from {PAYER_PHONE}/\d{{9,15}}\. a/c balance is {_BALANCE}\. Recharge .{{1,200}}"
        r"Transaction ID:~(?P<telco_id>\d{20,30})",
        "You have received 30.00 GHC from 0241000100/233241000100. a/c balance is 44.11 GHC. Recharge 50p & Above,Dial "
        "*124# to see your bonus. Transaction ID: 2015092322530240076102452",
    ),
    _wording(
        "otp",
        Kind.OTP,
        ("OTP", "Do not share"),
        r"Use OTP \d{4,8} to .{1,200}Do not share.{0,60}",
        "Use OTP 483911 to authorize payment of GHS 750 to KOFI. Do not share",
    ),
    _wording(
        "otp_code",
        Kind.OTP,
        ("OTP",),
        r"(?:Dear .{1,60}, )?(?:[Yy]our .{0,60}OTP .{0,60}?is~:?~\d{4,8}\b|\d{4,8} is your .{0,60}OTP\b)" + REST,
        "Your MTN MoMo OTP is 483911. Do not share it with anyone, not even MTN staff.",
    ),
    _wording(
        "otp_to_pay",
        Kind.OTP,
        ("Enter code", "DO NOT SHARE"),
        r"Enter code \d{4,8} to .{1,200}DO NOT SHARE.{0,300}",
        "Enter code 114001 to pay GHS 5.61 to SIKA SHOP. DO NOT SHARE with anyone. Kindly ignore if you did not initiate this "
        "transaction.",
    ),
    _wording(
        "otp_alert",
        Kind.OTP,
        ("FRAUD ALERT: This OTP",),
        r"(?:<#> )?FRAUD ALERT: This OTP .{1,400}",
        "<#> FRAUD ALERT: This OTP gives access to your wallet. Anyone asking for this code is trying to fraudulently gain "
        "access to your funds. DO NOT SHARE IT OR YOUR PIN WITH ANYONE. MTN",
    ),
    # Money sent by the owner comes back. The beginning of the message is known, its end is not.
    _wording(
        "transfer_reversed",
        Kind.REVERSAL,
        ("ransfer of", "has been reversed"),
        rf"(?:Y.ello~[.,!]?~)?(?:[Vv]alued [Cc]ustomer~,?~)?[Tt]he transfer of {AMOUNT} to {PAYEE_NAME} has been reversed\b"
        rf"(?:.{{0,200}}? [Nn]ew balance(?: is~:?|~:)~{_BALANCE}.{{0,300}}|.{{0,400}})",
        "Y'ello Valued Customer, the transfer of GHS 3.00 to MTN BUNDLE has been reversed on 2026-05-19 10:22:11. Your new "
        "balance is GHS8.13. Transaction fee is GHS0.",
    ),
    # A received payment is taken back. No verbatim message is known, so this is modelled on the sister platforms.
    _wording(
        "reversal",
        Kind.REVERSAL,
        ("ransaction", "has been reversed"),
        rf"(?:Your )?[Tt]ransaction (?:I[Dd]~:?~)?(?P<reversed_transaction_id>\d{{9,15}})(?: of {AMOUNT})?"
        rf"(?: (?:from|to) {PAYER_NAME})? has been reversed\b(?:~[.,]?~{_REVERSED_TO})?.{{0,400}}",
        "Transaction 85614800061 of GHS 70.00 from ESI NAANA QUANSAH has been reversed. Current Balance: GHS 558.92.",
        unverified=True,
        reverses=True,
    ),
    _wording(
        "approval",
        Kind.OTHER,
        ("Authorize payment of", "My Approvals"),
        rf"Authorize payment of {AMOUNT} to {PAYEE_NAME}\. Dial .{{1,200}}Financial Transaction Id:~{_ID}\.",
        "Authorize payment of GHS 550.00 to QUICKWIN VENTURES. Dial *170#, select option 6 then 3 (My Approvals) and "
        "enter your MM PIN to approve. Financial Transaction Id: 86176817665.",
    ),
)
