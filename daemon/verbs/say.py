"""What the verbs share: the answer as JSON, the password from a file."""

import json
import sys
from pathlib import Path
from typing import Any

from daemon import wire
from daemon.doors import EXIT_USAGE, StartError


def print_json(body: dict[str, Any]) -> None:
    """Print an answer as one line of JSON."""
    print(json.dumps(body, ensure_ascii=False))


def password(source: str | None) -> str | None:
    """Read the password; one newline at its end does not belong to it."""
    if source is None:
        return None
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(
            wire.ErrorCode.USAGE,
            EXIT_USAGE,
            f"the password file {source} cannot be read: {error}",
            "momo setup --password-file FILE",
        ) from error
    return text.removesuffix("\n")
