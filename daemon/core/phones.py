"""How a phone fares, in words: signal, network, storage, and what is wrong with it and what to do. Pure.

A trouble has a stable id, how bad it is, a sentence, and the next step. `momo modems`, `momo status`, `momo doctor
modem` and `/metrics` all say the same because they all ask here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.limits import MINUTE_US
from daemon.core.shapes import Json, timestamp, timestamp_or_none

SIGNAL_BARS: Final = ((20, 4), (15, 3), (10, 2), (2, 1), (0, 0))
"""From this `<rssi>` of `AT+CSQ` on, so many bars: -73, -83, -93 and -109 dBm, as phones are wont to draw them."""
STORAGE_WARN: Final = 0.8
"""decisions.md and operations.md 2.9: the alarm is at 80 % of the storage."""
HEALTH_OLD_US: Final = 5 * MINUTE_US
"""A phone is asked every 30 s; what is older than ten such times is not how it fares now."""


class Level(StrEnum):
    """How bad it is."""

    FAIL = "fail"
    """No message can come, or none can be read."""
    WARN = "warn"
    """It works, and will not for long, or it may not."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong; `id` never changes, `fix` is what to do or to type."""

    id: str
    level: Level
    text: str
    fix: str


@dataclass(frozen=True, slots=True)
class Condition:
    """What a port and the phone on it say of themselves.

    Attributes:
        port: The path that is served.
        state: The word of the port's loop, such as `ready` or `pin_needed`.
        detail: Why it is so, as a sentence; may be empty.
        next_step: What to do about it; may be empty.
        device_id: The phone, None before it has said who it is.
        last_sms_at: When the last message was read, microseconds; None when none was since the start.
        health_at: When the rest was heard; None when nothing was.
        signal: 0 to 31 of `AT+CSQ`.
        registration: A word of `session_values.Registration`.
        receives: The registration lets messages in.
        network: The network's name as the phone gives it.
        used: Messages in the storage that receives, of `total`.
        storages: Name, used and total of each storage, also of those that do not receive.
        simulated: It is no phone but a program: nothing that it says or reads counts as live.
    """

    port: str
    state: str
    detail: str = ""
    next_step: str = ""
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


READY: Final = "ready"
PASSING: Final = frozenset({"opening", "starting", "resuming", "restarting"})
"""States that end by themselves within a minute, and need nobody."""

_STATES: Final[dict[str, tuple[str, Level]]] = {
    "unreachable": ("modem.port", Level.FAIL),
    "gone": ("modem.gone", Level.FAIL),
    "recovering": ("modem.hung", Level.WARN),
    "hung": ("modem.hung", Level.FAIL),
    "hilink": ("modem.hilink", Level.FAIL),
    "pin_needed": ("modem.pin", Level.FAIL),
    "pin_wrong": ("modem.pin", Level.FAIL),
    "puk_needed": ("modem.puk", Level.FAIL),
    "no_sim": ("modem.sim", Level.FAIL),
    "not_storing": ("modem.disk", Level.FAIL),
}
_FIXES: Final = {
    "not_storing": "free space on the disk: messages stay on the SIM until there is room"
}
"""Where the loop itself says none."""
_REPLUG: Final = "pull the modem out, wait 5 seconds and plug it in again"
_NETWORK: Final[dict[str, str]] = {
    "searching": "move the modem to a window, or use a USB cable to lift it",
    "denied": "the network refuses this SIM: ask the network whether it is blocked or not registered",
    "none": "move the modem to a window, and see that the SIM sits right",
    "emergency_only": "the SIM has no service here: ask the network whether it is blocked",
}
_DEAF: Final = frozenset(_NETWORK)


def real(phones: Iterable[Condition]) -> list[Condition]:
    """Return those that are phones, and no programs that play one."""
    return [phone for phone in phones if not phone.simulated]


def bars(signal: int | None) -> int | None:
    """Return 0 to 4 bars for the `<rssi>` of `AT+CSQ`."""
    if signal is None:
        return None
    return next(found for least, found in SIGNAL_BARS if signal >= least)


def dbm(signal: int | None) -> int | None:
    """Return the same in dBm (27.007 clause 8.5: -113 dBm and 2 dB a step)."""
    return None if signal is None else -113 + 2 * signal


