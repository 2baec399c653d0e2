"""API keys, as SHA-256. A key itself is shown once and kept nowhere."""

from typing import Any

from daemon.core.model import ApiKey
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load_optional

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
