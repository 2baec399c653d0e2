"""Posts of apps that forward the SMS of an Android phone: how each app signs, and where its messages stand. Pure.

An app is a row of `PRESETS`. No ID of an app is used: one is a hash of the content, others are new when a phone posts again.
The same sender, text and time is the same message.
"""

import base64
import contextlib
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from functools import partial
from typing import Any, Final, Protocol, runtime_checkable

from msgspec import Struct

from daemon.core.limits import MINUTE_US, SECOND_US
from parsers.times import to_us

WINDOW_US: Final = 10 * MINUTE_US
"""Largest difference between the app's timestamp and our clock: as for other witnesses of the time."""
SENDER_CHARACTERS_MAX: Final = 64
UNREADABLE_SENDER: Final = "?post"
BODY_BYTES_MAX: Final = 256 * 1024
"""What is read of a post: a batch of 100 long SMS."""
POST_BYTES_MAX: Final = 8 * 1024 * 1024
"""Of a post that is answered. An app repeats a refused one for days, so of one that is not read the begin is kept."""
_PDU: Final = re.compile(r"(?:[0-9A-Fa-f]{2}){15,190}")
"""A PDU with its service centre, in hex."""
_SLOT: Final = re.compile(r"(?:SIM ?)?([0-8])(?:_.*)?", re.ASCII | re.DOTALL | re.IGNORECASE)
_MILLISECONDS_FROM: Final = 10**11
"""A larger number of Unix time has milliseconds."""


class Scheme(StrEnum):
    """How a post proves that it has the key."""

    STAMPED = "stamped"
    """The header `X-Signature` has the HMAC-SHA256 of the body and of `X-Timestamp` (Unix seconds), in hex."""
    HMAC = "hmac"
    """A header has the HMAC-SHA256 of the body, in hex or Base64."""
    JWT = "jwt"
    """`Authorization: Bearer` has a JWT, signed by HS256. It does not cover the body."""
    FORM = "form"
    """The member `sign` has the HMAC-SHA256 of `timestamp` and the key, in Base64. It does not cover the other members."""
    TOKEN = "token"  # noqa: S105 -- the name of a scheme
    """A header has the key itself, after `Bearer ` or alone."""
    PATH = "path"
    """The address has the key itself, after the name and a stop."""


class PostFault(StrEnum):
    """Why a post is refused."""

    UNSIGNED = "unsigned"
    FORGED = "forged"
    STALE = "stale"


WHY: Final = {
    PostFault.UNSIGNED: "The post is not signed in the way of its preset: the key, its signature or its time is not there.",
    PostFault.FORGED: "The signature does not fit the body and the key of this source.",
    PostFault.STALE: "The timestamp is more than 10 minutes away from the shop's clock.",
}


class PostVerdict(StrEnum):
    """The outcome of a genuine post."""

    STORED = "stored"
    HEARD = "heard"
    IGNORED = "ignored"
    """It is about something else, or about a SIM that is not in the settings."""
    NOT_NOW = "not_now"
    """Not stored: the app must post it again."""


class PostKind(StrEnum):
    """The kind of a post."""

    MESSAGES = "messages"
    PING = "ping"
    AWAY = "away"
    """The app's server does not hear the phone."""
    OTHER = "other"


class Preset(Struct, frozen=True):
    """One app. A place is a path of member names, such as `data.content`; of several the first that is there counts.

    Attributes:
        header: Of the signature, in small letters; empty: any header.
        event: Where the kind of a post stands; empty: every post is about an SMS.
        kinds: Its values; others are about something else.
        messages: Where the SMS or the list of them stands; empty: the body itself.
        sender, text, time: Within an SMS.
        sim, slot: The number of the SIM, from 1 or from 0.
        pdu: The PDU or the list of PDUs of an SMS, each with its service centre. Nothing else of the SMS is needed then.
        pings: The app posts a sign of life.
    """

    signed: Scheme
    header: str = ""
    event: str = ""
    kinds: Mapping[str, PostKind] = {}
    messages: str = ""
    sender: str = ""
    text: str = ""
    time: str = ""
    sim: str = ""
    slot: str = ""
    pdu: str = ""
    pings: bool = False


