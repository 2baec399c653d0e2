"""Charts as inline SVG: only numbers are computed here, the templates `parts/*.html` draw them.

Beside each chart stands its table, which is its text.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

HEIGHT: Final = 100
STEP: Final = 24
"""Width of a bar and the space beside it, in units of the picture."""


class Bar(Struct, frozen=True):
    """One bar: `x`, `y`, `height` in units of the picture; `label` below, `text` its value in words."""

    x: int
    y: float
    height: float
    label: str
    text: str
    now: bool


class Bars(Struct, frozen=True):
    """A chart of bars."""

    width: int
    bars: Sequence[Bar]
    top: str


def bars(values: Sequence[tuple[str, int, str]], *, now: int | None = None, full: int = 0) -> Bars:
    """Return the chart of (label, value, value in words).

    `now` is the place of the present one, `full` the value of a bar of full height, which without it is the largest one.
    """
    most = full or max((value for _, value, _ in values), default=0) or 1
    found = []
    for place, (label, value, text) in enumerate(values):
        height = 0.0 if value <= 0 else max(2.0, round(value * HEIGHT / most, 1))
        found.append(Bar(place * STEP, round(HEIGHT - height, 1), height, label, text, place == now))
    top = next((text for _, value, text in values if value == most), "")
    return Bars(len(values) * STEP, found, top)
