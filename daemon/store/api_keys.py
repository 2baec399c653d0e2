"""API keys, as SHA-256. A key itself is shown once and kept nowhere."""

from typing import Any

from daemon.core.key_use import Use
from daemon.core.model import ApiKey
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load_all, load_optional

TOPIC = "api_keys"
"""Woken by every commit that changed a key, so that nobody goes on with what they remember."""

_KEY = columns(ApiKey)
_NAMES = [name for name in _KEY.split(", ") if name != "seq"]


def add(tx: Tx, key: dict[str, Any]) -> None:
    """Store a new key; `key` has every column but `seq`."""
    tx.run(
        f"INSERT INTO api_keys ({', '.join(_NAMES)}) "
        f"VALUES ({', '.join(':' + name for name in _NAMES)})",
        key,
    )
    tx.wake(TOPIC)


def with_hash(reader: Reader, sha256: str) -> ApiKey | None:
    """Return the key with this hash, revoked and expired ones too."""
    return load_optional(
        ApiKey,
        reader.one(f"SELECT {_KEY} FROM api_keys WHERE sha256 = :sha256", {"sha256": sha256}),
    )


def exist(reader: Reader) -> bool:
    """Say whether any key was ever made."""
    return reader.value("SELECT 1 FROM api_keys LIMIT 1") is not None


def get(reader: Reader, key_id: str) -> ApiKey | None:
    """Return one key, revoked and expired ones too."""
    return load_optional(
        ApiKey, reader.one(f"SELECT {_KEY} FROM api_keys WHERE id = :id", {"id": key_id})
    )


def known(reader: Reader) -> list[ApiKey]:
    """Return every key, newest first."""
    return load_all(ApiKey, reader.all(f"SELECT {_KEY} FROM api_keys ORDER BY seq DESC"))


def revoke(tx: Tx, key_id: str, now: int) -> None:
    """End a key."""
    tx.run("UPDATE api_keys SET revoked_at = :now WHERE id = :id", {"id": key_id, "now": now})
    tx.wake(TOPIC)


def expire(tx: Tx, key_id: str, at: int) -> None:
    """Let a key end then, unless it ends before."""
    tx.run(
        "UPDATE api_keys SET expires_at = :at WHERE id = :id AND (expires_at IS NULL OR expires_at > :at)",
        {"id": key_id, "at": at},
    )
    tx.wake(TOPIC)


def used(tx: Tx, latest: dict[str, Use]) -> None:
    """Note when and from where keys were last used. Nobody remembers that of a key, so nobody is woken."""
    for key_id, use in latest.items():
        tx.run(
            "UPDATE api_keys SET last_used_at = :at, last_used_from = :origin "
            "WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :at)",
            {"id": key_id, "at": use.at, "origin": use.origin},
        )
