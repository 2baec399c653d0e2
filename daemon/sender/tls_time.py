"""TLS context that checks certificates against another time than the wall clock's, while that one is known to be wrong.

Python's `ssl` has no setting for the time of the check (OpenSSL: X509_VERIFY_PARAM_set_time), so OpenSSL's own check of the
dates is switched off for such a connection, and the dates of the receiver's certificate are compared here. Everything else
(issuer, signature, name) is checked as always; the dates of intermediate certificates are not.
"""

import ssl
from typing import Any, Final

from daemon.core.limits import SECOND_US
from daemon.sender.streams import CLOCK

APART_S: Final = 600.0
"""A wall clock that differs by more from the time of the signature is wrong."""
NO_CHECK_TIME: Final = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL's x509_vfy.h."""


class _DatedTls(ssl.SSLObject):
    """One connection; `at_s` is the time to compare the dates with, None if OpenSSL has checked them."""

    at_s: float | None = None

    def do_handshake(self) -> None:
        """Make the handshake, then check the dates.

        Raises:
            ssl.SSLCertVerificationError: The certificate is not valid at that time.
        """
        super().do_handshake()
        if self.at_s is None:
            return
        dates: dict[str, Any] = self.getpeercert() or {}
        begin, end = (ssl.cert_time_to_seconds(dates[name]) for name in ("notBefore", "notAfter"))
        if not begin <= self.at_s <= end:
            error = ssl.SSLCertVerificationError(1, "certificate verify failed")
            when = "is not yet valid" if self.at_s < begin else "has expired"
            error.verify_message = f"certificate {when}, by the best known time"
            raise error


class DatedContext(ssl.SSLContext):
    """A client's context with the defaults of `ssl.create_default_context`.

    Set `stamp` to the `webhook-timestamp` of each request, the best known time: if the wall clock differs much from it, the
    connections that are made from then on are checked at that time.
    """

    sslobject_class = _DatedTls
    stamp = ""

    @classmethod
    def make(cls) -> "DatedContext":
        """Create one that trusts the system's CAs."""
        context = cls(ssl.PROTOCOL_TLS_CLIENT)
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return context

    def wrap_bio(self, *args: Any, **named: Any) -> ssl.SSLObject:
        """Make the TLS state of one connection."""
        signed_s = int(self.stamp) if self.stamp.isdecimal() else 0
        is_wrong = signed_s and abs(signed_s - CLOCK.now_us() / SECOND_US) > APART_S
        flags = int(self.verify_flags)
        self.verify_flags = ssl.VerifyFlags(
            flags | NO_CHECK_TIME if is_wrong else flags & ~NO_CHECK_TIME
        )
        made = super().wrap_bio(*args, **named)
        assert isinstance(made, _DatedTls)
        made.at_s = signed_s if is_wrong else None
        return made
