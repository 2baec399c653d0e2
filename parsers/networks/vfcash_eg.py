"""Vodafone Cash, Egypt, in English. Year first with two digits; the clock has summer time, so times are only shown."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import PAYER_NAME, Book

NETWORK: Final = "vfcash_eg"
DISPLAY_NAME: Final = "Vodafone Cash Egypt"
SENDERS: Final = ("VF-Cash",)
PLMNS: Final = ("60202",)
COUNTRY: Final = Country("EG", "EGP", r"L\.E\.?|LE|EGP", None)

_BOOK: Final = Book(NETWORK, COUNTRY, order="ymd")
_A: Final = COUNTRY.after("amount")
_BALANCE: Final = rf"[Yy]our (?:current )?Vodafone Cash balance is~:?~{COUNTRY.after('balance')}"
_TAIL: Final = r"Transaction date~:~(?P<date>\d\d-\d\d-\d\d) (?P<time>\d\d:\d\d)~[.,;]? Transaction ID~:~(?P<telco_id>\d{12,15})~\.?"

WORDINGS: Final = (
    _BOOK.wording(
        "sent",
        Kind.SENT,
        ("successfully transferred to", "Vodafone Cash balance is", "Transaction ID"),
        rf"{_A} (?:were|was) successfully transferred to (?P<payee_phone>\+?\d{{10,14}})[\s,;.]{{1,3}}[Tt]he transfer fee is "
        rf"{COUNTRY.after('fee')}[\s,;.]{{1,3}}{_BALANCE}~\.? {_TAIL}",
        "300 L.E were successfully transferred to 01223000038 the transfer fee is 1 LE, your current Vodafone Cash balance "
        "is 1937.55 L.E. Transaction date: 26-07-29 05:28 Transaction ID: 022624878488",
    ),
    # The receiver's side of the same; no genuine one has been seen.
    _BOOK.wording(
        "receipt",
        Kind.PAYMENT_RECEIVED,
        ("received from", "Vodafone Cash balance is", "Transaction ID"),
        rf"{_A} (?:were|was|has been|have been) (?:successfully )?received from (?P<payer_phone>\+?\d{{10,14}})(?:[\s,;.]{{1,3}}"
        rf"(?:registered (?:in|under) the name of|name:?) {PAYER_NAME})?[\s,;.]{{1,3}}{_BALANCE}~\.? {_TAIL}",
        "300 L.E were received from 01023000038, your current Vodafone Cash balance is 1937.55 L.E. Transaction date: "
        "26-07-29 05:28 Transaction ID: 022624878489",
        unverified=True,
    ),
)
