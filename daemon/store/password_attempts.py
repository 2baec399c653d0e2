"""How often the account password was given lately, right or wrong: kept here so that a restart forgives nothing."""

from dataclasses import dataclass

from daemon.core.limits import PASSWORD_ATTEMPTS_MAX, PASSWORD_WINDOW_US
from daemon.store.engine import Reader, Tx


@dataclass(frozen=True, slots=True)
class Attempt:
    """Whether the password may be looked at.

    Attributes:
        remaining: How many more attempts there are after this one.
        wait_us: Until the next one is allowed; 0 when this one is.
    """

    remaining: int
    wait_us: int = 0


def take(tx: Tx, now: int) -> Attempt:
    """Count an attempt before the password is looked at, so that many at once are not more than five either.

    A time that lies ahead of us was written before the clock was set back, and no longer counts.
    """
    tx.run(
        "DELETE FROM password_attempts WHERE at <= :since OR at > :now",
        {"since": now - PASSWORD_WINDOW_US, "now": now},
    )
    taken = [row[0] for row in tx.all("SELECT at FROM password_attempts ORDER BY at")]
    if len(taken) >= PASSWORD_ATTEMPTS_MAX:
        return Attempt(0, taken[-PASSWORD_ATTEMPTS_MAX] + PASSWORD_WINDOW_US - now)
    tx.run("INSERT INTO password_attempts (at) VALUES (:now)", {"now": now})
    return Attempt(PASSWORD_ATTEMPTS_MAX - len(taken) - 1)


def remaining(reader: Reader, now: int) -> int:
    """Return how many attempts there are now."""
    taken = reader.value(
        "SELECT COUNT(*) FROM password_attempts WHERE at > :since AND at <= :now",
        {"since": now - PASSWORD_WINDOW_US, "now": now},
    )
    return max(0, PASSWORD_ATTEMPTS_MAX - int(taken))
