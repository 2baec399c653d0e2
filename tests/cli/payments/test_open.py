"""`momo open`: opens the address in an available browser, and always prints it on stdout."""

import os
import signal
from pathlib import Path

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok, refusal

URL = samples.CHECKOUT["checkout_url"]
CHECKOUT = f"/local/v1/checkout/{samples.REF}"


@pytest.fixture(autouse=True)
def _page(api: FakeApi) -> None:
    api.on("GET", CHECKOUT, ok(samples.CHECKOUT))
    api.on("GET", f"/v1/transactions/by-svc/{samples.CODE}", samples.one("PENDING"))


def program(folder: Path, name: str, then: str = "exit 0") -> Path:
    """Put a program on PATH that writes its arguments to a file; return the file's path."""
    told = folder / "told"
    path = folder / name
    path.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {told}\n{then}\n')
    path.chmod(0o755)
    return told


@pytest.mark.parametrize("words", [(samples.CODE,), ("checkout", samples.REF), ("tx", samples.REF)])
def test_the_desktops_browser_gets_the_page(words: tuple[str, ...], momo: Momo, tmp_path: Path) -> None:
    told = program(tmp_path, "xdg-open")
    ran = momo("open", *words, PATH=f"{tmp_path}:/bin", DISPLAY=":0")
    assert (ran.code, ran.out) == (0, f"{URL}\n")
    assert told.read_text() == f"{URL}|"
    assert "is in your browser" in ran.err


def test_a_browser_of_ones_own_is_taken_before_the_desktops(momo: Momo, tmp_path: Path) -> None:
    told = program(tmp_path, "my-browser")
    ran = momo("open", samples.REF, PATH=f"{tmp_path}:/bin", BROWSER="my-browser --new-window")
    assert (ran.code, told.read_text()) == (0, f"--new-window|{URL}|")


def test_without_a_screen_nothing_is_started_and_the_address_is_there(momo: Momo, tmp_path: Path) -> None:
    told = program(tmp_path, "xdg-open")
    ran = momo("open", samples.REF, PATH=f"{tmp_path}:/bin")
    assert (ran.code, ran.out) == (0, f"{URL}\n")
    assert "no browser here" in ran.err
    assert not told.exists()


@pytest.mark.parametrize("environ", [{"DISPLAY": ":0"}, {"BROWSER": "not-installed"}])
def test_an_opener_that_fails_or_is_not_there_leaves_the_address(
    environ: dict[str, str], momo: Momo, tmp_path: Path
) -> None:
    program(tmp_path, "xdg-open", "exit 3")
    ran = momo("open", samples.REF, PATH=f"{tmp_path}:/bin", **environ)
    assert (ran.code, ran.out) == (0, f"{URL}\n")
    assert "no browser here" in ran.err


def test_an_opener_that_stays_open_is_not_waited_for(
    momo: Momo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("momo_cli.commands.access.open._SETTLED_S", 0.05)
    program(tmp_path, "xdg-open", f"echo $$ > {tmp_path}/pid; exec /bin/sleep 9")
    ran = momo("open", samples.REF, PATH=f"{tmp_path}:/bin", DISPLAY=":0")
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert "is in your browser" in ran.err


def test_print_shows_the_address_and_opens_nothing(momo: Momo, tmp_path: Path) -> None:
    told = program(tmp_path, "xdg-open")
    ran = momo("open", samples.REF, "--print", PATH=f"{tmp_path}:/bin", DISPLAY=":0")
    assert (ran.code, ran.out, ran.err) == (0, f"{URL}\n", "")
    assert not told.exists()


def test_without_words_it_opens_the_dashboard_by_a_link(api: FakeApi, momo: Momo) -> None:
    link = {"url": "http://127.0.0.1:8420/dash/enter?link=ab", "expires_in_s": 60}
    api.on("POST", wire.Path.LOCAL_DASHBOARD_LINK, ok(link))
    ran = momo("open", "--user", "ama", "--print")
    assert (ran.code, ran.out) == (0, f"{link['url']}\n")
    assert "works once, for 60 seconds" in ran.err


@pytest.mark.parametrize("words", [("dashboard", samples.REF), ("checkout",)])
def test_words_that_name_no_transaction_are_refused(words: tuple[str, ...], momo: Momo) -> None:
    ran = momo("open", *words)
    assert (ran.code, "momo open checkout REF" in ran.err) == (2, True)


def test_a_page_that_nobody_serves_says_how_to_serve_it(api: FakeApi, momo: Momo) -> None:
    no = refusal(409, "NO_CHECKOUT_PAGE", "No page is served: HTTP is off.", reason="http_off")
    api.on("GET", CHECKOUT, no)
    ran = momo("open", samples.REF)
    assert (ran.code, ran.out) == (5, "")
    assert "HTTP is off" in ran.err
    assert "next:  momo config set http.bind" in ran.err


def test_a_page_that_has_ended_leads_to_the_order(api: FakeApi, momo: Momo) -> None:
    api.on("GET", CHECKOUT, refusal(409, "NO_CHECKOUT_PAGE", reason="ended"))
    ran = momo("open", samples.CODE)
    assert (ran.code, f"momo tx show {samples.CODE}" in ran.err) == (5, True)
