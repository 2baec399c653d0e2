"""The addresses of local targets, `exec:/path` and `spool:/folder`, and whether what they name can be trusted.

A payment is not handed to something that another user of the machine could have put there. So the target and every
folder above it must belong to root or to the user that runs momo, and nobody else may write to them. As in OpenSSH's
`StrictModes`, but a folder with the sticky bit (`/tmp`) is fine: what is in it can be replaced by its owner alone.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

PATH_CHARACTERS_MAX: Final = 1024
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class Kind(StrEnum):
    """What a local address names; the value is its scheme."""

    EXEC = "exec"
    """A command: the body on its standard input, exit 0 is delivered."""
    SPOOL = "spool"
    """A folder: one file for each event."""


@dataclass(frozen=True, slots=True)
class Place:
    """A local address, read."""

    kind: Kind
    path: str


class PlaceError(Exception):
    """The target cannot be used; the text says why and what to type."""


def read_place(url: str) -> Place | None:
    """Read a local address, None when it is of another kind.

    Raises:
        PlaceError: It is of this kind and not well-formed.
    """
    scheme, colon, path = url.partition(":")
    if not colon or scheme not in tuple(Kind):
        return None
    if not path.startswith("/") or len(path) > PATH_CHARACTERS_MAX or not path.isprintable():
        raise PlaceError(f"write it as {scheme}:/path, from the root, without arguments")
    # `/home/../etc` must be judged as what it is, and one target must have one spelling.
    if path != os.path.normpath(path) or path.startswith("//"):
        raise PlaceError(f"write the path as {scheme}:{os.path.normpath('/' + path.lstrip('/'))}")
    return Place(Kind(scheme), path)


def check_place(place: Place) -> str:
    """Say why a place cannot be trusted or used now, "" when it can. Touches the disk."""
    try:
        why = _untrusted(place.path)
        if why:
            return why
        mode = Path(place.path).stat().st_mode
    except OSError as error:
        return f"{place.path}: {error.strerror}"
    if place.kind is Kind.EXEC:
        if not stat.S_ISREG(mode):
            return f"{place.path} is not a file"
        return "" if os.access(place.path, os.X_OK) else f"not executable: chmod u+x {place.path}"
    if not stat.S_ISDIR(mode):
        return f"{place.path} is not a folder"
    return "" if os.access(place.path, os.W_OK | os.X_OK) else f"momo may not write to {place.path}"


def _untrusted(path: str) -> str:
    """Judge each step of the path as it is written, and of the one that it leads to through links."""
    trusted = (0, os.geteuid())
    for step in (*_steps(path), *_steps(os.path.realpath(path))):
        found = step.lstat()
        if found.st_uid not in trusted:
            return f"{step} belongs to another user (uid {found.st_uid})"
        sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if not stat.S_ISLNK(found.st_mode) and found.st_mode & _OTHERS_WRITE and not sticky:
            return f"others may write to {step}: chmod go-w {step}"
    return ""


def _steps(path: str) -> Iterator[Path]:
    whole = Path(path)
    yield from reversed(whole.parents)
    yield whole
