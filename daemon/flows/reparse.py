"""Run messages that nothing could read through today's wordings, the same way as when they come in.

Trust is decided again by the same rules: an old message stays history, a stranger's stays a stranger's. A message that is
still not understood is left exactly as it is, so a second run changes nothing. One call is one write transaction over a few
messages; the caller goes on from `next` until it is None.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from daemon.core.model import Message
from daemon.env import Env
from daemon.intake.conclude import conclude, reading_of
from daemon.intake.desk import Desk
from daemon.intake.parts import whole_again
from daemon.store import balances, messages
from daemon.store.engine import Tx
from daemon.wire import MessageState
from parsers.reading import Unreadable

BATCH: Final = 50
"""Messages in one transaction; others wait for it, so it is short."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be read again.

    Attributes:
        ids: Only these; empty is every unread message.
        after: Go on behind this sequence number.
        dry_run: Say what would happen, and change nothing.
    """

    ids: Sequence[str] = ()
    after: int = 0
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Reparsed:
    """What one call did.

    Attributes:
        looked_at: Messages of this batch.
        read: Those that are understood now: id, wording, kind and the state they came to (None in a dry run).
        next: Where the next call goes on; None when there is nothing left.
    """

    looked_at: int
    read: tuple[dict[str, Any], ...]
    next: int | None

    @property
    def counts(self) -> dict[str, int]:
        """How many came to each state, or were read at all in a dry run."""
        return dict(Counter(str(one["state"] or "would_be_read") for one in self.read))


async def reparse(env: Env, wanted: Wanted) -> Reparsed:
    """Read one batch again.

    Raises:
        Unavailable: Nothing could be written.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> Reparsed:
        batch = messages.unread(tx, wanted.ids, after=wanted.after, limit=BATCH)
        read = [one for row in batch if (one := _again(env, tx, row, now, wanted)) is not None]
        rest = batch[-1].seq if len(batch) == BATCH else None
        return Reparsed(len(batch), tuple(read), rest)

    return await env.store.write(job)


def _again(env: Env, tx: Tx, row: Message, now: int, wanted: Wanted) -> dict[str, Any] | None:
    desk = Desk.lay_again(env, tx, row, now)
    whole = whole_again(desk, row)
    if whole is None:
        return None
    reading = reading_of(desk, whole)
    if isinstance(reading, Unreadable):
        return None
    state: MessageState | None = None
    if not wanted.dry_run:
        # As an unread message it only explained a change of the balance; now it says what it is itself.
        balances.forget(tx, row.id)
        state = conclude(desk, whole)
        messages.keep_received_at(tx, row.id, row.received_at)
    return {"id": row.id, "wording": reading.wording, "kind": reading.kind, "state": state}
