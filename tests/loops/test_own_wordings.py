"""The loop that reads the shop's own wordings again when a file in their folder changes."""

import asyncio
import io
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.loops import own_wordings
from daemon.loops.own_wordings import watch_templates
from daemon.runtime.log import Log
from daemon.runtime.own_wordings import OwnWordings
from tests.fakes.waiting import until
from tests.parsers.test_own import FILE


@pytest.fixture
def log() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
async def own(
    tmp_path: Path, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[OwnWordings]:
    monkeypatch.setattr(own_wordings, "LOOK_S", 0.01)
    monkeypatch.setattr(own_wordings, "RETRY_S", 0.01)
    made = OwnWordings(tmp_path / "templates")
    watching = asyncio.create_task(watch_templates(made, Log(log)))
    yield made
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


def folder(own: OwnWordings) -> Path:
    assert own.folder is not None
    return own.folder


async def test_files_that_come_change_and_go_are_read(own: OwnWordings) -> None:
    await until(lambda: folder(own).is_dir())
    path = folder(own) / "mtn.toml"
    path.write_text(FILE)
    await until(lambda: len(own.wordings) == 1)
    path.write_text(FILE.replace("receipt_2027", "receipt_2028"))
    await until(lambda: own.wordings and "2028" in own.wordings[0].name)
    path.unlink()
    await until(lambda: not own.wordings)


async def test_a_file_of_the_same_size_and_time_is_still_another_file(own: OwnWordings) -> None:
    await until(lambda: folder(own).is_dir())
    path, other = folder(own) / "mtn.toml", folder(own) / "new"
    path.write_text(FILE)
    await until(lambda: len(own.wordings) == 1)
    other.write_text(FILE.replace("receipt_2027", "receipt_2028"))
    stat = path.stat()
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.rename(path)  # as editors save
    await until(lambda: "2028" in own.wordings[0].name)


async def test_a_link_to_nothing_is_reported_and_the_other_files_are_read(own: OwnWordings) -> None:
    await until(lambda: folder(own).is_dir())
    (folder(own) / "mtn.toml").symlink_to(folder(own) / "gone.txt")
    (folder(own) / "other.toml").write_text(FILE)
    await until(lambda: len(own.wordings) == 1)
    assert [file.name for file in own.files if file.loaded.problems] == ["mtn.toml"]
    # The contents of what a link leads to count, too.
    (folder(own) / "gone.txt").write_text(FILE.replace("receipt_2027", "receipt_2028"))
    await until(lambda: len(own.wordings) == 2)


async def test_a_removed_folder_is_made_again(own: OwnWordings) -> None:
    await until(lambda: folder(own).is_dir())
    folder(own).rmdir()
    await until(lambda: folder(own).is_dir())
    assert folder(own).stat().st_mode & 0o777 == 0o700


@pytest.fixture
def in_the_way(tmp_path: Path) -> None:
    """Have a file where the folder should be, before the loop looks at it."""
    (tmp_path / "templates").write_text("in the way")


@pytest.mark.usefixtures("in_the_way")
async def test_a_folder_that_cannot_be_read_is_logged_once_and_read_when_it_can_be(
    log: io.StringIO, own: OwnWordings
) -> None:
    await until(lambda: "templates.unread" in log.getvalue())
    await asyncio.sleep(0.1)
    assert log.getvalue().count("templates.unread") == 1
    folder(own).unlink()
    await until(lambda: folder(own).is_dir())
    (folder(own) / "mtn.toml").write_text(FILE)
    await until(lambda: len(own.wordings) == 1)
