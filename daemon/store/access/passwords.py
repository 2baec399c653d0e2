"""Attempts with a password, the session key, ended sessions, and sealed passwords of other services.

Attempts, right or wrong, are stored, so that a restart does not reset their limit. The one sealed session key signs
dashboard sessions until a new password replaces it.
"""

import ipaddress
from typing import Final

from msgspec import Struct

from daemon.core.access.sessions import SessionToken
from daemon.core.limits import MINUTE_US
from daemon.core.model import User
from daemon.store.engine import Reader, Tx
from daemon.wire import Role

PASSWORD_ATTEMPTS_MAX: Final = 5
USER_ATTEMPTS_MAX: Final = 50
"""Wrong passwords for one user name in that time from all addresses: from ten addresses or more, so that nobody locks a user
out by mistake, and 4,800 a day, too few to guess a password of ten characters."""
PASSWORD_WINDOW_US: Final = 15 * MINUTE_US
USER_NAME_CHARACTERS_MAX: Final = 32
ACCOUNT: Final = "account"
"""Reveal, rotate and reviews share one count for all callers."""
SOCKET: Final = "socket"
"""Logins over the Unix socket."""
SMTP: Final = "smtp"
"""Of the mail account that sends notices."""
TOPIC = "session_keys"
"""Woken by every commit that changed the key or ended a session, so that caches are read again."""


class PasswordAllowance(Struct, frozen=True):
    """Whether the password may be checked.

    Attributes:
        remaining: The number of further attempts after this one.
        wait_us: Until the next attempt is allowed; 0 if this one is.
    """

    remaining: int
    wait_us: int = 0


class Counter(Struct, frozen=True):
    """Whose attempts are counted, and how many are allowed in 15 minutes."""

    who: str
    most: int = PASSWORD_ATTEMPTS_MAX


def of_login(name: str) -> Counter:
    """Return the counter of wrong passwords for a user name from all addresses; an unknown name is counted too.

    It is larger than that of an address, so that nobody far away locks a user out easily.
    """
    return Counter(f"login:{name[:USER_NAME_CHARACTERS_MAX]}", USER_ATTEMPTS_MAX)


def of_code(name: str) -> Counter:
    """Return the counter of wrong codes of a user's second factor: who sends one has the password."""
    return Counter(f"code:{name}")


def client_name(address: str) -> str:
    """Return the name under which logins from an address are counted; for IPv6 the /64 network."""
    if ":" in address:
        # An IPv6 client has 2**64 addresses.
        packed = ipaddress.IPv6Address(address.partition("%")[0]).packed
        return f"client:{packed[:8].hex()}"
    return f"client:{address}"


def count_attempt(tx: Tx, now: int, *counters: Counter) -> PasswordAllowance:
    """Count an attempt before the password is checked, so that parallel attempts cannot exceed the limits either.

    If one counter is full, none counts the attempt. A time in the future was written before the clock was set back and no
    longer counts.
    """
    tx.run(
        "DELETE FROM password_attempts WHERE at <= :since OR at > :now", {"since": now - PASSWORD_WINDOW_US, "now": now}
    )
    looked = [_look(tx, now, counter) for counter in counters]
    if wait_us := max(one.wait_us for one in looked):
        return PasswordAllowance(0, wait_us)
    for counter in counters:
        tx.run("INSERT INTO password_attempts (at, who) VALUES (:now, :who)", {"now": now, "who": counter.who})
    return PasswordAllowance(min(one.remaining for one in looked))


def _look(tx: Tx, now: int, counter: Counter) -> PasswordAllowance:
    """Return what one counter allows, without counting."""
    rows = tx.all("SELECT at FROM password_attempts WHERE who = :who ORDER BY at", {"who": counter.who})
    if len(rows) >= counter.most:
        return PasswordAllowance(0, rows[-counter.most][0] + PASSWORD_WINDOW_US - now)
    return PasswordAllowance(counter.most - len(rows) - 1)


