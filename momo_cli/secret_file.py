"""Keep a secret that is shown once in a file of its own, instead of on the screen."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from momo_cli.errors import usage


@contextmanager
def secret_file(path: str | None, flag: str) -> Iterator[Callable[[str], None]]:
    """Make the file before the secret is made, because one that could not be kept would be lost.

    Nothing is done without a path. When the block fails the file is removed again.

    Args:
        path: A file that must not exist yet; it gets mode 0600.
        flag: The flag that named it, for the message.

    Yields:
        What keeps the secret, as one line.

    Raises:
        Failure: USAGE, the file cannot be made.
    """
    if path is None:
        yield lambda _secret: None
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as problem:
        raise usage(f"{flag}: {path}: {problem.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:

        def keep(secret: str) -> None:
            file.write(f"{secret}\n")
            file.flush()
            os.fsync(file.fileno())

        try:
            yield keep
        except BaseException:
            os.unlink(path)  # noqa: PTH108  # pathlib is not needed here
            raise
