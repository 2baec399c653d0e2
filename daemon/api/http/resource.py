"""Each path of the API with its methods, their handlers and the required scopes."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from msgspec import Struct
from msgspec.structs import replace
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from daemon.api.http.auth import Authenticator, needs, needs_operator
from daemon.api.http.service import Call, Handler, Query, Reply, Service
from daemon.core.access.callers import ANONYMOUS, Caller
from daemon.core.errors import Refusal
from daemon.core.json_values import with_warnings
from daemon.store.branches.scope import store_of
from daemon.wire import ErrorCode
from daemon.wire import Scope as KeyScope


class Operation(Struct, frozen=True):
    """The handler of one method of a path. One of the scopes is enough; none allows every authenticated caller.

    With `of_branch` keys of one branch of a hub may too; they read only what is of this branch.
    """

    handler: Handler
    scopes: tuple[KeyScope, ...] = ()
    public: bool = False
    of_branch: bool = False


def op(handler: Handler, *scopes: KeyScope) -> Operation:
    """Return an operation that needs authentication."""
    return Operation(handler, scopes)


def own(handler: Handler, *scopes: KeyScope) -> Operation:
    """Return an operation that needs authentication, also for keys of one branch."""
    return Operation(handler, scopes, of_branch=True)


def public(handler: Handler) -> Operation:
    """Return an operation without authentication."""
    return Operation(handler, public=True)


Operations = Mapping[str, Mapping[str, Operation]]
"""Path -> method -> operation."""


class Resource:
    """The ASGI application of one path."""

    def __init__(
        self,
        service: Service,
        authenticator: Authenticator,
        operations: Mapping[str, Operation],
        *,
        local: bool = False,
    ) -> None:
        """Serve `operations`, by method; `local` paths exist on the Unix socket only."""
        self._service = service
        self._authenticator = authenticator
        self._operations = dict(operations)
        if "GET" in self._operations:
            self._operations.setdefault("HEAD", self._operations["GET"])
        self._allow = ", ".join(sorted(self._operations))
        self._local = local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._local and "peer_uid" not in scope["state"]:
            raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
        operation = self._operations.get(scope["method"])
        if operation is None:
            raise Refusal(ErrorCode.METHOD_NOT_ALLOWED, headers={"Allow": self._allow})
        caller = ANONYMOUS if operation.public else await self._authenticator.caller(scope)
        self._limit(scope, caller)
        if self._local:
            needs_operator(caller)
        if operation.scopes:
            needs(caller, *operation.scopes)
        text = scope["query_string"].decode("latin-1")
        query = Query(dict(parse_qsl(text, keep_blank_values=True, errors="replace")))
        service = self._service
        if caller.branch_id is not None:
            if not operation.of_branch:
                raise Refusal(ErrorCode.HEAD_OFFICE_ONLY)
            service = replace(service, env=replace(service.env, store=store_of(service.env.store, caller)))
        call = Call(service, scope, receive, caller, scope["state"]["request_id"], query)
        reply = await operation.handler(call)
        if not isinstance(reply, Reply):
            await reply(scope, receive, send)
            return
        # Without a warning a misspelled filter would seem to work.
        if unread := query.unread():
            reply = replace(reply, body=with_warnings(reply.body, unread))
        await reply.send(send)

    def _limit(self, scope: Scope, caller: Caller) -> None:
        """Count the call against the rate limit and set the RateLimit headers."""
        taken = self._authenticator.take(caller)
        if taken is None:
            return
        scope["state"]["headers"] = (
            *scope["state"].get("headers", ()),
            (b"ratelimit-limit", b"%d" % taken.limit),
            (b"ratelimit-remaining", b"%d" % taken.remaining),
            (b"ratelimit-reset", b"%d" % taken.reset_s),
        )
        if not taken.allowed:
            raise Refusal(
                ErrorCode.RATE_LIMITED,
                headers={"Retry-After": str(taken.retry_after_s)},
                retry_after=taken.retry_after_s,
            )


async def no_such_route(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 -- ASGI's signature
    """Reject a request for an unknown path."""
    raise Refusal(ErrorCode.ROUTE_NOT_FOUND)


def router(service: Service, authenticator: Authenticator, operations: Operations) -> ASGIApp:
    """Return the application of all paths. The first path that fits counts; those below `/local/` are on the socket only."""
    routes = [
        Route(path, Resource(service, authenticator, methods, local=path.startswith("/local/")))
        for path, methods in operations.items()
    ]
    return Router(routes, redirect_slashes=False, default=no_such_route)
