"""The page that shows the API's description: it runs nothing, loads nothing, and its commands are right."""

import base64
import hashlib
import html
import json
import re
import shlex
from html.parser import HTMLParser

from daemon.wire import ErrorCode
from tests.api.openapi.test_document import got, operations
from tests.fakes.api import FakeApi


async def test_the_page_runs_nothing_and_loads_nothing(api: FakeApi) -> None:
    answer = await (await api.client()).get("/docs")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")

    class Reader(HTMLParser):
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

    page = Reader()
    page.feed(answer.text)
    assert not page.tags & {"script", "link", "img", "iframe", "object", "form"}
    assert len(set(page.ids)) == len(page.ids)
    assert page.targets - {"/v1/openapi.json"} <= {f"#{name}" for name in page.ids}
    for operation in operations(await got(api)):
        assert operation["operationId"] in page.ids
    assert set(ErrorCode) & set(page.ids)


async def test_the_policy_allows_the_page_its_own_style(api: FakeApi) -> None:
    answer = await (await api.client()).get("/docs")
    style = answer.text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in answer.headers["content-security-policy"]


async def test_the_page_shows_a_command_for_each_operation_that_the_shell_reads_as_meant(
    api: FakeApi,
) -> None:
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
            assert re.fullmatch(rf"\$MOMO_API{plain}(\?[^{{}}]+)?", target), target
            if body is not None:
                shown = operation["requestBody"]["content"]["application/json"]["example"]
                assert json.loads(body) == shown
            assert ("Authorization" in command.partition("</pre>")[0]) is bool(
                operation["security"]
            )
