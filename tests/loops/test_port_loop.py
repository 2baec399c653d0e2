"""The loop of a port: parts are stored in order, whole messages in one commit, each part under its SIM."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from daemon.core.lines.modem_health import find_problems
from daemon.core.lines.receiving import port_problem
from daemon.loops.lines import modems
from daemon.loops.lines.modems import PortLoop
from daemon.loops.sources import handover
from daemon.modem.session import events as said
from daemon.runtime.log import Log
from daemon.runtime.message_journal import MessageJournal, SecondFolder
from tests.fakes.receipts import mtn
from tests.fakes.shop import ICCID, IMEI, MTN_IMSI, FakeShop
from tests.fakes.waiting import until

FIRST = mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001").pdus[0]
OTHER = mtn(900, "KOFI ANTWI BADU", 90_900, "food", "93214500002").pdus[0]
THIRD = mtn(700, "KOFI ANTWI BADU", 91_600, "food", "93214500003").pdus[0]
OTHER_ICCID = "8923301000000000999"


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path)
    yield made
    made.close()


class Listening:
    """Stands for the link and for the session: records the calls, and expects no further parts."""

    expects_parts = False

    def __init__(self) -> None:
        self.parts: list[said.StoredPart] = []

    def stored(self, parts: Sequence[said.StoredPart]) -> None:
        self.parts += parts


def identified(iccid: str) -> said.Identified:
    return said.Identified(IMEI, iccid, MTN_IMSI, "huawei", "E3131", None, None, None)


def read(slot: int, pdu: str) -> said.PartsRead:
    octets = bytes.fromhex(pdu)
    return said.PartsRead((said.StoredPart("SM", slot, 0, len(octets) - 1 - octets[0], pdu),))


async def test_a_part_belongs_to_the_sim_that_was_named_before_it(shop: FakeShop) -> None:
    loop = PortLoop(shop.env, "/dev/ttyUSB0", Log(io.StringIO()))
    link: Any = Listening()
    # Both arrive before the first store, as with a full disk.
    loop._heard([identified(ICCID), read(1, FIRST)])
    loop._heard([identified(OTHER_ICCID), read(1, OTHER)])
    task = asyncio.create_task(loop._store(link, link))
    await until(lambda: len(link.parts) == 2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await shop.values("SELECT (SELECT sim_key FROM sims s WHERE s.seq = sim) FROM sms_parts ORDER BY seq") == [
        ICCID,
        OTHER_ICCID,
    ]


async def test_parts_that_are_announced_together_share_a_commit(shop: FakeShop) -> None:
    loop = PortLoop(shop.env, "/dev/ttyUSB0", Log(io.StringIO()))
    first, second = mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001").pdus

    class Reading(Listening):
        """Delivers the second part as soon as the loop waits for it."""

        @property
        def expects_parts(self) -> bool:  # type: ignore[override]  # a question here, a field there
            if self.asked:
                return False
            self.asked = True
            asyncio.get_running_loop().call_soon(loop._heard, [read(2, second)])
            return True

        asked = False

    link: Any = Reading()
    loop._heard([identified(ICCID), read(1, first)])
    task = asyncio.create_task(loop._store(link, link))
    await until(lambda: bool(link.parts))
    assert [part.index for part in link.parts] == [1, 2]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_part_waits_only_a_moment_for_one_that_does_not_come(shop: FakeShop) -> None:
    loop = PortLoop(shop.env, "/dev/ttyUSB0", Log(io.StringIO()))
    link: Any = Listening()
    link.expects_parts = True
    loop._heard([identified(ICCID), read(1, FIRST)])
    task = asyncio.create_task(loop._store(link, link))
    await until(lambda: bool(link.parts))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await shop.values("SELECT (SELECT sim_key FROM sims s WHERE s.seq = sim) FROM sms_parts") == [ICCID]


async def test_on_a_damaged_shop_messages_stay_on_their_sim_until_it_is_sound(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.loops.lines.modems.STORE_RETRY_S", 0.01)
    loop = PortLoop(shop.env, "/dev/ttyUSB0", Log(io.StringIO()))
    link: Any = Listening()
    shop.env.store.distrust_file("a bad page")
    loop._heard([identified(ICCID), said.Ready(), read(1, FIRST)])
    task = asyncio.create_task(loop._store(link, link))
    await until(lambda: loop.state.state == "not_storing")
    assert "the database is damaged" in str(loop.state.detail)
    assert link.parts == []
    assert await shop.values("SELECT slot FROM sms_parts") == []
    shop.env.store.trust_file()
    await until(lambda: bool(link.parts))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await shop.values("SELECT slot FROM sms_parts") == [1]


@pytest.mark.parametrize("times", [1, float("inf")])
async def test_part_that_cannot_be_stored_by_a_bug_is_set_aside_and_the_others_are_stored(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch, times: float
) -> None:
    monkeypatch.setattr(modems, "STORE_RETRY_S", 0.01)
    left = [times]
    real = handover.store_parts

    async def store(env: Any, log: Any, source: Any, parts: Sequence[Any]) -> Any:
        if left[0] > 0 and any(part.pdu == FIRST for part in parts):
            left[0] -= 1
            raise RuntimeError("a bug")
        return await real(env, log, source, parts)

    monkeypatch.setattr(modems, "store_parts", store)
    loop = PortLoop(shop.env, "/dev/ttyUSB0", Log(io.StringIO()))
    link: Any = Listening()
    loop._heard([identified(ICCID), read(1, FIRST), read(2, OTHER)])
    task = asyncio.create_task(loop._store(link, link))
    stored = [1, 2] if times == 1 else [2]
    await until(lambda: [part.index for part in link.parts] == stored)
    assert await shop.values("SELECT slot FROM sms_parts ORDER BY slot") == stored
    # The phone still has the one that was set aside, and shows it again at each look.
    loop._heard([read(1, FIRST), read(3, THIRD)])
    await until(lambda: 3 in [part.index for part in link.parts])
    problems = [str(fault.text) for fault in shop.env.faults.all()]
    assert ["slot 1 of SM" in one for one in problems] == ([] if times == 1 else [True])
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_message_that_is_kept_or_lost_is_recorded_for_a_notice(shop: FakeShop) -> None:
    loop = PortLoop(shop.env, "/dev/ttyUSB0", Log(io.StringIO()))
    link: Any = Listening()
    part = said.StoredPart("SM", 3, 0, 0, "")
    told = said.KeptOnPhone(part, "slot 3 cannot be read", tell=True)
    loop._heard([identified(ICCID), said.KeptOnPhone(part, "not told"), told])
    loop._heard([said.MessageLost("as text")])
    task = asyncio.create_task(loop._store(link, link))
    await until(lambda: not loop._queue)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    rows = await shop.values("SELECT data FROM events WHERE type IN ('modem.kept', 'modem.message_lost')")
    assert [json.loads(row)["why"] for row in rows] == ["slot 3 cannot be read", "as text"]


async def test_journal_that_cannot_be_written_is_no_reason_to_say_that_payments_are_not_seen(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modems, "STORE_RETRY_S", 0.01)
    folder = Path(shop.env.home) / "journal-test"
    journal = MessageJournal(folder, b"k" * 32, SecondFolder(""))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(MessageJournal, "append", full)
    shop.env.message_journal = journal
    loop = PortLoop(shop.env, "/dev/ttyUSB0", Log(io.StringIO()))
    link: Any = Listening()
    loop._heard([identified(ICCID), said.Ready(), read(1, FIRST)])
    task = asyncio.create_task(loop._store(link, link))
    await until(lambda: loop.state.state == "not_deleting")
    assert await shop.values("SELECT slot FROM sms_parts") == [1]
    assert link.parts == []
    condition = loop.state.condition
    [problem] = find_problems(condition, shop.clock.now_us())
    assert "payments are booked" in str(problem.text)
    assert port_problem(condition, shop.clock.now_us()) is None
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_every_message_is_booked_while_the_journal_cannot_be_written_and_deleted_later(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modems, "STORE_RETRY_S", 0.01)
    monkeypatch.setattr(modems, "BATCH_MAX", 1)
    real, is_full = MessageJournal.append, [True]

    def append(*words: Any) -> Any:
        if is_full[0]:
            raise OSError(28, "No space left on device")
        return real(*words)

    monkeypatch.setattr(MessageJournal, "append", append)
    folder = Path(shop.env.home) / "journal-test"
    folder.mkdir()
    shop.env.message_journal = MessageJournal(folder, b"k" * 32, SecondFolder(""))
    loop = PortLoop(shop.env, "/dev/ttyUSB0", Log(io.StringIO()))
    link: Any = Listening()
    loop._heard([identified(ICCID), read(1, FIRST), read(2, OTHER), read(3, THIRD)])
    task = asyncio.create_task(loop._store(link, link))
    async with asyncio.timeout(20):
        while await shop.values("SELECT slot FROM sms_parts ORDER BY slot") != [1, 2, 3]:  # noqa: ASYNC110 -- no event announces it
            await asyncio.sleep(0.01)
    assert link.parts == []
    is_full[0] = False
    await until(lambda: sorted(part.index for part in link.parts) == [1, 2, 3])
    assert loop._queue == []
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
