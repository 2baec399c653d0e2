"""E-mail through a real SMTP server, and the desktop through a program on PATH."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme

from daemon.runtime.config import Smtp
from daemon.sender.owner_notices import Desktop, Email, NotSent
from tests.fakes.clock import FakeClock
from tests.fakes.mail_server import Mailbox, serving

PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def server(authority: trustme.CA) -> AsyncIterator[tuple[Mailbox, int]]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    box = Mailbox(PASSWORD)
    async with serving(box, context) as port:
        yield box, port


def email(authority: trustme.CA, port: int, password: str | None = PASSWORD) -> Email:
    async def given() -> str | None:
        return password

    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    settings = Smtp("localhost", port, from_="shop@ama.example", to="ama@ama.example")
    return Email(settings, FakeClock(), given, trust)


async def test_a_notice_arrives_over_tls_with_the_account_logged_in(
    server: tuple[Mailbox, int], authority: trustme.CA
) -> None:
    box, port = server
    await email(authority, port).send("n1", "momo: Ɛyɛ asɛm", "The SIM is silent.\n\nmomo lines")
    (got,) = box.got
    assert (got["To"], got["From"]) == ("ama@ama.example", "shop@ama.example")
    assert got["Subject"] == "momo: Ɛyɛ asɛm"
    assert got["Message-ID"] == "<n1@ama.example>"
    assert got["Auto-Submitted"] == "auto-generated"
    assert got.get_content().splitlines() == ["The SIM is silent.", "", "momo lines"]
    assert box.logins == [("shop@ama.example", PASSWORD)]


async def test_a_subject_with_a_line_end_cannot_add_headers(server: tuple[Mailbox, int], authority: trustme.CA) -> None:
    with pytest.raises(NotSent):
        await email(authority, server[1]).send("n1", "x\r\nBcc: all@evil.example", "y")
    assert server[0].got == []


async def test_what_the_server_says_no_to_is_told_without_the_password(
    server: tuple[Mailbox, int], authority: trustme.CA
) -> None:
    box, port = server
    with pytest.raises(NotSent, match="535") as wrong:
        await email(authority, port, "wrong " + PASSWORD).send("n1", "s", "b")
    assert PASSWORD not in str(wrong.value)
    box.refuse = "552 mailbox full"
    with pytest.raises(NotSent, match="mailbox full"):
        await email(authority, port).send("n1", "s", "b")


async def test_a_server_whose_certificate_is_not_trusted_gets_no_password(server: tuple[Mailbox, int]) -> None:
    box, port = server
    with pytest.raises(NotSent):
        await email(trustme.CA(), port).send("n1", "s", "b")
    assert (box.got, box.logins) == ([], [])


async def test_a_server_that_is_not_there_is_named(authority: trustme.CA) -> None:
    with pytest.raises(NotSent, match="the mail server localhost:1 did not take it"):
        await email(authority, 1).send("n1", "s", "b")


def program(folder: Path, script: str) -> str:
    path = folder / "notify-send"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


async def test_the_desktop_gets_subject_and_body_as_they_are(tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    desktop = Desktop(program(tmp_path, f'printf "%s|" "$@" > {shown}'))
    await desktop.send("n1", "--help", "a\nb; rm -rf /")
    assert shown.read_text() == "--app-name=momo|--|--help|a\nb; rm -rf /|"


@pytest.mark.parametrize(("script", "said"), [("echo no display >&2; exit 1", "no display"), ("exit 3", "3")])
async def test_a_desktop_that_shows_nothing_says_why(tmp_path: Path, script: str, said: str) -> None:
    with pytest.raises(NotSent, match=said):
        await Desktop(program(tmp_path, script)).send("n1", "s", "b")


async def test_a_desktop_without_the_program_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotSent, match="cannot be started"):
        await Desktop(str(tmp_path / "nowhere")).send("n1", "s", "b")


async def test_a_desktop_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.sender.owner_notices.DESKTOP_TIMEOUT_S", 0.1)
    with pytest.raises(NotSent, match="did not end"):
        await Desktop(program(tmp_path, "exec sleep 60")).send("n1", "s", "b")
