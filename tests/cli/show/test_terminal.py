"""The program as people and cron run it: real processes, a real terminal, real pipes and signals."""

import io
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from daemon import wire
from momo_cli.flags import Flags, lift
from momo_cli.show.terminal import open_terminal
from tests.cli import samples
from tests.cli.conftest import Shop
from tests.fakes.fake_api import FakeApi, ok

MOMO = [sys.executable, "-m", "momo_cli"]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def lines(api: FakeApi) -> FakeApi:
    api.on("GET", wire.Path.LINES, ok(samples.LINES))
    api.on("GET", wire.Path.TRANSACTIONS, ok([samples.PAID], pagination=samples.PAGE))
    return api


def run(shop: Shop, *argv: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*MOMO, *argv], env={**shop.environ, **environ}, cwd=ROOT, capture_output=True, check=False, timeout=30
    )


def on_terminal(shop: Shop, *argv: str, **environ: str) -> str:
    """Run with stdout on a pty, and return the text that the terminal received."""
    master, slave = pty.openpty()
    try:
        with subprocess.Popen(
            [*MOMO, *argv],
            env={**shop.environ, "TERM": "xterm", "COLUMNS": "80", **environ},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=subprocess.DEVNULL,
        ) as process:
            os.close(slave)
            slave = -1
            found = b""
            while select.select([master], [], [], 30)[0]:
                try:
                    piece = os.read(master, 65536)
                except OSError:  # EIO: the other end is closed
                    break
                if not piece:
                    break
                found += piece
            assert process.wait(30) == 0
    finally:
        os.close(master)
        if slave >= 0:
            os.close(slave)
    return found.decode().replace("\r\n", "\n")


@pytest.mark.usefixtures("lines")
def test_terminal_gets_a_table_in_colour(shop: Shop) -> None:
    shown = on_terminal(shop, "lines")
    assert "\x1b[" in shown
    assert "no number" in shown
    assert "\t" not in shown


@pytest.mark.usefixtures("lines")
def test_colour_can_be_switched_off(shop: Shop) -> None:
    shown = on_terminal(shop, "lines", NO_COLOR="1")
    golden = Path(__file__).parent / "golden" / "lines_80.txt"
    assert shown == golden.read_text(encoding="utf-8")


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("flags", "environ", "colour"),
    [
        (Flags(), {}, True),
        (Flags(), {"NO_COLOR": "1"}, False),
        (Flags(), {"NO_COLOR": ""}, True),
        (Flags(), {"TERM": "dumb"}, False),
        (Flags(no_color=True), {"FORCE_COLOR": "1"}, False),
        (lift(["lines"], {"MOMO_NO_COLOR": "1"})[0], {}, False),
        (Flags(), {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    flags: Flags, environ: dict[str, str], colour: bool, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout", Screen())
    assert open_terminal(flags, {**shop.environ, "TERM": "xterm", **environ}).color is colour


@pytest.mark.usefixtures("lines")
def test_pipe_gets_neither_colour_nor_symbols_nor_cuts(shop: Shop) -> None:
    done = run(shop, "lines", FORCE_COLOR="1", COLUMNS="20", MOMO_OUTPUT="plain")
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert done.stdout.count(b"\n") == 2
    assert samples.DEVICE.encode() in done.stdout


@pytest.mark.usefixtures("lines")
def test_what_people_read_keeps_its_form_in_a_pipe_without_colour(shop: Shop) -> None:
    done = run(shop, "lines", FORCE_COLOR="1")
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert "NUMBER" in done.stdout.decode()
    assert "024 412 4567" in done.stdout.decode()


@pytest.mark.usefixtures("lines")
def test_names_survive_the_poorest_locale(shop: Shop) -> None:
    done = run(shop, "tx", "list", LANG="C", LC_ALL="C", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Kofi Ɔsei".encode() in done.stdout


def test_head_ends_a_long_list_quietly(api: FakeApi, shop: Shop) -> None:
    api.on("GET", wire.Path.TRANSACTIONS, ok([samples.PAID] * 5000, pagination=samples.PAGE))
    with subprocess.Popen(
        [*MOMO, "tx", "list"], env=shop.environ, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"reference\tsvc_code")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 141


def test_cron_without_home_or_runtime_folder_is_told_plainly() -> None:
    done = subprocess.run([*MOMO, "lines", "--quiet"], env={}, cwd=ROOT, capture_output=True, check=False, timeout=30)
    assert done.returncode == 11
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 2


def test_ctrl_c_is_130_without_a_traceback(shop: Shop) -> None:
    import socket

    shop.socket.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(shop.socket))
        listener.listen()
        with subprocess.Popen(
            [*MOMO, "lines"], env=shop.environ, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            caller, _ = listener.accept()
            with caller:
                caller.recv(1)
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert err == b"\nStopped.\n"


def test_defect_is_written_down_without_locals(api: FakeApi, shop: Shop) -> None:
    api.on("GET", wire.Path.LINES, ok({"phones": [{"sims": "canary-value"}]}))
    done = run(shop, "lines", "--json")
    assert done.returncode == 1
    assert b'"code":"INTERNAL_ERROR"' in done.stdout
    assert done.stdout.count(b"\n") == 1
    assert b"Traceback" not in done.stderr
    (note,) = (shop.home / "state" / "crash").iterdir()
    assert str(note).encode() in done.stderr
    assert note.stat().st_mode & 0o777 == 0o600
    text = note.read_text()
    assert text.startswith("AttributeError: ")
    assert "momo_cli/commands/lines/lines.py:" in text
    assert "canary-value" not in text
    assert b"momo doctor --bundle" in done.stdout


@pytest.mark.parametrize(
    ("stdout", "stderr", "wrapped"),
    [(io.StringIO, Screen, True), (Screen, io.StringIO, False)],
    ids=["result in a pipe", "messages in a file"],
)
def test_messages_are_wrapped_to_the_terminal_that_shows_them(
    stdout: type[io.StringIO], stderr: type[io.StringIO], wrapped: bool, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = stderr()
    monkeypatch.setattr("sys.stdout", stdout())
    monkeypatch.setattr("sys.stderr", told)
    terminal = open_terminal(Flags(), {**shop.environ, "COLUMNS": "40"})
    terminal.complain("checkout_url is not public: set public_base_url in config.toml")
    assert told.getvalue().count("\n") == (2 if wrapped else 1)
    assert "config.toml" in told.getvalue()
