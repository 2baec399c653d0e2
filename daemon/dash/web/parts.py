"""The parts of pages that many tabs fetch after each commit: each is made once, for all users of a role in a language."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from daemon.core.limits import SECOND_US
from daemon.dash.web.visit import LivePart, Visit

FRESH_US: Final = 10 * SECOND_US
"""A part is made again after this long without a commit: it has times such as `3 min ago`."""
_Key = tuple[str, str, str]


class PartCache:
    """Keeps each part until a commit, another state of a modem, or the end of its time."""

    def __init__(self) -> None:
        self._made: dict[_Key, LivePart] = {}
        self._made_for: object = None
        self._making = asyncio.Lock()

    async def get(self, visit: Visit, make: Callable[[], Awaitable[LivePart]]) -> LivePart:
        """Return the part for this visitor, made now if it is not kept. Tabs that ask meanwhile wait for it."""
        key = visit.path, str(visit.role), visit.words.language
        async with self._making:
            # Before the part is made: a commit meanwhile has the next version.
            current = (
                visit.env.store.version,
                visit.now // FRESH_US,
                tuple(visit.machine.phone_states()),
            )
            if current != self._made_for:
                self._made, self._made_for = {}, current
            found = self._made.get(key)
            if found is None:
                found = self._made[key] = await make()
            return found
