"""Settle the held messages of each line by time.

The line's own traffic confirms an open row, and home messages on both sides release a foreign message after 90 minutes.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Final

from daemon.core.inputs import Source
from daemon.core.limits import DAY_US
from daemon.core.messages.balance import BETWEEN_US, LineMessages
from daemon.core.messages.balance_chain import ChainEntry, Why
from daemon.core.messages.line_history import USUAL_DAYS, usual_receipts
from daemon.core.messages.trust import LEARN_DAYS, LEARN_RECEIPTS, SmscSource, is_home
from daemon.core.model import Message
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps.context import INTERNAL_ERROR, Context, JoinedMessage, internal_errors
from daemon.steps.judge import apply_line, learn_smsc
from daemon.steps.process_message import process_message, record_fault, record_unreadable
from daemon.steps.store_parts import Unread, assemble
from daemon.store.engine import Reader, Tx
from daemon.store.lines import devices
from daemon.store.messages import balances, messages
from daemon.store.messages.balances import Chain
from daemon.wire import MessageState
from parsers.masking import describe_error

BATCH: Final = 50
"""Messages put together in one database transaction; other writers wait for it."""
Tell = Callable[[str], None]
"""Takes the description of an internal error, for the log."""
_Process = Callable[[Context, JoinedMessage], MessageState]


def _raise(fault: str) -> None:
    """End the caller: it has no log, as in a test."""
    raise AssertionError(fault)


async def assemble_parts(env: Env, tell: Tell = _raise) -> int:
    """Put the parts together that have waited for rivals, and process their messages; return how many were complete.

    A message that causes an internal error is stored as unparsed, as at its intake, and `tell` gets the error.

    Raises:
        Unavailable: Nothing was written; the next call does it.
    """
    times = env.times()
    now = times.wall_us
    if not await env.store.read(lambda reader: messages.due_for_assembly(reader, now, 1)):
        return 0  # the usual case, without a write transaction

    def job(tx: Tx) -> int:
        rows = messages.due_for_assembly(tx, now, BATCH)
        return sum(_assemble(env, tx, row, times, process_message) for row in rows)

    try:
        return await env.store.write(job)
    except internal_errors(env):
        return await _assemble_one_by_one(env, times, tell)


async def _assemble_one_by_one(env: Env, times: Times, tell: Tell) -> int:
    """Put each message together alone; one that causes an internal error is not read, or not even put together."""

    def put_together(tx: Tx, row: Message) -> int:
        return _assemble(env, tx, row, times, process_message)

    def store_whole(tx: Tx, row: Message) -> int:
        return _assemble(env, tx, row, times, record_fault)

    def set_aside(tx: Tx, row: Message) -> int:
        messages.assemble_later(tx, row.id, None)
        record_unreadable(Context.for_message(env, tx, row, times), Unread(row.id, INTERNAL_ERROR))
        return 0

    found = 0
    for row in await env.store.read(
        lambda reader: messages.due_for_assembly(reader, times.wall_us, BATCH)
    ):
        for work in (put_together, store_whole, set_aside):
            try:
                found += await env.store.write(partial(work, row=row))
                break
            except internal_errors(env) as fault:
                tell(describe_error(fault))
    return found


def _assemble(env: Env, tx: Tx, row: Message, times: Times, process: _Process) -> int:
    """Put the parts of one message together; return the number of messages that they form."""
    context = Context.for_message(env, tx, row, times)
    whole = assemble(context, row)
    for one in whole:
        process(context, one)
    return len(whole)


async def settle_lines(env: Env, tell: Tell = _raise) -> int:
    """Settle each line with an open row or a held foreign message; return how many held messages were settled.

    A line that causes an internal error stays as it is, and `tell` gets the error.

    Raises:
        Unavailable: Nothing was written; the next call does it.
    """
    times = env.times()
    since = times.wall_us - USUAL_DAYS * DAY_US
    chains = await env.store.read(lambda reader: balances.unsettled_chains(reader, since))
    settled = 0
    for chain in chains:
        try:
            settled += await _settle(env, chain, times)
        except internal_errors(env) as fault:
            tell(describe_error(fault))
    return settled


async def _settle(env: Env, chain: Chain, times: Times) -> int:
    """Settle one line; return how many held messages were settled."""
    now = times.wall_us
    if not await env.store.read(lambda reader: _judged(reader, chain, now).changes()):
        return 0  # the usual case, without a write transaction

    def job(tx: Tx) -> int:
        sim = devices.sim_by_key(tx, chain.sim_key)
        assert sim is not None, "a line belongs to a SIM"
        source = Source(sim.sim_key, sim.device_id, sim.slot_index)
        context = Context.open(env, tx, source, times)
        line = _judged(tx, chain, now)
        changed = [entry for _, entry in line.changes()]
        done = apply_line(context, chain, line)
        _learn(context, chain, changed)
        return done

    return await env.store.write(job)


def _judged(reader: Reader, chain: Chain, now: int) -> LineMessages:
    """Return a line with the changes that time has brought."""
    line = LineMessages(balances.state(reader, chain, now, foreign=True))
    absences = balances.absences(reader, chain.sim_key, now - USUAL_DAYS * DAY_US)

    @cache
    def times() -> list[int]:
        return balances.receipt_times(reader, chain, now - (USUAL_DAYS + 1) * DAY_US)

    line.confirm_rows(
        now, absences, lambda since, until: usual_receipts(times(), since, until, now)
    )
    line.release_between(now, absences)
    line.join_without_route()
    # No message comes later than that, and an older one would be looked for every few seconds for ever.
    recent = [one for one in line.maybe_taken(now) if one.time >= now - USUAL_DAYS * DAY_US]
    taken = [
        entry
        for since, until in _spans(recent)
        for entry in balances.between(reader, chain, since, until)
    ]
    line.refute_taken(taken, now)
    return line


def _spans(entries: list[ChainEntry]) -> list[tuple[int, int]]:
    """Return the periods around these messages, without overlaps; the chain between them may be long."""
    found = list[tuple[int, int]]()
    # A message that was stored with a wrong clock has two times.
    for at in sorted({at for entry in entries for at in (entry.time, entry.at)}):
        since, until = at - 2 * BETWEEN_US, at + 2 * BETWEEN_US
        if found and since <= found[-1][1]:
            since = found.pop()[0]
        found.append((since, until))
    return found


def _learn(context: Context, chain: Chain, changed: list[ChainEntry]) -> None:
    """Learn an SMSC after home messages have confirmed its messages often and never refuted one."""
    released = {one.smsc: one for one in changed if one.why is Why.BETWEEN and one.smsc is not None}
    for smsc, entry in released.items():
        receipts, days, refuted = balances.released_through(context.tx, chain, smsc)
        if receipts >= LEARN_RECEIPTS and days >= LEARN_DAYS and not refuted:
            learn_smsc(context, chain, entry, SmscSource.LEARNED)
            line = LineMessages(balances.state(context.tx, chain, context.now, foreign=True))
            line.trust(lambda one: is_home(one, context.homes))
            apply_line(context, chain, line)
