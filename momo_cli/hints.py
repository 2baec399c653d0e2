"""Commands as they must be typed to reach the shop of this run, not the default one. Pure."""

import re
import shlex
from collections.abc import Container
from typing import Final

from momo_cli.flags import Flags

_WORDS: Final = re.compile(r"(?<![\w./-])momo ([a-z][a-z-]*)(?: ([a-z-]+))?")


def reaching(text: str, flags: Flags, commands: Container[str], *, self_contained: bool) -> str:
    """Put `--profile` and `--socket` into the commands that a text names, so that they work when pasted.

    Args:
        text: A hint, or a sentence or line that may hold some.
        flags: The global flags of this run.
        commands: The words of every command; what else follows the word momo is prose.
        self_contained: The shop is that of MOMO_HOME, where a profile means nothing.
    """
    given = [] if flags.profile is None or self_contained else ["--profile", flags.profile]
    given += [] if flags.socket is None else ["--socket", flags.socket]
    if not given or "momo " not in text:
        return text
    words = shlex.join(given)

    def put(found: re.Match[str]) -> str:
        first, second = found.groups()
        known = first in commands or f"{first} {second}" in commands or second == "--help"
        return found[0].replace("momo ", f"momo {words} ", 1) if known else found[0]

    return _WORDS.sub(put, text)
