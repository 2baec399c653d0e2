"""The state of each SIM: the database's rows, the present state of its modem, and whether it receives."""

from collections.abc import Sequence

from msgspec import Struct

from daemon.core.lines import modem_health, receiving, silence
from daemon.core.lines.modem_health import ModemHealth, ModemProblem
from daemon.core.lines.readiness import UNACCOUNTED_WINDOW_US, UNPLACED_WINDOW_US
from daemon.core.lines.silence import Rhythm, Silence
from daemon.core.messages.balance_chain import ChainEntry
from daemon.core.messages.line_history import Unaccounted, unaccounted
from daemon.core.model import Device, PaymentMethod, Sim
from daemon.dash.web.visit import Visit
from daemon.store.engine import Reader
from daemon.store.lines import devices, payment_methods, sim_pins, sms_rhythms
from daemon.store.lines.sim_pins import PinnedSim
from daemon.store.messages import balances
from daemon.wire import Mode


class SimView(Struct, frozen=True):
    """One SIM slot.

    Attributes:
        device: The modem.
        slot: Its slot.
        sim: None for a SIM that was never read, such as a locked one.
        method: The number on it.
        health: The state of its modem now; None if it is on no port.
        problem: Why it cannot receive; None if it can.
        problems: All troubles of its modem.
        rhythm: Its usual hours; None for a new SIM.
        silence: The time without a message, and the usual time.
        missing: Money without a message.
        unplaced: Payments without a number.
        locked: The code that it asks for; None if it is unlocked.
    """

    device: Device
    slot: int
    sim: Sim | None
    method: PaymentMethod | None
    health: ModemHealth | None
    problem: ModemProblem | None
    problems: Sequence[ModemProblem]
    rhythm: Rhythm | None
    silence: Silence | None
    missing: Unaccounted
    unplaced: int
    locked: PinnedSim | None

    @property
    def id(self) -> str:
        """The SIM as it stands in an address and in a command."""
        return f"{self.device.device_id}:{self.slot}"

    @property
    def ignored(self) -> bool:
        """It is not for payments."""
        return self.sim is not None and self.sim.ignored_at is not None

    @property
    def bars(self) -> int | None:
        """The signal, 0 to 4 bars."""
        return None if self.health is None else modem_health.bars(self.health.signal)

    @property
    def dbm(self) -> int | None:
        """The signal in dBm."""
        return None if self.health is None else modem_health.dbm(self.health.signal)


class Rows(Struct, frozen=True):
    """The rows that the views are made of."""

    devices: Sequence[Device]
    sims: Sequence[Sim]
    methods: Sequence[PaymentMethod]
    rhythms: dict[str, Rhythm]
    gaps: dict[str, list[ChainEntry]]
    unplaced: dict[str, int]
    locked: dict[str, PinnedSim]


def read(reader: Reader, now: int) -> Rows:
    """Read the rows."""
    known = devices.known(reader)
    locks = (sim_pins.locked(reader, device.device_id, 0) for device in known)
    return Rows(
        known,
        devices.sims_in_phones(reader),
        payment_methods.in_use(reader),
        sms_rhythms.all_rhythms(reader),
        balances.gaps_since(reader, now - UNACCOUNTED_WINDOW_US),
        payment_methods.unplaced_by_sim(reader, now - UNPLACED_WINDOW_US, Mode.LIVE),
        {lock.device_id: lock for lock in locks if lock is not None},
    )


def views(visit: Visit, rows: Rows) -> list[SimView]:
    """Return the SIMs: those that are used first, then those that are set aside."""
    phones = visit.machine.phone_states()
    lines = receiving.judge(rows.devices, rows.sims, rows.methods, phones, visit.now)
    problems = {line.sim.seq: line.problem for line in lines}
    on_port = {
        phone.device_id: phone
        for phone in receiving.with_devices(rows.devices, phones)
        if phone.device_id is not None
    }
    methods = {method.sim_seq: method for method in rows.methods if method.sim_seq is not None}
    found = []
    for device in rows.devices:
        health = on_port.get(device.device_id)
        troubles = [] if health is None else modem_health.find_problems(health, visit.now)
        mine = [sim for sim in rows.sims if sim.device_id == device.device_id and sim.present]
        lock = rows.locked.get(device.device_id)
        # A modem without a readable SIM has one row too: that of its first slot.
        slots: list[tuple[int, Sim | None]] = [(sim.slot_index, sim) for sim in mine]
        for slot, sim in slots or [(0, None)]:
            rhythm = None if sim is None else rows.rhythms.get(sim.sim_key)
            quiet = None if rhythm is None else _silence(visit, rhythm)
            problem: ModemProblem | None = None
            if sim is None:
                problem = receiving.AWAY if health is None else next(iter(troubles), None)
            else:
                problem = problems.get(sim.seq)
            found.append(
                SimView(
                    device,
                    slot,
                    sim,
                    None if sim is None else methods.get(sim.seq),
                    health,
                    problem,
                    troubles,
                    rhythm,
                    quiet,
                    unaccounted(() if sim is None else rows.gaps.get(sim.sim_key, ())),
                    0 if sim is None else rows.unplaced.get(sim.sim_key, 0),
                    lock if slot == 0 else None,
                )
            )
    return sorted(found, key=lambda view: view.ignored)


def strangers(visit: Visit, rows: Rows) -> list[ModemHealth]:
    """Return the ports with a modem that has not identified itself."""
    phones = receiving.with_devices(rows.devices, visit.machine.phone_states())
    return [phone for phone in phones if phone.device_id is None]


def offset_us(visit: Visit) -> int:
    """Return the UTC offset of the shop's time zone."""
    offset = visit.words.local(visit.now).utcoffset()
    return 0 if offset is None else int(offset.total_seconds()) * 1_000_000


def _silence(visit: Visit, rhythm: Rhythm) -> Silence:
    since = rhythm.watched_since if rhythm.last_at is None else rhythm.last_at
    return silence.evaluate(rhythm, since, visit.now, offset_us(visit))
