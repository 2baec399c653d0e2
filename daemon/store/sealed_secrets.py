"""Passwords of other services that momo logs in to, sealed."""

from typing import Final

from daemon.store.engine import Reader, Tx

SMTP: Final = "smtp"
"""Of the mail account that sends notices."""


def get(reader: Reader, name: str) -> str | None:
    """Return a sealed secret, None when it was never set."""
    sealed: str | None = reader.value(
        "SELECT sealed FROM sealed_secrets WHERE name = :name", {"name": name}
    )
    return sealed


def put(tx: Tx, name: str, sealed: str, now: int) -> None:
    """Keep a secret in place of the one before."""
    tx.run(
        "INSERT INTO sealed_secrets (name, sealed, set_at) VALUES (:name, :sealed, :now) "
        "ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, set_at = excluded.set_at",
        {"name": name, "sealed": sealed, "now": now},
    )


def remove(tx: Tx, name: str) -> bool:
    """Forget a secret; False when there is none."""
    return tx.run("DELETE FROM sealed_secrets WHERE name = :name", {"name": name}) == 1
