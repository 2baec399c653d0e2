"""/local/v1/notices: the notices to the owner, and their channels. On the Unix socket only."""

from typing import Final

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import Fields
from daemon.api.http.service import Call, Reply, ok
from daemon.core.errors import Refusal, Unavailable
from daemon.core.upkeep.faults import as_notice
from daemon.core.upkeep.notice_rules import notice
from daemon.flows.upkeep import notices
from daemon.store.engine import Tx
from daemon.store.upkeep import notices as store_notices
from daemon.wire import ErrorCode

LIMIT: Final = 50
LIMIT_MAX: Final = 500
PASSWORD_CHARACTERS_MAX: Final = 1024


async def get_list(call: Call) -> Reply:
    """List unseen notices, newest first, or all notices with `all=1`."""
    query = call.query
    limit, offset = query.page(LIMIT, LIMIT_MAX)
    unseen = not query.flag("all")
    query.done()
    # Present faults stand first. They are not in the database, because it may have failed itself.
    faults = [notice(as_notice(fault)) for fault in call.env.faults.all()]
    try:
        rows, total = await call.env.store.read(
            lambda reader: store_notices.page(reader, unseen=unseen, limit=limit, offset=offset)
        )
        failed = await call.env.store.read(store_notices.last_failed)
    except Unavailable:
        if not faults:
            raise
        rows, total, failed = [], 0, None
    meta = query.meta(limit=limit, offset=offset, total=total + len(faults)) or {}
    if failed is not None:
        meta["not_sent"] = {"channel": failed.channel, "error": failed.error}
    return ok([*([] if offset else faults), *(notice(row) for row in rows)], meta)


async def see(call: Call) -> Reply:
    """Mark one notice (`id`) or all notices as seen; `seen` counts the newly marked ones."""
    fields = Fields(await read_object_if_any(call.scope, call.receive))
    notice_id = fields.uuid("id")
    fields.done()
    now = call.env.clock.now_us()

    if notice_id in [fault.id for fault in call.env.faults.all()]:
        return ok({"seen": 0})  # a present fault leaves the list when it ends

    def job(tx: Tx) -> int:
        if notice_id is not None and not store_notices.exists(tx, notice_id):
            raise Refusal(ErrorCode.NOTICE_NOT_FOUND)
        return store_notices.mark_seen(tx, notice_id, now)

    return ok({"seen": await call.env.store.write(job)})


async def test(call: Call) -> Reply:
    """Queue a test message on each channel in the settings."""
    return ok(
        {"queued": await notices.queue_test(call.env, call.caller, call.service.hooks.channels)}
    )


async def set_password(call: Call) -> Reply:
    """Store the password of the mail account; null deletes it."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    password = fields.value("password")
    if password is not None and (
        not isinstance(password, str) or not 0 < len(password) <= PASSWORD_CHARACTERS_MAX
    ):
        fields.fail("password", "invalid", "must be text of 1 to 1024 characters, or null")
    fields.done()
    await notices.store_smtp_password(call.env, call.caller, password)
    return ok({"set": password is not None})
