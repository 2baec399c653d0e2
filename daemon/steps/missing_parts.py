"""The parts of SMS that the message journal has and the database lacks.

A copy of the database has all parts of the journal up to some moment and none after it. So the journal is read backward until
a long run of parts is known.
"""

import asyncio
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final

from daemon.core.messages.message_journal import Key, Record
from daemon.runtime.message_journal import MessageJournal
from daemon.store.engine import Store
from daemon.store.messages import messages

PARTS_AT_ONCE: Final = 500
"""Parts of the message journal that are looked for at once."""
KNOWN_RUN: Final = 1_000
"""Known parts in a row that end the search. Intakes that run at the same time write to the journal and to the database in
different orders; ten phones with a batch each are fewer parts than this."""


async def missing(store: Store, message_journal: MessageJournal) -> list[Record]:
    """Return the parts of the message journal that the database lacks, in order; each part once.

    Raises:
        OSError: The journal cannot be read.
        Unavailable: The database cannot be read.
    """
    everything = message_journal.was_fetched
    backward = message_journal.backward()
    found: dict[Key, Record] = {}
    run = 0
    while everything or run < KNOWN_RUN:
        chunk = await asyncio.to_thread(_take, backward)
        if not chunk:
            break
        keys = [key for key, _ in chunk]
        known = await store.read(partial(messages.known_parts, keys=keys))
        for key, record in chunk:
            run = run + 1 if key in known else 0
            if key not in known:
                found.pop(key, None)  # the earlier record has the time when the part was received
                found[key] = record
    return [*reversed(found.values())]


def _take(backward: Iterator[Record]) -> list[tuple[Key, Record]]:
    return [(record.key, record) for record in islice(backward, PARTS_AT_ONCE)]
