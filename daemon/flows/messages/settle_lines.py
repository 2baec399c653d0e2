"""Settle the held messages of each line by time (decisions.md section 4, rules 5 and 6).

The line's own traffic confirms an open row, and home messages on both sides release a foreign message after 90 minutes.
"""

from functools import cache
from typing import Final

from daemon.core.inputs import Source
from daemon.core.limits import DAY_US
from daemon.core.messages.balance import BETWEEN_US, Line
from daemon.core.messages.balance_chain import Entry, Why
from daemon.core.messages.line_history import USUAL_DAYS, usual_receipts
from daemon.core.messages.trust import LEARN_DAYS, LEARN_RECEIPTS, SmscSource, is_home
from daemon.env import Env
from daemon.steps.context import Context
from daemon.steps.judge import apply_line, learn_smsc
from daemon.steps.process_message import process_message
from daemon.steps.store_parts import assemble
from daemon.store.engine import Reader, Tx
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
    now = times.wall_us
    since = now - USUAL_DAYS * DAY_US
    chains = await env.store.read(
        lambda reader: list(
            dict.fromkeys(
                [*balances.unsettled_chains(reader, since), *balances.unproved_chains(reader)]
            )
        )
    )
    settled = 0
    for chain in chains:
        if not await env.store.read(lambda reader, one=chain: _judged(reader, one, now).changes()):  # type: ignore[misc]
            continue  # the usual case, without a write transaction

        def job(tx: Tx, chain: Chain = chain) -> int:
            sim = devices.sim_by_key(tx, chain.sim_key)
            assert sim is not None, "a line belongs to a SIM"
            source = Source(sim.sim_key, sim.device_id, sim.slot_index)
            context = Context.open(env, tx, source, times)
            line = _judged(tx, chain, now)
            changed = [entry for _, entry in line.changes()]
            done = apply_line(context, chain, line)
            _learn(context, chain, changed)
            return done

        settled += await env.store.write(job)
    return settled


def _judged(reader: Reader, chain: Chain, now: int) -> Line:
    """Return a line with the changes that time has brought."""
    line = Line(balances.state(reader, chain, now, foreign=True))
    foreign = line.foreign
    absences = balances.absences(reader, chain.sim_key, now - USUAL_DAYS * DAY_US)

    @cache
    def times() -> list[int]:
        return balances.receipt_times(reader, chain, now - (USUAL_DAYS + 1) * DAY_US)

    line.confirm_rows(
        now, absences, lambda since, until: usual_receipts(times(), since, until, now)
    )
    if line.is_unproved:
        since = min(one.stored_at for one in line.beginning)
        if not balances.was_contradicted(reader, chain, since):
            line.confirm_beginning(now, absences)
    line.release_between(now, absences)
    line.join_without_route()
    if foreign:
        oldest = min(entry.time for entry in foreign)
        line.refute_taken(balances.between(reader, chain, oldest - 2 * BETWEEN_US, now), now)
    return line


def _learn(context: Context, chain: Chain, changed: list[Entry]) -> None:
    """Learn an SMSC after home messages have confirmed its messages often and never refuted one."""
    released = {one.smsc: one for one in changed if one.why is Why.BETWEEN and one.smsc is not None}
    for smsc, entry in released.items():
        receipts, days, refuted = balances.released_through(context.tx, chain, smsc)
        if receipts >= LEARN_RECEIPTS and days >= LEARN_DAYS and not refuted:
            learn_smsc(context, chain, entry, SmscSource.LEARNED)
            line = Line(balances.state(context.tx, chain, context.now, foreign=True))
            line.trust(lambda one: is_home(one, context.homes))
            apply_line(context, chain, line)
