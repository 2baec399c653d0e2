"""GET /metrics: metrics of the shop for Prometheus (text format), without names, numbers or messages, also in labels.

Answered on the Unix socket, and over TCP only to this machine under a loopback name: a tunnel or a reverse proxy opens
the same port to the internet, and a shop's sales are confidential. The library is imported at the first call.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from daemon.api.http.body import header
from daemon.api.http.envelope import host_of
from daemon.api.http.service import Call, Reply
from daemon.api.lines import modems
from daemon.core.errors import Refusal, Unavailable
from daemon.core.limits import SECOND_US
from daemon.core.lines import modem_health
from daemon.core.lines.line_json import LineStatusAnswer
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.upkeep.clock_check import Witness
from daemon.env import Env
from daemon.steps.lines import line_status
from daemon.store.engine import Reader
from daemon.store.upkeep import backup, inspect
from daemon.store.webhooks import delivery_log
from daemon.wire import VERSION, ErrorCode

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_FORWARDED: Final = (b"forwarded", b"x-forwarded-for", b"cf-connecting-ip")


class _Facts(Struct, frozen=True):
    """The values of one call."""

    conditions: Sequence[ModemHealth]
    uptime_s: int
    now: int
    clock_suspect: bool
    clock_witness: Witness | None
    faults: tuple[str, ...]
    disk_free: int | None
    database_bytes: int | None
    backed_up_at: float | None
    known: modems.KnownModems = modems.NOTHING_KNOWN
    lines: LineStatusAnswer | None = None
    queue: dict[str, int] = field(default_factory=dict)


async def get(call: Call) -> Reply:
    """Return the metrics; 404 for callers on other machines."""
    if "peer_uid" not in call.scope["state"] and not _is_local_call(call):
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
    times = call.env.times()
    now = times.wall_us
    conditions = call.service.hooks.phone_states()

    facts = _Facts(
        conditions, (now - call.service.started_us) // SECOND_US, now, times.doubt is not None, times.witness,
        tuple(dict.fromkeys(fault.cause for fault in call.env.faults.all())),
        database_bytes=await inspect.database_bytes(call.env.store), **await asyncio.to_thread(_on_disk, call.env),
    )  # fmt: skip

    def read(reader: Reader) -> _Facts:
        return replace(
            facts,
            known=modems.read(reader),
            lines=line_status(reader, now, conditions),
            queue=delivery_log.queue_counts(reader),
        )

    with suppress(Unavailable):  # the metrics of the database are missing then
        facts = await call.env.store.read(read)
    body, kind = await asyncio.to_thread(_render, facts)
    return Reply(200, body, content_type=kind)


def _on_disk(env: Env) -> dict[str, Any]:
    """Return the facts read from the disk."""
    home = Path(env.home)
    made = backup.entries_in(home / backup.FOLDER)
    free: int | None = None
    with suppress(OSError):
        free = env.free_bytes(env.home)
    return {"disk_free": free, "backed_up_at": made[0].made_at.timestamp() if made else None}


def _is_local_call(call: Call) -> bool:
    client = call.scope.get("client")
    if client is None or client[0] not in _LOOPBACK:
        return False
    if any(call.header(name) is not None for name in _FORWARDED):
        return False
    return host_of(header(call.scope, b"host") or "") in _LOOPBACK


def _render(facts: _Facts) -> tuple[bytes, bytes]:
    from prometheus_client import CollectorRegistry  # noqa: PLC0415 -- it takes 30 ms and some MB
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest  # noqa: PLC0415 -- the same
    from prometheus_client.registry import Collector  # noqa: PLC0415 -- the same

    class Shop(Collector):
        """Yields the metrics of one call; no state is kept between calls."""

        def collect(self) -> Iterator[Any]:
            yield from _shop(facts)
            # The label is the device id, which does not reveal the phone number or IMEI.
            yield from _modems(facts)
            yield from _sims(facts)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Shop())
    return generate_latest(registry), CONTENT_TYPE_LATEST.encode()


def _shop(facts: _Facts) -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily  # noqa: PLC0415 -- as in `_render`

    yield InfoMetricFamily("momo", "The running program", {"version": VERSION})
    for name, text, value in (
        ("uptime_seconds", "Seconds since the daemon started", facts.uptime_s),
        ("clock_suspect", "1 while the machine's clock is in doubt", facts.clock_suspect),
        ("disk_free_bytes", "Free bytes on the disk of the database", facts.disk_free),
        ("database_bytes", "Size of the database and its WAL", facts.database_bytes),
        ("backup_timestamp_seconds", "Time of the newest backup", facts.backed_up_at),
        ("lines_ready", "1 if every SIM has a merchant number", None if facts.lines is None else facts.lines.ready),
    ):
        if value is not None:
            yield GaugeMetricFamily(f"momo_{name}", text, value)
    beside = ((one.value, one is facts.clock_witness) for one in Witness)
    yield _gauge("clock_witness", "1 for what tells the time beside the machine's clock", beside, "witness")
    faults = ((cause, 1) for cause in facts.faults)
    yield _gauge("problem", "1 for each reason why no payment can be recorded", faults, "cause")
    yield _gauge("deliveries", "Webhook deliveries by state", facts.queue.items(), "state")


def _modems(facts: _Facts) -> Iterator[Any]:
    """Yield the metrics of the modems."""
    known = [
        (one.device_id, one) for one in modem_health.without_simulated(facts.conditions) if one.device_id is not None
    ]
    measured = [(name, one) for name, one in known if one.health_at is not None]
    ready = ((name, one.state == modem_health.READY) for name, one in known)
    yield _gauge("modem_ready", "1 if messages are read from the modem", ready)
    signals = ((name, dbm) for name, one in measured if (dbm := modem_health.dbm(one.signal)) is not None)
    yield _gauge("modem_signal_dbm", "Signal strength in dBm", signals)
    receives = ((name, one.receives) for name, one in measured)
    yield _gauge("modem_registered", "1 if the modem can receive messages from the network", receives)
    storages = [(name, *storage) for name, one in measured for storage in one.storages]
    used = ((name, kind, full) for name, kind, full, _ in storages)
    yield _gauge("modem_storage_used", "Messages in a storage of the modem", used, "device_id", "storage")
    room = ((name, kind, total) for name, kind, _, total in storages)
    text = "Capacity of a storage of the modem, in messages"
    yield _gauge("modem_storage_total", text, room, "device_id", "storage")
    troubles = (
        (name, each.id, each.level.value, 1)
        for name, one in known
        for each in modem_health.find_problems(one, facts.now)
    )
    yield _gauge("modem_trouble", "1 for each problem of the modem", troubles, "device_id", "trouble", "level")


def _sims(facts: _Facts) -> Iterator[Any]:
    sims = [
        (sim.device_id, str(sim.slot_index), rhythm)
        for sim in facts.known.sims
        if (rhythm := facts.known.rhythms.get(sim.sim_key)) is not None
    ]
    silent = ((name, slot, rhythm.silent_since is not None) for name, slot, rhythm in sims)
    yield _gauge("sim_silent", "1 if the SIM is silent for longer than is usual at this hour", silent, *_SIM)
    last = ((name, slot, rhythm.last_at / SECOND_US) for name, slot, rhythm in sims if rhythm.last_at is not None)
    yield _gauge("sim_last_sms_timestamp_seconds", "Time of the SIM's last message", last, *_SIM)
    phones = () if facts.lines is None else facts.lines.phones
    receiving = ((phone.device_id, str(sim.slot_index), sim.receiving) for phone in phones for sim in phone.sims)
    yield _gauge("line_receiving", "1 if messages can come to the SIM now", receiving, *_SIM)


_SIM: Final = ("device_id", "slot")


def _gauge(name: str, text: str, rows: Iterable[tuple[Any, ...]], *labels: str) -> Any:
    """Return a gauge with a value for each row, the last of it; the others are those of the labels."""
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 -- as in `_render`

    family = GaugeMetricFamily(f"momo_{name}", text, labels=labels or ["device_id"])
    for *values, value in rows:
        family.add_metric(values, value)
    return family
