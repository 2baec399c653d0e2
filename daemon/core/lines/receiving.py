"""Whether messages can come to each line now, and why not. Pure.

`ready` asks whether every SIM has a number; `receiving` asks whether a payment that is made now would be seen. Both use the
problems of `modem_health`, so that `momo lines`, `momo status`, `momo doctor modem` and `/metrics` agree.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.limits import DAY_US
from daemon.core.lines.modem_health import (
    READY,
    SET_ASIDE,
    TRANSIENT,
    Level,
    ModemHealth,
    ModemProblem,
    find_problems,
    without_simulated,
)
from daemon.core.model import Device, PaymentMethod, Sim
from daemon.core.names import network_name
from daemon.core.text import Text

TOLD_AFTER_S: Final = 120.0
"""A line that cannot receive for this long is reported to the owner; restarts of the modem or the daemon are shorter."""
IDLE_US: Final = 60 * DAY_US
"""Networks take a prepaid SIM back after three to six months without use."""
UNSEEN_US_MAX: Final = 7 * DAY_US
"""A phone not seen for this long no longer counts for `ready` and `receiving`."""
AWAY: Final = ModemProblem("modem.away", Level.FAIL, Text("fault.modem.away"), Text("fault.modem.away.fix"))
NO_PHONE: Final = ModemProblem("modem.away", Level.FAIL, Text("fault.modem.none"), Text("fault.modem.none.fix"))
PUBLIC_WARNING: Final = "The shop cannot see payments now: the confirmation may take longer."
_NAMES: Final = (("mtn", "mtn"), ("telecel", "telecel"), ("vodafone", "telecel"), ("airtel", "at"), ("tigo", "at"))
"""Parts of the operator names that modems report (`AT+COPS?`), with the network's short name."""


class ReceivingSim(Struct, frozen=True):
    """One SIM that is not ignored, in a phone that was not forgotten, or that was there last and has a number.

    Attributes:
        recent: Its phone is connected or was seen in the last 7 days.
        used: It has a number, or a payment was read from it.
        phone: The state of its phone, None if the phone is on no port.
        problem: Why it cannot receive; None if it can.
    """

    sim: Sim
    device: Device
    recent: bool
    used: bool
    phone: ModemHealth | None
    problem: ModemProblem | None

    @property
    def name(self) -> str:
        """The SIM as it is typed in commands."""
        return f"{self.device.name}:{self.sim.slot_index}"


def with_devices(devices: Iterable[Device], phones: Iterable[ModemHealth]) -> list[ModemHealth]:
    """Return the real phones, each with its device id if the database knows the modem on its port.

    A modem with a locked SIM has identified itself, but its session has not started.
    """
    by_port = {device.port: device.device_id for device in devices if device.port is not None}
    return [
        phone
        if phone.device_id is not None or (known := by_port.get(phone.port)) is None
        else replace(phone, device_id=known)
        for phone in without_simulated(phones)
    ]


def counts(device: Device, now_us: int) -> bool:
    """Return whether a phone counts: it was not forgotten, and is connected or was seen in the last 7 days."""
    return device.forgotten_at is None and (device.present or now_us - device.last_seen_at < UNSEEN_US_MAX)


def judge(
    devices: Iterable[Device],
    sims: Iterable[Sim],
    methods: Iterable[PaymentMethod],
    phones: Iterable[ModemHealth],
    now_us: int,
) -> list[ReceivingSim]:
    """Judge every line; `phones` are the ports as they are now, none if nothing is known about ports."""
    devices = list(devices)
    ports = with_devices(devices, phones)
    found = {phone.device_id: phone for phone in ports if phone.device_id is not None}
    strangers = [phone for phone in ports if phone.device_id is None]
    methods = [method for method in methods if method.deleted_at is None]
    numbered = {method.sim_seq for method in methods}
    active = {method.sim_seq for method in methods if method.is_active}
    known = {device.device_id: device for device in devices if device.forgotten_at is None}
    return [
        ReceivingSim(
            sim,
            device,
            counts(device, now_us),
            sim.seq in numbered or sim.read_payment_at is not None,
            phone := found.get(sim.device_id),
            # A modem without any SIM says so itself.
            _problem(device, phone, strangers, now_us, any_ports=bool(ports))
            or (None if sim.present else _other_sim(device)),
        )
        for sim in sims
        if (sim.present or sim.seq in active) and sim.ignored_at is None
        if (device := known.get(sim.device_id)) is not None
    ]


