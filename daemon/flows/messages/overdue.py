"""Report long messages with missing parts and receipts that have been held for too long; confirm or revoke wordings.

Each is journaled once. Parts are kept, and a late part still completes its message.
"""

from functools import partial
from typing import Final

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import FieldError, invalid, needed
from daemon.core.limits import EXPIRE_BATCH, HOUR_US
from daemon.core.messages.line_trust import HELD_US_MAX
from daemon.core.model import ApprovedPayer
from daemon.env import Env
from daemon.steps import confirmed_wordings
from daemon.steps.rejudge import rejudge_held
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.journal import Notice, add_notice
from daemon.store.messages import balances, messages
from daemon.store.messages.messages import Confirmed
from daemon.store.payments import payments, reviews
from daemon.wire import ErrorCode

PARTS_MISSING_US: Final = 24 * HOUR_US
"""The owner gets a notice about a message that has lacked parts for this long."""


async def report_missing_parts(env: Env) -> int:
    """Journal `message.incomplete` for messages that have been missing parts for a day; return their number."""
    now = env.clock.now_us()
    before = now - PARTS_MISSING_US
    if not await env.store.read(lambda reader: messages.incomplete_without_notice(reader, before, 1)):
        return 0  # the usual case, without a write transaction

    def job(tx: Tx) -> int:
        found = messages.incomplete_without_notice(tx, before, EXPIRE_BATCH)
        for message in found:
            messages.mark_noticed(tx, message.id)
            data = {
                "device_id": message.device_id,
                "slot_index": message.slot_index,
                "parts_seen": message.parts_seen,
                "parts_total": message.parts_total,
            }
            journal.add(tx, "message.incomplete", now, message_id=message.id, mode=message.mode, data=data)
        return len(found)

    return await env.store.write(job)


async def notify_overdue(env: Env) -> int:
    """Create one notice for each receipt that has been held for over 30 minutes; return their number."""
    now = env.clock.now_us()

    def job(tx: Tx) -> int:
        held = balances.held_without_notice(tx, now - HELD_US_MAX, EXPIRE_BATCH)
        for entry in held:
            review = reviews.open_for_message(tx, entry.key)
            data = {"review_id": None if review is None else review.id}
            add_notice(
                tx,
                Notice.RECEIPT_HELD,
                now,
                transaction_id=None if review is None else review.transaction_id,
                payment_id=messages.payment_of(tx, entry.key),
                message_id=entry.key,
                data=data,
            )
            balances.mark_noticed(tx, entry.key, now)
        return len(held)

    return await env.store.write(job)


async def revoke_approved_payer(env: Env, caller: Caller, payer_id: str) -> ApprovedPayer:
    """Revoke an approval and return it; earlier matches by it stay. Revoking again changes nothing.

    Raises:
        Refusal: APPROVED_PAYER_NOT_FOUND.
    """
    require(caller, Operation.MANAGE_PAYERS)
    now = env.clock.now_us()

    def job(tx: Tx) -> ApprovedPayer:
        payer = needed(payments.approved_payer(tx, payer_id, caller.mode), ErrorCode.APPROVED_PAYER_NOT_FOUND)
        if payments.revoke_payer(tx, payer_id, by=caller.name, now=now):
            data = {"approved_payer_id": payer.id}
            journal.add(tx, "payer.revoked", now, actor=caller.name, mode=payer.mode, data=data)
        revoked = payments.approved_payer(tx, payer_id, None)
        assert revoked is not None, "approvals are never deleted"
        return revoked

    return await env.store.write(job)


async def confirm_wording(env: Env, caller: Caller, message_id: str, *, undo: bool) -> Confirmed:
    """Trust the wording of this message from its sender from now on, or stop that; the caller has checked the password.

    Messages held for that wording, including this one, are judged again by the usual rules.

    Raises:
        Refusal: MESSAGE_NOT_FOUND; VALIDATION_ERROR with the reason why the message confirms no wording.
    """
    require(caller, Operation.MANAGE_MESSAGES)
    times = env.times()

    def job(tx: Tx) -> Confirmed:
        message = needed(messages.get(tx, message_id), ErrorCode.MESSAGE_NOT_FOUND)
        act = confirmed_wordings.revoke if undo else confirmed_wordings.confirm
        done = act(tx, env, message, by=caller.name, now=times.wall_us)
        if isinstance(done, str):
            raise invalid([FieldError("id", "invalid", done)])
        return done

    done = await env.store.write(job)
    after: int | None = None if undo else 0
    while after is not None:
        after = await env.store.write(partial(rejudge_held, env=env, row=done, times=times, after=after))
    return done
