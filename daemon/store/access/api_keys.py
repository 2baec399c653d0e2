"""API keys, stored as SHA-256 hashes. A key itself is shown once and never stored."""

import json
from collections.abc import Iterable
from typing import Any

from daemon.core.access.callers import Use, hash_key, parse_key
from daemon.core.model import ApiKey
from daemon.store.engine import Reader, Tx
from daemon.store.rows import insertion

TOPIC = "api_keys"
"""Woken by every commit that changed a key, so that caches drop it."""


def new_row(
    key_id: str,
    name: str,
    text: str,
    scopes: Iterable[str],
    now: int,
    expires_at: int | None = None,
) -> dict[str, Any]:
    """Return the row of a new key that was never used."""
    parts = parse_key(text)
    assert parts is not None, "it was just made"
    return {
        "id": key_id,
        "name": name,
        "mode": parts.mode,
        "kind": parts.kind,
        "hint": parts.hint,
        "sha256": hash_key(text),
        "scopes": json.dumps(sorted(scopes)),
        "created_at": now,
        "expires_at": expires_at,
        "revoked_at": None,
        "last_used_at": None,
        "last_used_from": None,
    }


def add(tx: Tx, key: dict[str, Any]) -> None:
    """Store a new key; `key` has every column but `seq`."""
    tx.run(insertion("api_keys", ApiKey), key)
    tx.wake(TOPIC)


def with_hash(reader: Reader, sha256: str) -> ApiKey | None:
    """Return the key with this hash, even if it is revoked or expired."""
    return reader.first(ApiKey, "SELECT * FROM api_keys WHERE sha256 = :sha256", {"sha256": sha256})


def exist(reader: Reader) -> bool:
    """Return whether any key was ever created."""
    return reader.exists("SELECT 1 FROM api_keys LIMIT 1")


def get(reader: Reader, key_id: str) -> ApiKey | None:
    """Return one key, even if it is revoked or expired."""
    return reader.first(ApiKey, "SELECT * FROM api_keys WHERE id = :id", {"id": key_id})


def known(reader: Reader) -> list[ApiKey]:
    """Return every key, newest first."""
    return reader.every(ApiKey, "SELECT * FROM api_keys ORDER BY seq DESC")


def revoke(tx: Tx, key_id: str, now: int) -> None:
    """Revoke a key."""
    tx.run("UPDATE api_keys SET revoked_at = :now WHERE id = :id", {"id": key_id, "now": now})
    tx.wake(TOPIC)


def expire(tx: Tx, key_id: str, at: int) -> None:
    """Set the time when a key expires, unless it expires earlier already."""
    tx.run(
        "UPDATE api_keys SET expires_at = :at WHERE id = :id AND (expires_at IS NULL OR expires_at > :at)",
        {"id": key_id, "at": at},
    )
    tx.wake(TOPIC)


def used(tx: Tx, latest: dict[str, Use]) -> None:
    """Record when and from where keys were last used. No cache holds these columns, so `TOPIC` is not woken."""
    for key_id, use in latest.items():
        tx.run(
            "UPDATE api_keys SET last_used_at = :at, last_used_from = :origin "
            "WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :at)",
            {"id": key_id, "at": use.at, "origin": use.origin},
        )