CAPCOM6: Final = "capcom6"
CUSTOM: Final = "custom"
PRESETS: Final = {
    CAPCOM6: Preset(
        Scheme.STAMPED, "x-signature", event="event", messages="payload.messages payload", pings=True,
        kinds={"sms:received": PostKind.MESSAGES, "sms:batch:received": PostKind.MESSAGES, "system:ping": PostKind.PING},
        # `sender` came in 2026; `textMessage` is documented for one version.
        sender="sender phoneNumber", text="message textMessage.text", time="receivedAt", sim="simNumber",
    ),
    "httpsms": Preset(
        Scheme.JWT, "authorization", event="type", messages="data", sender="contact", text="content", time="timestamp",
        sim="sim", kinds={"message.phone.received": PostKind.MESSAGES, "phone.heartbeat.online": PostKind.PING,
                          "phone.heartbeat.offline": PostKind.AWAY},
    ),
    "textbee": Preset(
        # Its documentation has `event` and `data`, its server and dashboard the flat form.
        Scheme.HMAC, "x-signature", event="webhookEvent event", kinds={"MESSAGE_RECEIVED": PostKind.MESSAGES},
        sender="sender data.sender", text="message data.message", time="receivedAt data.receivedAt",
    ),
    "smsforwarder": Preset(Scheme.FORM, sender="from", text="text", time="time", sim="sim"),
    CUSTOM: Preset(Scheme.TOKEN),
}  # fmt: skip
MEMBERS: Final = ("sender", "text", "time", "sim", "slot", "pdu", "messages")
"""What the settings of a source may place elsewhere than its preset does."""


class AppMessage(Struct, frozen=True):
    """One SMS as the app reports it.

    Attributes:
        sender: A name or number; empty if the app gives none.
        text: The whole text.
        slot: The SIM's slot, from 0; None if the app does not know it.
        sent_at: Microseconds; None if the app gives no valid time.
        pdus: The PDUs with their service centre, if the app gives them.
    """

    sender: str
    text: str
    slot: int | None
    sent_at: int | None
    pdus: tuple[str, ...] = ()


class AppPost(Struct, frozen=True):
    """A post that was read; `messages` is empty unless it is about messages, the oldest first.

    `unreadable` counts those of a form that the preset does not have. They are among the messages, as they came. `missing` is
    the member whose absence was found first.
    """

    kind: PostKind
    messages: tuple[AppMessage, ...] = ()
    unreadable: int = 0
    missing: str = ""


class Arrived(Struct, frozen=True):
    """A post: its headers in small letters, what stands after the name in its address, the MAC of its body, and its begin."""

    headers: dict[str, str]
    secret: str
    mac: hmac.HMAC
    begin: bytes


@runtime_checkable
class PostedSource(Protocol):
    """A running source that gets its messages by POST."""

    last: dict[str, str] | None
    """What became of the last post, to show: `{at, result, detail}`."""

    @property
    def name(self) -> str:
        """The name in the settings."""

    async def key(self) -> bytes | None:
        """Return the key, None without one."""

    def check(self, key: bytes, post: Arrived) -> PostFault | None:
        """Return why a post is refused, None if it is genuine."""

    async def receive(self, body: bytes, *, whole: bool) -> tuple[PostVerdict, str]:
        """Take a genuine post, or its beginning; return when its messages are durable, or will not be; and what it lacked."""

    def note_refused(self, why: str) -> None:
        """Count a post that is refused."""


def mac_of(key: bytes, octets: bytes = b"") -> hmac.HMAC:
    """Return what takes the octets that are signed with a key."""
    return hmac.new(key, octets, hashlib.sha256)


