"""A process that has no free file descriptor, as SQLite meets it."""

import contextlib
import os
import resource
from collections.abc import Iterator


@contextlib.contextmanager
def no_free_descriptor() -> Iterator[None]:
    """Let each attempt to open a file fail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
