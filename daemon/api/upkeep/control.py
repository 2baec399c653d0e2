"""Upkeep on the Unix socket: shutdown, doctor, log and setup; notices; what is pruned, shown to a payer or forgotten."""

import asyncio
import os
import tempfile
from typing import Annotated, Any, Final

from msgspec import Meta, Struct, field
from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from daemon.api.branches import other_uses
from daemon.api.http.auth import needs_owner
from daemon.api.http.service import NO_STORE, Call, Reply, ok
from daemon.api.lines.modems import all_modems
from daemon.core.books import export_rows
from daemon.core.errors import FieldError, Refusal, Unavailable, invalid
from daemon.core.ids import reference_of
from daemon.core.json_values import Json, dump, timestamp, timestamp_or_none
from daemon.core.lines.modem_health import Level, ModemProblem
from daemon.core.reading import Wrong
from daemon.core.shape import Offset, UuidRead, marked, page_size, taken
from daemon.core.upkeep.faults import as_notice
from daemon.core.upkeep.notice_rules import notice
from daemon.flows.books.audit import note_export
from daemon.flows.upkeep import erasure, notices
from daemon.flows.upkeep.erasure import Pruned
from daemon.flows.upkeep.setup import SetupRequest, set_up
from daemon.runtime import log
from daemon.runtime.log import LEVELS, LINES_MAX, LogFilter
from daemon.store.books import exports
from daemon.store.books.exports import TablePage
from daemon.store.engine import Reader, Tx
from daemon.store.upkeep import notices as store_notices
from daemon.store.upkeep import payer_data
from daemon.store.upkeep.payer_data import OpenRow, PayerRows
from daemon.wire import ErrorCode, places

LINES: Final = 200
_TEXT_CHARACTERS_MAX: Final = 2000
_AWAY: Final = "away"


class Shutdown:
    """An ASGI application that answers first and then starts the shutdown."""

    def __init__(self, call: Call) -> None:
        self._call = call

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 -- ASGI's signature
        """Serve the call."""
        await Reply(200, ok({"status": "stopping"}).body, ((b"connection", b"close"),)).send(send)
        self._call.service.hooks.on_shutdown()


async def shutdown(call: Call) -> Shutdown:
    """Stop the daemon. Only who can start it again may: its own user, and root."""
    needs_owner(call.caller)
    return Shutdown(call)


class SetupBody(Struct, frozen=True):
    """What is known of a new shop; with `check` nothing is created."""

    shop: Annotated[str, Meta(max_length=_TEXT_CHARACTERS_MAX)] | None = None
    tz: str | None = None
    owner_email: str | None = None
    check_only: bool = field(name="check", default=False)
    password: Annotated[str, marked(read="secret")] | None = None


async def setup(call: Call) -> Reply:
    """Create the missing parts of the shop. A second call changes nothing and shows no secret."""
    asked, env = await call.body(SetupBody), call.env
    request = SetupRequest(asked.shop, asked.tz, asked.password, asked.owner_email, asked.check_only)
    data = await set_up(env.store, env.clock, env.entropy, env.vault, request)
    return Reply(200, ok(data).body, (NO_STORE,))


_AsGiven = Annotated[str, marked(read="any")]


class LogQuery(Struct, frozen=True):
    """Which lines of the log."""

    since: _AsGiven = ""
    level: Annotated[str, marked(words=LEVELS)] = LEVELS[0]
    component: _AsGiven = ""
    lines: Annotated[int, page_size(LINES_MAX)] = LINES
    after: _AsGiven = ""


async def get_log(call: Call) -> Reply:
    """Return log lines, oldest first; `meta.cursor` is the `after` of the next call."""
    asked = call.query.read(LogQuery)
    rows, cursor = await asyncio.to_thread(log.read, call.service.hooks.log_folder, taken(LogFilter, asked))
    return ok(rows, call.query.meta(cursor=cursor))


class DoctorQuery(Struct, frozen=True):
    """The areas to check, separated by commas."""

    area: _AsGiven = ""


