"""GET /metrics: how the shop fares, for Prometheus (text format). No names, numbers or messages, in labels or elsewhere.

Answered on the Unix socket, and over TCP only to this machine under a loopback name: a tunnel or a reverse proxy brings
the world to the same port, and how much a shop sells is nobody's business. The library is loaded by the first call.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from daemon.api import lines, local_modems
from daemon.api.envelope import VERSION, host_of
from daemon.api.headers import header
from daemon.api.service import Call, Reply
from daemon.core import phones
from daemon.core.errors import Refusal
from daemon.core.limits import SECOND_US
from daemon.core.phones import Condition
from daemon.env import Env
from daemon.store import backup, lists
from daemon.store.engine import Reader
from daemon.wire import ErrorCode

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_FORWARDED: Final = (b"forwarded", b"x-forwarded-for", b"cf-connecting-ip")


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is told."""

    conditions: Sequence[Condition]
    known: local_modems.Known
    ready: bool
    queue: dict[str, int]
    uptime_s: int
    now: int
    clock_suspect: bool
    disk_free: int
    database_bytes: int
    backed_up_at: float | None


async def get(call: Call) -> Reply:
    """Return the metrics; 404 for whoever comes from elsewhere."""
    if "peer_uid" not in call.scope["state"] and not _is_from_here(call):
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
    now = call.env.clock.now_us()
    conditions = call.service.hooks.phone_states()

    def read(reader: Reader) -> _Facts:
        return _Facts(
            conditions,
            local_modems.read(reader),
            bool(lines.status(reader, now, conditions)["ready"]),
            lists.queue(reader),
            (now - call.service.started_us) // SECOND_US,
            now,
            call.env.clock_doubt() is not None,
            0,
            0,
            None,
        )

    facts = replace(await call.env.store.read(read), **await asyncio.to_thread(_on_disk, call.env))
    body, kind = await asyncio.to_thread(_render, facts)
    return Reply(200, body, content_type=kind)


def _on_disk(env: Env) -> dict[str, Any]:
    """Return the facts that the disk tells."""
    home = Path(env.home)
    files = [home / Path(env.store.path).name, Path(f"{env.store.path}-wal")]
    made = backup.entries_in(home / backup.FOLDER)
    return {
        "disk_free": env.free_bytes(env.home),
        "database_bytes": sum(file.stat().st_size for file in files if file.exists()),
        "backed_up_at": made[0].made_at.timestamp() if made else None,
    }


def _is_from_here(call: Call) -> bool:
    client = call.scope.get("client")
    if client is None or client[0] not in _LOOPBACK:
        return False
    if any(call.header(name) is not None for name in _FORWARDED):
        return False
    return host_of(header(call.scope, b"host") or "") in _LOOPBACK


def _render(facts: _Facts) -> tuple[bytes, bytes]:
    from prometheus_client import CollectorRegistry  # noqa: PLC0415 -- costs 30 ms and some MB
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest  # noqa: PLC0415 -- prometheus_client is heavy: loaded at the first question
    from prometheus_client.registry import Collector  # noqa: PLC0415 -- prometheus_client is heavy: loaded at the first question

    class Shop(Collector):
        """Collects the facts of one call; nothing is kept between calls."""

        def collect(self) -> Iterator[Any]:
            yield from _shop(facts)
            yield from _modems(facts)
            yield from _sims(facts)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Shop())
    return generate_latest(registry), CONTENT_TYPE_LATEST.encode()


def _shop(facts: _Facts) -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily  # noqa: PLC0415 -- prometheus_client is heavy: loaded at the first question

    yield InfoMetricFamily("momo", "The running program", {"version": VERSION})
    yield GaugeMetricFamily("momo_uptime_seconds", "Since the daemon started", facts.uptime_s)
    yield GaugeMetricFamily(
        "momo_clock_suspect",
        "1 while the machine's clock is not believed",
        int(facts.clock_suspect),
    )
    yield GaugeMetricFamily("momo_disk_free_bytes", "Room at the database", facts.disk_free)
    yield GaugeMetricFamily("momo_database_bytes", "The database and its log", facts.database_bytes)
    if facts.backed_up_at is not None:
        yield GaugeMetricFamily(
            "momo_backup_timestamp_seconds", "When the newest backup was made", facts.backed_up_at
        )
    yield GaugeMetricFamily("momo_lines_ready", "1 when every SIM has a number", int(facts.ready))
    queue = GaugeMetricFamily("momo_deliveries", "Webhook deliveries by state", labels=["state"])
    for state, count in facts.queue.items():
        queue.add_metric([state], count)
    yield queue


def _modems(facts: _Facts) -> Iterator[Any]:
    """Tell what the phones say; a phone is labelled by its id, which tells nobody its number or its IMEI."""
    up = _gauge("modem_ready", "1 when messages are read from it")
    signal = _gauge("modem_signal_dbm", "Strength of the network's signal")
    registered = _gauge("modem_registered", "1 when the network lets messages in")
    used = _gauge("modem_storage_used", "Messages in a storage of it", "storage")
    total = _gauge("modem_storage_total", "Messages that it can hold", "storage")
    trouble = _gauge("modem_trouble", "1 for each thing that is wrong", "trouble", "level")
    for one in phones.real(facts.conditions):
        if one.device_id is None:
            continue
        label = [one.device_id]
        up.add_metric(label, int(one.state == phones.READY))
        for each in phones.troubles(one, facts.now):
            trouble.add_metric([one.device_id, each.id, each.level.value], 1)
        if one.health_at is None:
            continue
        registered.add_metric(label, int(one.receives))
        if (strength := phones.dbm(one.signal)) is not None:
            signal.add_metric(label, strength)
        for name, full, room in one.storages:
            used.add_metric([*label, name], full)
            total.add_metric([*label, name], room)
    yield from (up, signal, registered, used, total, trouble)


def _sims(facts: _Facts) -> Iterator[Any]:
    silent = _gauge("sim_silent", "1 when it is quieter than it ever is at this hour", "slot")
    last = _gauge("sim_last_sms_timestamp_seconds", "When its last message came", "slot")
    for sim in facts.known.sims:
        rhythm = facts.known.rhythms.get(sim.sim_key)
        if rhythm is None:
            continue
        label = [sim.device_id, str(sim.slot_index)]
        silent.add_metric(label, int(rhythm.silent_since is not None))
        if rhythm.last_at is not None:
            last.add_metric(label, rhythm.last_at / SECOND_US)
    yield from (silent, last)


def _gauge(name: str, text: str, *more: str) -> Any:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 -- prometheus_client is heavy: loaded at the first question

    return GaugeMetricFamily(f"momo_{name}", text, labels=["device_id", *more])
