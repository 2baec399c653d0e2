"""`momo daemon logs`: over the socket, from the files without a daemon, and following new lines."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from momo_cli import system
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, ok

ROW: dict[str, Any] = {
    "type": "item", "component": "modem", "port": "/dev/a", "event": "modem.lost",
    "level": "warning", "ts": "2026-11-20T09:14:00.000000Z",
}  # fmt: skip


def test_lines_of_the_daemon_are_shown_and_chosen(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_LOGS, ok([ROW], meta={"cursor": "7:9"}))
    ran = momo("daemon", "logs", "--since", "1h", "--level", "warning", "--component", "modem", "-o", "table")
    assert ran.out.split() == ["20", "Nov", "09:14:00", "warning", "modem.lost", "port=/dev/a"]
    assert api.asked[0].query == {
        "level": "warning", "lines": "200", "component": "modem",
        "since": "2026-11-20T08:18:00.000Z",
    }  # fmt: skip


def test_a_long_line_goes_on_below_itself_between_its_facts(api: FakeApi, momo: Momo) -> None:
    row = {**ROW, "device_id": samples.DEVICE, "why": "no answer to AT", "tries": 3}
    api.on("GET", wire.Path.LOCAL_LOGS, ok([row], meta={"cursor": "7:9"}))
    assert momo("daemon", "logs", "-o", "table", COLUMNS="70").out.splitlines() == [
        "20 Nov 09:14:00  warning  modem.lost            port=/dev/a",
        f"  device_id={samples.DEVICE}  why=no answer to AT",
        "  tries=3",
    ]
    (line,) = momo("daemon", "logs", "--plain", COLUMNS="70").out.splitlines()
    assert line.endswith("tries=3")


def test_json_is_one_document_a_line(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_LOGS, ok([ROW, ROW], meta={"cursor": "7:9"}))
    rows = [json.loads(line) for line in momo("daemon", "logs", "--json").out.splitlines()]
    assert list(rows[0])[:5] == ["type", "ts", "level", "component", "event"]
    assert [row["event"] for row in rows] == ["modem.lost", "modem.lost"]
    assert rows[0]["type"] == "item"


def test_following_goes_on_after_the_cursor(api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {**ROW, "event": "modem.ready"}
    api.on("GET", wire.Path.LOCAL_LOGS, ok([ROW], meta={"cursor": "7:9"}), ok([more], meta={"cursor": "7:20"}))
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("momo_cli.system.sleep", nap)
    ran = momo("daemon", "logs", "-f", "--json")
    assert ran.code == 130
    assert [json.loads(line)["event"] for line in ran.out.splitlines()] == ["modem.lost", "modem.ready"]
    assert api.asked[1].query["after"] == "7:9"


def test_files_are_read_when_the_daemon_is_down(momo: Momo, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    from daemon import __main__ as __main___module

    monkeypatch.setenv("MOMO_HOME", str(shop.home))
    folder = Path(shop.places.log)
    folder.mkdir()
    (folder / "momo.log").write_text(json.dumps(ROW) + "\n")

    def run(words: list[str], **_: Any) -> Any:
        import contextlib
        import io

        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = __main___module.main(words[len(system.python_argv("daemon")) :])
        return subprocess.CompletedProcess(words, code, out.getvalue().encode(), b"")

    monkeypatch.setattr("momo_cli.service.daemon_program.subprocess.run", run)
    assert momo("daemon", "logs", "--plain").out.split("\t")[3:4] == ["modem.lost"]
    assert momo("daemon", "logs", "--level", "error").out == ""
    assert momo("daemon", "logs", "--level", "loud").code == 2
