"""Journal entries for exports, views of SMS texts and comparisons with a network's statement."""

from typing import Any

from daemon.core.access.callers import Caller, Operation, require
from daemon.env import Env
from daemon.store import journal
from daemon.store.books import statement
from daemon.store.engine import Tx
from daemon.wire import Mode


async def note_export(env: Env, caller: Caller, facts: dict[str, Any]) -> None:
    """Append `export.made` to the journal.

    Raises:
        Unavailable: It cannot be written now; then nothing may be exported.
    """
    require(caller, Operation.EXPORT)
    now = env.clock.now_us()
    await env.store.write(lambda tx: journal.add(tx, "export.made", now, actor=caller.name, data=facts))


async def note_shown(
    env: Env, caller: Caller, facts: dict[str, Any], *, mode: Mode = Mode.LIVE, message_id: str | None = None
) -> None:
    """Append `messages.shown` to the journal.

    `facts` are the query and the number of texts shown. `mode` and `message_id` are of a single message; a list has
    messages of both modes, and None.

    Raises:
        Unavailable: It cannot be written now; then no text may be shown.
    """
    now = env.clock.now_us()
    await env.store.write(
        lambda tx: journal.add(
            tx, "messages.shown", now, actor=caller.name, message_id=message_id, mode=mode, data=facts
        )
    )


async def note_phones(env: Env, caller: Caller, command: str) -> None:
    """Append `phones.shown` to the journal: a command of the operator shows whole phone numbers.

    Raises:
        Unavailable: It cannot be written now; then none may be shown.
    """
    now = env.clock.now_us()
    data = {"command": command}
    await env.store.write(lambda tx: journal.add(tx, "phones.shown", now, actor=caller.name, data=data))


async def note_statement(env: Env, caller: Caller, digest: str, facts: dict[str, Any]) -> bool:
    """Append `statement.compared` to the journal; return False if this file was recorded before."""
    require(caller, Operation.COMPARE_STATEMENT)
    now = env.clock.now_us()

    def job(tx: Tx) -> bool:
        if statement.is_recorded(tx, digest):
            return False
        data = {"sha256": digest, **facts}
        journal.add(tx, "statement.compared", now, actor=caller.name, data=data, immediately=True)
        return True

    return await env.store.write(job)
