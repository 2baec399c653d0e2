"""GET /local/v1/messages and one of them: the SMS that came in. On the Unix socket only.

Who is shown the text of SMS stands in the journal, before it is shown (cli.md section 4.9).
"""

from typing import Final

from daemon.api.fields import Fields, Query, read_uuid
from daemon.api.read_json import read_object_if_any
from daemon.api.service import Call, Reply, ok
from daemon.core import local_shapes
from daemon.core.errors import Refusal
from daemon.core.shapes import timestamp_or_none
from daemon.flows import reparse as flow
from daemon.flows.note_shown import note_shown
from daemon.store import lists
from daemon.wire import ErrorCode, MessageState
from parsers.phone import read_phone

LIMIT: Final = 50
LIMIT_MAX: Final = 500
IDS_MAX: Final = 50
SENDER_CHARACTERS_MAX: Final = 100


async def get_list(call: Call) -> Reply:
    """List SMS, newest first; texts only with `show_body=1`."""
    query = call.query
    limit, offset = query.page(LIMIT, LIMIT_MAX)
    state = query.word("state", list(MessageState))
    wanted = lists.MessageFilter(
        state=None if state is None else MessageState(state),
        line=_line(query),
        sender=_sender(query),
        since=query.time("since"),
    )
    show_body = query.flag("show_body")
    query.done()
    found, total = await call.env.store.read(
        lambda reader: lists.messages(reader, wanted, limit=limit, offset=offset)
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
    items = [local_shapes.message(message, line, show_body=show_body) for message, line in found]
    return ok(items, query.meta(limit=limit, offset=offset, total=total))


def _sender(query: Query) -> str | None:
    """Return a name as it was typed, a number as messages have it."""
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
    """Return one SMS; its text only with `show_body=1`."""
    query = call.query
    show_body = query.flag("show_body")
    query.done()
    message_id = read_uuid(call.path("id"))
    found = None
    if message_id is not None:
        found = await call.env.store.read(lambda reader: lists.message(reader, message_id))
    if found is None:
        raise Refusal(ErrorCode.MESSAGE_NOT_FOUND)
    if show_body:
        message, _ = found
        facts = {"count": 1}
        await note_shown(call.env, call.caller, facts, mode=message.mode, message_id=message.id)
    return ok(local_shapes.message(*found, show_body=show_body))


async def reparse(call: Call) -> Reply:
    """POST /local/v1/messages/reparse: read one batch of unread messages again; go on with `after` = the answer's `next`."""
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
        fields.fail("after", "invalid", "must be the `next` of the answer before")
    dry_run = fields.boolean("dry_run", default=False)
    fields.done()
    done = await flow.reparse(call.env, flow.Wanted(given or (), after or 0, dry_run))
    return ok(
        {
            "looked_at": done.looked_at,
            "read": list(done.read),
            "counts": done.counts,
            "dry_run": dry_run,
            "next": done.next,
        }
    )
