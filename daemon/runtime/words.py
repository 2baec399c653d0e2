"""The words of all languages: `daemon/words/<language>/`. A new language is a new folder; its files have the keys of `en`.

`language.json` has the language's own name, who has reviewed its words, and its rule for plurals as in gettext. `sentences.json`
has the sentences that the program makes, as the API has them in English. `dash/` has the words of the dashboard, `checkout.json`
those of the customer's page; where both `sentences.json` and `dash/` have a key, the dashboard's words stand on its pages.
"""

import functools
import json
from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from daemon.core import text
from daemon.core.text import Catalogue
from daemon.runtime.files import package_folder

FOLDER: Final = package_folder("words")
DEFAULT: Final = "en"
LANGUAGES: Final = (DEFAULT, *sorted(entry.name for entry in FOLDER.iterdir() if entry.name != DEFAULT))
"""The languages, English first."""


@functools.cache
def about(language: str) -> dict[str, str]:
    """Return `name`, `reviewed_by` and the rule for plurals of a language."""
    return _read(language, "language.json")


def choose_language(enabled: Sequence[str], asked: str, accepts: str) -> str:
    """Choose a language: that of the address, else the browser's preferred one, else the shop's first.

    `accepts` is an Accept-Language header (RFC 9110, section 12.5.4).
    """
    if asked in enabled:
        return asked
    accepted: list[tuple[float, str]] = []
    for part in accepts[:500].lower().split(","):
        tag, _, given = part.partition(";q=")
        try:
            quality = float(given or 1)
        except ValueError:
            continue
        language = tag.strip().partition("-")[0]
        if quality > 0 and language in enabled:
            accepted.append((quality, language))
    return max(accepted, key=lambda one: one[0])[1] if accepted else enabled[0]


def zone_of(name: str) -> tzinfo:
    """Return a time zone, UTC (the time in Ghana all year) if it is unknown here."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


@functools.cache
def sentences(language: str) -> Catalogue:
    """Return the words of the sentences that the program makes."""
    return _words(language, ["sentences.json"])


def of_dashboard(language: str) -> Catalogue:
    """Return the words of the dashboard, with those of the sentences; the English of settings is in their rows."""
    folder = FOLDER / language / "dash"
    files = sorted(f"dash/{entry.name}" for entry in folder.iterdir())
    return _words(language, ["sentences.json", *files])


@functools.cache
def of_checkout(language: str) -> Catalogue:
    """Return the words of the customer's page."""
    return _words(language, ["checkout.json"])


def _words(language: str, files: list[str]) -> Catalogue:
    found = Catalogue(about(language)["plural"], about(language)["forms"])
    for file in files:
        found.update(_read(language, file))
    return found


def _read(language: str, file: str) -> dict[str, str]:
    read: dict[str, str] = json.loads((FOLDER / language).joinpath(file).read_text("utf-8"))
    return read


text.ENGLISH.update(sentences(DEFAULT))
