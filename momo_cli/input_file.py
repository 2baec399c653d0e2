"""Reading the file, or stdin, that a command was given."""

from typing import Final

from momo_cli.errors import usage
from momo_cli.terminal import Terminal

STDIN: Final = "-"
BYTES_MAX: Final = 8_000_000
NO_TEXT: Final = "it is not text (UTF-8)"


def text_of(terminal: Terminal, path: str) -> str:
    """Return the text of a file, or of stdin for `-`.

    Raises:
        Failure: USAGE, when it cannot be read or is too large.
    """
    try:
        if path == STDIN:
            text = terminal.stdin.read(BYTES_MAX + 1)
        else:
            with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib is not needed here
                text = file.read(BYTES_MAX + 1)
    except OSError as problem:
        raise usage(f"{path}: {problem.strerror}") from None
    except ValueError:
        raise usage(f"{path}: {NO_TEXT}") from None
    if len(text) > BYTES_MAX:
        raise usage(f"{path}: longer than {BYTES_MAX:,} characters")
    return text
