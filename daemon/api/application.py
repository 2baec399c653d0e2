"""What the listeners serve."""

from starlette.types import ASGIApp, Receive, Scope, Send

from daemon.api.service import Service


class Application:
    """The ASGI application, and how to end what it keeps open."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._app(scope, receive, send)

    def close_streams(self) -> None:
        """Let every open stream end itself: the listeners are about to close."""
        self._service.stopping.set()
