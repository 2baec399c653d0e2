"""The bodies of webhooks, each deflated (RFC 1951) with a dictionary that is stored in the database.

The receiver gets the same bytes in every attempt, so a body is never made again, and one that cannot be inflated is lost.
Therefore a dictionary never changes. A program with a better one adds it under the next number in a migration, and sets
`NEWEST`; older bodies keep theirs.
"""

import zlib
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from daemon.store.engine import Reader, Tx
from daemon.store.rows import evened, listed, table, values

NEWEST: Final = 1
"""The number of the dictionary for new bodies."""
_WINDOW: Final = -15
"""Without header and checksum, which zlib writes for positive numbers."""
_SMALL_WINDOW: Final = -13
_SMALL_MEMORY: Final = 5
"""For compressors: 8 KiB hold the dictionary and nearly every body. With zlib's own values each takes 256 KiB of fresh memory,
which takes longer than to deflate the body."""
_contents: dict[int, bytes] = {}
"""The dictionaries by number, the same in every database."""
_compressors: dict[int, Any] = {}
"""By number of the dictionary that it has taken in; copied for each body."""


def add(tx: Tx, made: Sequence[tuple[str, bytes]]) -> None:
    """Store the body of each new delivery, `made` as (delivery ID, body); others are left out."""
    rows = [(delivery_id, NEWEST, deflate(tx, body)) for delivery_id, body in made]
    tx.run(
        "INSERT INTO delivery_bodies (delivery_seq, dictionary, deflated) "
        f"SELECT d.seq, v.column2, v.column3 FROM (VALUES {table(rows)}) AS v JOIN deliveries d ON d.id = v.column1",
        values(rows),
    )


def of(reader: Reader, seqs: Collection[int]) -> dict[int, bytes]:
    """Return the bodies of deliveries, by `seq`."""
    members = evened([*seqs])
    rows = reader.all(
        f"SELECT delivery_seq, dictionary, deflated FROM delivery_bodies WHERE delivery_seq IN ({listed(members)})",
        members,
    )
    return {seq: inflate(reader, number, deflated) for seq, number, deflated in rows}


def rewrite(tx: Tx, seqs: Collection[int], change: Callable[[str], str]) -> None:
    """Replace the bodies of deliveries."""
    for seq, body in of(tx, seqs).items():
        tx.run(
            "UPDATE delivery_bodies SET dictionary = :number, deflated = :deflated WHERE delivery_seq = :seq",
            {"number": NEWEST, "deflated": deflate(tx, change(body.decode()).encode()), "seq": seq},
        )


def deflate(reader: Reader, body: bytes) -> bytes:
    """Deflate a body with the newest dictionary."""
    if NEWEST not in _compressors:
        _compressors[NEWEST] = zlib.compressobj(
            wbits=_SMALL_WINDOW, memLevel=_SMALL_MEMORY, zdict=_dictionary(reader, NEWEST)
        )
    compressor = _compressors[NEWEST].copy()
    deflated: bytes = compressor.compress(body) + compressor.flush()
    return deflated


def inflate(reader: Reader, number: int, deflated: bytes) -> bytes:
    """Return the body that was deflated with this dictionary.

    Raises:
        zlib.error: It was damaged.
    """
    inflater = zlib.decompressobj(_WINDOW, _dictionary(reader, number))
    body = inflater.decompress(deflated) + inflater.flush()
    if not inflater.eof or inflater.unused_data:
        raise zlib.error("the body of a webhook is cut off")
    return body


def _dictionary(reader: Reader, number: int) -> bytes:
    content = _contents.get(number)
    if content is None:
        text: str = reader.value(
            "SELECT content FROM body_dictionaries WHERE number = :number", {"number": number}
        )
        content = _contents[number] = text.encode()
    return content
