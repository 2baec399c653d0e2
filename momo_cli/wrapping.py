"""Lines that fit a terminal: how wide a text is, and where it goes on below itself."""

import re
from typing import Final

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m", re.ASCII)
_LABEL: Final = re.compile(r" *\S+(?: \S+)? {2,}(?=\S)", re.ASCII)
_LABEL_MAX: Final = 14
_PARTS: Final = re.compile(r"( {2,}| [·-] )")
"""What stands between two facts on one line: it breaks there rather than within a fact."""
_TEXT: Final = 2
"""The place of the first fact behind a label, among what `_PARTS` splits a line into."""


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes: some letters take two, some none, and colour takes none."""
    bare = _COLOUR.sub("", text) if "\x1b" in text else text
    if bare.isascii():
        return len(bare)
    from rich.cells import cell_len  # noqa: PLC0415  # only what is not ASCII needs its tables

    return cell_len(bare)


def wrapped(text: str, room: int) -> list[str]:
    """Return a text in lines of at most `room` columns, parted between words, within one only where it is longer."""
    from rich.cells import chop_cells  # noqa: PLC0415  # as above

    found: list[str] = []
    line = ""
    for word in text.split(" "):
        if line and width(line) + 1 + width(word) <= room:
            line = f"{line} {word}"
            continue
        found += [line] if line else []
        *whole, line = chop_cells(word, room) or [""]
        found += whole
    return [*found, line]


def hung(line: str, columns: int, *, labels: bool = True) -> list[str]:
    """Return a line as lines of at most `columns`, the later ones set in: below its text when it begins with a label.

    Without `labels` they are set in by two. A word that is wider than that stays whole, because ids and addresses are copied. Colour may stand in it.
    """
    if width(line) <= columns:
        return [line]
    label, indent = _indent(line, columns if labels else 0)
    found, here = [], ""
    apart = ""
    for number, part in enumerate(_PARTS.split(line.strip(" "))):
        if number % 2:
            apart = part
            continue
        fresh = not here or width(here) + width(apart) + width(part) <= columns
        if not fresh and width(part) + indent <= columns and not (label and number == _TEXT):
            found.append(here)
            here, apart = " " * indent, ""
        words = part.split(" ")
        here = here or line[: len(line) - len(line.lstrip(" "))]
        for i, word in enumerate(words):
            between = apart if i == 0 else " "
            if here.strip() and width(here) + width(between) + width(word) > columns:
                found.append(here)
                # What is to be copied keeps to one line as long as any line holds it.
                here, between = " " * max(0, min(indent, columns - width(word))), ""
            here += between + word
    return [*found, here]


def _indent(line: str, columns: int) -> tuple[bool, int]:
    """Return whether a line begins with a label, and where its later lines begin."""
    label = _LABEL.match(_COLOUR.sub("", line))
    own = len(line) - len(line.lstrip(" "))
    if columns == 0:
        return False, own + 2
    if label is not None and label.end() <= max(_LABEL_MAX, columns // 3):
        return True, label.end()
    return False, own or 2
