"""Export or erase the data about one payer (Act 843); prune rows older than the retention settings. On the Unix socket only."""

from typing import Any, Final

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_object
from daemon.api.http.fields import Fields
from daemon.api.http.service import Call, Reply, ok
from daemon.core.books import export_rows
from daemon.core.ids import reference_of
from daemon.core.json_values import Json, timestamp, timestamp_or_none
from daemon.flows.books.audit import note_export
from daemon.flows.upkeep import erasure
from daemon.flows.upkeep.erasure import Pruned
from daemon.store.books import exports
from daemon.store.books.exports import TablePage
from daemon.store.engine import Reader
from daemon.store.upkeep import payer_data
from daemon.store.upkeep.payer_data import OpenRow, PayerRows

LIMIT: Final = 10_000
"""Largest number of rows of each kind in one export; `cut_off` is true if there are more."""
UNFINISHED_SHOWN_MAX: Final = 100
"""Open rows that are named; all of them are counted."""


async def export(call: Call) -> Reply:
    """Return all data about the payer `{number}`. The journal records the export with a mark instead of the number."""
    needs_owner(call.caller)
    number, _ = await _read_body(call)
    env = call.env
    mark = erasure.payer_hash(env, number)
    await note_export(env, call.caller, {"what": "payer", "payer": mark})
    now = env.clock.now_us()
    found = await env.store.read(lambda reader: payer_data.find(reader, number))
    held = await env.store.read(lambda reader: _payer_json(reader, found, now))
    return ok({"payer": number, "mark": mark, **held})


async def forget(call: Call) -> Reply:
    """Erase the payer `{number, dry_run?}`. A dry run counts the rows to erase and names the open items that prevent it."""
    needs_owner(call.caller)
    number, dry_run = await _read_body(call)
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


async def _read_body(call: Call) -> tuple[str, bool]:
    fields = Fields(await read_object(call.scope, call.receive))
    number = fields.phone("number", required=True)
    dry_run = fields.boolean("dry_run", False)
    fields.refuse_unknown(("number", "dry_run"))
    fields.done()
    assert number is not None
    return number, dry_run


def _payer_json(reader: Reader, found: PayerRows, now: int) -> Json:
    def parts(ids: tuple[str, ...]) -> list[TablePage]:
        kept = ids[:LIMIT]
        size = payer_data.BATCH
        return [
            TablePage(0, None, None, LIMIT, kept[start : start + size])
            for start in range(0, len(kept), size)
        ]

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
            _webhook_json(row)
            for part in parts(found.transactions)
            for row in exports.deliveries(reader, part)
        ],
        "sms": [_sms_json(row) for row in payer_data.texts(reader, found)],
        "approved_names": payer_data.approved_names(reader, found),
        "cut_off": any(
            len(ids) > LIMIT for ids in (found.payments, found.transactions, found.messages)
        ),
    }


def _webhook_json(row: exports.DeliveryRow) -> dict[str, Any]:
    """Build the JSON of one webhook about the payer: its receiver and times."""
    return {
        "url": row.url,
        "event": row.event,
        "reference": reference_of(row.transaction_id),
        "status": row.status,
        "created_at": timestamp(row.created_at),
        "delivered_at": timestamp_or_none(row.delivered_at),
    }


def _sms_json(row: payer_data.SentText) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "status": row.status,
        "created_at": timestamp(row.created_at),
        "ended_at": timestamp_or_none(row.ended_at),
        "body": row.body,
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
        "days": {
            "attempts": kept.attempts_days,
            "deliveries": kept.deliveries_days,
            "messages": kept.messages_days,
        },
    }
