"""The format of the message journal: one line per received part of an SMS, each with a keyed checksum. Pure.

A line is 32 hex digits, a space, a JSON array and a newline. The digits are the first half of the HMAC-SHA-256 of the array
under a key of the shop, so a torn, damaged, foreign or forged line is never read: the second folder may be on a stick that
others can write to. `daemon.runtime.message_journal` has the files.
"""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Final

import msgspec

from daemon.wire import TrustLevel

VERSION: Final = 1
_MAC_DIGITS: Final = 32
_SPACE: Final = b" "

Key = tuple[str, str]
"""SIM and digest of a part: a part is stored once (invariant 2)."""


class JournalHeader(msgspec.Struct, frozen=True, array_like=True, tag="momo message journal"):
    """The first line of a file: the version of the format and the mark of the shop, for people and later versions."""

    version: int
    shop: str


class Record(msgspec.Struct, frozen=True, array_like=True, tag="part"):
    """One part, with the data needed to process it again.

    Attributes:
        received_at: Microseconds; equal for the parts of one intake.
        since: When the SIM was first seen, in microseconds.
        storage: As in `ReadPart`, like the members after it up to `synthesised`.
        source: As in `Source`, like `level` and `history`.
    """

    received_at: int
    sim_key: str
    device_id: str
    slot_index: int
    network: str | None
    since: int
    storage: str
    slot: int
    tpdu_length: int
    pdu: str
    synthesised: bool = False
    source: str | None = None
    level: str = TrustLevel.FULL.value
    history: bool = False

    @property
    def key(self) -> Key:
        """The key of the part in the database."""
        return self.sim_key, digest(self.pdu)


class Erased(msgspec.Struct, frozen=True, array_like=True, tag="erased"):
    """Stands for an erased part, so that the second folder does not restore its text."""

    sim_key: str
    sha256: str

    @property
    def key(self) -> Key:
        """The key of the erased part."""
        return self.sim_key, self.sha256


Entry = JournalHeader | Record | Erased
_DECODER: Final[msgspec.json.Decoder[Entry]] = msgspec.json.Decoder(Entry)


def digest(pdu: str) -> str:
    """Return the first 16 octets of the SHA-256 of the PDU's octets, or of its text where it is no hex; in hex."""
    try:
        octets = bytes.fromhex(pdu)
    except ValueError:
        octets = pdu.encode()
    return hashlib.sha256(octets).hexdigest()[:32]


def journal_key(account_key: bytes) -> bytes:
    """Return the key of the shop's lines, derived from its key for ids."""
    return hmac.new(account_key, b"message journal", "sha256").digest()


def shop_mark(key: bytes) -> str:
    """Return the eight characters that mark a shop's files in a shared folder."""
    return hashlib.sha256(b"mark:" + key).hexdigest()[:8]


def encode(entry: Entry, key: bytes) -> bytes:
    """Return the line of an entry."""
    data = msgspec.json.encode(entry)
    return _mac(data, key) + _SPACE + data + b"\n"


def decode(line: bytes, key: bytes) -> Entry | None:
    """Return the entry of a line, with or without its newline; None if it is not a whole line of this shop."""
    mac, data = line[:_MAC_DIGITS], line[_MAC_DIGITS + 1 :].removesuffix(b"\n")
    if line[_MAC_DIGITS : _MAC_DIGITS + 1] != _SPACE or not hmac.compare_digest(mac, _mac(data, key)):
        return None
    try:
        return _DECODER.decode(data)
    except msgspec.MsgspecError:
        return None


def decode_all(lines: Iterable[bytes], key: bytes) -> list[Record | Erased]:
    """Return the entries of these lines, without headers and lines that cannot be read."""
    found = (decode(line, key) for line in lines)
    return [entry for entry in found if isinstance(entry, Record | Erased)]


def erase(entries: Iterable[Record | Erased], keys: set[Key]) -> list[Record | Erased]:
    """Return the entries with `Erased` in place of the parts with these keys."""
    return [Erased(*entry.key) if isinstance(entry, Record) and entry.key in keys else entry for entry in entries]


def merge(ours: Iterable[Record | Erased], theirs: Iterable[Record | Erased]) -> list[Record | Erased]:
    """Return the entries of two files without repeats, in the order of arrival; an erased part stays erased."""
    erased = dict[Key, Erased]()
    parts = dict[Key, Record]()
    for entry in (*ours, *theirs):
        if isinstance(entry, Erased):
            erased[entry.key] = entry
        else:
            parts.setdefault(entry.key, entry)
    kept = [part for key, part in parts.items() if key not in erased]
    return [*erased.values(), *sorted(kept, key=lambda part: part.received_at)]


def _mac(data: bytes, key: bytes) -> bytes:
    return hmac.new(key, data, "sha256").hexdigest()[:_MAC_DIGITS].encode()
