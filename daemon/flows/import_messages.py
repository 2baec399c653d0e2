"""Take in messages from a file, such as the backup of an old phone, as history of the SIM that holds the line now.

They go the way of every message (`intake.parts`, `intake.conclude`): encoded as the network would have sent them, stored
raw, read by the same wordings. What a file may not do stands in `intake.imported`. Only the senders of the line's network
are taken, so that nobody's private messages come into the shop. The same message again is stored once. One call is one
write transaction over a few messages.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from enum import StrEnum
from typing import Final

from daemon.core.access import Caller
from daemon.core.errors import Refusal
from daemon.core.limits import SECOND_US
from daemon.core.requests import ReadPart, Source
from daemon.env import Env
from daemon.intake import parts as intake
from daemon.intake.conclude import conclude, doubts_of_sender
from daemon.intake.desk import Desk
from daemon.intake.outcome import OUR_FAULTS
from daemon.modem import pdu as codec
from daemon.modem.pdu_encode import encode_deliver
from daemon.modem.pdu_values import Deliver
from daemon.store import events, payment_methods
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, MessageState, Mode
from parsers.phone import read_phone
from parsers.when import from_us

BATCH: Final = 50
"""Messages in one transaction; others wait for it, so it is short."""
STORAGE: Final = "FILE"
"""What stands for the phone's storage."""


class Fate(StrEnum):
    """What became of one entry."""

    NEW = "new"
    KNOWN = "known"
    """It was stored before, or its transaction ID is that of a payment that is here."""
    OTHER_SENDER = "other_sender"
    """No sender of the line's network: not stored."""
    UNREADABLE = "unreadable"
    """No SMS can be like that, or no codec reads it: not stored."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of the file: a PDU as a phone keeps it, or what a phone shows of one.

    Attributes:
        sent_at: Microseconds, of the service centre where the file knows it.
        pdu: Hex, with its SMSC; the rest is empty then.
    """

    sender: str = ""
    text: str = ""
    sent_at: int = 0
    smsc: str | None = None
    pdu: str | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one entry; `state` of a stored message, `why` of one that was not."""

    fate: Fate
    state: MessageState | None = None
    message_id: str | None = None
    why: str = ""


class _Undone(Exception):
    def __init__(self, taken: Sequence[Taken]) -> None:
        super().__init__("dry run")
        self.taken = taken


_Job = Callable[[Tx, Sequence[Entry]], Sequence[Taken]]


async def import_messages(
    env: Env, caller: Caller, line: str, entries: Sequence[Entry], *, dry_run: bool
) -> Sequence[Taken]:
    """Take in one batch, and return what became of each.

    Args:
        env: The doors.
        caller: For the journal.
        line: One of the shop's numbers (E.164), or a payment method's id.
        entries: Up to `BATCH`.
        dry_run: Do it, and undo it.

    Raises:
        Refusal: PAYMENT_METHOD_NOT_FOUND, METHOD_HAS_NO_SIM.
        Unavailable: Nothing could be written.
    """
    now = env.clock.now_us()

    def job(tx: Tx, some: Sequence[Entry]) -> Sequence[Taken]:
        taken = _take_all(_desk(env, tx, line, now), some)
        if dry_run:
            raise _Undone(taken)
        fates = Counter(str(one.fate) for one in taken)
        if fates[Fate.NEW]:
            events.add(
                tx,
                type="messages.imported",
                mode=Mode.LIVE,
                at=now,
                actor=caller.name,
                data={"line": line, **fates},
            )
        return taken

    try:
        return await env.store.write(lambda tx: job(tx, entries))
    except _Undone as undone:
        return undone.taken
    except OUR_FAULTS:
        return await _one_by_one(env, entries, job)


async def _one_by_one(env: Env, entries: Sequence[Entry], job: _Job) -> Sequence[Taken]:
    """Take each alone: one that trips a fault of ours must not stop the others."""
    found: list[Taken] = []
    for entry in entries:

        def alone(tx: Tx, entry: Entry = entry) -> Sequence[Taken]:
            return job(tx, [entry])

        try:
            found += await env.store.write(alone)
        except _Undone as undone:
            found += undone.taken
        except OUR_FAULTS as fault:
            found.append(Taken(Fate.UNREADABLE, why=f"a fault in momo: {type(fault).__name__}"))
    return found


def _desk(env: Env, tx: Tx, line: str, now: int) -> Desk:
    number = read_phone(line)
    found = (
        method
        for method in payment_methods.in_use(tx)
        if line == method.id or (number is not None and number == method.phone_number)
    )
    method = next(found, None)
    if method is None:
        raise Refusal(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    sim, _device = payment_methods.where(tx, method)
    if sim is None:
        raise Refusal(ErrorCode.METHOD_HAS_NO_SIM)
    desk = Desk.lay(env, tx, Source(sim.sim_key, sim.device_id, sim.slot_index), now)
    return replace(desk, imported=True)


def _take_all(desk: Desk, entries: Sequence[Entry]) -> list[Taken]:
    return [_take(desk, entry) for entry in entries]


def _take(desk: Desk, entry: Entry) -> Taken:
    try:
        pdus = (entry.pdu,) if entry.pdu is not None else _pdus(entry)
    except ValueError as problem:
        return Taken(Fate.UNREADABLE, why=str(problem))
    first = codec.decode(pdus[0])
    if not isinstance(first, Deliver):
        return Taken(Fate.UNREADABLE, why="not a received SMS")
    if doubts_of_sender(desk, first):
        return Taken(Fate.OTHER_SENDER)
    last: Taken = Taken(Fate.KNOWN)
    for slot, pdu in enumerate(pdus, 1):
        octets = bytes.fromhex(pdu)
        part = ReadPart(STORAGE, slot, len(octets) - 1 - octets[0], pdu)
        taken = intake.take(desk, part)
        if isinstance(taken, intake.Whole):
            state = conclude(desk, taken)
            fate = Fate.KNOWN if state is MessageState.DUPLICATE else Fate.NEW
            last = Taken(fate, state, taken.message_id)
        elif taken is not None:
            last = Taken(Fate.NEW, MessageState.INCOMPLETE, taken.message_id)
    return last


def _pdus(entry: Entry) -> tuple[str, ...]:
    """Encode a message as the network would have sent it: the same message gives the same PDUs each time.

    Raises:
        ValueError: No SMS can hold that.
    """
    at = entry.sent_at // SECOND_US
    said = "\0".join((entry.sender, str(at), entry.text))
    reference = int.from_bytes(hashlib.sha256(said.encode()).digest()[:2], "big")
    smsc = None if entry.smsc is None else read_phone(entry.smsc)
    return encode_deliver(
        entry.sender,
        entry.text,
        from_us(at * SECOND_US).astimezone(UTC),
        smsc=smsc,
        reference=reference,
        width=16,
    )
