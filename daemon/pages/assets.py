"""Templates, style and script of the pages, and the content security policy that allows only these.

jinja2 is imported with the first page, so that a shop without visitors does not need them.
"""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final, Self

from daemon.core.names import group_digits
from daemon.pages.brand import colour_style, logo_address
from daemon.runtime.words import of_checkout

_ELSEWHERE: Final = (
    "default-src 'none'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


class Assets:
    """The loaded templates."""

    def __init__(self, languages: Sequence[str], logo: str = "", colour: str = "") -> None:
        from jinja2 import DictLoader, Environment, StrictUndefined  # noqa: PLC0415 -- lazy

        look = _texts("look")
        self._environment = Environment(
            loader=DictLoader(look),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters["grouped"] = group_digits
        self._css = look["page.css"].strip() + colour_style(colour)
        self.logo = logo_address(logo)
        self._js = look["page.js"].strip()
        self.words = {language: of_checkout(language) for language in languages}
        self.policy = (
            f"{_ELSEWHERE}; style-src {_source(self._css)}; script-src {_source(self._js)}"
        ).encode()

    @classmethod
    def load(cls, languages: Sequence[str], logo: str, colour: str) -> Self:
        """Read everything and compile each template, so that no customer waits for it."""
        assets = cls(languages, logo, colour)
        for name in assets._environment.list_templates(["html"]):
            assets._environment.get_template(name)
        return assets

    def fill(self, template: str, **values: Any) -> str:
        """Fill a template; every value is escaped."""
        return self._environment.get_template(template).render(**values)

    def page(self, body: str, **values: Any) -> bytes:
        """Return the complete page around a filled template."""
        filled = self.fill("page.html", body=body, css=self._css, js=self._js, **values)
        return filled.encode()


def _texts(folder: str) -> dict[str, str]:
    """Return the files of a folder of this package, which may be inside a zip file, by their names."""
    entries = resources.files("daemon.pages").joinpath(folder).iterdir()
    return {entry.name: entry.read_text(encoding="utf-8") for entry in entries}


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
