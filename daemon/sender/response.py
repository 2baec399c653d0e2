"""A receiver's answer, and its conversion to the outcome of an attempt."""

import functools
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from daemon.core.limits import ANSWER_BYTES_MAX, ANSWER_KEPT_BYTES_MAX
from daemon.core.webhooks.delivery import DeliveryError
from parsers.times import to_us

USED_FIELDS: Final = frozenset({b"date", b"retry-after"})


class PartialResponse:
    """The part of an answer that arrived before the attempt ended; of its headers the used ones, in lower case."""

    __slots__ = ("body", "headers", "status_code")

    def __init__(self) -> None:
        self.status_code: int | None = None
        self.headers: Mapping[str, str] = {}
        self.body = bytearray()

    def take(self, chunk: bytes) -> bool:
        """Append to the body; False when the limit is reached."""
        self.body += chunk[: ANSWER_BYTES_MAX - len(self.body)]
        return len(self.body) < ANSWER_BYTES_MAX

    def text(self) -> str:
        """Return at most 8 KiB of the body as text; invalid UTF-8 and NUL become U+FFFD."""
        text = bytes(self.body[:ANSWER_KEPT_BYTES_MAX]).decode("utf-8", "replace")
        text = text.replace("\0", "\ufffd")
        if text.isascii():
            return text
        # A replacement character is longer than the byte it replaces.
        return text.encode()[:ANSWER_KEPT_BYTES_MAX].decode("utf-8", "ignore")


def judge_status(status: int) -> tuple[DeliveryError | None, str | None]:
    """Return the error code and message for the status of a complete answer, or two None for a success."""
    match status // 100:
        case 2:
            return None, None
        case 3:
            return (
                DeliveryError.REDIRECT,
                f"the receiver answered {status}; redirects are not followed",
            )
        case 4 | 5:
            return DeliveryError.HTTP_ERROR, f"the receiver answered {status}"
    return DeliveryError.PROTOCOL_ERROR, f"the receiver answered {status}"


def retry_after_s(headers: Mapping[str, str]) -> int | None:
    """Return `Retry-After` in seconds (RFC 9110 section 10.2.3); a date is compared with the answer's own `Date`."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdecimal():
        return int(text[:9])
    try:
        then = parsedate_to_datetime(text)
        now = parsedate_to_datetime(headers.get("date", ""))
        return max(0, int((then - now).total_seconds()))
    except (TypeError, ValueError, OverflowError):
        return None


def date_us(headers: Mapping[str, str]) -> int | None:
    """Return the answer's `Date` (RFC 9110 section 6.6.1) in microseconds since 1970; None without a valid one."""
    return _parse_date(headers.get("date", ""))


@functools.lru_cache(maxsize=8)  # answers within one second have the same
def _parse_date(text: str) -> int | None:
    try:
        said = parsedate_to_datetime(text)
        return to_us(said if said.tzinfo else said.replace(tzinfo=UTC))
    except (TypeError, ValueError, OverflowError):
        return None
