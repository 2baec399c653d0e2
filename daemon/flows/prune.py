"""Let go of what is too old to keep (decisions.md section 10), a few rows at a time, so that no payment waits.

The audit stays for ever, and so do payments, requests and reviews. Nothing is pruned while our clock is in doubt: a
machine that wakes up in the wrong year must not throw the shop's records away.
"""

from dataclasses import dataclass
from typing import Final

from daemon.config import Retention
from daemon.core.limits import DAY_US, MINUTE_US, PRUNE_BATCH
from daemon.core.self_check import Soundness
from daemon.env import Env
from daemon.store import retention
from daemon.store.engine import Reader, Tx
from daemon.store.retention import Kind

BACKWARDS_US: Final = 10 * MINUTE_US
"""How far the journal may be ahead of our clock: what NTP mends when a machine starts."""
WITNESS_US: Final = 7 * DAY_US
"""How far our clock may be ahead of the newest message of a network. Longer without one, nothing is pruned: a shop
that takes no money gathers nothing either."""
WITNESSES: Final = 200
"""Newest messages that are looked at, so that one wrong clock at a network is no witness for ours."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What one round did, or would do.

    Attributes:
        counts: How many of each kind.
        more: There is more to do.
        doubt: Why our clock is not believed, or the file is not; then nothing was pruned. "" when both are.
    """

    counts: dict[str, int]
    more: bool
    doubt: str


def limits(settings: Retention, now: int) -> dict[Kind, int]:
    """Return for each kind the time before which it goes, in the order in which they are pruned."""
    attempts = now - settings.attempts_days * DAY_US
    messages = now - settings.messages_days * DAY_US
    return {
        retention.ATTEMPTS: attempts,
        retention.RESPONSES: attempts,
        retention.DEAD_LETTER_RESPONSES: attempts,
        retention.NOTICES: attempts,
        retention.DELIVERIES: now - settings.deliveries_days * DAY_US,
        retention.MESSAGES: messages,
        retention.SENT_MESSAGES: messages,
        retention.CLAIMS: messages,
    }


async def survey(env: Env) -> Pruned:
    """Say how much is too old to keep. Changes nothing."""
    now = env.clock.now_us()
    kinds = limits(env.config.retention, env.sure_us())

    def job(reader: Reader) -> Pruned:
        counts = {kind.name: retention.count(reader, kind, at) for kind, at in kinds.items()}
        return Pruned(counts, any(counts.values()), _doubt(env, reader, now))

    return await env.store.read(job)


async def prune(env: Env) -> Pruned:
    """Prune one batch of each kind, each in a transaction of its own.

    Raises:
        Unavailable: Nothing can be written.
    """
    now = env.clock.now_us()
    doubt = await env.store.read(lambda reader: _doubt(env, reader, now))
    if doubt:
        return Pruned({}, False, doubt)
    counts = {}
    for kind, before in limits(env.config.retention, env.sure_us()).items():

        def job(tx: Tx, kind: Kind = kind, before: int = before) -> int:
            return retention.prune(tx, kind, before, PRUNE_BATCH)

        counts[kind.name] = await env.store.write(job)
    return Pruned(counts, PRUNE_BATCH in counts.values(), "")


def _doubt(env: Env, reader: Reader, now: int) -> str:
    """Say why nothing may go: our clock is not believed, or the file is damaged and all of it may be needed.

    "" when it may. What cannot be taken back asks for more than the rest does.
    """
    if env.self_check.found is Soundness.DAMAGED:
        return "the database is damaged; what is in it is left as it is"
    if (seen := env.clock_doubt()) is not None:
        return seen.why
    told = retention.newest_event_at(reader)
    if told is not None and told > now + BACKWARDS_US:
        return "the clock of this machine has gone backwards"
    heard = retention.newest_network_time(reader, WITNESSES)
    if heard is not None and now > heard + WITNESS_US:
        return "no message of the last seven days says that the clock of this machine is right"
    return ""
