"""Who may use the shop: users with their recovery codes and browser sessions, and API keys.

Keys are stored as SHA-256 hashes. A key itself is shown once and never stored.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

from daemon.core.access.callers import Use, hash_key, parse_key
from daemon.core.access.sessions import BROWSER_IDLE_US, BROWSER_LIFE_US
from daemon.core.model import ApiKey, BrowserSession, User
from daemon.store.engine import Reader, Tx
from daemon.store.rows import insertion
from daemon.wire import Mode, Role

TOPIC: Final = "browser_sessions"
"""Woken by every commit that ended a browser session or changed a user."""


def new_row(
    user_id: str, name: str, role: Role, password_hash: str, now: int, branch_id: str | None = None
) -> dict[str, Any]:
    """Return the row of a new user without a second factor, for `add`."""
    return {
        "id": user_id, "name": name, "role": role, "password_hash": password_hash, "totp_sealed": None,
        "totp_step": None, "created_at": now, "password_at": now, "disabled_at": None, "branch_id": branch_id,
    }  # fmt: skip


def add(tx: Tx, user: dict[str, Any]) -> bool:
    """Store a user, with every column but `seq`; return False if the name is taken."""
    return tx.changed(f"{insertion('users', User, 'branch')} ON CONFLICT (name) DO NOTHING", user)


def known(reader: Reader) -> list[User]:
    """Return every user, the owner first."""
    return reader.every(User, "SELECT * FROM users ORDER BY seq")


def get(reader: Reader, user_id: str) -> User | None:
    """Return a user by id."""
    return reader.first(User, "SELECT * FROM users WHERE id = :id", {"id": user_id})


def named(reader: Reader, name: str) -> User | None:
    """Return a user by name."""
    return reader.first(User, "SELECT * FROM users WHERE name = :name", {"name": name})


def owner(reader: Reader) -> User | None:
    """Return the owner, None before the setup."""
    return reader.first(User, "SELECT * FROM users WHERE role = 'owner'")


def set_password(tx: Tx, user_id: str, password_hash: str, now: int) -> None:
    """Store a new password and end the user's sessions."""
    tx.run(
        "UPDATE users SET password_hash = :hash, password_at = :now WHERE id = :id",
        {"hash": password_hash, "now": now, "id": user_id},
    )
    end_all(tx, user_id)


def set_first_password(tx: Tx, user_id: str, password_hash: str, now: int) -> bool:
    """Store the first password of a user, and keep the sessions; return False if there is one already."""
    return tx.changed(
        "UPDATE users SET password_hash = :hash, password_at = :now WHERE id = :id AND password_hash = ''",
        {"hash": password_hash, "now": now, "id": user_id},
    )


def set_role(tx: Tx, user_id: str, role: Role) -> None:
    """Give a user another role and end the user's sessions."""
    tx.run("UPDATE users SET role = :role WHERE id = :id", {"role": role, "id": user_id})
    end_all(tx, user_id)


def set_disabled(tx: Tx, user_id: str, at: int | None) -> None:
    """Disable a user, which ends the sessions, or with None enable the user again."""
    tx.run("UPDATE users SET disabled_at = :at WHERE id = :id", {"at": at, "id": user_id})
    end_all(tx, user_id)


def set_second_factor(tx: Tx, user_id: str, sealed: str | None, hashes: list[str]) -> None:
    """Switch the second factor on, with its recovery codes, or with None off."""
    tx.run("UPDATE users SET totp_sealed = :sealed, totp_step = NULL WHERE id = :id", {"sealed": sealed, "id": user_id})
    tx.run("DELETE FROM recovery_codes WHERE user_id = :id", {"id": user_id})
    for sha256 in hashes:
        tx.run("INSERT INTO recovery_codes (user_id, sha256) VALUES (:id, :sha256)", {"id": user_id, "sha256": sha256})


def use_step(tx: Tx, user_id: str, step: int) -> bool:
    """Record that the code of a time step was used; return False if it or a later one was used before."""
    return tx.changed(
        "UPDATE users SET totp_step = :step WHERE id = :id AND (totp_step IS NULL OR totp_step < :step)",
        {"step": step, "id": user_id},
    )


def use_recovery_code(tx: Tx, user_id: str, sha256: str) -> bool:
    """Use a recovery code up; return False if there is no such one."""
    return tx.changed(
        "DELETE FROM recovery_codes WHERE user_id = :id AND sha256 = :sha256", {"id": user_id, "sha256": sha256}
    )


def recovery_codes_left(reader: Reader, user_id: str) -> int:
    """Return how many recovery codes a user has left."""
    return reader.count("SELECT COUNT(*) FROM recovery_codes WHERE user_id = :id", {"id": user_id})


def open_session(tx: Tx, session: dict[str, Any], now: int) -> None:
    """Store a session, with every column but `seq`, and delete those that have ended by themselves."""
    tx.run(
        "DELETE FROM browser_sessions WHERE created_at <= :old OR seen_at <= :idle",
        {"old": now - BROWSER_LIFE_US, "idle": now - BROWSER_IDLE_US},
    )
    tx.run(insertion("browser_sessions", BrowserSession), session)


def session_with(reader: Reader, sha256: str) -> tuple[BrowserSession, User] | None:
    """Return the session of a token's hash, and its user; it may have ended, and the user may be disabled."""
    rows: list[Any] = reader.joined(
        "SELECT s.*, u.* FROM browser_sessions s JOIN users u ON u.id = s.user_id WHERE s.sha256 = :sha256",
        {"sha256": sha256},
        s=BrowserSession,
        u=User,
    )
    return rows[0] if rows else None


