"""Confirm an unverified wording by one genuine message, or take that back (docs/templates.md)."""

from functools import partial

from daemon.core.access import Caller
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.env import Env
from daemon.intake import vouched
from daemon.intake.again import judge_again
from daemon.store import messages
from daemon.store.confirmed import Confirmed
from daemon.store.engine import Tx
from daemon.wire import ErrorCode


async def confirm(env: Env, caller: Caller, message_id: str, *, undo: bool) -> Confirmed:
    """Believe the wording of this message, from its sender, from now on; the password was given.

    What is held for that wording, this message too, is judged again by the rules of all others.

    Raises:
        Refusal: MESSAGE_NOT_FOUND; VALIDATION_ERROR: the message proves no wording, and why.
        Unavailable: Nothing could be written.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> Confirmed:
        message = messages.get(tx, message_id)
        if message is None:
            raise Refusal(ErrorCode.MESSAGE_NOT_FOUND)
        act = vouched.take_back if undo else vouched.confirm
        done = act(tx, env, message, by=caller.name, now=now)
        if isinstance(done, str):
            raise invalid([FieldError("id", "invalid", done)])
        return done

    done = await env.store.write(job)
    after: int | None = None if undo else 0
    while after is not None:
        after = await env.store.write(partial(judge_again, env=env, row=done, now=now, after=after))
    return done
