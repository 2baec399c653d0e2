"""POST /v1/test/payments: a test SMS, processed by the real parser in test mode."""

from typing import Annotated, Any

from msgspec import Struct

from daemon.api.http.body import read_object
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, finished
from daemon.api.openapi.describe import answer, described
from daemon.core import json_values
from daemon.core.errors import Refusal
from daemon.core.inputs import HttpAnswer, Idempotency
from daemon.core.json_values import warnings_meta
from daemon.core.messages.message_json import (
    MessageInFullAnswer,
    RepeatedMessageAnswer,
)
from daemon.core.payments.review_json import ReviewAnswer
from daemon.core.payments.transaction_json import TransactionAnswer
from daemon.core.reading import read
from daemon.core.shape import sample
from daemon.flows.messages.ingest import ingest
from daemon.flows.messages.simulate import (
    SimulatedSms,
    SimulateRequest,
    received_message_id,
    simulate_sms,
)
from daemon.steps.intake import Ingested
from daemon.store import idempotency
from daemon.store.engine import Reader, Tx
from daemon.store.messages import messages
from daemon.store.payments import review_evidence, reviews, transaction_list, transactions
from daemon.wire import ErrorCode, MessageState, Mode


class SandboxOutcome(Struct, frozen=True):
    """What a test payment did."""

    message: MessageInFullAnswer | RepeatedMessageAnswer
    transaction: TransactionAnswer | None
    request: Annotated[TransactionAnswer | None, sample(None)]
    review: Annotated[ReviewAnswer | None, sample(None)]


@described(
    "Make a test payment",
    answer(SandboxOutcome),
    reads=SimulateRequest,
    errors=(
        ErrorCode.SESSION_REQUIRED,
        ErrorCode.TRANSACTION_NOT_FOUND,
    ),
    example={"reference": "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f"},
    idempotent=True,
)
async def create(call: Call) -> Reply:
    """Simulate a payment: the sandbox's network sends a receipt by SMS, and the answer has the result.

    Answers `{success, data: {message, transaction, request, review}}`: the parsed SMS, the transaction that it paid (or
    the one in `reference`), the current state of the transaction in `reference`, and the open review of the payment;
    null if there is none.
    """
    if call.caller.mode is Mode.LIVE:
        raise Refusal(
            ErrorCode.SESSION_REQUIRED, "A live key cannot create test payments: use a test key."
        )
    body = await read_object(call.scope, call.receive)
    asked = claim(call, body)
    wanted, warnings = read(SimulateRequest, body)
    async with call.service.inflight.alone(asked):
        answer = await call.env.store.look(lambda reader: idempotency.answered(reader, asked))
        if answer is None:
            simulated = await simulate_sms(call.env, wanted)
            meta = warnings_meta(warnings)
            answer = await _deliver(call, simulated, asked, meta)
    return finished(answer)


async def _deliver(
    call: Call, simulated: SimulatedSms, asked: Idempotency | None, meta: dict[str, Any] | None
) -> HttpAnswer:
    """Deliver the SMS, through the simulated phone if one is attached, and store the answer for a repeat.

    Raises:
        Unavailable: The disk is full, or the simulated phone did not deliver the SMS in time.
    """
    now = call.env.clock.now_us()

    def answer(tx: Tx, message_id: str | None) -> HttpAnswer:
        return idempotency.once(
            tx,
            asked,
            now,
            lambda: HttpAnswer(
                200, json_values.success(_result(tx, simulated, message_id, now), meta)
            ),
        )

    deliver = call.service.hooks.deliver
    if deliver is not None:
        # The phone's own loop stores the SMS, so the answer is stored after it, in a separate write.
        source = await deliver(simulated.provider, [part.pdu for part in simulated.parts])
        message_id = await received_message_id(call.env, source, simulated.parts[-1].pdu)
        return await call.env.store.write(lambda tx: answer(tx, message_id))
    answers: list[HttpAnswer] = []

    def keep(tx: Tx, taken: Ingested) -> None:
        answers.append(answer(tx, taken.concluded[0][0] if taken.concluded else None))

    await ingest(call.env, simulated.source, simulated.parts, keep)
    return answers[-1]


def _result(
    reader: Reader, simulated: SimulatedSms, message_id: str | None, now: int
) -> SandboxOutcome:
    """Build the result for the SMS; without a message id it is an exact copy of an earlier SMS."""
    found = None if message_id is None else messages.with_line(reader, message_id)
    if found is None:
        again = RepeatedMessageAnswer(MessageState.DUPLICATE, simulated.sender, simulated.text)
        return SandboxOutcome(again, None, _seen(reader, simulated.transaction_id, now), None)
    message, _line = found
    about, waiting = simulated.transaction_id, reviews.open_for_message(reader, message.id)
    if message.payment_id is not None:
        verified = transactions.paid_by(reader, message.payment_id)
        about = about if verified is None else verified.id
        waiting = next(iter(reviews.open_for_payment(reader, message.payment_id)), waiting)
    seen = (
        None if waiting is None else review_evidence.of_review(reader, waiting.id, Mode.TEST, now)
    )
    return SandboxOutcome(
        MessageInFullAnswer.of(*found),
        _seen(reader, about, now),
        _seen(reader, simulated.transaction_id, now),
        None if seen is None else ReviewAnswer.of(seen, now),
    )


def _seen(reader: Reader, transaction_id: str | None, now: int) -> TransactionAnswer | None:
    row = (
        None
        if transaction_id is None
        else transaction_list.by_id(reader, transaction_id, Mode.TEST)
    )
    return None if row is None else TransactionAnswer.of(*row, now)
