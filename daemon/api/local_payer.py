"""/local/v1/payer: what the shop keeps about one payer, and forgetting it (Act 843); on the Unix socket only."""

from typing import Any, Final

from daemon.api.fields import Fields
from daemon.api.permission import needs_owner
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, ok
from daemon.core import export_shapes
from daemon.core.ids import reference_of
from daemon.core.shapes import Json, timestamp, timestamp_or_none
from daemon.flows import forget_payer
from daemon.flows.note_export import note_export
from daemon.store import exports, payer_data
from daemon.store.engine import Reader
from daemon.store.exports import Part
from daemon.store.payer_data import Found

LIMIT: Final = 10_000
"""Rows of each kind that one export holds; a person who paid more often is told so."""


async def export(call: Call) -> Reply:
    """Take `{number}`; return all that is kept about that payer. The journal says that it was shown, not of whom."""
    needs_owner(call.caller)
    number, _ = await _asked(call)
    env = call.env
    mark = forget_payer.mark(env, number)
    await note_export(env, call.caller, {"what": "payer", "payer": mark})
    now = env.clock.now_us()
    found = await env.store.read(lambda reader: payer_data.find(reader, number))
    held = await env.store.read(lambda reader: _held(reader, found, now))
    return ok({"payer": number, "mark": mark, **held})


async def forget(call: Call) -> Reply:
    """Take `{number, dry_run?}`; forget that payer, or say what would be forgotten and what stands in the way."""
    needs_owner(call.caller)
    number, dry_run = await _asked(call)
    if dry_run:
        done = await forget_payer.survey(call.env, number)
    else:
        done = await forget_payer.forget(call.env, call.caller, number)
    return ok(
        {
            "mark": done.mark,
            "counts": done.counts,
            "total": sum(done.counts.values()),
            "open": done.still_open,
            "dry_run": dry_run,
        }
    )


async def _asked(call: Call) -> tuple[str, bool]:
    fields = Fields(await read_object(call.scope, call.receive))
    number = fields.phone("number", required=True)
    dry_run = fields.boolean("dry_run", False)
    fields.refuse_unknown(("number", "dry_run"))
    fields.done()
    assert number is not None
    return number, dry_run


def _held(reader: Reader, found: Found, now: int) -> Json:
    def parts(ids: tuple[str, ...]) -> list[Part]:
        kept = ids[:LIMIT]
        size = payer_data.BATCH
        return [
            Part(0, None, None, LIMIT, kept[start : start + size])
            for start in range(0, len(kept), size)
        ]

    return {
        "payments": [
            export_shapes.payment(row, line, pays)
            for part in parts(found.payments)
            for row, line, pays in exports.payments(reader, part)
        ],
        "orders": [
            export_shapes.transaction(row, payment, now)
            for part in parts(found.orders)
            for row, payment in exports.transactions(reader, part)
        ],
        "messages": [
            export_shapes.message(row, line, show_body=True)
            for part in parts(found.messages)
            for row, line in exports.messages(reader, part)
        ],
        "webhooks": [
            _sent(row)
            for part in parts(found.transactions)
            for row in exports.deliveries(reader, part)
        ],
        "sms": [_text(row) for row in payer_data.texts(reader, found)],
        "approved_names": payer_data.approved_names(reader, found),
        "cut_off": any(
            len(ids) > LIMIT for ids in (found.payments, found.transactions, found.messages)
        ),
    }


def _sent(row: exports.Sent) -> dict[str, Any]:
    """Say who was told of the payer, and when."""
    return {
        "url": row.url,
        "event": row.event,
        "reference": reference_of(row.transaction_id),
        "status": row.status,
        "created_at": timestamp(row.created_at),
        "delivered_at": timestamp_or_none(row.delivered_at),
    }


def _text(row: payer_data.SentText) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "status": row.status,
        "created_at": timestamp(row.created_at),
        "ended_at": timestamp_or_none(row.ended_at),
        "body": row.body,
    }
