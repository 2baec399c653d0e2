"""One open stream of server-sent events: begun, kept alive, ended."""

import asyncio
from typing import Any

import pytest
from starlette.types import Message

from daemon.runtime import sse


class Reader:
    """A reader of a stream; `broken` after so many messages."""

    def __init__(self, takes: int = 100) -> None:
        self.got: list[Message] = []
        self.gone = asyncio.Event()
        self._takes = takes

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if len(self.got) == self._takes:
            raise OSError("the connection is gone")
        self.got.append(message)

    @property
    def bodies(self) -> list[tuple[Any, Any]]:
        return [(each["body"], each.get("more_body", False)) for each in self.got[1:]]


async def running() -> set[str]:
    """Return the names of the other tasks in this loop."""
    await asyncio.sleep(0)
    return {task.get_name() for task in asyncio.all_tasks()} - {asyncio.current_task().get_name()}  # type: ignore[union-attr]  # a task runs this test


async def test_news_end_the_waiting_and_silence_is_broken_by_a_comment(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, wake = Reader(), asyncio.Event()
    async with sse.opened(reader.receive, reader.send, asyncio.Event()) as stream:
        wake.set()
        await stream.wait(wake)
        assert reader.bodies == []
        wake.clear()
        await stream.wait(wake, within_s=0)
        monkeypatch.setattr(sse, "KEEP_ALIVE_S", 0)
        await stream.wait(wake)
        await stream.wait(wake, within_s=60)
        assert reader.bodies == [(b": still here\n\n", True)] * 3


@pytest.mark.parametrize("takes", [0, 1])
async def test_a_connection_that_breaks_leaves_nothing_running(takes: int) -> None:
    reader = Reader(takes)
    with pytest.raises(OSError, match="the connection is gone"):
        async with sse.opened(reader.receive, reader.send, asyncio.Event()) as stream:
            await stream.send(b": open\n\n")
    assert await running() == set()
