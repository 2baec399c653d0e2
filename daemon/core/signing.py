"""Webhook signatures, secrets and ids: two schemes over one secret (decisions.md section 6).

The first scheme is Stripe's (`t=...,v1=<hex>`, the key is the whole secret as text), the second is Standard
Webhooks 1.0 (`webhook-id`, `webhook-timestamp`, `webhook-signature`, the key is the base64-decoded part). Both
sign the body's bytes as they are sent, so a receiver verifies before it parses.
"""

import base64
import binascii
import hmac
import ipaddress
import json
import re
from collections.abc import Sequence
from typing import Final

from daemon.wire import EventKind, Mode

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the prefix of secrets, not one
SECRET_BYTES: Final = 32
WEBHOOK_ID_PREFIX: Final = "ocl_"
WEBHOOK_ID_CHARACTERS: Final = 24

SIGNATURE_HEADER: Final = "X-Svc-Signature"
PREVIOUS_HEADER: Final = "X-Svc-Signature-Previous"
STANDARD_ID_HEADER: Final = "webhook-id"
STANDARD_TIMESTAMP_HEADER: Final = "webhook-timestamp"
STANDARD_SIGNATURE_HEADER: Final = "webhook-signature"

LOCAL_SCHEMES: Final = ("exec:/", "spool:/", "listen:")
"""Targets on this machine; everything else is https."""
_BASE36: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_PARTS: Final = re.compile(
    r"https://(\[[^\]/?#]*\]|[^:/?#@]+)(?::([0-9]*))?([^?#]*)(\?[^#]*)?", re.IGNORECASE
)
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
)


def make_secret(entropy: bytes) -> str:
    """Return a new signing secret, `whsec_` and base64.

    Args:
        entropy: Exactly 32 random bytes.
    """
    assert len(entropy) == SECRET_BYTES, "a signing secret is made of 32 random bytes"
    return SECRET_PREFIX + base64.b64encode(entropy).decode("ascii")


def sign(secrets: Sequence[str], *, webhook_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the signature headers of one attempt.

    Args:
        secrets: The secrets valid now, newest first: the current one, then those in their 24 h overlap.
        webhook_id: `ocl_...`; it is part of what the second scheme signs.
        timestamp: Unix seconds at this attempt. Receivers refuse old ones, so it is new at every attempt.
        body: The bytes that are sent.

    Raises:
        ValueError: There is no secret, or one is not `whsec_` and base64. The secret is not in the message.
    """
    if not secrets:
        raise ValueError("there is no secret to sign with")
    plain = b"%d." % timestamp + body
    standard = f"{webhook_id}.{timestamp}.".encode() + body
    stripe = [hmac.new(secret.encode(), plain, "sha256").hexdigest() for secret in secrets]
    headers = {SIGNATURE_HEADER: f"t={timestamp},v1={stripe[0]}"}
    if len(stripe) > 1:
        older = ",".join(f"v1={signature}" for signature in stripe[1:])
        headers[PREVIOUS_HEADER] = f"t={timestamp},{older}"
    headers[STANDARD_ID_HEADER] = webhook_id
    headers[STANDARD_TIMESTAMP_HEADER] = str(timestamp)
    # Space-separated, newest first: Standard Webhooks 1.0, "Multiple signatures".
    headers[STANDARD_SIGNATURE_HEADER] = " ".join(
        "v1,"
        + base64.b64encode(hmac.new(_key(secret), standard, "sha256").digest()).decode("ascii")
        for secret in secrets
    )
    return headers


def webhook_id(
    account_key: bytes,
    mode: Mode,
    normalised_url: str,
    kind: EventKind,
    subject: str,
    revision: int,
) -> str:
    """Return the id that receivers de-duplicate on: the same for the same payment at the same URL, for ever.

    Args:
        account_key: The account's key for ids; it never changes and is not a signing secret.
        mode: Live and sandbox ids never meet.
        normalised_url: `normalise_url` of the target's URL when the delivery was first claimed.
        kind: The event.
        subject: The payment's id, or the transaction's where there is no payment.
        revision: 0 for forwarded and completed, counting up for the other kinds.

    Returns:
        `ocl_` and 24 characters of base36 (124 bits).
    """
    # A JSON array, so that no two different lists of parts can be written alike.
    parts = json.dumps([str(mode), normalised_url, str(kind), subject, revision])
    # Not `hmac.digest`: it lets another thread have the interpreter, for which the writer would wait a thousand times.
    digest = hmac.new(account_key, parts.encode(), "sha256").digest()
    number = int.from_bytes(digest, "big")
    characters = []
    for _ in range(WEBHOOK_ID_CHARACTERS):
        number, digit = divmod(number, 36)
        characters.append(_BASE36[digit])
    return WEBHOOK_ID_PREFIX + "".join(characters)


def normalise_url(url: str) -> str:
    """Return one spelling for all spellings of an https URL that mean the same by RFC 3986 section 6.2.

    Scheme and host in lower case, no default port, no empty or dot path segments at the root, escapes in one
    form. A path's case, a trailing slash and the query are the receiver's business and stay. The address of a target
    on this machine is returned as it is.

    Raises:
        ValueError: It is neither that nor an https URL with a host (`webhooks.addresses.check_url` says why).
    """
    match = _PARTS.fullmatch(url)
    if match is None:
        if url.startswith(LOCAL_SCHEMES):
            return url  # it has one spelling (`webhooks.local_places`)
        raise ValueError("not an https URL")
    host, port, path, query = match.groups(default="")
    host = host.lower()
    if host.startswith("["):
        host = f"[{ipaddress.IPv6Address(host[1:-1])}]"
    if port and int(port) != 443:
        host = f"{host}:{int(port)}"
    path = _remove_dots(_one_escape_form(path)) or "/"
    return f"https://{host}{path}{_one_escape_form(query)}"


def _key(secret: str) -> bytes:
    """Return the bytes behind a secret, for Standard Webhooks."""
    try:
        return base64.b64decode(secret.removeprefix(SECRET_PREFIX).encode(), validate=True)
    except binascii.Error:
        # `from None`: the library's message may quote the secret.
        raise ValueError("a signing secret is not base64") from None


def _one_escape_form(text: str) -> str:
    """Return text with escapes in upper case, and none where none is needed (RFC 3986 section 6.2.2)."""

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
