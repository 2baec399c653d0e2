"""Commands that wait, while the real daemon is killed or stopped and is back some seconds later, or stays away."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_listening import active
from tests.fakes.listen_process import LocalReceiver
from tests.fakes.real_shop import ROOT, SOON_S, RealShop, pause, wait_until
from tests.fakes.tiers import LONG

pytestmark = pytest.mark.slow

RESTARTING = "the daemon is restarting; waiting\n"
BACK = "the daemon is back\n"
IMPATIENT = """
import sys
from momo_cli.socket import client
client.AWAY_S_MAX = 3.0
from momo_cli.__main__ import main
sys.exit(main())
"""
"""The command line, which gives up after 3 seconds instead of 30."""


class Command:
    """A running `momo` command."""

    def __init__(self, shop: RealShop, folder: Path, *words: str, impatient: bool = False) -> None:
        self._out, self._err = folder / f"{words[0]}-{words[1]}.out", folder / f"{words[0]}-{words[1]}.err"
        program = ["-c", IMPATIENT] if impatient else ["-m", "momo_cli"]
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, *program, *words], cwd=ROOT, env=shop.environ,
                stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            )  # fmt: skip

    @property
    def err(self) -> str:
        return self._err.read_text()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._out.read_text().splitlines()]

    def ends(self, timeout_s: float = SOON_S) -> int:
        return self.process.wait(timeout_s)


@contextmanager
def running(shop: RealShop, folder: Path, *words: str, impatient: bool = False) -> Iterator[Command]:
    command = Command(shop, folder, *words, impatient=impatient)
    try:
        yield command
    finally:
        command.process.kill()
        command.process.wait()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[RealShop]:
    phone = tmp_path / "no-phone"
    with RealShop(tmp_path / "shop", phone=phone, short_schedule=True) as made:
        made.start(http="off")
        yield made


def order(shop: RealShop) -> tuple[str, str]:
    """Create a transaction of the sandbox; return its reference and code."""
    done = shop.momo("init", "12.50", "--phone", "0244124567", "--sandbox", "--json")
    data = json.loads(done.stdout)["data"]
    return data["reference"], data["svc_code"]


def pay(shop: RealShop, code: str) -> None:
    done = shop.momo("simulate", "payment", "--order", code, "--json")
    assert done.returncode == 0, done.stderr


def code_of(waiting: Command) -> str:
    return wait_until(lambda: re.search(r"CODE +(\w{6})", waiting.err), SOON_S, "its code")[1]


INIT = ("init", "12.50", "--phone", "0244124567", "--sandbox", "--wait=5m", "--json")
PROBES_S = 90.0
CASES = [("kill", 2.0), ("stop", 5.0)]
if LONG:
    CASES += [("stop", 2.0), ("kill", 5.0), ("kill", 20.0), ("stop", 20.0)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("way", "gap_s"), CASES)
def test_every_wait_goes_on_after_a_restart_and_gets_its_payment(
    way: str, gap_s: float, shop: RealShop, tmp_path: Path
) -> None:
    reference, code = order(shop)
    with ExitStack() as stack:
        wait, init, watch, listen = [
            stack.enter_context(running(shop, tmp_path, *words))
            for words in (
                ("tx", "wait", reference, "--json"),
                INIT,
                ("tx", "watch", "--json"),
                ("listen", "--print", "--json"),
            )
        ]
        own = code_of(init)
        wait_until(lambda: active(shop), SOON_S, "a listener")
        pause(1)  # until the last of them follows the events
        shop.kill() if way == "kill" else shop.stop()
        pause(gap_s)
        shop.start(http="off")
        # At once: an event before a command is connected again must not be missed.
        pay(shop, code)
        pay(shop, own)
        assert (wait.ends(), init.ends()) == (0, 0), wait.err + init.err
        for command in (wait, init):
            (answer,) = command.lines
            assert (answer["data"]["status"], command.err.count(RESTARTING)) == ("SUCCESS", 1)
        # An attempt before it is back counts as a failure; the half-open probes come 5, 15 and 30 s later.
        wait_until(lambda: len(listen.lines) >= 4, PROBES_S, "its webhooks")
        for command in (watch, listen):
            wait_until(lambda c=command: c.err.count(BACK) == 1, SOON_S, "it is back")  # type: ignore[misc]
            assert command.err.count(RESTARTING) == 1
            assert command.process.poll() is None
        verified = [row["data"]["reference"] for row in watch.lines if row["event"] == "transaction.verified"]
        assert sorted(verified) == sorted([reference, init.lines[0]["data"]["reference"]])
    kinds = sorted((row["event"], row["payload"]["data"]["reference"]) for row in listen.lines)
    assert len(set(kinds)) == 4, kinds
    # The call that creates was made once.
    assert shop.rows("SELECT COUNT(*) FROM transactions")[0] == (2,)


def test_a_daemon_that_stays_away_ends_each_wait_with_the_command_to_go_on(shop: RealShop, tmp_path: Path) -> None:
    reference, _ = order(shop)
    receiver = LocalReceiver()
    with ExitStack() as stack:
        stack.callback(receiver.server_close)
        commands = [
            stack.enter_context(running(shop, tmp_path, *words, impatient=True))
            for words in (
                ("tx", "wait", reference),
                INIT[:-1],
                ("tx", "watch", reference),
                ("listen", "--forward-to", receiver.url),
            )
        ]
        wait, init, watch, listen = commands
        code_of(init)
        endpoint = wait_until(lambda: active(shop), SOON_S, "a listener")
        pause(1)
        shop.kill()
        for command in commands:
            assert command.ends() == 7, command.err
            assert command.err.count(RESTARTING) == 1
            assert re.search(r"away for \d+ s, so the wait has ended", command.err), command.err
            assert "  next:  momo daemon start\n" in command.err
    assert f"         momo tx wait {reference}\n" in wait.err
    assert re.search(r"         momo tx wait svc_trx_[0-9a-f]{32}\n", init.err)
    assert re.search(rf"         momo tx watch {reference} --since-event \d+\n", watch.err)
    assert f"momo listen --forward-to '{receiver.url}' --endpoint {endpoint}" in listen.err


def test_the_time_limit_of_a_wait_holds_while_the_daemon_is_away(shop: RealShop, tmp_path: Path) -> None:
    reference, _ = order(shop)
    begun = time.monotonic_ns()
    with running(shop, tmp_path, "tx", "wait", reference, "--timeout", "8s", "--json") as wait:
        pause(3)
        shop.kill()
        assert wait.ends() == 8, wait.err
        assert (time.monotonic_ns() - begun) / 1e9 < 12
        assert wait.lines[0]["data"]["status"] == "PENDING"
