"""The shop's files: no links are followed where momo writes, and settings that others may write are refused."""

import errno
import grp
import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from daemon import wire
from daemon.open_shop import StartError, open_home, open_shop
from daemon.runtime import files
from daemon.runtime.files import other_writers
from daemon.runtime.locks import HomeLock
from daemon.runtime.log import NAME, LogFile
from parsers.times import from_us
from tests.fakes.clock import FakeClock

ME = os.getuid()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.touch()
    return path


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o444])
def test_settings_that_others_may_only_read_are_taken(config: Path, mode: int) -> None:
    config.chmod(mode)
    assert other_writers(config, ME) == ""


def test_settings_that_everybody_may_write_are_refused_with_the_command(config: Path) -> None:
    config.chmod(0o646)
    assert other_writers(config, ME) == f"every user may write {config}: chmod go-w {config}"


def test_a_group_of_others_may_not_write_and_the_owners_own_group_may(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.chmod(0o664)
    os.chown(config, -1, 4242) if ME == 0 else None
    ama = SimpleNamespace(pw_name="ama", pw_gid=config.stat().st_gid)
    kofi = SimpleNamespace(pw_name="kofi", pw_gid=1)
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: ama)
    monkeypatch.setattr(pwd, "getpwall", lambda: [ama, kofi])
    monkeypatch.setattr(grp, "getgrgid", lambda _gid: SimpleNamespace(gr_mem=[]))
    assert other_writers(config, ME) == ""
    for members, users in ((["kofi"], [ama, kofi]), ([], [ama, SimpleNamespace(pw_name="kofi", pw_gid=ama.pw_gid)])):
        monkeypatch.setattr(grp, "getgrgid", lambda _gid, m=members: SimpleNamespace(gr_mem=m))
        monkeypatch.setattr(pwd, "getpwall", lambda u=users: u)
        assert other_writers(config, ME).startswith(f"its group may write {config}: chmod go-w")


def test_settings_of_another_user_are_refused_and_those_of_root_are_not(config: Path) -> None:
    assert "belongs to another user" in other_writers(config, ME + 1) or ME == 0
    assert other_writers("/etc/passwd", ME) == ""


def places(home: Path) -> wire.Places:
    return wire.places({"MOMO_HOME": str(home)}, ME, "/tmp")


def test_setup_takes_the_folder_of_the_shop_away_from_others(tmp_path: Path) -> None:
    home = tmp_path / "shop"
    home.mkdir()
    home.chmod(0o755)
    open_shop(places(home), {}, FakeClock()).close()
    assert home.stat().st_mode & 0o777 == 0o700


def test_the_daemon_does_not_start_with_settings_that_others_may_write(config: Path, tmp_path: Path) -> None:
    config.chmod(0o666)
    with pytest.raises(StartError, match=f"chmod go-w {config}") as refused:
        open_home(places(tmp_path), {"MOMO_HOME": str(tmp_path)})
    assert (refused.value.exit_code, refused.value.code) == (78, wire.ErrorCode.CONFIG_INVALID)
    config.chmod(0o600)
    open_home(places(tmp_path), {"MOMO_HOME": str(tmp_path)}).lock.release()


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_text("precious")
    return path


def test_a_lock_file_that_is_a_link_is_refused_and_nothing_is_written(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "momo.lock").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic link, which momo does not follow") as refused:
        HomeLock(str(tmp_path / "momo.lock")).take()
    assert refused.value.errno == errno.ELOOP
    with pytest.raises(StartError, match="symbolic link"):
        open_home(places(tmp_path), {"MOMO_HOME": str(tmp_path)})
    assert precious.read_text() == "precious"


def test_a_log_file_that_is_a_link_is_told_once_and_not_written(
    tmp_path: Path, precious: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / NAME).symlink_to(precious)
    log = LogFile(str(tmp_path))
    log.write("a\n")
    log.write("b\n")
    log.close()
    assert precious.read_text() == "precious"
    assert capsys.readouterr().err.count(f"no log is kept: {tmp_path / NAME}: it is a symbolic") == 1


def test_the_clocks_draft_and_a_crash_file_replace_a_link_or_leave_it(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "momo.new").symlink_to(precious)
    files.write_clock(str(tmp_path), "{}")
    assert files.read_clock(str(tmp_path)) == "{}"
    state = tmp_path / "state"
    state.mkdir()
    crash = state / f"crash-19700101T000000Z-{os.getpid()}.txt"
    crash.symlink_to(precious)
    assert files.write(places(tmp_path), ValueError("x"), from_us(0)) is None
    assert precious.read_text() == "precious"


def test_another_fault_keeps_its_own_text(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.open_own(tmp_path / "no" / "file", os.O_WRONLY | os.O_CREAT)
