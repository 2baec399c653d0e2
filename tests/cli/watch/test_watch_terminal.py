"""`momo watch` on a real terminal: the real program on a pty with typed keys, and the terminal's state at the end."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from daemon import wire
from momo_cli.errors import Failure
from momo_cli.flags import Flags
from momo_cli.socket.client import Client
from momo_cli.socket.connect import locate
from momo_cli.watch.loop import Fetcher
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.cli.watch.test_watch import FORGED, NEAR, REPORT
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, refusal


@pytest.mark.parametrize("argv", [(), ("--json",)])
def test_without_a_terminal_it_says_what_to_use(argv: tuple[str, ...], momo: Momo) -> None:
    ran = momo("watch", *argv)
    assert ran.code == 2
    assert "momo tx watch --json" in ran.err


@dataclass
class Screenful:
    """A program on a pty, and its whole output."""

    process: "subprocess.Popen[bytes]"
    master: int
    before: list[Any]
    said: str = ""
    heard: str = ""
    """The whole output, including the parts that `wait_for` has consumed."""

    def wait_for(self, pattern: str) -> None:
        """Read until new output matches the pattern; fails if the program writes no output, or too much other output."""
        while not (found := re.search(pattern, self.said, re.DOTALL)):
            self._read(pattern)
        self.said = self.said[found.end() :]

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """Read until a condition holds."""
        while not happened():
            self._read(str(happened))

    def _read(self, wanted: str) -> None:
        assert len(self.said) < 200_000, f"{wanted!r} never came: {self.said[-2000:]!r}"
        ready, _, _ = select.select([self.master], [], [], 15)
        assert ready, f"{wanted!r} never came: {self.said[-2000:]!r}"
        try:
            piece = os.read(self.master, 65536).decode("utf-8", "replace")
        except OSError:
            raise AssertionError(f"it ended before {wanted!r}: {self.said!r}") from None
        self.said, self.heard = self.said + piece, self.heard + piece

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def has_ended(self, code: int) -> None:
        """The program ends with this code, and leaves the terminal as it was: its own screen, a cursor, line by line."""
        self.wait_for(r"\x1b\[\?1049l.*\x1b\[\?25h|\x1b\[\?25h.*\x1b\[\?1049l")
        assert self.process.wait(30) == code
        assert termios.tcgetattr(self.master) == self.before


AT_THE_TERMINAL = """
import fcntl, runpy, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
runpy.run_module("momo_cli", run_name="__main__", alter_sys=True)
"""
"""Runs `momo` with the pty as its controlling terminal: the kernel then makes a signal of Ctrl-C."""


@contextmanager
def on_a_pty(shop: Shop, *argv: str, size: tuple[int, int] = (24, 80), **environ: str) -> Iterator[Screenful]:
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    termios.tcsetwinsize(slave, size)
    process = subprocess.Popen(
        [sys.executable, "-c", AT_THE_TERMINAL, *argv],
        env={**shop.environ, "TERM": "xterm", **environ},
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
    )  # fmt: skip
    try:
        yield Screenful(process, master, before)
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)


def test_on_a_real_terminal_it_draws_looks_up_survives_the_daemon_and_leaves_no_trace(shop: Shop, api: FakeApi) -> None:
    def events(asked: Asked) -> Says:
        # The daemon closes the stream after one event, each time.
        number = int(asked.headers.get("last-event-id", 7)) + 1
        return Says(stream=f": open\n\nid: {number}\nevent: transaction.verified\ndata: {{}}\n\n")

    api.on("GET", wire.Path.LOCAL_REPORT, ok(REPORT))
    api.on("GET", wire.Path.REVIEWS, ok([NEAR]))
    api.on("GET", wire.Path.EVENTS, events)
    api.on("GET", f"/v1/transactions/by-svc/{samples.CODE}", samples.one("PENDING"))
    api.on("POST", f"/v1/reviews/{NEAR['id']}/approve", refusal(409, "REVIEW_ALREADY_DECIDED"))
    with on_a_pty(shop, "watch", NO_COLOR="1") as screen:
        screen.wait_for(r"\x1b\[\?1049h.*Ama Provisions.*██.*TODAY")
        screen.type(samples.CODE.lower())
        screen.wait_for("7KQ2MX … waiting")
        screen.wait_for("daemon unreachable")
        screen.wait_for("live")
        screen.type("+")
        screen.wait_for("decided")
        termios.tcsetwinsize(screen.master, (40, 140))
        screen.process.send_signal(signal.SIGWINCH)
        screen.wait_for("─{100,}")
        screen.process.send_signal(signal.SIGINT)
        screen.has_ended(130)
    assert "\x1b[3" not in screen.said
    asked = [call for call in api.asked if call.path == wire.Path.EVENTS]
    assert asked[1].headers["last-event-id"] == "8"


class Counter:
    """A shop with one review that waits. Its events end at once, so the books are asked for again and again."""

    def __init__(self, api: FakeApi, review: dict[str, Any], *approvals: Says) -> None:
        self._path = f"/v1/reviews/{review['id']}/approve"
        self._api = api
        api.on("GET", wire.Path.LOCAL_REPORT, ok(REPORT))
        api.on("GET", wire.Path.REVIEWS, ok([review]))
        api.on("GET", wire.Path.EVENTS, Says(stream=": open\n\n"))
        api.on("GET", f"/v1/transactions/by-svc/{samples.CODE}", samples.one("PENDING"))
        api.on("POST", self._path, *approvals)

    def pays(self, payment: str) -> None:
        """Let a payment come in."""
        recent = [{**samples.RECENT, "id": payment}, *REPORT["recent"]]
        self._api.on("GET", wire.Path.LOCAL_REPORT, ok({**REPORT, "recent": recent}))

    def seconds(self, number: int) -> Callable[[], bool]:
        """Return whether so many whole seconds have passed: the program requests events again a second after they ended."""
        now = self._asked(wire.Path.EVENTS)
        # The first may come at once.
        return lambda: self._asked(wire.Path.EVENTS) > now + number

    def _asked(self, path: str) -> int:
        return sum(asked.path == path for asked in self._api.asked)

    @property
    def approved(self) -> list[Any]:
        """The bodies of the approvals."""
        return [asked.body for asked in self._api.asked if asked.path == self._path]


APPROVED = ok({**samples.REVIEW, "state": "approved"}, transaction=samples.ONE)


@pytest.mark.parametrize("size", [(24, 80), (24, 40)])
def test_one_key_at_the_till_approves_a_near_miss_and_q_is_a_letter_of_codes(
    size: tuple[int, int], shop: Shop, api: FakeApi
) -> None:
    counter = Counter(api, NEAR, APPROVED)
    with on_a_pty(shop, "watch", size=size) as screen:
        screen.wait_for("approve.*quit")
        screen.wait_until(counter.seconds(1))
        screen.type("+")
        screen.wait_for("✓ Approved: GHS 12.50")
        screen.type("q")
        screen.wait_for("Q_____")
        screen.type("\x04")
        screen.has_ended(0)
    assert counter.approved == [{"reference": samples.REF}]


def test_what_may_be_forged_takes_yes_and_the_owners_password_and_sigterm_leaves_no_trace(
    shop: Shop, api: FakeApi
) -> None:
    wrong = refusal(403, "INVALID_PASSWORD", attempts_remaining=4)
    counter = Counter(api, FORGED, wrong, APPROVED)
    with on_a_pty(shop, "watch") as screen:
        screen.wait_for("approve.*quit")
        screen.wait_until(counter.seconds(1))
        for password, said in (("horse battery", "4 tries left"), ("staple", "✓ Approved")):
            screen.type("+")
            screen.wait_for("Type YES")
            screen.type("YES\r")
            screen.wait_for("The owner's password")
            screen.type(f"{password}\r")
            screen.wait_for(said)
        screen.process.send_signal(signal.SIGTERM)
        screen.has_ended(143)
        assert "horse" not in screen.heard
    assert [body["password"] for body in counter.approved] == ["horse battery", "staple"]


def test_a_screen_that_only_shows_finds_codes_rings_in_colour_and_approves_nothing(shop: Shop, api: FakeApi) -> None:
    counter = Counter(api, NEAR, APPROVED)
    with on_a_pty(shop, "watch", "--read-only", size=(24, 40)) as screen:
        screen.wait_for(r"read-only.*\x1b\[1;32m.*PAID.*quit")
        screen.type("+")
        screen.wait_for("This screen is read-only")
        screen.type(samples.CODE.lower())
        screen.wait_for(r"7KQ2MX [^ ]*… waiting")
        assert "\x07" not in screen.heard
        counter.pays("new")
        screen.wait_for("\x07")
        screen.type("*")
        screen.wait_for("Sound is off")
        counter.pays("newer")
        screen.wait_until(counter.seconds(1))
        screen.type("\x03")
        screen.has_ended(130)
        assert screen.heard.count("\x07") == 1
        assert "takes it" not in screen.heard
        assert "+ approve" not in screen.heard
    assert counter.approved == []


def test_a_daemon_that_stays_away_for_half_a_minute_ends_the_screen(
    shop: Shop, naps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("momo_cli.system.monotonic", lambda: sum(naps))
    client = Client(locate(Flags(), shop.environ, os.getuid()), pause=naps.append)
    fetcher = Fetcher(client)
    fetcher._read_events()
    with pytest.raises(Failure) as ended:
        fetcher.results()
    assert ended.value.code == wire.ErrorCode.DAEMON_DOWN
    assert ended.value.next == ("momo daemon start", "momo watch")
    assert sum(naps) == 30
