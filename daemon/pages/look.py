"""What the pages look like: templates, style and script, and the policy that lets a browser run nothing else.

jinja2 and segno are imported when the first page is asked for: a shop that nobody visits does without them.
"""

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Self

from daemon.core.masking import grouped

FOLDER: Final = Path(__file__).parent
_ELSEWHERE: Final = (
    "default-src 'none'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


class Look:
    """The templates, ready to be filled."""

    def __init__(self, languages: Sequence[str]) -> None:
        """Read the files of the package."""
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 -- lazy

        self._environment = Environment(
            loader=FileSystemLoader(FOLDER / "look"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters["grouped"] = grouped
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
        """Read everything and fill each template once, so that no customer waits for it."""
        look = cls(languages)
        for name in look._environment.list_templates(["html"]):
            look._environment.get_template(name)
        return look

    def fill(self, template: str, **values: Any) -> str:
        """Fill a template; every value is escaped."""
        return self._environment.get_template(template).render(**values)

    def page(self, body: str, **values: Any) -> bytes:
        """Put a filled template into the page around it."""
        filled = self.fill("page.html", body=body, css=self._css, js=self._js, **values)
        return filled.encode()


@lru_cache(maxsize=64)
def qr_svg(url: str) -> str:
    """Draw the QR code of an address, black on whatever is behind it; the quiet zone is in it."""
    import segno  # noqa: PLC0415 -- lazy

    out = io.BytesIO()
    segno.make(url, error="l", micro=False).save(
        out, kind="svg", xmldecl=False, svgns=False, nl=False, border=2, omitsize=True
    )
    return out.getvalue().decode()


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
