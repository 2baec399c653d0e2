"""The log file: bounded in size, readable, and without effect on the service if it cannot be written."""

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from daemon.runtime.log import FILES_MAX, Log, LogFile, LogFilter, read


def said(folder: Path, **wanted: Any) -> list[str]:
    return [row["event"] for row in read(str(folder), LogFilter(**wanted))[0]]


def test_line_is_written_to_the_file_and_to_stderr(tmp_path: Path) -> None:
    out = io.StringIO()
    Log(out, file=LogFile(str(tmp_path))).warning("modem.lost", port="/dev/a", phone="0241234567")
    assert "modem.lost" in out.getvalue()
    row = json.loads((tmp_path / "momo.log").read_text())
    assert (row["type"], row["component"], row["level"]) == ("item", "modem", "warning")
    assert row["phone"] == "024****567"
    assert (tmp_path / "momo.log").stat().st_mode & 0o777 == 0o600


def test_files_are_turned_over_and_the_oldest_is_dropped(tmp_path: Path) -> None:
    file = LogFile(str(tmp_path), bytes_max=400)
    say = Log(None, file=file).info
    for number in range(60):
        say(f"count.{number}")
    file.close()
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) == FILES_MAX
    assert max(sizes) <= 400
    events = said(tmp_path)
    assert events[-1] == "count.59"
    assert events == [f"count.{n}" for n in range(60 - len(events), 60)]


def test_cursor_goes_on_over_a_turn_of_the_files(tmp_path: Path) -> None:
    file = LogFile(str(tmp_path), bytes_max=400)
    say = Log(None, file=file).info
    say("count.0")
    _, cursor = read(str(tmp_path), LogFilter())
    for number in range(1, 6):
        say(f"count.{number}")
    rows, cursor = read(str(tmp_path), LogFilter(after=cursor))
    assert [row["event"] for row in rows] == [f"count.{n}" for n in range(1, 6)]
    assert read(str(tmp_path), LogFilter(after=cursor))[0] == []


def test_lines_are_chosen_by_level_component_time_and_number(tmp_path: Path) -> None:
    log = Log(None, file=LogFile(str(tmp_path)))
    log.info("modem.ready")
    log.warning("modem.lost")
    log.error("ingest.fault")
    assert said(tmp_path, level="warning") == ["modem.lost", "ingest.fault"]
    assert said(tmp_path, component="modem") == ["modem.ready", "modem.lost"]
    assert said(tmp_path, lines=1) == ["ingest.fault"]
    assert said(tmp_path, since="9999-01-01T00:00:00Z") == []


def test_torn_or_foreign_line_is_passed_over(tmp_path: Path) -> None:
    Log(None, file=LogFile(str(tmp_path))).info("modem.ready")
    with (tmp_path / "momo.log").open("a") as file:
        file.write('Traceback\n{"event": "half')
    assert said(tmp_path) == ["modem.ready"]
    assert read(str(tmp_path / "none"), LogFilter()) == ([], "0:0")


def test_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    Log(None, file=LogFile(str(tmp_path / "file" / "log"))).info("modem.ready")


def test_captured_stderr_gets_no_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    captured = tmp_path / "daemon.log"
    with captured.open("w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        Log.of_daemon(LogFile(str(tmp_path)), str(captured)).info("modem.ready")
        assert os.fstat(stderr.fileno()).st_size == 0
        Log.of_daemon(LogFile(str(tmp_path)), str(tmp_path / "other")).info("modem.ready")
    assert "modem.ready" in captured.read_text()
    assert said(tmp_path) == ["modem.ready", "modem.ready"]


def test_while_the_disk_is_tight_the_file_stands_still_after_the_line_that_says_so(
    tmp_path: Path,
) -> None:
    tight = False
    file = LogFile(str(tmp_path), is_paused=lambda: tight)
    say = Log(None, file=file).info
    say("one.before")
    tight = True
    for event in ("disk.room", "two.lost", "three.lost"):
        say(event)
    tight = False
    say("four.after")
    file.close()
    assert said(tmp_path) == ["one.before", "disk.room", "four.after"]
