"""An error of ours as anybody may read it: where each part of the program stood, its kind, and its text masked. Pure.

The values of variables, which may be a customer's name or a message, are not in it; nor is what an error quotes.
"""

import re
import traceback
from typing import Final

from privacy.masking import scrubbed

_QUOTED: Final = re.compile(r"(['\"]).*?\1", re.DOTALL)
_CHAIN: Final = 5
_ROOTS: Final = ("site-packages", "daemon", "momo_cli", "parsers", "privacy")


def fault(error: BaseException) -> str:
    """Return an error in a line: its kind, and its text without what it quotes, which is often a value."""
    text = _QUOTED.sub(r"\1***\1", str(error))
    return f"{type(error).__name__}: {scrubbed(text)}"


def story(error: BaseException) -> str:
    """Return the error, where it came from, and what it came of, the last one first."""
    told: list[str] = []
    current: BaseException | None = error
    while current is not None and len(told) < _CHAIN:
        frames = traceback.walk_tb(current.__traceback__)
        where = [f"  {_short(f.f_code.co_filename)}:{at} in {f.f_code.co_name}" for f, at in frames]
        told.append("\n".join([fault(current), *where]))
        current = current.__cause__ or current.__context__
    return "\nwhich came of\n".join(told)


def _short(filename: str) -> str:
    """Return where a file is in its package: the folders above it are this machine's own."""
    parts = filename.replace("\\", "/").split("/")
    for root in _ROOTS:
        if root in parts:
            at = len(parts) - 1 - parts[::-1].index(root)
            return "/".join(parts[at + (root == "site-packages") :])
    return parts[-1]
