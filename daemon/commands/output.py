"""Helpers of the commands: print JSON, read a password."""

import json
import sys
from pathlib import Path
from typing import Any

from daemon.open_shop import EXIT_NOT_SET_UP, StartError
from daemon.wire import ErrorCode


def print_json(body: dict[str, Any]) -> None:
    """Print an answer as one line of JSON."""
    print(json.dumps(body, ensure_ascii=False))


def need_shop(there: object) -> None:
    """Refuse the command if there is no shop."""
    if not there:
        why = "there is no shop here yet"
        raise StartError(ErrorCode.NOT_SET_UP, why, "momo setup", exit_code=EXIT_NOT_SET_UP)


def password(source: str | None) -> str | None:
    """Read a password from a file or stdin, without one final newline."""
    if source is None:
        return None
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(
            ErrorCode.USAGE, f"the password file {source} cannot be read: {error}", "momo setup"
        ) from error
    return text.removesuffix("\n")
