"""The network's side of the emulated phone: delivery, notices, status reports, and messages waiting for space.

Like a real SMSC it keeps messages that a phone cannot accept and retries, in order, per SIM. A message that was forwarded
directly (`+CMT`) and not acknowledged is delivered again (27.005 clause 3.4.4), because it was not stored.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.modem.codec.pdu_fields import write_time
from tests.phones.commands import Handset
from tests.phones.faults import Faults, Line, Notice
from tests.phones.message_commands import WEB
from tests.phones.sim import SIM_STORAGE, Sim, Slot, Status, Storage, validated_pdu

_STATUS_REPORT: Final = 0x06
"""TP-MTI of a report and no more messages (3GPP TS 23.040 clause 9.2.2.3)."""
_REPORT_WANTED: Final = 0x20  # TP-SRR of an SMS-SUBMIT, clause 9.2.3.5
_NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOTICES_BYTES_MAX: Final = 1 << 20
"""With more unread output a message is stored without a notice."""
PASSED_ON: Final = -1
"""Index of a message in no slot."""
_REPORT_NOW: Final = 1
_REPORT_STORED: Final = 2


class Network:
    """Delivers messages to one handset over one line."""

    def __init__(self, handset: Handset, line: Line, faults: Faults) -> None:
        self.powered = True
        self.notices: list[Notice] = []
        self._handset = handset
        self._messages = handset.messages
        self._line = line
        self._faults = faults
        self._full_reported = False
        self._reports: list[str] = []

    def deliver(self, pdu: str, storage: str | None, iccid: str | None) -> bool:
        """Deliver or keep an SMS, see `Phone.deliver`."""
        pdu = validated_pdu(pdu)
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
        """Store messages without a notice, see `Phone.preload`."""
        place = self.storage(storage)
        slots = [Slot(validated_pdu(pdu), Status.UNREAD) for pdu in pdus]
        if len(slots) > place.free():
            raise ValueError(f"{len(slots)} messages do not fit: {storage} has {place.free()} free")
        return [index for slot in slots if (index := place.add(slot)) is not None]

    def fill(self, storage: str | None = None) -> list[int]:
        """Fill a storage (by default the receiving one) with advertisements.

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
        """Deliver waiting messages in order, as far as they fit."""
        self.look()
        if self._messages.refused:
            self._keep(self._messages.refused)
            self._messages.refused = []
        while (sim := self._handset.card.sim) and sim.waiting and self._store(*sim.waiting[0]):
            sim.waiting.popleft()
        while self._reports and self._report(self._reports[0]):
            self._reports.pop(0)

    def look(self) -> None:
        """Update the handset's coverage and signal."""
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
        self._full_reported = False
        if messages.notifies() and self._speaks() and place.name != WEB:
            self._announce(place.name, index, pdu, f'+CMTI: "{place.name}",{index}')
        return True

    def _refuse(self, place: Storage) -> None:
        family, messages = self._handset.family, self._messages
        if family.full_line and not self._full_reported and self._speaks():
            self._line.say(f"\r\n{family.full_line.format(storage=place.name)}\r\n".encode())
        messages.muted |= family.mute_when_full
        self._full_reported = True

    def _speaks(self) -> bool:
        faults = self._faults
        quiet = faults.silent or faults.lose_notices or self._line.unread() > NOTICES_BYTES_MAX
        return not quiet and self._handset.announces_here() and not self._handset.asleep

    def _announce(self, storage: str, index: int, pdu: str, text: str) -> None:
        end = self._line.say(f"\r\n{text}\r\n".encode("ascii"))
        self.notices.append(Notice(storage, index, pdu, end))

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
        """Take back an unacknowledged message, and stop direct forwarding on the phone."""
        pdu, self._messages.unacknowledged = self._messages.unacknowledged, None
        if pdu is not None:
            self._keep([pdu])
            mode, _, cells, _, buffer = self._messages.notices
            self._messages.notices = (mode, 0, cells, 0, buffer)

    def report(self, submit: str, reference: int) -> None:
        """Queue a status report on a sent message, if it requested one."""
        pdu = report(submit, reference, self._faults.report_status)
        if pdu is not None and not self._faults.lose_reports:
            self._reports.append(pdu)

    def _report(self, pdu: str) -> bool:
        """Deliver a report in the selected mode; False while it must wait."""
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

    def take_out(self) -> Sim:
        """Remove and return the SIM in use, see `Phone.take_sim`."""
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
        """Insert a SIM, see `Phone.insert_sim`; the network then delivers the messages waiting for it."""
        handset = self._handset
        if handset.card.sim is not None:
            raise ValueError("there is a SIM in this phone already")
        if SIM_STORAGE in self._messages.storages:
            self._messages.storages[SIM_STORAGE] = sim.lay(handset.family.first_index)
        handset.card.sim = sim
        handset.busy = handset.family.busy_commands
        handset.lines += handset.family.sim_in_lines

    def switch(self) -> None:
        """Switch to the SIM in the other slot, after a command requested it."""
        card = self._handset.card
        card.switched = False
        spare, card.spare = card.spare, None
        card.spare = self.take_out() if card.sim is not None else None
        if spare is not None:
            self.put_in(spare)

    def lose_power(self) -> None:
        """Drop unsent notices and take back an unacknowledged message."""
        self.take_back()
        while self.notices and self.notices[-1].offset > self._line.handed_over:
            self.notices.pop()


def report(submit: str, reference: int, status: int = 0) -> str | None:
    """Return the SMS-STATUS-REPORT for a sent PDU, None when it requested none.

    `submit` is hex with SMSC, as written after `AT+CMGS`; `reference` is the number from `+CMGS:`. `status` is TP-ST
    (clause 9.2.3.15); 0 means received by the other phone.
    """
    octets = bytes.fromhex(submit)
    smsc, tpdu = octets[: 1 + octets[0]], octets[1 + octets[0] :]
    if len(tpdu) < 4 or not tpdu[0] & _REPORT_WANTED:
        return None
    address = tpdu[2 : 4 + (tpdu[2] + 1) // 2]
    time = write_time(_NOON + timedelta(seconds=reference))
    head = bytes((_STATUS_REPORT, reference))
    return (smsc + head + address + time + time + bytes((status,))).hex().upper()


def advertisement(number: int) -> str:
    """Return an advertisement SMS; its text differs for each number."""
    text = f"Y'ello! Dial *138*{number}# for a data bundle."
    [pdu] = encode_deliver("MTN", text, _NOON + timedelta(minutes=number), smsc="+233240000099")
    return pdu
