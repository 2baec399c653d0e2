"""The received SMS: list, show, parse again, import; the wordings of networks, approved payers, and test payments.

Messages are on the Unix socket only. A caller that reads the text of SMS is recorded in the journal first.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from msgspec import Struct

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import Fields, Query, read_uuid
from daemon.api.http.service import Call, Reply, claim, finished, ok
from daemon.api.openapi.describe import answer, described
from daemon.core import json_values
from daemon.core.errors import Refusal
from daemon.core.inputs import HttpAnswer, Idempotency
from daemon.core.json_values import Json, timestamp, timestamp_or_none, warnings_meta
from daemon.core.messages.message_json import (
    MessageAnswer,
    MessageInFullAnswer,
    RepeatedMessageAnswer,
)
from daemon.core.payments.review_json import ApprovedPayerAnswer, ReviewAnswer
from daemon.core.payments.transaction_json import TransactionAnswer
from daemon.core.reading import read
from daemon.core.shape import Offset, PageMeta, marked, page_size, sample
from daemon.flows.access import password
from daemon.flows.books.audit import note_shown
from daemon.flows.messages import confirmations as confirmation_flow
from daemon.flows.messages import ingest
from daemon.flows.messages.import_file import BATCH, FileMessage, import_messages
from daemon.flows.messages.simulate import (
    SimulatedSms,
    SimulateRequest,
    received_message_id,
    simulate_sms,
)
from daemon.runtime.own_wordings import OwnWordings
from daemon.steps.intake import Ingested
from daemon.store import idempotency
from daemon.store.engine import Reader, Tx
from daemon.store.messages import confirmations, messages
from daemon.store.payments import payments, review_evidence, reviews, transaction_list, transactions
from daemon.wire import ErrorCode, MessageState, Mode
from parsers.phone import read_phone
from parsers.read import PROVIDERS, wordings
from parsers.times import read_iso
from parsers.wording import Wording

LIMIT: Final = 50
LIMIT_MAX: Final = 500
IDS_MAX: Final = 50
SENDER_CHARACTERS_MAX: Final = 100
_MEMBERS: Final = (
    f"must be a list of up to {BATCH} objects, each of sender, text, sent_at (ISO 8601 with a zone) and optionally smsc; "
    "or of pdu, in hex"
)


async def list_messages(call: Call) -> Reply:
    """List messages, newest first; with their texts only if `show_body=1`."""
    query = call.query
    limit, offset = query.page(LIMIT, LIMIT_MAX)
    state = query.word("state", list(MessageState))
    wanted = messages.MessageFilter(
        state=None if state is None else MessageState(state),
        line=_line(query),
        sender=_sender(query),
        since=query.time("since"),
    )
    show_body = query.flag("show_body")
    query.done()
    found, total = await call.env.store.read(
        lambda reader: messages.page(reader, wanted, limit=limit, offset=offset)
    )
    if show_body and found:
        facts = {
            "count": len(found),
            "offset": offset,
            "state": wanted.state,
            "line": wanted.line,
            "sender": wanted.sender,
            "since": timestamp_or_none(wanted.since),
        }
        await note_shown(call.env, call.caller, facts)
    shape = MessageInFullAnswer if show_body else MessageAnswer
    items = [shape.of(message, line) for message, line in found]
    return ok(items, query.meta(limit=limit, offset=offset, total=total))


def _sender(query: Query) -> str | None:
    """Return a sender name unchanged and a phone number as E.164, as stored with messages."""
    text = query.text("sender", most=SENDER_CHARACTERS_MAX)
    return None if text is None else read_phone(text.strip()) or text.strip()


def _line(query: Query) -> str | None:
    text: str | None = query.value("line")
    if text is None:
        return None
    found = read_uuid(text) or read_phone(text.strip())
    if found is None:
        query.fail("line", "invalid", "must be one of your numbers, or a payment method's id")
    return found


async def get_message(call: Call) -> Reply:
    """Return one message; with its text only if `show_body=1`."""
    query = call.query
    show_body = query.flag("show_body")
    query.done()
    message_id = call.uuid(ErrorCode.MESSAGE_NOT_FOUND)
    found = await call.env.store.look(lambda reader: messages.with_line(reader, message_id))
    if found is None:
        raise Refusal(ErrorCode.MESSAGE_NOT_FOUND)
    if show_body:
        message, _ = found
        facts = {"count": 1}
        await note_shown(call.env, call.caller, facts, mode=message.mode, message_id=message.id)
    return ok((MessageInFullAnswer if show_body else MessageAnswer).of(*found))


async def reparse(call: Call) -> Reply:
    """POST /local/v1/messages/reparse: parse one batch of unparsed messages again.

    To continue, call again with `after` set to `next` of the answer.
    """
    fields = Fields(await read_object_if_any(call.scope, call.receive))
    given = fields.value("ids")
    if given is not None and not (
        isinstance(given, list)
        and len(given) <= IDS_MAX
        and all(isinstance(one, str) and read_uuid(one) for one in given)
    ):
        fields.fail("ids", "invalid", f"must be a list of up to {IDS_MAX} message ids")
    after = fields.value("after")
    if after is not None and (not isinstance(after, int) or isinstance(after, bool) or after < 0):
        fields.fail("after", "invalid", "must be the `next` of the previous answer")
    dry_run = fields.boolean("dry_run", default=False)
    fields.done()
    done = await ingest.reparse(call.env, ingest.ReparseSelection(given or (), after or 0, dry_run))
    return ok(
        {
            "looked_at": done.looked_at,
            "read": list(done.read),
            "counts": done.counts,
            "dry_run": dry_run,
            "next": done.next,
        }
    )


async def import_batch(call: Call) -> Reply:
    """Import up to 50 messages of the number `line`; importing the same messages again changes nothing."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    line = fields.text("line", required=True, blank=False) or ""
    given = fields.value("messages", required=True)
    dry_run = fields.boolean("dry_run", default=False)
    pasted = fields.boolean("pasted", default=False)
    listed = given if isinstance(given, list) and len(given) <= BATCH else [None]
    entries = [entry for one in listed if (entry := _entry(one)) is not None]
    if given is not None and len(entries) != len(listed):
        fields.fail("messages", "invalid", _MEMBERS)
    fields.done()
    taken = await import_messages(
        call.env, call.caller, line.strip(), entries, dry_run=dry_run, pasted=pasted
    )
    found = [
        {"fate": one.fate, "state": one.state, "id": one.message_id, "why": one.why or None}
        for one in taken
    ]
    return ok({"messages": found, "dry_run": dry_run})


