"""The settings and the shop's own wordings are taken over when their files change, on real files and a real watch."""

import asyncio
import io
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from daemon.flows.upkeep import notices, settings
from daemon.loops import watched_files
from daemon.loops.watched_files import WatchedFiles
from daemon.runtime.log import Log
from daemon.runtime.own_wordings import OwnWordings
from tests.fakes.each import each
from tests.fakes.shop import FakeShop
from tests.fakes.waiting import PATIENCE_S, until
from tests.parsers.test_own import FILE


class Watched:
    """A shop whose files are watched. The minute's look never comes, unless a test makes it short."""

    def __init__(self, shop: FakeShop, home: Path) -> None:
        self.shop = shop
        self.env = env = shop.env
        self.home = home
        self.file = home / wire.CONFIG_NAME
        self.folder = home / "templates"
        self.log = io.StringIO()
        env.own_wordings = OwnWordings(self.folder)
        environ = {wire.HOME_VARIABLE: str(home)}
        self._files = WatchedFiles(env, wire.places(environ, 0, "/tmp"), environ, Log(self.log))
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._files.run())
        worker, rest_s = watched_files.WORKER, watched_files.LOOK_S  # it rests once it has looked
        looked = self.env.clock.monotonic() + rest_s
        await until(lambda: self.env.heartbeats._deadlines.get(worker, 0.0) > looked)
        assert "settings.read" not in self.log.getvalue(), "nothing has changed"

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def replace(self, text: str) -> None:
        """Replace the file as editors and `momo config set` do."""
        draft = self.home / "draft"
        draft.write_text(text)
        draft.chmod(0o600)
        draft.replace(self.file)

    async def policy(self, wanted: str) -> None:
        await until(lambda: self.env.config.transactions.late_policy == wanted)


def late(policy: str) -> str:
    return f'[transactions]\nlate_policy = "{policy}"\n'


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_files, "LOOK_S", 600.0)
    monkeypatch.setattr(watched_files, "STEP_MS", 50)
    monkeypatch.setattr(settings, "SETTLE_S", 0.02)


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    home = tmp_path / "shop"
    home.mkdir(mode=0o700)
    shop = await FakeShop.make(home)
    made = Watched(shop, home)
    await made.start()
    yield made
    await made.stop()
    shop.close()


def backup_rename(watched: Watched, text: str) -> None:
    if watched.file.exists():
        watched.file.rename(watched.home / "config.toml~")
    watched.file.write_text(text)


def delete_and_create(watched: Watched, text: str) -> None:
    watched.file.unlink(missing_ok=True)
    watched.file.write_text(text)


def in_place(watched: Watched, text: str) -> None:
    with watched.file.open("w") as file:
        file.write(text)


@each("save", [Watched.replace, backup_rename, delete_and_create, in_place])
async def test_every_way_of_saving_is_noticed_again_and_again(
    watched: Watched, save: Callable[[Watched, str], None]
) -> None:
    for policy in ("review", "reject", "accept", "review"):
        save(watched, late(policy))
        await watched.policy(policy)
    watched.file.unlink()
    await watched.policy("accept")


async def test_what_needs_a_start_is_named_and_stays_as_it_was(watched: Watched) -> None:
    watched.replace('[transactions]\nlate_policy = "review"\n[webhooks]\nworkers = 3\n[[sources]]\nkind = "modem"\n')
    await watched.policy("review")
    assert watched.env.settings.waiting == ("webhooks.workers", "sources")
    assert watched.env.config.webhooks.workers == 10
    watched.replace(late("review"))
    await until(lambda: not watched.env.settings.waiting)


@each(
    ("text", "why"),
    [
        ("[transactions]\nlate_policy = 'never'\n", "line 2: late_policy takes one of"),
        ("[transactions\n", "line 1: not valid TOML"),
        ("[transaction]\n", "line 1: unknown section transaction"),
    ],
)
async def test_a_broken_file_changes_nothing_and_is_named_with_its_line(watched: Watched, text: str, why: str) -> None:
    watched.replace(late("review"))
    await watched.policy("review")
    before, told = watched.env.config, watched.log.getvalue().count("settings.broken")
    watched.replace(text)
    await until(lambda: watched.env.settings.problem)
    assert f"{watched.file}, {why}" in watched.env.settings.problem
    assert watched.env.config is before
    assert watched.log.getvalue().count("settings.broken") == told + 1
    watched.replace(late("reject"))
    await watched.policy("reject")
    assert watched.env.settings.problem == ""


async def test_a_file_that_others_may_write_is_not_used(watched: Watched) -> None:
    watched.file.write_text(late("review"))
    watched.file.chmod(0o666)
    await until(lambda: "chmod" in watched.env.settings.problem)
    assert watched.env.config.transactions.late_policy == "accept"
    watched.file.chmod(0o600)
    await watched.policy("review")