def fault_of(preset: Preset, key: bytes, post: Arrived, now_us: int | None) -> PostFault | None:
    """Return why a post is refused, None if the app signed it now.

    `now_us` is None if our clock is not trusted. A repeated post has no effect, so a wrong clock of ours need not stop the
    messages.
    """
    given, wanted, stamp = _proof(preset, key, post)
    given = [value for value in given if value]
    if not given or stamp == "":
        return PostFault.UNSIGNED
    if not any(hmac.compare_digest(value.encode("utf-8", "replace"), one) for value in given for one in wanted):
        return PostFault.FORGED
    if stamp is None:
        return None
    if not re.fullmatch(r"[0-9]{1,12}", stamp, re.ASCII):
        return PostFault.FORGED
    return PostFault.STALE if now_us is not None and abs(int(stamp) * SECOND_US - now_us) > WINDOW_US else None


def _proof(preset: Preset, key: bytes, post: Arrived) -> tuple[list[str], list[bytes], str | None]:
    """Return the signatures that a post gives, those of which it needs one, and its time in seconds; None if it has none."""
    mac, names = post.mac, [preset.header] if preset.header else post.headers
    given = [post.headers.get(name, "") for name in names]
    bare = [value.removeprefix("Bearer ").removeprefix("sha256=") for value in given]
    match preset.signed:
        case Scheme.PATH:
            return [post.secret], [key], None
        case Scheme.TOKEN:
            return bare, [key], None
        case Scheme.HMAC:
            return [*bare, *map(str.lower, bare)], [mac.hexdigest().encode(), base64.b64encode(mac.digest())], None
        case Scheme.STAMPED:
            stamp = post.headers.get("x-timestamp", "")
            mac.update(stamp.encode("utf-8", "replace"))
            return [value.lower() for value in given], [mac.hexdigest().encode()], stamp
        case Scheme.JWT:
            signed, _, signature = bare[0].rpartition(".")
            try:
                claims = _parsed(base64.urlsafe_b64decode(signed.partition(".")[2] + "==").decode("utf-8", "replace"))
            except ValueError:
                claims = None
            digest = base64.urlsafe_b64encode(mac_of(key, signed.encode("utf-8", "replace")).digest())
            return [signature], [digest.rstrip(b"=")], str(_at(claims, "iat") or "")
        case Scheme.FORM:
            form = _parsed(post.begin.decode("utf-8-sig", "replace"))
            stamp, signature = (str(_at(form, name) or "") for name in ("timestamp", "sign"))
            digest = mac_of(key, stamp.encode("utf-8", "replace") + b"\n" + key).digest()
            # It is encoded for an address before it is put into the form.
            return [_decoded(signature)], [base64.b64encode(digest)], stamp[:-3]


def read_post(preset: Preset, body: bytes, zone: tzinfo, *, whole: bool = True) -> AppPost:
    """Read a post. What has no known form is kept as it came, because an app repeats for days what is refused.

    Args:
        preset: The app.
        body: The octets, or the first of them. One odd character in one SMS does not make the others unreadable.
        zone: The zone of times without one.
        whole: Whether these are all octets.
    """
    text = body.decode("utf-8-sig", "replace")
    value = _parsed(text) if whole else None
    event: Any = _at(value, preset.event) if whole else _event_of_begin(preset, body)
    known = isinstance(event, str)
    kind = preset.kinds.get(event, PostKind.OTHER) if known else PostKind.MESSAGES
    # A post of which only the begin is known may be about SMS of a new kind.
    if kind is not PostKind.MESSAGES and (whole or not event.startswith("sms:")):
        return AppPost(kind)
    listed = _at(value, preset.messages) if preset.messages else value
    listed = [listed] if isinstance(listed, dict) else listed
    if (preset.event and not known) or not isinstance(listed, list) or not listed:
        lacks = _or(preset.messages if known else preset.event or preset.messages) or "an SMS"
        lacks = "its end" if not whole else "valid JSON" if value is None else lacks
        return AppPost(PostKind.MESSAGES, (AppMessage(UNREADABLE_SENDER, text, None, None),), 1, lacks)
    read = [_message(preset, each, zone) for each in listed]
    raw = partial(json.dumps, ensure_ascii=False, sort_keys=True, default=str)
    found = [
        one or AppMessage(UNREADABLE_SENDER, raw(each) if len(listed) > 1 else text, _slot(preset, each), None)
        for (one, _), each in zip(read, listed, strict=True)
    ]
    found.sort(key=lambda one: one.sent_at or 0)
    missing = next((lacks for _, lacks in read if lacks), "")
    return AppPost(PostKind.MESSAGES, tuple(found), sum(one is None for one, _ in read), missing)


