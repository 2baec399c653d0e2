"""The shop's webhook endpoints. Implicit ones, made by requests, live in the same table and are not listed here."""

import json
from dataclasses import replace
from typing import Any

from daemon.core.model import Endpoint
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load, load_all, load_optional
from daemon.wire import EventKind, Mode

TOPIC = "endpoints"
"""Woken by every commit that changed or paused an endpoint."""

_ENDPOINT = columns(Endpoint)
_NAMES = [
    name for name in _ENDPOINT.split(", ") if name not in ("seq", "link_failures", "backlog_seq")
]


def add(tx: Tx, endpoint: dict[str, Any]) -> Endpoint:
    """Store a new endpoint; `endpoint` has every column but `seq`, `link_failures` and `backlog_seq`."""
    row = tx.one(
        f"INSERT INTO endpoints ({', '.join(_NAMES)}) "
        f"VALUES ({', '.join(':' + name for name in _NAMES)}) RETURNING {_ENDPOINT}",
        endpoint,
    )
    assert row is not None
    return load(Endpoint, row)


def get(reader: Reader, endpoint_id: str, mode: Mode | None = None) -> Endpoint | None:
    """Return one of the shop's own endpoints that was not deleted; with `mode`, only of that mode."""
    return load_optional(
        Endpoint,
        reader.one(
            f"SELECT {_ENDPOINT} FROM endpoints WHERE id = :id AND kind = 'endpoint' "
            "AND deleted_at IS NULL AND (:mode IS NULL OR mode = :mode)",
            {"id": endpoint_id, "mode": mode},
        ),
    )


def in_use(reader: Reader, mode: Mode | None = None) -> list[Endpoint]:
    """Return the shop's own endpoints that were not deleted, oldest first; with `mode`, only of that mode."""
    of_mode = "" if mode is None else "AND mode = :mode "
    return load_all(
        Endpoint,
        reader.all(
            f"SELECT {_ENDPOINT} FROM endpoints WHERE kind = 'endpoint' AND deleted_at IS NULL "
            f"{of_mode}ORDER BY seq",
            {"mode": mode},
        ),
    )


def pause_all_at(tx: Tx, scheme: str) -> int:
    """Pause every endpoint whose address begins so: at start nobody is connected that could take anything."""
    return tx.run(
        "UPDATE endpoints SET is_active = 0 WHERE is_active = 1 AND deleted_at IS NULL "
        "AND kind = 'endpoint' AND url LIKE :like",
        {"like": f"{scheme}%"},
    )


def as_it_was(reader: Reader, endpoint_id: str, *, catch_all: bool) -> Endpoint:
    """Return an endpoint that a decision was about, deleted or not, with what it took then."""
    row = reader.one(f"SELECT {_ENDPOINT} FROM endpoints WHERE id = :id", {"id": endpoint_id})
    assert row is not None, "endpoints are never removed"
    # A decision is only about endpoints that asked for payments then.
    kept = replace(load(Endpoint, row), catch_all=catch_all)
    return replace(kept, events=json.dumps([EventKind.FORWARDED]))


def count(reader: Reader) -> int:
    """Count the shop's own endpoints, of both modes."""
    return int(
        reader.value(
            "SELECT COUNT(*) FROM endpoints WHERE kind = 'endpoint' AND deleted_at IS NULL"
        )
    )


def change(tx: Tx, endpoint_id: str, changes: dict[str, Any]) -> Endpoint:
    """Set some columns of an endpoint that is there, and return it as it is then."""
    tx.wake(TOPIC)
    row = tx.one(
        f"UPDATE endpoints SET {', '.join(f'{name} = :{name}' for name in changes)} "
        f"WHERE id = :id RETURNING {_ENDPOINT}",
        {**changes, "id": endpoint_id},
    )
    assert row is not None
    return load(Endpoint, row)


def now_in_use(reader: Reader, endpoint_id: str) -> tuple[bool, bool]:
    """Return (is_active, deleted) of any endpoint as it is now, implicit ones too."""
    row = reader.one(
        "SELECT is_active, deleted_at IS NOT NULL FROM endpoints WHERE id = :id",
        {"id": endpoint_id},
    )
    return (False, True) if row is None else (bool(row[0]), bool(row[1]))
