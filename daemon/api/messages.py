"""The received SMS: list, show, parse again, import; the wordings of networks, approved payers, and test payments.

Messages are on the Unix socket only. A caller that reads the text of SMS is recorded in the journal first.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from daemon.api.http.auth import needs_owner
from daemon.api.http.service import Call, Reply, finished, ok
from daemon.api.openapi.describe import answer, described
from daemon.core import json_values
from daemon.core.errors import Refusal, needed
from daemon.core.inputs import HttpAnswer, Idempotency
from daemon.core.json_values import Json, timestamp, timestamp_or_none, warnings_meta
from daemon.core.messages.message_json import MessageAnswer, MessageInFullAnswer, RepeatedMessageAnswer
from daemon.core.payments.review_json import ApprovedPayerAnswer, ReviewAnswer
from daemon.core.payments.transaction_json import TransactionAnswer
from daemon.core.reading import Wrong, read_uuid
from daemon.core.shape import ModeFilter, Offset, PageMeta, marked, page_size, sample, taken
from daemon.flows.access import users
from daemon.flows.books.audit import note_shown
from daemon.flows.messages import ingest, overdue
from daemon.flows.messages.import_file import BATCH, FileMessage, import_messages
from daemon.flows.messages.simulate import SimulatedSms, SimulateRequest, received_message_id, simulate_sms
from daemon.runtime.own_wordings import OwnWordings
from daemon.steps.intake import Ingested
from daemon.store import idempotency
from daemon.store.engine import Reader, Tx
from daemon.store.messages import messages
from daemon.store.payments import payments, reviews, transaction_list, transactions
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


def _line(text: str) -> str | Wrong:
    found = read_uuid(text) or read_phone(text.strip())
    return found or Wrong("invalid", "must be one of your numbers, or a payment method's id")


def _sender(text: str) -> str:
    """Return a sender name unchanged and a phone number as E.164, as stored with messages."""
    return read_phone(text) or text


class MessagesQuery(Struct, frozen=True):
    """The page and the filter of the list."""

    limit: Annotated[int, page_size(LIMIT_MAX)] = LIMIT
    offset: Offset = 0
    state: MessageState | None = None
    line: Annotated[str, marked(read="any", then=_line)] | None = None
    sender: Annotated[str, Meta(max_length=SENDER_CHARACTERS_MAX), marked(then=_sender)] | None = None
    since: Annotated[int, marked(read="time")] | None = None
    mode: ModeFilter = None
    show_body: bool = False


class MessageQuery(Struct, frozen=True):
    """Whether the text is shown."""

    show_body: bool = False


async def list_messages(call: Call) -> Reply:
    """List messages, newest first; with their texts only if `show_body=1`."""
    asked = call.query.read(MessagesQuery)
    wanted = taken(messages.MessageFilter, asked, mode=call.caller.mode or asked.mode)
    found, total = await call.env.store.read(
        lambda reader: messages.page(reader, wanted, limit=asked.limit, offset=asked.offset)
    )
    if asked.show_body and found:
        facts = {
            "count": len(found), "offset": asked.offset, "state": wanted.state, "line": wanted.line,
            "sender": wanted.sender, "since": timestamp_or_none(wanted.since),
        }  # fmt: skip
        await note_shown(call.env, call.caller, facts)
    shape = MessageInFullAnswer if asked.show_body else MessageAnswer
    return ok([shape.of(message, line) for message, line in found], call.query.page(asked, total))


async def get_message(call: Call) -> Reply:
    """Return one message; with its text only if `show_body=1`."""
    show_body = call.query.read(MessageQuery).show_body
    message_id = call.uuid(ErrorCode.MESSAGE_NOT_FOUND)
    found = needed(
        await call.env.store.look(lambda reader: messages.with_line(reader, message_id)), ErrorCode.MESSAGE_NOT_FOUND
    )
    if show_body:
        message, _ = found
        facts = {"count": 1}
        await note_shown(call.env, call.caller, facts, mode=message.mode, message_id=message.id)
    return ok((MessageInFullAnswer if show_body else MessageAnswer).of(*found))


def _ids(value: object) -> object:
    good = (
        isinstance(value, list)
        and len(value) <= IDS_MAX
        and all(isinstance(each, str) and read_uuid(each) for each in value)
    )
    return value if good else Wrong("invalid", f"must be a list of up to {IDS_MAX} message ids")


class ReparseBody(Struct, frozen=True):
    """The messages to parse again, or where the next batch starts."""

    ids: Annotated[Sequence[str], marked(read="any", then=_ids)] = ()
    after: Annotated[int, Meta(ge=0, le=1 << 62)] = 0
    dry_run: bool = False


async def reparse(call: Call) -> Reply:
    """POST /local/v1/messages/reparse: parse one batch of unparsed messages again.

    To continue, call again with `after` set to `next` of the answer.
    """
    asked = await call.body(ReparseBody, optional=True)
    done = await ingest.reparse(call.env, ingest.ReparseSelection(asked.ids, asked.after, asked.dry_run))
    return ok(
        {
            "looked_at": done.looked_at,
            "read": list(done.read),
            "counts": done.counts,
            "dry_run": asked.dry_run,
            "next": done.next,
        }
    )


def _entries(given: object) -> list[FileMessage] | Wrong:
    listed = given if isinstance(given, list) and len(given) <= BATCH else [None]
    entries = [entry for each in listed if (entry := _entry(each)) is not None]
    return entries if len(entries) == len(listed) else Wrong("invalid", _MEMBERS)


class ImportBody(Struct, frozen=True):
    """Messages of the number `line`; `pasted` ones were copied from a phone's screen."""

    line: Annotated[str, Meta(min_length=1)]
    messages: Annotated[list[FileMessage], marked(read="any", then=_entries)]
    dry_run: bool = False
    pasted: bool = False


