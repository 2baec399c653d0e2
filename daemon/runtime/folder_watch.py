"""The only user of watchfiles: a thread that reports changed files in folders.

Folders are watched, never files: a file that an editor replaces is another file, whose changes a watch of the old one does
not see. The thread sleeps in Rust; `watchfiles.awatch` would wake the event loop twenty times a second.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

STEP_MS: Final = 500
"""How long a folder must be quiet before its changes are reported. The thread wakes once in this time."""
QUIET_MS_MAX: Final = 2_000
"""The longest wait for that: the database in the shop's folder is written all the time."""


class FolderWatch:
    """Watches folders."""

    def __init__(self, is_wanted: Callable[[Path], bool], on_change: Callable[[], None]) -> None:
        """Prepare; `arm` begins.

        Args:
            is_wanted: Returns whether the change of a file is reported.
            on_change: Called in the thread of the watch.
        """
        self._is_wanted = is_wanted
        self._on_change = on_change
        self._armed: dict[str, tuple[int, int]] = {}
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
        self.close()
        self._armed, self._stop = found, threading.Event()
        if found:
            self._thread = threading.Thread(
                target=self._run, args=(frozenset(found), self._stop), name="folder watch"
            )
            self._thread.start()

    def close(self) -> None:
        """Stop to watch; the thread ends within a step."""
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
        except (ImportError, OSError, RuntimeError) as error:
            # The library raises OSError when no more folders may be watched, RuntimeError when no more programs may watch.
            self._fault = str(error) or type(error).__name__
            self._forget(stop)

    def _forget(self, stop: threading.Event) -> None:
        if not stop.is_set():
            self._armed = {}