def sessions_of(reader: Reader, user_id: str) -> list[BrowserSession]:
    """Return a user's sessions, newest first; some may have ended by themselves."""
    return reader.every(
        BrowserSession, "SELECT * FROM browser_sessions WHERE user_id = :id ORDER BY seq DESC", {"id": user_id}
    )


def touch(tx: Tx, session_id: str, now: int) -> None:
    """Record that a session was used."""
    tx.run("UPDATE browser_sessions SET seen_at = :now WHERE id = :id", {"now": now, "id": session_id})


def confirm(tx: Tx, session_id: str, now: int) -> None:
    """Record that the user typed the own password again in this browser."""
    tx.run("UPDATE browser_sessions SET confirmed_at = :now WHERE id = :id", {"now": now, "id": session_id})


def set_language(tx: Tx, session_id: str, language: str) -> None:
    """Store the language of a session."""
    tx.run("UPDATE browser_sessions SET language = :language WHERE id = :id", {"language": language, "id": session_id})


def set_mode(tx: Tx, session_id: str, mode: Mode) -> None:
    """Store whether the pages of a session show real money or the sandbox."""
    tx.run("UPDATE browser_sessions SET mode = :mode WHERE id = :id", {"mode": mode, "id": session_id})
    tx.wake(TOPIC)


def end_session(tx: Tx, user_id: str, session_id: str) -> bool:
    """End one session of a user; return False if it is not open."""
    tx.wake(TOPIC)
    return tx.changed(
        "DELETE FROM browser_sessions WHERE id = :id AND user_id = :user_id", {"id": session_id, "user_id": user_id}
    )


def end_all(tx: Tx, user_id: str) -> None:
    """End every session of a user."""
    tx.run("DELETE FROM browser_sessions WHERE user_id = :id", {"id": user_id})
    tx.wake(TOPIC)


KEYS_TOPIC = "api_keys"
"""Woken by every commit that changed a key, so that caches drop it."""


def new_key_row(
    key_id: str, name: str, text: str, scopes: Iterable[str], now: int, expires_at: int | None = None
) -> dict[str, Any]:
    """Return the row of a new key that was never used."""
    parts = parse_key(text)
    assert parts is not None, "it was just made"
    return {
        "id": key_id, "name": name, "mode": parts.mode, "kind": parts.kind, "hint": parts.hint,
        "sha256": hash_key(text), "scopes": json.dumps(sorted(scopes)), "created_at": now, "expires_at": expires_at,
        "revoked_at": None, "last_used_at": None, "last_used_from": None, "branch_id": None,
    }  # fmt: skip


def add_key(tx: Tx, key: dict[str, Any]) -> None:
    """Store a new key; `key` has every column but `seq`."""
    tx.run(insertion("api_keys", ApiKey, "branch"), key)
    tx.wake(KEYS_TOPIC)


def key_with_hash(reader: Reader, sha256: str) -> ApiKey | None:
    """Return the key with this hash, even if it is revoked or expired."""
    return reader.first(ApiKey, "SELECT * FROM api_keys WHERE sha256 = :sha256", {"sha256": sha256})


def keys_exist(reader: Reader) -> bool:
    """Return whether any key was ever created."""
    return reader.exists("SELECT 1 FROM api_keys LIMIT 1")


def get_key(reader: Reader, key_id: str) -> ApiKey | None:
    """Return one key, even if it is revoked or expired."""
    return reader.first(ApiKey, "SELECT * FROM api_keys WHERE id = :id", {"id": key_id})


def known_keys(reader: Reader) -> list[ApiKey]:
    """Return every key, newest first."""
    return reader.every(ApiKey, "SELECT * FROM api_keys ORDER BY seq DESC")


def revoke_key(tx: Tx, key_id: str, now: int) -> None:
    """Revoke a key."""
    tx.run("UPDATE api_keys SET revoked_at = :now WHERE id = :id", {"id": key_id, "now": now})
    tx.wake(KEYS_TOPIC)


def expire_key(tx: Tx, key_id: str, at: int) -> None:
    """Set the time when a key expires, unless it expires earlier already."""
    tx.run(
        "UPDATE api_keys SET expires_at = :at WHERE id = :id AND (expires_at IS NULL OR expires_at > :at)",
        {"id": key_id, "at": at},
    )
    tx.wake(KEYS_TOPIC)


def note_key_uses(tx: Tx, latest: dict[str, Use]) -> None:
    """Record when and from where keys were last used. No cache holds these columns, so `KEYS_TOPIC` is not woken."""
    for key_id, use in latest.items():
        tx.run(
            "UPDATE api_keys SET last_used_at = :at, last_used_from = :origin "
            "WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :at)",
            {"id": key_id, "at": use.at, "origin": use.origin},
        )


def end_of_branch(tx: Tx, branch_id: str, now: int) -> list[str]:
    """Disable the users and revoke the keys of a branch; return the names of those that were not ended before."""
    of = {"id": branch_id, "now": now}
    ended = tx.all(
        "UPDATE users SET disabled_at = :now WHERE branch_id = :id AND disabled_at IS NULL RETURNING id, name", of
    )
    for user_id, _name in ended:
        end_all(tx, user_id)
    keys = tx.column(
        "UPDATE api_keys SET revoked_at = :now WHERE branch_id = :id AND revoked_at IS NULL RETURNING name", of
    )
    tx.wake(KEYS_TOPIC)
    return sorted([*(name for _id, name in ended), *keys])
