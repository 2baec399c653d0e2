"""The shop's own look on its pages: the logo, and the colour of links and buttons."""

import base64
from pathlib import Path
from typing import Final, TypeAlias

from daemon.runtime.config import logo_type

Colour: TypeAlias = tuple[int, int, int]

CONTRAST_MIN: Final = 4.5
"""Of text on its background (WCAG 2.2, 1.4.3)."""
_WHITE: Final = (255, 255, 255)
_BLACK: Final = (0, 0, 0)
_STEP: Final = 0.04
_TINT: Final = 0.12
_LIGHT_GROUNDS: Final = ((255, 255, 255), (241, 244, 242))
"""`--paper` and `--ground` of page.css, in light and in dark colours."""
_DARK_GROUNDS: Final = ((27, 36, 32), (17, 24, 21))


def logo_address(path: str) -> str:
    """Return the logo as a `data:` address; "" if there is none, or its file has gone since the settings were read."""
    try:
        data = Path(path).read_bytes() if path else b""
    except OSError:
        return ""
    kind = logo_type(data)
    return f"data:{kind};base64,{base64.b64encode(data).decode()}" if kind else ""


def colour_style(colour: str) -> str:
    """Return the CSS of a colour such as `#7a1f5c`; "" for the page's own green.

    A colour that is too pale to be read is darkened, and in dark mode one that is too dark is made lighter.
    """
    if not colour:
        return ""
    wanted: Colour = (int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16))
    light, light_tint = _readable(wanted, _LIGHT_GROUNDS, _BLACK)
    dark, dark_tint = _readable(wanted, _DARK_GROUNDS, _WHITE)
    on_dark = _hex(_mixed(dark, _BLACK, 0.9))
    return (
        f":root{{--main:{_hex(light)};--tint:{_hex(light_tint)}}}"
        f"@media (prefers-color-scheme:dark){{:root{{--main:{_hex(dark)};--onmain:{on_dark};--tint:{_hex(dark_tint)}}}}}"
    )


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _readable(
    colour: Colour, grounds: tuple[Colour, ...], towards: Colour
) -> tuple[Colour, Colour]:
    """Return the colour, changed until it can be read on every background, and its tint."""
    while True:
        tint = _mixed(grounds[0], colour, _TINT)
        if all(contrast(colour, ground) >= CONTRAST_MIN for ground in (*grounds, tint)):
            return colour, tint
        colour = _mixed(colour, towards, _STEP)


def _luminance(colour: Colour) -> float:
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (each / 255 for each in colour)
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def _mixed(colour: Colour, other: Colour, share: float) -> Colour:
    """Return a colour with this share of another one, at least one step nearer to it."""
    red, green, blue = (
        round(mine + (theirs - mine) * share)
        if abs(theirs - mine) * share >= 0.5
        else mine + (theirs > mine) - (theirs < mine)
        for mine, theirs in zip(colour, other, strict=True)
    )
    return red, green, blue


def _hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
