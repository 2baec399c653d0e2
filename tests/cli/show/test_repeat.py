"""`momo status --watch` and `momo lines --watch`: the same call repeated until Ctrl-C."""

import io
import json
import os
import pty
import termios
from dataclasses import replace

import pytest

from daemon import wire
from momo_cli import system
from momo_cli.commands.upkeep import status
from momo_cli.flags import Flags, Output
from momo_cli.show.answer import Answer
from momo_cli.show.render import repeat_answer
from momo_cli.show.terminal import Terminal, open_terminal
from momo_cli.socket.client import Client
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, ok, refusal


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace sleep; the third pause is interrupted by Ctrl-C."""
    taken: list[float] = []

    def nap(seconds: float) -> None:
        taken.append(seconds)
        if len(taken) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("momo_cli.system.sleep", nap)
    return taken


def test_a_program_gets_one_document_a_line_and_outlives_the_daemon(
    api: FakeApi, momo: Momo, naps: list[float]
) -> None:
    away = refusal(503, "UNAVAILABLE")
    api.on("GET", wire.Path.LOCAL_STATUS, ok(samples.STATUS), away, ok(samples.STATUS))
    ran = momo("status", "--watch", "5s", "--json")
    assert ran.code == 130
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert [(row["type"], row["pid"]) for row in rows] == [("item", 4121)] * 2
    assert naps == [5.0] * 3
    assert "the daemon is unreachable; trying again" in ran.err


def test_lines_are_written_again_as_rows(api: FakeApi, momo: Momo, naps: list[float]) -> None:
    api.on("GET", wire.Path.LINES, ok(samples.LINES))
    once = momo("lines", "--plain").out
    assert momo("lines", "--watch", "--plain").out == once * 3
    assert naps == [2.0] * 3


@pytest.mark.parametrize("every", ["0s", "x"])
def test_a_pause_that_is_none_is_refused(every: str, api: FakeApi, momo: Momo) -> None:
    assert momo("status", f"--watch={every}").code == 2


def test_the_first_look_fails_as_always(momo: Momo) -> None:
    assert momo("status", "--watch", "--json").code == 7


def test_on_a_terminal_each_look_fills_the_screen_and_the_screen_comes_back(
    shop: Shop, api: FakeApi, naps: list[float]
) -> None:
    api.on("GET", wire.Path.LOCAL_STATUS, ok(samples.STATUS), refusal(503, "UNAVAILABLE"))
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (12, 60))
    with os.fdopen(slave, "w", encoding="utf-8") as screen:
        flags = Flags(output=Output.TABLE)
        terminal: Terminal = replace(
            open_terminal(flags, shop.environ), stdout=screen, on_screen=True, stderr=io.StringIO()
        )
        client = Client(terminal.located, pause=system.sleep)

        def look(shown: Terminal) -> Answer:
            return status.status(client, shown, watch=None)

        with pytest.raises(KeyboardInterrupt):
            repeat_answer(look, client, terminal, status.VIEW, 2.0)
        said = ""
        while not said.endswith("\x1b[?1049l"):
            said += os.read(master, 65536).decode()
    os.close(master)
    assert said.startswith("\x1b[?1049h\x1b[?25l\x1b[H09:18:00   Ctrl-C quits")
    assert said.endswith("\x1b[J\x1b[?25h\x1b[?1049l")
    assert "The daemon is unreachable; trying again." in said
    assert max(part.count("\n") for part in said.split("\x1b[H")) < 12


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ready": True, "unplaced_payments": 0, "phones": []}, ""),
        ({"ready": True, "unplaced_payments": 1, "phones": []}, "1 payment matches none of your numbers"),
        (
            {"ready": False, "unplaced_payments": 3},
            "1 SIM has no number: zte-front:1; 3 payments match none of your numbers",
        ),
    ],
)
def test_lines_that_cron_looks_at_say_why_they_are_not_ready(
    change: dict[str, object], said: str, api: FakeApi, momo: Momo
) -> None:
    api.on("GET", wire.Path.LINES, ok({**samples.LINES, **change}))
    ran = momo("lines", "--fail-if-unready", "--quiet")
    assert (ran.code, ran.out) == (6 if said else 0, "")
    assert ran.err.splitlines()[:1] == ([f"error: {said}"] if said else [])
