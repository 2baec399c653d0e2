"""The other end of AT: a phone with a SIM, as bytes in and bytes out.

For the demo and the tests. `Phone` keeps the line (echo, prompt, result codes, faults) and the
network's side (delivery, and the waiting list of a real SMSC while the phone is full); what each
command does is in `emulated_commands`. There is no I/O and no clock here: a shell carries the
bytes (`emulated_port`), and says what time it is where that is recorded.

A phone works one command at a time. `receive_data` does all that has come, at once; a shell that
plays a slow phone calls `feed`, waits as long as `waiting()` says, and calls `step`.

The logs of what was deleted, sent and announced are complete and grow for as long as the phone
lives, since a test proves by them that nothing was lost; the log of commands keeps the newest.

Longer than 300 lines: the line and the network share one buffer, one power switch and one order.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final

from daemon.modem.emulated_answers import Refusal, number, split_line
from daemon.modem.emulated_commands import GENERIC, Family, Handset, Identity
from daemon.modem.emulated_faults import Faults, Notice, Sent
from daemon.modem.emulated_memory import Slot, Status, Storage, checked
from daemon.modem.emulated_messages import Deletion

__all__ = [
    "GENERIC",
    "Deletion",
    "Family",
    "Faults",
    "Identity",
    "Notice",
    "Phone",
    "Sent",
]

INPUT_BYTES_MAX: Final = 4096
"""A line longer than this is thrown away; an SMS to send has at most 2 * 176 characters."""
NOTICES_BYTES_MAX: Final = 1 << 20
"""With so much unread output a phone forgets to announce; the message is stored all the same."""
COMMANDS_KEPT: Final = 10_000
DEFAULT_CAPACITIES: Final = {"SM": 30, "ME": 100}
_TPDU_OCTETS_MAX: Final = 164  # of an SMS-SUBMIT, 27.005 clause 3.5.1
_CANCEL: Final = 0x1B
_SEND: Final = 0x1A


class Phone:
    """An emulated phone. Not safe to share between threads; the shell sees to that."""

    def __init__(
        self,
        identity: Identity | None = None,
        storages: Mapping[str, int] | None = None,
        family: Family = GENERIC,
    ) -> None:
        """Make a phone that was just switched on, with nothing stored.

        Args:
            identity: what the phone and the SIM say they are.
            storages: capacity by name; the first one receives. Default: SM 30, ME 100.
            family: how this make departs from the standard.

        Raises:
            ValueError: no storage at all, or a capacity that no phone has.
        """
        self.identity = identity or Identity()
        self.family = family
        self.faults = Faults()
        self.sent: list[Sent] = []
        self.notices: list[Notice] = []
        self.displaced: list[tuple[str, int, str]] = []
        """What `Faults.swap_pdu` put out of its slot: storage, number, PDU."""
        self.commands: deque[str] = deque(maxlen=COMMANDS_KEPT)
        self.command_count = 0
        capacities = DEFAULT_CAPACITIES if storages is None else storages
        self._handset = Handset(self.identity, capacities, family)
        self._waiting: deque[tuple[str, str | None]] = deque()
        self._in = bytearray()
        self._out = bytearray()
        self._handed_over = 0
        self._powered = True
        self._submit_length: int | None = None
        """Octets that a message to send must have, while its prompt is open."""

    # --- the line --------------------------------------------------------------------------

    def receive_data(self, data: bytes, at_ns: int = 0) -> None:
        """Take bytes from the line and carry out every command that is complete."""
        self.feed(data)
        while self.waiting():
            self.step(at_ns)

    def data_to_send(self) -> bytes:
        """Hand over bytes for the line, empty when there are none; ask until empty."""
        size = self.faults.chunk or len(self._out)
        data = bytes(self._out[:size])
        del self._out[:size]
        self._handed_over += len(data)
        return data

    def feed(self, data: bytes) -> None:
        """Take bytes from the line; echo them if asked, and carry out nothing yet."""
        if not self._powered:
            return
        if self._handset.echo and not self.faults.silent:
            self._out += data
        self._in += data
        if len(self._in) > INPUT_BYTES_MAX and not self._ends():
            self._in.clear()

    def waiting(self) -> int:
        """Return how many commands the next complete line holds, 0 when none is complete."""
        while (end := self._ends()) is not None:
            if self._submit_length is not None:
                return 1
            body = _body(bytes(self._in[:end]))
            if body is not None:
                return max(1, len(split_line(body)))
            del self._in[: end + 1]
        return 0

    def step(self, at_ns: int = 0) -> None:
        """Carry out the next complete line. Nothing happens when there is none.

        Args:
            at_ns: now, on a clock of the caller's choice, for the logs.
        """
        end = self._ends()
        if end is None:
            return
        line = bytes(self._in[:end])
        cancelled = self._in[end] == _CANCEL
        del self._in[: end + 1]
        if self.faults.silent:
            self._submit_length = None
            return
        self._handset.messages.at_ns = at_ns
        if self._submit_length is not None:
            self._answer(*self._submit(line, at_ns, cancelled=cancelled))
        elif (body := _body(line)) is not None:
            self._carry_out(body)
        self._admit()

    def _ends(self) -> int | None:
        """Return where the next complete line, or message after a prompt, ends."""
        if self._submit_length is None:
            end = self._in.find(b"\r")
            return None if end < 0 else end
        ends = [at for at in (self._in.find(_SEND), self._in.find(_CANCEL)) if at >= 0]
        return min(ends, default=None)

    def _carry_out(self, body: str) -> None:
        lines: list[str] = []
        result = "OK"
        commands = split_line(body)
        if not commands:
            self._log("AT")
        try:
            for position, (name, operator, argument) in enumerate(commands, start=1):
                self._log(f"AT{name}{operator}{argument}")
                if name == "+CMGS":
                    self._open_prompt(operator, argument, last=position == len(commands))
                else:
                    self._break_delete(name, operator)
                    lines += self._handset.perform(name, operator, argument)
        except Refusal as refusal:
            result = refusal.line(self._handset.settings["+CMEE"])
        if self._submit_length is None:
            self._answer(lines, result)
        self._swap()

    def _log(self, command: str) -> None:
        self.commands.append(command)
        self.command_count += 1
        self._handset.messages.command = self.command_count

    def _answer(self, lines: list[str], result: str) -> None:
        faults = self.faults
        noise = f"\r\n{faults.noise}\r\n" if faults.noise else ""
        answer = noise
        if lines:
            text = "\r\n".join(lines)
            if noise and faults.noise_inside:
                text = text.replace("\r\n", noise)
            answer += f"\r\n{text}\r\n"
        answer += f"\r\n{result}\r\n"
        self._out += faults.garbage_before + answer.encode("latin-1", "replace")
        self._out += faults.garbage_after

    # --- sending ---------------------------------------------------------------------------

    def _open_prompt(self, operator: str, argument: str, *, last: bool) -> None:
        if operator == "=?":
            return
        if operator != "=" or not last:
            raise Refusal("CMS", 302)
        octets = number(argument, range(1, _TPDU_OCTETS_MAX + 1), Refusal("CMS", 304))
        self._submit_length = octets
        self._out += b"\r\n> "

    def _submit(self, typed: bytes, at_ns: int, *, cancelled: bool) -> tuple[list[str], str]:
        octets, self._submit_length = self._submit_length, None
        if cancelled:
            return [], "OK"  # 27.005 clause 3.5.1: ESC ends without sending
        verbosity = self._handset.settings["+CMEE"]
        try:
            pdu = checked(typed.decode("ascii"))
        except ValueError:
            return [], Refusal("CMS", 304).line(verbosity)
        if Slot(pdu, Status.SENT).length != octets:
            return [], Refusal("CMS", 304).line(verbosity)
        if not self._handset.registered():
            return [], Refusal("CMS", 331).line(verbosity)
        reference = len(self.sent) % 256
        self.sent.append(Sent(pdu, reference, self.command_count, at_ns))
        return [f"+CMGS: {reference}"], "OK"

    # --- the network -----------------------------------------------------------------------

    def deliver(self, pdu: str, storage: str | None = None) -> bool:
        """Let the network deliver an SMS.

        Args:
            pdu: hex with SMSC.
            storage: where it goes; None is where `AT+CPMS` says received ones go.

        Returns:
            True when it is stored, False when the network keeps it until a slot is free.

        Raises:
            ValueError: no hex, or no such storage.
        """
        pdu = checked(pdu)
        if storage is not None:
            self._storage(storage)
        if self._waiting or not self._store(pdu, storage):
            self._waiting.append((pdu, storage))
            return False
        return True

    def preload(self, pdus: Iterable[str], storage: str = "SM") -> list[int]:
        """Store messages as if received long ago: no notice. Return their slots' numbers.

        Raises:
            ValueError: no hex, no such storage, or not room for all (then none is stored).
        """
        place = self._storage(storage)
        slots = [Slot(checked(pdu), Status.UNREAD) for pdu in pdus]
        if len(slots) > place.free():
            raise ValueError(f"{len(slots)} messages do not fit: {storage} has {place.free()} free")
        return [index for slot in slots if (index := place.add(slot)) is not None]

    def resize(self, storage: str, capacity: int) -> None:
        """Change how many messages a storage holds; those that wait come in if they fit now.

        Raises:
            ValueError: no such storage, or a capacity that no phone has.
        """
        self._storage(storage).resize(capacity)
        self._admit()

    def _storage(self, name: str) -> Storage:
        storage = self._handset.messages.storages.get(name)
        if storage is None:
            known = ", ".join(self._handset.messages.storages)
            raise ValueError(f"no storage {name!r}; this phone has {known}")
        return storage

    def _admit(self) -> None:
        """Deliver what waits, in order, as far as it fits."""
        while self._waiting and self._store(*self._waiting[0]):
            self._waiting.popleft()

    def _store(self, pdu: str, storage: str | None) -> bool:
        if not (self._powered and self._handset.registered()):
            return False
        messages = self._handset.messages
        place = messages.storages[storage or messages.selected[2]]
        index = place.add(Slot(pdu, Status.UNREAD))
        if index is None:
            return False
        faults = self.faults
        quiet = faults.silent or faults.lose_notices or len(self._out) > NOTICES_BYTES_MAX
        if messages.notifies() and not quiet:
            self._out += f'\r\n+CMTI: "{place.name}",{index}\r\n'.encode("ascii")
            end = self._handed_over + len(self._out)
            self.notices.append(Notice(place.name, index, pdu, end))
        return True

    # --- what is inside --------------------------------------------------------------------

    @property
    def deleted(self) -> list[Deletion]:
        """Every message that was deleted, in order."""
        return self._handset.messages.deleted

    def stored(self) -> dict[tuple[str, int], str]:
        """Return the PDU in each slot in use, by storage and number."""
        storages = self._handset.messages.storages
        return {
            (name, index): slot.pdu
            for name, storage in storages.items()
            for index, slot in sorted(storage.slots.items())
        }

    def held(self) -> list[str]:
        """Return the PDUs that the network keeps until there is room."""
        return [pdu for pdu, _ in self._waiting]

    @property
    def bytes_handed_over(self) -> int:
        """How many bytes `data_to_send` ever gave; `Notice.offset` counts the same way."""
        return self._handed_over

    def power_off(self) -> None:
        """Lose the supply: settings, half lines and unread answers are gone, messages stay."""
        self._powered = False
        self._handset.reset()
        self._in.clear()
        self._out.clear()
        self._submit_length = None
        while self.notices and self.notices[-1].offset > self._handed_over:
            self.notices.pop()

    def power_on(self) -> None:
        """Get the supply back; the network delivers what it kept."""
        self._powered = True
        self._admit()

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
