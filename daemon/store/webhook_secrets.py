"""Signing secrets, sealed. An endpoint has its own; all implicit endpoints share the account's."""

from typing import Final

from daemon.core.model import Endpoint
from daemon.store.engine import Reader, Tx

ACCOUNT: Final = "account"
"""The owner of the secret that all implicit endpoints share."""


def owner_of(endpoint: Endpoint) -> str:
    """Say whose secret signs for an endpoint."""
    return ACCOUNT if endpoint.kind == "implicit" else endpoint.id


def add(tx: Tx, *, owner: str, sealed: str, now: int) -> None:
    """Store the first secret of an owner; a second current one is refused by a UNIQUE index."""
    tx.run(
        "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES (:owner, :sealed, :now)",
        {"owner": owner, "sealed": sealed, "now": now},
    )


def valid_at(reader: Reader, owner: str, now: int) -> list[str]:
    """Return the sealed secrets to sign with, newest first: the current one, then those in their overlap."""
    return [
        row[0]
        for row in reader.all(
            "SELECT sealed FROM webhook_secrets WHERE owner = :owner "
            "AND (expires_at IS NULL OR expires_at > :now) ORDER BY seq DESC",
            {"owner": owner, "now": now},
        )
    ]


def exists(reader: Reader, owner: str) -> bool:
    """Say whether an owner has a current secret."""
    return (
        reader.value(
            "SELECT 1 FROM webhook_secrets WHERE owner = :owner AND expires_at IS NULL",
            {"owner": owner},
        )
        is not None
    )
