"""A throw-away PostgreSQL server in a folder, on a Unix socket.

The server refuses to run as root, so it runs as the user `postgres` then. It ends with this process, however that ends.
"""

import os
import pwd
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final, Self

from daemon.core.errors import MomoError

START_S: Final = 100.0
_PROGRAMS: Final = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
_SIGNALS: Final = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT, "kill": signal.SIGKILL}
_LOOK_S: Final = 0.05


class ServerFailed(MomoError):
    """The server did not start; the text is its log."""


def is_installed() -> bool:
    """Return whether PostgreSQL's server programs and the driver are on this machine."""
    try:
        import psycopg  # noqa: F401 -- an extra
    except ImportError:
        return False
    return bool(_PROGRAMS)


class ThrowAwayServer:
    """One running server with its folder."""

    def __init__(self, settings: str = "", within: Path | None = None) -> None:
        """Make and start it; `settings` are its options, such as `-c fsync=off`. Its folder is made in `within`."""
        assert _PROGRAMS, "it is installed"
        self._programs = _PROGRAMS[-1]
        self._settings = settings
        self.folder = Path(tempfile.mkdtemp(prefix="momo-pg-", dir=within))
        self._data = self.folder / "data"
        if os.geteuid() == 0:
            found = pwd.getpwnam("postgres")
            os.chown(self.folder, found.pw_uid, found.pw_gid)
        self._count = 0
        self.make_data()
        self.start()

    def make_data(self) -> None:
        """Make the folder of its data."""
        self.run(
            "initdb", "-D", str(self._data), "--auth=trust", "--locale=C.UTF-8", "--encoding=UTF8",
            "--username=momo", "--no-sync",
        )  # fmt: skip

    def run(self, program: str, *arguments: str) -> None:
        """Run one of the server's programs as its user."""
        done = subprocess.run(
            [*_as_user(), str(self._programs / program), *arguments], check=False, cwd="/",
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_S,
        )  # fmt: skip
        if done.returncode != 0:
            raise ServerFailed(done.stderr)

    def start(self) -> None:
        """Start it, and wait until it answers; ServerFailed if it does not in time."""
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [*_as_user("--pdeathsig=QUIT"), str(self._programs / "postgres"), "-D", str(self._data),
                 "-c", "listen_addresses=", *shlex.split(self._settings), "-k", str(self.folder)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
            )  # fmt: skip
        ends = time.perf_counter() + START_S
        while not self._answers():
            if self._server.poll() is not None or time.perf_counter() > ends:
                raise ServerFailed((self.folder / "log").read_text("utf-8", "replace"))
            time.sleep(_LOOK_S)  # noqa: TID251 -- a server starts in real time

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` ends it as a crash does, `kill` leaves its other processes to notice it."""
        self._server.send_signal(_SIGNALS[mode])
        self._server.wait(START_S)

    @property
    def pid(self) -> int:
        """The process number of the server, which is the parent of all its others."""
        return self._server.pid

    def url(self, database: str) -> str:
        """Return the address of a database, as `[store] url` takes it."""
        return f"postgresql:///{database}?host={self.folder}&user=momo"

    def new_database(self, template: str = "template1") -> str:
        """Create a database and return its address."""
        import psycopg

        self._count += 1
        name = f"shop{self._count}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
        return self.url(name)

    def remove(self) -> None:
        """Stop it and remove its files."""
        if self._server.poll() is None:
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.remove()


def _as_user(*flags: str) -> list[str]:
    user = ("--reuid=postgres", "--regid=postgres", "--clear-groups")
    return ["setpriv", *(user if os.geteuid() == 0 else ()), *flags, "--"]
