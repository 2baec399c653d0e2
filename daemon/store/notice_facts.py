"""What a notice says of an endpoint besides what its line of the journal tells."""

from typing import Any, Final

from daemon.store.engine import Reader

LOOK_BACK: Final = 500
"""Newest attempts, of all endpoints, among which its last failure is looked for: it has just failed."""


def of_endpoint(reader: Reader, endpoint_id: str) -> dict[str, Any]:
    """Return its `url`, whether it is `implicit` or `deleted`, and `last_status_code` and `last_error_code` of its failures."""
    found = reader.one(
        "SELECT url, kind = 'implicit', deleted_at IS NOT NULL FROM endpoints WHERE id = :id",
        {"id": endpoint_id},
    )
    if found is None:
        return {}
    last = reader.one(
        "SELECT a.status_code, a.error_code FROM "
        "(SELECT seq, delivery_id, status_code, error_code FROM attempts WHERE seq > "
        "(SELECT MAX(seq) FROM attempts) - :look_back AND counted = 1) a "
        "JOIN deliveries d ON d.id = a.delivery_id WHERE d.endpoint_id = :id ORDER BY a.seq DESC LIMIT 1",
        {"id": endpoint_id, "look_back": LOOK_BACK},
    ) or (None, None)
    return {
        "url": found[0],
        "implicit": bool(found[1]),
        "deleted": bool(found[2]),
        "last_status_code": last[0],
        "last_error_code": last[1],
    }
