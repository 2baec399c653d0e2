"""A sender that records its posts and returns the test's outcomes; it opens no connection."""

import asyncio
from collections.abc import Callable, Mapping

from daemon.core.webhooks.delivery import AttemptOutcome


def answered(status: int) -> AttemptOutcome:
    """Return the outcome of an attempt that the receiver answered with `status`."""
    return AttemptOutcome(status, "", None, None, 1000, connected=True)


class FakeSender:
    """A sender with scripted answers."""

    def __init__(self, answer: Callable[[str], AttemptOutcome], posts: list[str]) -> None:
        self._answer = answer
        self._posts = posts
        self.gate: asyncio.Event | None = None
        self.headers: Mapping[str, str] = {}
        """The headers of the last post."""
        self.closed = False

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AttemptOutcome:
        self.headers = headers
        self._posts.append(headers["webhook-id"])
        if self.gate is not None:
            await self.gate.wait()
        return self._answer(url)

    async def aclose(self) -> None:
        self.closed = True
