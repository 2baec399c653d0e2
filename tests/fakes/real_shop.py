"""A shop of the real programs in a folder: `setup`, `run`, kill and restart, and calls over its socket.

    with Receiver(tmp_path / "receiver") as receiver, PhoneProcess(tmp_path / "tty") as phone:
        with RealShop(tmp_path / "shop", phone=phone.link, ca_file=receiver.ca_file) as shop:
            shop.start()
            shop.assign("0244124567")
            receiver.secrets = [shop.add_endpoint(receiver.url())]
            request = shop.request("25.00")
            ...
            shop.kill()
            shop.restart()

Everything has a time limit, and every started program is ended by its process number when the block ends. The daemon's
output of all its runs is in `shop.log`. Benchmarks use this too.
"""

import asyncio
import contextlib
import datetime
import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import psycopg

from daemon import wire
from daemon.core.inputs import Source
from daemon.core.limits import HOUR_US
from daemon.core.messages.trust import SmscSource
from daemon.core.names import network_of
from daemon.store.engine import Tx
from daemon.store.lines import devices
from daemon.store.messages.balances import learn_smsc
from daemon.store.open_store import new_store
from tests.fakes.chain import begin_chain
from tests.phones.sim import Identity

ROOT = Path(__file__).resolve().parents[2]
START_S = 60.0
STOP_S = 60.0
ANSWER_S = 60.0
"""Limits that end a hung program; generous, because a start takes a second of a processor that other tests use too."""
SOON_S = 25.0
"""Time limit for expected results on a busy machine; shorter than the loops' own polling intervals."""
QUIET_START_S = 1.0
"""Duration of a start on an idle machine."""
SLOWNESS_MAX = 4.0
SHORT_SCHEDULE_S = (0.2, 0.2, 0.5, 0.5, *([1.0] * 60))
"""Retry schedule for tests in which the receiver or the daemon is often away."""

CANARIES = (
    "244123456", "24 412 3456", "244124567", "Ama Mensah", "KOFI ANTWI", "ANTWI BADU", "correct horse",
    "Payment received for", "Confirmed. You have received",
)  # fmt: skip
"""Private data used by all tests: numbers, names, a password and phrases of messages."""

Settings = Mapping[str, Mapping[str, object]]
Found = TypeVar("Found")


_COPIED: Final = ("database", "master_key")
_SET_UP: Final[dict[str, tuple["Keys", dict[str, bytes]]]] = {}
"""By its name, the first shop that this process set up in a file: `setup` takes a second, and makes the next ones alike."""


class NotStarted(Exception):
    """The daemon ended or did not become ready; the text is its output."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys and secrets that `setup` shows once."""

    api: str
    test_api: str
    webhook_secret: str


