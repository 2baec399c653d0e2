"""What may be shown where anybody may look: a log, a bundle for strangers, the trace of `--debug`. Pure.

Never a message's text, a person's name, a whole phone number or a secret.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_TOKEN: Final = re.compile(
    r"(svc_(?:live|test)_(?:sk|pk)_|whsec_|eyJ|Bearer\s+)[A-Za-z0-9+/=_.\-]+", re.ASCII
)
_ADDRESS: Final = re.compile(
    r"(https?://)(?:[^/\s\"'<>?#]*@)?([^/\s\"'<>?#@]+)([/?#][^\s\"'<>]+)?", re.ASCII
)
"""A path or a query is often the secret of an address; so is what stands before its host."""
_PHONE: Final = re.compile(r"(?<![\w.+-])\+?\d(?:[ -]?\d){8,14}(?!\w|[.-]\d)", re.ASCII)
"""Nine to fifteen digits (E.164), also in groups; not inside an id, a UUID or a decimal."""
_PDU: Final = re.compile(r"(?<!\w)[0-9A-Fa-f]{65,}(?!\w)", re.ASCII)
"""Hex longer than a SHA-256 is an SMS as the modem gave it."""
_PLAIN: Final = re.compile(r"[a-z.]{0,40}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII)
"""Words of ours and UUIDs: nothing in them is to be hidden, and most values of most lines are such."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""A value with a line break in it could write a line of its own."""

_NAMES: Final = frozenset(
    {"name", "payer_name", "customer_name", "account_name", "sender_name", "shop_name", "payer"}
)
_NEVER: Final = frozenset(
    {
        "body", "text", "pdu", "raw", "password", "secret", "token", "api_key", "reference_text",
        "response_body", "authorization", "meta", "description", "notes", "pin",
    }
)  # fmt: skip


def masked(key: str, value: Any) -> Any:
    """Return a value as it may stand in a log.

    Args:
        key: What the value is called; texts and names are known by it.
        value: Anything. Numbers, booleans and None pass; lists and dicts are masked inside; the rest becomes text.

    Returns:
        `+23324****567` for phone numbers, `K***` for names, `***` for texts and secrets.
    """
    if key in _NEVER:
        return "***"
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): masked(str(name), inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [masked(key, inner) for inner in value]
    is_bytes = isinstance(value, bytes | bytearray | memoryview)
    text = f"<{len(value)} bytes>" if is_bytes else str(value)
    if key not in _NAMES and _PLAIN.fullmatch(text):
        return text
    return f"{text[:1]}***" if key in _NAMES else scrubbed(text)


def scrubbed(text: str) -> str:
    """Return a text without phone numbers, tokens, PDUs, line breaks and the ways behind an address's host."""
    text = _ADDRESS.sub(_short_address, text)
    text = _TOKEN.sub(r"\1***", text)
    text = _PDU.sub("***", text)
    text = _PHONE.sub(_short_phone, text)
    return _CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def _short_address(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}{'/...' if match[3] else ''}"


def _short_phone(match: re.Match[str]) -> str:
    digits = re.sub(r"[ -]", "", match.group())
    return f"{digits[:-7]}****{digits[-3:]}"
