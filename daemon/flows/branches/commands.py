"""Carry out at a branch what its hub asks about a payment: give it up, take it back, hear what was decided.

What came of a command is stored with its effect. A command that comes again is answered again and not carried out again.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from daemon.core.model import Payment
from daemon.env import Env
from daemon.steps import hand_up, settle
from daemon.steps.context import Context
from daemon.steps.pay import settle_released
from daemon.store import journal
from daemon.store.branches import link
from daemon.store.engine import Tx
from daemon.store.messages import messages
from daemon.store.payments import payments, reviews, texts, transactions
from daemon.wire import Mode
from parsers.phone import read_phone

Command = Mapping[str, Any]
Outcome = dict[str, Any]
DONE: Outcome = {"done": True}


async def known_outcome(env: Env, command_id: str) -> Outcome | None:
    """Return what came of a command that was carried out before."""
    return await env.store.read(lambda reader: link.outcome_of(reader, command_id))


async def keep_outcome(env: Env, command: Command, outcome: Outcome) -> Outcome:
    """Store what came of a command that another flow carried out."""
    now = env.clock.now_us()
    return await env.store.write(lambda tx: link.add_outcome(tx, command, outcome, now))


async def claim(env: Env, command: Command) -> Outcome:
    """Give a payment up to the hub, unless it was used here.

    Raises:
        Unavailable: Nothing could be written.
    """
    times, actor = env.times(), _actor(command)
    now = times.wall_us

    def job(tx: Tx) -> Outcome:
        env.refuse_if_damaged()
        known = link.outcome_of(tx, command["id"])
        if known is not None:
            return known
        payment = payments.get(tx, command["subject"])
        why = _not_to_give(payment)
        if payment is None or why:
            return link.add_outcome(tx, command, {"done": False, "why": why}, now)
        if payment.decider != "hub":
            _detach(tx, payment, command["body"], actor, now)
            hand_up.hand_up(tx, payment, actor=actor, now=now)
        return link.add_outcome(tx, command, DONE, now)

    return await env.store.write(job)


def _not_to_give(payment: Payment | None) -> str:
    if payment is None:
        return "no such payment"
    if payment.standing == "used":
        return "used"
    return "reversed" if payment.reversed_at is not None else ""


def _detach(tx: Tx, payment: Payment, body: Mapping[str, Any], actor: str, now: int) -> None:
    """Take a payment from its holder, from the transaction that waits for it, and from its review."""
    holder = transactions.paid_by(tx, payment.id)
    if holder is not None:
        transactions.merge_holder(tx, holder.id, str(body.get("transaction_id") or payment.id))
    waiting = transactions.holding(tx, payment.id)
    if waiting is not None:
        settle.release(tx, waiting, payment.message_id, payment.id, actor=actor, now=now)
    for review in reviews.open_for_payment(tx, payment.id):
        reviews.close(tx, review.id, "used_elsewhere", by=actor, now=now)


async def release(env: Env, command: Command) -> Outcome:
    """Take back a payment that the hub gave back, and match it here.

    Raises:
        Unavailable: Nothing could be written.
    """
    times = env.times()

    def job(tx: Tx) -> Outcome:
        env.refuse_if_damaged()
        known = link.outcome_of(tx, command["id"])
        if known is not None:
            return known
        payment = payments.get(tx, command["subject"])
        if payment is None:
            outcome = {"done": False, "why": "no such payment"}
            return link.add_outcome(tx, command, outcome, times.wall_us)
        if payment.decider == "hub":
            _take_back(tx, payment, times.wall_us)
            message = messages.get(tx, payment.message_id)
            assert message is not None, "a payment belongs to a message"
            back = replace(payment, decider="branch", standing="open")
            settle_released(Context.for_message(env, tx, message, times), back)
        return link.add_outcome(tx, command, DONE, times.wall_us)

    return await env.store.write(job)


def _take_back(tx: Tx, payment: Payment, now: int) -> None:
    payments.set_decider(tx, payment.id, "branch", "open")
    journal.add(
        tx,
        type="payment.given_back",
        mode=payment.mode,
        at=now,
        actor="hub",
        payment_id=payment.id,
        message_id=payment.message_id,
    )


async def hear(env: Env, command: Command) -> Outcome:
    """Note what the hub decided about a payment, or that one was paid twice."""
    now = env.clock.now_us()
    body = dict(command["body"])

    def job(tx: Tx) -> Outcome:
        known = link.outcome_of(tx, command["id"])
        if known is None:
            about = payments.get(tx, command["subject"])
            journal.add(
                tx,
                type="notice.paid_twice" if command["kind"] == "paid_twice" else "hub.decided",
                mode=Mode.LIVE if about is None else about.mode,
                at=now,
                actor="hub",
                payment_id=command["subject"],
                data=body,
            )
        return link.add_outcome(tx, command, DONE, now)

    return await env.store.write(job)


async def send_sms(env: Env, command: Command) -> Outcome:
    """Queue an SMS to a payer on one of this branch's SIMs."""
    now = env.clock.now_us()
    number = read_phone(str(command["body"].get("number", "")))
    text = str(command["body"].get("text", ""))

    def job(tx: Tx) -> Outcome:
        known = link.outcome_of(tx, command["id"])
        if known is not None:
            return known
        queued = number is not None and texts.queue_notice(
            tx, env.texting, env.new_id(), number, text, now
        )
        outcome = (
            DONE
            if queued
            else {"done": False, "why": "no line can send it, or its limit is reached"}
        )
        return link.add_outcome(tx, command, outcome, now)

    return await env.store.write(job)


def _actor(command: Command) -> str:
    return f"hub:{command.get('by') or 'momo'}"
