"""API keys as JSON, and their last uses, noted in memory and stored at intervals so that no call costs a write. Pure."""

import json
from typing import NamedTuple

from daemon.core.json_values import Json, timestamp, timestamp_or_none
from daemon.core.model import ApiKey


class Use(NamedTuple):
    """One use of a key: time in microseconds, and origin: an IP address or `socket`; None if unknown."""

    at: int
    origin: str | None


class KeyUse:
    """The uses that were noted and not stored yet."""

    def __init__(self) -> None:
        self._noted: dict[str, Use] = {}

    def note(self, key_id: str, now_us: int, origin: str) -> None:
        """Note that a key was used."""
        self._noted[key_id] = Use(now_us, origin)

    def latest(self, key_id: str, written: Use | None) -> Use | None:
        """Return the later one of the noted and the stored use."""
        noted = self._noted.get(key_id)
        if noted is None or written is None:
            return noted if written is None else written
        return written if written.at > noted.at else noted

    def take(self) -> dict[str, Use]:
        """Return the uses to store, and clear them."""
        taken, self._noted = self._noted, {}
        return taken

    def put_back(self, taken: dict[str, Use]) -> None:
        """Note again the uses that could not be stored; uses noted meanwhile are later and win."""
        self._noted = {**taken, **self._noted}


def api_key(row: ApiKey, now_us: int, last_use: Use | None = None) -> Json:
    """Return the object of a key.

    Args:
        row: The key.
        now_us: Now; it decides `state`.
        last_use: Its last use; None takes the one in the row.
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
    """Return the stored last use of a key; None if there is none."""
    return None if row.last_used_at is None else Use(row.last_used_at, row.last_used_from)
