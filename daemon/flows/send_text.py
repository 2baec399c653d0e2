"""Send the SMS that wait in the outbox, each at most once: write down that it goes out, let it go, write down what came.

Between the first and the last nobody knows whether it left the phone. So what a crash interrupts becomes `unknown`
and is not sent again: a payer without an SMS still has the payment page; one with many of them has a shop that spams.
"""

from dataclasses import dataclass
from typing import Final

from daemon.core.limits import EXPIRE_BATCH
from daemon.core.texting import TextKind, next_try_at
from daemon.env import Env
from daemon.modem.pdu_encode import encode_submit
from daemon.modem.session_send import Outgoing, SmsEnded, SmsPartSent, SmsResult
from daemon.store import texts, transactions
from daemon.store.engine import Tx
from daemon.wire import TransactionStatus

VALIDITY: Final = 143
"""TP-VP (23.040 clause 9.2.3.12.1): the network tries for 12 hours; a later code would only confuse."""
_INTERRUPTED: Final = "the daemon ended while it was being sent"
_TOO_LATE: Final = "no line could send it in time"


@dataclass(frozen=True, slots=True)
class Due:
    """What a SIM is to send now.

    Attributes:
        outgoing: Written down as being sent: hand it to the phone, and say what became of it.
        next_at: When to look again if nothing is due, in microseconds; None when nothing waits.
    """

    outgoing: Outgoing | None
    next_at: int | None = None


async def lease(env: Env, sim_key: str) -> Due:
    """Take the SMS that is due longest on a SIM, and write down that it is being sent."""
    now = env.clock.now_us()

    def job(tx: Tx) -> Due:
        while (text := texts.first_due(tx, sim_key, now)) is not None:
            if why := _pointless(tx, text, now):
                texts.end(tx, text, "expired", why, now)
                continue
            try:
                outgoing = _encode(env, text)
            except ValueError as error:
                texts.end(tx, text, "failed", str(error), now)
                continue
            texts.begin(tx, text)
            return Due(outgoing)
        return Due(None, texts.next_due(tx, sim_key))

    return await env.store.write(job)


def _pointless(tx: Tx, text: texts.Text, now: int) -> str:
    """Say why an SMS is of no use any more, "" when it is."""
    if text.expires_at <= now:
        return _TOO_LATE
    if text.kind is TextKind.CODE and not text.parts_sent:
        assert text.transaction_id is not None, "a code is an order's"
        request = transactions.get(tx, text.transaction_id)
        if request is None or request.status is not TransactionStatus.PENDING:
            return "the order no longer waits for its payment"
    return ""


def _encode(env: Env, text: texts.Text) -> Outgoing:
    pdus = encode_submit(
        text.number,
        text.body,
        text.seq % 256,  # the same at each try: parts that went out before belong together
        status_report=env.config.sms.reports,
        validity=VALIDITY,
    )
    return Outgoing(text.id, pdus, text.parts_sent)


async def part_sent(env: Env, sent: SmsPartSent) -> None:
    """Write down that the network took a part."""
    now = env.clock.now_us()
    await env.store.write(lambda tx: texts.part_sent(tx, sent.id, sent.part, sent.reference, now))


async def ended(env: Env, end: SmsEnded) -> str:
    """Write down what became of an SMS; return its status now."""
    now = env.clock.now_us()

    def job(tx: Tx) -> str:
        text = texts.get(tx, end.id)
        status = str(end.result)
        if end.result is SmsResult.RETRY:
            again_at = next_try_at(text.tries, now, text.expires_at)
            # Whoever tests a modem wants to know what it said, not that it says something else later.
            if again_at is not None and text.kind is not TextKind.TEST:
                texts.again(tx, text.id, again_at, end.why)
                return "queued"
            status = "failed"
        texts.end(tx, text, status, end.why, now)
        return status

    return await env.store.write(job)


async def recover(env: Env) -> int:
    """Call before the phones are read: what was being sent when the daemon ended is in doubt for ever."""
    now = env.clock.now_us()

    def job(tx: Tx) -> int:
        interrupted = texts.sending(tx)
        for text in interrupted:
            texts.end(tx, text, "unknown", _INTERRUPTED, now)
        return len(interrupted)

    return await env.store.write(job)


async def expire(env: Env) -> int:
    """End what waited too long for its line; return how many. None while our clock is in doubt."""
    if env.clock_doubt() is not None:
        return 0
    now, sure = env.clock.now_us(), env.sure_us()
    if not await env.store.read(lambda reader: texts.overdue(reader, sure)):
        return 0

    def job(tx: Tx) -> int:
        overdue = texts.overdue(tx, sure)
        for text in overdue:
            texts.end(tx, text, "expired", _TOO_LATE, now)
        return len(overdue)

    total = 0
    while (count := await env.store.write(job)) > 0:
        total += count
        if count < EXPIRE_BATCH:
            break
    return total
