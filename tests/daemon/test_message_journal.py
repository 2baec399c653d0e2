"""The files of the message journal: appended parts survive an interrupted write, rotation or rewrite."""

import contextlib
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from daemon.core.messages import message_journal as core
from daemon.core.messages.message_journal import Record
from daemon.runtime.message_journal import MessageJournal, SecondFolder
from parsers.times import to_us
from tests.core.messages.test_message_journal import KEY, part
from tests.fakes.real_shop import ROOT, pause
from tests.fakes.seed import seed
from tests.fakes.tiers import share

NOVEMBER = to_us(datetime(2026, 11, 30, 23, 59, tzinfo=UTC))
DECEMBER = to_us(datetime(2026, 12, 1, tzinfo=UTC))


@pytest.fixture
def journal(tmp_path: Path) -> MessageJournal:
    home, stick = tmp_path / "home", tmp_path / "stick"
    home.mkdir()
    stick.mkdir()
    return again(home, stick)


def again(home: Path, stick: Path) -> MessageJournal:
    """Return the journal of another process."""
    return MessageJournal(home, KEY, SecondFolder(str(stick)))


def content(journal: MessageJournal) -> list[Record]:
    return [*reversed([*journal.backward()])]


def copied(journal: MessageJournal) -> dict[str, bytes]:
    folder = Path(journal.second.path)
    return {path.name[-15:]: path.read_bytes() for path in folder.iterdir()}


def originals(journal: MessageJournal) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in journal.folder.glob("*.journal")}


def test_parts_are_read_backward_over_all_months(journal: MessageJournal) -> None:
    journal.append([part(1), part(2)], NOVEMBER)
    journal.append([part(3)], DECEMBER)
    assert [one.received_at for one in journal.backward()] == [3, 2, 1]
    assert sorted(originals(journal)) == ["2026-11.journal", "2026-12.journal"]


def test_only_the_owner_can_read_it(journal: MessageJournal) -> None:
    journal.append([part(1)], NOVEMBER)
    assert journal.folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in journal.folder.iterdir()} == {0o600}


def test_a_clock_that_goes_back_does_not_go_back_to_an_earlier_file(journal: MessageJournal) -> None:
    journal.append([part(1)], DECEMBER)
    journal.append([part(2)], 0)
    assert sorted(originals(journal)) == ["2026-12.journal"]
    assert content(journal) == [part(1), part(2)]


def test_a_part_that_is_listed_again_is_written_once(journal: MessageJournal) -> None:
    journal.append([part(1)], NOVEMBER)
    journal.append([part(1, received_at=9), part(2)], NOVEMBER)
    assert content(journal) == [part(1), part(2)]


def test_a_torn_line_is_cut_away_before_the_next_one_is_written(journal: MessageJournal, tmp_path: Path) -> None:
    journal.append([part(1), part(2)], NOVEMBER)
    journal.close()
    path = journal.folder / "2026-11.journal"
    path.write_bytes(path.read_bytes()[:-7])
    other = again(journal.home, tmp_path / "stick")
    other.append([part(3)], NOVEMBER)
    assert content(other) == [part(1), part(3)]
    assert other.unreadable() == 0


def test_a_file_without_a_whole_header_is_begun_again(journal: MessageJournal) -> None:
    journal.folder.mkdir(mode=0o700)
    (journal.folder / "2026-11.journal").write_bytes(b"0123")
    journal.append([part(1)], NOVEMBER)
    assert content(journal) == [part(1)]
    assert journal.unreadable() == 0


