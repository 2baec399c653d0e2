"""Reload of the shop's own wordings when one of their files changes."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from daemon.runtime.log import Log
from daemon.runtime.own_wordings import OwnWordings

STEP_MS: Final = 1_000
"""Polling interval of the watching thread: its default of 50 ms would wake the machine 20 times a second."""
RETRY_S: Final = 5.0
"""Before the next try where the folder cannot be watched."""
HEARTBEAT_MS: Final = 5_000
"""Interval at which the watch reports that nothing changed, which serves as heartbeat."""


async def watch_templates(
    own: OwnWordings, log: Log, alive: Callable[[float], None] = lambda _rest_s: None
) -> None:
    """Run until cancelled; `alive` is called as heartbeat, with the length of the next pause in seconds."""
    from watchfiles import awatch  # noqa: PLC0415 -- not before the daemon is ready

    folder = own.folder
    assert folder is not None, "a running shop has a folder"
    while True:
        alive(0.0)
        try:
            await asyncio.to_thread(_make, folder)
            await _read_again(own, log)
            alive(HEARTBEAT_MS / 1_000)
            async for changes in awatch(
                folder, step=STEP_MS, debounce=STEP_MS, recursive=False,
                rust_timeout=HEARTBEAT_MS, yield_on_timeout=True,
            ):  # fmt: skip
                alive(HEARTBEAT_MS / 1_000)
                if changes:
                    await _read_again(own, log)
                if not folder.exists():
                    break
        except (OSError, RuntimeError) as error:
            log.warning("templates.unwatched", why=str(error))
        alive(RETRY_S)
        # The folder is gone, or the system has no watch left: retry later.
        await asyncio.sleep(RETRY_S)


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)


async def _read_again(own: OwnWordings, log: Log) -> None:
    if not await asyncio.to_thread(own.read_again):
        return
    log.info("templates.read", files=len(own.files), wordings=len(own.wordings))
    for file in own.files:
        for problem in file.loaded.problems:
            log.warning("templates.wrong", file=file.name, line=problem.line, why=problem.why)
