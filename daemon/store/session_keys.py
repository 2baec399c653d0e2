"""The sealed key that signs dashboard sessions. There is one, until a new password replaces it."""

from daemon.store.engine import Reader, Tx

TOPIC = "session_keys"
"""Woken by every commit that changed the key, so that nobody goes on with the old one."""


def get(reader: Reader) -> str | None:
    """Return the sealed key, None before the first login."""
    sealed: str | None = reader.value("SELECT sealed FROM session_keys WHERE id = 1")
    return sealed


def add(tx: Tx, sealed: str, now: int) -> None:
    """Store the first key; another one that came first stays."""
    tx.run(
        "INSERT INTO session_keys (id, sealed, made_at) VALUES (1, :sealed, :now) "
        "ON CONFLICT (id) DO NOTHING",
        {"sealed": sealed, "now": now},
    )
    tx.wake(TOPIC)


def forget(tx: Tx) -> None:
    """Drop the key: every session that it signed has ended."""
    tx.run("DELETE FROM session_keys")
    tx.wake(TOPIC)
