"""The notice loop: from a journal entry to a message to the owner, also if a channel fails."""

import asyncio
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from daemon.loops.notices import NoticeLoop
from daemon.runtime.log import Log
from daemon.sender.owner_notices import NotSent
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.upkeep import notices
from tests.fakes.shop import FakeShop
from tests.fakes.waiting import until


@dataclass
class FakeChannel:
    """Keeps the sent notices; fails while `fails` is set."""

    fails: bool = False
    sent: list[tuple[str, str]] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)

    async def send(self, message_id: str, subject: str, body: str) -> None:
        self.tried.append(message_id)
        if self.fails:
            raise NotSent("no route")
        self.sent.append((subject, body))


async def happens(shop: FakeShop, kind: str, **facts: Any) -> None:
    now = shop.clock.now_us()

    def job(tx: Tx) -> None:
        journal.add(tx, kind, now, data=facts)

    await shop.env.store.write(job)


async def test_what_happens_while_it_runs_goes_out_over_every_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.loops.notices.SETTLE_S", 0.0)
    shop = await FakeShop.make(tmp_path)
    email, desktop, broken = FakeChannel(), FakeChannel(), FakeChannel(fails=True)
    channels = {"email": email, "desktop": desktop, "sms": broken}
    await happens(shop, "password.changed")
    task = asyncio.create_task(NoticeLoop(shop.env, channels, Log(io.StringIO())).run())
    await until(lambda: email.sent and desktop.sent and broken.tried)
    await happens(shop, "modem.hung", device_id="a")
    # The failing channel is last in the round: with a stop before it, there would be no retry.
    await until(lambda: len(email.sent) == len(desktop.sent) == len(broken.tried) == 2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert "password was changed" in email.sent[0][1]
    assert "momo phones status" in email.sent[1][1]
    # A failing channel does not stop the others, and is tried again with the same id when it is due.
    assert broken.sent == []
    broken.fails = False
    shop.clock.advance(61)
    again = asyncio.create_task(NoticeLoop(shop.env, channels, Log(io.StringIO())).run())
    await until(lambda: len(broken.sent) == 2)
    async with asyncio.timeout(10):
        while await shop.env.store.read(notices.next_due) is not None:  # noqa: ASYNC110 -- a database has no event
            await asyncio.sleep(0.01)  # sent, and being written down
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)
    assert set(broken.tried[-2:]) <= set(broken.tried[:-2])
    assert len(email.sent) == 2
    shop.close()
