"""The JSON shape of an API key; the key itself is never part of it."""

import json

from daemon.core.key_use import Use
from daemon.core.model import ApiKey
from daemon.core.shapes import Json, timestamp, timestamp_or_none


def api_key(row: ApiKey, now_us: int, last_use: Use | None = None) -> Json:
    """Make the object of a key.

    Args:
        row: The key.
        now_us: Now; it decides `state`.
        last_use: When and from where it was last used; None is what the row says.
    """
    use = last_use or last_written(row)
    state = "active"
    if row.revoked_at is not None:
        state = "revoked"
    elif row.expires_at is not None and now_us >= row.expires_at:
        state = "expired"
    return {
        "id": row.id,
        "name": row.name,
        "mode": row.mode,
        "kind": row.kind,
        "hint": row.hint,
        "scopes": json.loads(row.scopes),
        "state": state,
        "created_at": timestamp(row.created_at),
        "expires_at": timestamp_or_none(row.expires_at),
        "revoked_at": timestamp_or_none(row.revoked_at),
        "last_used_at": timestamp_or_none(None if use is None else use.at),
        "last_used_from": None if use is None else use.origin,
    }


def last_written(row: ApiKey) -> Use | None:
    """Return the use of a key that was written down, None while there is none."""
    return None if row.last_used_at is None else Use(row.last_used_at, row.last_used_from)
