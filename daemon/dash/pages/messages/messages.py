"""The received SMS: the list, one message with its fields, reading again, and confirming a wording."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from daemon.core.access.callers import Operation, require
from daemon.core.errors import FieldError, Refusal
from daemon.core.json_values import timestamp
from daemon.core.messages.message_json import ChainPosition, balance_chain, reasons_of
from daemon.core.model import Message, Review
from daemon.core.names import provider_name
from daemon.dash.parts import listing
from daemon.dash.parts.confirming import confirmed
from daemon.dash.parts.listing import Choice
from daemon.dash.parts.message_text import sender_name, sms_text, visible
from daemon.dash.web.visit import Download, Goto, Outcome, Shown, Visit
from daemon.flows.books.audit import note_shown
from daemon.flows.messages import confirmations as flow
from daemon.flows.messages import ingest
from daemon.steps import confirmed_wordings
from daemon.store.engine import Reader
from daemon.store.messages import balances, messages
from daemon.store.messages.balances import ChainRecord
from daemon.store.payments import reviews
from daemon.wire import ErrorCode, MessageState, Mode, Role
from parsers.phone import read_phone
from parsers.read import PROVIDERS
from parsers.reading import Kind

LIST: Final = "/dash/messages"
NEAR: Final = 2
CHOICES: Final = (Choice("message", ("", *MessageState)),)
_fields: Final = msgspec.json.Decoder(dict[str, Any]).decode
_FIELDS: Final = (
    "amount",
    "currency",
    "payer_name",
    "transaction_id",
    "reference",
    "balance",
    "fee",
)


class MessageRows(Struct, frozen=True):
    """One message and its related rows.

    Attributes:
        line: The number that received it.
        record: Its place in the balance chain.
        review: The open review about it.
        may_confirm: It can confirm a wording.
        confirms: Its wording is confirmed.
    """

    message: Message
    line: str | None
    record: ChainRecord | None
    place: ChainPosition | None
    review: Review | None
    may_confirm: bool
    confirms: bool


async def show_list(visit: Visit) -> Shown | Download:
    """Show the list, without the texts, or return it as CSV."""
    asked = listing.ask(visit, CHOICES)
    sender = asked.search
    wanted = messages.MessageFilter(
        state=MessageState(asked.chosen["message"]) if asked.chosen["message"] else None,
        sender=None if sender is None else read_phone(sender) or sender,
    )
    begin = listing.offset(asked)
    rows, total = await visit.env.store.read(
        lambda reader: messages.page(reader, wanted, limit=asked.limit, offset=begin)
    )
    if asked.as_csv:
        return await listing.csv_file(visit, "messages", _COLUMNS, rows)
    end = begin + len(rows)
    found = listing.page(visit, asked, rows, str(end) if end < total else None, dated=False)
    return Shown(
        "messages/list.html",
        {
            "list": found,
            "fields": lambda row: _fields(row.fields),
            "sender": lambda row: sender_name(visit, row.sender),
            "unread": asked.chosen["message"] == MessageState.UNPARSED,
            "manages": visit.may(Operation.MANAGE_MESSAGES),
            "text": visible,
        },
    )


async def show_one(visit: Visit) -> Shown:
    """Show one message; that its text was shown is in the journal."""
    return await _page(visit)


async def _page(visit: Visit, status: int = 200) -> Shown:
    found = await visit.env.store.read(lambda reader: _read(visit, reader))
    if found is None:
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
    message = found.message
    # A code to log in somewhere is for the owner only.
    secret = message.kind == Kind.OTP and visit.role is not Role.OWNER
    body = None if message.state is MessageState.INCOMPLETE or secret else message.body
    if body is not None:
        facts = {"count": 1}
        await note_shown(visit.env, visit.caller, facts, mode=message.mode, message_id=message.id)
    read = _fields(message.fields)
    return Shown(
        "messages/one.html",
        {
            "one": message,
            "found": found,
            "sender": sender_name(visit, message.sender),
            "sms": sms_text(visit, body),
            "secret": secret,
            "read": [(name, visible(str(read[name]))) for name in _FIELDS if read.get(name)],
            "reasons": reasons_of(message),
            "network": provider_name(message.provider) if message.provider else "—",
            "chain": None if found.place is None else balance_chain(found.place),
            "manages": visit.may(Operation.MANAGE_MESSAGES),
            "text": visible,
        },
        visible(f"{visit.words('message')} · {sender_name(visit, message.sender)}"),
        status,
    )


def _read(visit: Visit, reader: Reader) -> MessageRows | None:
    known = messages.with_line(reader, visit.places["id"])
    if known is None:
        return None
    message, line = known
    record = balances.of_message(reader, message.id)
    place = None
    if record is not None:
        near = balances.nearest(reader, record.chain, record.entry.at, NEAR)
        beside = [entry for entry in near if entry.key != record.entry.key]
        place = ChainPosition(record.entry, beside, PROVIDERS[record.chain.provider].currency)
    readable = not isinstance(confirmed_wordings.unverified_reading(visit.env, message), str)
    return MessageRows(
        message,
        line,
        record,
        place,
        reviews.open_for_message(reader, message.id),
        may_confirm=readable,
        confirms=confirmed_wordings.confirmation_of(reader, visit.env, message) is not None,
    )


async def read_again(visit: Visit) -> Outcome:
    """Read one message again with today's wordings."""
    require(visit.caller, Operation.MANAGE_MESSAGES)
    selection = ingest.ReparseSelection((visit.places["id"],))
    done = await ingest.reparse(visit.env, selection)
    return Goto(f"{LIST}/{visit.places['id']}", "said_read" if done.read else "said_not_read")


async def read_all_again(visit: Visit) -> Outcome:
    """Read all unread messages again."""
    require(visit.caller, Operation.MANAGE_MESSAGES)
    count, after = 0, 0
    while True:
        done = await ingest.reparse(visit.env, ingest.ReparseSelection((), after))
        count += len(done.read)
        if done.next is None:
            break
        after = done.next
    return Goto(f"{LIST}?message=unparsed", "said_read_all" if count else "said_read_none")


async def confirm(visit: Visit) -> Outcome:
    """Trust the wording of a message from its sender; needs the own password."""
    if not await confirmed(visit):
        return await _page(visit, 422)
    return await _wording(visit, undo=False)


async def unconfirm(visit: Visit) -> Outcome:
    """Stop trusting the wording of a message."""
    return await _wording(visit, undo=True)


async def _wording(visit: Visit, *, undo: bool) -> Outcome:
    message_id = visit.places["id"]
    try:
        await flow.confirm_wording(visit.env, visit.caller, message_id, undo=undo)
    except Refusal as refusal:
        if refusal.code is ErrorCode.MESSAGE_NOT_FOUND:
            raise Refusal(ErrorCode.ROUTE_NOT_FOUND) from None
        if refusal.code is not ErrorCode.VALIDATION_ERROR:
            raise
        visit.fail(FieldError("", "invalid", visit.words("confirms_nothing")))
        return await _page(visit, 422)
    return Goto(f"{LIST}/{message_id}", "said_unconfirmed" if undo else "said_confirmed")


_COLUMNS: Final = {
    "id": lambda row: row[0].id,
    "received_at": lambda row: timestamp(row[0].received_at),
    "state": lambda row: row[0].state,
    "kind": lambda row: row[0].kind,
    "sender": lambda row: row[0].sender,
    "number": lambda row: row[1],
    "amount": lambda row: _fields(row[0].fields).get("amount"),
    "currency": lambda row: _fields(row[0].fields).get("currency"),
    "test": lambda row: row[0].mode is Mode.TEST,
}
