"""Read headers and a body: limited in size, and strict JSON (RFC 8259, and I-JSON, RFC 7493, where that is open).

Rejected are NaN and Infinity, numbers outside the range of a double, duplicate keys, lone surrogates, nesting deeper than
32 levels, and every body that is not one object. A number with a fraction keeps its text, so that an amount is never
parsed from a float.
"""

import json
import zlib
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec
from starlette.types import Receive, Scope

from daemon.core.errors import Refusal
from daemon.core.json_values import Number, compact
from daemon.core.limits import BODY_BYTES_MAX
from daemon.wire import ErrorCode


class ClientGoneError(Exception):
    """The client disconnected before the request was complete."""


async def read_object(scope: Scope, receive: Receive) -> dict[str, Any]:
    """Return the body as one JSON object. Like all functions here it raises ClientGoneError if the connection ends."""
    _needs_json(scope)
    return parse(await read_bytes(scope, receive))


async def read_pieces(scope: Scope, receive: Receive, most: int, *, limit: int | None = None) -> AsyncIterator[bytes]:
    """Return the body as it comes, at most so many bytes; a refusal names `limit`, if the body may have less."""
    length = header(scope, b"content-length") or "0"
    if len(length) > 7 or int(length) > most:
        raise _too_large(limit or most)
    left = most
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        part: bytes = message.get("body", b"")
        left -= len(part)
        if left < 0:
            raise _too_large(limit or most)
        yield part
        if not message.get("more_body", False):
            return


async def read_large_object(scope: Scope, receive: Receive, limit: int) -> dict[str, Any]:
    """Return a body as `read_large`, as one JSON object. Of a duplicate key the last value counts."""
    body = await read_large(scope, receive, limit)
    try:
        value = msgspec.json.decode(body)
        _check_depth(value)
    except RecursionError:
        raise _bad(f"it is nested deeper than {DEPTH_MAX}") from None
    except ValueError as error:  # msgspec's, and that of octets which are not UTF-8
        raise _bad(str(error)) from None
    if not isinstance(value, dict):
        raise _bad("it is not an object")
    return value


async def read_large(scope: Scope, receive: Receive, limit: int) -> bytes:
    """Return a JSON body of up to `limit` bytes, from another momo; if it is gzipped, of its text."""
    _needs_json(scope)
    octets = await read_bytes(scope, receive, limit)
    coding = (header(scope, b"content-encoding") or "identity").strip().lower()
    if coding == "gzip":
        unzip = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        try:
            found = unzip.decompress(octets, limit)
        except zlib.error as error:
            raise _bad(f"it is not gzip: {error}") from None
        if unzip.unconsumed_tail:
            raise _too_large(limit)
        if not unzip.eof:
            raise _bad("its gzip ends too early")
        octets = found
    elif coding != "identity":
        raise Refusal(ErrorCode.UNSUPPORTED_MEDIA_TYPE, "Send the body as it is, or gzipped.")
    return octets


async def read_object_if_any(scope: Scope, receive: Receive) -> dict[str, Any]:
    """Return the body as one JSON object, an empty one for an empty body, where every member is optional.

    Without a body the content type is ignored, because many clients send one with every request.
    """
    body = await read_bytes(scope, receive)
    if not body:
        return {}
    _needs_json(scope)
    return parse(body)


def parse(body: bytes) -> dict[str, Any]:
    """Parse a body as one JSON object; INVALID_JSON with the reason if it is none."""
    try:
        text = body.decode("utf-8")
        if text.startswith(_BYTE_ORDER_MARK):
            raise _bad("it begins with a byte order mark")
        value = _decode(text)
        _check_depth(value)
        if "\\u" in text:
            # A lone surrogate can be written as an escape, but cannot be encoded as UTF-8.
            compact(value).encode()
    except UnicodeDecodeError:
        raise _bad("it is not UTF-8") from None
    except UnicodeEncodeError:
        raise _bad("an escape is a lone surrogate, half of a character") from None
    except RecursionError:
        raise _bad(f"it is nested deeper than {DEPTH_MAX}") from None
    except json.JSONDecodeError as error:
        raise _bad(f"{error.msg}, line {error.lineno} column {error.colno}") from None
    except ValueError as error:
        raise _bad(str(error)) from None
    if not isinstance(value, dict):
        raise _bad("it is not an object")
    return value


def canonical(value: object) -> bytes:
    """Serialize a parsed value with sorted keys, so that equal values have equal fingerprints."""
    return _sorted(value).encode()


def header(scope: Scope, name: bytes) -> str | None:
    """Return a header of a request, None if absent; `name` is in lower case."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return None


DEPTH_MAX: Final = 32
"""Deep enough for any `meta`, and safe for recursive readers of a webhook."""
DISCARD_BYTES_MAX: Final = 1024 * 1024
"""How much of a too large body is read and discarded: closing with unread bytes would reset the connection, and the
caller would not see the error."""
DIGITS_MAX: Final = 309
"""Largest number of digits of an integer: those of the largest double, so that every reader of `meta` can hold it."""
_TOO_LARGE: Final = "a number in it is too large"
_BYTE_ORDER_MARK: Final = "\ufeff"
_CLOSE: Final = {"Connection": "close"}


def _needs_json(scope: Scope) -> None:
    kind = (header(scope, b"content-type") or "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(ErrorCode.UNSUPPORTED_MEDIA_TYPE)


async def read_bytes(scope: Scope, receive: Receive, limit: int = BODY_BYTES_MAX) -> bytes:
    """Return the body as sent; `parse` reads it afterwards."""
    length = header(scope, b"content-length") or "0"
    if header(scope, b"expect") is not None and (len(length) > 7 or int(length) > limit):
        # The client waits for `100 Continue`, so the body is not sent yet and does not have to be discarded.
        raise _too_large(limit)
    body, size = b"", 0
    async for part in read_pieces(scope, receive, DISCARD_BYTES_MAX, limit=limit):
        size += len(part)
        body = body + part if size <= limit else b""
    if size > limit:
        raise _too_large(limit)
    return body


def _too_large(limit: int) -> Refusal:
    """Return the refusal of a body of more octets than this kind of call takes; it closes the connection."""
    if limit == BODY_BYTES_MAX:
        return Refusal(ErrorCode.PAYLOAD_TOO_LARGE, headers=_CLOSE)
    why = f"The request body is larger than {limit // 1024} KB."
    return Refusal(ErrorCode.PAYLOAD_TOO_LARGE, why, hint="Send less in one call.", headers=_CLOSE)


def _bad(why: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_JSON, f"The request body is not valid JSON: {why}.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("it has a duplicate key")
    return made


def _number(text: str) -> Number:
    number = Number(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(_TOO_LARGE)
    number.text = text
    return number


def _integer(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise ValueError(_TOO_LARGE)
    return int(text)


def _constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _check_depth(value: object) -> None:
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(DEPTH_MAX):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {DEPTH_MAX}")


# Built once: json.loads and json.dumps would build them again for every call.
_decode: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_number, parse_int=_integer, parse_constant=_constant
).decode
_sorted: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
