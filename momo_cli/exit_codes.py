"""The exit codes of `momo`: published and stable; new ones may be added (`momo help exit-codes`).

A script must treat an unknown code as a failure.
"""

from typing import Final, NamedTuple

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
AUTH: Final = 4
REFUSED: Final = 5
FINDINGS: Final = 6
DAEMON: Final = 7
PENDING: Final = 8
PARTIAL: Final = 9
CANCELLED: Final = 10
NOT_SET_UP: Final = 11
DATABASE: Final = 74
TEMPORARY: Final = 75
CONFIGURATION: Final = 78
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
TERMINATED: Final = 143


class ExitCode(NamedTuple):
    """One row of the published table."""

    code: int
    name: str
    meaning: str


EXIT_CODES: Final = (
    ExitCode(OK, "OK", "done, or already in that state, or an empty list"),
    ExitCode(FAILED, "FAILED", "an unexpected failure"),
    ExitCode(USAGE, "USAGE", "a flag, argument, time or amount is wrong or missing"),
    ExitCode(NOT_FOUND, "NOT_FOUND", "not found, or the payment has not arrived yet: try again later"),
    ExitCode(AUTH, "AUTH", "no permission, wrong password, or too many attempts"),
    ExitCode(REFUSED, "REFUSED", "a rule refused it and will refuse it again: do not retry"),
    ExitCode(FINDINGS, "FINDINGS", "the check ran and found something"),
    ExitCode(DAEMON, "DAEMON", "the daemon does not run or cannot be reached"),
    ExitCode(PENDING, "PENDING", "the wait timed out; nothing failed"),
    ExitCode(PARTIAL, "PARTIAL", "a batch ended and some of its items failed"),
    ExitCode(CANCELLED, "CANCELLED", "you answered no, or another run holds the lock"),
    ExitCode(NOT_SET_UP, "NOT_SET_UP", "no shop on this machine yet: run momo setup"),
    ExitCode(DATABASE, "DATABASE", "the database is damaged, in momo setup"),
    ExitCode(TEMPORARY, "LOCKED", "momo daemon run: another daemon holds this shop"),
    ExitCode(CONFIGURATION, "CONFIG", "momo daemon run: not set up, wrong settings, or a newer database"),
    ExitCode(INTERRUPTED, "INTERRUPTED", "stopped by Ctrl-C"),
    ExitCode(PIPE_CLOSED, "PIPE_CLOSED", "the reader closed the pipe (momo ... | head)"),
    ExitCode(TERMINATED, "TERMINATED", "stopped by SIGTERM"),
)
"""Every code, in the order of the published table."""
