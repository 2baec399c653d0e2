"""The other end of AT: a phone with a SIM, as bytes in and bytes out.

For the demo and the tests. `Phone` works through what is typed, and plays the faults; what each
command does is in `emulated_commands`, the network's side (delivery, and the waiting list of a
real SMSC while the phone is full) in `emulated_network`, and what makes differ in
`emulated_families`. There is no I/O and no clock here: a shell carries the bytes
(`emulated_port`), and says what time it is where that is recorded or waited for.

A phone works one command at a time. `receive_data` does all that has come, at once; a shell that
plays a slow phone calls `feed`, waits as long as `waiting()` says, and calls `step`. What happens
by the clock (noise, a message that nobody acknowledged) happens in `tick`, by `due_ns()`.

The logs of what was deleted, sent and announced are complete and grow for as long as the phone
lives, since a test proves by them that nothing was lost; the log of commands keeps the newest.

Longer than 300 lines: it is the one thing that tests and shells hold, so it has a method for each
thing that can happen to a phone.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from daemon.modem.emulated_answers import Refusal, number, split_line
from daemon.modem.emulated_commands import Handset
from daemon.modem.emulated_families import FAMILIES, GENERIC, HUAWEI, Family
from daemon.modem.emulated_faults import EVENTS, Faults, Notice, Sent, read_fault
from daemon.modem.emulated_line import Line
from daemon.modem.emulated_memory import Slot, Status, checked
from daemon.modem.emulated_messages import Deletion
from daemon.modem.emulated_network import Network
from daemon.modem.emulated_sim import Identity, Sim

__all__ = [
    "FAMILIES",
    "GENERIC",
    "Deletion",
    "Family",
    "Faults",
    "Identity",
    "Notice",
    "Phone",
    "Sent",
    "Sim",
]

COMMANDS_KEPT: Final = 10_000
ACKNOWLEDGE_NS: Final = 15_000_000_000
"""How long the network waits for `AT+CNMA`; TS 24.011 clause 10 has 12 to 20 s for TR1N."""
_TPDU_OCTETS_MAX: Final = 164  # of an SMS-SUBMIT, 27.005 clause 3.5.1
_OTHER_PORT: Final = "another port"


class Phone:
    """An emulated phone. Not safe to share between threads; the shell sees to that."""

    def __init__(
        self,
        identity: Identity | None = None,
        storages: Mapping[str, int] | None = None,
        family: Family = GENERIC,
        spare: Sim | None = None,
    ) -> None:
        """Make a phone that was just switched on, with nothing stored.

        Args:
            identity: what the phone and the SIM say they are; None is what the family says.
            storages: capacity by name; the first one receives. None is what the family has.
            family: how this make departs from the standard.
            spare: a SIM in the second slot, where the family has one.

        Raises:
            ValueError: no storage at all, a capacity that no phone has, or no second slot.
        """
        if spare is not None and not family.sim_switch:
            raise ValueError(f"a phone of the family {family.name} has one slot")
        self.identity = identity or family.identity()
        self.family = family
        self.faults = Faults()
        self.sent: list[Sent] = []
        self.displaced: list[tuple[str, int, str]] = []
        """What `Faults.swap_pdu` put out of its slot: storage, number, PDU."""
        self.commands: deque[str] = deque(maxlen=COMMANDS_KEPT)
        self.command_count = 0
        self.leaving = False
        """It restarts and takes itself off the bus: the shell takes the tty away for a while, and
        puts this back."""
        capacities = dict(family.storages) if storages is None else storages
        self._handset = Handset(self.identity, capacities, family, spare)
        self._line = Line(self.faults)
        self._network = Network(self._handset, self._line, self.faults)
        self._submit_length = 0
        """Octets that a message to send must have, while its prompt is open."""
        self._answers = 0
        self._noises = 0
        self._noise_ns: int | None = None
        self._acknowledge_ns: int | None = None

    # --- the line --------------------------------------------------------------------------

    def receive_data(self, data: bytes, at_ns: int = 0) -> None:
        """Take bytes from the line and carry out every command that is complete."""
        self.feed(data)
        while self.waiting():
            self.step(at_ns)

    def data_to_send(self) -> bytes:
        """Hand over bytes for the line, empty when there are none; ask until empty."""
        return self._line.take()

    def feed(self, data: bytes) -> None:
        """Take bytes from the line; echo them if asked, and carry out nothing yet."""
        if not self._network.powered:
            return
        heard = self._line.hear(data)
        if self._echoes() and not self.faults.silent and not self._handset.asleep:
            self._line.say(heard)

    def _echoes(self) -> bool:
        return self._handset.echo or self.faults.echo_stays

    def waiting(self) -> int:
        """Return how many commands the next complete line holds, 0 when none is complete."""
        while (line := self._line.next_line()) is not None:
            if self._line.prompt:
                return 1
            body = _body(line)
            if body is not None:
                return max(1, len(split_line(body)))
            self._line.drop_line()
        return 0

    def step(self, at_ns: int = 0) -> None:
        """Carry out the next complete line. Nothing happens when there is none.

        Args:
            at_ns: now, on a clock of the caller's choice, for the logs.
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
        """Say and do what follows from what just happened."""
        if self._handset.restarting:
            self.leaving = self.family.leaves_bus
            self._restart(loud=not self.leaving)
        self._speak_up()
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
                    self._break_delete(name, operator)
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
        self._line.say(
            faults.garbage_before + answer.encode("latin-1", "replace") + faults.garbage_after
        )

    # --- what nobody asked for -------------------------------------------------------------

    def _family_noise(self) -> str:
        """Return the line that comes before this answer, mostly none."""
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

    def _speak_up(self) -> None:
        lines, self._handset.lines = self._handset.lines, []
        if self._network.powered and not self.faults.silent:
            for line in lines:
                self._line.say(f"\r\n{line}\r\n".encode("ascii"))

    def due_ns(self) -> int | None:
        """Return when `tick` has something to do, None when nothing comes by the clock."""
        dues = [due for due in (self._noise_ns, self._acknowledge_ns) if due is not None]
        return min(dues, default=None)

    def tick(self, at_ns: int) -> None:
        """Do what is due by the clock; call it before each wait, since it also begins to wait."""
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

    # --- sending ---------------------------------------------------------------------------

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
            pdu = checked(typed.decode("ascii"))
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

    # --- the network -----------------------------------------------------------------------

    @property
    def notices(self) -> list[Notice]:
        """Every notice that was said, in order."""
        return self._network.notices

    def deliver(self, pdu: str, storage: str | None = None, iccid: str | None = None) -> bool:
        """Let the network deliver an SMS.

        Args:
            pdu: hex with SMSC.
            storage: where it goes; None is where the phone puts received ones, if anywhere.
            iccid: to which of two SIMs; None is the one in use.

        Returns:
            True when the phone has it, False when the network keeps it until there is room.

        Raises:
            ValueError: no hex, no such storage, or no such SIM.
        """
        return self._network.deliver(pdu, storage, iccid)

    def preload(self, pdus: Iterable[str], storage: str = "SM") -> list[int]:
        """Store messages as if received long ago: no notice. Return their slots' numbers.

        Raises:
            ValueError: no hex, no such storage, or not room for all (then none is stored).
        """
        return self._network.preload(pdus, storage)

    def resize(self, storage: str, capacity: int) -> None:
        """Change how many messages a storage holds; those that wait come in if they fit now.

        Raises:
            ValueError: no such storage, or a capacity that no phone has.
        """
        self._network.storage(storage).resize(capacity)
        self._network.admit()

    # --- what happens to a phone -----------------------------------------------------------

    def play(self, fault: str) -> None:
        """Let something go wrong, by name: an event here, or a fault of `emulated_faults`.

        Raises:
            ValueError: nothing of that name can happen, or not now.
        """
        happenings: tuple[Callable[[], object], ...] = (
            self._calm_down,
            lambda: self.reboot(loud=False),
            lambda: self.reboot(loud=True),
            self.take_sim,
            self._network.fill,
            self._listen_elsewhere,
            self._lock,
            self._block,
        )
        events = dict(zip(EVENTS, happenings, strict=True))
        if (event := events.get(fault)) is not None:
            event()
        else:
            self.faults.change(read_fault(fault))
        self._settle()

    def reboot(self, *, loud: bool) -> None:
        """Crash and come back with all settings lost; without a word unless `loud`."""
        self.faults.silent = False
        self._network.take_back()
        self._restart(loud=loud)
        self._speak_up()

    def take_sim(self) -> Sim:
        """Take the SIM out, with its messages and what waits for it at the network.

        Raises:
            ValueError: there is none.
        """
        sim = self._network.take_out()
        self._speak_up()
        return sim

    def insert_sim(self, sim: Sim) -> None:
        """Put a SIM in; it may come from another phone.

        Raises:
            ValueError: there is one already.
        """
        self._network.put_in(sim)
        self._settle()

    @property
    def sim(self) -> Sim | None:
        """The SIM in use; its messages are in the phone's storage `SM` while it is here."""
        return self._handset.card.sim

    def power_off(self) -> None:
        """Lose the supply: settings, half lines and unread answers are gone, messages stay."""
        self._network.lose_power()
        self._network.powered = False
        self._handset.restart()
        self._line.clear()
        if self.faults.silent_until == "power":
            self.faults.silent = False

    def power_on(self) -> None:
        """Get the supply back; the network delivers what it kept."""
        if not self._network.powered:
            self._network.powered = True
            self._boot(loud=True)
        self._settle()

    def _restart(self, *, loud: bool) -> None:
        self._handset.restart()
        self._line.prompt = False
        if loud:
            self._handset.asleep = False  # it speaks at the speed it knew
        self._boot(loud=loud)

    def _boot(self, *, loud: bool) -> None:
        if loud and not self._handset.asleep:
            self._handset.lines += self.family.boot_lines

    def _calm_down(self) -> None:
        """Be past the start, and quiet: for programs that a make's ways are too much for."""
        self._handset.busy, self._handset.asleep = 0, False
        self.faults.calm = True

    def _listen_elsewhere(self) -> None:
        if not self.family.port_switch:
            raise ValueError(f"a phone of the family {self.family.name} has one port")
        self._handset.port = _OTHER_PORT

    def _lock(self) -> None:
        sim = self._there()
        sim.pin = sim.pin or "1234"
        self._handset.card.reset()

    def _block(self) -> None:
        self._there().pin_tries = 0

    def _there(self) -> Sim:
        if self.sim is None:
            raise ValueError("there is no SIM in this phone")
        return self.sim

    # --- what is inside --------------------------------------------------------------------

    @property
    def deleted(self) -> list[Deletion]:
        """Every message that was deleted, in order."""
        return self._handset.messages.deleted

    @property
    def passed_on(self) -> list[str]:
        """PDUs that went out as `+CMT` and, where that is asked for, were acknowledged."""
        return self._handset.messages.acknowledged

    def stored(self) -> dict[tuple[str, int], str]:
        """Return the PDU in each slot in use, by storage and number."""
        storages = self._handset.messages.storages
        return {
            (name, index): slot.pdu
            for name, storage in storages.items()
            for index, slot in sorted(storage.slots.items())
        }

    def held(self) -> list[str]:
        """Return the PDUs that the network keeps for the SIM in use until there is room."""
        return [pdu for pdu, _ in self.sim.waiting] if self.sim else []

    @property
    def bytes_handed_over(self) -> int:
        """How many bytes `data_to_send` ever gave; `Notice.offset` counts the same way."""
        return self._line.handed_over

    def _break_delete(self, name: str, operator: str) -> None:
        if name != "+CMGD" or operator != "=":
            return
        self._handset.messages.ignore_deletes = self.faults.ignore_deletes
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
        slots[read[1]] = Slot(checked(self.faults.swap_pdu), Status.UNREAD)
        self.faults.swap_pdu = ""


def _body(line: bytes) -> str | None:
    """Return what follows `AT`, or None when the line is no command (V.250 clause 5.2.1)."""
    text = line.decode("latin-1")
    start = text.upper().find("AT")
    return None if start < 0 else text[start + 2 :]
