"""A sender that answers as it is told and remembers what it was given; it opens no connection."""

import asyncio
from collections.abc import Callable, Mapping

from daemon.core.delivery import Outcome


def answered(status: int) -> Outcome:
    """What a receiver that answers makes of an attempt."""
    return Outcome(status, "", None, None, 1000, connected=True)


class FakeSender:
    """One worker's door."""

    def __init__(self, answer: Callable[[str], Outcome], posts: list[str]) -> None:
        self._answer = answer
        self._posts = posts
        self.gate: asyncio.Event | None = None
        self.headers: Mapping[str, str] = {}
        """Of the last post."""
        self.closed = False

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        self.headers = headers
        self._posts.append(headers["webhook-id"])
        if self.gate is not None:
            await self.gate.wait()
        return self._answer(url)

    async def aclose(self) -> None:
        self.closed = True