def forgive_attempt(tx: Tx, who: str) -> None:
    """Take the last attempt back, because its password was right; for counters of wrong ones only."""
    tx.run(
        "DELETE FROM password_attempts WHERE seq = (SELECT MAX(seq) FROM password_attempts WHERE who = :who)",
        {"who": who},
    )


def user_name(user_id: str) -> str:
    """Return the name under which the wrong passwords of a user are counted."""
    return f"user:{user_id}"


def remaining(reader: Reader, now: int, who: str = ACCOUNT) -> int:
    """Return how many attempts are left now."""
    taken = reader.value(
        "SELECT COUNT(*) FROM password_attempts WHERE who = :who AND at > :since AND at <= :now",
        {"who": who, "since": now - PASSWORD_WINDOW_US, "now": now},
    )
    return max(0, PASSWORD_ATTEMPTS_MAX - int(taken))


def forget_attempts(tx: Tx, user: User) -> None:
    """Reset the counts of a user: the password is a new one. Counts by address stay, because they hold for all users."""
    counts = [user_name(user.id), of_login(user.name).who, of_code(user.name).who]
    if user.role is Role.OWNER:
        counts += [ACCOUNT, SOCKET]
    for who in counts:
        tx.run("DELETE FROM password_attempts WHERE who = :who", {"who": who})


def forget_all_attempts(tx: Tx) -> None:
    """Reset all counts, also those by address: the way back for an owner who is locked out."""
    tx.run("DELETE FROM password_attempts")


def session_key(reader: Reader) -> str | None:
    """Return the sealed key, None before the first login."""
    sealed: str | None = reader.value("SELECT sealed FROM session_keys WHERE id = 1")
    return sealed


def add_session_key(tx: Tx, sealed: str, now: int) -> None:
    """Store the first key; if another one was stored before, that one stays."""
    tx.run(
        "INSERT INTO session_keys (id, sealed, made_at) VALUES (1, :sealed, :now) ON CONFLICT (id) DO NOTHING",
        {"sealed": sealed, "now": now},
    )
    tx.wake(TOPIC)


def forget_session_key(tx: Tx) -> None:
    """Delete the key, which ends all sessions that it signed."""
    tx.run("DELETE FROM session_keys")
    tx.run("DELETE FROM ended_sessions")
    tx.wake(TOPIC)


def ended_sessions(reader: Reader) -> frozenset[str]:
    """Return the ids of the sessions that were logged out before their expiry."""
    return frozenset(row[0] for row in reader.all("SELECT id FROM ended_sessions"))


def end_session(tx: Tx, session: SessionToken, now: int) -> None:
    """Refuse a session's token from now on, and delete the ended sessions with expired tokens."""
    tx.run("DELETE FROM ended_sessions WHERE ends_at <= :now", {"now": now})
    tx.run(
        "INSERT INTO ended_sessions (id, ends_at) VALUES (:id, :ends_at) ON CONFLICT (id) DO NOTHING",
        {"id": session.id, "ends_at": session.ends_us},
    )
    tx.wake(TOPIC)


def sealed_secret(reader: Reader, name: str) -> str | None:
    """Return a sealed secret, None if it was never set."""
    sealed: str | None = reader.value("SELECT sealed FROM sealed_secrets WHERE name = :name", {"name": name})
    return sealed


def put_secret(tx: Tx, name: str, sealed: str, now: int) -> None:
    """Store a secret and replace the previous one."""
    tx.run(
        "INSERT INTO sealed_secrets (name, sealed, set_at) VALUES (:name, :sealed, :now) "
        "ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, set_at = excluded.set_at",
        {"name": name, "sealed": sealed, "now": now},
    )


def remove_secret(tx: Tx, name: str) -> bool:
    """Delete a secret; return False if there is none."""
    return tx.changed("DELETE FROM sealed_secrets WHERE name = :name", {"name": name})
