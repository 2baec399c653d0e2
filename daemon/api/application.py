"""What the listeners serve."""

from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from daemon.api.resource import Operation
from daemon.api.service import Service


class Application:
    """The ASGI application, and how to end what it keeps open."""

    def __init__(
        self,
        app: ASGIApp,
        service: Service,
        operations: Mapping[str, Mapping[str, Operation]],
    ) -> None:
        """Serve `app`; `operations` are what it serves, by path and method."""
        self.operations = operations
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._app(scope, receive, send)

    def close_streams(self) -> None:
        """Let every open stream end itself: the listeners are about to close."""
        self._service.stopping.set()
        if self._service.hooks.pages is not None:
            self._service.hooks.pages.close_streams()
