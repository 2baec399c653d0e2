"""GET /local/v1/status: the status of the shop, for `momo status`."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from daemon.api.http.service import Call, Reply, ok
from daemon.api.lines import modems
from daemon.api.messages import wordings_summary
from daemon.core.books.day_sheet import midnight
from daemon.core.errors import Unavailable
from daemon.core.json_values import timestamp
from daemon.core.limits import SECOND_US
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.upkeep import self_check
from daemon.core.upkeep.faults import fault_json
from daemon.core.upkeep.self_check import DatabaseState
from daemon.core.webhooks.endpoint import EndpointAnswer
from daemon.env import Env
from daemon.runtime.config import Http
from daemon.runtime.config_file import is_inside
from daemon.sender.live_receivers import LISTEN_SCHEME
from daemon.steps.lines import line_status
from daemon.store import shop
from daemon.store.books import day_sheet
from daemon.store.engine import Reader
from daemon.store.messages import messages
from daemon.store.payments import transaction_list
from daemon.store.upkeep import backup, inspect, notices
from daemon.store.webhooks import delivery_log, endpoints
from daemon.wire import VERSION, Mode, TransactionStatus
from parsers.money import render
from parsers.times import to_us

_COUNTED: Final = {
    TransactionStatus.SUCCESS: "paid",
    TransactionStatus.PARTIAL: "short",
    TransactionStatus.OVERPAID: "over",
}


_FROM_DATABASE: Final = ("shop", "lines", "today", "endpoints", "queue", "messages", "notices", "schema")


async def get(call: Call) -> Reply:
    """Return the status."""
    env = call.env
    now = env.clock.now_us()
    conditions = call.service.hooks.phone_states()
    faults = env.faults.all()
    data: dict[str, Any] = {
        "state": _state(env),
        "waiting": env.store.fault.why if env.store.is_standby and env.store.fault else None,
        "problems": [fault_json(fault) for fault in faults],
        "version": VERSION,
        "pid": os.getpid(),
        "uptime_s": (now - call.service.started_us) // SECOND_US,
        "http": env.http_address or None,
        "http_security": _security(env.config.http, env.http_address),
        **await _from_database(env, now, conditions),
        "hung": list(env.hanging_workers()),
        "message_journal": _message_journal(env),
        "settings": {
            "problem": env.settings.problem or None,
            "restart": list(env.settings.waiting),
            "unwatched": env.settings.unwatched or None,
        },
        "templates": wordings_summary(env.own_wordings),
        "clock": _clock(env),
        "awake": {"hold": env.awake.hold, "why": env.awake.why or None},
    }
    if faults:
        counted = data["notices"] or {"unseen": 0, "urgent": 0}
        data["notices"] = {name: count + len(faults) for name, count in counted.items()}
    data["phones"] = modems.on_ports(data.pop("known"), conditions, now)
    size = await inspect.database_bytes(env.store)
    data["db"] = await asyncio.to_thread(_database, env, data.pop("schema"), size)
    try:
        data["disk_free_bytes"] = env.free_bytes(env.home)
        data["disk"] = {"room": self_check.space_step(data["disk_free_bytes"], env.disk.room)}
    except OSError:
        data["disk_free_bytes"], data["disk"] = None, {"room": None}
    # In a thread: a keyring may be slow to answer.
    locked = await asyncio.to_thread(env.vault.locked)
    data["secrets"] = "locked" if locked else "unlocked"
    return ok(data)


def _state(env: Env) -> str:
    """Return `starting` until the database is open or known to be unusable, then `ok`, `standby` or `degraded`."""
    if env.store.is_standby and not env.faults.all():
        return "standby"
    if env.store.is_starting:
        return "starting"
    return "degraded" if env.faults.all() or not env.store.is_open else "ok"


async def _from_database(env: Env, now: int, conditions: Sequence[ModemHealth]) -> dict[str, Any]:
    """Return the part of the status that the database has; its members are null while it cannot be read."""
    try:
        return await env.store.read(lambda reader: _read(reader, now, conditions))
    except Unavailable:
        return {**dict.fromkeys(_FROM_DATABASE), "known": modems.NOTHING_KNOWN}


def _security(http: Http, address: str) -> str | None:
    """Return the protection of TCP traffic: `tls`, `loopback`, or `none` (unencrypted, as the settings allow)."""
    if not address:
        return None
    if http.tls_cert:
        return "tls"
    return "loopback" if is_inside(address) else "none"


def _clock(env: Env) -> dict[str, Any]:
    times = env.times()
    doubt = times.doubt
    skew = {"skew_s": None if times.skew_us is None else round(times.skew_us / SECOND_US), "witness": times.witness}
    if doubt is None:
        return {"state": "ok", "why": None, "ahead_s": None, **skew}
    ahead = None if doubt.ahead_us is None else doubt.ahead_us // SECOND_US
    return {"state": "suspect", "why": doubt.why, "ahead_s": ahead, **skew}


def _message_journal(env: Env) -> dict[str, Any]:
    """Return whether messages are being taken in again, and whether the second folder is up to date (`why` not)."""
    second = None if env.message_journal is None else env.message_journal.second
    return {
        "recovering": env.recovering,
        "second_folder": second.path or None if second else None,
        "why": second.why or None if second else None,
    }


class QueuedEndpoint(EndpointAnswer, frozen=True):
    """An endpoint with the number of its waiting deliveries."""

    queued: int


def _read(reader: Reader, now: int, conditions: Sequence[ModemHealth]) -> dict[str, Any]:
    owner = shop.get(reader)
    waiting = delivery_log.waiting_by_endpoint(reader)
    return {
        "shop": None if owner is None else {"name": owner.name, "timezone": owner.timezone},
        "lines": line_status(reader, now, conditions),
        "today": _today(
            day_sheet.today(reader, midnight(now, UTC if owner is None else ZoneInfo(owner.timezone)), now),
            sum(count for count, _ in transaction_list.unsettled(reader, Mode.LIVE).values()),
        ),
        "endpoints": [
            QueuedEndpoint.of(endpoint, queued=waiting.get(endpoint.id, 0))
            for endpoint in endpoints.in_use(reader)
            if not endpoint.url.startswith(LISTEN_SCHEME)
        ],
        "queue": delivery_log.queue_counts(reader),
        "messages": {"incomplete": messages.count_incomplete(reader)},
        "notices": dict(zip(("unseen", "urgent"), notices.unseen(reader), strict=True)),
        "schema": shop.schema_version(reader),
        "known": modems.read(reader),
    }


def _today(day: day_sheet.Today, unsettled: int) -> dict[str, Any]:
    counts: dict[str, Any] = {}
    for status, word in _COUNTED.items():
        entries = {currency: entry for (kind, currency), entry in day.verified.items() if kind == status}
        counts[word] = {"count": sum(number for number, _ in entries.values())}
        if len(entries) == 1:
            currency, (_, minor) = entries.popitem()
            counts[word] |= {"amount": render(minor, currency), "currency": currency}
    return {**counts, "review": day.review, "unsettled": unsettled, "waiting": day.waiting}


def _database(env: Env, schema: int | None, size: int | None) -> dict[str, Any]:
    server = env.store.server or None
    sqlite, _ = inspect.sqlite_version()
    made = backup.entries_in(Path(env.home) / backup.FOLDER)
    return {
        "path": None if server else env.store.path,
        "server": server,
        "bytes": size,
        "schema": schema,
        "sqlite": None if server else sqlite,
        "last_check": DatabaseState.DAMAGED if env.store.is_damaged else env.self_check.found,
        "backed_up_at": timestamp(to_us(made[0].made_at)) if made else None,
    }
