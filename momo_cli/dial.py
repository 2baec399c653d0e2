"""Getting through to the daemon, and saying why not when nobody answers."""

import http.client
import os
import socket
from collections.abc import Callable
from typing import Final

from daemon import wire
from momo_cli.errors import Failure
from momo_cli.locate import Located, is_there

RETRY_S: Final = 2.0
"""A refused dial is tried again for so long: a starting daemon has bound but does not listen yet."""
_DIAL_PAUSE_S: Final = 0.05
_UNCERTAIN: Final = {"uncertain": "yes"}
"""A fact of failures after which nobody knows whether the call was carried out."""


class UnixConnection(http.client.HTTPConnection):
    """An HTTP connection whose transport is already there."""

    def __init__(self, transport: socket.socket) -> None:
        super().__init__(wire.SOCKET_HOST)
        self.sock = transport

    def connect(self) -> None:
        """Do nothing: we were given an open socket, and never open another one."""


def dial(path: str, *, retry_s: float, pause: Callable[[float], None]) -> socket.socket:
    """Connect to a Unix socket; a refused dial is tried again for so many seconds.

    Raises:
        OSError: Nobody answers.
    """
    pauses_left = round(retry_s / _DIAL_PAUSE_S)
    while True:
        transport = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            transport.connect(path)
        except OSError as problem:
            transport.close()
            refused = isinstance(problem, ConnectionRefusedError)
            if not refused or pauses_left == 0:
                raise
        else:
            return transport
        pauses_left -= 1
        pause(_DIAL_PAUSE_S)


def unreachable(located: Located, problem: OSError) -> Failure:
    """Say which of the ways of not being there it is; not being set up comes first."""
    if not is_there(located.places.database) and not isinstance(problem, PermissionError):
        return Failure(wire.ErrorCode.NOT_SET_UP)
    return Failure(wire.ErrorCode.DAEMON_DOWN, _why(located.socket, problem))


def silent(limit_s: float | None, *, asked: bool) -> Failure:
    """Say that no answer came in time; `asked` when nothing was to be changed by the call."""
    tail = "" if asked else "; it may yet be done: look before you repeat it"
    return Failure(
        wire.ErrorCode.DAEMON_DOWN,
        f"the daemon did not answer within {limit_s:g} s (--timeout){tail}",
        facts=dict(_UNCERTAIN),
        next=("momo daemon status",),
    )


def broken(problem: Exception, *, safe: bool) -> Failure:
    """Say that the connection broke; `safe` when the call may be repeated without doing anything twice."""
    detail = str(problem) or type(problem).__name__
    tail = "" if safe else "; it may or may not have been done: look before you repeat it"
    return Failure(
        wire.ErrorCode.DAEMON_DOWN,
        f"the connection to the daemon broke before the answer ({detail}){tail}",
        facts=dict(_UNCERTAIN),
        next=("momo daemon status",),
    )


def _why(path: str, problem: OSError) -> str:
    if isinstance(problem, FileNotFoundError):
        return f"the daemon is not running (no socket at {path})"
    if isinstance(problem, ConnectionRefusedError):
        return f"the daemon stopped without cleaning up (nobody listens on {path})"
    if isinstance(problem, PermissionError):
        return (
            f"the socket belongs to user {_owner(path)!r} and you are {_user(os.getuid())!r} "
            f"({path}); the owner can name you in `[access] socket_users` of config.toml"
        )
    return f"{path}: {problem.strerror or problem}"


def _owner(path: str) -> str:
    """Name who owns the socket, or the nearest folder that we may look at."""
    while path not in ("", "/"):
        try:
            return _user(os.stat(path).st_uid)  # noqa: PTH116 -- pathlib is not needed here
        except OSError:
            path = os.path.dirname(path)  # noqa: PTH120  # pathlib is not worth its import here
    return "root"


def _user(uid: int) -> str:
    import pwd  # noqa: PLC0415  # only for a sentence that is hardly ever said

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
