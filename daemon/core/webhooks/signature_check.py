"""Verify a received webhook: find the secret that signed it, or the usual mistake that explains the failure. Pure.

For developers of receivers. A failed check alone gives no cause: the body may have passed through a JSON library, the secret
may lack a character, the clock may be wrong. So the usual mistakes are tried one by one, and the first one that makes the
signature valid is reported.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from daemon.core.limits import SECOND_US
from daemon.core.webhooks.signing import (
    PREVIOUS_HEADER,
    SECRET_PREFIX,
    SIGNATURE_HEADER,
    STANDARD_ID_HEADER,
    STANDARD_SIGNATURE_HEADER,
    STANDARD_TIMESTAMP_HEADER,
    standard_signature,
    stripe_signature,
)

TOLERANCE_S: Final = 300
"""Tolerance of receivers between `t` and their clock: five minutes, as in Standard Webhooks 1.0 and Stripe."""
_STAMP: Final = re.compile(r"[0-9]{1,15}", re.ASCII)
_HEX: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


class MatchingSecret(Struct, frozen=True):
    """A secret that signed the webhook.

    `scheme` is the header with its signature, `secret` its position among the given secrets, from 1.
    """

    scheme: str
    secret: int


class Verification(Struct, frozen=True):
    """Result of the verification.

    `fits` has the valid secrets by header. `timestamp` is `t`, in Unix seconds, None if it is missing; `age_s` is
    negative if it is in the future, and `fresh` within the tolerance. `problems` are sentences, the most important
    first.
    """

    fits: tuple[MatchingSecret, ...]
    timestamp: int | None
    age_s: int | None
    fresh: bool
    problems: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether a receiver should accept the webhook."""
        return bool(self.fits) and self.fresh


class _Seen(Struct, frozen=True):
    stripe: Mapping[str, tuple[str | None, tuple[str, ...]]]
    webhook_id: str | None
    stamp: str | None
    standard: tuple[str, ...]
    length: str | None
    """The value of Content-Length."""


def check(headers: Mapping[str, str], body: bytes, secrets: Sequence[str], now_us: int) -> Verification:
    """Verify one webhook.

    The case of the headers' names does not matter. The body is the received bytes, unchanged; `now_us` is the
    receiver's clock.
    """
    seen = _take_apart({name.lower(): value.strip() for name, value in headers.items()})
    fits = tuple(_fits(seen, body, secrets))
    stamps = [stamp for stamp, _ in seen.stripe.values()] + [seen.stamp]
    good = [stamp for stamp in stamps if stamp is not None and _STAMP.fullmatch(stamp)]
    stamp = int(good[0]) if good else None
    age_s = None if stamp is None else now_us // SECOND_US - stamp
    fresh = age_s is not None and abs(age_s) <= TOLERANCE_S
    problems: list[str] = []
    if not fits:
        problems += _why_not(seen, body, secrets)
    if age_s is not None and age_s > TOLERANCE_S:
        problems.append(
            f"It is {age_s} s old, and receivers should accept nothing older than {TOLERANCE_S} s. Either it was stored "
            "for a while, or this machine's clock is ahead."
        )
    elif age_s is not None and not fresh:
        problems.append(
            f"It is from {-age_s} s in the future: this machine's clock is behind. Set it by the network (NTP)."
        )
    return Verification(fits, stamp, age_s, fresh, tuple(problems))


def _take_apart(headers: Mapping[str, str]) -> _Seen:
    stripe = {}
    for name in (SIGNATURE_HEADER, PREVIOUS_HEADER):
        text = headers.get(name.lower())
        if text is None:
            continue
        parts = [part.strip().partition("=") for part in text.split(",")]
        stamp = next((value for key, _, value in parts if key == "t"), None)
        signatures = tuple(value for key, _, value in parts if key == "v1")
        stripe[name] = (stamp, signatures)
    standard = headers.get(STANDARD_SIGNATURE_HEADER, "").split()
    return _Seen(
        stripe,
        headers.get(STANDARD_ID_HEADER),
        headers.get(STANDARD_TIMESTAMP_HEADER),
        tuple(entry.removeprefix("v1,") for entry in standard if entry.startswith("v1,")),
        headers.get("content-length"),
    )


def _fits(seen: _Seen, body: bytes, secrets: Sequence[str]) -> Iterator[MatchingSecret]:
    for place, secret in enumerate(secrets, 1):
        for scheme, (stamp, signatures) in seen.stripe.items():
            if stamp is not None and stripe_signature(secret, stamp, body) in signatures:
                yield MatchingSecret(scheme, place)
        if seen.webhook_id is None or seen.stamp is None:
            continue
        try:
            signature = standard_signature(secret, seen.webhook_id, seen.stamp, body)
        except ValueError:
            continue
        if signature in seen.standard:
            yield MatchingSecret(STANDARD_SIGNATURE_HEADER, place)


