"""Locks that let each bulk command run once at a time: one lock file per command in the shop's state folder.

Cron starts the next run even if the last one still runs, so the commands lock themselves; flock(1) is not needed and
does no harm. The kernel releases the lock when its process ends.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from typing import Final

from daemon.wire import ErrorCode
from momo_cli import system
from momo_cli.errors import Failure
from momo_cli.show.terminal import Terminal

_ALWAYS: Final = (
    "backup create", "backup prune", "dead-letters replay", "messages import", "messages reparse", "data prune",
    "replay", "restore",
)  # fmt: skip
_WITH_FLAG: Final = {"reconcile": "--from-file", "deliveries redeliver": "--failed"}
"""Commands that are bulk only with a flag."""
_PER_FLAG: Final = {"replay": "--endpoint"}
"""Commands that need a lock only against runs with the same value of this flag."""
_CHANGE_NOTHING: Final = frozenset({"-n", "--dry-run", "--gap", "-h", "--help"})
_PAUSE_S: Final = 0.1


def lock_name(command: str, words: Sequence[str]) -> str:
    """Return the name of the lock that a command needs with these words of its command line, "" for none."""
    flags = {word.partition("=")[0] for word in words}
    if flags & _CHANGE_NOTHING or not (command in _ALWAYS or _WITH_FLAG.get(command, "") in flags):
        return ""
    name = command.replace(" ", "-")
    if (flag := _PER_FLAG.get(command)) is None:
        return name
    value = _value(words, flag)
    safe = "".join(letter for letter in value if letter.isalnum() or letter in "-_")
    return f"{name}-{safe}" if safe else name


@contextlib.contextmanager
def hold_lock(terminal: Terminal, name: str, command: str) -> Iterator[None]:
    """Hold a lock while the block runs; wait for it up to `--wait-lock`, then fail (LOCKED) and name its holder."""
    folder = f"{terminal.located.places.state}/lock"
    try:
        system.make_own_folder(folder)
        descriptor = system.open_own(f"{folder}/{name}", os.O_RDWR | os.O_CREAT)
    except OSError as problem:
        if problem.errno == errno.ELOOP:
            raise Failure(
                ErrorCode.NOT_PERMITTED, f"{problem.filename}: {problem.strerror}"
            ) from None
        # A folder that cannot be written must not stop a backup; the daemon itself prevents harmful overlaps.
        yield
        return
    try:
        _take(descriptor, terminal.flags.wait_lock_s or 0.0, command)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, wait_s: float, command: str) -> None:
    until = system.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if system.monotonic() < until:
                system.sleep(_PAUSE_S)
                continue
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            who = f"process {holder}" if holder else "another process"
            why, again = (
                f"another momo {command} is already running ({who})",
                f"momo {command} --wait-lock 10m",
            )
            raise Failure(ErrorCode.LOCKED, why, next=(again,)) from None
        else:
            return


def _value(words: Sequence[str], flag: str) -> str:
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == flag:
            return value if equals else "".join(words[number + 1 : number + 2])
    return ""