async def import_batch(call: Call) -> Reply:
    """Import up to 50 messages of the number `line`; importing the same messages again changes nothing."""
    needs_owner(call.caller)
    asked = await call.body(ImportBody)
    taken = await import_messages(
        call.env, call.caller, asked.line, asked.messages, dry_run=asked.dry_run, pasted=asked.pasted
    )
    found = [{"fate": one.fate, "state": one.state, "id": one.message_id, "why": one.why or None} for one in taken]
    return ok({"messages": found, "dry_run": asked.dry_run})


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
    phone_number: Annotated[str | None, sample("0241234567", "only this payer's number"), marked(read="phone")] = None
    state: Annotated[Literal["approved", "all"] | None, sample("all", "`all` includes decided or revoked ones")] = None


@described("List approved payers", answer(list[ApprovedPayerAnswer], PageMeta), query=ApprovedPayersQuery)
async def list_approved_payers(call: Call) -> Reply:
    """List approvals, newest first. `phone_number` selects one number, `state=all` includes revoked approvals."""
    asked = call.query.read(ApprovedPayersQuery)
    found, total = await call.env.store.read(
        lambda reader: payments.approved_payers(
            reader,
            phone_number=asked.phone_number,
            revoked=asked.state == "all",
            mode=call.caller.mode,
            limit=asked.limit,
            offset=asked.offset,
        )
    )
    return ok([ApprovedPayerAnswer.of(each) for each in found], call.query.page(asked, total))


@described("Get an approved payer", answer(ApprovedPayerAnswer), errors="APPROVED_PAYER_NOT_FOUND")
async def get_approved_payer(call: Call) -> Reply:
    """Return one approval, also a revoked one."""
    payer_id, mode = call.uuid(ErrorCode.APPROVED_PAYER_NOT_FOUND), call.caller.mode
    found = needed(
        await call.env.store.look(lambda reader: payments.approved_payer(reader, payer_id, mode)),
        ErrorCode.APPROVED_PAYER_NOT_FOUND,
    )
    return ok(ApprovedPayerAnswer.of(found))


@described("Revoke an approved payer", answer(ApprovedPayerAnswer), errors="APPROVED_PAYER_NOT_FOUND")
async def revoke_approved_payer(call: Call) -> Reply:
    """Revoke an approval; a second call changes nothing."""
    return ok(
        ApprovedPayerAnswer.of(
            await overdue.revoke_approved_payer(call.env, call.caller, call.uuid(ErrorCode.APPROVED_PAYER_NOT_FOUND))
        )
    )


