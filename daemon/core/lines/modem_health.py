"""Health of a modem: signal, network, storage, its problems and how to fix them. Pure.

A problem has a stable id, a level, a sentence and a next step. `momo phones status`, `momo status`, `momo doctor modem` and
`/metrics` agree because all of them use this module.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

from daemon.core.json_values import Json, timestamp, timestamp_or_none
from daemon.core.limits import MINUTE_US
from daemon.core.text import Text
from daemon.wire import SourceKind, TrustLevel

SIGNAL_BARS: Final = ((20, 4), (15, 3), (10, 2), (2, 1), (0, 0))
"""Lowest `<rssi>` of `AT+CSQ` for each number of bars: -73, -83, -93 and -109 dBm, as phones usually show them."""
STORAGE_WARN: Final = 0.8
"""The alarm is at 80 % of the storage, so that there is time to empty it."""
HEALTH_OLD_US: Final = 5 * MINUTE_US
"""A phone is asked every 30 s; values older than ten intervals are ignored."""


class Level(StrEnum):
    """Severity of a problem."""

    FAIL = "fail"
    """No message can come, or none can be read."""
    WARN = "warn"
    """It works now, but may stop soon."""


class ModemProblem(Struct, frozen=True):
    """One problem; `id` never changes, `fix` is the step or command that solves it."""

    id: str
    level: Level
    text: Text | str
    fix: Text | str


class ModemHealth(Struct, frozen=True):
    """Reported state of a port and the phone on it.

    Attributes:
        port: The path of the port.
        state: State of the port's loop, such as `ready` or `pin_needed`.
        detail: The reason of the state as a sentence; may be empty.
        next_step: The next step for the operator; may be empty.
        device_id: The phone; None until it has been identified.
        last_sms_at: When the last message was read, microseconds; None if none was read since the start.
        health_at: When the values below were read; None if they never were.
        signal: 0 to 31 of `AT+CSQ`.
        registration: A value of `session_values.Registration`.
        receives: The registration lets the SIM receive messages.
        network: The network's name as the phone gives it.
        used: Messages in the receiving storage, of `total`.
        storages: Name, used and total of each storage, including those that do not receive.
        simulated: It is a program, not a phone: its messages and values do not count as live.
        source: The source in `[[sources]]` that it belongs to.
        kind: Of which kind the source is.
        level: How far its messages are trusted.
    """

    port: str
    state: str
    detail: Text | str = ""
    next_step: Text | str = ""
    device_id: str | None = None
    last_sms_at: int | None = None
    health_at: int | None = None
    signal: int | None = None
    registration: str | None = None
    receives: bool = False
    network: str | None = None
    used: int | None = None
    total: int | None = None
    storages: tuple[tuple[str, int, int], ...] = ()
    simulated: bool = False
    source: str = SourceKind.MODEM.value
    kind: str = SourceKind.MODEM.value
    level: TrustLevel = TrustLevel.FULL


READY: Final = "ready"
SET_ASIDE: Final = "set_aside"
"""Messages are read, but for some on which momo fails by a bug; they stay on the phone."""
TRANSIENT: Final = frozenset({"opening", "starting", "resuming", "restarting"})
"""States that end by themselves within a minute, without the operator."""

_STATES: Final[dict[str, tuple[str, Level]]] = {
    "unreachable": ("modem.port", Level.FAIL), "gone": ("modem.gone", Level.FAIL),
    "recovering": ("modem.hung", Level.WARN), "hung": ("modem.hung", Level.FAIL),
    "hilink": ("modem.hilink", Level.FAIL), "pin_needed": ("modem.pin", Level.FAIL),
    "pin_wrong": ("modem.pin", Level.FAIL), "puk_needed": ("modem.puk", Level.FAIL),
    "no_sim": ("modem.sim", Level.FAIL), "not_storing": ("modem.disk", Level.FAIL),
    "not_deleting": ("modem.disk", Level.WARN), SET_ASIDE: ("modem.set_aside", Level.WARN),
    "unusable": ("modem.unusable", Level.FAIL), "app_silent": ("modem.app_silent", Level.FAIL),
    "app_refused": ("modem.app_refused", Level.WARN), "app_locked": ("modem.app_locked", Level.FAIL),
    "login_needed": ("modem.login", Level.FAIL), "not_allowed": ("modem.not_allowed", Level.FAIL),
}  # fmt: skip
_FIXES: Final = dict.fromkeys(("not_storing", "not_deleting"), Text("fault.modem.disk.fix"))
"""Used if the loop itself gives no next step."""
_REPLUG: Final = Text("fault.modem.replug.fix")
_DEAF: Final = frozenset({"searching", "denied", "none", "emergency_only"})
"""Registrations without messages; each has words for its next step."""


def without_simulated(phones: Iterable[ModemHealth]) -> list[ModemHealth]:
    """Return the real phones, without simulated ones."""
    return [phone for phone in phones if not phone.simulated]


def bars(signal: int | None) -> int | None:
    """Return 0 to 4 bars for the `<rssi>` of `AT+CSQ`."""
    if signal is None:
        return None
    return next(found for least, found in SIGNAL_BARS if signal >= least)


def dbm(signal: int | None) -> int | None:
    """Return the `<rssi>` of `AT+CSQ` in dBm (27.007 clause 8.5: -113 dBm plus 2 dB a step)."""
    return None if signal is None else -113 + 2 * signal


def is_full(used: int | None, total: int | None) -> bool:
    """Return whether no slot is left."""
    return used is not None and total is not None and 0 < total <= used


def find_problems(phone: ModemHealth, now_us: int) -> list[ModemProblem]:
    """Return the problems of a phone, the worst first."""
    found = [*_of_state(phone), *_of_health(phone, now_us)]
    return sorted(found, key=lambda trouble: trouble.level is not Level.FAIL)


def silent_sim_problem(since_us: int, now_us: int, network: str | None) -> ModemProblem:
    """Return the problem of a SIM without messages for an unusually long time."""
    minutes = max(0, now_us - since_us) // MINUTE_US
    duration = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    sim = Text("fault.modem.the_network_sim", network=network) if network else Text("fault.modem.the_sim")
    return ModemProblem(
        "modem.silent",
        Level.WARN,
        Text("fault.modem.silent", sim=sim, duration=duration),
        Text("fault.modem.silent.fix"),
    )


def _of_state(phone: ModemHealth) -> Iterator[ModemProblem]:
    if phone.state == READY or phone.state in TRANSIENT:
        return
    known = _STATES.get(phone.state, ("modem.state", Level.WARN))
    text = phone.detail or Text("fault.modem.state", state=phone.state.replace("_", " "))
    yield ModemProblem(*known, text, phone.next_step or _FIXES.get(phone.state, _REPLUG))


def _of_health(phone: ModemHealth, now_us: int) -> Iterator[ModemProblem]:
    if phone.health_at is None or phone.state in {"unreachable", "gone", "hung"}:
        return
    if now_us - phone.health_at > HEALTH_OLD_US:
        return
    if phone.used is not None and phone.total:
        yield from _of_storage(phone.used, phone.total)
    # The first storage is the receiving one, checked above.
    for name, used, total in phone.storages[1:]:
        if total:
            yield from _of_storage(used, total, f"storage {name}")
    if phone.registration in _DEAF and not phone.receives:
        registration = phone.registration.replace("_", " ")
        yield ModemProblem(
            "modem.network",
            Level.FAIL,
            Text("fault.modem.network", registration=registration),
            Text(f"fault.modem.network.{phone.registration}.fix"),
        )
    elif phone.signal is not None and bars(phone.signal) == 0:
        yield ModemProblem(
            "modem.signal",
            Level.WARN,
            Text("fault.modem.signal", dbm=dbm(phone.signal)),
            Text("fault.modem.network.searching.fix"),
        )


def _of_storage(used: int, total: int, storage: str = "SIM") -> Iterator[ModemProblem]:
    full, fix = is_full(used, total), Text("fault.modem.full.fix")
    key = "fault.modem.storage_full" if full else "fault.modem.nearly_full"
    text = Text(key, storage=storage, used=used, total=total)
    if full and storage == "SIM":
        yield ModemProblem("modem.full", Level.FAIL, Text("fault.modem.full", **text.values), fix)
    elif used >= STORAGE_WARN * total:
        yield ModemProblem("modem.nearly_full", Level.WARN, text, fix)


def health_json(phone: ModemHealth, found: Iterable[ModemProblem]) -> Json:
    """Return the JSON object of a phone's health."""
    signal = None
    if phone.signal is not None:
        signal = {"csq": phone.signal, "dbm": dbm(phone.signal), "bars": bars(phone.signal)}
    storage = None
    if phone.used is not None and phone.total is not None:
        storage = {"used": phone.used, "total": phone.total}
    return {
        "port": phone.port, "state": phone.state, "detail": phone.detail, "next": phone.next_step,
        "device_id": phone.device_id, **({"simulated": True} if phone.simulated else {}),
        "source": {"name": phone.source, "kind": phone.kind, "trust_level": phone.level},
        "last_sms_at": timestamp_or_none(phone.last_sms_at), "signal": signal, "registration": phone.registration,
        "network_name": phone.network, "storage": storage,
        "storages": [{"name": name, "used": used, "total": total} for name, used, total in phone.storages],
        "heard_at": None if phone.health_at is None else timestamp(phone.health_at),
        "troubles": [problem_json(trouble) for trouble in found],
    }  # fmt: skip


def problem_json(trouble: ModemProblem) -> Json:
    """Return the JSON object of a problem."""
    return {"id": trouble.id, "level": trouble.level.value, "text": trouble.text, "fix": trouble.fix}
