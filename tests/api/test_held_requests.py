"""A request that brings nothing is held open, until there is a command for the branch, or the branch hangs up."""

import asyncio
from pathlib import Path

import httpx
import pytest

from daemon import wire
from tests.fakes.api import FakeApi, running
from tests.fakes.waiting import until

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
