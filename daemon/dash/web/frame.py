"""The frame around every page: head, menu, confirmation of the last action, language, footer; and the error pages.

Templates, the stylesheet, the script and the icons are named by their content, and the content security policy allows no others.
"""

import functools
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any, Final, Self

from jinja2 import DictLoader
from markupsafe import Markup
from msgspec import Struct

from daemon.core.errors import Refusal, Unavailable
from daemon.dash.web.visit import Page, Shown, Visit
from daemon.dash.web.words import load
from daemon.runtime.files import package_folder
from daemon.runtime.page_response import environment
from daemon.runtime.words import LANGUAGES, about
from daemon.wire import ErrorCode

FOLDER: Final = package_folder("dash/look")
ROOT: Final = "/dash/static/"
FIELD: Final = "form_token"
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
        self.environment = environment(DictLoader(_templates(FOLDER)))
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
        for script in ("dash.js", "form.js", "till.js"):
            self._add(script, (FOLDER / script).read_bytes(), b"text/javascript; charset=utf-8")
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
        return str(self.environment.get_template(template).render(**values))

    def _add(self, name: str, body: bytes, content_type: bytes) -> None:
        stem, _, ending = name.rpartition(".")
        hashed = f"{stem}.{hashlib.sha256(body).hexdigest()[:_HASH_CHARACTERS]}.{ending}"
        self.files[hashed] = StaticFile(body, content_type)
        self.names[name] = f"{ROOT}{hashed}"


GROUPS: Final = ("main", "lines", "books", "upkeep", "webhooks")
"""The groups of pages in their order; their words are `menu_<group>`."""
LEADS_TO: Final = {"/dash/shop": ("lines", "books", "upkeep"), "/dash/developers": ("webhooks",)}
"""The pages of the menu that show other groups."""
Entry = tuple[str, str, bool]
"""The address of a page, its word, and whether it is this page."""


class Frame:
    """Fills templates within the frame."""

    def __init__(self, look: Look, pages: Sequence[Page]) -> None:
        self._look = look
        self._pages = pages

    def page(self, visit: Visit, page: Page | None, shown: Shown, *, fragment: bool) -> str:
        """Return the page, or with `fragment` only the part that changes."""
        t = visit.words
        said = visit.query.get("said", "")
        title = shown.title or (t(page.title) if page is not None else t("momo"))
        places = {key: str(text) for key, text in visit.places.items()}
        values: dict[str, Any] = {
            "v": visit, "t": t, "parent": "fragment.html" if fragment else "base.html", "title": title,
            "shop": visit.shop_name, "menu": self._groups(visit), "files": self._look.names,
            "said": t(said) if said.startswith("said_") and t.has(said) else "",
            "live": " ".join(page.live) if page is not None and visit.who is not None else "",
            "here_path": visit.here, "command": _filled(page.command, places) if page is not None else "",
            "bare": page is not None and page.bare, "languages": [(code, about(code)["name"]) for code in LANGUAGES],
            "token_field": FIELD, "problem": "", **shown.values,
        }  # fmt: skip
        return self._look.fill(shown.template, **values)

    def error(self, visit: Visit, error: Refusal | Unavailable) -> Shown:
        """Return the page of an error with its cause and the next step."""
        t = visit.words
        if isinstance(error, Unavailable):
            values = {"headline": t("error_unavailable"), "more": Markup("{}.").format(visit.cite(error.text))}
            return Shown("error.html", {**values, "next": error.next_step}, "momo", status=503)
        key = f"error_{error.code.lower()}"
        known = t.has(key)
        headline = t(key) if known else t.told(error.message)
        more = t(f"{key}_more") if known else error.hint
        status = 404 if error.code is ErrorCode.ROUTE_NOT_FOUND else error.spec.http_status
        values = {"headline": headline, "more": more, "next": ""}
        return Shown("error.html", values, headline, status=status)

    def _groups(self, visit: Visit) -> dict[str, list[Entry]]:
        """Return the pages of each group of the menu, as the role allows."""
        found: dict[str, list[Entry]] = {group: [] for group in GROUPS}
        for page in self._pages:
            roles = page.roles if page.menu_roles is None else page.menu_roles
            if page.menu and visit.role in roles and visit.sees(page):
                here = _is_below(visit.path, page.path)
                found[page.menu].append((page.path, visit.words(page.title), here))
        inside = [
            (href, any(here for group in LEADS_TO.get(href, ()) for _, _, here in found[group]))
            for href, _, _ in found["main"]
        ]
        found["main"] = [
            (href, word, here or leads) for (href, word, here), (_, leads) in zip(found["main"], inside, strict=True)
        ]
        return found


def _filled(command: str, places: Mapping[str, str]) -> str:
    """Return the command with its places filled; empty if the address has no value for one, as that of an action."""
    try:
        return command.format_map(places)
    except KeyError:
        return ""


def _is_below(path: str, entry: str) -> bool:
    return path == entry or (entry != "/dash" and path.startswith(f"{entry}/"))
