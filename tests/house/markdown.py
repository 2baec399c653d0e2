"""The parts of a Markdown document: links, heading anchors, and blocks of commands."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCUMENTS: Final = sorted(
    path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")] if path.parent.name != "commands"
)
"""All documents but the pages of the commands, which are generated whole."""
GUIDES: Final = (ROOT / "README.md", ROOT / "docs/shop/getting-started.md")
"""Documents with commands that a test runs unchanged."""

_FENCE: Final = re.compile(r"^(?P<mark>```+|~~~+)(?P<kind>\w*)\n(?P<text>.*?)^(?P=mark)$", re.MULTILINE | re.DOTALL)
_NOTE: Final = re.compile(r"\*Needs \S.*:\*")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block.

    Attributes:
        kind: `sh` is run unchanged; `console` needs the condition in `note`; `text` is a picture or an answer.
        text: The text between the fences.
        note: The line right above, if it states a condition; else empty.
        line: The number of its first line, from 1.
    """

    kind: str
    text: str
    note: str
    line: int


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a document in order."""
    found = []
    for fence in _FENCE.finditer(text):
        before = text[: fence.start()].rstrip().rpartition("\n")[2]
        note = before if _NOTE.fullmatch(before) else ""
        line = text.count("\n", 0, fence.start()) + 1
        found.append(Block(fence["kind"], fence["text"], note, line))
    return found


def prose(text: str) -> str:
    """Return a document without its fenced blocks and its code."""
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """Return the anchors of a document: each heading as forges name it."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} (.+)$", _FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        number = 0
        while (name if not number else f"{name}-{number}") in found:
            number += 1
        found.add(name if not number else f"{name}-{number}")
    return found


def links(text: str) -> list[str]:
    """Return the targets of links and pictures as written."""
    return re.findall(r"\]\(([^)\s]+)\)", prose(text))
