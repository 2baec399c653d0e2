"""The JSON shape of a notice."""

from daemon.core.model import NoticeRow
from daemon.core.shapes import Json, timestamp, timestamp_or_none


def notice(row: NoticeRow) -> Json:
    """Make the object of a notice; `next` is what to type, null when there is nothing."""
    return {
        "id": row.id,
        "kind": row.kind,
        "urgent": row.urgent,
        "text": row.text,
        "next": row.next or None,
        "count": row.count,
        "first_at": timestamp(row.first_at),
        "last_at": timestamp(row.last_at),
        "seen_at": timestamp_or_none(row.seen_at),
        "recovered_at": timestamp_or_none(row.recovered_at),
    }
