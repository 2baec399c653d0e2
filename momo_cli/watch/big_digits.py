"""Amounts in large figures, readable from a distance."""

from typing import Final

HEIGHT: Final = 5
_ROWS: Final = {
    "0": "### # # # # # # ###",
    "1": "##.  #.  #.  #. ###",
    "2": "###   # ### #   ###",
    "3": "###   # ###   # ###",
    "4": "# # # # ###   #   #",
    "5": "### #   ###   # ###",
    "6": "### #   ### # # ###",
    "7": "###   #   #   #   #",
    "8": "### # # ### # # ###",
    "9": "### # # ###   # ###",
    ".": ".   .   .   .   #  ",
    ",": ".   .   .   #   #  ",
    "-": ".       ###        ",
}
"""Each figure as five rows of three points; a dot is a point that is off."""


def large_figures(amount: str, width: int, *, symbols: bool = True) -> list[str]:
    """Return an amount as five lines, each point two columns wide if that fits, else one; empty if neither fits."""
    mark = "█" if symbols else "#"
    for size in (2, 1):
        lines = ["", "", "", "", ""]
        for character in amount:
            narrow = character in ".,"
            for row in range(HEIGHT):
                points = _ROWS.get(character, "").ljust(19)[
                    row * 4 : row * 4 + (1 if narrow else 3)
                ]
                lines[row] += (
                    "".join((mark if p == "#" else " ") * size for p in points) + " " * size
                )
        if max(map(len, lines)) <= width:
            return [line.rstrip() for line in lines]
    return []
