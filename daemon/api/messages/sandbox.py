"""POST /v1/test/payments: a test SMS, processed by the real parser in test mode."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from msgspec import Meta, Struct, field, structs

from daemon.api.http.body import read_object
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, finished
from daemon.api.openapi.describe import described
from daemon.core import json_values
from daemon.core.errors import Refusal
from daemon.core.inputs import Answer, Idempotency
from daemon.core.json_values import warnings_meta
from daemon.core.limits import MESSAGE_CHARACTERS_MAX
from daemon.core.messages import message_json, sandbox
from daemon.core.payments import review_json
from daemon.core.payments.transaction_json import single
from daemon.core.reading import Wrong, read
from daemon.core.shape import about, marked, sample
from daemon.flows.messages.ingest import ingest
from daemon.flows.messages.simulate import (
    SimulatedSms,
    SimulateRequest,
    received_message_id,
    simulate_sms,
)
from daemon.modem.codec.pdu_fields import write_address, write_time
from daemon.steps.intake import Ingested
from daemon.store import idempotency
from daemon.store.engine import Reader, Tx
from daemon.store.messages import messages
from daemon.store.payments import review_evidence, reviews, transaction_list, transactions
from daemon.wire import ErrorCode, MessageState, Mode

SENDER_CHARACTERS_MAX: Final = 20
TYPED_CHARACTERS_MAX: Final = 60
NAME_CHARACTERS_MAX: Final = 60


def _sender(sender: str) -> str | Wrong:
    why = "must be a name of up to 11 GSM 7-bit characters, or a number of up to 20 digits"
    return sender if _fits(lambda: write_address(sender)) else Wrong("invalid", why)


def _sent_at(at: int) -> int | Wrong:
    why = "must be from 1990 to 2089: an SMS cannot hold another year"
    return at if _fits(lambda: write_time(sandbox.sent_at(at))) else Wrong("out_of_range", why)


class TestPaymentBody(Struct, frozen=True):
    """A payment of the sandbox: from its parts, or the text of its SMS."""

    provider: Annotated[
        str,
        sample("momo_mtn", "the mobile-money service"),
        marked(read="provider", words=sandbox.PROVIDERS),
    ] = sandbox.PROVIDERS[0]
    text: (
        Annotated[
            str,
            about("the complete text of the SMS, instead of one built from the other fields"),
            Meta(max_length=MESSAGE_CHARACTERS_MAX),
            marked(lines=True),
        ]
        | None
    ) = None
    reference: (
        Annotated[
            str,
            sample(
                "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f",
                "the transaction to pay: its reference or payment code",
            ),
        ]
        | None
    ) = None
    amount_minor: (
        Annotated[
            int,
            sample("25.00", "the amount to pay; default: the amount of `reference`"),
            marked(read="amount"),
        ]
        | None
    ) = field(name="amount", default=None)
    payer_name: Annotated[
        str, sample("Ama Mensah", "the payer's name", max_length=NAME_CHARACTERS_MAX)
    ] = sandbox.PAYER
    payer_phone: (
        Annotated[str, sample("0241234567", "the payer's number"), marked(read="phone")] | None
    ) = None
    reference_text: (
        Annotated[
            str,
            sample(
                "A7K2M9",
                "the payment reference typed by the payer; default: the payment code of `reference`",
                max_length=TYPED_CHARACTERS_MAX,
            ),
        ]
        | None
    ) = None
    transaction_id: (
        Annotated[
            str,
            sample(
                "0012345678",
                "the network's transaction ID; default: a new one",
                max_length=TYPED_CHARACTERS_MAX,
            ),
        ]
        | None
    ) = None
    late: Annotated[bool, sample(False, "pay as if the transaction had already expired")] = False
    sender: (
        Annotated[
            str,
            sample(
                "MobileMoney",
                "the sender name of the SMS; a name other than the network's is not trusted",
                max_length=SENDER_CHARACTERS_MAX,
            ),
            marked(then=_sender),
        ]
        | None
    ) = None
    sent_at: (
        Annotated[
            int,
            sample("2026-11-21T06:31:00Z", "the time at which the network sent it; default now"),
            marked(read="time", then=_sent_at),
        ]
        | None
    ) = None

    @staticmethod
    def check(
        given: Mapping[str, Any], body: Mapping[str, Any], fail: Callable[[str, str, str], Any]
    ) -> None:
        """Refuse a payment without an amount."""
        if not {"text", "reference"} & given.keys() and body.get("amount") is None:
            fail("amount", "required", "this field is required")


def _fits(write: Callable[[], bytes]) -> bool:
    try:
        write()
    except ValueError:
        return False
    return True


@described(
    "Make a test payment",
    "sandbox outcome",
    reads=TestPaymentBody,
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
    asked_for, warnings = read(TestPaymentBody, body)
    wanted = SimulateRequest(**structs.asdict(asked_for))
    async with call.service.inflight.alone(asked):
        answer = await call.env.store.look(lambda reader: idempotency.answered(reader, asked))
        if answer is None:
            simulated = await simulate_sms(call.env, wanted)
            meta = warnings_meta(warnings)
            answer = await _deliver(call, simulated, asked, meta)
    return finished(answer)


async def _deliver(
    call: Call, simulated: SimulatedSms, asked: Idempotency | None, meta: dict[str, Any] | None
) -> Answer:
    """Deliver the SMS, through the simulated phone if one is attached, and store the answer for a repeat.

    Raises:
        Unavailable: The disk is full, or the simulated phone did not deliver the SMS in time.
    """
    now = call.env.clock.now_us()

    def answer(tx: Tx, message_id: str | None) -> Answer:
        return idempotency.once(
            tx,
            asked,
            now,
            lambda: Answer(200, json_values.success(_result(tx, simulated, message_id, now), meta)),
        )

    deliver = call.service.hooks.deliver
    if deliver is not None:
        # The phone's own loop stores the SMS, so the answer is stored after it, in a separate write.
        source = await deliver(simulated.provider, [part.pdu for part in simulated.parts])
        message_id = await received_message_id(call.env, source, simulated.parts[-1].pdu)
        return await call.env.store.write(lambda tx: answer(tx, message_id))
    answers: list[Answer] = []

    def keep(tx: Tx, taken: Ingested) -> None:
        answers.append(answer(tx, taken.concluded[0][0] if taken.concluded else None))

    await ingest(call.env, simulated.source, simulated.parts, keep)
    return answers[-1]


def _result(
    reader: Reader, simulated: SimulatedSms, message_id: str | None, now: int
) -> dict[str, Any]:
    """Build the result for the SMS; without a message id it is an exact copy of an earlier SMS."""
    found = None if message_id is None else messages.with_line(reader, message_id)
    if found is None:
        again = {
            "state": MessageState.DUPLICATE,
            "sender": simulated.sender,
            "body": simulated.text,
        }
        return {
            "message": again,
            "transaction": None,
            "request": _seen(reader, simulated.transaction_id, now),
            "review": None,
        }
    message, _line = found
    about, waiting = simulated.transaction_id, reviews.open_for_message(reader, message.id)
    if message.payment_id is not None:
        verified = transactions.paid_by(reader, message.payment_id)
        about = about if verified is None else verified.id
        waiting = next(iter(reviews.open_for_payment(reader, message.payment_id)), waiting)
    seen = (
        None if waiting is None else review_evidence.of_review(reader, waiting.id, Mode.TEST, now)
    )
    return {
        "message": message_json.message(*found, show_body=True),
        "transaction": _seen(reader, about, now),
        "request": _seen(reader, simulated.transaction_id, now),
        "review": None if seen is None else review_json.review(seen, now),
    }


def _seen(reader: Reader, transaction_id: str | None, now: int) -> dict[str, Any] | None:
    row = (
        None
        if transaction_id is None
        else transaction_list.by_id(reader, transaction_id, Mode.TEST)
    )
    return None if row is None else single(*row, now)
