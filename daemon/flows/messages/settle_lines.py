"""Put parts together that waited for rivals, and settle the rows and the provisional balance of each line by time."""

from collections.abc import Callable
from functools import partial
from typing import Final

from daemon.core.model import Message
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps.context import INTERNAL_ERROR, Context, JoinedMessage, internal_errors
from daemon.steps.judge import Line, due_of
from daemon.steps.process_message import process_message, record_fault, record_unreadable
from daemon.steps.store_parts import ASSEMBLE_AFTER_US, Unread, assemble, pair_again
from daemon.store.engine import Reader, Tx
from daemon.store.messages import balances, messages
from daemon.store.messages.balances import Chain
from daemon.wire import MessageState
from parsers.masking import describe_error

BATCH: Final = 50
"""Messages put together in one database transaction; other writers wait for it."""
Tell = Callable[[str], None]
"""Takes the description of an internal error, for the log."""


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
    if not await env.store.read(lambda reader: messages.due_for_assembly(reader, now, ASSEMBLE_AFTER_US, 1)):
        return 0  # the usual case, without a write transaction

    def job(tx: Tx) -> int:
        rows = messages.due_for_assembly(tx, now, ASSEMBLE_AFTER_US, BATCH)
        return sum(_assemble(env, tx, row, times, _process) for row in rows)

    try:
        return await env.store.write(job)
    except internal_errors(env):
        return await _assemble_one_by_one(env, times, tell)


async def _assemble_one_by_one(env: Env, times: Times, tell: Tell) -> int:
    """Put each message together alone; one that causes an internal error is not read, or not even put together."""

    def put_together(tx: Tx, row: Message) -> int:
        return _assemble(env, tx, row, times, _process)

    def store_whole(tx: Tx, row: Message) -> int:
        return _assemble(env, tx, row, times, record_fault)

    def set_aside(tx: Tx, row: Message) -> int:
        messages.assemble_later(tx, row.id, None)
        record_unreadable(Context.for_message(env, tx, row, times), Unread(row.id, INTERNAL_ERROR))
        return 0

    found = 0
    for row in await env.store.read(
        lambda reader: messages.due_for_assembly(reader, times.wall_us, ASSEMBLE_AFTER_US, BATCH)
    ):
        for work in (put_together, store_whole, set_aside):
            try:
                found += await env.store.write(partial(work, row=row))
                break
            except internal_errors(env) as fault:
                tell(describe_error(fault))
    return found


def _assemble(
    env: Env, tx: Tx, row: Message, times: Times, process: Callable[[Context, JoinedMessage], MessageState]
) -> int:
    """Put the parts of one message together; return the number of messages that they form."""
    context = Context.for_message(env, tx, row, times)
    whole = assemble(context, row)
    for one in whole:
        process(context, one)
    return len(whole)


def _process(context: Context, whole: JoinedMessage) -> MessageState:
    """Process a message; if it is no text that momo knows, a part is a stranger's: process the other pairings of its parts."""
    state = process_message(context, whole)
    row = messages.get(context.tx, whole.message_id) if state is MessageState.UNPARSED else None
    if row is None:
        return state
    for other in pair_again(context, row):
        beside = messages.get(context.tx, other.message_id)
        if beside is not None and beside.state is MessageState.INCOMPLETE:
            process_message(context, other)
    return state


async def settle_lines(env: Env, tell: Tell = _raise) -> int:
    """Settle each line that has rows or a provisional balance; return how many held messages were settled.

    A line that causes an internal error stays as it is, and `tell` gets the error.

    Raises:
        Unavailable: Nothing was written; the next call does it.
    """
    times = env.times()
    settled = 0
    for chain in await env.store.read(balances.unsettled_chains):
        try:
            settled += await _settle(env, chain, times)
        except internal_errors(env) as fault:
            tell(describe_error(fault))
    return settled


async def _settle(env: Env, chain: Chain, times: Times) -> int:
    """Settle one line; return how many held messages were settled."""
    now = times.wall_us

    def look(reader: Reader) -> bool:
        return due_of(reader, chain, balances.state(reader, chain), now).is_nothing

    if await env.store.read(look):
        return 0  # the usual case, without a write transaction

    def job(tx: Tx) -> int:
        line = Line(Context.of_line(env, tx, chain.sim_key, times), chain)
        line.settle()
        line.save()
        return line.settled

    return await env.store.write(job)
