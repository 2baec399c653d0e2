"""Commands in cron: they lock themselves, report to a monitor, and work in an empty environment."""

import fcntl
import os
import shlex
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from daemon import wire
from momo_cli.frame.run import lock_name
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.crontab import Watcher, command_of, recipes, watching
from tests.fakes.fake_api import FakeApi, Says, ok

REPLAY = ("replay", "--endpoint", samples.ENDPOINT["id"], "--from", "-25h", "--yes")


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    with watching() as made:
        yield made


def held(shop: Shop, name: str) -> int:
    """Take a lock as another process would; closing the descriptor releases it."""
    folder = Path(shop.places.state) / "lock"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.write(descriptor, b"4312\n")
    return descriptor


def test_second_replay_at_the_same_time_is_10_and_names_the_first(api: FakeApi, shop: Shop, momo: Momo) -> None:
    api.on("POST", wire.Path.REPLAY, Says(samples.REPLAYED))
    first = held(shop, f"replay-{samples.ENDPOINT['id']}")
    ran = momo(*REPLAY, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (10, "LOCKED")
    assert ran.json["error"]["message"] == "another momo replay is already running (process 4312)"
    assert api.asked == []
    os.close(first)
    assert momo(*REPLAY, "--json").code == 0


def test_wait_lock_waits_for_the_first_to_end(
    api: FakeApi, shop: Shop, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.on("POST", wire.Path.REPLAY, Says(samples.REPLAYED))
    first = held(shop, f"replay-{samples.ENDPOINT['id']}")
    monkeypatch.setattr("momo_cli.system.sleep", lambda _s: os.close(first))
    assert momo(*REPLAY, "--wait-lock", "10m", "--json").code == 0


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("backup create --quiet", "backup-create"),
        ("dead-letters replay -", "dead-letters-replay"),
        ("replay --endpoint=ep/1 --from -1h", "replay-ep1"),
        ("replay --endpoint a --dry-run", ""),
        ("replay --endpoint a --gap", ""),
        ("reconcile REF 123", ""),
        ("reconcile --from-file a.csv", "reconcile"),
        ("lines", ""),
    ],
)
def test_bulk_commands_lock_and_looking_does_not(words: str, name: str) -> None:
    split = words.split()
    command = " ".join(split[:2]) if split[0] in ("backup", "dead-letters") else split[0]
    assert lock_name(command, split) == name


def test_watcher_hears_of_the_start_and_of_the_end(watcher: Watcher, api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LINES, ok(samples.LINES))
    assert momo("lines", "--ping", watcher.url, "--json").code == 0
    assert watcher.asked == ["/uuid/start", "/uuid"]


def test_watcher_hears_of_a_failure_with_its_exit_code(watcher: Watcher, momo: Momo) -> None:
    assert momo("lines", "--quiet", "--ping", watcher.url).code == 7
    assert watcher.asked == ["/uuid/start", "/uuid/fail?exit=7"]


def test_watcher_that_is_away_changes_nothing_but_one_line(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LINES, ok(samples.LINES))
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as gone:
        port = gone.server_port
    ran = momo("lines", "--json", "--ping", f"http://127.0.0.1:{port}/uuid")
    assert ran.code == 0
    assert "--ping: 127.0.0.1 did not accept the report" in ran.err
    assert momo("lines", "--ping", "file:///etc/passwd").code == 2


def test_the_document_has_six_recipes_at_least() -> None:
    assert len(recipes()) >= 6


@pytest.mark.parametrize("recipe", recipes())
def test_recipe_is_a_command_line_that_momo_takes(
    recipe: str, api: FakeApi, momo: Momo, watcher: Watcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process: each `momo` of the line is read; a wrong flag would be exit 2."""
    says_nothing = ["/bin/sh", "-c", "exit 1"]
    monkeypatch.setattr("momo_cli.service.daemon_program.verb_argv", lambda *_: says_nothing)
    line = command_of(recipe).replace("https://hc.example/UUID", watcher.url)
    line = line.replace("ENDPOINT", samples.ENDPOINT["id"]).replace("/media/stick", str(tmp_path))
    words = shlex.split(line, posix=True)
    starts = [number for number, word in enumerate(words) if word == "momo"]
    assert starts
    for start in starts:
        until = (i for i, word in enumerate(words) if i > start and word in ("&&", "||", "|"))
        ran = momo(*words[start + 1 : next(until, len(words))])
        assert ran.code != 2, ran.err
