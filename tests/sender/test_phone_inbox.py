"""The app on a phone is asked to post its messages again, or it is said why it does not."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.sender.http_client import InboxError, post_again
from tests.fakes.forwarder_app import PASSWORD, USER, ForwarderApp
from tests.fakes.receiver import Answer, Receiver

DAY_US = 24 * 3_600 * 1_000_000


@pytest.fixture
def app() -> Iterator[ForwarderApp]:
    with ForwarderApp("", "", seed=1) as running:
        yield running


async def test_the_app_is_asked_for_the_period_with_its_user_and_password(app: ForwarderApp) -> None:
    await post_again(app.inbox_url, USER, PASSWORD, 0, DAY_US)
    assert app.orders == [("1970-01-01T00:00:00.000Z", "1970-01-02T00:00:00.000Z")]


async def test_a_wrong_or_missing_password_is_said(app: ForwarderApp) -> None:
    for password, why in (("wrong", "refuses the user or the password"), (None, "is not stored")):
        with pytest.raises(InboxError, match=why):
            await post_again(app.inbox_url, USER, password, 0, DAY_US)
    assert app.orders == []


async def test_a_phone_that_is_not_there_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(InboxError, match=f"does not answer at {url}: 127.0.0.1 refused"):
        await post_again(url, USER, PASSWORD, 0, DAY_US)


async def test_the_certificate_of_an_address_with_https_is_checked(certificates: Path) -> None:
    with Receiver(certificates) as stranger:
        with pytest.raises(InboxError, match="TLS with localhost failed: "):
            await post_again(stranger.url(""), USER, PASSWORD, 0, DAY_US)
        assert stranger.requests == []


async def test_an_older_app_is_asked_under_its_own_path_and_another_answer_is_said(
    certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))
    with Receiver(certificates) as app:
        app.script(Answer(404), Answer(202), Answer(404), Answer(500))
        await post_again(app.url("/phone/"), USER, PASSWORD, 0, DAY_US)
        with pytest.raises(InboxError, match="answers 500"):
            await post_again(app.url("/phone/"), USER, PASSWORD, 0, DAY_US)
        assert [request.path for request in app.requests[:2]] == [
            "/phone/inbox/refresh",
            "/phone/messages/inbox/export",
        ]


async def test_an_answer_that_comes_for_ever_is_given_up(certificates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))
    head = b"HTTP/1.1 202 Accepted\r\nContent-Length: 8000000\r\n\r\n"
    with Receiver(certificates) as app:
        app.script(Answer(raw=head, drip=b" ", drip_s=0.05))
        with pytest.raises(InboxError, match=r"no whole answer within 0\.5 s$"):
            await asyncio.wait_for(post_again(app.url("/phone/"), USER, PASSWORD, 0, DAY_US, timeout_s=0.5), 5)
