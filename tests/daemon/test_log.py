import errno
import importlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.runtime.log import FILES_MAX, Log, LogFile, LogFilter, _as_if_missing, read
from tests.fakes.each import each

KEY = "svc_live_sk_0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef"
CANARIES = [
    "+233241234567",
    "0241234567",
    "233241234567",
    "024 123 4567",
    "+233 24 123 4567",
    "024-123-4567",
    KEY,
    KEY.replace("live_sk", "test_pk"),
    "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "Bearer c2VjcmV0LXRva2Vu",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbWEifQ.c2lnbmF0dXJl",
    "0791233244" * 8,
]


def line(as_json: bool, **facts: Any) -> str:
    out = io.StringIO()
    Log(out, as_json=as_json).warning("modem.lost", **facts)
    return out.getvalue()


@each("as_json", [False, True])
@each("canary", CANARIES)
def test_canary_never_reaches_the_log(canary: str, as_json: bool) -> None:
    places: list[dict[str, Any]] = [
        {"why": f"it said: {canary}, and went"},
        {"phone": canary},
        {"facts": {"deep": [canary, (canary,)]}},
        {"error": ValueError(canary)},
        {"body": canary, "text": canary, "secret": canary, "pdu": canary},
        {"raw_bytes": canary.encode()},
        {"why": f"'{canary}'"},
    ]
    for facts in places:
        assert canary not in line(as_json, **facts)


def test_a_value_cannot_write_a_line_of_its_own() -> None:
    assert line(False, why="a\nb").count("\n") == 1


def test_json_line_has_what_the_log_reader_filters_by() -> None:
    got = json.loads(line(True, port="/dev/ttyUSB0", count=2))
    assert got.pop("ts").endswith("Z")
    assert got == {
        "type": "item",
        "component": "modem",
        "event": "modem.lost",
        "port": "/dev/ttyUSB0",
        "count": 2,
        "level": "warning",
    }


def test_line_for_people_has_time_level_event_and_facts() -> None:
    got = line(False, port="/dev/ttyUSB0", count=2).split()
    assert got[1:] == ["[warning", "]", "modem.lost", "count=2", "port=/dev/ttyUSB0"]


def test_each_level_writes_one_line() -> None:
    out = io.StringIO()
    log = Log(out, as_json=True)
    log.info("a.b")
    log.warning("a.b")
    log.error("a.b")
    levels = [json.loads(text)["level"] for text in out.getvalue().splitlines()]
    assert levels == ["info", "warning", "error"]


def test_log_that_says_nothing_costs_nothing() -> None:
    probe = "import sys; from daemon.runtime.log import Log; Log(sys.stderr); print('structlog' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


@given(st.text(), st.recursive(st.text() | st.binary() | st.integers(), st.lists, max_leaves=5))
def test_anything_makes_one_valid_line(key: str, value: Any) -> None:
    out = io.StringIO()
    Log(out, as_json=True).info("a.b", facts={key: value})
    assert out.getvalue().count("\n") == 1
    json.loads(out.getvalue())


def test_a_package_that_an_import_is_not_to_find_is_found_again_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with _as_if_missing("colorsys"), pytest.raises(ImportError):
        importlib.import_module("colorsys")
    assert importlib.import_module("colorsys").rgb_to_hsv(1, 1, 1) == (0, 0, 1)
    with _as_if_missing("colorsys"):
        assert importlib.import_module("colorsys") is not None
    assert "colorsys" in sys.modules


def test_a_stream_that_cannot_be_written_stops_nothing_and_not_the_other_one() -> None:
    class Full(io.StringIO):
        def write(self, _text: str, /) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    file = io.StringIO()
    Log(Full(), file=file).error("api.unavailable", why="the disk is full")
    assert json.loads(file.getvalue())["event"] == "api.unavailable"


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


def test_the_first_line_of_the_daemon_is_written_when_no_more_file_can_be_opened(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from daemon.runtime.log import Log\n"
        "from tests.fakes.descriptors import no_free_descriptor\n"
        "log = Log.of_daemon(sys.stderr, '/nowhere')\n"
        "with no_free_descriptor():\n"
        "    log.info('modem.ready')\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stderr.count("modem.ready")) == (0, 2), ran.stderr


def test_while_the_disk_is_tight_the_file_stands_still_after_the_line_that_says_so(tmp_path: Path) -> None:
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
