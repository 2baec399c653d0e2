"""The loop of present faults: it notifies the owner without the database, and rescues a lost file once."""

import contextlib
import io
import shutil
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.core.errors import Unavailable
from daemon.core.limits import MINUTE_US
from daemon.loops.faults import FaultLoop
from daemon.runtime.log import Log
from daemon.sender.owner_notices import NotSent
from daemon.wire import FaultCause
from tests.fakes.shop import FakeShop


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path)
    yield made
    made.close()


class Recorder:
    """A channel that keeps the sent notices."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.sent: list[tuple[str, str]] = []
        self._refuses = refuses

    async def send(self, message_id: str, subject: str, body: str) -> None:
        if self._refuses:
            raise NotSent("the mail server does not answer")
        self.sent.append((subject, body))


def read_only() -> Unavailable:
    return Unavailable("the database cannot be written", cause=FaultCause.DATABASE_READ_ONLY, next_step="mount it")


async def test_a_fault_is_told_over_every_channel_after_a_minute_and_so_is_its_end(shop: FakeShop) -> None:
    mail, broken = Recorder(), Recorder(refuses=True)
    loop = FaultLoop(shop.env, {"sms": broken, "email": mail}, Log(io.StringIO()))
    shop.env.store.fault = read_only()
    await loop.look()
    assert mail.sent == []
    shop.clock.advance(MINUTE_US / 1_000_000)
    await loop.look()
    await loop.look()
    ((subject, body),) = mail.sent
    assert subject == "momo: The database cannot be written"
    assert "payment messages wait on the SIM" in body
    assert body.endswith("\n\nmount it")
    shop.env.store.fault = None
    await loop.look()
    assert mail.sent[1][1].startswith("It is over: The database cannot be written")


async def test_a_lost_file_is_copied_once_and_its_copy_is_named(shop: FakeShop) -> None:
    loop = FaultLoop(shop.env, {}, Log(io.StringIO()))
    await shop.request()
    Path(shop.env.store.path).unlink()
    with pytest.raises(Unavailable):
        await shop.env.store.check_writable()
    await loop.look()
    await loop.look()
    (copy,) = Path(shop.env.home).glob("momo.rescued-*.db")
    (fault,) = shop.env.faults.all()
    assert fault.cause is FaultCause.DATABASE_MISSING
    assert str(copy) in str(fault.text)
    assert fault.next_step == f"momo restore --stop {copy}"


@pytest.mark.parametrize("again", [False, True], ids=["folder", "file in its place"])
async def test_a_copy_that_cannot_be_written_does_not_end_the_loop(tmp_path: Path, *, again: bool) -> None:
    folder = tmp_path / "shop"
    shop = await FakeShop.make(folder)
    loop = FaultLoop(shop.env, {}, Log(io.StringIO()))
    shutil.rmtree(folder)
    if again:
        folder.touch()
    await loop.look()
    with contextlib.suppress(Unavailable):
        await shop.env.store.check_writable()
    await loop.look()
    (fault,) = shop.env.faults.all()
    copies = [] if again else list(folder.glob("momo.rescued-*.db"))
    assert ("A copy of the data" in str(fault.text)) is bool(copies) is not again
    shop.close()


async def test_a_message_journal_that_cannot_be_read_is_named(shop: FakeShop) -> None:
    loop = FaultLoop(shop.env, {}, Log(io.StringIO()))
    shop.env.journal_fault = "[Errno 5] Input/output error"
    await loop.look()
    (fault,) = shop.env.faults.all()
    assert fault.cause is FaultCause.MESSAGE_JOURNAL_UNREADABLE
    assert "no phone is read" in str(fault.text)
    shop.env.journal_fault = ""
    await loop.look()
    assert shop.env.faults.all() == []


async def test_database_that_another_program_locks_is_named_while_it_lasts(shop: FakeShop) -> None:
    env = shop.env
    loop = FaultLoop(env, {}, Log(io.StringIO()))
    if env.store.server:
        pytest.skip("another program cannot lock the database on a server")
    with contextlib.closing(sqlite3.connect(env.store.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="locked"):
            await env.store.check_writable()
    await loop.look()
    assert [fault.cause for fault in env.faults.all()] == [FaultCause.DATABASE_BUSY]
    await env.store.check_writable()
    await loop.look()
    assert env.faults.all() == []