class RealShop:
    """One shop. A context manager: leaving the block kills a daemon that still runs."""

    def __init__(
        self,
        folder: Path,
        *,
        phone: Path | str | None = None,
        ca_file: str = "",
        settings: Settings | None = None,
        short_schedule: bool = False,
        name: str = "Ama Provisions",
        url: str = "",
        standby_of: "RealShop | None" = None,
    ) -> None:
        """Make the shop: its folder, settings and keys. The daemon is not started yet.

        Args:
            folder: Becomes `MOMO_HOME`.
            phone: The tty that the daemon serves; None lets it search for modems.
            ca_file: The receiver's CA.
            settings: Sections and keys of `config.toml`, over those of the harness.
            short_schedule: Retry deliveries within seconds.
            name: The shop's name.
            url: The database server; empty for a file.
            standby_of: A shop on a server, for which this one is the second machine.
        """
        self.home = folder
        self.phone = phone
        self.log = folder / "daemon.log"
        self._begin = 0
        self._spawned_s = 0.0
        self.slowness = 1.0
        """Ratio of the last start's duration to that on an idle machine, limited to `SLOWNESS_MAX`. Delays before kills
        are multiplied by it, so that the kills hit running work.
        """
        self.process: subprocess.Popen[bytes] | None = None
        self.pid = 0
        """The daemon itself, also when it runs under another program."""
        self.http = ""
        """`HOST:PORT` of the API over TCP."""
        self.environ = {
            **{key: value for key, value in os.environ.items() if not key.startswith("MOMO_")},
            "MOMO_HOME": str(folder),
        }
        self.places = wire.places(self.environ, os.getuid(), "/tmp")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        merged: dict[str, dict[str, object]] = {
            "webhooks": {"allow_private_hosts": ["localhost"]},
            # Most tests' first receipts name balances of their own, which do not join.
            "trust": {"unconfirmed_limit": 1_000_000},
        }
        if ca_file:
            merged["webhooks"]["ca_file"] = ca_file
        if short_schedule:
            merged["webhooks"] |= {"retry_schedule_s": SHORT_SCHEDULE_S, "jitter": 0.1}
        for section, values in (settings or {}).items():
            merged.setdefault(section, {}).update(values)
        self.url: str = url or (standby_of.url if standby_of is not None else "")
        if self.url:
            merged["store"] = {"url": self.url}
        self.write_settings(merged)
        if standby_of is not None:
            self.keys: Keys = standby_of.keys
            shutil.copy2(standby_of.places.master_key, self.places.master_key)
        elif self.url:
            self.keys = self._set_up(name)
        elif name in _SET_UP:
            self.keys, kept = _SET_UP[name]
            self._write_set_up(kept)
        else:
            self.keys = self._set_up(name)
            _SET_UP[name] = self.keys, {copied: Path(getattr(self.places, copied)).read_bytes() for copied in _COPIED}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_exc: object) -> None:
        self.kill()
        if kind is None:
            assert not self.leaked(), "the log or a crash file tells what it must not"

    def leaked(self) -> list[str]:
        """Return private data of this shop that appears in a log or a crash file.

        Every test with a real shop checks this at its end, so each one tests the masking too: the customer's and the
        shop's number in each form, the names in its SMS and account, its keys, secrets and password.
        """
        files = [self.log, *Path(self.places.log).rglob("*"), *Path(self.places.state).rglob("*")]
        logged = "\n".join(f.read_text("utf-8", "replace") for f in files if f.is_file())
        secrets = (self.keys.api, self.keys.test_api, self.keys.webhook_secret)
        private = [*CANARIES, *(secret for secret in secrets if secret)]
        return [canary for canary in private if canary.lower() in logged.lower()]

    def write_settings(self, settings: Settings) -> None:
        """Write `config.toml`; the next start reads it."""
        lines: list[str] = []
        for section, values in settings.items():
            lines.append(f"[{section}]")
            # A JSON string, number, boolean or list of them is also TOML.
            lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
        Path(self.places.config).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def begin_chain(
        self, balance_minor: int, provider: str = "momo_mtn", iccid: str = Identity().iccid, home: str | None = None
    ) -> None:
        """Store an old message that names the wallet's balance, before the daemon starts: receipts that join it are plain.

        `home` is a home SMSC, of a SIM that names none.
        """
        now = time.time_ns() // 1000
        at = now - HOUR_US

        def job(tx: Tx) -> None:
            # No phone has been read yet; the SIM was in one that is forgotten.
            devices.restore_sim(tx, Source(iccid, devices.NO_DEVICE, 0, network=network_of(provider), since=now))
            devices.forget_placeholder(tx, devices.NO_DEVICE, now)
            begin_chain(tx, iccid, provider, balance_minor, at)
            if home is not None:
                learn_smsc(tx, iccid, home, SmscSource.SIM, None, now)

        store = new_store(self.places.database, self.url)
        store.connect(at)
        try:
            asyncio.run(store.write(job))
        finally:
            store.close()

    def _write_set_up(self, kept: Mapping[str, bytes]) -> None:
        for copied, octets in kept.items():
            place = Path(getattr(self.places, copied))
            place.touch(0o600)
            place.write_bytes(octets)
        self._date_set_up()

    def _date_set_up(self) -> None:
        """Date a copy's set-up now: with a journal that ended minutes ago, the daemon does not trust its clock at first."""
        with contextlib.closing(sqlite3.connect(self.places.database)) as base, base:
            # A trigger forbids changes of events, but these rows must look like a set-up of now.
            name = "events_never_change"
            ((trigger,),) = base.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,))
            base.execute(f"DROP TRIGGER {name}")
            base.execute("UPDATE events SET at = ?", (time.time_ns() // 1000,))
            base.execute(trigger)

    def _set_up(self, name: str) -> Keys:
        password = self.home / "password"
        password.write_text("correct horse 42\n", encoding="utf-8")
        password.chmod(0o600)
        done = self.program("setup", "--shop", name, "--password-file", str(password), "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        data = json.loads(done.stdout)["data"]
        return Keys(data["api_key"], data["test_api_key"], data["webhook_secret"])

    # The programs.

    def program(self, *arguments: str, timeout_s: float = START_S) -> subprocess.CompletedProcess[str]:
        """Run `python -m daemon ...` to its end; fail the test after `timeout_s`."""
        return subprocess.run(
            [sys.executable, "-m", "daemon", *arguments],
            cwd=ROOT, env=self.environ, capture_output=True, text=True, timeout=timeout_s,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def momo(self, *arguments: str, timeout_s: float = ANSWER_S) -> subprocess.CompletedProcess[str]:
        """Run a `momo` command to its end, without a terminal."""
        return subprocess.run(
            [sys.executable, "-m", "momo_cli", *arguments],
            cwd=ROOT, env=self.environ, capture_output=True, text=True, timeout=timeout_s,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def start(
        self,
        *,
        http: str = "127.0.0.1:0",
        prefix: Sequence[str] = (),
        arguments: Sequence[str] = (),
        user: int | None = None,
    ) -> Self:
        """Start the daemon and return when it is ready.

        Args:
            http: As `--http`.
            prefix: A program and its arguments to run the daemon under (`strace ...`).
            arguments: More flags of `run`.
            user: The numeric user to run as; only root may.

        Raises:
            NotStarted: It ended, or was not ready in time.
        """
        self.spawn(http=http, prefix=prefix, arguments=arguments, user=user)
        return self.wait_ready()

    def spawn(
        self,
        *,
        http: str = "127.0.0.1:0",
        prefix: Sequence[str] = (),
        arguments: Sequence[str] = (),
        user: int | None = None,
    ) -> None:
        """Start the daemon as `start` does, without waiting for it."""
        assert self.process is None, "it runs already"
        flags = [] if self.phone is None else ["--modem", str(self.phone)]
        with self.log.open("ab") as log:
            self._begin = log.tell()
            self._spawned_s = _now()
            self.process = subprocess.Popen(
                [*prefix, sys.executable, "-m", "daemon", "run", "--http", http, *flags, *arguments],
                cwd=ROOT, env=self.environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                user=user,
            )  # fmt: skip

    def wait_ready(self) -> Self:
        """Wait for the line `ready` of a spawned daemon.

        Raises:
            NotStarted: It ended, or was not ready in time.
        """
        process = self.process
        assert process is not None, "it was not spawned"
        until = _now() + START_S
        while True:
            lines = self.said_now().splitlines(keepends=True)
            ready = next((line for line in lines if line.startswith("ready ")), "")
            if ready.endswith("\n"):
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(0.01)
                self.process = None
                raise NotStarted(f"exit {code}: {self.said_now()}")
            if _now() > until:
                self.kill()
                raise NotStarted(f"not ready in {START_S} s: {self.said_now()}")
        started_s = _now() - self._spawned_s
        self.slowness = min(max(1.0, started_s / QUIET_START_S), SLOWNESS_MAX)
        words = dict(word.split("=", 1) for word in ready.split()[1:])
        self.pid = int(words["pid"])
        self.http = words["http"]
        return self

    def kill(self) -> None:
        """Kill the daemon with SIGKILL, as a power cut does. Do nothing if it does not run."""
        process, self.process = self.process, None
        if process is None:
            return
        pids = {process.pid, self.pid or process.pid}
        if process.returncode is not None:
            pids.remove(process.pid)  # already reaped: another process may have this number now
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(STOP_S)
        self.pid = 0

    def stop(self) -> None:
        """Stop the daemon with SIGTERM; it must exit with 0."""
        process, self.process = self.process, None
        assert process is not None, "it does not run"
        os.kill(self.pid or process.pid, signal.SIGTERM)
        try:
            code = process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_S)
            raise
        self.pid = 0
        assert code == 0, f"exit {code}: {self.said()[-2000:]}"

    def restart(self, **how: Any) -> Self:
        """Kill the daemon if it runs, and start it."""
        if self.process is not None:
            self.stop()
        return self.start(**how)

    def running(self) -> bool:
        """Return whether the daemon runs."""
        return self.process is not None and self.process.poll() is None

    def said(self) -> str:
        """Return the output of the daemon in all its runs."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def said_now(self) -> str:
        """Return the output of the daemon since its last start."""
        return self.log.read_bytes()[self._begin :].decode(errors="replace")

    # The API, over the Unix socket.

    def api(
        self, method: str, path: str, body: object = None, *, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Call the API; return the status and the JSON of the answer.

        Raises:
            OSError: The daemon does not listen, or ended while it answered.
            http.client.HTTPException: The daemon ended in the middle of an answer.
        """
        connection = _UnixConnection(self.places.socket)
        try:
            content = None if body is None else json.dumps(body).encode()
            given = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, content, {**given, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Call the API, which must answer 200 or 201; return `data`."""
        status, answer = self.api(method, path, body)
        assert status in {200, 201}, answer
        return answer["data"]

    def sims(self, count: int = 1, timeout_s: float = ANSWER_S) -> list[dict[str, Any]]:
        """Wait for the phones and return them."""

        def look() -> list[dict[str, Any]] | None:
            phones: list[dict[str, Any]] = self.ask("GET", wire.Path.SIMS)
            return phones if len([sim for phone in phones for sim in phone["sims"]]) >= count else None

        return wait_until(look, timeout_s, f"{count} SIMs")

    def assign(self, phone_number: str, provider: str = "momo_mtn", name: str = "Ama Mensah") -> dict[str, Any]:
        """Put a number of the shop on the first SIM; return the payment method."""
        device = self.sims()[0]
        sim = {"device_id": device["device_id"], "slot_index": device["sims"][0]["slot_index"]}
        method: dict[str, Any] = self.ask(
            "POST",
            wire.Path.PAYMENT_METHODS,
            {"provider": provider, "phone_number": phone_number, "account_name": name, "sim": sim},
        )
        return method

    def add_endpoint(self, url: str, description: str = "the shop's server") -> str:
        """Add a webhook endpoint for both events of a paid transaction; return its signing secret."""
        events = [wire.EventKind.FORWARDED, wire.EventKind.COMPLETED]
        body = {"url": url, "description": description, "events": events}
        status, answer = self.api("POST", wire.Path.ENDPOINTS, body)
        assert status in {200, 201}, answer
        secret: str = answer["secret"]
        return secret

    def request(self, amount: str, phone_number: str = "0244123456", **fields: object) -> dict[str, Any]:
        """Make a transaction; return `data` of initialize."""
        request: dict[str, Any] = self.ask(
            "POST", wire.Path.INITIALIZE, {"amount": amount, "phone_number": phone_number, **fields}
        )
        return request

    def transaction(self, reference: str) -> dict[str, Any]:
        """Return one transaction."""
        found: dict[str, Any] = self.ask("GET", f"/v1/transactions/{reference}")
        return found

    # The database: durable state, also while the daemon does not run.

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a SELECT. After a kill the daemon finds the files unchanged."""
        if self.url:
            with psycopg.connect(self.url) as base:
                return base.execute(statement.replace("?", "%s").encode(), parameters).fetchall()
        if self.process is not None:
            return _select(Path(self.places.database), statement, parameters)
        with tempfile.TemporaryDirectory() as folder:
            # Opening the files would recover and empty the log; that is the next start's work.
            for end in ("", "-wal"):
                source = Path(self.places.database + end)
                if source.exists():
                    shutil.copy(source, Path(folder) / f"copy{end}")
            return _select(Path(folder) / "copy", statement, parameters)


def _select(database: Path, statement: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(database, timeout=10)
    try:
        connection.execute("PRAGMA query_only=ON")
        return connection.execute(statement, parameters).fetchall()
    finally:
        connection.close()


def utc_now() -> datetime.datetime:
    """Return the time that the daemon also sees."""
    return datetime.datetime.fromtimestamp(time.time_ns() // 1_000_000_000, datetime.UTC)


def wait_until(look: Callable[[], Found | None], timeout_s: float, what: str) -> Found:
    """Return the result of `look`, polled every 20 ms until it is true.

    Raises:
        AssertionError: It was not true in time.
    """
    until = _now() + timeout_s
    while not (found := look()):
        assert _now() < until, f"{what}: not in {timeout_s} s"
        pause(0.02)
    return found


def pause(seconds: float) -> None:
    """Sleep in real time; real programs have no simulated clock."""
    if seconds > 0:
        threading.Event().wait(seconds)


def _now() -> float:
    return time.monotonic_ns() / 1e9


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__(wire.SOCKET_HOST, timeout=ANSWER_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
