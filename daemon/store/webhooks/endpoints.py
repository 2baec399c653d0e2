"""The shop's webhook endpoints, and the sealed secrets that sign for them.

Implicit endpoints, made by transactions, are in the same table but not listed here. They share the account's secret.
"""

import json
from collections.abc import Collection
from typing import Any, Final

from msgspec.structs import asdict, replace

from daemon.core.webhooks.endpoint import Endpoint
from daemon.store.engine import Reader, Tx
from daemon.store.rows import insertion, json_ids
from daemon.wire import EventKind, Mode

TOPIC = "endpoints"
"""Woken by every commit that changed or paused an endpoint."""

_INSERTION = insertion("endpoints", Endpoint)


def add(tx: Tx, endpoint: Endpoint) -> Endpoint:
    """Store a new endpoint and return it with its number."""
    return tx.only(Endpoint, f"{_INSERTION} RETURNING *", asdict(endpoint))


def get(reader: Reader, endpoint_id: str, mode: Mode | None = None) -> Endpoint | None:
    """Return one of the shop's own endpoints that was not deleted; with `mode`, only of that mode."""
    return reader.first(
        Endpoint,
        "SELECT * FROM endpoints WHERE id = :id AND kind = 'endpoint' "
        "AND deleted_at IS NULL AND (CAST(:mode AS TEXT) IS NULL OR mode = :mode)",
        {"id": endpoint_id, "mode": mode},
    )


def in_use(reader: Reader, mode: Mode | None = None) -> list[Endpoint]:
    """Return the shop's own endpoints that were not deleted, oldest first; with `mode`, only of that mode."""
    return reader.every(
        Endpoint,
        "SELECT * FROM endpoints WHERE kind = 'endpoint' AND deleted_at IS NULL "
        "AND (CAST(:mode AS TEXT) IS NULL OR mode = :mode) ORDER BY seq",
        {"mode": mode},
    )


def pause_scheme(tx: Tx, scheme: str, connected: Collection[str]) -> int:
    """Pause the endpoints with this URL scheme, but those of the connected receivers: at start most are not connected yet."""
    return tx.run(
        "UPDATE endpoints SET is_active = 0 WHERE is_active = 1 AND deleted_at IS NULL "
        "AND kind = 'endpoint' AND url LIKE :scheme AND url NOT IN (SELECT value ->> 0 FROM json_each(:kept))",
        {"scheme": f"{scheme}%", "kept": json_ids([*connected])},
    )


def at_decision(reader: Reader, endpoint_seq: int, *, catch_all: bool) -> Endpoint:
    """Return the endpoint of an earlier routing decision, deleted or not, with its settings at that time."""
    # Endpoints are never removed, and only those that subscribed to payments take part in a decision.
    kept = reader.only(Endpoint, "SELECT * FROM endpoints WHERE seq = :seq", {"seq": endpoint_seq})
    return replace(kept, catch_all=catch_all, events=json.dumps([EventKind.FORWARDED]))


def count(reader: Reader) -> int:
    """Return the number of the shop's own endpoints in both modes."""
    return reader.count("SELECT COUNT(*) FROM endpoints WHERE kind = 'endpoint' AND deleted_at IS NULL")


def addresses(reader: Reader) -> list[str]:
    """Return the URLs of endpoints that may be called: the shop's own, and implicit ones with pending deliveries."""
    return reader.column(
        "SELECT DISTINCT e.url FROM endpoints e WHERE e.is_active = 1 AND e.deleted_at IS NULL AND (e.kind = 'endpoint' "
        "OR EXISTS (SELECT 1 FROM deliveries d WHERE d.endpoint_seq = e.seq AND d.next_attempt_at IS NOT NULL))"
    )


def change(tx: Tx, endpoint_id: str, changes: dict[str, Any]) -> Endpoint:
    """Change columns of an existing endpoint and return it."""
    tx.wake(TOPIC)
    return tx.only(
        Endpoint,
        f"UPDATE endpoints SET {', '.join(f'{name} = :{name}' for name in changes)} WHERE id = :id RETURNING *",
        {**changes, "id": endpoint_id},
    )


def of_any_kind(reader: Reader, endpoint_id: str) -> Endpoint:
    """Return any endpoint as it is now, implicit and deleted ones too."""
    return reader.only(Endpoint, "SELECT * FROM endpoints WHERE id = :id", {"id": endpoint_id})


ACCOUNT: Final = "account"
"""The owner of the secret that all implicit endpoints share."""
SIGNING_PURPOSE: Final = "webhook-secret"
"""The purpose under which the vault seals them."""


def secret_owner(endpoint: Endpoint) -> str:
    """Return the owner of the secret that signs for an endpoint."""
    return ACCOUNT if endpoint.kind == "implicit" else endpoint.id


def add_secret(tx: Tx, *, owner: str, sealed: str, now: int) -> None:
    """Store the first secret of an owner; a UNIQUE index refuses a second current one."""
    tx.run(
        "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES (:owner, :sealed, :now)",
        {"owner": owner, "sealed": sealed, "now": now},
    )


def valid_secrets(reader: Reader, owner: str, now: int) -> list[str]:
    """Return the sealed secrets to sign with, newest first: the current one, then those in their overlap."""
    return reader.column(
        "SELECT sealed FROM webhook_secrets WHERE owner = :owner "
        "AND (expires_at IS NULL OR expires_at > :now) ORDER BY seq DESC",
        {"owner": owner, "now": now},
    )


def expire_secret(tx: Tx, owner: str, *, until: int) -> None:
    """Set the time when the current secret of an owner ends; the owner has no current one then."""
    tx.run(
        "UPDATE webhook_secrets SET expires_at = :until WHERE owner = :owner AND expires_at IS NULL",
        {"owner": owner, "until": until},
    )


def end_secret_overlaps(tx: Tx, owner: str, now: int) -> None:
    """End all secrets but the current one now."""
    tx.run(
        "UPDATE webhook_secrets SET expires_at = :now WHERE owner = :owner AND expires_at > :now",
        {"owner": owner, "now": now},
    )


def secret_overlaps(reader: Reader, owner: str, now: int) -> int:
    """Count the old secrets that still sign: one for each rotation of the last 24 hours."""
    return reader.count(
        "SELECT COUNT(*) FROM webhook_secrets WHERE owner = :owner AND expires_at > :now", {"owner": owner, "now": now}
    )


def previous_secret_expires_at(reader: Reader, owner: str, now: int) -> int | None:
    """Return until when an old secret signs too; None if none does."""
    latest: int | None = reader.value(
        "SELECT MAX(expires_at) FROM webhook_secrets WHERE owner = :owner AND expires_at > :now",
        {"owner": owner, "now": now},
    )
    return latest


def has_secret(reader: Reader, owner: str) -> bool:
    """Return whether an owner has a current secret."""
    return reader.exists("SELECT 1 FROM webhook_secrets WHERE owner = :owner AND expires_at IS NULL", {"owner": owner})