async def run_doctor(call: Call) -> Reply:
    """Check the areas in `area`, separated by commas; by default all. 200 also if a check fails."""
    from daemon.doctor.checks import ReportedModem, report  # noqa: PLC0415 -- see the module's docstring
    from daemon.doctor.run import AREAS, run_checks, running_system  # noqa: PLC0415 -- the same

    areas = [area for area in call.query.read(DoctorQuery).area.split(",") if area]
    if not set(areas) <= set(AREAS):
        raise invalid([FieldError("area", "invalid", f"must be one of {', '.join(AREAS)}")])
    phones = tuple(
        ReportedModem(row["name"] or row["port"], row["port"], row["state"], _problems(row))
        for row in await all_modems(call)
        if row["state"] != _AWAY and "simulated" not in row
    )
    uses = await other_uses(call.env) if "ledger" in (areas or AREAS) else None
    here = places(os.environ, os.getuid(), tempfile.gettempdir())
    system = replace(running_system(call.env, here, phones), uses=uses)
    # In a thread: it reads hundreds of small files in /proc, and the whole database.
    checks = await asyncio.to_thread(run_checks, system, areas, call.env.clock.monotonic)
    return Reply(200, dump(report(checks)))


def _problems(row: Json) -> tuple[ModemProblem, ...]:
    return tuple(ModemProblem(each["id"], Level(each["level"]), each["text"], each["fix"]) for each in row["troubles"])


NOTICES_LIMIT: Final = 50
LIMIT_MAX: Final = 500
PASSWORD_CHARACTERS_MAX: Final = 1024


class NoticesQuery(Struct, frozen=True):
    """The page of the list, and whether seen ones are in it."""

    limit: Annotated[int, page_size(LIMIT_MAX)] = NOTICES_LIMIT
    offset: Offset = 0
    with_seen: bool = field(name="all", default=False)


async def list_notices(call: Call) -> Reply:
    """List unseen notices, newest first, or all notices with `all=1`."""
    asked = call.query.read(NoticesQuery)
    limit, offset, unseen = asked.limit, asked.offset, not asked.with_seen
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
    meta = call.query.page(asked, total + len(faults)) or {}
    if failed is not None:
        meta["not_sent"] = {"channel": failed.channel, "error": failed.error}
    return ok([*([] if offset else faults), *(notice(row) for row in rows)], meta)


class SeenBody(Struct, frozen=True):
    """The notice that is seen; without it all are."""

    id: Annotated[str, UuidRead] | None = None


async def see_notices(call: Call) -> Reply:
    """Mark one notice (`id`) or all notices as seen; `seen` counts the newly marked ones."""
    notice_id = (await call.body(SeenBody, optional=True)).id
    now = call.env.clock.now_us()

    if notice_id in [fault.id for fault in call.env.faults.all()]:
        return ok({"seen": 0})  # a present fault leaves the list when it ends

    def job(tx: Tx) -> int:
        if notice_id is not None and not store_notices.exists(tx, notice_id):
            raise Refusal(ErrorCode.NOTICE_NOT_FOUND)
        return store_notices.mark_seen(tx, notice_id, now)

    return ok({"seen": await call.env.store.write(job)})


async def test_notices(call: Call) -> Reply:
    """Queue a test message on each channel in the settings."""
    return ok({"queued": await notices.queue_test(call.env, call.caller, call.service.hooks.channels)})


def _mail_password(text: str) -> str | Wrong:
    good = 0 < len(text) <= PASSWORD_CHARACTERS_MAX
    return text if good else Wrong("invalid", "must be text of 1 to 1024 characters, or null")


class MailPassword(Struct, frozen=True):
    """The password of the mail account."""

    password: Annotated[str, marked(read="secret", then=_mail_password)] | None = None


async def set_smtp_password(call: Call) -> Reply:
    """Store the password of the mail account; null deletes it."""
    needs_owner(call.caller)
    password = (await call.body(MailPassword)).password
    await notices.store_smtp_password(call.env, call.caller, password)
    return ok({"set": password is not None})


LIMIT: Final = 10_000
"""Largest number of rows of each kind in one export; `cut_off` is true if there are more."""
UNFINISHED_SHOWN_MAX: Final = 100
"""Open rows that are named; all of them are counted."""


class PayerBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A payer, and whether to count only."""

    number: Annotated[str, marked(read="phone")]
    dry_run: bool = False


async def export_payer(call: Call) -> Reply:
    """Return all data about the payer `{number}`. The journal records the export with a mark instead of the number."""
    needs_owner(call.caller)
    number, env = (await call.body(PayerBody)).number, call.env
    mark = erasure.payer_hash(env, number)
    await note_export(env, call.caller, {"what": "payer", "payer": mark})
    now = env.clock.now_us()
    found = await env.store.read(lambda reader: payer_data.find(reader, number))
    held = await env.store.read(lambda reader: _payer_json(reader, found, now))
    return ok({"payer": number, "mark": mark, **held})


async def forget_payer(call: Call) -> Reply:
    """Erase the payer `{number, dry_run?}`. A dry run counts the rows to erase and names the open items that prevent it."""
    needs_owner(call.caller)
    asked = await call.body(PayerBody)
    number, dry_run = asked.number, asked.dry_run
    if dry_run:
        done = await erasure.preview_forget(call.env, number)
    else:
        done = await erasure.forget(call.env, call.caller, number)
    return ok(
        {
            "mark": done.mark,
            "counts": done.counts,
            "total": sum(done.counts.values()),
            "open": done.still_open,
            "unfinished": [_unfinished_json(row) for row in done.unfinished[:UNFINISHED_SHOWN_MAX]],
            "dry_run": dry_run,
            "second_folder_waits": _second_folder(call),
        }
    )


def _unfinished_json(row: OpenRow) -> Json:
    name = reference_of(row.id) if row.kind == "orders" else row.id
    return {"kind": row.kind, "id": name, "test": row.test}


def _second_folder(call: Call) -> str | None:
    """Return why the second folder of the message journal still has the payer's messages; None if it follows at once."""
    message_journal = call.env.message_journal
    return None if message_journal is None else message_journal.second.why or None


def _payer_json(reader: Reader, found: PayerRows, now: int) -> Json:
    def parts(ids: tuple[str, ...]) -> list[TablePage]:
        kept = ids[:LIMIT]
        size = payer_data.BATCH
        return [TablePage(0, None, None, LIMIT, kept[start : start + size]) for start in range(0, len(kept), size)]

    return {
        "payments": [
            export_rows.payment(row, line, pays)
            for part in parts(found.payments)
            for row, line, pays in exports.payments(reader, part)
        ],
        "orders": [
            export_rows.transaction(row, payment, now)
            for part in parts(found.orders)
            for row, payment in exports.transactions(reader, part)
        ],
        "messages": [
            export_rows.message(row, line, show_body=True)
            for part in parts(found.messages)
            for row, line in exports.messages(reader, part)
        ],
        "webhooks": [
            {
                "url": url,
                "event": row.event,
                "reference": reference_of(row.transaction_id),
                "status": row.status,
                "created_at": timestamp(row.created_at),
                "delivered_at": timestamp_or_none(row.delivered_at),
            }
            for part in parts(found.transactions)
            for row, url in exports.deliveries(reader, part)
        ],
        "sms": [
            {
                "kind": row.kind,
                "status": row.status,
                "created_at": timestamp(row.created_at),
                "ended_at": timestamp_or_none(row.ended_at),
                "body": row.body,
            }
            for row in payer_data.texts(reader, found)
        ],
        "approved_names": payer_data.approved_names(reader, found),
        "cut_off": any(len(ids) > LIMIT for ids in (found.payments, found.transactions, found.messages)),
    }


async def survey(call: Call) -> Reply:
    """Count the rows to prune, without changes."""
    return ok(_pruned_json(call, await erasure.preview_prune(call.env)))


async def prune(call: Call) -> Reply:
    """Prune one batch of each kind. Call again while `more` is true."""
    needs_owner(call.caller)
    return ok(_pruned_json(call, await erasure.prune(call.env)))


def _pruned_json(call: Call, pruned: Pruned) -> dict[str, Any]:
    kept = call.env.config.retention
    return {
        "counts": pruned.counts,
        "total": sum(pruned.counts.values()),
        "more": pruned.more,
        "doubt": pruned.doubt or None,
        "days": {"attempts": kept.attempts_days, "deliveries": kept.deliveries_days, "messages": kept.messages_days},
    }
