"""Signing secrets, sealed. An endpoint has its own; all implicit endpoints share the account's."""

from typing import Final

from daemon.core.webhooks.endpoint import Endpoint
from daemon.store.engine import Reader, Tx

ACCOUNT: Final = "account"
"""The owner of the secret that all implicit endpoints share."""
PURPOSE: Final = "webhook-secret"
"""The purpose under which the vault seals them."""


def owner_of(endpoint: Endpoint) -> str:
    """Return the owner of the secret that signs for an endpoint."""
    return ACCOUNT if endpoint.kind == "implicit" else endpoint.id


def add(tx: Tx, *, owner: str, sealed: str, now: int) -> None:
    """Store the first secret of an owner; a UNIQUE index refuses a second current one."""
    tx.run(
        "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES (:owner, :sealed, :now)",
        {"owner": owner, "sealed": sealed, "now": now},
    )


def valid_at(reader: Reader, owner: str, now: int) -> list[str]:
    """Return the sealed secrets to sign with, newest first: the current one, then those in their overlap."""
    rows = reader.all(
        "SELECT sealed FROM webhook_secrets WHERE owner = :owner "
        "AND (expires_at IS NULL OR expires_at > :now) ORDER BY seq DESC",
        {"owner": owner, "now": now},
    )
    return [row[0] for row in rows]


def expire(tx: Tx, owner: str, *, until: int) -> None:
    """Set the time when the current secret of an owner ends; the owner has no current one then."""
    tx.run(
        "UPDATE webhook_secrets SET expires_at = :until WHERE owner = :owner AND expires_at IS NULL",
        {"owner": owner, "until": until},
    )


def end_overlaps(tx: Tx, owner: str, now: int) -> None:
    """End all secrets but the current one now."""
    tx.run(
        "UPDATE webhook_secrets SET expires_at = :now WHERE owner = :owner AND expires_at > :now",
        {"owner": owner, "now": now},
    )


def overlaps(reader: Reader, owner: str, now: int) -> int:
    """Count the old secrets that still sign: one for each rotation of the last 24 hours."""
    return reader.count(
        "SELECT COUNT(*) FROM webhook_secrets WHERE owner = :owner AND expires_at > :now",
        {"owner": owner, "now": now},
    )


def previous_expires_at(reader: Reader, owner: str, now: int) -> int | None:
    """Return until when an old secret signs too; None if none does."""
    latest: int | None = reader.value(
        "SELECT MAX(expires_at) FROM webhook_secrets WHERE owner = :owner AND expires_at > :now",
        {"owner": owner, "now": now},
    )
    return latest


def exists(reader: Reader, owner: str) -> bool:
    """Return whether an owner has a current secret."""
    return reader.exists(
        "SELECT 1 FROM webhook_secrets WHERE owner = :owner AND expires_at IS NULL",
        {"owner": owner},
    )
