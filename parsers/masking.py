"""Masking of values, errors and tracebacks for logs, support bundles and crash files. Pure.

The result never contains a message's text, a person's name, a whole phone number or a secret. Tracebacks have file names, line
numbers, the error's type and its masked text; no values of variables and no text quoted by an error.
"""

import re
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

_TOKEN: Final = re.compile(r"(svc_(?:live|test)_(?:sk|pk)_|whsec_|eyJ|Bearer\s+)[A-Za-z0-9+/=_.\-]+", re.ASCII)
_ADDRESS: Final = re.compile(r"(https?://)(?:[^/\s\"'<>?#]*@)?([^/\s\"'<>?#@]+)([/?#][^\s\"'<>]+)?", re.ASCII)
"""The path, the query and the user part of a URL are often secret."""
_PHONE: Final = re.compile(r"(?<![\w.+-])\+?\d(?:[ -]?\d){8,14}(?!\w|[.-]\d)", re.ASCII)
"""Nine to fifteen digits (E.164), also in groups, but not inside an id, a UUID or a decimal number."""
_PDU: Final = re.compile(r"(?<!\w)[0-9A-Fa-f]{65,}(?!\w)", re.ASCII)
"""Hexadecimal text longer than a SHA-256 is a PDU from the modem."""
_PLAIN: Final = re.compile(r"[a-z.]{0,40}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII)
"""Fixed words and UUIDs contain nothing private; most values of log lines are such."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""A value with a line break could forge a log line."""
_NAMES: Final = frozenset({"name", "payer_name", "customer_name", "account_name", "sender_name", "shop_name", "payer"})
_NEVER: Final = frozenset(
    {
        "body", "text", "reply", "pdu", "raw", "password", "secret", "token", "api_key", "reference_text",
        "response_body", "authorization", "meta", "description", "notes", "pin",
    }
)  # fmt: skip
_QUOTED: Final = re.compile(
    r"(?P<ours>(?:constraint|column|relation|table|index) \"\w+\")|(?P<mark>['\"]).*?(?P=mark)", re.DOTALL
)
"""Quoted parts; the names of tables and constraints are ours."""
_CHAIN: Final = 5
_ROOTS: Final = ("site-packages", "daemon", "momo_cli", "parsers", "privacy")


def mask_value(key: str, value: Any) -> Any:
    """Mask a value for the log: `+23324****567` for phone numbers, `K***` for names, `***` for texts and secrets.

    `key` decides whether it is a text or a person's name. Numbers, booleans and None stay; lists and dicts are masked
    inside; the rest becomes text.
    """
    if key in _NEVER:
        return "***"
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): mask_value(str(name), inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [mask_value(key, inner) for inner in value]
    is_bytes = isinstance(value, bytes | bytearray | memoryview)
    text = f"<{len(value)} bytes>" if is_bytes else str(value)
    if key not in _NAMES and _PLAIN.fullmatch(text):
        return text
    return f"{text[:1]}***" if key in _NAMES else mask_text(text)


def mask_text(text: str, *, is_phone: Callable[[str], object] = len) -> str:
    """Mask phone numbers, tokens, PDUs, line breaks, and URLs after their host, in a text.

    `is_phone` tells numbers of phones from others of that length; without it all are masked.
    """
    text = _ADDRESS.sub(_short_address, text)
    text = _TOKEN.sub(r"\1***", text)
    text = _PDU.sub("***", text)
    text = _PHONE.sub(lambda match: _short_phone(match) if is_phone(match[0]) else match[0], text)
    return _CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def _short_address(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}{'/...' if match[3] else ''}"


def _short_phone(match: re.Match[str]) -> str:
    digits = re.sub(r"[ -]", "", match.group())
    return f"{digits[:-7]}****{digits[-3:]}"


def describe_error(error: BaseException) -> str:
    """Return an error in one line: its type and its text, without quoted parts, which are often values.

    Names of constraints, columns and tables stay.
    """
    # PostgreSQL adds the values of the row that it refused.
    text = _QUOTED.sub(
        lambda match: match["ours"] or f"{match['mark']}***{match['mark']}", str(error).partition("\nDETAIL:")[0]
    )
    return f"{type(error).__name__}: {mask_text(text)}"


def describe_traceback(error: BaseException) -> str:
    """Return the error with its traceback and its causes, the last error first."""
    if isinstance(error, BaseExceptionGroup):
        # Of several loops that ended together; each has its own cause.
        inside = [describe_traceback(one) for one in error.exceptions[:_CHAIN]]
        return "\nin this group\n".join([describe_error(error), *inside])
    lines: list[str] = []
    current: BaseException | None = error
    while current is not None and len(lines) < _CHAIN:
        frames = traceback.walk_tb(current.__traceback__)
        where = [f"  {_short(f.f_code.co_filename)}:{at} in {f.f_code.co_name}" for f, at in frames]
        lines.append("\n".join([describe_error(current), *where]))
        current = current.__cause__ or current.__context__
    return "\ncaused by\n".join(lines)


def _short(filename: str) -> str:
    """Return the path of a file within its package; the folders above it are private."""
    parts = filename.replace("\\", "/").split("/")
    for root in _ROOTS:
        if root in parts:
            at = len(parts) - 1 - parts[::-1].index(root)
            return "/".join(parts[at + (root == "site-packages") :])
    return parts[-1]
