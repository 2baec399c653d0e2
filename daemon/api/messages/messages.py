"""The received SMS: list, show, parse again, import from a file. On the Unix socket only.

A caller that reads the text of SMS is recorded in the journal first.
"""

from typing import Any, Final

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import Fields, Query, read_uuid
from daemon.api.http.service import Call, Reply, ok
from daemon.core.errors import Refusal
from daemon.core.json_values import timestamp_or_none
from daemon.core.messages.message_json import MessageAnswer, MessageInFullAnswer
from daemon.flows.books.audit import note_shown
from daemon.flows.messages import ingest
from daemon.flows.messages.import_file import BATCH, FileMessage, import_messages
from daemon.store.messages import messages
from daemon.wire import ErrorCode, MessageState
from parsers.phone import read_phone
from parsers.times import read_iso

LIMIT: Final = 50
LIMIT_MAX: Final = 500
IDS_MAX: Final = 50
SENDER_CHARACTERS_MAX: Final = 100
_MEMBERS: Final = (
    f"must be a list of up to {BATCH} objects, each of sender, text, sent_at (ISO 8601 with a zone) and optionally smsc; "
    "or of pdu, in hex"
)


async def get_list(call: Call) -> Reply:
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


async def get_one(call: Call) -> Reply:
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