def _entry(one: Any) -> FileMessage | None:
    """Read one entry; None if it does not have that form."""
    if not isinstance(one, dict):
        return None
    pdu = one.get("pdu")
    if pdu is not None:
        return FileMessage(pdu=pdu) if isinstance(pdu, str) and _is_hex(pdu) else None
    sender, text, sent_at, smsc = (one.get(name) for name in ("sender", "text", "sent_at", "smsc"))
    at = read_iso(sent_at) if isinstance(sent_at, str) else None
    if not (isinstance(sender, str) and isinstance(text, str) and at is not None):
        return None
    return FileMessage(sender, text, at, smsc if isinstance(smsc, str) else None)


def _is_hex(text: str) -> bool:
    try:
        return bool(bytes.fromhex(text))
    except ValueError:
        return False


PAYERS_LIMIT: Final = 50
PAYERS_LIMIT_MAX: Final = 200


class ApprovedPayersQuery(Struct, frozen=True):
    """The page and the filter of the list."""

    limit: Annotated[int, page_size(PAYERS_LIMIT_MAX)] = PAYERS_LIMIT
    offset: Offset = 0
    phone_number: (
        Annotated[str, sample("0241234567", "only this payer's number"), marked(read="phone")]
        | None
    ) = None
    state: (
        Annotated[
            Literal["approved", "all"], sample("all", "`all` includes decided or revoked ones")
        ]
        | None
    ) = None


@described(
    "List approved payers", answer(list[ApprovedPayerAnswer], PageMeta), query=ApprovedPayersQuery
)
async def list_approved_payers(call: Call) -> Reply:
    """List approvals, newest first. `phone_number` selects one number, `state=all` includes revoked approvals."""
    query = call.query
    asked = query.read(ApprovedPayersQuery)
    limit, offset, phone_number = asked.limit, asked.offset, asked.phone_number
    revoked = asked.state == "all"
    found, total = await call.env.store.read(
        lambda reader: payments.approved_payers(
            reader,
            phone_number=phone_number,
            revoked=revoked,
            mode=call.caller.mode,
            limit=limit,
            offset=offset,
        )
    )
    return ok(
        [ApprovedPayerAnswer.of(each) for each in found],
        query.meta(limit=limit, offset=offset, total=total),
    )


