"""A styled line that is wider than its place goes on below itself: what a cashier reads is never cut off."""

import re
from typing import Final

from rich.cells import cell_len
from rich.text import Text

_BETWEEN_FACTS: Final = re.compile(r" {2,}| · ")
_BETWEEN_WORDS: Final = re.compile(r" ")


def folded(line: Text, width: int, indent: int = 1) -> list[Text]:
    """Return a line as lines of at most `width` columns, the later ones set in.

    It is parted between facts (two spaces, or a dot between them), else between words, else anywhere.
    """
    found: list[Text] = []
    rest, pad = line, 0
    while rest.cell_len > width - pad and width - pad > 0:
        place = _place(rest.plain, width - pad, own=len(rest.plain) - len(rest.plain.lstrip(" ")))
        head, rest = _parted(rest, place)
        found.append(Text(" " * pad).append_text(head))
        pad = min(indent, width - 1)
    return [*found, Text(" " * pad).append_text(rest)] if rest.plain or not found else found


def _place(plain: str, room: int, *, own: int) -> int:
    """Return where to part a text so that what stands before fits; `own` is where its first word begins."""
    fits = 0
    while fits < len(plain) and cell_len(plain[: fits + 1]) <= room:
        fits += 1
    for between, least in ((_BETWEEN_FACTS, room // 2), (_BETWEEN_WORDS, own + 1)):
        places = [
            one.start() for one in between.finditer(plain, own) if least <= one.start() <= fits
        ]
        if places:
            return places[-1]
    return max(1, fits)


def _parted(line: Text, place: int) -> tuple[Text, Text]:
    """Part a line, without what stood between the two."""
    head, rest = line.divide([place])
    head.rstrip()
    gone = len(rest.plain) - len(rest.plain.lstrip(" ·"))
    return head, rest.divide([gone])[1] if gone else rest