def _why_not(seen: _Seen, body: bytes, secrets: Sequence[str]) -> Iterator[str]:
    """Yield why no secret is valid: the missing parts, else the first usual mistake that explains it."""
    if not seen.stripe and not seen.standard:
        yield (
            f"There is no signature: neither {SIGNATURE_HEADER} nor {STANDARD_SIGNATURE_HEADER} is among the headers. "
            "Did a proxy remove it?"
        )
        return
    yield from _misshapen(seen)
    for other, mistake in _altered(body):
        if any(_fits(seen, other, secrets)):
            yield f"The signature is valid for another body: {mistake}"
            return
    for others, mistake in _mistaken(secrets):
        if any(_fits(seen, body, others)):
            yield f"The signature is valid for another secret: {mistake}"
            return
    if not body:
        yield "The body is empty, but momo never sends an empty one. It was read before, and it can be read only once."
        return
    if seen.length is not None and seen.length.isdecimal() and int(seen.length) > len(body):
        yield (
            f"The body was cut: it has {len(body)} bytes, but Content-Length is {seen.length}. A limit of the server or of a "
            "proxy removed the rest."
        )
        return
    yield (
        "None of the given secrets signed this body. Either the secret is of another endpoint, or it was rotated over 24 "
        "hours ago, or the body differs from the sent bytes."
    )


def _misshapen(seen: _Seen) -> Iterator[str]:
    for scheme, (stamp, signatures) in seen.stripe.items():
        if stamp is None or not _STAMP.fullmatch(stamp):
            yield f"{scheme} has no `t=` with Unix seconds."
        if not signatures:
            yield f"{scheme} has no `v1=`."
        elif not all(_HEX.fullmatch(signature) for signature in signatures):
            yield f"A signature in {scheme} is not 64 hex digits: it was cut or changed on the way."
    if seen.standard and seen.webhook_id is None:
        yield f"{STANDARD_ID_HEADER} is missing, and it is part of what is signed."
    if seen.standard and seen.stamp is None:
        yield f"{STANDARD_TIMESTAMP_HEADER} is missing, and it is part of what is signed."


def _altered(body: bytes) -> Iterator[tuple[bytes, str]]:
    """Yield possible original bodies, each with the mistake that would have changed it."""
    for other in (body.removesuffix(b"\n"), body.removesuffix(b"\r\n"), body.rstrip(), body.strip()):
        if other != body:
            yield (other, "a line end or blanks were added at its ends. Read the raw bytes of the body.")
    yield body + b"\n", "a line end was removed from its end. Read the raw bytes of the body."
    if body.startswith(b"\xef\xbb\xbf"):
        yield body[3:], "a byte order mark was added before it. Read it as bytes, not as text."
    unix = body.replace(b"\r\n", b"\n")
    if unix != body:
        yield unix, "its line ends were changed."
    try:
        value = json.loads(body)
    except ValueError:
        return
    why = "it was parsed as JSON and encoded again. Verify the raw body first, and parse it afterwards."
    for ascii_only in (False, True):
        for separators in ((",", ":"), (", ", ": ")):
            other = json.dumps(value, ensure_ascii=ascii_only, separators=separators).encode()
            if other != body:
                yield other, why


def _mistaken(secrets: Sequence[str]) -> Iterator[tuple[list[str], str]]:
    """Yield possible original secrets, each with the mistake that would have changed them."""
    bare = [secret.strip().strip("\"'") for secret in secrets]
    if bare != list(secrets):
        yield (bare, "yours has blanks, a line end or quotes around it. Strip them where you read it.")
    plain = [secret.removeprefix(SECRET_PREFIX) for secret in bare]
    if plain != bare:
        yield (
            plain,
            f"it was signed without `{SECRET_PREFIX}`, which momo never does. Is this webhook from another sender?",
        )
    prefixed = [SECRET_PREFIX + secret for secret in plain]
    if prefixed != bare:
        yield (prefixed, f"`{SECRET_PREFIX}` is part of it. For {SIGNATURE_HEADER} the key is the whole text.")
    padded = [secret + "=" * (-len(secret.removeprefix(SECRET_PREFIX)) % 4) for secret in prefixed]
    if padded not in (prefixed, bare):
        yield padded, "the `=` at its end are part of it."
