"""What is left when momo itself fails: a file in `state/crash` that can be shown to anybody."""

import os
from datetime import datetime
from typing import Final

from momo_cli import system
from privacy.faults import story

KEPT: Final = 10
"""Newest files that stay: what fails in a crontab must not fill the disk."""


def write(state: str, defect: Exception, now: datetime) -> str:
    """Write a fault down and return where; older ones make room.

    Raises:
        OSError: The disk does not take it.
    """
    folder = f"{state}/crash"
    path = f"{folder}/{now:%Y%m%dT%H%M%S}-{system.new_key()[:8]}.log"
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103  # pathlib is not needed else
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(story(defect) + "\n")
    for old in sorted(os.listdir(folder))[:-KEPT]:  # noqa: PTH208  # the same
        os.unlink(f"{folder}/{old}")  # noqa: PTH108  # the same
    return path
