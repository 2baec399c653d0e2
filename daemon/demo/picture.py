"""The screen of a program as an SVG picture that each viewer shows alike."""

import html
import re
from typing import Final

from rich.cells import cell_len
from rich.console import Console

_FONT: Final = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
_TEXT: Final = re.compile(r'x="([0-9.]+)" (y="[0-9.]+") textLength="[0-9.]+"([^>]*)>([^<]*)<')
_COLUMN: Final = 12.2
"""The width of a column in rich's pictures: 0.61 of its font size."""


def picture(console: Console, title: str) -> str:
    """Return the console's recorded output as an SVG, in the reader's own fixed-width font.

    It loads nothing. Each character has its own position, because many viewers ignore `textLength`, and then the columns
    would depend on the width of the font.
    """
    return _TEXT.sub(_placed, _FONT.sub("", console.export_svg(title=title)))


def _placed(match: re.Match[str]) -> str:
    begin, y, more, text = match.groups()
    places, column = [], 0
    for character in html.unescape(text):
        places.append(f"{float(begin) + column * _COLUMN:.1f}".removesuffix(".0"))
        column += cell_len(character)
    return f'x="{" ".join(places)}" {y}{more}>{text}<'
