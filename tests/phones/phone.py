"""Emulated phone with a SIM for the demo and the tests: bytes in, bytes out.

`Phone` carries out the command lines and injects the faults; the commands are in
`commands`, the network's side (delivery, and the queue of a real SMSC while the phone is
full) in `network`, and the differences between makes in `quirks`. There is no
I/O and no clock: a driver (`pty`) carries the bytes, and passes the time where it is
recorded or waited for.

A phone carries out one command at a time. `receive_data` carries out all complete commands at once;
a driver that emulates a slow phone calls `feed`, waits according to `waiting()`, and calls `step`.
Timed behaviour (noise, an unacknowledged message) is in `tick`, which is due at `due_ns()`.

The logs of deleted, sent and announced messages are complete and grow without limit, since tests
use them to prove that no message was lost; the log of commands keeps the newest.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tests.phones.command_lines import Refusal, number, split_line
from tests.phones.commands import Handset, clock_line
from tests.phones.faults import EVENTS, Faults, Line, Notice, Sent, read_fault
from tests.phones.message_commands import Deletion
from tests.phones.network import Network
from tests.phones.quirks import GENERIC, HUAWEI, Family
from tests.phones.sim import Identity, Sim, Slot, Status, validated_pdu
from tests.phones.ussd import Ussd

COMMANDS_KEPT: Final = 10_000
ACKNOWLEDGE_NS: Final = 15_000_000_000
"""How long the network waits for `AT+CNMA`; TS 24.011 clause 10 has 12 to 20 s for TR1N."""
_TPDU_OCTETS_MAX: Final = 164  # of an SMS-SUBMIT, 27.005 clause 3.5.1
_OTHER_PORT: Final = "another port"
_IMEI: Final = frozenset({"+CGSN", "+GSN"})


class Phone:
    """An emulated phone. Not thread-safe; the driver must serialise the calls."""

    def __init__(
        self,
        identity: Identity | None = None,
        storages: Mapping[str, int] | None = None,
        family: Family = GENERIC,
        spare: Sim | None = None,
    ) -> None:
        """Create a phone that was just switched on, without messages.

        `None` takes the family's identity and storages; the first storage receives. `spare` is a SIM in the second
        slot, where the family has one.

        Raises:
            ValueError: no storage, a capacity out of range, or no second slot.
        """
        if spare is not None and not family.sim_switch:
            raise ValueError(f"a phone of the family {family.name} has one slot")
        self.identity = identity or family.identity()
        self.family = family
        self.faults = Faults()
        self.sent: list[Sent] = []
        self.displaced: list[tuple[str, int, str]] = []
        """Messages that `Faults.swap_pdu` replaced: storage, number, PDU."""
        self.commands: deque[str] = deque(maxlen=COMMANDS_KEPT)
        self.command_count = 0
        self.leaving = False
        """The phone restarts and leaves the bus: the driver removes the tty for a while and clears
        this flag."""
        capacities = dict(family.storages) if storages is None else storages
        self._handset = Handset(self.identity, capacities, family, spare)
        self.ussd = self._handset.ussd = Ussd(self.faults)
        self._line = Line(self.faults)
        self._network = Network(self._handset, self._line, self.faults)
        self._submit_length = 0
        """Length in octets of the message to send, while its prompt is open."""
        self._answers = 0
        self._noises = 0
        self._noise_ns: int | None = None
        self._acknowledge_ns: int | None = None

    def receive_data(self, data: bytes, at_ns: int = 0) -> None:
        """Process bytes from the line and carry out every complete command."""
        self.feed(data)
        while self.waiting():
            self.step(at_ns)

    def data_to_send(self) -> bytes:
        """Return bytes for the line, empty when there are none; call until empty."""
        return self._line.take()

    def feed(self, data: bytes) -> None:
        """Buffer bytes from the line and echo them if the echo is on; carry out no command yet."""
        if not self._network.powered:
            return
        heard = self._line.hear(data)
        if self._echoes() and not self.faults.silent and not self._handset.asleep:
            self._line.say(heard)

    def _echoes(self) -> bool:
        return self._handset.echo or self.faults.echo_stays

    def waiting(self) -> int:
        """Return the number of commands in the next complete line, 0 when none is complete."""
        while (line := self._line.next_line()) is not None:
            if self._line.prompt:
                return 1
            body = _body(line)
            if body is not None:
                return max(1, len(split_line(body)))
            self._line.drop_line()
        return 0

    def step(self, at_ns: int = 0) -> None:
        """Carry out the next complete line, if there is one.

        `at_ns` is the current time on the caller's clock, for the logs.
        """
        line = self._line.next_line()
        if line is None:
            return
        cancelled = self._line.drop_line()
        if self.faults.silent:
            self._line.prompt = False
            if self.faults.silent_until == "reset" and b"+CFUN=1,1" in line.upper():
                self.reboot(loud=True)
            return
        self._handset.messages.at_ns = at_ns
        if self.faults.network_time_s:
            self._handset.clock = clock_line(self.faults.network_time_s + at_ns // 1_000_000_000)
        self._network.look()
        if self._line.prompt:
            self._answer(*self._submit(line, at_ns, cancelled=cancelled))
        elif (body := _body(line)) is not None:
            if self._handset.asleep:
                self._handset.asleep = False
                return
            self._carry_out(body)
        if self._handset.card.switched:
            self._network.switch()
        self._settle()

    def _settle(self) -> None:
        """Restart if requested, send unsolicited lines, and deliver waiting messages."""
        if self._handset.restarting:
            self.leaving = self.family.leaves_bus
            self._restart(loud=not self.leaving)
        self._send_unsolicited()
        self._network.admit()

    def _carry_out(self, body: str) -> None:
        lines: list[str] = []
        result = "OK"
        commands = split_line(body)
        if not commands:
            self._log("AT")
        try:
            for position, (name, operator, argument) in enumerate(commands, start=1):
                self._log(f"AT{name}{operator}{argument}")
                if self._hangs(name):
                    return
                self._fail(name)
                if name == "+CMGS":
                    self._open_prompt(operator, argument, last=position == len(commands))
                else:
                    self._break_delete(name, operator, argument)
                    lines += self._handset.perform(name, operator, argument)
                    if f"{name}{operator}" in self.family.without_ok:
                        result = ""
        except Refusal as refusal:
            result = refusal.line(self._handset.settings["+CMEE"])
        if not self._line.prompt:
            self._answer(lines, result)
        self._swap()

    def _hangs(self, name: str) -> bool:
        if self.faults.hang_on and name.startswith(self.faults.hang_on):
            self.faults.hang_on, self.faults.silent = "", True
        return self.faults.silent

    def _fail(self, name: str) -> None:
        if self.faults.hides_imei and name in _IMEI and self._handset.card.state() == "SIM PIN":
            raise Refusal("CME", 11)
        if self.faults.error_count and name.startswith(self.faults.error_on):
            self.faults.error_count -= 1
            raise Refusal("", literally=self.faults.error_line)

    def _log(self, command: str) -> None:
        self.commands.append(command)
        self.command_count += 1
        self._handset.messages.command = self.command_count

    def _answer(self, lines: list[str], result: str) -> None:
        faults = self.faults
        said = faults.noise or self._family_noise()
        noise = f"\r\n{said}\r\n" if said else ""
        answer = noise
        if lines:
            text = "\r\n".join(lines)
            if noise and faults.noise_inside:
                text = text.replace("\r\n", noise)
            answer += f"\r\n{text}\r\n"
        if result:
            answer += f"\r\n{result}\r\n"
        self._line.say(faults.garbage_before + answer.encode("latin-1", "replace") + faults.garbage_after)

    def _family_noise(self) -> str:
        """Return the noise line before this answer, usually empty."""
        self._answers += 1
        every = self.family.noise_every
        return "" if not every or self._answers % every or not self._noisy() else self._noise()

    def _noisy(self) -> bool:
        handset = self._handset
        return handset.noisy and handset.announces_here() and not self.faults.calm

    def _noise(self) -> str:
        noises = self.family.noises or HUAWEI.noises
        self._noises += 1
        return noises[self._noises % len(noises)]

    def _send_unsolicited(self) -> None:
        lines, self._handset.lines = self._handset.lines, []
        if self._network.powered and not self.faults.silent:
            for line in lines:
                self._line.say(f"\r\n{line}\r\n".encode("latin-1"))

    def due_ns(self) -> int | None:
        """Return the time of the next `tick`, None when no timer runs."""
        dues = [due for due in (self._noise_ns, self._acknowledge_ns) if due is not None]
        return min(dues, default=None)

    def tick(self, at_ns: int) -> None:
        """Do the timed work that is due; call it before each wait, since it also starts timers."""
        period_ms = self.faults.storm_ms
        if not period_ms and self._noisy() and not self._handset.asleep:
            period_ms = self.family.noise_ms
        if not period_ms or not self._network.powered or self.faults.silent:
            self._noise_ns = None
        else:
            if self._noise_ns is not None and at_ns >= self._noise_ns and not self._line.unread():
                self._line.say(f"\r\n{self._noise()}\r\n".encode("ascii"))
            if self._noise_ns is None or at_ns >= self._noise_ns:
                self._noise_ns = at_ns + period_ms * 1_000_000
        if self._handset.messages.unacknowledged is None:
            self._acknowledge_ns = None
        elif self._acknowledge_ns is None:
            self._acknowledge_ns = at_ns + ACKNOWLEDGE_NS
        elif at_ns >= self._acknowledge_ns:
            self._acknowledge_ns = None
            self._network.take_back()
            self._network.admit()

    def _open_prompt(self, operator: str, argument: str, *, last: bool) -> None:
        if operator == "=?":
            return
        if operator != "=" or not last:
            raise Refusal("CMS", 302)
        self._handset.require("+CMGS")
        octets = number(argument, range(1, _TPDU_OCTETS_MAX + 1), Refusal("CMS", 304))
        self._submit_length = octets
        self._line.prompt = True
        if self.faults.no_prompt:
            return
        self._line.say(b"\r\n> ")

    def _submit(self, typed: bytes, at_ns: int, *, cancelled: bool) -> tuple[list[str], str]:
        self._line.prompt = False
        if cancelled:
            return [], "OK"  # 27.005 clause 3.5.1: ESC ends without sending
        try:
            pdu = self._sendable(typed)
        except Refusal as refusal:
            return [], refusal.line(self._handset.settings["+CMEE"])
        reference = len(self.sent) % 256
        self.sent.append(Sent(pdu, reference, self.command_count, at_ns))
        self._network.report(pdu, reference)
        if self.faults.hang_after_send:
            self.faults.hang_after_send, self.faults.silent = False, True
            return [], ""
        if self.faults.send_and_fail:
            return [], self.faults.send_and_fail
        return [f"+CMGS: {reference}"], "OK"

    def _sendable(self, typed: bytes) -> str:
        try:
            pdu = validated_pdu(typed.decode("ascii"))
        except ValueError:
            raise Refusal("CMS", 304) from None
        if Slot(pdu, Status.SENT).length != self._submit_length:
            raise Refusal("CMS", 304)
        if not self._handset.registered():
            raise Refusal("CMS", 331)
        sim = self._handset.card.sim
        if pdu.startswith("00") and (sim is None or not sim.smsc):
            raise Refusal("CMS", 330)
        if line := self.faults.fail_send:
            if self.faults.fail_send_count:
                self.faults.fail_send_count -= 1
                if not self.faults.fail_send_count:
                    self.faults.fail_send = ""
            raise Refusal("", literally=line)
        return pdu

    @property
    def notices(self) -> list[Notice]:
        """All notices sent, in order."""
        return self._network.notices

    def deliver(self, pdu: str, storage: str | None = None, iccid: str | None = None) -> bool:
        """Deliver an SMS from the network.

        `pdu` is hex with SMSC. Without a storage the phone chooses one, perhaps none; without an ICCID it is for the
        SIM in use.

        Returns:
            True when the phone has it, False when the network keeps it until it fits.

        Raises:
            ValueError: no hex, no such storage, or no such SIM.
        """
        arrived = self._network.deliver(pdu, storage, iccid)
        self._handset.lines += self.ussd.arrived()
        self._send_unsolicited()
        return arrived

    def preload(self, pdus: Iterable[str], storage: str = "SM") -> list[int]:
        """Store messages without a notice; return their slot numbers.

        Raises:
            ValueError: no hex, no such storage, or too little space for all (then none is stored).
        """
        return self._network.preload(pdus, storage)

    def resize(self, storage: str, capacity: int) -> None:
        """Change the capacity of a storage; waiting messages are delivered if they fit now.

        Raises:
            ValueError: no such storage, or a capacity out of range.
        """
        self._network.storage(storage).resize(capacity)
        self._network.admit()

    def play(self, fault: str) -> None:
        """Inject a fault by name: an event of this class, or a fault of `faults`.

        Raises:
            ValueError: the name is unknown, or the event is not possible now.
        """
        events: dict[str, Callable[[], object]] = {
            "calm": self._calm_down,
            "reboot": lambda: self.reboot(loud=False),
            "reboot-loud": lambda: self.reboot(loud=True),
            "sim-out": self.take_sim,
            "full": self._network.fill,
            "other-port": self._listen_elsewhere,
            "pin": self._lock,
            "puk": self._block,
        }
        assert tuple(events) == EVENTS
        if (event := events.get(fault)) is not None:
            event()
        else:
            self.faults.change(read_fault(fault))
        self._settle()

    def reboot(self, *, loud: bool) -> None:
        """Restart with all settings lost; the boot lines are sent only if `loud`."""
        self.faults.silent = False
        self._network.take_back()
        self._restart(loud=loud)
        self._send_unsolicited()

    def take_sim(self) -> Sim:
        """Remove the SIM, with its messages and those that the network keeps for it.

        Raises:
            ValueError: there is none.
        """
        sim = self._network.take_out()
        self._send_unsolicited()
        return sim

    def insert_sim(self, sim: Sim) -> None:
        """Insert a SIM; it may come from another phone.

        Raises:
            ValueError: there is one already.
        """
        self._network.put_in(sim)
        self._settle()

    @property
    def sim(self) -> Sim | None:
        """The SIM in use; its messages are in the phone's storage `SM` while it is inserted."""
        return self._handset.card.sim

    def power_off(self) -> None:
        """Switch off: settings, partial lines and unread answers are lost, messages stay."""
        self._network.lose_power()
        self._network.powered = False
        self._handset.restart()
        self._line.clear()
        if self.faults.silent_until == "power":
            self.faults.silent = False

    def power_on(self) -> None:
        """Switch on; the network delivers the messages it kept."""
        if not self._network.powered:
            self._network.powered = True
            self._boot(loud=True)
        self._settle()

    def _restart(self, *, loud: bool) -> None:
        self._handset.restart()
        self._line.prompt = False
        if loud:
            self._handset.asleep = False  # it keeps the detected line speed
        self._boot(loud=loud)

    def _boot(self, *, loud: bool) -> None:
        if loud and not self._handset.asleep:
            self._handset.lines += self.family.boot_lines

    def _calm_down(self) -> None:
        """End the start phase and stop noise, for programs that cannot handle a make's quirks."""
        self._handset.busy, self._handset.asleep = 0, False
        self.faults.calm = True

    def _listen_elsewhere(self) -> None:
        if not self.family.port_switch:
            raise ValueError(f"a phone of the family {self.family.name} has one port")
        self._handset.port = _OTHER_PORT

    def _lock(self) -> None:
        sim = self._present_sim()
        sim.pin = sim.pin or "1234"
        self._handset.card.reset()

    def _block(self) -> None:
        self._present_sim().pin_tries = 0

    def _present_sim(self) -> Sim:
        if self.sim is None:
            raise ValueError("there is no SIM in this phone")
        return self.sim

    @property
    def deleted(self) -> list[Deletion]:
        """All deleted messages, in order."""
        return self._handset.messages.deleted

    @property
    def passed_on(self) -> list[str]:
        """PDUs that were sent as `+CMT` and, if required, acknowledged."""
        return self._handset.messages.acknowledged

    def stored(self) -> dict[tuple[str, int], str]:
        """Return the PDUs of all used slots, by storage and number."""
        storages = self._handset.messages.storages
        return {
            (name, index): slot.pdu
            for name, storage in storages.items()
            for index, slot in sorted(storage.slots.items())
        }

    def held(self) -> list[str]:
        """Return the PDUs that the network keeps for the SIM in use until they fit."""
        return [pdu for pdu, _ in self.sim.waiting] if self.sim else []

    @property
    def bytes_handed_over(self) -> int:
        """Number of bytes returned by `data_to_send` in total; `Notice.offset` counts the same way."""
        return self._line.handed_over

    def _break_delete(self, name: str, operator: str, argument: str) -> None:
        if name != "+CMGD" or operator != "=":
            return
        self._handset.messages.ignore_deletes = self.faults.ignore_deletes
        if self.faults.refuse_single_deletes and "," not in argument:
            raise Refusal("CMS", 302)
        if self.faults.fail_delete_in:
            self.faults.fail_delete_in -= 1
            if not self.faults.fail_delete_in:
                raise Refusal("CMS", 500)

    def _swap(self) -> None:
        messages = self._handset.messages
        read, messages.last_read = messages.last_read, None
        if read is None or not self.faults.swap_pdu:
            return
        slots = messages.storages[read[0]].slots
        self.displaced.append((*read, slots[read[1]].pdu))
        slots[read[1]] = Slot(validated_pdu(self.faults.swap_pdu), Status.UNREAD)
        self.faults.swap_pdu = ""


def _body(line: bytes) -> str | None:
    """Return the text after `AT`, or None when the line is not a command (V.250 clause 5.2.1)."""
    text = line.decode("latin-1")
    start = text.upper().find("AT")
    return None if start < 0 else text[start + 2 :]