def _parsed(text: str) -> Any:
    """Return JSON, or the members of a form; None if it is JSON with a fault."""
    with contextlib.suppress(ValueError, RecursionError):
        if text.lstrip()[:1] in ("{", "["):
            return json.loads(text, strict=False)
        pairs = (one.replace("+", " ").partition("=") for one in text.split("&"))
        return {_decoded(name): _decoded(value) for name, _, value in pairs}
    return None


def _decoded(text: str) -> str:
    """Return a text of a form or an address. Octets that are not UTF-8 are marked."""
    octets = re.compile(r"(?:%[0-9A-Fa-f]{2})+", re.ASCII)
    return octets.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), text)


def _event_of_begin(preset: Preset, begin: bytes) -> str | None:
    """Return the kind of a post that is not read whole. In a text the quotes are escaped."""
    names = "|".join(map(re.escape, preset.event.split())) or "(?!)"
    found = re.search(rf'"(?:{names})"\s*:\s*"([^"\\]*)"'.encode(), begin)
    return None if found is None else found[1].decode("utf-8", "replace")


def _at(value: Any, places: str) -> Any:
    """Return the member at the first place that there is; None if there is none."""
    for place in places.split():
        found = value
        for name in place.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        if found is not None:
            return found
    return None


def _or(places: str) -> str:
    return " or ".join(places.split())


def _message(preset: Preset, payload: Any, zone: tzinfo) -> tuple[AppMessage | None, str]:
    """Return an SMS, None if it lacks something that it needs; and what it lacks."""
    sender, text, time, pdus = (_at(payload, one) for one in (preset.sender, preset.text, preset.time, preset.pdu))
    pdus = pdus if isinstance(pdus, list) else [pdus]
    pdus = tuple(pdus) if all(isinstance(one, str) and _PDU.fullmatch(one) for one in pdus) else ()
    sender, text = (one if isinstance(one, str) else "" if pdus else None for one in (sender, text))
    places = (preset.sender, preset.text, preset.time, preset.pdu)
    lacks = (_or(at) for at, one in zip(places, (sender, text, time, pdus or None), strict=True) if at and one is None)
    missing = "" if pdus else next(lacks, "")
    if sender is None or text is None:
        return None, missing
    sender = sender.strip()[:SENDER_CHARACTERS_MAX]
    return AppMessage(sender, text, _slot(preset, payload), read_time(time, zone), pdus), missing


def _slot(preset: Preset, payload: Any) -> int | None:
    for place, first in ((preset.sim, 1), (preset.slot, 0)):
        number = _at(payload, place)
        if type(number) in (int, str) and (found := _SLOT.fullmatch(str(number)[:99])):
            return int(found[1]) - first if int(found[1]) >= first else None
    return None


def read_time(value: Any, zone: tzinfo) -> int | None:
    """Return a time in microseconds, None if it is none: a date with its hour, or Unix time in seconds or milliseconds.

    An app may write the phone's local time with its offset, `2024-06-22T15:46:11.000+07:00`.
    """
    with contextlib.suppress(ValueError, OverflowError):
        if type(value) is int or (isinstance(value, str) and value.isdecimal()):
            number = int(value)
            microseconds = number * (1_000 if number >= _MILLISECONDS_FROM else SECOND_US)
            return microseconds if 0 <= number < 10**16 else None
        if isinstance(value, str) and len(value) <= 40:
            found = datetime.fromisoformat(value.strip())
            return to_us((found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC))
    return None
