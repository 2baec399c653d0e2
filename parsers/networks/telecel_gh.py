r"""Telecel Cash (formerly Vodafone Cash), Ghana: receipts and the other messages of the same sender.

The transaction ID is the first word, and the balance comes before the text typed by the payer. So the first ID and the
first balance count, and everything after `Reference:` or `Ref:` is the payer's text, up to a known footer or the end.
`with transaction reference:` is fixed text of the network. Footers may be cut off in mid-sentence.
"""

import re
from typing import Final

from parsers.reading import Kind
from parsers.wording import (
    ADVERT,
    AGENT,
    AMOUNT,
    BALANCE,
    DATE,
    FEE,
    PAYEE_NAME,
    PAYEE_PHONE,
    PAYER_NAME,
    PAYER_PHONE,
    TAX,
    TIME,
    VIA,
    Groups,
    WordingFactory,
)

NETWORK: Final = "telecel"
PROVIDER: Final = "momo_telecel"
SENDERS: Final = ("T-CASH",)
PLMNS: Final = ("62002",)

FOOTERS: Final = (
    "Stay alert. Never share your PIN or OTP with anyone or click unknown links. Protect your personal information.",
    (
        "Sending money from Telecel Cash to Telecel Cash remains FREE on the Telecel Play App. Download the App "
        "https://bit.ly/TelecelPlayGhana and continue to enjoy the convenience."
    ),
    "Do more with Telecel Cash!",
    "Sendi k3k3!",
)
_FOOTER_STARTS: Final = tuple(
    re.compile(r"\s{1,16}".join(map(re.escape, footer[:10].split())), re.ASCII) for footer in FOOTERS
)
"""The first ten characters of a footer distinguish it from the payer's text."""
_CUT: Final = "cut off before the end of the reference"

_ID: Final = r"(?P<telco_id>\d{10,18})"
_CONFIRMED: Final = rf"{_ID} (?:[Cc]onfirmed|CONFIRMED)\."
_RECEIVED: Final = rf"You have [Rr]eceived(?: a payment of)? {AMOUNT}"
_AT: Final = rf"on {DATE},?(?: at)? {TIME}"
_NEW_BALANCE: Final = (
    r"Your (?:new |available |current )?(?:(?:[A-Z][A-Za-z]{1,15}|T)(?: |-)Cash )?(?:wallet )?"
    rf"balance(?: is~:?|~:)~{BALANCE}~\."
)
_PHONE_AND_NAME: Final = rf"{PAYER_PHONE}(?:~-~| ){PAYER_NAME}"
_REST: Final = r"(?P<rest>.{0,1400})"
_CHARGES: Final = rf"(?: You were charged {FEE}\.)?(?: (?i:(?:your )?e-?levy(?: charge)?(?: is|:)) {TAX}\.?)?"
_OWN_ACCOUNT: Final = r"your [A-Za-z]{2,21}(?: [A-Za-z]{1,20})? account"
_LOAN: Final = r"(?:[A-Z][a-z]{1,20} )?[A-Za-z]{0,20}[Ll]oan"
_REFERENCE: Final = r"[Rr]ef(?:erence)?~:"
# An advert may stand before the reference, or in its place.
_TYPED: Final = rf"{_CHARGES}(?:(?:\s[A-Z].{{0,250}}?[.!])??~{_REFERENCE}{_REST}|\s{ADVERT})?"

_NEW_FOOTER: Final = re.compile(r"([^\n]{0,200}\.[^\S\n]{0,16})\r?\n[A-Z][^\n]{15,400}", re.ASCII)
_LATER_FOOTER: Final = re.compile(
    r"(?<=[.\n])\s{0,16}(?:Stay\s{1,16}alert|Never\s{1,16}share\s{1,16}your|Do\s{1,16}more\s{1,16}with|Download\s{1,16}the|Dial\s{1,16}\*)",
    re.ASCII,
)
"""Beginnings of footers with changing text; a payer that types one only shortens the own reference."""


def _typed_by_payer(found: Groups) -> str | None:
    """Extract the payer's text after `Reference:`, without footers and the final full stop."""
    typed = _without_new_footer(_without_footers(found.pop("rest", ""))).removesuffix(".").strip()
    if typed:
        found["reference"] = typed
    last = found.get("advert", "").rpartition(" ")[2].rpartition("\n")[2]
    return _CUT if last and "Reference:".startswith(last) else None


