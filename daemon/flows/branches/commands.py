"""Carry out at a branch the hub's commands about a payment: give it up, take it back, note the decision.

The outcome of a command is stored with its effect. A command that comes again is answered again and not carried out again.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from daemon.core.model import Payment
from daemon.env import Env
from daemon.steps import hand_up, settle
from daemon.steps.context import Context
from daemon.steps.pay import is_unconfirmed_history, settle_released
from daemon.store import journal
from daemon.store.branches import link
from daemon.store.engine import Tx
from daemon.store.messages import messages
from daemon.store.payments import payments, texts
from daemon.wire import Mode
from parsers.phone import read_phone

Command = Mapping[str, Any]
Outcome = dict[str, Any]
DONE: Outcome = {"done": True}


async def known_outcome(env: Env, command_id: str) -> Outcome | None:
    """Return the outcome of a command that was carried out before; None if it is new."""
    return await env.store.read(lambda reader: link.outcome_of(reader, command_id))


async def keep_outcome(env: Env, command: Command, outcome: Outcome) -> Outcome:
    """Store the outcome of a command that another flow carried out."""
    now = env.clock.now_us()
    return await env.store.write(lambda tx: link.add_outcome(tx, command, outcome, now))


async def claim(env: Env, command: Command) -> Outcome:
    """Give a payment up to the hub, unless it was used here.

    Raises:
        Unavailable: Nothing could be written.
    """
    now, actor = env.clock.now_us(), actor_of(command)

    def give(tx: Tx) -> Outcome:
        env.refuse_if_damaged()
        payment = payments.get(tx, command["subject"])
        why = _not_to_give(payment)
        if payment is None or why:
            return {"done": False, "why": why}
        if is_unconfirmed_history(tx, payment) and not command["body"].get("vouched"):
            return {"done": False, "why": "unconfirmed"}
        if payment.decider != "hub":
            into = str(command["body"].get("transaction_id") or payment.id)
            settle.detach_payment(tx, payment, into, actor=actor, now=now)
            hand_up.hand_up(tx, payment, actor=actor, now=now)
        return DONE

    return await _once(env, command, now, give)


def _not_to_give(payment: Payment | None) -> str:
    if payment is None:
        return "no such payment"
    if payment.standing == "used":
        return "used"
    return "reversed" if payment.reversed_at is not None else ""


async def release(env: Env, command: Command) -> Outcome:
    """Take back a payment that the hub gave back, and match it here.

    Raises:
        Unavailable: Nothing could be written.
    """
    times = env.times()

    def take(tx: Tx) -> Outcome:
        env.refuse_if_damaged()
        payment = payments.get(tx, command["subject"])
        if payment is None:
            return {"done": False, "why": "no such payment"}
        if payment.decider == "hub":
            payments.set_decider(tx, payment.id, "branch", "open")
            journal.add(
                tx,
                type="payment.given_back",
                mode=payment.mode,
                at=times.wall_us,
                actor="hub",
                payment_id=payment.id,
                message_id=payment.message_id,
            )
            message = messages.get(tx, payment.message_id)
            assert message is not None, "a payment belongs to a message"
            back = replace(payment, decider="branch", standing="open")
            settle_released(Context.for_message(env, tx, message, times), back)
        return DONE

    return await _once(env, command, times.wall_us, take)


async def hear(env: Env, command: Command) -> Outcome:
    """Note the hub's decision about a payment, or that a payment was paid twice."""
    now = env.clock.now_us()

    def note(tx: Tx) -> Outcome:
        about = payments.get(tx, command["subject"])
        journal.add(
            tx,
            type="notice.paid_twice" if command["kind"] == "paid_twice" else "hub.decided",
            mode=Mode.LIVE if about is None else about.mode,
            at=now,
            actor="hub",
            payment_id=command["subject"],
            data=dict(command["body"]),
        )
        return DONE

    return await _once(env, command, now, note)


async def send_sms(env: Env, command: Command) -> Outcome:
    """Queue an SMS to a payer on one of this branch's SIMs."""
    now = env.clock.now_us()
    number = read_phone(str(command["body"].get("number", "")))
    text = str(command["body"].get("text", ""))

    def queue(tx: Tx) -> Outcome:
        if number is not None and texts.queue_notice(
            tx, env.texting, env.new_id(), number, text, now
        ):
            return DONE
        return {"done": False, "why": "no line can send it, or its limit is reached"}

    return await _once(env, command, now, queue)


async def _once(
    env: Env, command: Command, now: int, carry_out: Callable[[Tx], Outcome]
) -> Outcome:
    """Carry a command out and store its outcome in the same commit, or return the outcome of the first time.

    Raises:
        Unavailable: Nothing could be written.
    """

    def job(tx: Tx) -> Outcome:
        known = link.outcome_of(tx, command["id"])
        return known or link.add_outcome(tx, command, carry_out(tx), now)

    return await env.store.write(job)


def actor_of(command: Command) -> str:
    """Return the name under which the journal records a command of the hub."""
    return f"hub:{command.get('by') or 'momo'}"
