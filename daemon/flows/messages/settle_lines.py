"""Settle what is held on each line as time passes (decisions.md section 4, rules 5 and 6).

The line's own traffic confirms an open row, and home messages on both sides release a foreign message after 90 minutes.
"""

from typing import Final

from daemon.core.inputs import Source
from daemon.core.limits import DAY_US
from daemon.core.messages.balance import BETWEEN_US, Line
from daemon.core.messages.balance_chain import Entry, Why
from daemon.core.messages.line_history import USUAL_DAYS, usual_receipts
from daemon.core.messages.trust import LEARN_DAYS, LEARN_RECEIPTS, SmscSource, is_home
from daemon.env import Env
from daemon.steps.context import Context
from daemon.steps.judge import apply_line
from daemon.steps.process_message import process_message
from daemon.steps.store_parts import assemble
from daemon.store.engine import Tx
from daemon.store.lines import devices
from daemon.store.messages import balances, messages
from daemon.store.messages.balances import Chain

BATCH: Final = 50
"""Messages put together in one database transaction; other writers wait for it."""


async def assemble_parts(env: Env) -> int:
    """Put the parts together that have waited for rivals, and process their messages; return how many were complete.

    Raises:
        Unavailable: Nothing was written; the next call does it.
    """
    times = env.times()
    now = times.wall_us
    if not await env.store.read(lambda reader: messages.due_for_assembly(reader, now, 1)):
        return 0  # the usual case, without a write transaction

    def job(tx: Tx) -> int:
        found = 0
        for row in messages.due_for_assembly(tx, now, BATCH):
            context = Context.for_message(env, tx, row, times)
            for whole in assemble(context, row):
                process_message(context, whole)
                found += 1
        return found

    return await env.store.write(job)


async def settle_lines(env: Env) -> int:
    """Settle each line with an open row or a held foreign message; return how many held messages were settled.

    Raises:
        Unavailable: Nothing was written; the next call does it.
    """
    times = env.times()
    since = times.wall_us - USUAL_DAYS * DAY_US
    chains = await env.store.read(lambda reader: balances.unsettled_chains(reader, since))
    settled = 0
    for chain in chains:

        def job(tx: Tx, chain: Chain = chain) -> int:
            sim = devices.sim_by_key(tx, chain.sim_key)
            assert sim is not None, "a line belongs to a SIM"
            source = Source(sim.sim_key, sim.device_id, sim.slot_index)
            return _settle(Context.open(env, tx, source, times), chain)

        settled += await env.store.write(job)
    return settled


def _settle(context: Context, chain: Chain) -> int:
    tx, now = context.tx, context.now
    line = Line(balances.state(tx, chain, now, foreign=True))
    foreign = line.foreign
    absences = balances.absences(tx, chain.sim_key, now - USUAL_DAYS * DAY_US)
    times = balances.receipt_times(tx, chain, now - (USUAL_DAYS + 1) * DAY_US)
    line.confirm_rows(now, absences, lambda since, until: usual_receipts(times, since, until, now))
    line.release_between(now, absences)
    if foreign:
        oldest = min(entry.time for entry in foreign)
        line.refute_taken(balances.between(tx, chain, oldest - 2 * BETWEEN_US, now), now)
    changed = [entry for _, entry in line.changes()]
    settled = apply_line(context, chain, line)
    _learn(context, chain, changed)
    return settled


def _learn(context: Context, chain: Chain, changed: list[Entry]) -> None:
    """Learn an SMSC whose messages home messages have often confirmed and never refuted."""
    released = {one.smsc for one in changed if one.why is Why.BETWEEN}
    for smsc in released - {None}:
        assert smsc is not None
        receipts, days, refuted = balances.released_through(context.tx, chain, smsc)
        if receipts >= LEARN_RECEIPTS and days >= LEARN_DAYS and not refuted:
            key = next(one.key for one in changed if one.smsc == smsc)
            balances.learn_smsc(
                context.tx, chain.sim_key, smsc, SmscSource.LEARNED, key, context.now
            )
            entries = balances.state(context.tx, chain, context.now, foreign=True)
            line = Line(entries)
            context.homes.append(smsc)
            line.trust(lambda one: is_home(one, context.homes))
            apply_line(context, chain, line)