def that_matter(lines: Iterable[ReceivingSim]) -> list[ReceivingSim]:
    """Return the lines in use; without one, those of phones seen lately; without these, all."""
    lines = list(lines)
    recent = [line for line in lines if line.recent]
    return [line for line in recent if line.used] or recent or lines


def overall(lines: Iterable[ReceivingSim], phones: Iterable[ModemHealth], now_us: int) -> ModemProblem | None:
    """Return why a line cannot receive, None if all can. Without any line the answer is that of the ports."""
    relevant = that_matter(lines)
    if not relevant:
        problems = [port_problem(phone, now_us) for phone in without_simulated(phones)]
        return NO_PHONE if not problems else next((each for each in problems if each), None)
    deaf = [line for line in relevant if line.problem is not None]
    if not deaf:
        return None
    first = deaf[0]
    assert first.problem is not None
    if len(relevant) == 1:
        return first.problem
    key = "lines.some" if len(deaf) < len(relevant) else "lines.none"
    text = Text(key, some=len(deaf), all=len(relevant), name=first.name, why=first.problem.text)
    return replace(first.problem, text=text)


def port_problem(phone: ModemHealth, now_us: int) -> ModemProblem | None:
    """Return why no message can come through a port, None if they can."""
    if phone.state in TRANSIENT:
        return ModemProblem(
            "modem.starting", Level.WARN, Text("fault.modem.starting"), Text("fault.modem.starting.fix")
        )
    problems = find_problems(phone, now_us)
    # In any other state no message is read, also if the state ends by itself.
    reads = phone.state in (READY, SET_ASIDE, "not_deleting")
    return next((p for p in problems if p.level is Level.FAIL or not reads), None)


def warning(lines: Iterable[ReceivingSim], phones: Iterable[ModemHealth], now_us: int) -> str | None:
    """Return the warning for a new transaction, None if its payment will be seen.

    Modems that are just starting give none: they read the payment when they have started.
    """
    lines = [line for line in lines if line.problem is None or line.problem.id != "modem.starting"]
    why = overall(lines, phones, now_us)
    if why is None or why.id == "modem.starting":
        return None
    some = any(line.problem is None for line in that_matter(lines))
    head = "Some payments are not seen now" if some else "Payments are not seen now"
    return f"{head}: {why.text}. They are confirmed when it works again. What to do: {str(why.fix).rstrip('.')}."


def elsewhere(sim: Sim, phone: ModemHealth | None) -> str | None:
    """Return the foreign network that serves a SIM (`roaming` if its name is unknown), None for its own or none."""
    if phone is None or phone.state != READY or not phone.receives:
        return None
    name = (phone.network or "").casefold()
    heard = next((short for part, short in _NAMES if part in name), None)
    foreign = heard is not None and sim.network is not None and heard != sim.network
    if phone.registration != "roaming" and not foreign:
        return None
    return (phone.network or "roaming") if heard != sim.network else "roaming"


def facts(line: ReceivingSim) -> dict[str, Any]:
    """Return the facts of a line for the journal. The number is not among them: the name of the SIM says enough."""
    return {
        "sim": line.sim.seq,
        "device_id": line.device.device_id,
        "slot_index": line.sim.slot_index,
        "name": line.name,
        "network": network_name(line.sim.network),
    }


def _problem(
    device: Device, phone: ModemHealth | None, strangers: Sequence[ModemHealth], now_us: int, *, any_ports: bool
) -> ModemProblem | None:
    if phone is not None:
        return port_problem(phone, now_us)
    if device.present and not any_ports:
        return None  # the ports are unknown: use the database
    # One modem that did not identify itself: probably this one.
    one = port_problem(strangers[0], now_us) if len(strangers) == 1 else None
    return one or AWAY


def _other_sim(device: Device) -> ModemProblem:
    """Return the problem of a number whose SIM is in no slot: another one was put there."""
    return ModemProblem(
        "modem.other_sim",
        Level.FAIL,
        f"the SIM of a number is in no modem: {device.name} has another SIM now",
        "put the SIM of the number back, or move the number to the SIM that is there (momo lines list)",
    )
