"""The rights that a restore does not give back, and the older state of the rest of the access to the shop.

What was taken away since the backup stays taken away: API keys, users, sessions and used recovery codes. Passwords, roles,
second factors and secrets become those of the backup, because the person who restores knows which of both is right.
"""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any, Final

from daemon.store.sqlite_file import file_uri
from daemon.store.upkeep.backup import BackupBad, replaced_uri

_OFF: Final = {
    "key": (
        (
            "UPDATE api_keys SET revoked_at = o.revoked_at FROM old.api_keys o "
            "WHERE o.id = api_keys.id AND o.revoked_at IS NOT NULL AND api_keys.revoked_at IS NULL RETURNING name"
        ),
        (
            "UPDATE api_keys SET expires_at = o.expires_at FROM old.api_keys o "
            "WHERE o.id = api_keys.id AND (api_keys.expires_at IS NULL OR api_keys.expires_at > o.expires_at) "
            "AND o.expires_at IS NOT NULL RETURNING name"
        ),
    ),
    "user": (
        (
            "UPDATE users SET disabled_at = o.disabled_at FROM old.users o "
            "WHERE o.id = users.id AND o.disabled_at IS NOT NULL AND users.disabled_at IS NULL RETURNING name"
        ),
    ),
}
_ENDED: Final = (
    "DELETE FROM browser_sessions WHERE id NOT IN (SELECT id FROM old.browser_sessions)",
    "DELETE FROM session_keys WHERE sealed NOT IN (SELECT sealed FROM old.session_keys)",
    "INSERT INTO ended_sessions (id, ends_at) SELECT id, ends_at FROM old.ended_sessions WHERE TRUE ON CONFLICT DO NOTHING",
    (
        "DELETE FROM recovery_codes WHERE (user_id, sha256) NOT IN (SELECT user_id, sha256 FROM old.recovery_codes) "
        "AND user_id IN (SELECT n.id FROM users n JOIN old.users o USING (id) WHERE n.totp_sealed = o.totp_sealed)"
    ),
)
_ALL_ENDED: Final = ("DELETE FROM browser_sessions", "DELETE FROM session_keys")
_EARLIER: Final = """
SELECT 'password', n.name FROM users n JOIN old.users o USING (id) WHERE n.password_hash <> o.password_hash
UNION ALL
SELECT 'role', n.name FROM users n JOIN old.users o USING (id) WHERE n.role <> o.role
UNION ALL
SELECT 'second_factor', n.name FROM users n JOIN old.users o USING (id) WHERE n.totp_sealed IS NOT o.totp_sealed
UNION ALL
SELECT 'signing_secret', COALESCE(e.url, n.owner) FROM webhook_secrets n JOIN old.webhook_secrets o USING (owner)
LEFT JOIN endpoints e ON e.id = n.owner
WHERE n.expires_at IS NULL AND o.expires_at IS NULL AND n.sealed <> o.sealed
UNION ALL
SELECT 'secret', n.name FROM sealed_secrets n JOIN old.sealed_secrets o USING (name) WHERE n.sealed <> o.sealed
"""


def carry_over(old: Path | None, new: Path) -> dict[str, Any] | None:
    """Take away in a restored copy what was taken away in the database that it replaces.

    Args:
        old: The replaced database, None if there is none.
        new: The restored copy.

    Returns:
        What stays off (`still_off`) and what is older than before (`earlier`), each with `what` and `name`; None if the
        replaced database cannot be read. Then all sessions end, because nobody knows which ones did.

    Raises:
        BackupBad: The copy cannot be written.
    """
    try:
        with contextlib.closing(
            sqlite3.connect(file_uri(new, "mode=rw"), uri=True, isolation_level=None)
        ) as base:
            # A journal file that a killed process leaves would be played back into the next copy of this name.
            base.execute("PRAGMA journal_mode = MEMORY")
            if old is not None:
                try:
                    return _take_away(base, old)
                except sqlite3.Error:
                    if base.in_transaction:
                        base.execute("ROLLBACK")
            for statement in _ALL_ENDED:
                base.execute(statement)
            return None
    except sqlite3.Error as error:
        raise BackupBad(f"{new} cannot be written: {error}") from error


def _take_away(base: sqlite3.Connection, old: Path) -> dict[str, Any]:
    base.execute("ATTACH DATABASE ? AS old", (replaced_uri(old),))
    base.execute("BEGIN IMMEDIATE")
    off = [
        (what, name)
        for what, statements in _OFF.items()
        for statement in statements
        for (name,) in base.execute(statement).fetchall()
    ]
    for statement in _ENDED:
        base.execute(statement)
    earlier = base.execute(_EARLIER).fetchall()
    base.execute("COMMIT")
    return {"still_off": _as_json(off), "earlier": _as_json(earlier)}


def _as_json(found: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"what": what, "name": name} for what, name in dict.fromkeys(found)]