def is_full(used: int | None, total: int | None) -> bool:
    """Say whether there is no slot left."""
    return used is not None and total is not None and 0 < total <= used


def troubles(phone: Condition, now_us: int) -> list[Trouble]:
    """Return what is wrong with a phone, the worst first."""
    found = [*_of_state(phone), *_of_health(phone, now_us)]
    return sorted(found, key=lambda trouble: trouble.level is not Level.FAIL)


def silent(since_us: int, now_us: int, network: str | None) -> Trouble:
    """Make the trouble of a SIM that is silent for longer than it ever should be."""
    minutes = max(0, now_us - since_us) // MINUTE_US
    said = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    whose = f"the {network} SIM" if network else "the SIM"
    return Trouble(
        "modem.silent",
        Level.WARN,
        f"no message came to {whose} for {said}, which is unusual at this hour",
        "send the SIM a message from another phone; if it does not come: momo doctor modem",
    )


def _of_state(phone: Condition) -> Iterator[Trouble]:
    if phone.state == READY or phone.state in PASSING:
        return
    known = _STATES.get(phone.state, ("modem.state", Level.WARN))
    text = phone.detail or f"the phone is {phone.state.replace('_', ' ')}"
    yield Trouble(*known, text, phone.next_step or _FIXES.get(phone.state, _REPLUG))


def _of_health(phone: Condition, now_us: int) -> Iterator[Trouble]:
    if phone.health_at is None or phone.state in {"unreachable", "gone", "hung"}:
        return
    if now_us - phone.health_at > HEALTH_OLD_US:
        return
    if phone.used is not None and phone.total:
        yield from _of_storage(phone.used, phone.total)
    # The first one receives, and was just spoken of.
    for name, used, total in phone.storages[1:]:
        if total:
            yield from _of_storage(used, total, f"storage {name}")
    if phone.registration in _DEAF and not phone.receives:
        word = phone.registration.replace("_", " ")
        yield Trouble(
            "modem.network",
            Level.FAIL,
            f"the network does not serve the SIM ({word}): no message can come",
            _NETWORK[phone.registration],
        )
    elif phone.signal is not None and bars(phone.signal) == 0:
        yield Trouble(
            "modem.signal",
            Level.WARN,
            f"the signal is very weak ({dbm(phone.signal)} dBm)",
            "move the modem to a window, or use a USB cable to lift it",
        )


def _of_storage(used: int, total: int, what: str = "SIM") -> Iterator[Trouble]:
    how = f"{used} of {total} messages"
    fix = (
        "see whether `[modems] delete` is off in config.toml; delete what is on the SIM in a phone"
    )
    full = is_full(used, total)
    text = f"the {what} is {'full' if full else 'nearly full'} ({how})"
    if full and what == "SIM":
        yield Trouble("modem.full", Level.FAIL, f"{text}: the network holds new ones back", fix)
    elif used >= STORAGE_WARN * total:
        yield Trouble("modem.nearly_full", Level.WARN, text, fix)


def shape(phone: Condition, found: Iterable[Trouble]) -> Json:
    """Make the JSON of what a phone says of itself."""
    signal = None
    if phone.signal is not None:
        signal = {"csq": phone.signal, "dbm": dbm(phone.signal), "bars": bars(phone.signal)}
    storage = None
    if phone.used is not None and phone.total is not None:
        storage = {"used": phone.used, "total": phone.total}
    return {
        "port": phone.port,
        "state": phone.state,
        "detail": phone.detail,
        "next": phone.next_step,
        "device_id": phone.device_id,
        **({"simulated": True} if phone.simulated else {}),
        "last_sms_at": timestamp_or_none(phone.last_sms_at),
        "signal": signal,
        "registration": phone.registration,
        "network_name": phone.network,
        "storage": storage,
        "storages": [
            {"name": name, "used": used, "total": total} for name, used, total in phone.storages
        ],
        "heard_at": None if phone.health_at is None else timestamp(phone.health_at),
        "troubles": [trouble_shape(trouble) for trouble in found],
    }


def trouble_shape(trouble: Trouble) -> Json:
    """Make the JSON of a trouble."""
    return {
        "id": trouble.id,
        "level": trouble.level.value,
        "text": trouble.text,
        "fix": trouble.fix,
    }
