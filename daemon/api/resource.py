"""One path and its methods: who may call each, and what answers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from daemon.api.auth import Doorkeeper
from daemon.api.fields import Query
from daemon.api.permission import needs, needs_person
from daemon.api.service import Call, Handler, Reply, Service
from daemon.core.access import NOBODY, Caller
from daemon.core.errors import Refusal
from daemon.core.shapes import with_warnings
from daemon.wire import ErrorCode
from daemon.wire import Scope as KeyScope


@dataclass(frozen=True, slots=True)
class Operation:
    """What one method does.

    Attributes:
        scopes: Any one of these is enough; none means that every known caller may.
        public: Nobody is asked who they are.
    """

    handler: Handler
    scopes: tuple[KeyScope, ...] = ()
    public: bool = False


def op(handler: Handler, *scopes: KeyScope) -> Operation:
    """Make an operation."""
    return Operation(handler, scopes)


def public(handler: Handler) -> Operation:
    """Make an operation that anybody may call."""
    return Operation(handler, public=True)


class Resource:
    """The ASGI application of one path."""

    def __init__(
        self,
        service: Service,
        door: Doorkeeper,
        operations: Mapping[str, Operation],
        *,
        local: bool = False,
    ) -> None:
        """Serve `operations`, by method; `local` ones exist on the Unix socket only."""
        self._service = service
        self._door = door
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
        caller = NOBODY if operation.public else await self._door.caller(scope)
        self._limit(scope, caller)
        if self._local:
            needs_person(caller)
        if operation.scopes:
            needs(caller, *operation.scopes)
        query = Query(_asked(scope))
        call = Call(self._service, scope, receive, caller, scope["state"]["request_id"], query)
        reply = await operation.handler(call)
        if isinstance(reply, Reply):
            await _warned(reply, query).send(send)
        else:
            await reply(scope, receive, send)

    def _limit(self, scope: Scope, caller: Caller) -> None:
        """Count the call; every answer to it says how many are left (decisions.md section 9)."""
        taken = self._door.take(caller)
        if taken is None:
            return
        scope["state"]["headers"] = (
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


def _asked(scope: Scope) -> Mapping[str, str]:
    text = scope["query_string"].decode("latin-1")
    return dict(parse_qsl(text, keep_blank_values=True, errors="replace"))


def _warned(reply: Reply, query: Query) -> Reply:
    """Name what stood in the query and means nothing: a misspelled filter would seem to work (decisions.md section 9)."""
    unread = query.unread()
    return replace(reply, body=with_warnings(reply.body, unread)) if unread else reply


async def no_such_route(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 -- ASGI's signature
    """Answer for every path that is not there."""
    raise Refusal(ErrorCode.ROUTE_NOT_FOUND)


class Routes:
    """Collects the routes of one application."""

    def __init__(self, service: Service, door: Doorkeeper) -> None:
        self._service = service
        self._door = door
        self.all: list[Route] = []
        self.operations: dict[str, Mapping[str, Operation]] = {}
        """What is served, by path, for the API's description."""

    def add(self, path: str, operations: Mapping[str, Operation], *, local: bool = False) -> None:
        """Serve a path."""
        resource = Resource(self._service, self._door, operations, local=local)
        self.all.append(Route(path, resource))
        self.operations[path] = operations
