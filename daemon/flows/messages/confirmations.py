"""Confirm an unverified wording or revoke it (docs/operators/templates.md); revoke the approval of a payer's name for a number."""

from functools import partial

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.model import ApprovedPayer
from daemon.env import Env
from daemon.steps import confirmed_wordings
from daemon.steps.rejudge import rejudge_held
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.messages import messages
from daemon.store.messages.confirmations import Confirmed
from daemon.store.payments import payments
from daemon.wire import ErrorCode


async def revoke_approved_payer(env: Env, caller: Caller, payer_id: str) -> ApprovedPayer:
    """Revoke an approval and return it; earlier matches by it stay. Revoking again changes nothing.

    Raises:
        Refusal: APPROVED_PAYER_NOT_FOUND.
        Unavailable: Nothing could be written.
    """
    require(caller, Operation.MANAGE_PAYERS)
    now = env.clock.now_us()

    def job(tx: Tx) -> ApprovedPayer:
        payer = payments.approved_payer(tx, payer_id, caller.mode)
        if payer is None:
            raise Refusal(ErrorCode.APPROVED_PAYER_NOT_FOUND)
        if payments.revoke_payer(tx, payer_id, by=caller.name, now=now):
            journal.add(
                tx,
                type="payer.revoked",
                mode=payer.mode,
                at=now,
                actor=caller.name,
                data={"approved_payer_id": payer.id},
            )
        revoked = payments.approved_payer(tx, payer_id, None)
        assert revoked is not None, "approvals are never deleted"
        return revoked

    return await env.store.write(job)


async def confirm_wording(env: Env, caller: Caller, message_id: str, *, undo: bool) -> Confirmed:
    """Trust the wording of this message from its sender from now on, or stop that; the caller has checked the password.

    Messages held for that wording, including this one, are judged again by the usual rules.

    Raises:
        Refusal: MESSAGE_NOT_FOUND; VALIDATION_ERROR with the reason why the message confirms no wording.
        Unavailable: Nothing could be written.
    """
    require(caller, Operation.MANAGE_MESSAGES)
    times = env.times()

    def job(tx: Tx) -> Confirmed:
        message = messages.get(tx, message_id)
        if message is None:
            raise Refusal(ErrorCode.MESSAGE_NOT_FOUND)
        act = confirmed_wordings.revoke if undo else confirmed_wordings.confirm
        done = act(tx, env, message, by=caller.name, now=times.wall_us)
        if isinstance(done, str):
            raise invalid([FieldError("id", "invalid", done)])
        return done

    done = await env.store.write(job)
    after: int | None = None if undo else 0
    while after is not None:
        after = await env.store.write(
            partial(rejudge_held, env=env, row=done, times=times, after=after)
        )
    return done
