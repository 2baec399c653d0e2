"""The received SMS: the list, one message with its fields, reading again, confirming a wording, and taking messages in.

What is taken in is history: one message that is pasted, or the backup of an old phone.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from daemon.core.access.callers import Operation, require
from daemon.core.errors import needed
from daemon.core.json_values import timestamp
from daemon.core.messages.message_json import ChainPosition, balance_chain, reasons_of
from daemon.core.model import Message
from daemon.core.names import provider_name
from daemon.dash.parts import listing
from daemon.dash.parts.confirming import confirm
from daemon.dash.parts.listing import Choice
from daemon.dash.parts.message_text import sender_name, sms_text, visible
from daemon.dash.web.visit import Download, FormWrong, Goto, Outcome, Shown, Visit
from daemon.flows.books.audit import note_shown
from daemon.flows.messages import ingest, overdue
from daemon.flows.messages.import_file import BATCH, FileMessage, ImportResult, import_messages
from daemon.steps import confirmed_wordings
from daemon.store.engine import Reader
from daemon.store.messages import balances, messages
from daemon.store.payments import reviews
from daemon.wire import ErrorCode, MessageState, Role
from parsers.phone import read_phone
from parsers.phone_backup import BackupError, BackupMessage, messages_of
from parsers.read import PROVIDERS
from parsers.reading import Kind
from parsers.times import read_iso

LIST: Final = "/dash/messages"
NEAR: Final = 2
PASTED_MAX: Final = 2_000
STATE: Final = Choice("message", ("", *MessageState))
_fields: Final = msgspec.json.Decoder(dict[str, Any]).decode
_FIELDS: Final = ("amount", "currency", "payer_name", "transaction_id", "reference", "balance", "fee")


LIST_PAGE: Final = listing.ListPage[tuple[Message, str | None]](
    "messages",
    "messages/list.html",
    {
        "id": lambda row: row[0].id,
        "received_at": lambda row: timestamp(row[0].received_at),
        "state": lambda row: row[0].state,
        "kind": lambda row: row[0].kind,
        "sender": lambda row: row[0].sender,
        "number": lambda row: row[1],
        "amount": lambda row: _fields(row[0].fields).get("amount"),
        "currency": lambda row: _fields(row[0].fields).get("currency"),
    },
    dated=False,
)


async def show_list(visit: Visit) -> Shown | Download:
    """Show the list, without the texts, or return it as CSV."""
    asked = await listing.ask(visit, STATE)
    sender = asked.search
    wanted = messages.MessageFilter(
        state=MessageState(asked.chosen["message"]) if asked.chosen["message"] else None,
        sender=None if sender is None else read_phone(sender) or sender,
        mode=visit.mode,
    )
    begin = asked.number or 0
    rows, total = await visit.env.store.read(
        lambda reader: messages.page(reader, wanted, limit=asked.limit, offset=begin)
    )
    end = begin + len(rows)
    return await LIST_PAGE.answer(
        visit, asked, rows, end if end < total else None, count=f"{total:,}", fields=lambda row: _fields(row.fields),
        sender=lambda row: sender_name(visit, row.sender), unread=asked.chosen["message"] == MessageState.UNPARSED,
        manages=visit.may(Operation.MANAGE_MESSAGES),
    )  # fmt: skip


async def show_one(visit: Visit) -> Shown:
    """Show one message; that its text was shown is in the journal."""

    def read(reader: Reader) -> tuple[Message, dict[str, Any]]:
        message, line = needed(messages.with_line(reader, visit.places["id"]), ErrorCode.ROUTE_NOT_FOUND)
        record = balances.of_message(reader, message.id)
        chain = None
        if record is not None:
            near = balances.nearest(reader, record.chain, record.entry.at, NEAR)
            beside = [entry for entry in near if entry.key != record.entry.key]
            currency = PROVIDERS[record.chain.provider].currency
            chain = balance_chain(ChainPosition(record.entry, beside, currency))
        return message, {
            "line": line,
            "record": record,
            "chain": chain,
            "review": reviews.open_for_message(reader, message.id),
            # It can confirm a wording.
            "may_confirm": not isinstance(confirmed_wordings.unverified_reading(visit.env, message), str),
            # Its wording is confirmed.
            "confirms": confirmed_wordings.confirmation_of(reader, visit.env, message) is not None,
        }

    message, values = await visit.env.store.read(read)
    visit.mode = message.mode
    # A code to log in somewhere is for the owner only.
    secret = message.kind == Kind.OTP and visit.role is not Role.OWNER
    body = None if message.state is MessageState.INCOMPLETE or secret else message.body
    if body is not None:
        facts = {"count": 1}
        await note_shown(visit.env, visit.caller, facts, mode=message.mode, message_id=message.id)
    fields, sender = _fields(message.fields), sender_name(visit, message.sender)
    return Shown(
        "messages/one.html",
        {
            **values,
            "one": message,
            "sender": sender,
            "sms": sms_text(visit, body),
            "secret": secret,
            "read": [(name, visible(str(fields[name]))) for name in _FIELDS if fields.get(name)],
            "reasons": reasons_of(message),
            "network": provider_name(message.provider) if message.provider else "—",
            "manages": visit.may(Operation.MANAGE_MESSAGES),
        },
        visible(f"{visit.words('message')} · {sender}"),
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


async def confirm_wording(visit: Visit) -> Outcome:
    """Trust the wording of a message from its sender; needs the own password."""
    await confirm(visit)
    return await _wording(visit, "said_confirmed", undo=False)


async def unconfirm(visit: Visit) -> Outcome:
    """Stop trusting the wording of a message."""
    return await _wording(visit, "said_unconfirmed", undo=True)


async def _wording(visit: Visit, said: str, *, undo: bool) -> Outcome:
    message_id = visit.places["id"]
    with visit.shows(ErrorCode.VALIDATION_ERROR, key="confirms_nothing"):
        await overdue.confirm_wording(visit.env, visit.caller, message_id, undo=undo)
    return Goto(f"{LIST}/{message_id}", said)


async def show_import(visit: Visit) -> Shown:
    """Show both forms for taking messages in."""
    return await _import_page(visit)


async def _import_page(visit: Visit, **values: Any) -> Shown:
    lines = await listing.named_lines(visit, lambda one: one.id)
    shown = {"lines": lines, "counts": None, "skipped": (), "total": 0, **values}
    return Shown("messages/import.html", shown)


async def paste(visit: Visit) -> Outcome:
    """Store one pasted message as history."""
    form = visit.form
    text = form.get("text", "").replace("\r\n", "\n").strip()
    if not text or len(text) > PASTED_MAX:
        visit.wrong("text", "paste_missing")
    entry = FileMessage(form.get("sender", "").strip(), text, visit.now)
    with _plain_refusals(visit, "line"):
        (taken,) = await import_messages(
            visit.env, visit.caller, form.get("line", ""), [entry], dry_run=False, pasted=True
        )
    if taken.fate is ImportResult.KNOWN and taken.message_id is None:
        return Goto(f"{LIST}/import", "said_paste_known")
    if taken.message_id is None:
        other = taken.fate is ImportResult.OTHER_SENDER
        visit.wrong("text", "paste_sender" if other else "paste_unreadable")
    return Goto(f"{LIST}/{taken.message_id}", "said_pasted")


async def take_backup(visit: Visit) -> Outcome:
    """Look at the text of a backup, or take its messages in; a text that cannot be read whole is refused."""
    require(visit.caller, Operation.MANAGE_MESSAGES)
    dry_run = visit.form.get("do") != "take"
    text = visit.form.get("backup", "").replace("\r\n", "\n")
    try:
        found = list(messages_of([text], None, visit.words.zone)) if text.strip() else []
    except BackupError as error:
        visit.errors["backup"] = visit.cite(str(error), visit.words("backup_wrong"))
        raise FormWrong from error
    if not found:
        visit.wrong("backup", "backup_empty")
    good = [_entry(one) for one in found if not one.problem]
    counts: Counter[str] = Counter()
    with _plain_refusals(visit, "backup_line"):
        for begin in range(0, len(good), BATCH):
            entries, line = good[begin : begin + BATCH], visit.form.get("line", "")
            taken = await import_messages(visit.env, visit.caller, line, entries, dry_run=dry_run)
            counts.update(str(one.fate) for one in taken)
    counts["unreadable"] += len(found) - len(good)
    return await _import_page(
        visit,
        counts=[(name.value, counts[name.value]) for name in ImportResult],
        skipped=[(one.line, one.problem) for one in found if one.problem][:20],
        total=len(found),
        looked=dry_run,
    )


def _entry(message: BackupMessage) -> FileMessage:
    body = message.body
    if "pdu" in body:
        return FileMessage(pdu=body["pdu"])
    at = read_iso(body["sent_at"])
    assert at is not None, "the reader wrote it"
    return FileMessage(body["sender"], body["text"], at, body.get("smsc"))


@contextlib.contextmanager
def _plain_refusals(visit: Visit, field: str) -> Iterator[None]:
    """Show the form again if the line of an import is refused."""
    with (
        visit.shows(ErrorCode.METHOD_HAS_NO_SIM, field=field, key="line_has_no_sim"),
        visit.shows(ErrorCode.PAYMENT_METHOD_NOT_FOUND, field=field, key="line_missing"),
    ):
        yield
