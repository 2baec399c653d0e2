"""The short receivers of docs/developers/webhooks.md, cut out of the page and run: they accept genuine webhooks only."""

import contextlib
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.core.webhooks.signing import sign
from tests.fakes.real_shop import utc_now, wait_until

PAGE = (Path(__file__).parents[2] / "docs" / "developers" / "webhooks.md").read_text(encoding="utf-8")
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
OLD = "whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
BODY = '{"webhook_id":"ocl_x","data":{"payer":{"name":"Kofi Ɔsei"}}}'.encode()
LANGUAGES = {
    "python": ("receiver.py", [sys.executable]),
    "php": ("receiver.php", ["php", "-S", "127.0.0.1:{port}"]),
    "js": ("receiver.cjs", ["node"]),
    "java": ("Receiver.java", ["java"]),
    "go": ("receiver.go", ["go", "run"]),
}


def blocks() -> dict[str, str]:
    """Return the code of the section, by language."""
    section = PAGE.partition("## A receiver in ten lines")[2].partition("\n## ")[0]
    return dict(re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL))


def test_every_language_has_its_ten_lines() -> None:
    assert set(blocks()) == set(LANGUAGES)


@pytest.fixture(scope="module", params=list(LANGUAGES))
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    name, argv = LANGUAGES[request.param]
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    port = own_port()
    file = tmp_path_factory.mktemp("receiver") / name
    file.write_text(blocks()[request.param], encoding="utf-8")
    process = subprocess.Popen(
        [*(word.format(port=port) for word in argv), str(file)],
        env={**os.environ, "MOMO_WEBHOOK_SECRET": SECRET, "PORT": str(port)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_until(lambda: process.poll() is None and listens(port), 30, name)
        yield port
    finally:
        process.kill()
        process.wait(10)


def own_port() -> int:
    """Return a free port below the system's ephemeral range, so that no other program is given it meanwhile."""
    for port in range(20_000 + os.getpid() % 1_000 * 10, 32_000):
        with socket.socket() as asked, contextlib.suppress(OSError):
            asked.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def post(port: int, headers: dict[str, str], body: bytes = BODY) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", "/", body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


def signed(secret: str = SECRET, ago_s: int = 0) -> dict[str, str]:
    now = int(utc_now().timestamp())
    return sign([secret], webhook_id="ocl_x", timestamp=now - ago_s, body=BODY)


def test_what_is_genuine_is_taken_and_nothing_else(port: int) -> None:
    assert post(port, signed()) == 204
    now = int(utc_now().timestamp())
    assert post(port, {"X-Svc-Signature": f"t={now},v1=\u00e9"}) == 400
    assert post(port, {"X-Svc-Signature": "t=\u00b2,v1=" + "0" * 64}) == 400
    assert post(port, {}) == 400
    assert post(port, signed(OLD)) == 400
    assert post(port, signed(ago_s=310)) == 400
    assert post(port, signed(ago_s=-310)) == 400
    assert post(port, signed(), BODY.replace(b"Kofi", b"Ama")) == 400
    assert post(port, {"X-Svc-Signature": "t=now,v1=" + "0" * 64}) == 400
    assert post(port, {"X-Svc-Signature": "t=" + "9" * 30 + ",v1=" + "0" * 64}) == 400
    assert post(port, signed()) == 204
