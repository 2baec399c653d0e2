"""Find the shop's folders and its daemon's socket, connect, and explain a missing answer."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from daemon import wire
from momo_cli.errors import Failure
from momo_cli.flags import Flags

if TYPE_CHECKING:
    import socket

_SYSTEM_SOCKET: Final = f"/run/momo/{wire.SOCKET_NAME}"
SYSTEM_HOME: Final = "/var/lib/momo"
"""The folder of the machine's shop, which belongs to the user `momo`; the Debian package creates it."""
SYSTEM_ENVIRONMENT: Final[Mapping[str, str]] = {
    "XDG_DATA_HOME": "/var/lib",
    "XDG_STATE_HOME": "/var/lib",
    "XDG_CONFIG_HOME": "/etc",
    "XDG_RUNTIME_DIR": "/run",
}
"""Results in /var/lib/momo, /etc/momo and /run/momo/momo.sock, where `momo` looks for the machine's shop."""
_UNKNOWN_FOLDER: Final = "\0"
"""Placeholder for the temporary directory until it is needed: `tempfile` is slow to import."""
RETRY_S: Final = 2.0
"""A refused connection is retried for this long: a starting daemon has bound the socket but does not listen yet."""
_DIAL_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Located:
    """One shop, as this process sees it; the machine's shop runs as the user `momo`.

    `socket` is the first candidate that exists, else the first; `environ` is for child processes.
    """

    places: wire.Places
    socket: str
    environ: dict[str, str]
    machine: bool = False


def locate(flags: Flags, environ: Mapping[str, str], uid: int) -> Located:
    """Find the shop: `--socket`, `MOMO_SOCKET`, `MOMO_HOME`, then the XDG places.

    A user without an own shop gets the machine's shop, if there is one.
    """
    own = dict(environ)
    if flags.profile:
        own["MOMO_PROFILE"] = flags.profile
    if flags.socket:
        own[wire.SOCKET_VARIABLE] = flags.socket
    places = _places(own, uid)
    given = own.get(wire.SOCKET_VARIABLE)
    if given:
        return Located(places, given, own)
    candidates = [places.socket]
    if not places.self_contained:
        # Cron has no XDG_RUNTIME_DIR, and the daemon that systemd started has one.
        bare = {key: value for key, value in own.items() if key != "XDG_RUNTIME_DIR"}
        candidates.append(_places(bare, uid).socket)
        if own.get("MOMO_PROFILE", "default") in ("", "default"):
            if _uses_machine(places):
                return _machine(places, own, uid)
            candidates.append(_SYSTEM_SOCKET)
    found = next((path for path in candidates if may_exist(path)), candidates[0])
    return Located(places, found, own)


def _uses_machine(places: wire.Places) -> bool:
    exists = os.path.exists
    return exists(SYSTEM_HOME) and not exists(places.database) and not _names_server(places.config)


def _machine(own: wire.Places, environ: dict[str, str], uid: int) -> Located:
    """Return the machine's shop; the command line's own files stay in the caller's folder."""
    environ = {**environ, **SYSTEM_ENVIRONMENT}
    places = replace(_places(environ, uid), state=own.state)
    return Located(places, places.socket, environ, machine=True)


def is_set_up(places: wire.Places) -> bool:
    """Return whether there is, or may be, a shop: its file, or a server in its settings."""
    return may_exist(places.database) or _names_server(places.config)


def _names_server(path: str) -> bool:
    """Return whether the settings name a database server (`[store] url`)."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # pathlib is not worth its import here
            text = file.read()
    except OSError:
        return False
    if b"store" not in text:
        return False
    import tomllib  # noqa: PLC0415  # few shops need it

    try:
        section = tomllib.loads(text.decode()).get("store")
    except (ValueError, RecursionError):
        return False
    return isinstance(section, dict) and bool(section.get("url"))


def may_exist(path: str) -> bool:
    """Return whether the path exists, or may exist in an unreadable folder."""
    try:
        os.stat(path)  # noqa: PTH116  # pathlib is not worth its import here
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _places(environ: Mapping[str, str], uid: int) -> wire.Places:
    found = wire.places(environ, uid, _UNKNOWN_FOLDER)
    if found.socket.startswith(_UNKNOWN_FOLDER):
        import tempfile  # noqa: PLC0415  # only a socket path of over 107 bytes needs it

        found = wire.places(environ, uid, tempfile.gettempdir())
    return found


def connect(path: str, *, retry_s: float, pause: Callable[[float], None]) -> "socket.socket":
    """Connect to a Unix socket, or raise OSError; retry a refused connection for `retry_s` seconds."""
    import socket  # noqa: PLC0415  # help needs `locate` only

    pauses_left = round(retry_s / _DIAL_PAUSE_S)
    while True:
        transport = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            transport.connect(path)
        except OSError as problem:
            transport.close()
            if pauses_left == 0 or not isinstance(problem, ConnectionRefusedError):
                raise
        else:
            return transport
        pauses_left -= 1
        pause(_DIAL_PAUSE_S)


def unreachable(located: Located, problem: OSError) -> Failure:
    """Return the failure for a failed connection: NOT_SET_UP if there is no database, else DAEMON_DOWN."""
    if not is_set_up(located.places) and not isinstance(problem, PermissionError):
        return Failure(wire.ErrorCode.NOT_SET_UP)
    next_: tuple[str, ...] = ()
    if isinstance(problem, PermissionError) and not located.machine:
        next_ = ("momo help files",)  # this user cannot start the daemon of another
    if located.machine and os.getuid() != 0:
        # setup adds the caller to `[access] socket_users`.
        next_ = ("sudo momo setup", "sudo momo daemon start")
    return Failure(wire.ErrorCode.DAEMON_DOWN, _why(located.socket, problem), next=next_)


def _why(path: str, problem: OSError) -> str:
    if isinstance(problem, FileNotFoundError):
        return f"the daemon is not running (no socket at {path})"
    if isinstance(problem, ConnectionRefusedError):
        return f"the daemon stopped without removing its socket (nothing listens on {path})"
    if isinstance(problem, PermissionError):
        return (
            f"the socket belongs to user {_owner(path)!r} and you are {_user(os.getuid())!r} "
            f"({path}); the owner can add you with `momo config set access.socket_users`"
        )
    return f"{path}: {problem.strerror or problem}"


def _owner(path: str) -> str:
    """Return the user that owns the socket, or the nearest readable parent folder."""
    while path not in ("", "/"):
        try:
            return _user(os.stat(path).st_uid)  # noqa: PTH116 -- pathlib is not needed here
        except OSError:
            path = os.path.dirname(path)  # noqa: PTH120  # pathlib is not worth its import here
    return "root"


def _user(uid: int) -> str:
    import pwd  # noqa: PLC0415  # only a rare message needs it

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
