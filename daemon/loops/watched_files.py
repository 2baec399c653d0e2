"""Takes over the settings and the shop's own wordings when their files change. The only user of watchfiles.

A thread watches folders, never files: a file that an editor replaces is another file, whose changes a watch of the old one does
not see. The thread sleeps in Rust; `watchfiles.awatch` would wake the event loop twenty times a second.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from daemon import wire
from daemon.core.errors import Unavailable
from daemon.env import Env
from daemon.flows.upkeep import settings
from daemon.loops.keep_running import note_work
from daemon.runtime.config_file import settings_files
from daemon.runtime.log import Log
from daemon.runtime.own_wordings import SUFFIX

STEP_MS: Final = 500
"""How long a folder must be quiet before its changes are reported. The thread wakes once in this time."""
QUIET_MS_MAX: Final = 2_000
"""The longest wait for that: the database in the shop's folder is written all the time."""


class FolderWatch:
    """Watches folders."""

    def __init__(self, is_wanted: Callable[[Path], bool], on_change: Callable[[], None]) -> None:
        """Prepare; `arm` begins. `is_wanted` returns whether the change of a file is reported.

        `on_change` is called in the thread of the watch.
        """
        self._is_wanted = is_wanted
        self._on_change = on_change
        self._armed: dict[str, tuple[int, int]] = {}
        self._starting = threading.Lock()
        self._closed = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._fault = ""

    @property
    def why(self) -> str:
        """Why changes are not reported; empty while they are."""
        return "" if self._thread is not None and self._thread.is_alive() else self._fault

    def arm(self, folders: Sequence[Path]) -> None:
        """Watch exactly these folders, as far as they exist. To be called after each change, and now and then.

        A folder that was removed and made again is another folder, so it is watched anew.
        """
        found = {}
        for folder in folders:
            try:
                state = folder.stat()
            except OSError:
                continue
            found[str(folder)] = (state.st_dev, state.st_ino)
        if found == self._armed:
            return
        with self._starting:
            self._stop.set()
            if self._closed:
                return
            self._armed, self._stop = found, threading.Event()
            if found:
                self._thread = threading.Thread(
                    target=self._run, args=(frozenset(found), self._stop), name="folder watch"
                )
                self._thread.start()

    def close(self) -> None:
        """Stop to watch for ever; the thread ends within a step. An `arm` that runs in another thread starts none."""
        with self._starting:
            self._closed = True
            self._stop.set()
            self._armed = {}

    def _run(self, folders: frozenset[str], stop: threading.Event) -> None:
        try:
            # Loaded here: it takes a megabyte, and its binary may not run on this machine.
            import watchfiles  # noqa: PLC0415

            for changes in watchfiles.watch(
                *folders,
                watch_filter=lambda _, path: path in folders or self._is_wanted(Path(path)),
                debounce=QUIET_MS_MAX,
                step=STEP_MS,
                stop_event=stop,
                rust_timeout=0,
                raise_interrupt=False,
                force_polling=False,
                recursive=False,
            ):
                if any(path in folders for _, path in changes):
                    self._forget(stop)  # a folder itself was removed
                self._on_change()
        except FileNotFoundError:
            self._forget(stop)  # removed in this moment
        except BaseException as error:  # noqa: BLE001 -- a panic of its Rust is no Exception, and must be told, too
            # The library raises OSError when no more folders may be watched, RuntimeError when no more programs may watch.
            self._fault = str(error) or type(error).__name__
            self._forget(stop)

    def _forget(self, stop: threading.Event) -> None:
        if not stop.is_set():
            self._armed = {}


WORKER: Final = "files"
LOOK_S: Final = 60.0
"""Between two looks without a report: network drives and some systems report no changes, or not all."""


class WatchedFiles:
    """Looks at the files when a change is reported, and once a minute."""

    def __init__(self, env: Env, places: wire.Places, environ: Mapping[str, str], log: Log) -> None:
        assert env.own_wordings.folder is not None, "a running shop has a folder"
        self._env = env
        self._places = places
        self._environ = environ
        self._log = log
        self._wordings = env.own_wordings.folder
        self._settings = [Path(each) for each in settings_files(places.config, environ)]
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._watch = FolderWatch(self._is_ours, self._report)
        self._unread = ""

    async def run(self) -> None:
        """Run until cancelled."""
        self._watch = FolderWatch(self._is_ours, self._report)
        reported = False
        try:
            while True:
                self._env.heartbeat(WORKER)
                self._changed.clear()
                await self._look()
                if not reported:
                    # An editor may leave a broken file for a moment; a notice is for one that stays.
                    with contextlib.suppress(Unavailable):  # the next look does it
                        await settings.report_broken(self._env)
                await note_work(self._env, self._log, WORKER)
                self._env.heartbeat(WORKER, LOOK_S)
                try:
                    async with asyncio.timeout(LOOK_S):
                        reported = await self._changed.wait()
                except TimeoutError:
                    reported = False
        finally:
            self._watch.close()

    def _is_ours(self, path: Path) -> bool:
        return path in self._settings or (path.parent == self._wordings and path.suffix == SUFFIX)

    def _report(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._changed.set)
        except RuntimeError:
            self._watch.close()  # the daemon has ended

    async def _look(self) -> None:
        unwatched = self._watch.why
        if unwatched and not self._env.settings.unwatched:
            self._log.warning("settings.unwatched", why=unwatched, look_s=LOOK_S)
        self._env.settings.unwatched = unwatched
        has_folder = await self._make_folder()
        # Before the files are read, so that a change during the reading is reported.
        folders = sorted({self._wordings, *(each.parent for each in self._settings)})
        await asyncio.to_thread(self._watch.arm, folders)
        if has_folder:
            own = self._env.own_wordings
            if await asyncio.to_thread(own.read_again):
                self._log.info("templates.read", files=len(own.files), wordings=len(own.wordings))
                for file in own.files:
                    for problem in file.loaded.problems:
                        self._log.warning("templates.wrong", file=file.name, line=problem.line, why=problem.why)
        await self._read_settings()

    async def _make_folder(self) -> bool:
        try:
            await asyncio.to_thread(self._wordings.mkdir, mode=0o700, exist_ok=True)
        except OSError as error:
            if str(error) != self._unread:
                self._unread = str(error)
                self._log.warning("templates.unread", why=self._unread)
            return False
        self._unread = ""
        return True

    async def _read_settings(self) -> None:
        env, is_first = self._env, self._env.settings.found == ""
        if not await settings.take_over(env, self._places, self._environ):
            return
        if env.settings.problem:
            self._log.warning("settings.broken", why=env.settings.problem)
        elif env.settings.waiting or not is_first:
            self._log.info("settings.read", waiting=list(env.settings.waiting))
