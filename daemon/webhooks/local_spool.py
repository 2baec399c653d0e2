"""Deliver to a folder of this machine: `spool:/folder`, one file `<webhook_id>.json` for each event.

The file appears whole or not at all: it is written under a hidden name, synced, renamed, and the folder synced. One
that is there already was delivered before, so the same payment is in the folder once however often it is sent.
"""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from typing import Final

from daemon.core.delivery import DeliveryError, Outcome
from daemon.core.signing import STANDARD_ID_HEADER
from daemon.webhooks.local_places import Place, check_place

MODE: Final = 0o640
"""Names and numbers of customers are in it; the folder's group may be let in to read."""
WRITTEN: Final = 201
THERE: Final = 200
FAILED: Final = 500
"""The statuses that stand for what became of a file, so that one table of states and one log serve every target."""


async def write(place: Place, headers: Mapping[str, str], body: bytes) -> Outcome:
    """Put one event into the folder."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    name = headers[STANDARD_ID_HEADER]
    code: DeliveryError | None = None
    status: int | None = None
    message: str | None = None
    said = ""
    why = await asyncio.to_thread(check_place, place)
    if why:
        code, message = DeliveryError.BLOCKED_ADDRESS, why
    else:
        try:
            new = await asyncio.to_thread(put, place.path, name, headers["X-Svc-Delivery"], body)
            status, said = (
                (WRITTEN, f"{name}.json") if new else (THERE, f"{name}.json was there already")
            )
        except OSError as error:
            code, status = DeliveryError.HTTP_ERROR, FAILED
            message = f"the file cannot be written: {error.strerror}"
    return Outcome(
        status_code=status,
        response_body=said,
        error_code=code,
        error_message=message,
        duration_us=round((loop.time() - started) * 1_000_000),
        connected=True,  # whatever failed, our own link did not
    )


def put(folder: str, name: str, writer: str, body: bytes) -> bool:
    """Write one file durably; False when it was there before. Blocks.

    Args:
        folder: Where.
        name: The event's id, made of letters and digits.
        writer: Who writes: two never share a hidden name, one may find its own from before a crash.
        body: The content.

    Raises:
        OSError: Nothing of this name is in the folder then.
    """
    parent = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        final, hidden = f"{name}.json", f".{name}.{writer}.part"
        with contextlib.suppress(FileNotFoundError):
            os.stat(final, dir_fd=parent, follow_symlinks=False)
            return False
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(hidden, flags, MODE, dir_fd=parent), "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            os.rename(hidden, final, src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(hidden, dir_fd=parent)
            raise
        os.fsync(parent)
    finally:
        os.close(parent)
    return True
