"""Where this shop's things are, and which socket the daemon answers on."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daemon import wire
from momo_cli.flags import Flags

_SYSTEM_SOCKET: Final = f"/run/momo/{wire.SOCKET_NAME}"
_UNKNOWN_FOLDER: Final = "\0"
"""Stands for the temporary directory until it is known to be needed: `tempfile` is slow to import."""


@dataclass(frozen=True, slots=True)
class Located:
    """One shop, as this process sees it.

    Attributes:
        places: The folders and files.
        socket: The socket to dial: the first of the search that exists, else the first of all.
        environ: The environment for programs that we start.
    """

    places: wire.Places
    socket: str
    environ: dict[str, str]


def locate(flags: Flags, environ: Mapping[str, str], uid: int) -> Located:
    """Find the shop: `--socket`, `MOMO_SOCKET`, `MOMO_HOME`, then the XDG places (cli.md 1.6)."""
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
            candidates.append(_SYSTEM_SOCKET)
    found = next((path for path in candidates if is_there(path)), candidates[0])
    return Located(places, found, own)


def is_there(path: str) -> bool:
    """Say whether the path is there, also when we may not look at it."""
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
