"""MTN, Zambia: only its one-time passwords are known."""

from typing import Final

from parsers.country import Country
from parsers.reading import Kind
from parsers.template import Book

NETWORK: Final = "mtn_zm"
DISPLAY_NAME: Final = "MTN MoMo Zambia"
SENDERS: Final = ("MTN",)
PLMNS: Final = ("64502",)
COUNTRY: Final = Country("ZM", "ZMW", r"ZMW|K", 120)

_BOOK: Final = Book(NETWORK, COUNTRY)

WORDINGS: Final = (
    _BOOK.wording(
        "otp",
        Kind.OTP,
        ("OTP is:", "Do not share"),
        r".{0,60}OTP is:~\d{4,8}\. Do not share.{0,300}",
        "extGen OTP is: 4721. Do not share this OTP. MTN is not liable for incident that result from sharing your OTP. "
        "@mtnid.mtn.zm #4721",
        once=False,
    ),
)
