"""The network's side of the emulated phone: delivery, notices, reports, and what waits for room.

A real SMSC keeps what a phone cannot take and tries again; so does this one, in order, per SIM. A
message that was passed on directly (`+CMT`) and not acknowledged comes again (27.005 clause
3.4.4): it was stored nowhere.
"""

from collections.abc import Iterable
from typing import Final

from daemon.modem.emulated_commands import Handset
from daemon.modem.emulated_faults import Faults, Notice
from daemon.modem.emulated_line import Line
from daemon.modem.emulated_memory import Slot, Status, Storage, checked
from daemon.modem.emulated_messages import WEB
from daemon.modem.emulated_pdus import advertisement, report
from daemon.modem.emulated_sim import SIM_STORAGE, Sim

NOTICES_BYTES_MAX: Final = 1 << 20
"""With so much unread output a phone forgets to announce; the message is stored all the same."""
PASSED_ON: Final = -1
"""The index of a message that is in no slot."""
_REPORT_NOW: Final = 1
_REPORT_STORED: Final = 2


class Network:
    """Delivers to one handset over one line."""

    def __init__(self, handset: Handset, line: Line, faults: Faults) -> None:
        """Serve this handset; it has no power yet for all the network knows."""
        self.powered = True
        self.notices: list[Notice] = []
        self._handset = handset
        self._messages = handset.messages
        self._line = line
        self._faults = faults
        self._full_told = False
        self._reports: list[str] = []

    # --- delivery --------------------------------------------------------------------------

    def deliver(self, pdu: str, storage: str | None, iccid: str | None) -> bool:
        """Deliver or keep an SMS; say whether the phone has it.

        Raises:
            ValueError: no hex, no such storage, or no such SIM.
        """
        pdu = checked(pdu)
        if storage is not None:
            self.storage(storage)
        card = self._handset.card
        here = [sim for sim in (card.sim, card.spare) if sim and iccid in {None, sim.iccid}]
        if not here or (iccid is None and card.sim is None):
            raise ValueError(f"no SIM {iccid or ''} in this phone: deliver where it is")
        if here[0] is not card.sim or here[0].waiting or not self._store(pdu, storage):
            here[0].waiting.append((pdu, storage))
            return False
        return True

    def preload(self, pdus: Iterable[str], storage: str) -> list[int]:
        """Store messages as if received long ago: no notice. Return their slots' numbers.

        Raises:
            ValueError: no hex, no such storage, or not room for all (then none is stored).
        """
        place = self.storage(storage)
        slots = [Slot(checked(pdu), Status.UNREAD) for pdu in pdus]
        if len(slots) > place.free():
            raise ValueError(f"{len(slots)} messages do not fit: {storage} has {place.free()} free")
        return [index for slot in slots if (index := place.add(slot)) is not None]

    def fill(self, storage: str | None = None) -> list[int]:
        """Fill a storage with advertisements, the one that receives if none is named.

        Raises:
            ValueError: no such storage.
        """
        place = self.storage(storage or self._messages.receives_in().name)
        return self.preload([advertisement(n) for n in range(1, place.free() + 1)], place.name)

    def storage(self, name: str) -> Storage:
        """Return the storage of that name.

        Raises:
            ValueError: there is none.
        """
        storage = self._messages.storages.get(name)
        if storage is None:
            known = ", ".join(self._messages.storages)
            raise ValueError(f"no storage {name!r}; this phone has {known}")
        return storage

    def admit(self) -> None:
        """Deliver what waits, in order, as far as it fits."""
        self.look()
        if self._messages.refused:
            self._keep(self._messages.refused)
            self._messages.refused = []
        while (sim := self._handset.card.sim) and sim.waiting and self._store(*sim.waiting[0]):
            sim.waiting.popleft()
        while self._reports and self._report(self._reports[0]):
            self._reports.pop(0)

    def look(self) -> None:
        """Tell the handset of the coverage."""
        self._handset.covered = not self._faults.no_network
        self._handset.signal = self._faults.signal

    def _keep(self, pdus: Iterable[str]) -> None:
        if (sim := self._handset.card.sim) is not None:
            sim.waiting.extendleft((pdu, None) for pdu in pdus)

    def _store(self, pdu: str, storage: str | None) -> bool:
        self.look()
        if not (self.powered and self._handset.registered()):
            return False
        messages = self._messages
        if messages.passes_on() and storage is None:
            return self._pass_on(pdu)
        place = messages.storages[storage] if storage else messages.receives_in()
        index = place.add(Slot(pdu, Status.UNREAD))
        if index is None:
            self._refuse(place)
            return False
        self._full_told = False
        if messages.notifies() and self._speaks() and place.name != WEB:
            self._announce(place.name, index, pdu, f'+CMTI: "{place.name}",{index}')
        return True

    def _refuse(self, place: Storage) -> None:
        family, messages = self._handset.family, self._messages
        if family.full_line and not self._full_told and self._speaks():
            self._line.say(f"\r\n{family.full_line.format(storage=place.name)}\r\n".encode())
        messages.muted |= family.mute_when_full
        self._full_told = True

    def _speaks(self) -> bool:
        faults = self._faults
        quiet = faults.silent or faults.lose_notices or self._line.unread() > NOTICES_BYTES_MAX
        return not quiet and self._handset.announces_here() and not self._handset.asleep

    def _announce(self, storage: str, index: int, pdu: str, text: str) -> None:
        end = self._line.say(f"\r\n{text}\r\n".encode("ascii"))
        self.notices.append(Notice(storage, index, pdu, end))

    # --- direct ----------------------------------------------------------------------------

    def _pass_on(self, pdu: str) -> bool:
        messages = self._messages
        if messages.unacknowledged is not None or not self._speaks():
            return False
        self._announce("", PASSED_ON, pdu, f"+CMT: ,{Slot(pdu, Status.UNREAD).length}\r\n{pdu}")
        if self._handset.settings["+CSMS"]:
            messages.unacknowledged = pdu
        else:
            messages.acknowledged.append(pdu)
        return True

    def take_back(self) -> None:
        """Nobody acknowledged in time: the network keeps it, the phone passes on no more."""
        pdu, self._messages.unacknowledged = self._messages.unacknowledged, None
        if pdu is not None:
            self._keep([pdu])
            mode, _, cells, _, buffer = self._messages.notices
            self._messages.notices = (mode, 0, cells, 0, buffer)

    # --- reports ---------------------------------------------------------------------------

    def report(self, submit: str, reference: int) -> None:
        """Report on a message that was sent, if it asked for that."""
        pdu = report(submit, reference, self._faults.report_status)
        if pdu is not None and not self._faults.lose_reports:
            self._reports.append(pdu)

    def _report(self, pdu: str) -> bool:
        """Do what is asked for with a report; False while it has to wait."""
        if not (self.powered and self._handset.registered()):
            return False
        messages, family = self._messages, self._handset.family
        wanted = messages.notices[3] if messages.notices[0] else 0
        if wanted == _REPORT_NOW and self._speaks():
            length = Slot(pdu, Status.UNREAD).length
            self._line.say(f"\r\n+CDS: {length}\r\n{pdu}\r\n".encode("ascii"))
        elif wanted == _REPORT_STORED and (place := messages.storages.get(family.reports_in)):
            index = place.add(Slot(pdu, Status.UNREAD))
            if index is not None and self._speaks():
                said = f'\r\n+CDSI: "{family.reports_said_in}",{index}\r\n'
                self._line.say(said.encode("ascii"))
        return True

    # --- the SIM ---------------------------------------------------------------------------

    def take_out(self) -> Sim:
        """Return the SIM in use with all that is on it and all that waits for it.

        Raises:
            ValueError: there is none.
        """
        card, storages = self._handset.card, self._messages.storages
        sim = card.sim
        if sim is None:
            raise ValueError("there is no SIM in this phone")
        self.take_back()
        if SIM_STORAGE in storages:
            sim.lift(storages[SIM_STORAGE])
            storages[SIM_STORAGE] = Storage(SIM_STORAGE, 0, self._handset.family.first_index)
        card.sim = None
        card.reset()
        self._handset.lines += self._handset.family.sim_out_lines
        return sim

    def put_in(self, sim: Sim) -> None:
        """Put a SIM in; the network then delivers what waits for it.

        Raises:
            ValueError: there is one already.
        """
        handset = self._handset
        if handset.card.sim is not None:
            raise ValueError("there is a SIM in this phone already")
        if SIM_STORAGE in self._messages.storages:
            self._messages.storages[SIM_STORAGE] = sim.lay(handset.family.first_index)
        handset.card.sim = sim
        handset.busy = handset.family.busy_commands
        handset.lines += handset.family.sim_in_lines

    def switch(self) -> None:
        """Put the SIM of the other slot to use, after a command asked for it."""
        card = self._handset.card
        card.switched = False
        spare, card.spare = card.spare, None
        card.spare = self.take_out() if card.sim is not None else None
        if spare is not None:
            self.put_in(spare)

    # --- power -----------------------------------------------------------------------------

    def lose_power(self) -> None:
        """Forget what the phone had not yet said, and take back what nobody acknowledged."""
        self.take_back()
        while self.notices and self.notices[-1].offset > self._line.handed_over:
            self.notices.pop()