async def test_a_file_that_is_being_written_counts_once_it_is_whole(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.replace(late("review"))
    await watched.policy("review")
    seen = []
    real = settings._read

    def read(*words: Any) -> Any:
        found = real(*words)
        seen.append(found)
        if len(seen) == 1:
            watched.file.write_text(late("reject"))
        return found

    monkeypatch.setattr(settings, "_read", read)
    watched.file.write_text("")
    await watched.policy("reject")
    assert "settings.broken" not in watched.log.getvalue()
    assert watched.log.getvalue().count("settings.read") == 2, "the empty file was never used"


async def test_the_owner_is_notified_of_a_file_that_stays_broken_and_of_its_end(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched_files, "LOOK_S", 0.02)
    events = "SELECT type FROM events WHERE type LIKE 'settings.%' ORDER BY seq"

    async def told(kinds: list[str]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while await watched.shop.values(events) != kinds:  # noqa: ASYNC110 -- no event announces it
                await asyncio.sleep(0.01)

    watched.replace("[x]\n")
    await told(["settings.broken"])
    await notices.gather(watched.env, 0, [])
    shown = await watched.shop.values("SELECT text FROM notices")
    assert shown == [f"The settings cannot be used, so momo goes on with those before: {watched.env.settings.problem}."]
    watched.replace(late("review"))
    await told(["settings.broken", "settings.mended"])


async def test_files_that_come_change_and_go_are_read(watched: Watched) -> None:
    own, path = watched.env.own_wordings, watched.folder / "mtn.toml"
    assert watched.folder.stat().st_mode & 0o777 == 0o700
    path.write_text(FILE)
    await until(lambda: len(own.wordings) == 1)
    stat, other = path.stat(), watched.folder / "new"
    other.write_text(FILE.replace("receipt_2027", "receipt_2028"))
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.rename(path)  # of the same size and time, as editors save
    await until(lambda: "2028" in own.wordings[0].name)
    path.unlink()
    await until(lambda: not own.wordings)


async def test_a_link_to_nothing_is_reported_and_the_other_files_are_read(watched: Watched) -> None:
    own = watched.env.own_wordings
    (watched.folder / "mtn.toml").symlink_to(watched.folder / "gone.txt")
    (watched.folder / "other.toml").write_text(FILE)
    await until(lambda: len(own.wordings) == 1)
    assert [file.name for file in own.files if file.loaded.problems] == ["mtn.toml"]


async def test_a_folder_that_was_removed_is_made_and_watched_again(watched: Watched) -> None:
    own, folder = watched.env.own_wordings, watched.folder
    for name in ("a.toml", "b.toml", "c.toml"):
        shutil.rmtree(folder)
        await until(folder.is_dir)
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / name).write_text(FILE)
        await until(partial(_has, own, name))


def _has(own: OwnWordings, name: str) -> bool:
    return [file.name for file in own.files] == [name]


async def test_a_folder_that_cannot_be_made_is_logged_once(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(watched.folder)
    await until(watched.folder.is_dir)
    monkeypatch.setattr(watched_files, "LOOK_S", 0.02)
    shutil.rmtree(watched.folder)
    watched.folder.write_text("in the way")
    await until(lambda: "templates.unread" in watched.log.getvalue())
    await asyncio.sleep(0.1)
    assert watched.log.getvalue().count("templates.unread") == 1
    watched.folder.unlink()
    await until(watched.folder.is_dir)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("error creating recommended watcher: Too many open files (os error 24)"),
        OSError(28, "OS file watch limit reached"),
        ImportError("no binary for this machine"),
    ],
)
async def test_without_reports_of_the_system_the_files_are_looked_at_and_it_is_told_once(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    await watched.stop()
    monkeypatch.setattr("watchfiles.watch", refuse)
    monkeypatch.setattr(watched_files, "LOOK_S", 0.02)
    await watched.start()
    for policy in ("review", "reject"):
        watched.replace(late(policy))
        await watched.policy(policy)
    assert watched.env.settings.unwatched
    assert watched.log.getvalue().count("settings.unwatched") == 1


LIMITED = """
import sys, threading
from pathlib import Path
from daemon.loops.watched_files import FolderWatch
Path(f"/proc/sys/user/{sys.argv[1]}").write_text("0")
watch = FolderWatch(lambda _: True, lambda: None)
watch.arm([Path(sys.argv[2])])
watch._thread.join()
print(watch.why)
"""


class Panic(BaseException):
    """What Python sees of a panic in Rust: no Exception."""


async def test_a_panic_of_the_watch_is_told_and_the_files_are_looked_at(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    await watched.stop()
    monkeypatch.setattr(watched_files, "LOOK_S", 0.02)

    def watch(*_: object, **__: object) -> object:
        raise Panic("called `Result::unwrap()` on an `Err` value")

    monkeypatch.setattr("watchfiles.watch", watch)
    watched._task = asyncio.create_task(watched._files.run())
    await until(lambda: "settings.unwatched" in watched.log.getvalue())
    watched.replace(late("review"))
    await watched.policy("review")


@each("limit", ["max_inotify_instances", "max_inotify_watches"])
def test_a_used_up_limit_of_the_kernel_is_told_and_ends_nothing(tmp_path: Path, limit: str) -> None:
    words = ["unshare", "-Ur", sys.executable, "-c", LIMITED, limit, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode and "unshare" in done.stderr:
        pytest.skip("no user namespaces here")
    assert (done.returncode, bool(done.stdout.strip())) == (0, True), done.stderr


def test_a_watch_that_was_closed_starts_no_thread_that_would_keep_the_daemon_from_ending(tmp_path: Path) -> None:
    watch = watched_files.FolderWatch(lambda _: True, lambda: None)
    before = threading.active_count()
    watch.close()
    watch.arm([tmp_path])
    assert threading.active_count() == before
