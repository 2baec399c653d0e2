"""The documents as pages of the daemon, with their search."""

import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest

from daemon.wire import Path
from tests.fakes.api import FakeApi
from tests.house.markdown import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(f"/docs/{path.parent.name}/{path.stem}" for path in DOCS.glob("*/*.md") if path.parent.name != "schema")


TAG = re.compile(r'<(\w+)((?: [^\s=<>"]+(?:="[^"<>]*")?)*) ?/?>')
ATTRIBUTE = re.compile(r' ([^\s=<>"]+)(?:="([^"]*)")?')


class Page:
    """Links, anchors and tags of a page, which is as strict as ours: Python's own parser takes five times as long."""

    def __init__(self, text: str) -> None:
        self.links: set[str] = set()
        self.ids: set[str] = set()
        found = TAG.findall(text)
        assert len(found) == len(re.findall(r"<[^/!]", text)), "a tag of another form"
        self.tags = {tag for tag, _ in found}
        for _, attributes in found:
            for name, value in ATTRIBUTE.findall(attributes):
                assert not name.startswith("on")
                assert name != "style"
                if name in {"href", "src"}:
                    self.links.add(unescape(value))
                if name == "id":
                    assert value not in self.ids, f"{value} twice"
                    self.ids.add(unescape(value))


async def got(api: FakeApi, address: str) -> str:
    answer = await (await api.client()).get(address)
    assert answer.status_code == 200, address
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    return answer.text


async def test_every_document_is_a_page_and_every_link_on_it_leads_somewhere(api: FakeApi) -> None:
    client = await api.client()
    pages = {address: Page(await got(api, address)) for address in [Path.MANUAL, *PAGES]}
    known = {address: page.ids for address, page in pages.items()}
    for path in (Path.DOCS, Path.DOCS_ERRORS):
        known[path] = Page(await got(api, path)).ids
    dead, pictures, absolute = [], set(), set[str]()
    for address, page in pages.items():
        assert not page.tags & {"script", "iframe", "object", "link"}
        links, absolute = page.links - absolute, absolute | {link for link in page.links if link.startswith("/")}
        for link in links:
            target = urlsplit(urljoin(address, link))
            if target.netloc:
                continue
            if target.path.startswith("/docs/img/"):
                pictures.add(target.path)
            elif target.path not in known or (target.fragment and target.fragment not in known[target.path]):
                dead.append(f"{address}: {link}")
    assert dead == []
    assert len(pictures) > 20
    for picture in pictures:
        answer = await client.get(picture)
        assert answer.status_code == 200, picture
        assert answer.headers["content-type"].startswith("image/"), picture


async def test_the_api_leads_to_the_documents(api: FakeApi) -> None:
    page = Page(await got(api, Path.DOCS))
    assert Path.MANUAL in page.links
    assert "form" in page.tags


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("paid too little", "/docs/shop/mishaps#a-payment-goes-wrong"),
        ("Raspberry UART", "/docs/shop/modems#"),
        ("modem.puk", "/docs/shop/modems#checks"),
        ("  signature   tolerance ", "/docs/developers/webhooks#verifying"),
        ("sImUlAtEd PhOnEs", "/docs/shop/modems#simulated-phones"),
    ],
)
async def test_a_search_finds_the_section_that_has_all_its_words(api: FakeApi, words: str, first: str) -> None:
    text = await got(api, f"{Path.MANUAL}?q={words}")
    hits = re.findall(r'<h3><a href="([^"]*)">', text)
    assert any(hit.startswith(first) for hit in hits[:5]), hits


async def test_a_search_without_a_hit_says_so_and_repeats_the_words_as_text(api: FakeApi) -> None:
    text = await got(api, f"{Path.MANUAL}?q=<script>alert(1)</script>")
    assert "Nothing about" in text
    assert "<script" not in text


async def test_a_search_that_is_too_long_is_refused(api: FakeApi) -> None:
    answer = await (await api.client()).get(f"{Path.MANUAL}?q={'a' * 101}")
    assert answer.status_code == 422


@pytest.mark.parametrize(
    "address",
    [
        "/docs/shop/none",
        "/docs/shop/../shop/modems",
        "/docs/shop/%2e%2e%2fREADME",
        "/docs/schema/README",
        "/docs/img/none.svg",
        "/docs/img/../README.md",
        "/docs/img/%2e%2e/README.md",
        "/docs/img/dash/made-with.json",
    ],
)
async def test_what_is_no_document_is_not_found(api: FakeApi, address: str) -> None:
    answer = await (await api.client()).get(address)
    assert answer.status_code == 404 or answer.url.path in PAGES
