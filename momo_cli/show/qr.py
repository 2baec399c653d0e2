"""QR codes on a terminal."""

from itertools import zip_longest
from typing import Final

from momo_cli.show.terminal import Terminal

_QUIET: Final = 2
"""Light modules around the code. ISO/IEC 18004 asks for 4; phone scanners accept 2, and a screen has few lines."""
_HALVES: Final = {(0, 0): "█", (0, 1): "▀", (1, 0): "▄", (1, 1): " "}
"""Two modules, one above the other -> one character; the light ones are drawn, because most screens are dark."""


def drawn(text: str, terminal: Terminal) -> list[str]:
    """Return the lines of a QR code.

    With colour it is black on white, independent of the terminal's colours; without colour, only the light modules
    are drawn. In ASCII a module is two characters wide and one line high.
    """
    import segno  # noqa: PLC0415  # only --qr needs it

    code = segno.make(text, error="l", micro=False)
    rows = [tuple(bool(module) for module in row) for row in code.matrix_iter(border=_QUIET)]
    if not terminal.symbols:
        return ["".join("  " if dark else "##" for dark in row) for row in rows]
    pairs = zip_longest(rows[::2], rows[1::2], fillvalue=(True,) * len(rows[0]))
    lines = ["".join(_HALVES[cell] for cell in zip(*pair, strict=True)) for pair in pairs]
    return [f"\x1b[97;40m{line}\x1b[0m" if terminal.color else line for line in lines]
