"""Templates, style and script of the pages, and the content security policy that allows only these.

jinja2 and segno are imported with the first page, so that a shop without visitors does not need them.
"""

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Self

from daemon.core.names import group_digits

FOLDER: Final = Path(__file__).parent
_ELSEWHERE: Final = (
    "default-src 'none'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


class Assets:
    """The loaded templates."""

    def __init__(self, languages: Sequence[str]) -> None:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 -- lazy

        self._environment = Environment(
            loader=FileSystemLoader(FOLDER / "look"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters["grouped"] = group_digits
        self._css = (FOLDER / "look" / "page.css").read_text(encoding="utf-8").strip()
        self._js = (FOLDER / "look" / "page.js").read_text(encoding="utf-8").strip()
        self.words: dict[str, Mapping[str, str]] = {
            language: json.loads((FOLDER / "words" / f"{language}.json").read_text("utf-8"))
            for language in languages
        }
        self.policy = (
            f"{_ELSEWHERE}; style-src {_source(self._css)}; script-src {_source(self._js)}"
        ).encode()

    @classmethod
    def load(cls, languages: Sequence[str]) -> Self:
        """Read everything and compile each template, so that no customer waits for it."""
        assets = cls(languages)
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


@lru_cache(maxsize=64)
def qr_svg(url: str) -> str:
    """Return the QR code of an address as SVG, black on transparent, with its quiet zone."""
    import segno  # noqa: PLC0415 -- lazy

    out = io.BytesIO()
    segno.make(url, error="l", micro=False).save(
        out, kind="svg", xmldecl=False, svgns=False, nl=False, border=2, omitsize=True
    )
    return out.getvalue().decode()


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
