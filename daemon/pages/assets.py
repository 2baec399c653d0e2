"""Templates, style and script of the pages, the shop's logo and colour, and the content security policy that allows only these.

jinja2 is imported with the first page, so that a shop without visitors does not need them.
"""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from daemon.core.names import group_digits
from daemon.runtime.config import logo_type
from daemon.runtime.files import package_folder
from daemon.runtime.page_response import environment
from daemon.runtime.words import of_checkout

_ELSEWHERE: Final = (
    "default-src 'none'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Assets:
    """The loaded templates."""

    def __init__(self, languages: Sequence[str], logo: str = "", colour: str = "") -> None:
        from jinja2 import DictLoader  # noqa: PLC0415 -- lazy

        look = {entry.name: entry.read_text(encoding="utf-8") for entry in package_folder("pages/look").iterdir()}
        self._environment = environment(DictLoader(look))
        self._environment.filters["grouped"] = group_digits
        self._css = look["page.css"].strip() + colour_style(colour)
        self.logo = logo_address(logo)
        self._js = look["page.js"].strip()
        self.words = {language: of_checkout(language) for language in languages}
        self.policy = (f"{_ELSEWHERE}; style-src {_source(self._css)}; script-src {_source(self._js)}").encode()

    @classmethod
    def load(cls, languages: Sequence[str], logo: str, colour: str) -> Self:
        """Read everything and compile each template, so that no customer waits for it."""
        assets = cls(languages, logo, colour)
        for name in assets._environment.list_templates(["html"]):
            assets._environment.get_template(name)
        return assets

    def fill(self, template: str, **values: Any) -> str:
        """Fill a template; every value is escaped."""
        return str(self._environment.get_template(template).render(**values))

    def page(self, body: str, **values: Any) -> bytes:
        """Return the complete page around a filled template."""
        filled = self.fill("page.html", body=body, css=self._css, js=self._js, **values)
        return filled.encode()


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


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


def _readable(colour: Colour, grounds: tuple[Colour, ...], towards: Colour) -> tuple[Colour, Colour]:
    """Return the colour, changed until it can be read on every background, and its tint."""
    while True:
        tint = _mixed(grounds[0], colour, _TINT)
        if all(contrast(colour, ground) >= CONTRAST_MIN for ground in (*grounds, tint)):
            return colour, tint
        colour = _mixed(colour, towards, _STEP)


def _luminance(colour: Colour) -> float:
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (each / 255 for each in colour)
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
