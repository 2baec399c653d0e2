"""Crash reports of the daemon contain no personal data."""

import io
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from daemon import __main__ as program
from daemon.core.errors import Unavailable
from daemon.runtime import files
from daemon.runtime.log import Log
from daemon.wire import Places
from parsers.masking import describe_error

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
PRIVATE = ("KOFI", "0244123456", "244123456", "whsec_AAAABBBBCCCC", "AAAABBBB")


def died() -> BaseException:
    """Fail as a bug in a parser might: with a message's words in the error and in its variables."""
    payer = "KOFI ANTWI BADU"
    try:
        try:
            int(f"{payer} 0244123456")
        except ValueError as error:
            raise Unavailable(f"cannot do it for 0244123456 whsec_AAAABBBBCCCC {'x' * 3}", 3) from error
    except Unavailable as error:
        return error
    raise AssertionError


def test_a_crash_says_where_and_never_what(places: Places) -> None:
    path = files.write(places, died(), NOW)
    assert path is not None
    told = path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert "Unavailable: cannot do it" in told
    assert "caused by\nValueError: invalid literal for int() with base 10: '***'" in told
    assert "test_crash.py:" in told
    assert " in died" in told
    for private in PRIVATE:
        assert private not in told
    assert str(Path(__file__).parent) not in told


def test_old_crashes_make_room(places: Places) -> None:
    for hour in range(files.KEPT + 3):
        files.write(places, died(), NOW + timedelta(hours=hour))
    names = sorted(path.name for path in Path(places.state).iterdir())
    assert len(names) == files.KEPT
    assert names[0].startswith("crash-20261121T110000Z")


def test_a_disk_that_does_not_take_it_is_no_second_crash(places: Places) -> None:
    Path(places.home).mkdir()
    Path(places.state).write_text("in the way")
    assert files.write(places, died(), NOW) is None


def test_a_log_line_about_a_fault_quotes_nothing() -> None:
    out = io.StringIO()
    Log(out).error("deliver.fault", error=describe_error(died().__cause__ or died()))
    assert "ValueError: invalid literal" in out.getvalue()
    for private in PRIVATE:
        assert private not in out.getvalue()


def test_a_log_line_about_a_refused_row_has_none_of_its_values() -> None:
    refused = ValueError('violates check "home"\nDETAIL:  Failing row contains (7, KOFI ANTWI BADU).')
    assert describe_error(refused) == 'ValueError: violates check "***"'


def test_a_thread_that_dies_is_masked_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    files.mask_threads()

    def fail() -> None:
        raise died()

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    said = capsys.readouterr().err
    assert "a thread died: Unavailable" in said
    for private in PRIVATE:
        assert private not in said


def test_the_daemon_that_dies_of_a_fault_says_so_masked_and_leaves_the_file(
    places: Places, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_given: object) -> int:
        raise died()

    monkeypatch.setattr("daemon.commands.run.serve", fails)
    monkeypatch.setattr("faulthandler.enable", lambda: None)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setenv("MOMO_HOME", places.home)
    Path(places.home).mkdir()
    Path(places.database).touch()
    assert program.main(["run"]) == 1
    said = capfd.readouterr().err
    (path,) = Path(places.state).glob("crash-*.txt")
    assert "error: Unavailable: cannot do it" in said
    assert str(path) in said
    for private in PRIVATE:
        assert private not in said
