"""How often the account password was given lately, right or wrong: kept here so that a restart forgives nothing."""

import ipaddress
from dataclasses import dataclass
from typing import Final

from daemon.core.limits import PASSWORD_ATTEMPTS_MAX, PASSWORD_WINDOW_US
from daemon.store.engine import Reader, Tx

ACCOUNT: Final = "account"
"""Reveal, rotate and reviews share one count, whoever asks."""
SOCKET: Final = "socket"
"""Logins over the Unix socket."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Whether the password may be looked at.

    Attributes:
        remaining: How many more attempts there are after this one.
        wait_us: Until the next one is allowed; 0 when this one is.
    """

    remaining: int
    wait_us: int = 0


def client(address: str) -> str:
    """Return who is counted for a login from an address; an IPv6 client has 2**64 of them."""
    if ":" in address:
        packed = ipaddress.IPv6Address(address.partition("%")[0]).packed
        return f"client:{packed[:8].hex()}"
    return f"client:{address}"


def take(tx: Tx, now: int, who: str = ACCOUNT) -> Attempt:
    """Count an attempt before the password is looked at, so that many at once are not more than five either.

    A time that lies ahead of us was written before the clock was set back, and no longer counts.
    """
    tx.run(
        "DELETE FROM password_attempts WHERE at <= :since OR at > :now",
        {"since": now - PASSWORD_WINDOW_US, "now": now},
    )
    taken = [
        row[0]
        for row in tx.all(
            "SELECT at FROM password_attempts WHERE who = :who ORDER BY at", {"who": who}
        )
    ]
    if len(taken) >= PASSWORD_ATTEMPTS_MAX:
        return Attempt(0, taken[-PASSWORD_ATTEMPTS_MAX] + PASSWORD_WINDOW_US - now)
    tx.run("INSERT INTO password_attempts (at, who) VALUES (:now, :who)", {"now": now, "who": who})
    return Attempt(PASSWORD_ATTEMPTS_MAX - len(taken) - 1)


def remaining(reader: Reader, now: int, who: str = ACCOUNT) -> int:
    """Return how many attempts there are now."""
    taken = reader.value(
        "SELECT COUNT(*) FROM password_attempts WHERE who = :who AND at > :since AND at <= :now",
        {"who": who, "since": now - PASSWORD_WINDOW_US, "now": now},
    )
    return max(0, PASSWORD_ATTEMPTS_MAX - int(taken))


def forget(tx: Tx) -> None:
    """Let everybody try again: the password is a new one."""
    tx.run("DELETE FROM password_attempts")
