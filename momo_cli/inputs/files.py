"""Read an input file or stdin; write a secret to a file instead of the screen."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from momo_cli.errors import usage
from momo_cli.show.terminal import Terminal

STDIN: Final = "-"
BYTES_MAX: Final = 8_000_000
NO_TEXT: Final = "it is not text (UTF-8)"


@contextmanager
def file_errors(label: str) -> Iterator[None]:
    """Turn the errors of reading or writing a file into usage errors that begin with the label (exit 2)."""
    try:
        yield
    except OSError as problem:
        raise usage(f"{label}: {problem.strerror}") from None
    except ValueError:
        raise usage(f"{label}: {NO_TEXT}") from None


def read_text(terminal: Terminal, path: str) -> str:
    """Return the text of a file, or of stdin for `-`; fail (exit 2) if it cannot be read or is too large."""
    with file_errors(path):
        if path == STDIN:
            text = terminal.stdin.read(BYTES_MAX + 1)
        else:
            with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib is not needed here
                text = file.read(BYTES_MAX + 1)
    if len(text) > BYTES_MAX:
        raise usage(f"{path}: longer than {BYTES_MAX:,} characters")
    return text


@contextmanager
def secret_file(path: str | None, flag: str) -> Iterator[Callable[[str], None]]:
    """Create the file before the secret is created, because a secret that cannot be written would be lost.

    Yields a function that writes the secret as one line. Without a path it does nothing. The file gets mode 0600, must
    not exist yet (exit 2), and is removed if the block fails. `flag` is the flag with the path, for the message.
    """
    if path is None:
        yield lambda _secret: None
        return
    with file_errors(f"{flag}: {path}"):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
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
