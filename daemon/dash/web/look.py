"""Templates, the stylesheet, the script and the icons, named by their content, and the content security policy."""

import functools
import hashlib
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final, Self

from msgspec import Struct

from daemon.dash.web.words import load
from daemon.runtime.words import LANGUAGES

FOLDER: Final = resources.files("daemon.dash") / "look"
ROOT: Final = "/dash/static/"
POLICY: Final = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HASH_CHARACTERS: Final = 12


def _templates(folder: Traversable, within: str = "") -> dict[str, str]:
    """Return the templates of the package, which may be inside a zip file, by their path."""
    found: dict[str, str] = {}
    for entry in folder.iterdir():
        name = f"{within}{entry.name}"
        if entry.is_dir():
            found |= _templates(entry, f"{name}/")
        elif name.endswith(".html"):
            found[name] = entry.read_text("utf-8")
    return found


class StaticFile(Struct, frozen=True):
    """A file that never changes under its name."""

    body: bytes
    content_type: bytes


class Look:
    """Everything that is loaded with the first visit."""

    def __init__(self) -> None:
        from jinja2 import DictLoader, Environment, StrictUndefined  # noqa: PLC0415 -- lazy

        self.environment = Environment(
            loader=DictLoader(_templates(FOLDER)),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self.files: dict[str, StaticFile] = {}
        """By name below `ROOT`."""
        self.names: dict[str, str] = {}
        """The address of each file, by its plain name."""
        for language in LANGUAGES:
            load(language)
        sheets = sorted((FOLDER / "style").iterdir(), key=lambda entry: entry.name)
        style = "\n".join(sheet.read_text("utf-8").strip() for sheet in sheets)
        self._add("dash.css", style.encode(), b"text/css; charset=utf-8")
        for sheet in (FOLDER / "sheets").iterdir():
            # Only the pages that need it ask for it, in their block `head`.
            self._add(sheet.name, sheet.read_bytes(), b"text/css; charset=utf-8")
        script = (FOLDER / "dash.js").read_bytes()
        self._add("dash.js", script, b"text/javascript; charset=utf-8")
        self._add("icon.svg", (FOLDER / "icons" / "icon.svg").read_bytes(), b"image/svg+xml")
        for size in (192, 512):
            icon = (FOLDER / "icons" / f"icon-{size}.png").read_bytes()
            self._add(f"icon-{size}.png", icon, b"image/png")

    @classmethod
    @functools.cache
    def load(cls) -> Self:
        """Read everything and compile each template, once for all shops of the program, so that no visitor waits for it."""
        look = cls()
        for name in look.environment.list_templates(["html"]):
            look.environment.get_template(name)
        return look

    def fill(self, template: str, **values: Any) -> str:
        """Fill a template; every value is escaped."""
        return self.environment.get_template(template).render(**values)

    def _add(self, name: str, body: bytes, content_type: bytes) -> None:
        stem, _, ending = name.rpartition(".")
        hashed = f"{stem}.{hashlib.sha256(body).hexdigest()[:_HASH_CHARACTERS]}.{ending}"
        self.files[hashed] = StaticFile(body, content_type)
        self.names[name] = f"{ROOT}{hashed}"
