"""Unknown lines, error codes and makes are logged once and stop no work; so is a phone that always reports a full storage."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.loops.lines.ports import Ports
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.config import Config, Modems
from daemon.runtime.log import Log
from daemon.runtime.system import SystemClock
from tests.fakes.receipts import STARTED
from tests.fakes.shop import FakeShop
from tests.fakes.waiting import until
from tests.phones.phone import Phone
from tests.phones.pty import PhonePort
from tests.phones.quirks import GENERIC, HUAWEI, Family

QUICK = Config(modems=Modems(poll_s=0.5, heartbeat_s=0.5, command_timeout_s=1))
STRANGE = '^NEVERSEEN: 4,"of your business"'
BUSY_S = 1.5


def sms(number: int) -> str:
    [pdu] = encode_deliver("MTN", f"Message {number}", STARTED)
    return pdu


class Watched:
    """A daemon's ports with one phone, and their log."""

    def __init__(self, phone: PhonePort, shop: FakeShop) -> None:
        self.phone = phone
        self.log = io.StringIO()
        self._shop = shop
        env = replace(shop.env, clock=SystemClock())
        self.ports = Ports(env, Log(self.log), (str(phone.link),))

    def ready(self) -> bool:
        return [port.state for port in self.ports.states()] == ["ready"]

    async def reads(self, number: int) -> None:
        """Deliver a message and see it stored and its slot empty."""
        self.phone.deliver([sms(number)])
        await until(lambda: not self.phone.call(lambda it: it.stored()))
        bodies = await self._shop.values("SELECT body FROM messages ORDER BY seq")
        assert bodies[-1] == f"Message {number}"

    def logged(self, text: str) -> int:
        return self.log.getvalue().count(text)


@contextlib.asynccontextmanager
async def watching(folder: Path, family: Family = GENERIC, *, ready: bool = True) -> AsyncIterator[Watched]:
    shop = await FakeShop.make(folder, QUICK)
    with PhonePort(Phone(family=family), link=folder / "phone") as phone:
        watched = Watched(phone, shop)
        task = asyncio.create_task(watched.ports.run())
        try:
            if ready:
                await until(watched.ready)
            yield watched
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            shop.close()


async def test_a_storm_of_unknown_lines_is_logged_once_and_messages_come_through(tmp_path: Path) -> None:
    strange = replace(GENERIC, noises=(STRANGE,))
    async with watching(tmp_path, strange) as watched:
        watched.phone.fault(storm_ms=1, noise=STRANGE, noise_inside=True)
        for number in range(5):
            await watched.reads(number)
        assert watched.ready()
        assert watched.logged("^NEVERSEEN") == 1
        assert watched.logged("of your business") == 0


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("+CSQ", "+CME ERROR: the moon"),
        ("+CPMS", "+CMS ERROR: 4711"),
        pytest.param("+CMGR", "+CMS ERROR: 4711", marks=pytest.mark.slow),
        pytest.param("+CMGD", "+CMS ERROR: 4711", marks=pytest.mark.slow),
    ],
)
async def test_an_error_that_nobody_knows_is_logged_once_and_tried_again(
    tmp_path: Path, command: str, error: str
) -> None:
    async with watching(tmp_path) as watched:
        watched.phone.fault(error_count=2, error_on=command, error_line=error)
        await watched.reads(1)
        await until(lambda: watched.phone.call(lambda it: it.faults.error_count) == 0)
        await watched.reads(2)
        assert watched.ready()
        assert watched.logged(error) == 1


async def test_an_unknown_error_at_the_start_does_not_keep_a_phone_from_being_read(tmp_path: Path) -> None:
    async with watching(tmp_path, ready=False) as watched:
        watched.phone.fault(error_count=3, error_on="+C", error_line="+CME ERROR: 4711")
        await until(watched.ready)
        await watched.reads(1)


async def test_a_make_that_nobody_knows_is_read_and_logged_once(tmp_path: Path) -> None:
    unknown = replace(GENERIC, manufacturer="ACME Radio", model="Trumpet 3000", revision="0.0.1")
    async with watching(tmp_path, unknown) as watched:
        await watched.reads(1)
        assert watched.logged("Trumpet 3000") == 1


@pytest.mark.parametrize("line", ['^SMMEMFULL: "SM"', "+SMS FULL"])
@pytest.mark.slow
async def test_a_phone_that_cries_full_with_each_answer_is_read_and_not_listed_without_end(
    tmp_path: Path, line: str
) -> None:
    stormy = replace(HUAWEI, noises=(line,), noise_ms=0)
    async with watching(tmp_path, stormy) as watched:
        watched.phone.fault(storm_ms=5, noise=line)
        for number in range(3):
            await watched.reads(number)
        before = watched.phone.call(lambda it: it.command_count)
        await asyncio.sleep(BUSY_S)
        asked = watched.phone.call(lambda it: it.command_count) - before
        assert asked < 40 * BUSY_S
        await watched.reads(9)
        assert watched.ready()
