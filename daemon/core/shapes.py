"""What every JSON shape of the API is made with: values, and the envelopes around them.

Keys stand in the order of interface.md; what decisions.md adds comes after them. Times leave as ISO 8601 UTC with
milliseconds, money as decimal strings of two places. A stored JSON text (`meta`, `fields`) goes out as it is. The shapes
themselves: `transaction_shapes`, `webhook_shapes`, `collection_shapes`, `line_shapes`, `review_shapes`, `local_shapes`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from daemon.core.errors import Refusal
from parsers import when
from parsers.money import render

Json = dict[str, Any]

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Json).decode
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_ENVELOPE: Final = b'{"success":'


def timestamp(at_us: int) -> str:
    """Render a time, such as `2026-11-21T06:31:00.123Z`."""
    return when.render(at_us)


def timestamp_or_none(at_us: int | None) -> str | None:
    """Render a time that may not be known."""
    return None if at_us is None else when.render(at_us)


def amount_or_none(minor: int | None, currency: str) -> str | None:
    """Render an amount that may not be known."""
    return None if minor is None else render(minor, currency)


def dump(value: object) -> bytes:
    """Write JSON: compact, UTF-8, keys in the order given."""
    return _encode(value)


def warned(warnings: Sequence[str]) -> Json | None:
    """Make the `meta` that holds warnings and nothing else; None when there are none."""
    return {"warnings": list(warnings)} if warnings else None


def success(data: object, meta: Json | None = None, **top: Any) -> bytes:
    """Make `{success: true, data, meta?}`; `top` stands beside `data` (such as `secret`, `pagination`)."""
    body: Json = {"success": True, "data": data, **top}
    if meta is not None:
        body["meta"] = meta
    return _encode(body)


def with_warnings(body: bytes, warnings: Sequence[str]) -> bytes:
    """Add to the warnings of a finished answer; one that is no `{success, ...}` has no place for them and stays."""
    if not body.startswith(_ENVELOPE):
        return body
    members: dict[str, Any] = _members(body)
    meta: Json = _decode(members.get("meta", b"{}"))
    meta["warnings"] = [*meta.get("warnings", ()), *warnings]
    return _encode({**members, "meta": meta})


def failure(refusal: Refusal, request_id: str) -> bytes:
    """Make the error envelope: extras stand both inside `error` and at the top (decisions.md section 9)."""
    error: Json = {"code": refusal.code, "message": refusal.message}
    if refusal.spec.hint:
        error["hint"] = refusal.spec.hint
    return _encode(
        {
            "success": False,
            "error": {**error, **refusal.extras},
            **refusal.extras,
            "meta": {"request_id": request_id},
        }
    )


def pagination(page: int, per_page: int, total: int) -> Mapping[str, int | bool]:
    """Make the `pagination` of the transaction list; a page past the end is an empty list."""
    pages = -(-total // per_page)
    return {
        "page": page,
        "per_page": per_page,
        "total": total,
        "total_pages": pages,
        "has_next": page < pages,
        "has_prev": page > 1,
    }