def test_a_failed_write_leaves_no_half_line_and_is_done_again(
    journal: MessageJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append([part(1)], NOVEMBER)
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", _half_then_full(write))
        with pytest.raises(OSError, match="No space left"):
            journal.append([part(2)], NOVEMBER)
    journal.append([part(2), part(3)], NOVEMBER)
    assert content(journal) == [part(1), part(2), part(3)]
    assert journal.unreadable() == 0


def _half_then_full(write: Callable[[int, bytes], int]) -> Callable[[int, bytes], int]:
    calls = 0

    def half(fd: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise OSError(28, os.strerror(28))
        return write(fd, data[: len(data) // 2])

    return half


def test_a_failed_sync_is_not_taken_for_a_written_part(
    journal: MessageJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append([part(1)], NOVEMBER)
    with monkeypatch.context() as patch:
        patch.setattr("os.fdatasync", _fail)
        with pytest.raises(OSError, match="Input/output"):
            journal.append([part(2)], NOVEMBER)
    journal.append([part(2)], NOVEMBER)
    assert content(journal) == [part(1), part(2)]


def _fail(_fd: int) -> None:
    raise OSError(5, os.strerror(5))


def test_a_file_that_was_removed_while_it_was_open_is_begun_again(journal: MessageJournal) -> None:
    journal.append([part(1)], NOVEMBER)
    (journal.folder / "2026-11.journal").unlink()
    journal.append([part(1), part(2)], NOVEMBER)
    assert content(journal) == [part(1), part(2)]


def test_a_link_in_place_of_the_file_is_not_followed(journal: MessageJournal, tmp_path: Path) -> None:
    journal.folder.mkdir(mode=0o700)
    (tmp_path / "target").write_bytes(b"")
    (journal.folder / "2026-11.journal").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic link"):
        journal.append([part(1)], NOVEMBER)


def test_erasing_a_part_removes_its_text_from_both_folders(journal: MessageJournal) -> None:
    journal.append([part(1), part(2)], NOVEMBER)
    journal.append([part(3)], DECEMBER)
    journal.copy_to_second()
    assert journal.erase({part(2).key, part(3).key}) == 2
    journal.append([part(4)], DECEMBER)
    journal.copy_to_second()
    assert content(journal) == [part(1), part(4)]
    for files in (originals(journal), copied(journal)):
        assert not any(one.pdu.encode() in text for one in (part(2), part(3)) for text in files.values())
    assert copied(journal) == originals(journal)
    assert journal.erase({part(2).key}) == 0


def test_an_erased_part_does_not_come_back_from_a_stick_that_was_away(journal: MessageJournal, tmp_path: Path) -> None:
    stick, away = tmp_path / "stick", tmp_path / "away"
    journal.append([part(1), part(2)], NOVEMBER)
    journal.copy_to_second()
    stick.rename(away)
    journal.erase({part(2).key})
    journal.copy_to_second()
    assert journal.second.away
    assert "does not exist" in journal.second.why
    away.rename(stick)
    other = again(journal.home, stick)
    other.fetch_back()
    assert not other.was_fetched
    other.copy_to_second()
    assert other.second.why == ""
    assert copied(other) == originals(other)
    assert content(other) == [part(1)]


def test_what_is_appended_is_appended_to_the_copy(journal: MessageJournal) -> None:
    for number in range(5):
        journal.append([part(number)], NOVEMBER if number < 3 else DECEMBER)
        journal.copy_to_second()
        assert copied(journal) == originals(journal)


def test_a_copy_with_a_torn_end_is_completed(journal: MessageJournal) -> None:
    journal.append([part(1)], NOVEMBER)
    journal.copy_to_second()
    (copy,) = Path(journal.second.path).iterdir()
    copy.write_bytes(copy.read_bytes()[:-5])
    journal.append([part(2)], NOVEMBER)
    journal.copy_to_second()
    assert copied(journal) == originals(journal)


def test_a_new_disk_gets_everything_back_from_the_second_folder(journal: MessageJournal, tmp_path: Path) -> None:
    journal.append([part(1), part(2)], NOVEMBER)
    journal.append([part(3)], DECEMBER)
    journal.copy_to_second()
    home = tmp_path / "new disk"
    home.mkdir()
    other = again(home, tmp_path / "stick")
    other.append([part(4)], DECEMBER)  # the stick was plugged in later
    other.copy_to_second()
    assert "momo daemon restart" in other.second.why
    other.fetch_back()
    other.fetch_back()
    assert again(home, tmp_path / "stick").was_fetched
    other.searched()
    assert not other.was_fetched
    other.append([part(5)], DECEMBER)
    other.copy_to_second()
    assert {one.received_at for one in content(other)} == {1, 2, 3, 4, 5}
    assert copied(other) == originals(other)


def test_a_stick_that_hangs_while_it_is_read_holds_up_no_message(journal: MessageJournal, tmp_path: Path) -> None:
    journal.append([part(1)], NOVEMBER)
    journal.copy_to_second()
    (copy,) = Path(journal.second.path).iterdir()
    data = copy.read_bytes()
    copy.unlink()
    os.mkfifo(copy)
    home = tmp_path / "new disk"
    home.mkdir()
    other = again(home, tmp_path / "stick")
    fetching = threading.Thread(target=other.fetch_back, daemon=True)
    fetching.start()
    with os.fdopen(open_read_pipe(copy), "wb") as pipe:
        appending = threading.Thread(target=other.append, args=([part(2)], NOVEMBER), daemon=True)
        appending.start()
        appending.join(5)
        was_held_up = appending.is_alive()
        pipe.write(data)
    fetching.join(5)
    appending.join(5)
    assert not was_held_up
    assert other.was_fetched
    assert {one.received_at for one in content(other)} == {1, 2}


def open_read_pipe(path: Path) -> int:
    """Open a pipe for writing, once another thread has it open for reading."""
    for _ in range(500):
        with contextlib.suppress(OSError):
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        threading.Event().wait(0.01)
    raise AssertionError("nobody reads the pipe")


def test_files_of_another_shop_in_the_second_folder_are_left_alone(journal: MessageJournal, tmp_path: Path) -> None:
    other = MessageJournal(tmp_path / "other", core.journal_key(b"o" * 32), journal.second)
    other.home.mkdir()
    other.append([part(1)], NOVEMBER)
    other.copy_to_second()
    journal.fetch_back()
    assert not journal.was_fetched
    journal.append([part(2)], NOVEMBER)
    journal.copy_to_second()
    assert len([*(tmp_path / "stick").iterdir()]) == 2
    assert content(journal) == [part(2)]


def test_months_that_are_too_old_are_removed_from_both_folders(journal: MessageJournal) -> None:
    journal.append([part(1)], NOVEMBER)
    journal.append([part(2)], DECEMBER)
    journal.copy_to_second()
    assert journal.prune(NOVEMBER) == 0
    assert journal.prune(DECEMBER) == 1
    journal.copy_to_second()
    assert [*copied(journal)] == [*originals(journal)] == ["2026-12.journal"]
    journal.fetch_back()
    assert not journal.was_fetched


def test_the_file_in_use_is_never_removed(journal: MessageJournal) -> None:
    journal.append([part(1)], NOVEMBER)
    assert journal.prune(DECEMBER + 400 * 86_400_000_000) == 0
    assert content(journal) == [part(1)]


ERASED_EVERY = 7

WRITER = f"""
import sys
from pathlib import Path
from daemon.runtime.message_journal import MessageJournal, SecondFolder
from tests.core.messages.test_message_journal import KEY, part

MONTH_US = 32 * 86_400_000_000
journal = MessageJournal(Path(sys.argv[1]), KEY, SecondFolder(sys.argv[2]))
number = int(sys.argv[3])
while True:
    number += 1
    journal.append([part(number)], number // 50 * MONTH_US)
    if number % {ERASED_EVERY} == 0:
        journal.erase({{part(number).key}})
    print(number, flush=True)
    if number % 3 == 0:
        journal.copy_to_second()
    if number % 100 == 0:
        journal.fetch_back()
"""


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", range(share(20, least=2)))
def test_what_was_reported_is_there_after_a_kill(tmp_path: Path, number: int) -> None:
    rng = random.Random(seed() + number)
    home, stick = tmp_path / "home", tmp_path / "stick"
    home.mkdir()
    stick.mkdir()
    reported = 0
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(home), str(stick), str(reported)],
            cwd=ROOT, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline(), "it has begun"
        pause(rng.uniform(0, 0.3))
        process.kill()
        said = process.stdout.read().split()
        process.wait()
        process.stdout.close()
        reported = int(said[-1]) if said else reported + 1
        journal = MessageJournal(home, KEY, SecondFolder(str(stick)))
        there = {one.received_at for one in journal.backward()}
        wanted = {one for one in range(1, reported + 1) if one % ERASED_EVERY}
        assert wanted - there == set()
        assert there - wanted <= {reported + 1}, "the part that was under way"
        assert journal.unreadable() <= 1, "the torn line"
        journal.copy_to_second()
        assert journal.second.why == ""
