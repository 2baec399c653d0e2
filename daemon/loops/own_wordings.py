"""Reload of the shop's own wordings when one of their files changes."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from daemon.runtime.log import Log
from daemon.runtime.own_wordings import SUFFIX, OwnWordings

LOOK_S: Final = 1.5
"""Interval between two looks at the folder. A look takes microseconds; a watching library took 3 MB and a thread."""
RETRY_S: Final = 5.0
"""Before the next look at a folder that cannot be read."""

State: TypeAlias = tuple[tuple[str, int, int, int], ...]
"""Name, inode, size and time of the last change, in ns, of each file."""


async def watch_templates(
    own: OwnWordings, log: Log, alive: Callable[[float], None] = lambda _rest_s: None
) -> None:
    """Run until cancelled; `alive` is called as heartbeat, with the length of the next pause in seconds."""
    assert own.folder is not None, "a running shop has a folder"
    seen: State | None = None
    warned = ""
    while True:
        pause_s, why = LOOK_S, ""
        alive(0.0)  # from here a disk that hangs is noticed
        try:
            state = await asyncio.to_thread(_look, own.folder)
        except OSError as error:
            pause_s, why = RETRY_S, str(error)
            if why != warned:
                log.warning("templates.unread", why=why)
        else:
            # Taken before the files are read: a change during the reading is seen at the next look.
            if state != seen:
                seen = state
                await _read_again(own, log)
        warned = why
        alive(pause_s)
        await asyncio.sleep(pause_s)


def _look(folder: Path) -> State:
    """Return the present state of the folder's files; make the folder if it is not there."""
    folder.mkdir(mode=0o700, exist_ok=True)
    return tuple(
        (name, *_file_state(folder / name))
        for name in sorted(os.listdir(folder))  # noqa: PTH208 -- the names are enough
        if name.endswith(SUFFIX)
    )


def _file_state(path: Path) -> tuple[int, int, int]:
    try:
        stat = path.stat()
    except OSError:
        return 0, 0, 0  # gone since, or a link to nothing, which is reported when it is read
    return stat.st_ino, stat.st_size, stat.st_ctime_ns


async def _read_again(own: OwnWordings, log: Log) -> None:
    if not await asyncio.to_thread(own.read_again):
        return
    log.info("templates.read", files=len(own.files), wordings=len(own.wordings))
    for file in own.files:
        for problem in file.loaded.problems:
            log.warning("templates.wrong", file=file.name, line=problem.line, why=problem.why)
