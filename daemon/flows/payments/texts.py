"""Sending of queued SMS, each at most once: record the start, send, record the result.

After a crash between these steps it is unknown whether the SMS left the phone. Such an SMS becomes `unknown` and is not sent
again: a payer without it still has the payment page, but repeated SMS are spam.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import Refusal
from daemon.core.limits import EXPIRE_BATCH
from daemon.core.payments.payer_texts import CODES, TextKind, next_try_at
from daemon.core.payments.transaction_json import status_at
from daemon.env import Env
from daemon.modem.codec.pdu_encode import encode_submit
from daemon.modem.session.send import Outgoing, SmsEnded, SmsPartSent, SmsResult
from daemon.steps.settle import own_transaction
from daemon.store.engine import Tx
from daemon.store.payments import texts, transactions
from daemon.wire import ErrorCode, Mode, TransactionStatus

VALIDITY: Final = 143
"""TP-VP (23.040 clause 9.2.3.12.1): the network tries for 12 hours; a later code would only confuse the payer."""
_INTERRUPTED: Final = "the daemon ended while it was being sent"
_TOO_LATE: Final = "no line could send it in time"


class SentAgain(StrEnum):
    """The result of asking for the code once more."""

    QUEUED = "queued"
    SENT_BEFORE = "sent_before"
    NOT_WAITING = "not_waiting"
    SWITCHED_OFF = "switched_off"
    """The settings send no codes (`[transactions] code_sms_at`), or the transaction is of the sandbox."""
    NO_LINE = "no_line"
    """No line is ready to send, or its limits are reached."""
    NUMBER_LIMIT = "number_limit"
    """The customer's number has had `[limits] sms_per_number_hour` SMS within an hour."""


async def send_code_again(env: Env, caller: Caller, reference: str) -> SentAgain:
    """Queue the SMS with a transaction's code once more; for one transaction only once.

    Raises:
        Refusal: TRANSACTION_NOT_FOUND; BELONGS_TO_BRANCH.
    """
    require(caller, Operation.SEND_CODE)
    times, texting = env.times(), env.texting
    now = times.wall_us

    def job(tx: Tx) -> SentAgain:
        found = own_transaction(tx, caller, reference)
        if found.origin != "request":
            raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
        if status_at(found, times.lower_bound_us) is not TransactionStatus.PENDING:
            return SentAgain.NOT_WAITING
        if texting.at not in {"both", "request"} or found.mode is not Mode.LIVE:
            return SentAgain.SWITCHED_OFF
        sent = texts.of_transaction(tx, found.id)
        if any(text.kind is TextKind.CODE_AGAIN for text in sent):
            return SentAgain.SENT_BEFORE
        queued = texts.queue_code(tx, texting, env.new_id, found, now, asked_by=caller.name)
        if queued:
            return SentAgain.QUEUED
        number = found.phone_number
        limited = number is not None and not texts.may_receive(tx, texting, number, now)
        return SentAgain.NUMBER_LIMIT if limited else SentAgain.NO_LINE

    return await env.store.write(job)


class DueText(Struct, frozen=True):
    """The next SMS of a SIM.

    Attributes:
        outgoing: An SMS recorded as being sent: the caller sends it and reports the result.
        next_at: When the next SMS is due, in microseconds; None if none waits.
    """

    outgoing: Outgoing | None
    next_at: int | None = None


async def lease(env: Env, sim_key: str) -> DueText:
    """Take the SMS of a SIM that has been due longest, and record that it is being sent."""
    now = env.clock.now_us()

    def job(tx: Tx) -> DueText:
        while (text := texts.first_due(tx, sim_key, now)) is not None:
            if why := _useless_because(tx, text, now):
                texts.end(tx, text, "expired", why, now)
                continue
            try:
                pdus = encode_submit(
                    text.number,
                    text.body,
                    text.seq % 256,  # the same at each try, because parts of an earlier try belong to the same SMS
                    status_report=env.config.sms.reports,
                    validity=VALIDITY,
                )
                outgoing = Outgoing(text.id, pdus, text.parts_sent, text.number, text.body)
            except ValueError as error:
                texts.end(tx, text, "failed", str(error), now)
                continue
            texts.begin(tx, text)
            return DueText(outgoing)
        return DueText(None, texts.next_due(tx, sim_key))

    return await env.store.write(job)


def _useless_because(tx: Tx, text: texts.PayerText, now: int) -> str:
    """Return why an SMS is useless now, or "" if it should be sent."""
    if text.expires_at <= now:
        return _TOO_LATE
    if text.kind in CODES and not text.parts_sent:
        assert text.transaction_id is not None, "a code belongs to a transaction"
        request = transactions.get(tx, text.transaction_id)
        if request is None or request.status is not TransactionStatus.PENDING:
            return "the transaction no longer waits for its payment"
    return ""


async def part_sent(env: Env, sent: SmsPartSent) -> None:
    """Record that the network accepted a part."""
    now = env.clock.now_us()
    await env.store.write(lambda tx: texts.part_sent(tx, sent.id, sent.part, sent.reference, now))


async def ended(env: Env, end: SmsEnded) -> str:
    """Record the result of sending an SMS; return its new status."""
    now = env.clock.now_us()

    def job(tx: Tx) -> str:
        text = texts.get(tx, end.id)
        status = str(end.result)
        if end.result is SmsResult.RETRY:
            again_at = next_try_at(text.tries, now, text.expires_at)
            # A test of a modem shows the first result; a later retry would not help the operator.
            if again_at is not None and text.kind is not TextKind.TEST:
                texts.retry_later(tx, text.id, again_at, end.why)
                return "queued"
            status = "failed"
        texts.end(tx, text, status, end.why, now)
        return status

    return await env.store.write(job)


async def recover(env: Env) -> int:
    """Mark SMS that a crash interrupted as `unknown`; return their number. Call it before the phones are read."""
    now = env.clock.now_us()

    def job(tx: Tx) -> int:
        interrupted = texts.sending(tx)
        for text in interrupted:
            texts.end(tx, text, "unknown", _INTERRUPTED, now)
        return len(interrupted)

    return await env.store.write(job)


async def expire(env: Env) -> int:
    """End the SMS that waited too long for a line; return their number. Do nothing while our clock is in doubt."""
    times = env.times()
    if times.doubt is not None:
        return 0
    now, sure = times.wall_us, times.lower_bound_us
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