@described(
    "Get an approved payer",
    answer(ApprovedPayerAnswer),
    errors=(ErrorCode.APPROVED_PAYER_NOT_FOUND,),
)
async def get_approved_payer(call: Call) -> Reply:
    """Return one approval, also a revoked one."""
    payer_id, mode = call.uuid(ErrorCode.APPROVED_PAYER_NOT_FOUND), call.caller.mode
    found = await call.env.store.look(
        lambda reader: payments.approved_payer(reader, payer_id, mode)
    )
    if found is None:
        raise Refusal(ErrorCode.APPROVED_PAYER_NOT_FOUND)
    return ok(ApprovedPayerAnswer.of(found))


@described(
    "Revoke an approved payer",
    answer(ApprovedPayerAnswer),
    errors=(ErrorCode.APPROVED_PAYER_NOT_FOUND,),
)
async def revoke_approved_payer(call: Call) -> Reply:
    """Revoke an approval; a second call changes nothing."""
    return ok(
        ApprovedPayerAnswer.of(
            await confirmation_flow.revoke_approved_payer(
                call.env, call.caller, call.uuid(ErrorCode.APPROVED_PAYER_NOT_FOUND)
            )
        )
    )


async def list_wordings(call: Call) -> Reply:
    """List the shop's own wordings by file, and built-in wordings not yet confirmed by a genuine message."""
    own = call.env.own_wordings
    rows = await call.env.store.read(confirmations.all_confirmed)
    networks = {provider.network for provider in PROVIDERS.values()}
    data = {
        "folder": None if own.folder is None else str(own.folder),
        "files": [
            {
                "file": file.name,
                "wordings": [_wording_json(wording, rows) for wording in file.loaded.wordings],
                "problems": [
                    {"line": one.line, "why": one.why, "todo": one.todo}
                    for one in file.loaded.problems
                ],
            }
            for file in own.files
        ],
        "unverified": [
            _wording_json(wording, rows)
            for wording in wordings()
            if wording.unverified and wording.network in networks
        ],
    }
    return ok(data)


def wordings_summary(own: OwnWordings) -> Json:
    """Build the summary of the shop's own wordings for the status."""
    return {
        "files": len(own.files),
        "wordings": len(own.wordings),
        "problems": [
            {"file": file.name, "line": one.line, "why": one.why, "todo": one.todo}
            for file in own.files
            for one in file.loaded.problems
        ],
    }


async def confirm_wording(call: Call) -> Reply:
    """Confirm a wording from a sender by one genuine message; needs the account password. `undo` withdraws it."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    undo = fields.boolean("undo", default=False)
    given = fields.value("password", required=not undo)
    if given is not None and not isinstance(given, str):
        fields.fail("password", "wrong_type", "must be a string")
    fields.done()
    message_id = call.uuid(ErrorCode.MESSAGE_NOT_FOUND)
    if not undo:
        # Withdrawing trust needs no password.
        await password.confirm(call.env, call.caller, given)
    row = await confirmation_flow.confirm_wording(call.env, call.caller, message_id, undo=undo)
    data: dict[str, Any] = {
        "network": row.network,
        "wording": row.wording,
        "sender": row.sender,
        "message_id": row.message_id,
        "confirmed": not undo,
        "test": row.mode == "test",
    }
    return ok(data)


def _wording_json(wording: Wording, rows: Iterable[confirmations.Confirmed]) -> Json:
    return {
        "name": wording.name,
        "network": wording.network,
        "kind": wording.kind,
        "confirmed": [
            {
                "sender": row.sender,
                "message_id": row.message_id,
                "by": row.confirmed_by,
                "at": timestamp(row.confirmed_at),
                "test": row.mode == "test",
            }
            for row in rows
            if (row.network, row.wording) == (wording.network, wording.name)
        ],
    }


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
async def create_test_payment(call: Call) -> Reply:
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

    await ingest.ingest(call.env, simulated.source, simulated.parts, keep)
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
