"""GET /docs/manual: the documents of docs/ as pages with a search, without scripts and without the internet.

`daemon/manual` is a link to `docs`; a package has the files themselves. Pages are made at the first request and kept as bytes.
"""

import asyncio
import mimetypes
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Final

from msgspec import Struct

from daemon.api.http.service import Call, Reply
from daemon.api.openapi.pages import html_reply, rendered
from daemon.core.errors import Refusal, needed
from daemon.core.shape import sample
from daemon.runtime.files import package_folder
from daemon.wire import VERSION, ErrorCode, Path

FOLDERS: Final = {
    "shop": "For the shop", "developers": "For developers", "operators": "For operators", "commands": "Commands",
    "contributing": "How it is built", "decisions": "Decisions",
}  # fmt: skip
"""The folders of documents, each with its heading."""
HITS_MAX: Final = 40
WORDS_MAX: Final = 8
SEARCH_CHARACTERS_MAX: Final = 100
_SNIPPET: Final = 90
_PICTURE: Final = re.compile(r"(?:[a-z0-9-]+/)?[a-z0-9-]+\.(?:svg|png)")
_POLICY: Final = "img-src 'self'; form-action 'self'"


class Section(Struct, frozen=True):
    """The text under one heading of a document, for the search."""

    address: str
    document: str
    heading: str
    text: str


class Hit(Struct, frozen=True):
    """One section with all words of a search."""

    address: str
    document: str
    heading: str
    before: str
    word: str
    after: str


class ManualQuery(Struct, frozen=True):
    """What is searched."""

    q: (
        Annotated[str, sample("reconcile", "words, all of which a section has", max_length=SEARCH_CHARACTERS_MAX)]
        | None
    ) = None


async def index(call: Call) -> Reply:
    """Return the list of documents, or with `q` the sections that have its words."""
    asked = call.query.read(ManualQuery)
    return await asyncio.to_thread(_index, " ".join((asked.q or "").split()))


async def page(call: Call) -> Reply:
    """Return one document as a page."""
    return await asyncio.to_thread(_page, call.path("folder"), call.path("name"))


