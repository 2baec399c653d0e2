"""A small file system of its own, to fill or to mount read-only; only root can mount one."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """Mount a disk of `size` bytes at a new folder; skip the test where mounting is not permitted."""
    if os.getuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    if made.returncode != 0:
        pytest.skip(f"mounting is not permitted here: {made.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], timeout=20, check=True)


def fill(disk: Path) -> list[Path]:
    """Fill the disk to the last byte; return the files that fill it, also those of earlier calls."""
    made = list(disk.glob("filler-*"))
    for size in (16 << 20, 1 << 20, 65_536, 4096, 1):
        with contextlib.suppress(OSError):
            while True:
                path = disk / f"filler-{len(made)}"
                made.append(path)
                with path.open("wb") as file:
                    file.write(b"x" * size)
    return [path for path in made if path.exists()]
