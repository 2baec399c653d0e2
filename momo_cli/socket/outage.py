"""Waiting while the daemon restarts: how a waiting command reacts to a failed call.

Only the waiting is resumed. A call that creates something is made once, before the wait.
"""

from dataclasses import dataclass, field
from typing import Final

from daemon.wire import ErrorCode
from momo_cli import system
from momo_cli.errors import Failure, headline
from momo_cli.socket.client import Client
from momo_cli.socket.connect import RETRY_S

AWAY_S_MAX: Final = 30.0
"""A daemon that cannot be reached for this long ends the wait: a restart takes seconds."""
PAUSE_S: Final = 1.0
"""The pause between two attempts to reach the daemon."""
_AWAY: Final = (ErrorCode.DAEMON_DOWN, ErrorCode.NOT_SET_UP)
"""Nobody answers. A restore moves the database for a moment, which looks like a shop that is not set up."""
_UNAVAILABLE: Final = 503


@dataclass(slots=True)
class Outage:
    """Decides whether a wait goes on, and says each reason once on stderr.

    Attributes:
        client: Its `warn` gets the lines.
        resume: The command with which to go on after the wait was given up; empty if there is none.
        answered: Whether the daemon has answered this command. Before, a daemon that does not run ends the command.
    """

    client: Client
    resume: str = ""
    answered: bool = False
    _away_at: float | None = field(default=None, init=False)
    _told: list[str] = field(default_factory=list, init=False)

    def missed(self, failure: Failure | None = None) -> None:
        """Handle a failed call, or without `failure` a connection that ended; return if the wait goes on.

        A 503 does not count as away: the daemon runs, and the wait is limited by its own time only.

        Raises:
            Failure: `failure`, if waiting is of no use, or the daemon has been away for `AWAY_S_MAX`.
        """
        if failure is not None and failure.http_status == _UNAVAILABLE:
            self.answered, self._away_at = True, None
            self._tell(f"the daemon cannot serve this now ({headline(failure)}); waiting")
            return
        if failure is None:
            self.answered = True
        elif failure.code not in _AWAY or not self.answered:
            raise failure
        now = system.monotonic()
        if self._away_at is None:
            self._away_at = now
        away_s = now - self._away_at
        if failure is not None and away_s >= AWAY_S_MAX:
            message = f"the daemon has been away for {away_s:.0f} s, so the wait has ended; {headline(failure)}"
            raise Failure(
                ErrorCode.DAEMON_DOWN,
                message,
                facts=failure.facts,
                next=("momo daemon start", *filter(None, (self.resume,))),
            )
        # The wait makes its own attempts: a single one must not exceed the time that is left.
        self.client.retry_s = 0.0
        self._tell("the daemon is restarting; waiting")

    def over(self) -> None:
        """Handle an answer of the daemon."""
        self.answered, self._away_at = True, None
        self.client.retry_s = RETRY_S
        if self._told:
            self._told.clear()
            self.client.warn("the daemon is back")

    def _tell(self, line: str) -> None:
        if line not in self._told:
            self._told.append(line)
            self.client.warn(line)
