"""A program at a pseudo-terminal: its questions are read there, its answer on stdout, as a person's redirected run has it."""

import os
import pty
import select
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PATIENCE_S: Final = 30


@contextmanager
def at_terminal(
    words: Sequence[str], environ: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a program whose stdin and stderr are a terminal; give it, and the terminal's other end."""
    master, slave = pty.openpty()
    try:
        with subprocess.Popen(
            words,
            cwd=ROOT,
            env=dict(environ),
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            start_new_session=True,
        ) as process:
            os.close(slave)
            yield process, master
    finally:
        os.close(master)


def read_until(master: int, words: bytes) -> bytes:
    """Return what is shown up to these words, and what came with them."""
    found = b""
    while words not in found:
        assert select.select([master], [], [], PATIENCE_S)[0], found
        found += os.read(master, 4096)
    return found
