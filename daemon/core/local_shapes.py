"""The machine's own view, on the Unix socket only: messages and the journal."""

import msgspec

from daemon.core.event_facts import facts
from daemon.core.model import Event, Message, Payment, Transaction
from daemon.core.shapes import Json, timestamp, timestamp_or_none
from daemon.core.transaction_shapes import list_item
from daemon.wire import MessageState, Mode


def message(row: Message, line: str | None, *, show_body: bool) -> Json:
    """Make one SMS (cli.md, contract); `line` is the merchant number it came to."""
    shape: Json = {
        "id": row.id,
        "line": line,
        "device_id": row.device_id,
        "sender": row.sender,
        "smsc": row.smsc,
        "smsc_ts": timestamp_or_none(row.sent_at),
        "received_at": timestamp(row.received_at),
        "state": row.state,
        "kind": row.kind,
        "provider": row.provider,
        "fields": msgspec.Raw(row.fields.encode()),
        "trusted": row.trusted,
        "reasons": msgspec.Raw(row.reasons.encode()),
        "payment_id": row.payment_id,
        "slot_index": row.slot_index,
        "parts": {"total": row.parts_total, "seen": row.parts_seen},
        "test": row.mode is Mode.TEST,
    }
    if show_body:
        shape["body"] = row.body if row.state is not MessageState.INCOMPLETE else None
    return shape


def event(
    row: Event, transaction: Transaction | None, payment: Payment | None, now_us: int
) -> Json:
    """Make one line of the journal, as the stream sends it.

    An event about a transaction carries that transaction's list item as it is now; what the event itself says
    stands in `details`.
    """
    about = {} if transaction is None else list_item(transaction, payment, now_us)
    return {
        "id": str(row.seq),
        "type": row.type,
        "at": timestamp(row.at),
        "actor": row.actor,
        "test": row.mode is Mode.TEST,
        **about,
        "transaction_id": row.transaction_id,
        "payment_id": row.payment_id,
        "message_id": row.message_id,
        "endpoint_id": row.endpoint_id,
        "details": facts(row.data, None if transaction is None else transaction.currency),
    }
