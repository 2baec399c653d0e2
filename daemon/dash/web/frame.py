"""The frame around every page: head, menu, confirmation of the last action, language, footer; and the error pages."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from daemon.core.errors import Refusal, Unavailable
from daemon.dash.web.answers import Shown
from daemon.dash.web.forgery import FIELD
from daemon.dash.web.look import Look
from daemon.dash.web.table import Page
from daemon.dash.web.visit import Visit
from daemon.runtime.words import LANGUAGES, about
from daemon.wire import ErrorCode

GROUPS: Final = ("counter", "money", "lines", "webhooks", "books", "upkeep")
"""The groups of the menu in their order; their words are `menu_<group>`."""


class Frame:
    """Fills templates within the frame."""

    def __init__(self, look: Look, pages: Sequence[Page]) -> None:
        self._look = look
        self._pages = pages

    def page(
        self, visit: Visit, page: Page | None, shown: Shown, *, fragment: bool, here: str = ""
    ) -> str:
        """Return the page, or with `fragment` only the part that changes.

        `here` is its address if that is not the one that was asked for.
        """
        t = visit.words
        said = visit.query.get("said", "")
        title = shown.title or (t(page.title) if page is not None else t("momo"))
        places = {key: str(text) for key, text in visit.places.items()}
        values: dict[str, Any] = {
            "v": visit,
            "t": t,
            "parent": "fragment.html" if fragment else "base.html",
            "title": title,
            "shop": visit.shop.name if visit.shop is not None else "momo",
            "menu": self._menu(visit),
            "files": self._look.names,
            "said": t(said) if said.startswith("said_") and t.has(said) else "",
            "live": " ".join(page.live) if page is not None and visit.who is not None else "",
            "here_path": here,
            "command": _filled(page.command, places) if page is not None else "",
            "bare": page is not None and page.bare,
            "languages": [(code, about(code)["name"]) for code in LANGUAGES],
            "token_field": FIELD,
            "problem": "",
            **shown.values,
        }
        return self._look.fill(shown.template, **values)

    def error(self, visit: Visit, error: Refusal | Unavailable) -> Shown:
        """Return the page of an error with its cause and the next step."""
        t = visit.words
        if isinstance(error, Unavailable):
            values = {"headline": t("error_unavailable"), "more": visit.cite(f"{error.why}.")}
            return Shown("error.html", {**values, "next": error.next_step}, "momo", status=503)
        key = f"error_{error.code.lower()}"
        known = t.has(key)
        headline = t(key) if known else t.told(error.message)
        more = t(f"{key}_more") if known else error.hint
        status = 404 if error.code is ErrorCode.ROUTE_NOT_FOUND else error.spec.http_status
        values = {"headline": headline, "more": more, "next": ""}
        return Shown("error.html", values, headline, status=status)

    def _menu(self, visit: Visit) -> list[tuple[str, list[tuple[str, str, bool]]]]:
        """Return the groups of the menu, each with (address, word, whether it is this page), as the role allows."""
        if visit.role is None:
            return []
        found = []
        for group in GROUPS:
            entries = [
                (page.path, visit.words(page.title), _is_below(visit.path, page.path))
                for page in self._pages
                if page.menu == group and visit.role in page.roles
            ]
            if entries:
                found.append((visit.words(f"menu_{group}"), entries))
        return found


def _filled(command: str, places: Mapping[str, str]) -> str:
    """Return the command with its places filled; empty if the address has no value for one, as that of an action."""
    try:
        return command.format_map(places)
    except KeyError:
        return ""


def _is_below(path: str, entry: str) -> bool:
    return path == entry or (entry != "/dash" and path.startswith(f"{entry}/"))