async def list_wordings(call: Call) -> Reply:
    """List the shop's own wordings by file, and built-in wordings not yet confirmed by a genuine message."""
    own = call.env.own_wordings
    rows = await call.env.store.read(messages.all_confirmed)
    networks = {provider.network for provider in PROVIDERS.values()}
    data = {
        "folder": None if own.folder is None else str(own.folder),
        "files": [
            {
                "file": file.name,
                "wordings": [_wording_json(wording, rows) for wording in file.loaded.wordings],
                "problems": [{"line": one.line, "why": one.why, "todo": one.todo} for one in file.loaded.problems],
            }
            for file in own.files
        ],
        "unverified": [
            _wording_json(wording, rows) for wording in wordings() if wording.unverified and wording.network in networks
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


class ConfirmBody(Struct, frozen=True):
    """The account password, which only `undo` does not need."""

    undo: bool = False
    password: Annotated[str, marked(read="secret")] | None = None

    @staticmethod
    def check(given: Mapping[str, Any], body: Mapping[str, Any], fail: Callable[[str, str, str], Any]) -> None:
        """Ask for the password."""
        if not given.get("undo") and body.get("password") is None:
            fail("password", "required", "this field is required")


async def confirm_wording(call: Call) -> Reply:
    """Confirm a wording from a sender by one genuine message; needs the account password. `undo` withdraws it."""
    needs_owner(call.caller)
    asked, message_id = await call.body(ConfirmBody), call.uuid(ErrorCode.MESSAGE_NOT_FOUND)
    if not asked.undo:
        # Withdrawing trust needs no password.
        await users.confirm(call.env, call.caller, asked.password)
    row = await overdue.confirm_wording(call.env, call.caller, message_id, undo=asked.undo)
    data: dict[str, Any] = {
        "network": row.network, "wording": row.wording, "sender": row.sender, "message_id": row.message_id,
        "confirmed": not asked.undo, "test": row.mode == "test",
    }  # fmt: skip
    return ok(data)


def _wording_json(wording: Wording, rows: Iterable[messages.Confirmed]) -> Json:
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
    errors="SESSION_REQUIRED TRANSACTION_NOT_FOUND",
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
        raise Refusal(ErrorCode.SESSION_REQUIRED, "A live key cannot create test payments: use a test key.")
    wanted, meta = await call.asked(SimulateRequest)
    asked = meta.idempotency
    async with call.service.inflight.alone(asked):
        answer = await call.env.store.look(lambda reader: idempotency.answered(reader, asked))
        if answer is None:
            simulated = await simulate_sms(call.env, wanted)
            answer = await _deliver(call, simulated, asked, warnings_meta(meta.warnings))
    return finished(answer)


async def _deliver(
    call: Call, simulated: SimulatedSms, asked: Idempotency | None, meta: dict[str, Any] | None
) -> HttpAnswer:
    """Deliver the SMS, through the simulated phone if one is attached, and store the answer for a repeat."""
    now = call.env.clock.now_us()

    def answer(tx: Tx, message_id: str | None) -> HttpAnswer:
        return idempotency.once(
            tx, asked, now, lambda: HttpAnswer(200, json_values.success(_result(tx, simulated, message_id, now), meta))
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


def _result(reader: Reader, simulated: SimulatedSms, message_id: str | None, now: int) -> SandboxOutcome:
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
    seen = None if waiting is None else reviews.evidence_of(reader, waiting.id, Mode.TEST, now)
    return SandboxOutcome(
        MessageInFullAnswer.of(*found),
        _seen(reader, about, now),
        _seen(reader, simulated.transaction_id, now),
        None if seen is None else ReviewAnswer.of(seen, now),
    )


def _seen(reader: Reader, transaction_id: str | None, now: int) -> TransactionAnswer | None:
    row = None if transaction_id is None else transaction_list.by_id(reader, transaction_id, Mode.TEST)
    return None if row is None else TransactionAnswer.of(*row, now)
