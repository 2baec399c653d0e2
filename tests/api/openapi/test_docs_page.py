"""The page with the API's description: it has no script and loads no file, and its commands are correct."""

import base64
import hashlib
import html
import json
import re
import shlex
from html.parser import HTMLParser

import pytest

from daemon.error_table import ERRORS
from daemon.wire import Path
from tests.api.openapi.test_document import got, operations
from tests.fakes.api import FakeApi


class Reader(HTMLParser):
    """Collects tags, targets of links and ids, to prove that the page runs and loads nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.targets: set[str] = set()
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            assert name not in ("style", "src"), tag
            if name == "href":
                self.targets.add(value or "")
            if name == "id":
                self.ids.append(value or "")


async def read_page(api: FakeApi, path: str) -> Reader:
    answer = await (await api.client()).get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    page = Reader()
    page.feed(answer.text)
    assert not page.tags & {"script", "link", "img", "iframe", "object"}
    assert len(set(page.ids)) == len(page.ids)
    return page


async def test_the_pages_run_nothing_load_nothing_and_link_to_what_is_there(api: FakeApi) -> None:
    page, errors = await read_page(api, Path.DOCS), await read_page(api, Path.DOCS_ERRORS)
    there: set[str] = {Path.OPENAPI, Path.DOCS, Path.DOCS_ERRORS, Path.MANUAL}
    there |= {f"{Path.DOCS_ERRORS}#{name}" for name in errors.ids}
    assert page.targets <= there | {f"#{name}" for name in page.ids}
    assert errors.targets <= there | {f"#{name}" for name in errors.ids}
    for operation in operations(await got(api)):
        assert operation["operationId"] in page.ids


async def test_every_error_leads_to_its_place_on_the_page_of_errors(api: FakeApi) -> None:
    assert set((await read_page(api, Path.DOCS_ERRORS)).ids) == set(ERRORS)
    answer = await api.live.get("/v1/transactions/svc_trx_0")
    path, _, place = answer.json()["error"]["doc_url"].partition("#")
    assert (path, place) == (Path.DOCS_ERRORS, "TRANSACTION_NOT_FOUND")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1:8420", "http://127.0.0.1:8420"),
        ("localhost:9000", "http://localhost:9000"),
        ("[::1]:8420", "http://[::1]:8420"),
        # An invalid host is not repeated on the page.
        ('localhost:"><script>', "http://127.0.0.1:8420"),
    ],
)
async def test_the_examples_have_the_address_that_the_caller_used(api: FakeApi, host: str, address: str) -> None:
    client = await api.client()
    headers = {"Host": host}
    text = (await client.get(Path.DOCS, headers=headers)).text
    assert f'curl "{address}/v1/transactions/initialize"' in html.unescape(text)
    assert (await client.get(Path.OPENAPI, headers=headers)).json()["servers"][0]["url"] == address
    assert "address.invalid" not in text


async def test_the_socket_shows_the_address_of_tcp(api: FakeApi) -> None:
    made = (await api.local.get(Path.OPENAPI)).json()
    assert made["servers"][0]["url"] == api.shop.env.public_base_url


async def test_the_policy_allows_the_page_its_own_style(api: FakeApi) -> None:
    answer = await (await api.client()).get("/docs")
    style = answer.text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in answer.headers["content-security-policy"]


async def test_the_page_shows_a_command_for_each_operation_that_the_shell_reads_as_meant(api: FakeApi) -> None:
    made = await got(api)
    text = html.unescape((await (await api.client()).get("/docs")).text)
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            article = text.partition(f'<article id="{operation["operationId"]}">')[2]
            command = article.partition('<h4>Example</h4>\n<pre tabindex="0">')[2]
            words = shlex.split(command.partition("</pre>")[0])
            assert words.pop(0) == "curl"
            said = words.pop(0) if words[0] == "-X" and words.pop(0) else None
            target = words.pop(0)
            body = words[words.index("-d") + 1] if "-d" in words else None
            assert (said or ("GET" if body is None else "POST")).lower() == method
            plain = re.sub(r"{\w+}", "[^/{}]+", path)
            address = re.escape(made["servers"][0]["url"])
            assert re.fullmatch(rf"{address}{plain}(\?[^{{}}]+)?", target), target
            if body is not None:
                shown = operation["requestBody"]["content"]["application/json"]["example"]
                assert json.loads(body) == shown
            assert ("Authorization" in command.partition("</pre>")[0]) is bool(operation["security"])
