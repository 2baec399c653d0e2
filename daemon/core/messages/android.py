"""Posts of the open Android app "SMS Gateway for Android": their signature, and the messages in them. Pure.

The app signs the body followed by the text of `X-Timestamp` (Unix seconds) with HMAC-SHA256, and writes it in hex into
`X-Signature`. It signs again for every retry. Its `messageId` is a hash of the content, and its event `id` is new for every
export, so neither identifies a message.
"""

import hashlib
import hmac
import json
import re
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import Any, Final, Protocol, runtime_checkable

from msgspec import Struct

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
"""What is read of a post: a batch of 100 long SMS."""
POST_BYTES_MAX: Final = 8 * 1024 * 1024
"""Of a post that is answered. The app repeats a refused one for two days, so of one that is not read the begin is kept."""
_RECEIVED: Final = "sms:received"
_BATCH: Final = "sms:batch:received"
_PING: Final = "system:ping"
_EVENT: Final = re.compile(rb'"event"\s*:\s*"([^"\\]*)"')
"""The kind of a post that is not read whole. In a text the quotes are escaped."""


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

    async def mac(self) -> hmac.HMAC | None:
        """Return what takes the octets of a post, to check its signature; None without a key."""

    def check(self, mac: hmac.HMAC, timestamp: str | None, signature: str | None) -> PostFault | None:
        """Return why a post is refused, None if it is genuine."""

    async def receive(self, body: bytes, *, whole: bool) -> PostVerdict:
        """Take a genuine post, or its beginning; return when its messages are durable, or will not be."""

    def note_refused(self) -> None:
        """Count a post that is refused before its signature can be checked."""


def mac_of(key: bytes) -> hmac.HMAC:
    """Return what takes the octets of a post that is signed with a key."""
    return hmac.new(key, digestmod=hashlib.sha256)


def sign(key: bytes, body: bytes, timestamp: str) -> str:
    """Return the signature that the app sends with a body."""
    return hmac.new(key, body + timestamp.encode(), hashlib.sha256).hexdigest()


def fault_of(mac: hmac.HMAC, timestamp: str | None, signature: str | None, now_us: int | None) -> PostFault | None:
    """Return why a post is refused, None if the app signed it now.

    Args:
        mac: That of the source's key, which has taken the body.
        timestamp: The header `X-Timestamp`.
        signature: The header `X-Signature`.
        now_us: The time; None if our clock is not trusted. A repeated post has no effect, so a wrong clock of ours
            need not stop the messages.
    """
    if not timestamp or not signature:
        return PostFault.UNSIGNED
    if not re.fullmatch(r"[0-9]{1,12}", timestamp, re.ASCII):
        return PostFault.FORGED
    mac.update(timestamp.encode())
    if not hmac.compare_digest(mac.hexdigest().encode(), signature.lower().encode("utf-8", "replace")):
        return PostFault.FORGED
    if now_us is not None and abs(int(timestamp) * SECOND_US - now_us) > WINDOW_US:
        return PostFault.STALE
    return None


def read_post(body: bytes, zone: tzinfo, *, whole: bool = True) -> AppPost:
    """Read a post. What has no known form is kept as it came, because the app repeats for days what is refused.

    Args:
        body: The octets, or the first of them. One odd character in one SMS does not make the others unreadable.
        zone: The zone of times without one, which old versions of the app send.
        whole: Whether these are all octets.
    """
    text = body.decode("utf-8-sig", "replace")
    try:
        read = _read(json.loads(text, strict=False), zone) if whole else _read_begin(body)
        if read is not None:
            return read
    except (ValueError, RecursionError):
        pass
    kept = AppMessage(UNREADABLE_SENDER, text, None, None)
    return AppPost(PostKind.MESSAGES, (kept,), 1)


def _read(body: Any, zone: tzinfo) -> AppPost | None:
    """Return a post that was parsed; None if it is not known what it is about."""
    event, payload = (body.get("event"), body.get("payload")) if isinstance(body, dict) else (None, None)
    if event not in (_RECEIVED, _BATCH):
        kind = PostKind.PING if event == _PING else PostKind.OTHER
        return AppPost(kind) if isinstance(event, str) else None
    listed: Any = [payload]
    if event == _BATCH:
        listed = payload.get("messages") if isinstance(payload, dict) else None
        if not isinstance(listed, list):
            return None
    read = [_message(each, zone) for each in listed]
    found = [one or _raw(each) for one, each in zip(read, listed, strict=True)]
    found.sort(key=lambda one: one.sent_at or 0)
    return AppPost(PostKind.MESSAGES, tuple(found), read.count(None))


def _read_begin(begin: bytes) -> AppPost | None:
    """Return the kind of a post of which only the begin is known, unless it is about SMS."""
    event = _EVENT.search(begin)
    return None if event is None or event[1].startswith(b"sms:") else AppPost(PostKind.OTHER)


def is_batch(begin: bytes) -> bool:
    """Return whether a post of which only the begin is known has several SMS, which the app can post singly."""
    event = _EVENT.search(begin)
    return event is not None and event[1] == _BATCH.encode()


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
        sender.strip()[:SENDER_CHARACTERS_MAX], text, _slot(payload), read_time(payload.get("receivedAt"), zone)
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
