"""The daemon's HTTP/1.1 client over its Unix socket, and the reader of its event streams; standard library only.

One connection per call: a Unix socket takes microseconds to open, and no idle connection can have been closed by the
daemon. A call is repeated once if the connection breaks before the answer and repeating is safe: a GET, or a call with
an idempotency key.
"""

import contextlib
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from daemon import wire
from daemon.wire import ErrorCode
from momo_cli import system
from momo_cli.errors import Failure, headline, usage
from momo_cli.socket.connect import RETRY_S, Located, connect, unreachable
from momo_cli.socket.http import MalformedAnswerError, Response, request

if TYPE_CHECKING:
    from momo_cli.socket.trace import Trace

DEFAULT_TIMEOUT_S: Final = 30.0
_SILENCE_S_MAX: Final = 45.0
"""The daemon sends a comment every 15 s; after three missing ones the stream is dead."""
_IDEMPOTENCY: Final = wire.IDEMPOTENCY_HEADER.lower()
_READ_S_MIN: Final = 0.01
_OK, _BAD_REQUEST = 200, 400


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful answer: its text, and the parsed body."""

    status: int
    text: str
    body: dict[str, Any]
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def data(self) -> Any:  # the shape depends on the path
        """Return the member `data`."""
        return self.body.get("data")

    @property
    def parts(self) -> tuple[str, list[Any]]:
        """Return the document and the rows of an `Answer`: `data` is a list of rows, one row, or missing."""
        data = self.data
        return self.text, [data] if isinstance(data, dict) else list(data or ())


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    id: str
    kind: str
    data: dict[str, Any]


@dataclass(slots=True)
class Client:
    """The connection to the daemon.

    Attributes:
        located: The shop, for the socket and for the error message if the connection fails.
        timeout_s: The time limit of each call; None is no limit.
        warn: Writes a line to stderr.
        trace: Receives each call and answer (`-v`, `--debug`).
        sandbox: Every call is made in test mode.
        retry_s: For how long a refused connection is tried again, in seconds.
    """

    located: Located
    timeout_s: float | None = DEFAULT_TIMEOUT_S
    warn: Callable[[str], None] = print
    trace: "Trace | None" = None
    pause: Callable[[float], None] = system.sleep
    retry_s: float = RETRY_S
    sandbox: bool = False
    _warned: bool = field(default=False, init=False)
    _zone: str | None = field(default=None, init=False)

    def get(self, path: str, **query: object) -> Reply:
        """Make a GET call; query members that are None are omitted."""
        return self.call("GET", path, query=query)

    def find(self, path: str, **query: object) -> Any:
        """Return the `data` of a GET call; None if the daemon refuses it or cannot be reached."""
        with contextlib.suppress(Failure):
            return self.get(path, **query).data
        return None

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        sandbox: bool = False,
    ) -> Reply:
        """Make one call, and return the daemon's answer, with a status below 400.

        Members of the query that are None are omitted. An idempotency key makes the call safe to repeat.
        """
        headers = {"Accept": "application/json"}
        if idempotency_key is not None:
            headers[wire.IDEMPOTENCY_HEADER] = idempotency_key
        if sandbox or self.sandbox:
            headers[wire.MODE_HEADER] = "test"
        try:
            return self._sent(method, _target(path, query), body, headers)
        except Failure as failure:
            failure.sandbox = sandbox
            raise

    def post_once(self, path: str, body: Mapping[str, Any] | None = None) -> Reply:
        """Make a POST call with a new idempotency key, so that it is repeated if the connection breaks."""
        return self.call("POST", path, body=body, idempotency_key=system.new_key())

    def rows(self, path: str, query: Mapping[str, object], *, page: int, offset: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the rows of a whole list, in calls of `page` rows each; by cursor where the list has one."""
        after: str | None = None
        while True:
            reply = self.get(path, **query, limit=page, offset=offset, after=after)
            found = reply.data or ()
            yield from found
            meta = reply.body.get("meta") or {}
            after = meta.get("next_cursor")
            if after is None and ("next_cursor" in meta or len(found) < page):
                return
            offset = offset + page if after is None else 0

    def raw(self, method: str, target: str, body: object, headers: Mapping[str, str]) -> Reply:
        """Make a call as typed by the user; an answer that is not JSON has an empty `body`."""
        return self._sent(method, target, body, headers, any_text=True)

    def _sent(
        self, method: str, target: str, body: object, headers: Mapping[str, str], *, any_text: bool = False
    ) -> Reply:
        sent = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        safe = method == "GET" or any(name.lower() == _IDEMPOTENCY for name in headers)
        for last in (not safe, True):
            started = system.monotonic()
            try:
                with self._exchange(method, target, sent, headers) as (response, _):
                    status, said = response.status, response.headers
                    kind = response.header("Content-Type") or ""
                    if kind.startswith("text/event-stream"):
                        read = "read it with momo tx watch --json"
                        raise usage(f"{target} is an event stream; {read}")
                    text = response.read().decode("utf-8", "replace")
            except TimeoutError:
                raise _timed_out(self.timeout_s, asked=method == "GET") from None
            except OSError as problem:
                if last:
                    raise _lost(problem, safe=safe) from None
                continue
            if self.trace is not None:
                self.trace.got(status, said, text, system.monotonic() - started)
            if any_text and status < _BAD_REQUEST and "json" not in kind:
                return Reply(status, text, {}, said)
            return replace(self._reply(status, text), headers=said)
        raise AssertionError("the second attempt returns or raises")

    def events(
        self, *, since: str | None = None, reference: str | None = None, left: Callable[[], float] | None = None
    ) -> Iterator[Event | None]:
        """Read the event stream until the connection ends: of one transaction or all, after the event `since`.

        Yields each event, and None when the stream is open and for each keep-alive, so that the caller can check the
        time. `left` returns the seconds until the stream should end.
        """
        target = _target(wire.Path.EVENTS, {"since": since, "reference": reference})
        headers = {} if since is None else {"Last-Event-ID": since}
        yield from self.stream(target, headers, left)

    def stream(
        self,
        target: str,
        headers: Mapping[str, str] | None = None,
        left: Callable[[], float] | None = None,
        *,
        method: str = "GET",
    ) -> Iterator[Event | None]:
        """Read any stream of server-sent events; see `events`."""
        headers = {"Accept": "text/event-stream", **(headers or {})}
        try:
            with self._exchange(method, target, None, headers) as (response, transport):
                if response.status != _OK:
                    text = response.read().decode("utf-8", "replace")
                    self._reply(response.status, text)
                yield None

                def patience() -> None:
                    seconds = _SILENCE_S_MAX if left is None else min(_SILENCE_S_MAX, left())
                    transport.settimeout(max(seconds, _READ_S_MIN))

                for event in read_events(response, patience):
                    if event is not None and self.trace is not None:
                        self.trace.heard(event.kind, event.data)
                    yield event
        except OSError:
            return

    def alive(self) -> bool:
        """Return whether a process listens on the socket; send nothing and do not wait."""
        try:
            connect(self.located.socket, retry_s=0.0, pause=self.pause).close()
        except OSError:
            return False
        return True

    def zone_name(self) -> str:
        """Return the shop's time zone from the last answer, else from a new call; empty if the daemon is unreachable."""
        if self._zone is None:
            self._zone = ""  # asked only once, even if it fails
            with contextlib.suppress(Failure):
                # If nothing listens, the next call reports it.
                _ = self.alive() and self.raw("GET", wire.Path.HEALTH, None, {})
        return self._zone

    @contextmanager
    def _exchange(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Iterator[tuple[Response, socket.socket]]:
        sent = {
            "Host": wire.SOCKET_HOST,
            wire.PROTOCOL_HEADER: wire.PROTOCOL,
            "Connection": "close",
            "User-Agent": "momo-cli",
        }
        sent |= headers
        if body is not None:
            sent["Content-Type"] = "application/json"
        whole = request(method, target, sent, body)
        if self.trace is not None:
            self.trace.sent(method, target, sent, body)
        try:
            transport = connect(self.located.socket, retry_s=self.retry_s, pause=self.pause)
        except OSError as problem:
            raise unreachable(self.located, problem) from None
        with transport:
            transport.settimeout(self.timeout_s)
            try:
                # The answer may come before the whole body was sent.
                with contextlib.suppress(BrokenPipeError):
                    transport.sendall(whole)
                response = Response(transport.recv)
                self._compare(response.header(wire.PROTOCOL_HEADER))
                self._zone = response.header(wire.TIMEZONE_HEADER) or self._zone
                yield response, transport
            except MalformedAnswerError as problem:
                raise self._stranger(str(problem)) from None

    def _compare(self, theirs: str | None) -> None:
        if theirs is None or theirs == wire.PROTOCOL or self._warned:
            return
        self._warned = True
        self.warn(f"warning: the daemon uses protocol {theirs} and this momo uses {wire.PROTOCOL}: momo daemon restart")

    def _reply(self, status: int, text: str) -> Reply:
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise self._stranger(f"status {status}")
        if status < _BAD_REQUEST:
            return Reply(status, text, body)
        error = body.get("error")
        error = error if isinstance(error, dict) else {}
        raise Failure(str(error.get("code", "")), str(error.get("message", "")), http_status=status, body=body)

    def _stranger(self, why: str) -> Failure:
        what = f"the program that answers on {self.located.socket} is not a momo daemon"
        return Failure(wire.ErrorCode.DAEMON_DOWN, f"{what} ({why})")


def read_events(response: Response, before_read: Callable[[], None]) -> Iterator[Event | None]:
    """Read the stream by the rules of the HTML standard, section 9.2.6.

    `before_read` is called before each line is read, and sets the timeout. Yields each event; None for each comment. An id
    without data, from which a later connection continues, is an event with an empty kind.
    """
    seen: dict[str, str] = {}
    data: list[str] = []
    while True:
        before_read()
        raw = response.readline()
        if not raw:
            return
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if line:
            if line.startswith(":"):
                yield None
                continue
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                data.append(value)
            else:
                seen[name] = value
            continue
        if data:
            try:
                said = json.loads("\n".join(data))
            except (ValueError, RecursionError):
                said = None
            body = said if isinstance(said, dict) else {"value": said}
            yield Event(seen.get("id", ""), seen.get("event", "message"), body)
        elif "id" in seen:
            yield Event(seen["id"], "", {})
        seen, data = {}, []


def _timed_out(limit_s: float | None, *, asked: bool) -> Failure:
    """Return the failure for a timeout; `asked` if the call changes nothing."""
    tail = "" if asked else "; the call may still be carried out: check before you repeat it"
    return _uncertain(f"the daemon did not answer within {limit_s:g} s (--timeout){tail}")


def _lost(problem: Exception, *, safe: bool) -> Failure:
    """Return the failure for a broken connection; `safe` if the call may be repeated without a second effect."""
    may = "the call may or may not have been carried out: check before you repeat it"
    why = str(problem) or type(problem).__name__
    tail = "" if safe else f"; {may}"
    return _uncertain(f"the connection to the daemon broke before the answer ({why}){tail}")


def _uncertain(message: str) -> Failure:
    """Return a failure after which it is unknown whether the call was carried out."""
    facts, following = {"uncertain": "yes"}, ("momo daemon status",)
    return Failure(wire.ErrorCode.DAEMON_DOWN, message, facts=facts, next=following)


def path_of(path: str, **values: str) -> str:
    """Fill the placeholders of a `wire.Path`, each value quoted as one segment."""
    return path.format_map({name: quote(value, safe="") for name, value in values.items()})


def _target(path: str, query: Mapping[str, object] | None) -> str:
    given = {key: value for key, value in (query or {}).items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


AWAY_S_MAX: Final = 30.0
"""A daemon that cannot be reached for this long ends the wait: a restart takes seconds."""
PAUSE_S: Final = 1.0
"""The pause between two attempts to reach the daemon."""
_AWAY: Final = (ErrorCode.DAEMON_DOWN, ErrorCode.NOT_SET_UP)
"""Nobody answers. A restore moves the database for a moment, which looks like a shop that is not set up."""
_UNAVAILABLE: Final = 503


@dataclass(slots=True)
class Outage:
    """Decides whether a wait goes on, and says each reason once on stderr.

    `resume` is the command with which to go on after the wait was given up. Before the daemon has `answered` this
    command, a daemon that does not run ends it.
    """

    client: Client
    resume: str = ""
    answered: bool = False
    _away_at: float | None = field(default=None, init=False)
    _told: list[str] = field(default_factory=list, init=False)

    def missed(self, failure: Failure | None = None) -> None:
        """Handle a failed call, or without `failure` a connection that ended; return if the wait goes on.

        It raises `failure` if waiting is of no use, or the daemon has been away for `AWAY_S_MAX`. A 503 does not count
        as away: the daemon runs, and the wait is limited by its own time only.
        """
        if failure is not None and failure.http_status == _UNAVAILABLE:
            self.answered, self._away_at = True, None
            self._tell(f"the daemon cannot serve this now ({headline(failure)}); waiting")
            return
        if failure is None:
            self.answered = True
        elif failure.code not in _AWAY or not self.answered:
            raise failure
        now = system.monotonic()
        if self._away_at is None:
            self._away_at = now
        away_s = now - self._away_at
        if failure is not None and away_s >= AWAY_S_MAX:
            message = f"the daemon has been away for {away_s:.0f} s, so the wait has ended; {headline(failure)}"
            raise Failure(
                ErrorCode.DAEMON_DOWN,
                message,
                facts=failure.facts,
                next=("momo daemon start", *filter(None, (self.resume,))),
            )
        # The wait makes its own attempts: a single one must not exceed the time that is left.
        self.client.retry_s = 0.0
        self._tell("the daemon is restarting; waiting")

    def over(self) -> None:
        """Handle an answer of the daemon."""
        self.answered, self._away_at = True, None
        self.client.retry_s = RETRY_S
        if self._told:
            self._told.clear()
            self.client.warn("the daemon is back")

    def _tell(self, line: str) -> None:
        if line not in self._told:
            self._told.append(line)
            self.client.warn(line)
