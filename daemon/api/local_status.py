"""GET /local/v1/status: the whole picture, for `momo status` (cli.md section 4.2)."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from daemon.api import lines, local_modems, local_templates
from daemon.api.envelope import VERSION
from daemon.api.service import Call, Reply, ok
from daemon.config import Http, is_inside
from daemon.core import collection_shapes, disk_room
from daemon.core.limits import SECOND_US
from daemon.core.model import Shop
from daemon.core.phones import Condition
from daemon.core.shapes import timestamp
from daemon.env import Env
from daemon.store import backup, endpoints, examine, lists, missing_parts, notice_outbox, shop
from daemon.store.engine import Reader
from daemon.wire import TransactionStatus
from parsers.money import render
from parsers.when import from_us, to_us

_WORDS: Final = {
    TransactionStatus.SUCCESS: "paid",
    TransactionStatus.PARTIAL: "short",
    TransactionStatus.OVERPAID: "over",
}


async def get(call: Call) -> Reply:
    """Return the status."""
    env = call.env
    now = env.clock.now_us()
    conditions = call.service.hooks.phone_states()
    data: dict[str, Any] = {
        "version": VERSION,
        "pid": os.getpid(),
        "uptime_s": (now - call.service.started_us) // SECOND_US,
        "http": env.http_address or None,
        "http_security": _security(env.config.http, env.http_address),
        **await env.store.read(lambda reader: _read(reader, now, conditions)),
        "hung": list(env.late()),
        "templates": local_templates.summary(env.own),
        "clock": _clock(env),
        "awake": {"hold": env.awake.hold, "why": env.awake.why or None},
    }
    data["phones"] = local_modems.on_ports(data.pop("known"), conditions, now)
    data["db"] = await asyncio.to_thread(_on_disk, env, data.pop("schema"))
    data["disk_free_bytes"] = env.free_bytes(env.home)
    data["disk"] = {"room": disk_room.room(data["disk_free_bytes"], env.disk.room)}
    # A keyring may take its time to answer.
    locked = await asyncio.to_thread(env.vault.locked)
    data["secrets"] = "locked" if locked else "unlocked"
    return ok(data)


def _security(http: Http, address: str) -> str | None:
    """Say how what passes over TCP is kept from others: `tls`, `loopback`, or `none`: in the clear, as allowed."""
    if not address:
        return None
    if http.tls_cert:
        return "tls"
    return "loopback" if is_inside(address) else "none"


def _clock(env: Env) -> dict[str, Any]:
    doubt, skew_us = env.clock_doubt(), env.clock_skew_us()
    skew = {"skew_s": None if skew_us is None else round(skew_us / SECOND_US)}
    if doubt is None:
        return {"state": "ok", "why": None, "ahead_s": None, **skew}
    ahead = None if doubt.ahead_us is None else doubt.ahead_us // SECOND_US
    return {"state": "suspect", "why": doubt.why, "ahead_s": ahead, **skew}


def _read(reader: Reader, now: int, conditions: Sequence[Condition]) -> dict[str, Any]:
    owner = shop.get(reader)
    waiting = lists.waiting_by_endpoint(reader)
    return {
        "shop": None if owner is None else {"name": owner.name, "timezone": owner.timezone},
        "lines": lines.status(reader, now, conditions),
        "today": _today(lists.today(reader, _midnight(owner, now), now)),
        "endpoints": [
            {**collection_shapes.endpoint(endpoint), "queued": waiting.get(endpoint.id, 0)}
            for endpoint in endpoints.in_use(reader)
        ],
        "queue": lists.queue(reader),
        "messages": {"incomplete": missing_parts.count(reader)},
        "notices": dict(zip(("unseen", "urgent"), notice_outbox.unseen(reader), strict=True)),
        "schema": shop.schema_version(reader),
        "known": local_modems.read(reader),
    }


def _midnight(owner: Shop | None, now: int) -> int:
    """Return when the shop's day began."""
    zone = UTC if owner is None else ZoneInfo(owner.timezone)
    local = from_us(now).astimezone(zone)
    return to_us(datetime(local.year, local.month, local.day, tzinfo=zone))


def _today(day: lists.Today) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for status, word in _WORDS.items():
        entries = {
            currency: entry for (kind, currency), entry in day.verified.items() if kind == status
        }
        told[word] = {"count": sum(number for number, _ in entries.values())}
        if len(entries) == 1:
            currency, (_, minor) = entries.popitem()
            told[word] |= {"amount": render(minor, currency), "currency": currency}
    return {**told, "review": day.review, "waiting": day.waiting}


def _on_disk(env: Env, schema: int) -> dict[str, Any]:
    path, size = env.store.path, 0
    for name in (path, f"{path}-wal"):
        try:
            size += Path(name).stat().st_size
        except FileNotFoundError:
            continue
    sqlite, _ = examine.sqlite_version()
    made = backup.entries_in(Path(env.home) / backup.FOLDER)
    return {
        "path": path,
        "bytes": size,
        "schema": schema,
        "sqlite": sqlite,
        "last_check": env.self_check.found,
        "backed_up_at": timestamp(to_us(made[0].made_at)) if made else None,
    }