def _typed_by_payer_whole(found: Groups) -> str | None:
    """Extract the payer's text, and require the full stop after it: it proves that the message was not cut off."""
    return _CUT if "." not in found.get("rest", ".") else _typed_by_payer(found)


def _typed_by_us(found: Groups) -> str | None:
    """Extract the reference of an outgoing payment from the text after the charges, between adverts."""
    _, _, rest = found.pop("rest", "").partition("Reference:")
    typed = _without_footers(rest).removesuffix(".").strip()
    if typed:
        found["reference"] = typed
    return None


def _without_footers(text: str) -> str:
    """Remove the known footers, complete or cut off, from the end of the text."""
    text = text.strip()
    for footer, begins in zip(FOOTERS, _FOOTER_STARTS, strict=True):
        start = max((found.start() for found in begins.finditer(text)), default=-1)
        if start >= 0:
            end = " ".join(text[start:].split())
            if footer.startswith(end) or end.startswith(footer):
                text = text[:start].strip()
    later = _LATER_FOOTER.search(text)
    return text if later is None else text[: later.start()].strip()


def _without_new_footer(text: str) -> str:
    """Remove an unknown footer: a sentence on its own line after a full stop.

    Footers change every year, and a payer's phone has no key for a new line.
    """
    match = _NEW_FOOTER.fullmatch(text)
    return text if match is None else match[1]


def _in_extra(found: Groups) -> str | None:
    """Move the payer's name of the reversed payment to `extra`."""
    found["reversed_payer_name"] = found.pop("payer_name")
    return None


# The time stands in the middle of the oldest and most frequent forms only.
_MIDDLES: Final = (rf"{_AT}\. {_NEW_BALANCE}", rf"\. {_NEW_BALANCE}")
_wording = WordingFactory(NETWORK, middles=_MIDDLES).wording

