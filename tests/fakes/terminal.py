"""A program on a pseudo-terminal: questions on the terminal, the result on stdout, as with redirected output."""

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
def at_terminal(words: Sequence[str], environ: Mapping[str, str]) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a program with the terminal as stdin and stderr; yield the process and the terminal's master descriptor."""
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
            try:
                yield process, master
            except BaseException:
                process.kill()  # it waits for an answer that a failed test does not type
                raise
    finally:
        os.close(master)


def read_until(master: int, words: bytes) -> bytes:
    """Return the output up to and including the chunk that contains `words`."""
    found = b""
    while words not in found:
        assert select.select([master], [], [], PATIENCE_S)[0], found
        found += os.read(master, 4096)
    return found
