"""POST /v1/test/payments: a made-up SMS through the real parser, in test mode (decisions.md section 8)."""

from collections.abc import Callable
from typing import Any, Final

from daemon.api.described import described
from daemon.api.fields import Fields, ignored
from daemon.api.idempotency import claim
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, finished
from daemon.core import local_shapes, sandbox, shapes
from daemon.core.errors import Refusal
from daemon.core.limits import MESSAGE_CHARACTERS_MAX
from daemon.core.requests import Answer, Idempotency
from daemon.core.review_shapes import review as review_shape
from daemon.core.shapes import warned
from daemon.core.transaction_shapes import single
from daemon.flows.ingest import Ingested, ingest
from daemon.flows.simulate import MadeUp, SimulateRequest, make_up, taken_in
from daemon.modem.pdu_fields import write_address, write_time
from daemon.store import evidence, idempotency, lists, reviews, transactions
from daemon.store.engine import Reader, Tx
from daemon.wire import ErrorCode, MessageState, Mode

KNOWN: Final = (
    "provider",
    "reference",
    "amount",
    "payer_name",
    "payer_phone",
    "reference_text",
    "transaction_id",
    "late",
    "sender",
    "text",
    "sent_at",
)
SENDER_CHARACTERS_MAX: Final = 20
TYPED_CHARACTERS_MAX: Final = 60
NAME_CHARACTERS_MAX: Final = 60


def read(fields: Fields) -> SimulateRequest:
    """Read the body.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    provider = fields.provider("provider", sandbox.PROVIDERS) or sandbox.PROVIDERS[0]
    text = fields.text("text", most=MESSAGE_CHARACTERS_MAX, lines=True)
    reference = fields.text("reference")
    amount = fields.amount("amount")
    if text is None and reference is None and not fields.given("amount"):
        fields.fail("amount", "required", "this field is required")
    found = SimulateRequest(
        provider=provider,
        reference=reference,
        amount_minor=amount,
        payer_name=fields.text("payer_name", most=NAME_CHARACTERS_MAX) or sandbox.PAYER,
        payer_phone=fields.phone("payer_phone"),
        reference_text=fields.text("reference_text", most=TYPED_CHARACTERS_MAX),
        transaction_id=fields.text("transaction_id", most=TYPED_CHARACTERS_MAX),
        late=fields.boolean("late", default=False),
        sender=fields.text("sender", most=SENDER_CHARACTERS_MAX),
        text=text,
        sent_at=fields.time("sent_at"),
    )
    _check_sms(fields, found.sender, found.sent_at)
    fields.done()
    return found


def _check_sms(fields: Fields, sender: str | None, sent_at: int | None) -> None:
    """Refuse what no SMS can hold."""
    if sender is not None and not _fits(lambda: write_address(sender)):
        fields.fail(
            "sender", "invalid", "must be a name of up to 11 GSM 7-bit characters, or a number of up to 20 digits"
        )  # fmt: skip
    if sent_at is not None and not _fits(lambda: write_time(sandbox.sent_at(sent_at))):
        fields.fail("sent_at", "out_of_range", "must be from 1990 to 2089: an SMS names no other")


def _fits(write: Callable[[], bytes]) -> bool:
    try:
        write()
    except ValueError:
        return False
    return True


@described(
    "Make a test payment",
    "sandbox outcome",
    reads=read,
    errors=(
        ErrorCode.SESSION_REQUIRED,
        ErrorCode.TRANSACTION_NOT_FOUND,
    ),
    example={"reference": "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f"},
    idempotent=True,
)
async def create(call: Call) -> Reply:
    """Let the sandbox's network send a receipt, and say what became of it.

    Answers `{success, data: {message, transaction, request, review}}`: the SMS as it was understood, the transaction
    that it verified (or that was named), the request that was named as it stands now, and the review that it waits in;
    null where there is none.
    """
    if call.caller.mode is Mode.LIVE:
        raise Refusal(
            ErrorCode.SESSION_REQUIRED, "A live key may not make up payments: use a test key."
        )
    body = await read_object(call.scope, call.receive)
    asked = claim(call, body)
    wanted = read(Fields(body))
    async with call.service.inflight.alone(asked):
        answer = await call.env.store.read(lambda reader: idempotency.answered(reader, asked))
        if answer is None:
            made = await make_up(call.env, wanted)
            told = warned(ignored(Fields(body).unknown(KNOWN)))
            answer = await _take_in(call, made, asked, told)
    return finished(answer)


async def _take_in(
    call: Call, made: MadeUp, asked: Idempotency | None, told: dict[str, Any] | None
) -> Answer:
    """Let the SMS come in, by the simulated phone where one is attached, and keep the answer for a repeat.

    Raises:
        Unavailable: The disk is full, or the simulated phone has not handed it over in time.
    """
    now = call.env.clock.now_us()

    def answer(tx: Tx, message_id: str | None) -> Answer:
        return idempotency.once(
            tx,
            asked,
            now,
            lambda: Answer(200, shapes.success(_became(tx, made, message_id, now), told)),
        )

    deliver = call.service.hooks.deliver
    if deliver is not None:
        # The phone's own loop takes it in, so the answer is kept just after it and not with it.
        source = await deliver(made.provider, [part.pdu for part in made.parts])
        message_id = await taken_in(call.env, source, made.parts[-1].pdu)
        return await call.env.store.write(lambda tx: answer(tx, message_id))
    answers: list[Answer] = []

    def keep(tx: Tx, taken: Ingested) -> None:
        answers.append(answer(tx, taken.concluded[0][0] if taken.concluded else None))

    await ingest(call.env, made.source, made.parts, keep)
    return answers[-1]


def _became(reader: Reader, made: MadeUp, message_id: str | None, now: int) -> dict[str, Any]:
    """Say what became of the SMS; without an id it is one that came in before, to the letter."""
    found = None if message_id is None else lists.message(reader, message_id)
    if found is None:
        again = {"state": MessageState.DUPLICATE, "sender": made.sender, "body": made.text}
        return {
            "message": again,
            "transaction": None,
            "request": _seen(reader, made.transaction_id, now),
            "review": None,
        }
    message, _line = found
    about, waiting = made.transaction_id, reviews.open_for_message(reader, message.id)
    if message.payment_id is not None:
        verified = transactions.paid_by(reader, message.payment_id)
        about = about if verified is None else verified.id
        waiting = next(iter(reviews.open_for_payment(reader, message.payment_id)), waiting)
    seen = None if waiting is None else evidence.of_review(reader, waiting.id, Mode.TEST, now)
    return {
        "message": local_shapes.message(*found, show_body=True),
        "transaction": _seen(reader, about, now),
        "request": _seen(reader, made.transaction_id, now),
        "review": None if seen is None else review_shape(seen, now),
    }


def _seen(reader: Reader, transaction_id: str | None, now: int) -> dict[str, Any] | None:
    row = None if transaction_id is None else lists.by_id(reader, transaction_id, Mode.TEST)
    return None if row is None else single(*row, now)
