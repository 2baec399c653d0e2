"""Posts of the open Android app "SMS Gateway for Android": their signature, and the messages in them. Pure.

The app signs the body followed by the text of `X-Timestamp` (Unix seconds) with HMAC-SHA256, and writes it in hex into
`X-Signature`. It signs again for every retry. Its `messageId` is a hash of the content, and its event `id` is new for every
export, so neither identifies a message.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import Any, Final, Protocol, runtime_checkable

from msgspec import Struct

from daemon.core.errors import MomoError
from daemon.core.limits import MINUTE_US, SECOND_US
from parsers.times import to_us

SIGNATURE_HEADER: Final = "X-Signature"
TIMESTAMP_HEADER: Final = "X-Timestamp"
WINDOW_US: Final = 10 * MINUTE_US
"""Largest difference between the app's timestamp and our clock: as for other witnesses of the time."""
SLOTS_MAX: Final = 8
SENDER_CHARACTERS_MAX: Final = 64
UNREADABLE_SENDER: Final = "?post"
BODY_BYTES_MAX: Final = 256 * 1024
"""Of a post: a batch of 100 long SMS. The app would repeat a larger one for two days, whatever the answer."""
MESSAGES_MAX: Final = 200
"""In one post; the app puts at most 100 into a batch."""
_RECEIVED: Final = "sms:received"
_BATCH: Final = "sms:batch:received"
_PING: Final = "system:ping"


class PostFault(StrEnum):
    """Why a post is refused."""

    UNSIGNED = "unsigned"
    FORGED = "forged"
    STALE = "stale"


class PostVerdict(StrEnum):
    """The outcome of a genuine post."""

    STORED = "stored"
    HEARD = "heard"
    IGNORED = "ignored"
    """It is about something else, or about a SIM that is not in the settings."""
    TOO_MANY = "too_many"
    NOT_NOW = "not_now"
    """Not stored: the app must post it again."""


class PostKind(StrEnum):
    """The kind of a post."""

    MESSAGES = "messages"
    PING = "ping"
    OTHER = "other"


class NotAPost(MomoError):
    """A signed body does not have the form that the app documents; the text says where."""


class AppMessage(Struct, frozen=True):
    """One SMS as the app reports it.

    Attributes:
        sender: A name or number; empty if the app gives none.
        text: The whole text.
        slot: The SIM's slot, from 0; None if the app does not know it.
        sent_at: Microseconds; None if the app gives no valid time.
    """

    sender: str
    text: str
    slot: int | None
    sent_at: int | None


class AppPost(Struct, frozen=True):
    """A post that was read; `messages` is empty unless it is about messages, the oldest first.

    `unreadable` counts those of a form that the app does not document. They are among the messages, as they came.
    """

    kind: PostKind
    messages: tuple[AppMessage, ...] = ()
    unreadable: int = 0


@runtime_checkable
class PostedSource(Protocol):
    """A running source that gets its messages by POST."""

    @property
    def name(self) -> str:
        """The name in the settings."""

    async def check(
        self, body: bytes, timestamp: str | None, signature: str | None
    ) -> PostFault | None:
        """Return why a post is refused, None if it is genuine."""

    async def receive(self, body: Mapping[str, Any]) -> PostVerdict:
        """Take a genuine post; return when its messages are durable, or will not be."""

    def note_refused(self) -> None:
        """Count a post that is refused before its signature can be checked."""

    def note_unreadable(self, count: int = 1) -> None:
        """Count genuine posts that cannot be read."""


def sign(key: bytes, body: bytes, timestamp: str) -> str:
    """Return the signature that the app sends with a body."""
    return hmac.new(key, body + timestamp.encode(), hashlib.sha256).hexdigest()


def fault_of(
    key: bytes, body: bytes, timestamp: str | None, signature: str | None, now_us: int | None
) -> PostFault | None:
    """Return why a post is refused, None if the app signed it now.

    Args:
        key: The signing key of the source.
        body: The body as received.
        timestamp: The header `X-Timestamp`.
        signature: The header `X-Signature`.
        now_us: The time; None if our clock is not trusted. A repeated post has no effect, so a wrong clock of ours
            need not stop the messages.
    """
    if not timestamp or not signature:
        return PostFault.UNSIGNED
    if not re.fullmatch(r"[0-9]{1,12}", timestamp, re.ASCII):
        return PostFault.FORGED
    wanted = sign(key, body, timestamp)
    if not hmac.compare_digest(wanted.encode(), signature.lower().encode("utf-8", "replace")):
        return PostFault.FORGED
    if now_us is not None and abs(int(timestamp) * SECOND_US - now_us) > WINDOW_US:
        return PostFault.STALE
    return None


def read_post(body: Mapping[str, Any], zone: tzinfo) -> AppPost:
    """Parse the body of a post.

    Args:
        body: The parsed body.
        zone: The zone of times without one, which old versions of the app send.

    Raises:
        NotAPost: It is not known what it is about. A message of an unknown form is kept as it came.
    """
    event, payload = body.get("event"), body.get("payload")
    if event == _PING:
        return AppPost(PostKind.PING)
    if event == _RECEIVED:
        return _messages([payload], zone)
    if event == _BATCH:
        listed = payload.get("messages") if isinstance(payload, dict) else None
        if not isinstance(listed, list) or len(listed) > MESSAGES_MAX:
            raise NotAPost(f"payload.messages is no list of at most {MESSAGES_MAX} messages")
        return _messages(listed, zone)
    if not isinstance(event, str):
        raise NotAPost("event is no text")
    return AppPost(PostKind.OTHER)


def _messages(listed: Sequence[Any], zone: tzinfo) -> AppPost:
    found = [(_message(each, zone) or _raw(each), _message(each, zone) is None) for each in listed]
    found.sort(key=lambda each: each[0].sent_at or 0)
    unreadable = sum(is_raw for _, is_raw in found)
    return AppPost(PostKind.MESSAGES, tuple(message for message, _ in found), unreadable)


def _message(payload: Any, zone: tzinfo) -> AppMessage | None:
    if not isinstance(payload, dict):
        return None
    text = payload.get("message")
    if text is None and isinstance(inner := payload.get("textMessage"), dict):
        text = inner.get("text")  # as one version of the app documents it
    # `sender` came in 2026 and replaces `phoneNumber`.
    sender = payload.get("sender") or payload.get("phoneNumber") or ""
    if not isinstance(text, str) or not isinstance(sender, str):
        return None
    return AppMessage(
        sender.strip()[:SENDER_CHARACTERS_MAX],
        text,
        _slot(payload),
        read_time(payload.get("receivedAt"), zone),
    )


def _raw(payload: Any) -> AppMessage:
    """Return a message of an unknown form as it came, from a sender that no network has."""
    text = json.dumps(payload, ensure_ascii=False, sort_keys=True, default=str)
    return AppMessage(UNREADABLE_SENDER, text, _slot(payload), None)


def _slot(payload: Any) -> int | None:
    number = payload.get("simNumber") if isinstance(payload, dict) else None
    good = isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= SLOTS_MAX
    return number - 1 if good and number is not None else None


def read_time(value: Any, zone: tzinfo) -> int | None:
    """Return `receivedAt` in microseconds, None if it is no time.

    The app writes the phone's local time with its offset, `2024-06-22T15:46:11.000+07:00`.
    """
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        found = datetime.fromisoformat(value.strip())
        if found.tzinfo is None:
            found = found.replace(tzinfo=zone)
        return to_us(found.astimezone(UTC))
    except (ValueError, OverflowError):
        return None