WORDINGS: Final = (
    _wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("You have ", "eceived", "alance"),
        rf"{_CONFIRMED} {_RECEIVED} from {_PHONE_AND_NAME} {_AT}\. {_NEW_BALANCE}"
        rf"{_TYPED}",
        "0000014673911819 Confirmed. You have received GHS45.00 from 233209000543 - KOJO ANSAH BEKOE on 2026-09-07 at "
        "11:02:51. Your Telecel Cash balance is GHS135.25.\nReference: K7M2QX.\nStay alert. Never share your PIN or "
        "OTP with anyone or click unknown links. Protect your personal information.",
        "0000014678981491 Confirmed. You have received GHS20.00 from 233201000777 - EFUA ATTA on 2026-09-19 at 18:20:07. "
        "Your Telecel Cash balance is GHS71.10.",
        refine=_typed_by_payer_whole,
    ),
    _wording(
        "receipt_from_network",
        Kind.PAYMENT_RECEIVED,
        ("with transaction reference: Transfer From:",),
        rf"{_CONFIRMED} {_RECEIVED} from {VIA} with transaction "
        rf"reference: Transfer From:~{PAYER_PHONE}~-~{PAYER_NAME} {_AT}\. {_NEW_BALANCE}{_TYPED}",
        "0000012262006098 Confirmed. You have received GHS500.00 from MTN MOBILE MONEY with transaction reference: "
        "Transfer From: 233240000913-CELESTINE OWUSUA on 2026-02-28 at 10:23:38. Your Telecel Cash balance is "
        "GHS500.00. Ref: support money",
        refine=_typed_by_payer,
    ),
    _wording(
        "receipt_from_bank",
        Kind.PAYMENT_RECEIVED,
        ("You have ", "eceived", "from ****"),
        rf"{_CONFIRMED} {_RECEIVED} from (?P<payer_account>\*{{4}}\d{{4}})-{PAYER_NAME} {_AT}\. "
        rf"{_NEW_BALANCE}{_TYPED}",
        "0000012302795529 Confirmed. You have received GHS253.00 from ****4111-KEZIAH AMOABENG NTIM  on 2026-03-13 at "
        "17:54:05. Your Telecel Cash balance is GHS253.78.\nRef: GIPS Transfer",
        refine=_typed_by_payer,
    ),
    _wording(
        "receipt_from_gateway",
        Kind.PAYMENT_RECEIVED,
        ("You have ", "eceived", "as payment from"),
        rf"{_CONFIRMED} {_RECEIVED} as payment from {PAYER_NAME} {_AT}\. {_NEW_BALANCE}{_TYPED}",
        "0000012215539948 confirmed. You have received GHS387.72 as payment from EXPRESSPAY on 2026-03-04 at 16:47:33. "
        "Your new Telecel Cash balance is GHS944.40.",
        refine=_typed_by_payer,
    ),
    _wording(
        "receipt_name_only",
        Kind.PAYMENT_RECEIVED,
        ("You have ", "eceived", "on TELECEL CASH on"),
        rf"{_CONFIRMED} {_RECEIVED} from (?P<payer_name>[^\d*\s].{{0,175}}?) on "
        rf"(?P<via_network>TELECEL CASH) {_AT}\. {_NEW_BALANCE}{_TYPED}",
        "0000014269425835 Confirmed. You have received GHS68.95 from BOADUM AGYIRI ABDUL-RAZIQ on TELECEL CASH on "
        "2025-08-29 at 08:47:14. Your Telecel Cash balance is GHS1001.02. Ref: electricity",
        refine=_typed_by_payer,
    ),
    # From a business or through a bank, without number or account. A name with the network's own word "your" or "account" is
    # none: the owner moved the money.
    _wording(
        "receipt_from_business",
        Kind.PAYMENT_RECEIVED,
        ("You have ", "eceived", "alance"),
        rf"{_CONFIRMED} {_RECEIVED} from (?![^.]{{0,160}}\b(?:your|account)\b)(?P<payer_name>[^\d*\s](?:(?! on \D| with transaction).){{0,175}}?) on {DATE},?(?: at)? "
        rf"(?P<time>\d\d:\d\d(?::\d\d)?)\. {_NEW_BALANCE}{_TYPED}",
        "0000013264775012 Confirmed. You have received GHS1,600.00 from MAXI ENTERPRISE on 2026-06-05 at 15:08. Your Telecel "
        "Cash balance is GHS13,264.53. Reference: GIPOutwardCHAI BIA MTG 7806617849512",
        refine=_typed_by_payer,
    ),
    # Receipt of a till; no genuine message has confirmed this wording yet.
    _wording(
        "receipt_merchant",
        Kind.MERCHANT_PAYMENT,
        ("onfirmed. On", "received from", "alance"),
        rf"{_CONFIRMED} On {DATE} at {TIME}, {AMOUNT} (?:was|has been) received from {_PHONE_AND_NAME}\. "
        rf"{_NEW_BALANCE}{_TYPED}",
        "0000014671217945 Confirmed. On 2026-09-24 at 12:31:40, GHS35.00 was received from 233201000888 - SENAM AKPENE "
        "KUDJO. Your new Telecel Cash balance is GHS1,435.00. Reference: K7M2QX.",
        refine=_typed_by_payer_whole,
    ),
    _wording(
        "cash_in",
        Kind.CASH_IN,
        ("was made to your account from", "balance"),
        rf"{_CONFIRMED} On {DATE} at {TIME}, a (?:deposit|cash(?: |-)in) of {AMOUNT} was made to your account from {AGENT}\. "
        rf"{_NEW_BALANCE}(?:\s{ADVERT})?",
        "0000014256693557 Confirmed. On 2026-08-10 at 14:19:45, a deposit of GHS30.00 was made to your account from YAW "
        "BEDIAKOH 0244 ENTERPRISE. Your balance is GHS30.67.\nStay alert.",
    ),
    _wording(
        "interest",
        Kind.OTHER,
        ("you have received", "as interest earned"),
        rf"Dear customer, you have received {AMOUNT} from (?:Telecel|Vodafone) Cash as interest earned .{{1,150}}\. "
        rf"Your new (?:(?:Telecel|Vodafone) Cash )?balance is {BALANCE}\.",
        "Dear customer, you have received GHS0.16 from Telecel Cash as interest earned on your mobile money wallet for "
        "the period October 2025 to December 2025. Your new balance is GHS0.78.",
    ),
    _wording(
        "sent",
        Kind.SENT,
        ("onfirmed.", "sent to", "alance"),
        rf"{_CONFIRMED} {AMOUNT} sent to {PAYEE_PHONE}(?: -)? {PAYEE_NAME}(?: on {VIA})? "
        rf"{_AT}\. {_NEW_BALANCE}{_CHARGES}(?: {_REST})?",
        "0000012615312944 Confirmed. GHS17.00 sent to  0241000018 FLORA KUMIWAA on MTN MOBILE MONEY on 2026-04-12 at "
        "21:03:42. Your Telecel Cash balance is GHS76.39. You were charged GHS0.09. Your E-levy charge is GHS0.00. Do "
        "more with Telecel Cash!\nReference: snacks. \nSendi k3k3!",
        refine=_typed_by_us,
    ),
    _wording(
        "sent_to_bank",
        Kind.SENT,
        ("onfirmed. You have transferred", " ACCOUNT", "alance"),
        rf"{_CONFIRMED} You have transferred {AMOUNT} to {VIA} ACCOUNT - "
        rf"(?P<payee_account>\d{{6,20}}) - {PAYEE_NAME} {_AT}\. {_NEW_BALANCE}(?: You were charged {FEE}(?: \([^)]{{0,100}}\))?\.)?"
        rf"(?: {_REST})?",
        "0000012039324212 Confirmed. You have transferred GHS40.00 to STANBIC BANK ACCOUNT - 9040013268512 - KOJO ANSAH BEKOE on "
        "2026-02-11 at 12:27:52. Your Telecel Cash balance is GHS1.53. You were charged GHS0.50 (Telecel Cash fee GHS0.50 + "
        "E-levy GHS0.00). Reference: Apple Music. Sendi k3k3!",
        refine=_typed_by_us,
    ),
    _wording(
        "paid",
        Kind.BILL,
        ("onfirmed.", "paid to"),
        rf"{_CONFIRMED} {AMOUNT} paid to (?P<merchant_code>\w{{4,12}}) - {PAYEE_NAME} {_AT}\. {_NEW_BALANCE}{_CHARGES}"
        rf"(?: {_REST})?",
        "0000012553203902 Confirmed. GHS276.00 paid to 125012 - PAYSTACK  II on 2026-03-27 at 13:57:04. Your new Telecel "
        "Cash balance is GHS93.48. You were charged GHS0.00. Your E-levy charge is GHS0.00. Reference: Tumi "
        "Electronics.. \nSendi k3k3!",
        refine=_typed_by_us,
    ),
    _wording(
        "paid_by_shortcode",
        Kind.BILL,
        ("onfirmed. You have purchased", "Shortcode", "balance is now"),
        rf"{_CONFIRMED} You have purchased (?P<bill>\S{{1,40}}) from {PAYEE_NAME} \(Shortcode (?P<merchant_code>\w{{4,12}})\) for "
        rf"{AMOUNT}~\. Your account balance is now {BALANCE}~\.(?:\s{ADVERT})?",
        "0000013355383512 Confirmed. You have purchased  6255003612 from PAYSTACK  II (Shortcode 125012) for  GHS5.61.  Your "
        "account balance is now  GHS2.46.",
    ),
    # The owner moves money in from a savings account of the wallet: no customer has paid.
    _wording(
        "own_account",
        Kind.OTHER,
        ("onfirmed. You have", "from your", "account on", "alance"),
        rf"{_CONFIRMED} {_RECEIVED} from (?P<account>{_OWN_ACCOUNT}) {_AT}\. {_NEW_BALANCE}(?:\s{ADVERT})?",
        "0000012062913312 Confirmed. You have received GHS2,039.42 from your SIKASAVE account on 2026-11-28 at 16:45:08. Your "
        "Telecel Cash balance is GHS2,038.00. Stay alert. Never share your PIN or OTP with anyone or click unknown links. "
        "Protect your personal information.",
    ),
    # Loans of the network, and their repayment.
    _wording(
        "loan",
        Kind.OTHER,
        ("onfirmed. You have received", "oan, from", "alance"),
        rf"{_CONFIRMED} {_RECEIVED} (?P<loan>{_LOAN})~, from (?P<lender>[A-Z][A-Za-z]{{1,20}}(?: [A-Za-z]{{1,20}})?) {_AT}\. "
        rf"{_NEW_BALANCE}(?:\s{ADVERT})?",
        "0000013247270712 confirmed. You have received GHS50.00 FlexLoan, from FAB on 2026-06-03 at 19:23:26. Your new Telecel "
        "Cash balance is GHS121.62.\nYour Loan Processing Fee:GHS0.00",
    ),
    _wording(
        "loan_repaid",
        Kind.BILL,
        ("onfirmed. You have paid", "oan", "alance"),
        rf"{_CONFIRMED} You have paid (?:your|off) {AMOUNT} (?P<loan>{_LOAN} [A-Za-z]{{1,20}}(?: [A-Za-z]{{1,20}})?)"
        rf"(?: from (?P<lender>[A-Z]{{2,20}}))? {_AT}\. {_NEW_BALANCE}(?:\s{ADVERT})?",
        "0000012220022812 confirmed. You have paid your GHS6.60 Ready Loan default charge on 2026-02-28 at 10:40:29. Your new "
        "Telecel Cash balance is GHS46.73.",
        "0000013199227312 confirmed. You have paid off GHS50.00 Ready Loan Principal from CBG on 2026-05-30 at 15:34:48. Your "
        "new Telecel Cash balance is GHS405.12.",
    ),
    _wording(
        "cash_out",
        Kind.CASH_OUT,
        ("onfirmed. You have withdrawn",),
        rf"{_CONFIRMED} You have withdrawn {AMOUNT} from {AGENT} {_AT}\. {_NEW_BALANCE}(?:\s{ADVERT})?",
        "0000007229608600 Confirmed. You have withdrawn GHS20.00 from G60001 - ASAKYIRI FARMS on 2024-06-29 at 12:15:32. "
        "Your Telecel Cash balance is GHS54.19.",
    ),
    _wording(
        "airtime",
        Kind.AIRTIME,
        ("onfirmed. You bought", "of airtime"),
        rf"{_CONFIRMED} You bought {AMOUNT} of airtime for \d{{9,15}} {_AT}\. {_NEW_BALANCE}(?:\s{ADVERT})?",
        "0000014435128883 Confirmed. You bought GHS30.00 of airtime for 233201000567 on 2026-09-08 at 15:52:07. Your "
        "Telecel Cash balance is GHS50.37.",
    ),
    # The receiver's message of the same airtime, with the same ID: it resembles a receipt, but no money is received.
    _wording(
        "airtime_received",
        Kind.AIRTIME,
        ("You have received airtime of",),
        rf"(?:Transaction ID:~)?{_ID} (?:[Cc]onfirmed|CONFIRMED)(?: from \d{{3,6}})?\. You have received airtime of {AMOUNT} from "
        rf"{PAYER_PHONE} - {PAYER_NAME} {_AT}\.(?:\s{ADVERT})?",
        "0000014435128883 Confirmed. You have received airtime of GHS30.00 from 233201000567 - KOJO ANSAH BEKOE on "
        "2026-09-08 at 15:52:07.",
        "Transaction ID: 0000013394713512 confirmed from 555. You have received airtime of GHS35.00 from 233205000567 - KOJO "
        "ANSAH BEKOE on 2026-06-16 at 20:07:38.",
    ),
    _wording(
        "bundle",
        Kind.AIRTIME,
        ("Your bundle purchase request of", "has been received", "alance"),
        rf"{_CONFIRMED} Your bundle purchase request of (?:[\d.]{{1,8}} [A-Z]B @ )?{AMOUNT}(?: \d{{1,3}} days?)?(?: to \+?\d{{9,15}})? on "
        rf"{DATE} has been received(?: at {TIME})?\.(?: Kindly wait for confirmation\.)?(?: [A-Za-z]{{3}}~[\d.,]{{1,12}} has been debited "
        rf"from your account\.)? {_NEW_BALANCE}(?:\s{ADVERT})?",
        "0000011723471619 confirmed. Your bundle purchase request of GHS6.00 on 2026-01-10 has been received at "
        "16:33:34. Kindly wait for confirmation. Your new Telecel Cash balance is GHS1.62.",
        "0000013253238312 confirmed. Your bundle purchase request of 1.45 GB @ GHs4.50 1 day to 233205000567 on 2026-06-04 has "
        "been received at 11:42:49. \nGHS4.50 has been debited from your account. Your Telecel Cash balance is GHS60.62.",
        "0000013170703712 confirmed. Your  bundle purchase request of GHS3.00 to 233205000567 on 2026-05-28 has been received at "
        "00:39:20. Kindly wait for confirmation. Your Telecel Cash balance is GHS144.77.",
    ),
    # A charge on the bundle, not on the wallet.
    _wording(
        "bundle_charged",
        Kind.OTHER,
        ("has been deducted from your bundle purchase",),
        rf"Dear Customer, {AMOUNT} has been deducted from your bundle purchase to settle .{{1,300}}",
        "Dear Customer, GHs 4.50 has been deducted from your bundle purchase to settle your outstanding SOS loan. SOS credit "
        "attracts a fee of 10 percent.",
    ),
    _wording(
        "bundle_active",
        Kind.PROMO,
        ("Congratulations! You have successfully purchased",),
        r"Congratulations! You have successfully purchased [\d.]{1,8}~[KMGT]?B .{1,400}",
        "Congratulations! You have successfully purchased 10.03GB of internet bundle. Check your data balance by dialing *126#.",
        "Congratulations! You have successfully purchased 1.45GB @ GHs 4.5 valid for 1 day. Get 200 Minutes to call all "
        "networks for GHs 5, valid for 7 days. Dial *110#",
    ),
    _wording(
        "balance",
        Kind.BALANCE,
        ("Cash wallet balance is",),
        rf"{_CONFIRMED} Your (?:Telecel|Vodafone) Cash wallet balance is {BALANCE}~\.(?:\s{ADVERT})?",
        "0000012683160547 Confirmed. Your Telecel Cash wallet balance is  GHS93.48 . Stay alert.",
    ),
    # Of a business with two accounts; the message does not say to which of them the balance in receipts belongs.
    _wording(
        "till_balance",
        Kind.BALANCE,
        ("Account For Organization Balance is", "Merchant Account Balance is"),
        r"M-Pesa Account For Organization Balance is GHS~(?P<organization_balance>[\d,]{1,15}\.\d\d)~\.? "
        rf"Merchant Account Balance is GHS~(?P<merchant_balance>[\d,]{{1,15}}\.\d\d)~\.?(?:\s{ADVERT})?",
        "M-Pesa Account For Organization Balance is GHS2.79\nMerchant Account Balance is GHS1.00",
    ),
    # No genuine message has confirmed this wording yet.
    _wording(
        "reversal",
        Kind.REVERSAL,
        ("onfirmed. Transaction", "has been reversed"),
        rf"{_CONFIRMED} Transaction (?P<reversed_transaction_id>\d{{10,18}}) of {AMOUNT} from "
        rf"(?P<reversed_payer_phone>\+?\d{{9,15}}) - {PAYER_NAME} has been reversed {_AT}\. {_NEW_BALANCE}(?:\s{ADVERT})?",
        "0000014641483779 Confirmed. Transaction 0000014673911819 of GHS45.00 from 233209000543 - KOJO ANSAH BEKOE has "
        "been reversed on 2026-09-07 at 13:20:15. Your Telecel Cash balance is GHS90.25.",
        refine=_in_extra,
        reverses=True,
    ),
    _wording(
        "no_funds",
        Kind.FAILED,
        ("Transaction failed.", "enough money"),
        rf"Transaction failed\. You do not have enough money in your (?:Telecel|Vodafone) Cash account to perform this "
        rf"transaction\. {_NEW_BALANCE}(?:\s{ADVERT})?",
        "Transaction failed. \nYou do not have enough money in your Telecel Cash account to perform this transaction. "
        "\nYour Telecel Cash balance is \nGHS1.62.",
    ),
    _wording(
        "sent_failed",
        Kind.FAILED,
        ("Failed. Your", "was unsuccessful"),
        rf"Failed\. Your [Tt]ransfer of {AMOUNT}(?: sent)? to {PAYEE_PHONE}(?: -)? {PAYEE_NAME} was unsuccessful\..{{0,300}}",
        "Failed. Your Transfer of GHS30.00 sent to 0240000123 FLORA KUMIWAA was unsuccessful.",
    ),
    _wording(
        "wrong_pin",
        Kind.FAILED,
        ("You entered the wrong PIN.",),
        r"You entered the wrong PIN\..{0,200}",
        "You entered the wrong PIN. Please try again.",
    ),
    # From the sender 555.
    _wording(
        "airtime_bonus",
        Kind.AIRTIME,
        ("You have received", "as bonus credit"),
        rf"You have received {AMOUNT} as bonus credit .{{1,200}}",
        "You have received GHc30.00000 as bonus credit and 20 FREE SMS. Vodafone, power to you.",
    ),
    # From the sender VFCash.
    _wording(
        "promo",
        Kind.PROMO,
        ("Register for Vodafone Cash",),
        r"Register for Vodafone Cash, .{1,300}",
        "Register for Vodafone Cash, the world  s number #1 mobile money service. Please visit our agents or retail "
        "shops with a valid photo ID now.",
    ),
)
