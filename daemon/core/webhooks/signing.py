"""Signatures, secrets and headers of webhooks: two schemes over one secret. Pure.

The first scheme is Stripe's (`t=...,v1=<hex>`, the key is the whole secret as text), the second is Standard
Webhooks 1.0 (`webhook-id`, `webhook-timestamp`, `webhook-signature`, the key is the base64-decoded part). Both
sign the body's bytes as they are sent, so a receiver verifies before it parses.
"""

import base64
import binascii
import hmac
import ipaddress
import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the prefix of secrets, not one
SECRET_BYTES: Final = 32
SIGNATURE_HEADER: Final = "X-Svc-Signature"
PREVIOUS_HEADER: Final = "X-Svc-Signature-Previous"
STANDARD_ID_HEADER: Final = "webhook-id"
STANDARD_TIMESTAMP_HEADER: Final = "webhook-timestamp"
STANDARD_SIGNATURE_HEADER: Final = "webhook-signature"
LOCAL_SCHEMES: Final = ("exec:/", "spool:/", "listen:")
"""Prefixes of targets on this machine; all other targets are https."""
_PARTS: Final = re.compile(r"https://(\[[^\]/?#]*\]|[^:/?#@]+)(?::([0-9]*))?([^?#]*)(\?[^#]*)?", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
USER_AGENT: Final = "momo-webhooks/1"


def make_secret(entropy: bytes) -> str:
    """Return a new signing secret, `whsec_` and base64.

    `entropy` is exactly 32 random bytes.
    """
    assert len(entropy) == SECRET_BYTES, "a signing secret is made of 32 random bytes"
    return SECRET_PREFIX + base64.b64encode(entropy).decode("ascii")


def sign(secrets: Sequence[str], *, webhook_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the signature headers of one attempt with the secrets valid now, the current one first.

    `timestamp` is in Unix seconds. Receivers refuse old ones, so it is new at every attempt.

    Raises:
        ValueError: There is no secret, or one is not `whsec_` and base64. The message does not contain the secret.
    """
    if not secrets:
        raise ValueError("there is no secret to sign with")
    stripe = [stripe_signature(secret, str(timestamp), body) for secret in secrets]
    headers = {SIGNATURE_HEADER: f"t={timestamp},v1={stripe[0]}"}
    if len(stripe) > 1:
        older = ",".join(f"v1={signature}" for signature in stripe[1:])
        headers[PREVIOUS_HEADER] = f"t={timestamp},{older}"
    headers[STANDARD_ID_HEADER] = webhook_id
    headers[STANDARD_TIMESTAMP_HEADER] = str(timestamp)
    # Space-separated, newest first: Standard Webhooks 1.0, "Multiple signatures".
    headers[STANDARD_SIGNATURE_HEADER] = " ".join(
        f"v1,{standard_signature(secret, webhook_id, str(timestamp), body)}" for secret in secrets
    )
    return headers


def normalise_url(url: str) -> str:
    """Return the same text for all https URLs that are equivalent by RFC 3986 section 6.2.

    Scheme and host become lower case, the default port and empty or dot path segments at the root are removed, and escapes
    get one form. The case of the path, a trailing slash and the query are kept, because they can matter to the receiver.
    The address of a target on this machine is returned unchanged.

    Raises:
        ValueError: It is neither that nor an https URL with a host (`sender.address_guard.check_url` gives the reason).
    """
    match = _PARTS.fullmatch(url)
    if match is None:
        if url.startswith(LOCAL_SCHEMES):
            return url  # it has only one form (`sender.local_targets`)
        raise ValueError("not an https URL")
    host, port, path, query = match.groups(default="")
    host = host.lower()
    if host.startswith("["):
        host = f"[{ipaddress.IPv6Address(host[1:-1])}]"
    if port and int(port) != 443:
        host = f"{host}:{int(port)}"
    path = _remove_dots(_one_escape_form(path)) or "/"
    return f"https://{host}{path}{_one_escape_form(query)}"


def stripe_signature(secret: str, stamp: str, body: bytes) -> str:
    """Return one signature of the first scheme; `stamp` is `t` as written."""
    return _hmac(secret.encode(), f"{stamp}.".encode() + body).hex()


def standard_signature(secret: str, webhook_id: str, stamp: str, body: bytes) -> str:
    """Return one signature of Standard Webhooks, without its `v1,`.

    Raises:
        ValueError: The secret is not `whsec_` and base64. The message does not contain it.
    """
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX).encode(), validate=True)
    except binascii.Error:
        # `from None`: the library's message may quote the secret.
        raise ValueError("a signing secret is not base64") from None
    signed = f"{webhook_id}.{stamp}.".encode() + body
    return base64.b64encode(_hmac(key, signed)).decode("ascii")


def _hmac(key: bytes, message: bytes) -> bytes:
    """Return the HMAC-SHA256 (RFC 2104)."""
    # `hmac.digest` lets another thread run each time, and then waits for its turn: longer than the digest takes.
    return hmac.new(key, message, "sha256").digest()


def _one_escape_form(text: str) -> str:
    """Return text with escapes in upper case, and without needless ones (RFC 3986 section 6.2.2)."""

    def normal(match: re.Match[str]) -> str:
        byte = int(match[1], 16)
        return chr(byte) if byte in _UNRESERVED else f"%{byte:02X}"

    return _ESCAPE.sub(normal, text)


def _remove_dots(path: str) -> str:
    """Return path without `.` and `..` segments (RFC 3986 section 5.2.4)."""
    if "." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments and segments[-1] in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)


class AttemptMetadata(Struct, frozen=True):
    """Metadata of one attempt in the headers.

    `attempt` counts within its run, from 1. `sequence` rises from delivery to delivery; 0 for a test send. `replay`
    marks a redelivery too.
    """

    webhook_id: str
    event: str
    delivery_id: str
    attempt: int
    sequence: int
    replay: bool
    test: bool


def headers(secrets: Sequence[str], sent: AttemptMetadata, *, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of an attempt, signed with the secrets that are valid now, the newest first.

    Arguments as for `sign`.

    Raises:
        ValueError: There is no secret, or one is not valid.
    """
    made = sign(secrets, webhook_id=sent.webhook_id, timestamp=timestamp, body=body)
    made |= {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "X-Svc-Event": sent.event,
        "X-Svc-Delivery": sent.delivery_id,
        "X-Svc-Attempt": str(sent.attempt),
        "X-Svc-Sequence": str(sent.sequence),
    }
    if sent.replay:
        made["X-Svc-Replay"] = "true"
    if sent.test:
        made["X-Svc-Test"] = "true"
    return made
