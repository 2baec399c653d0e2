"""Import of messages from a file, such as the backup of an old phone, as history of the SIM that holds the line now.

They are processed like all messages: encoded as the network would have sent them, stored raw and read by the same wordings;
`daemon.steps.imported_message` has the limits for files. Only messages from the senders of the line's network are stored, so
no private messages. A repeated message is stored once. One call is one write transaction over a few messages.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import Refusal, needed
from daemon.core.inputs import WITHOUT_SIM, ReadPart, Source
from daemon.core.limits import SECOND_US
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.modem.codec import pdu as codec
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.modem.codec.pdu_fields import Deliver
from daemon.steps.context import Context, JoinedMessage, internal_errors
from daemon.steps.process_message import process_message, sender_doubts
from daemon.steps.store_parts import store_part
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.lines import devices, payment_methods
from daemon.wire import ErrorCode, MessageState
from parsers.phone import read_phone
from parsers.read import PROVIDERS
from parsers.times import from_us

BATCH: Final = 50
"""Messages in one database transaction; other writers wait for it, so it is short."""
STORAGE: Final = "FILE"
"""Used as name of the phone's storage."""


class ImportResult(StrEnum):
    """Result for one entry."""

    NEW = "new"
    KNOWN = "known"
    """It was stored before, or a known payment has its transaction ID."""
    OTHER_SENDER = "other_sender"
    """Not from a sender of the line's network: not stored."""
    UNREADABLE = "unreadable"
    """Not a possible SMS, or the codec cannot read it: not stored."""


class FileMessage(Struct, frozen=True):
    """One message of the file: a PDU as stored in a phone, or its sender, text and time.

    Attributes:
        sent_at: Microseconds; the service centre's time if the file has it.
        pdu: Hex, with its SMSC; the other members are empty then.
    """

    sender: str = ""
    text: str = ""
    sent_at: int = 0
    smsc: str | None = None
    pdu: str | None = None


class ImportedEntry(Struct, frozen=True):
    """Result for one entry, with the `state` of a stored message or the reason (`why`) for one that was not stored."""

    fate: ImportResult
    state: MessageState | None = None
    message_id: str | None = None
    why: str = ""


class _Undone(Exception):
    def __init__(self, taken: Sequence[ImportedEntry]) -> None:
        super().__init__("dry run")
        self.taken = taken


_Job = Callable[[Tx, Sequence[FileMessage]], Sequence[ImportedEntry]]


async def import_messages(
    env: Env, caller: Caller, line: str, entries: Sequence[FileMessage], *, dry_run: bool, pasted: bool = False
) -> Sequence[ImportedEntry]:
    """Import one batch and return the result for each entry.

    `line` is one of the shop's numbers (E.164) or a payment method's id, `entries` are up to `BATCH`. `dry_run` processes them
    and rolls back. What a person `pasted` needs no number on a SIM, and its empty sender is that of its network.

    Raises:
        Refusal: PAYMENT_METHOD_NOT_FOUND; METHOD_HAS_NO_SIM for a file.
    """
    require(caller, Operation.MANAGE_MESSAGES)
    times = env.times()

    def job(tx: Tx, some: Sequence[FileMessage]) -> Sequence[ImportedEntry]:
        context = _context(env, tx, line, times, pasted=pasted)
        taken = [_take(context, _from_network(context, one) if pasted else one) for one in some]
        if dry_run:
            raise _Undone(taken)
        fates = Counter(str(one.fate) for one in taken)
        if fates[ImportResult.NEW]:
            journal.add(tx, "messages.imported", times.wall_us, actor=caller.name, data={"line": line, **fates})
        return taken

    try:
        return await env.store.write(lambda tx: job(tx, entries))
    except _Undone as undone:
        return undone.taken
    except internal_errors(env):
        return await _one_by_one(env, entries, job)


async def _one_by_one(env: Env, entries: Sequence[FileMessage], job: _Job) -> Sequence[ImportedEntry]:
    """Import each entry alone: one that causes an internal error must not stop the others."""
    found: list[ImportedEntry] = []
    for entry in entries:

        def alone(tx: Tx, entry: FileMessage = entry) -> Sequence[ImportedEntry]:
            return job(tx, [entry])

        try:
            found += await env.store.write(alone)
        except _Undone as undone:
            found += undone.taken
        except internal_errors(env) as fault:
            found.append(ImportedEntry(ImportResult.UNREADABLE, why=f"an error in momo: {type(fault).__name__}"))
    return found


def _from_network(context: Context, entry: FileMessage) -> FileMessage:
    """Return a pasted entry with the sender of its line's network, if the person named none."""
    assert context.line is not None, "a message is imported for a number"
    senders = PROVIDERS[context.line.provider].senders
    return replace(entry, sender=senders[0]) if senders and not entry.sender else entry


def _context(env: Env, tx: Tx, line: str, times: Times, *, pasted: bool) -> Context:
    number = read_phone(line)
    found = (
        method
        for method in payment_methods.in_use(tx)
        if line == method.id or (number is not None and number == method.phone_number)
    )
    method = needed(next(found, None), ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    sim, _device = payment_methods.where(tx, method)
    if sim is not None:
        source = Source(sim.sim_key, sim.device_id, sim.slot_index)
    elif pasted:
        source = Source(f"{WITHOUT_SIM}{method.id}", devices.NO_DEVICE, 0)
    else:
        raise Refusal(ErrorCode.METHOD_HAS_NO_SIM)
    context = Context.open(env, tx, source, times)
    return replace(context, imported=True)


def _take(context: Context, entry: FileMessage) -> ImportedEntry:
    try:
        pdus = (entry.pdu,) if entry.pdu is not None else _pdus(entry)
    except ValueError as problem:
        return ImportedEntry(ImportResult.UNREADABLE, why=str(problem))
    first = codec.decode(pdus[0])
    if not isinstance(first, Deliver):
        return ImportedEntry(ImportResult.UNREADABLE, why="not a received SMS")
    if sender_doubts(context, [first]):
        return ImportedEntry(ImportResult.OTHER_SENDER)
    last: ImportedEntry = ImportedEntry(ImportResult.KNOWN)
    for slot, pdu in enumerate(pdus, 1):
        octets = bytes.fromhex(pdu)
        part = ReadPart(STORAGE, slot, len(octets) - 1 - octets[0], pdu)
        taken = store_part(context, part)
        if isinstance(taken, JoinedMessage):
            state = process_message(context, taken)
            fate = ImportResult.KNOWN if state is MessageState.DUPLICATE else ImportResult.NEW
            last = ImportedEntry(fate, state, taken.message_id)
        elif taken is not None:
            last = ImportedEntry(ImportResult.NEW, MessageState.INCOMPLETE, taken.message_id)
    return last


def _pdus(entry: FileMessage) -> tuple[str, ...]:
    """Encode a message as the network would have sent it; the same message always gives the same PDUs.

    Raises:
        ValueError: It cannot be encoded as an SMS.
    """
    at = entry.sent_at // SECOND_US
    content = "\0".join((entry.sender, str(at), entry.text))
    reference = int.from_bytes(hashlib.sha256(content.encode()).digest()[:2], "big")
    smsc = None if entry.smsc is None else read_phone(entry.smsc)
    return encode_deliver(
        entry.sender, entry.text, from_us(at * SECOND_US).astimezone(UTC), smsc=smsc, reference=reference, width=16
    )
