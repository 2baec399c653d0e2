"""Line wrapping for a terminal, and the width of a text."""

import re
from typing import Final

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m", re.ASCII)
_LABEL: Final = re.compile(r" *\S+(?: \S+)? {2,}(?=\S)", re.ASCII)
_LABEL_MAX: Final = 14
_PARTS: Final = re.compile(r"( {2,}| [·-] )")
"""Separators of facts on one line; a line is wrapped there rather than within a fact."""
_TEXT: Final = 2
"""The index of the first fact after a label in a line split by `_PARTS`."""


def text_width(text: str) -> int:
    """Return the columns that a text takes on a terminal: wide letters take two, combining letters and colour none."""
    bare = _COLOUR.sub("", text) if "\x1b" in text else text
    if bare.isascii():
        return len(bare)
    from rich.cells import cell_len  # noqa: PLC0415  # only non-ASCII text needs its tables

    return cell_len(bare)


def wrap_words(text: str, room: int) -> list[str]:
    """Return a text in lines of at most `room` columns, wrapped between words, within a word only if it is longer."""
    from rich.cells import chop_cells  # noqa: PLC0415  # as above

    found: list[str] = []
    line = ""
    for word in text.split(" "):
        if line and text_width(line) + 1 + text_width(word) <= room:
            line = f"{line} {word}"
            continue
        found += [line] if line else []
        *whole, line = chop_cells(word, room) or [""]
        found += whole
    return [*found, line]


def wrap_hanging(line: str, columns: int, *, labels: bool = True) -> list[str]:
    """Return a line as lines of at most `columns`, the later ones indented: below its text if it begins with a label.

    Without `labels` they are indented by two. A longer word stays whole, because ids and addresses are copied. The line
    may contain colour.
    """
    if text_width(line) <= columns:
        return [line]
    label, indent = _indent(line, columns if labels else 0)
    found, here = [], ""
    apart = ""
    for number, part in enumerate(_PARTS.split(line.strip(" "))):
        if number % 2:
            apart = part
            continue
        fresh = not here or text_width(here) + text_width(apart) + text_width(part) <= columns
        if not fresh and text_width(part) + indent <= columns and not (label and number == _TEXT):
            found.append(here)
            here, apart = " " * indent, ""
        words = part.split(" ")
        here = here or line[: len(line) - len(line.lstrip(" "))]
        for i, word in enumerate(words):
            between = apart if i == 0 else " "
            if here.strip() and text_width(here) + text_width(between) + text_width(word) > columns:
                found.append(here)
                # A long word moves left, so that it stays on one line if any line can hold it.
                here, between = " " * max(0, min(indent, columns - text_width(word))), ""
            here += between + word
    return [*found, here]


def _indent(line: str, columns: int) -> tuple[bool, int]:
    """Return whether a line begins with a label, and the indent of its later lines."""
    label = _LABEL.match(_COLOUR.sub("", line))
    own = len(line) - len(line.lstrip(" "))
    if columns == 0:
        return False, own + 2
    if label is not None and label.end() <= max(_LABEL_MAX, columns // 3):
        return True, label.end()
    return False, own or 2
