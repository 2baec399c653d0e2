"""Building blocks of the API's JSON: values and envelopes.

Keys have the order of the API's description; members that were added come after them. Times are ISO 8601 UTC with milliseconds,
amounts are decimal strings with two places. Stored JSON text (`meta`, `fields`) is sent unchanged. The objects themselves are
in the modules named `*_json`.
"""

import base64
import json
from collections.abc import Sequence
from typing import Annotated, Any, Final, Self

import msgspec
from msgspec import Struct

from daemon.core.errors import Refusal
from daemon.core.model import Payment, Transaction
from daemon.core.shape import Flag, Phone, about, marked, sample
from daemon.core.text import english
from daemon.wire import Path
from parsers import times
from parsers.money import render

Json = dict[str, Any]

_encode: Final = msgspec.json.Encoder(enc_hook=english).encode
_decode: Final = msgspec.json.Decoder(Json).decode
PayerName = Annotated[str, sample("Ama Mensah")]
_CursorInt = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]  # fits the database
_parts: Final = msgspec.json.Decoder(list[str | _CursorInt]).decode
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
# Built once: json.dumps would build it again for every call.
_compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_ENVELOPE: Final = b'{"success":'


class Number(float):
    """A JSON number with a fraction or an exponent, with its original text."""

    __slots__ = ("text",)
    text: str


def compact(value: object) -> str:
    """Return a value that a request held as compact JSON."""
    return _compact(value)


def timestamp(at_us: int) -> str:
    """Render a time, such as `2026-11-21T06:31:00.123Z`."""
    return times.render(at_us)


def timestamp_or_none(at_us: int | None) -> str | None:
    """Render a time, or return None if it is unknown."""
    return None if at_us is None else times.render(at_us)


def amount_or_none(minor: int | None, currency: str) -> str | None:
    """Render an amount, or return None if it is unknown."""
    return None if minor is None else render(minor, currency)


class Payer(Struct, frozen=True):
    """Who paid, or is asked to pay."""

    phone_number: Phone | None
    name: PayerName | None


_Source = Annotated[str, sample("receipt"), marked(words=("receipt", "request"))]


class PayerSource(Struct, frozen=True):
    """Where number and name of the payer were read."""

    phone_number: _Source | None
    name: _Source | None


PayerSources = Annotated[PayerSource, about("where each was read: on the receipt, else on the request; null: unknown")]


def payer_of(transaction: Transaction | None, payment: Payment | None) -> tuple[Payer, PayerSource]:
    """Return number and name, each of the receipt, else of the request, and the source of each."""
    receipt = (None, None) if payment is None else (payment.payer_phone, payment.payer_name)
    request = (None, None) if transaction is None else (transaction.phone_number, transaction.customer_name)
    pairs = list(zip(receipt, request, strict=True))
    sources = ("receipt" if own else "request" if asked else None for own, asked in pairs)
    return Payer(*(own or asked for own, asked in pairs)), PayerSource(*sources)


def dump(value: object) -> bytes:
    """Encode JSON: compact, UTF-8, keys in the given order."""
    return _encode(value)


def warnings_meta(warnings: Sequence[str]) -> Json | None:
    """Return a `meta` with only the warnings; None if there are none."""
    return {"warnings": list(warnings)} if warnings else None


def success(data: object, meta: Json | msgspec.Struct | None = None, **top: Any) -> bytes:
    """Return `{success: true, data, meta?}`; `top` are members beside `data` (such as `secret`, `pagination`).

    A `meta` whose members are all absent is left out.
    """
    body: Json = {"success": True, "data": data, **top}
    if meta is not None and not (
        isinstance(meta, msgspec.Struct)
        and all(getattr(meta, name) is msgspec.UNSET for name in meta.__struct_fields__)
    ):
        body["meta"] = meta
    return _encode(body)


def with_warnings(body: bytes, warnings: Sequence[str]) -> bytes:
    """Add warnings to a finished answer body; a body that is not `{success, ...}` is returned unchanged."""
    if not body.startswith(_ENVELOPE):
        return body
    members: dict[str, Any] = _members(body)
    meta: Json = _decode(members.get("meta", b"{}"))
    meta["warnings"] = [*meta.get("warnings", ()), *warnings]
    return _encode({**members, "meta": meta})


def failure(refusal: Refusal, request_id: str) -> bytes:
    """Return the error envelope; extras are both inside `error` and at the top."""
    error: Json = {"code": refusal.code, "message": refusal.message}
    if refusal.hint:
        error["hint"] = refusal.hint
    error["doc_url"] = f"{Path.DOCS_ERRORS}#{refusal.code}"
    return _encode(
        {"success": False, "error": {**error, **refusal.extras}, **refusal.extras, "meta": {"request_id": request_id}}
    )


class Pagination(Struct, frozen=True):
    """The `pagination` of the transaction list."""

    page: Annotated[int, sample(1, ge=1)]
    per_page: Annotated[int, sample(50, ge=1)]
    total: Annotated[int, sample(1, ge=0)]
    total_pages: Annotated[int, sample(1, ge=0)]
    has_next: Flag
    has_prev: Flag

    @classmethod
    def of(cls, page: int, per_page: int, total: int) -> Self:
        """Return the place of a page; one past the end is an empty list."""
        pages = -(-total // per_page)
        return cls(page, per_page, total, pages, page < pages, page > 1)


def cursor(*parts: str | int) -> str:
    """Return a position in a list as opaque text for callers; `cursor_parts` reads it."""
    return base64.urlsafe_b64encode(_encode(parts)).decode().rstrip("=")


def cursor_parts(text: str) -> list[str | int] | None:
    """Return the parts of a cursor, or None if the text has not the form of one."""
    try:
        return _parts(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True))
    except ValueError:
        return None
