"""The ASGI application of the dashboard. Everything else of it is imported and read with the first visit."""

import asyncio
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from daemon.dash.web.visit import Machine as Machine  # noqa: PLC0414 -- the composition root takes it from here
from daemon.env import Env

if TYPE_CHECKING:
    from daemon.dash.site import Site


class Dashboard:
    """Serves `/dash` and everything below."""

    def __init__(self, env: Env, machine: Machine) -> None:
        self._env = env
        self._machine = machine
        self._stopping = asyncio.Event()
        self._loading = asyncio.Lock()
        self._site: Site | None = None

    def close_streams(self) -> None:
        """End all open streams, before the listeners close."""
        self._stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._site is None:
            async with self._loading:
                if self._site is None:
                    self._site = await asyncio.to_thread(self._load)
        await self._site.serve(scope, receive, send)

    def _load(self) -> "Site":
        from daemon.dash.site import Site  # noqa: PLC0415 -- an idle daemon needs no dashboard

        return Site(self._env, self._machine, self._stopping)
