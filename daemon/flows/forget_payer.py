"""Forget a payer who asks for it: the person goes out of the rows, the money stays in the books (docs/decisions/0053)."""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from daemon.core.access import Caller
from daemon.core.errors import Refusal
from daemon.core.limits import LATE_WINDOW_US
from daemon.env import Env
from daemon.store import events, payer_data
from daemon.store.engine import Tx
from daemon.store.payer_data import Found
from daemon.wire import ErrorCode, Mode

MARK_CHARACTERS: Final = 16


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was, or would be, forgotten.

    Attributes:
        counts: Rows of each kind that say something of the payer.
        still_open: Those that are not over, by kind; with any of them nothing is forgotten.
        mark: What the journal knows the payer by, without knowing the number.
    """

    counts: dict[str, int]
    still_open: dict[str, int]
    mark: str


async def survey(env: Env, number: str) -> Forgotten:
    """Say what would be forgotten, and what stands in the way. Changes nothing."""
    found = await _found(env, number)
    late_since = env.sure_us() - LATE_WINDOW_US
    return await env.store.read(
        lambda reader: Forgotten(
            payer_data.counts(reader, found),
            payer_data.still_open(reader, found, late_since),
            mark(env, number),
        )
    )


async def forget(env: Env, caller: Caller, number: str) -> Forgotten:
    """Take a payer out of all rows, in one transaction, and write down that it was done.

    Args:
        env: The shop's doors.
        caller: For the journal.
        number: E.164.

    Raises:
        Refusal: PAYER_STILL_OPEN, with `open`: how many of what. Nothing was changed.
        Unavailable: Nothing could be written.
    """
    found = await _found(env, number)
    now, late_since = env.clock.now_us(), env.sure_us() - LATE_WINDOW_US

    def job(tx: Tx) -> Forgotten:
        if waiting := payer_data.still_open(tx, found, late_since):
            raise Refusal(ErrorCode.PAYER_STILL_OPEN, open=waiting)
        counts = payer_data.counts(tx, found)
        done = Forgotten(counts, {}, mark(env, number))
        if any(counts.values()):
            payer_data.forget(tx, found)
            data = {"payer": done.mark, **counts}
            events.add(
                tx, type="payer.forgotten", mode=Mode.LIVE, at=now, actor=caller.name, data=data
            )
        return done

    return await env.store.write(job)


def mark(env: Env, number: str) -> str:
    """Return what stands for a number where it must not stand: only who has both it and the shop's key can tell."""
    key = b"payer:" + env.account_key
    return hmac.new(key, number.encode(), hashlib.sha256).hexdigest()[:MARK_CHARACTERS]


async def _found(env: Env, number: str) -> Found:
    return await env.store.read(lambda reader: payer_data.find(reader, number))
