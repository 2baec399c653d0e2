"""The JSON shape of an API key; the key itself is never part of it."""

import json

from daemon.core.model import ApiKey
from daemon.core.shapes import Json, timestamp, timestamp_or_none


def api_key(row: ApiKey, now_us: int, last_used_at: int | None = None) -> Json:
    """Make the object of a key.

    Args:
        row: The key.
        now_us: Now; it decides `state`.
        last_used_at: When it was last used; None is what the row says.
    """
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
        "last_used_at": timestamp_or_none(
            row.last_used_at if last_used_at is None else last_used_at
        ),
    }
