"""Branches that are behind send long requests; what has just happened at another branch does not wait for all of them."""

import asyncio
import threading
from pathlib import Path

import httpx
import pytest

from daemon import wire
from daemon.api.branches import LIVE_FACTS
from tests.fakes.api import FakeApi, running
from tests.fakes.waiting import until

BEHIND = ("bole", "ejura", "nsawam", "techiman", "wa")


async def joined(hub: FakeApi, name: str) -> httpx.AsyncClient:
    made = await hub.local.post(wire.Path.LOCAL_HUB_INVITES, json={"name": name})
    word = {"word": made.json()["data"]["word"]}
    key = (await hub.live.post(wire.Path.BRANCH_JOIN, json=word)).json()["data"]["key"]
    return await hub.client(key)


def request(facts: int) -> dict[str, object]:
    """Return a request with facts of a kind that this hub does not know and keeps."""
    made = [{"seq": n, "kind": "later", "id": f"id-{n}", "row": {}} for n in range(1, facts + 1)]
    return EMPTY | {"upto": facts, "facts": made}


async def test_a_short_request_is_not_answered_after_all_long_ones(tmp_path: Path) -> None:
    async with running(tmp_path) as hub:
        await hub.local.post(wire.Path.LOCAL_HUB, json={})
        clients = {name: await joined(hub, name) for name in (*BEHIND, "kumasi")}
        answered: list[str] = []

        async def send(name: str) -> None:
            body = request(1 if name == "kumasi" else LIVE_FACTS + 1)
            answer = await clients[name].post(wire.Path.BRANCH_SYNC, json=body)
            assert answer.status_code == 200, answer.text
            answered.append(name)

        gate = threading.Event()
        busy = asyncio.create_task(hub.shop.env.store.write(lambda _tx: gate.wait(10)))
        long = [asyncio.create_task(send(name)) for name in BEHIND]
        await asyncio.sleep(0.3)  # all of them have come
        short = asyncio.create_task(send("kumasi"))
        await asyncio.sleep(0.1)
        gate.set()
        await asyncio.gather(busy, short, *long)
        assert answered[-1] != "kumasi"
        assert answered.index("kumasi") <= 3


EMPTY = {
    "epoch": 1, "turn": 1, "after": 0, "upto": 0, "facts": [], "outcomes": {}, "stale": False,
    "version": "1", "now": 0,
}  # fmt: skip


async def branch_of(hub: FakeApi) -> httpx.AsyncClient:
    await hub.local.post(wire.Path.LOCAL_HUB, json={})
    made = await hub.local.post(wire.Path.LOCAL_HUB_INVITES, json={"name": "kumasi"})
    word = {"word": made.json()["data"]["word"]}
    key = (await hub.live.post(wire.Path.BRANCH_JOIN, json=word)).json()["data"]["key"]
    return await hub.client(key)


def waiting() -> int:
    """Return how many tasks of the hub wait for a command."""
    return sum("Event.wait" in str(task.get_coro()) for task in asyncio.all_tasks())


@pytest.mark.parametrize("how", ["command", "hung up"])
async def test_a_held_request_leaves_nothing_behind(tmp_path: Path, how: str) -> None:
    async with running(tmp_path) as hub:
        client = await branch_of(hub)
        before = waiting()
        call = asyncio.create_task(client.post(wire.Path.BRANCH_SYNC, json=EMPTY))
        await until(lambda: waiting() > before + 1)
        assert not call.done()
        if how == "command":
            sms = {"number": "0244123456", "text": "Closed on Friday."}
            asked = {"branch": "kumasi", "kind": "send_sms", "body": sms}
            told = await hub.local.post(wire.Path.LOCAL_HUB_COMMANDS, json=asked)
            assert told.status_code == 200, told.text
            commands = (await call).json()["data"]["commands"]
            assert [one["kind"] for one in commands] == ["send_sms"]
        else:
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            again = await client.post(wire.Path.BRANCH_SYNC, json=EMPTY | {"turn": 2, "upto": 1})
            assert again.status_code == 200
        await until(lambda: waiting() == before)
