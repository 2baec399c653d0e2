"""The transactions that people made in the dashboard, for the till and for the screen that customers see."""

from daemon.store.engine import Reader
from daemon.store.payments.transaction_list import JOINED, Found, found_by


def made_by(reader: Reader, actor: str | None, *, since: int, limit: int) -> list[Found]:
    """Return the newest transactions that a user made, such as `user:ama`, or with None any user."""
    return found_by(
        reader,
        f"SELECT t.*, p.* FROM {JOINED} WHERE t.mode = 'live' AND t.origin = 'request' AND t.merged_into IS NULL "
        "AND t.created_at >= :since AND t.created_with = 'session' AND EXISTS (SELECT 1 FROM events e "
        "WHERE e.transaction_seq = t.seq AND e.type = 'transaction.created' "
        "AND (e.actor = :actor OR :actor IS NULL AND e.actor LIKE 'user:%')) "
        "ORDER BY t.created_at DESC, t.seq DESC LIMIT :limit",
        {"actor": actor, "since": since, "limit": limit},
    )
