"""The message journal of a running daemon: opened and read at the start, then copied to the second folder."""

import asyncio
from pathlib import Path
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.messages.message_journal import journal_key
from daemon.env import Env
from daemon.flows.messages.ingest import recover
from daemon.loops.keep_running import note_work
from daemon.runtime.log import Log
from daemon.runtime.message_journal import MessageJournal, SecondFolder

WORKER: Final = "message journal"
RETRY_S: Final = 5.0
"""Between two tries while the database or the journal cannot be read or written."""
FETCH_S: Final = 60.0
"""Time limit for reading the second folder at a start."""
COPY_EVERY_S: Final = 5.0
COPY_S: Final = 120.0
"""Longest time that a copy may take before the watchdog reports it; a stick writes about 5 MB a second."""


def open_message_journal(env: Env) -> None:
    """Open the message journal; call it whenever the database was opened, and `recover_messages` after it."""
    assert env.account_key, "the shop is set up"
    if env.message_journal is not None:
        env.message_journal.close()
    env.recovering = True
    second = SecondFolder(env.config.backup.messages_to)
    env.message_journal = MessageJournal(Path(env.home), journal_key(env.account_key), second)


async def recover_messages(env: Env, log: Log) -> None:
    """Process the parts that the database lacks, and return when that is done; until then no port may be opened."""
    message_journal = env.message_journal
    assert message_journal is not None, "the caller has opened it"
    if message_journal.second.path:
        # The parts that only the second folder has, without waiting for a USB stick that hangs.
        fetching = asyncio.create_task(asyncio.to_thread(message_journal.fetch_back))
        await asyncio.wait([fetching], timeout=FETCH_S)
        if not fetching.done():
            log.warning("messages.not_fetched", why="the second folder does not answer")
        elif error := fetching.exception():
            log.warning("messages.not_fetched", why=str(error))
    said = ""
    while True:
        try:
            done = await recover(env)
        except (Unavailable, OSError) as failure:
            if str(failure) != said:
                said = str(failure)
                log.warning("messages.not_recovered", why=said)
            if isinstance(failure, OSError):
                env.journal_fault = said
            await asyncio.sleep(RETRY_S)
            continue
        if done.messages:
            log.warning("messages.recovered", messages=done.messages, payments=done.payments)
        env.recovering, env.journal_fault = False, ""
        return


async def copy_messages(env: Env, log: Log) -> None:
    """Copy the message journal to the second folder until cancelled; a missing folder stops nothing."""
    said = ""
    while True:
        message_journal = env.message_journal
        if message_journal is not None and message_journal.second.path:
            env.heartbeat(WORKER, COPY_S)
            await asyncio.to_thread(message_journal.copy_to_second)
            if message_journal.second.why != said:
                said = message_journal.second.why
                if said:
                    log.warning("messages.not_copied", why=said)
                else:
                    log.info("messages.copied")
        await note_work(env, log, WORKER)
        env.heartbeat(WORKER, COPY_EVERY_S)
        await asyncio.sleep(COPY_EVERY_S)
