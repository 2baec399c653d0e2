"""/local/v1/notices: what the owner has to be told, until it was seen. On the Unix socket only."""

from typing import Final

from daemon.api.fields import Fields
from daemon.api.permission import needs_owner
from daemon.api.read_json import read_object, read_object_if_any
from daemon.api.service import Call, Reply, ok
from daemon.core.errors import Refusal
from daemon.core.notice_shapes import notice
from daemon.flows import notices, smtp_password
from daemon.store import notice_outbox
from daemon.store.engine import Tx
from daemon.wire import ErrorCode

LIMIT: Final = 50
LIMIT_MAX: Final = 500
PASSWORD_CHARACTERS_MAX: Final = 1024


async def get_list(call: Call) -> Reply:
    """List notices, newest first: those that nobody has seen, or with `all=1` every one."""
    query = call.query
    limit, offset = query.page(LIMIT, LIMIT_MAX)
    unseen = not query.flag("all")
    query.done()
    rows, total = await call.env.store.read(
        lambda reader: notice_outbox.page(reader, unseen=unseen, limit=limit, offset=offset)
    )
    failed = await call.env.store.read(notice_outbox.last_failed)
    meta = query.meta(limit=limit, offset=offset, total=total) or {}
    if failed is not None:
        meta["not_sent"] = {"channel": failed.channel, "error": failed.error}
    return ok([notice(row) for row in rows], meta)


async def see(call: Call) -> Reply:
    """Note that a person looked at one notice (`id`), or at all; `seen` says how many were new."""
    fields = Fields(await read_object_if_any(call.scope, call.receive))
    notice_id = fields.uuid("id")
    fields.done()
    now = call.env.clock.now_us()

    def job(tx: Tx) -> int:
        if notice_id is not None and not notice_outbox.exists(tx, notice_id):
            raise Refusal(ErrorCode.NOTICE_NOT_FOUND)
        return notice_outbox.see(tx, notice_id, now)

    return ok({"seen": await call.env.store.write(job)})


async def test(call: Call) -> Reply:
    """Queue a message for each channel that the settings name, to see whether it arrives."""
    return ok({"queued": await notices.queue_test(call.env, call.service.hooks.channels)})


async def set_password(call: Call) -> Reply:
    """Keep the password of the mail account; null forgets it."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    password = fields.value("password")
    if password is not None and (
        not isinstance(password, str) or not 0 < len(password) <= PASSWORD_CHARACTERS_MAX
    ):
        fields.fail("password", "invalid", "must be text of 1 to 1024 characters, or null")
    fields.done()
    await smtp_password.keep(call.env, call.caller, password)
    return ok({"set": password is not None})