async def picture(call: Call) -> Reply:
    """Return a picture of a document."""
    name = call.path("name")
    source = package_folder("manual") / "img" / name
    if not _PICTURE.fullmatch(name) or not source.is_file():
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
    kind = mimetypes.types_map[f".{name.rpartition('.')[2]}"]
    # An SVG is a document of its own when it is opened by itself: it runs nothing either.
    headers = (
        (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
        (b"x-content-type-options", b"nosniff"),
    )
    return Reply(200, await asyncio.to_thread(source.read_bytes), headers, kind.encode())


@cache
def _index_body() -> str:
    return _body((package_folder("manual") / "README.md").read_text(encoding="utf-8"), "")


def _index(wanted: str) -> Reply:
    hits = search(wanted)
    return _reply("Documentation", wanted=wanted, hits=hits[:HITS_MAX], found=len(hits), body=_index_body())


@cache
def _page(folder: str, name: str) -> Reply:
    text = needed(_documents().get(f"{folder}/{name}"), ErrorCode.ROUTE_NOT_FOUND)
    return _reply(_title(text), wanted="", hits=[], found=0, body=_body(text, folder))


def _reply(title: str, **values: Any) -> Reply:
    pages = [
        (
            head,
            [(f"/docs/{name}", _title(text)) for name, text in _documents().items() if name.startswith(f"{folder}/")],
        )
        for folder, head in FOLDERS.items()
    ]
    text, style = rendered("manual.html", title=title, pages=pages, version=VERSION, **values)
    return html_reply(text, style, _POLICY)


def search(wanted: str) -> list[Hit]:
    """Return the sections that have all words, those with a word in their heading first."""
    words = [word.casefold() for word in wanted.split()[:WORDS_MAX]]
    found: list[tuple[int, Hit]] = []
    for section in _sections():
        heading, text = section.heading.casefold(), section.text.casefold()
        if words and all(word in heading or word in text for word in words):
            place = max(text.find(words[0]), 0)
            end = place + len(words[0])
            hit = Hit(
                section.address, section.document, section.heading, section.text[max(place - _SNIPPET, 0) : place],
                section.text[place:end] if words[0] in text else "", section.text[end : end + _SNIPPET],
            )  # fmt: skip
            found.append((-sum(word in heading for word in words), hit))
    found.sort(key=lambda each: each[0])
    return [hit for _, hit in found]


@cache
def _documents() -> dict[str, str]:
    """Return the documents, `folder/name` -> Markdown, in the order of the folders."""
    return {
        f"{folder}/{path.name.removesuffix('.md')}": path.read_text(encoding="utf-8")
        for folder in FOLDERS
        for path in sorted((package_folder("manual") / folder).iterdir(), key=lambda each: each.name)
        if path.name.endswith(".md")
    }


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ").replace("`", "")


@cache
def _sections() -> tuple[Section, ...]:
    return tuple(
        Section(f"/docs/{name}#{anchor}", _title(text), heading, body)
        for name, text in _documents().items()
        for heading, anchor, body in _parts(text)
    )


def _parts(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield heading, anchor and plain text of each section of a document."""
    heading, anchor, body = "", "", list[str]()
    for token in _parsed(text):
        if token.type == "heading_open":
            if body:
                yield heading, anchor, " ".join(body)
            heading, anchor, body = "", str(token.attrs["id"]), []
        elif token.type == "inline":
            plain = " ".join("".join(child.content or " " for child in token.children or ()).split())
            heading, body = (heading, [*body, plain]) if heading else (plain, [plain])
        elif token.type == "fence":
            body.append(" ".join(token.content.split()))
    yield heading, anchor, " ".join(body)


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt  # noqa: PLC0415 -- most daemons never show a document

    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _parsed(text: str) -> list[Any]:
    """Return the tokens of a document; each heading has the anchor that forges give it."""
    tokens: list[Any] = _parser().parse(re.sub(r"<!-- .*? -->\n", "", text))
    taken: dict[str, int] = {}
    for opened, inline in pairwise(tokens):
        if opened.type == "heading_open":
            plain = "".join(child.content for child in inline.children or ())
            name = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
            number = taken[name] = taken.get(name, -1) + 1
            opened.attrs["id"] = f"{name}-{number}" if number else name
    return tokens


def _linked(address: str, folder: str) -> str | None:
    """Return the address of a document's link on this server; None if nothing is there, as for files of the repository."""
    if re.match(r"https?:|#", address):
        return address
    path, mark, anchor = address.partition("#")
    parts = [folder] if folder else []
    for part in path.split("/"):
        if part == ".." and not parts:
            return None
        parts = parts[:-1] if part == ".." else [*parts, *([part] if part else [])]
    target = "/".join(parts)
    if target == "README.md":
        return f"{Path.MANUAL}{mark}{anchor}"
    if target.startswith("img/"):
        return f"/docs/{target}"
    name = target.removesuffix(".md")
    return f"/docs/{name}{mark}{anchor}" if name in _documents() else None


def _body(text: str, folder: str) -> str:
    """Return a document in HTML. Everything else that looks like HTML in it is shown as text."""
    tokens = _parsed(text)
    for token in tokens:
        plain = False
        for child in token.children or ():
            if child.type == "link_open":
                target = _linked(str(child.attrs["href"]), folder)
                plain = target is None
                child.attrs = {} if target is None else {"href": target}
                child.tag = "span" if plain else "a"
            elif child.type == "link_close":
                child.tag = "span" if plain else "a"
            elif child.type == "image":
                child.attrs["src"] = _linked(str(child.attrs["src"]), folder) or ""
    return str(_parser().renderer.render(tokens, _parser().options, {}))
