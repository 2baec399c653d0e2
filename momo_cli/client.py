"""HTTP/1.1 to the daemon over its Unix socket, with the standard library alone.

One connection per call: a Unix socket costs microseconds to open, and there is then no idle
connection that the daemon may have closed. A call is repeated once when the connection breaks
before the answer, and only when repeating it is safe: a GET, or a call with an idempotency key.
"""

import contextlib
import http.client
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote, urlencode

from daemon import wire
from momo_cli import system
from momo_cli.dial import RETRY_S, UnixConnection, broken, dial, silent, unreachable
from momo_cli.errors import Failure, usage
from momo_cli.event_stream import Event, read_events
from momo_cli.locate import Located
from momo_cli.trace import Trace

DEFAULT_TIMEOUT_S: Final = 30.0
_SILENCE_S_MAX: Final = 45.0
"""The daemon sends a comment every 15 s; three missing ones mean that the stream is dead."""
_IDEMPOTENCY: Final = wire.IDEMPOTENCY_HEADER.lower()
_READ_S_MIN: Final = 0.01
_ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful answer: the text as it came, and what it says."""

    status: int
    text: str
    body: dict[str, Any]
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def data(self) -> Any:  # the shape belongs to the path that was asked
        """Return the member `data`."""
        return self.body.get("data")


@dataclass(slots=True)
class Client:
    """The daemon, as seen from the command line.

    Attributes:
        located: The shop, for the socket and for what to say when nobody answers.
        timeout_s: The limit of each call; None = for ever.
        warn: Takes a sentence for stderr.
        trace: Is told of what passes (`-v`, `--debug`).
        command: The words of the running command, for hints.
        pause: Waits for so many seconds.
    """

    located: Located
    timeout_s: float | None = DEFAULT_TIMEOUT_S
    warn: Callable[[str], None] = print
    trace: Trace | None = None
    pause: Callable[[float], None] = system.sleep
    _warned: bool = field(default=False, init=False)
    _zone: str | None = field(default=None, init=False)

    def get(self, path: str, **query: object) -> Reply:
        """Ask for something; query members that are None are left out."""
        return self.call("GET", path, query=query)

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
        """Make one call.

        Args:
            method: The HTTP method.
            path: A path of `wire.Path`, placeholders filled by `path_of`.
            query: Members that are None are left out.
            body: Sent as JSON.
            idempotency_key: Sent as the header, and makes the call safe to repeat.
            sandbox: Act as a test key would.

        Returns:
            The daemon's answer, status below 400.

        Raises:
            Failure: The daemon refused, or could not be reached.
        """
        headers = {"Accept": "application/json"}
        if idempotency_key is not None:
            headers[wire.IDEMPOTENCY_HEADER] = idempotency_key
        if sandbox:
            headers[wire.MODE_HEADER] = "test"
        return self._sent(method, _target(path, query), body, headers)

    def raw(self, method: str, target: str, body: object, headers: Mapping[str, str]) -> Reply:
        """Make a call as it was typed; an answer that is no JSON has an empty `body`.

        Raises:
            Failure: As `call`; USAGE for a stream, which never ends.
        """
        return self._sent(method, target, body, headers, any_text=True)

    def _sent(
        self,
        method: str,
        target: str,
        body: object,
        headers: Mapping[str, str],
        *,
        any_text: bool = False,
    ) -> Reply:
        sent = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        safe = method == "GET" or any(name.lower() == _IDEMPOTENCY for name in headers)
        for last in (not safe, True):
            started = system.monotonic()
            try:
                with self._exchange(method, target, sent, headers) as (response, _):
                    status, said = response.status, tuple(response.getheaders())
                    kind = response.getheader("Content-Type", "")
                    if kind.startswith("text/event-stream"):
                        raise usage(f"{target} is a stream; follow it with momo tx watch --json")
                    text = response.read(_ANSWER_BYTES_MAX).decode("utf-8", "replace")
            except TimeoutError:
                raise silent(self.timeout_s, asked=method == "GET") from None
            except (OSError, http.client.HTTPException) as problem:
                if last:
                    raise broken(problem, safe=safe) from None
                continue
            if self.trace is not None:
                self.trace.got(status, said, text, system.monotonic() - started)
            if any_text and status < http.client.BAD_REQUEST and "json" not in kind:
                return Reply(status, text, {}, said)
            return replace(self._reply(status, text), headers=said)
        raise AssertionError("the second attempt returns or raises")

    def events(
        self,
        *,
        since: str | None = None,
        reference: str | None = None,
        left: Callable[[], float] | None = None,
    ) -> Iterator[Event | None]:
        """Follow what happens, one connection long.

        Args:
            since: The id of the last event that was seen; None starts with what comes now.
            reference: Only events of this order.
            left: Seconds until the caller wants to stop; the stream then just ends.

        Yields:
            Each event; None once when the stream is open and for each keep-alive, so that the
            caller can look at the clock. Ends when the connection does; go on with `since`.

        Raises:
            Failure: The daemon refused, or could not be reached.
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
        """Follow any stream of server-sent events; as `events`."""
        headers = {"Accept": "text/event-stream", **(headers or {})}
        try:
            with self._exchange(method, target, None, headers) as (response, transport):
                if response.status != http.client.OK:
                    text = response.read(_ANSWER_BYTES_MAX).decode("utf-8", "replace")
                    self._reply(response.status, text)
                yield None

                def patience() -> None:
                    seconds = _SILENCE_S_MAX if left is None else min(_SILENCE_S_MAX, left())
                    transport.settimeout(max(seconds, _READ_S_MIN))

                for event in read_events(response, patience):
                    if event is not None and self.trace is not None:
                        self.trace.heard(event.kind, event.data)
                    yield event
        except (OSError, http.client.HTTPException):
            return

    def alive(self) -> bool:
        """Say whether somebody listens on the socket; sends nothing and waits for nothing."""
        try:
            dial(self.located.socket, retry_s=0.0, pause=self.pause).close()
        except OSError:
            return False
        return True

    def zone_name(self) -> str:
        """Return the shop's zone, as the last answer told it; asks when none did. Empty when nobody says."""
        if self._zone is None:
            self._zone = ""  # asked once, whatever comes of it
            with contextlib.suppress(Failure):
                # Where nobody listens the next call says so.
                _ = self.alive() and self.raw("GET", wire.Path.HEALTH, None, {})
        return self._zone

    @contextmanager
    def _exchange(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Iterator[tuple[http.client.HTTPResponse, socket.socket]]:
        sent = {
            wire.PROTOCOL_HEADER: wire.PROTOCOL,
            "Connection": "close",
            "User-Agent": "momo-cli",
            **headers,
        }
        if body is not None:
            sent["Content-Type"] = "application/json"
        if self.trace is not None:
            self.trace.sent(method, target, sent, body)
        try:
            transport = dial(self.located.socket, retry_s=RETRY_S, pause=self.pause)
        except OSError as problem:
            raise unreachable(self.located, problem) from None
        transport.settimeout(self.timeout_s)
        connection = UnixConnection(transport)
        response = None
        try:
            with contextlib.suppress(BrokenPipeError):  # the answer came before the body was read
                connection.request(method, target, body=body, headers=sent)
            response = connection.getresponse()
            self._compare(response.getheader(wire.PROTOCOL_HEADER))
            self._zone = response.getheader(wire.TIMEZONE_HEADER) or self._zone
            yield response, transport
        finally:
            if response is not None:
                response.close()
            transport.close()

    def _compare(self, theirs: str | None) -> None:
        if theirs is None or theirs == wire.PROTOCOL or self._warned:
            return
        self._warned = True
        self.warn(
            f"warning: the daemon speaks protocol {theirs} and this momo speaks {wire.PROTOCOL}: "
            "momo daemon restart"
        )

    def _reply(self, status: int, text: str) -> Reply:
        try:
            body = json.loads(text)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise Failure(
                wire.ErrorCode.DAEMON_DOWN,
                f"what answers on {self.located.socket} is not a momo daemon (status {status})",
            )
        if status < http.client.BAD_REQUEST:
            return Reply(status, text, body)
        error = body.get("error")
        error = error if isinstance(error, dict) else {}
        raise Failure(
            str(error.get("code", "")),
            str(error.get("message", "")),
            http_status=status,
            body=body,
        )


def path_of(path: str, **values: str) -> str:
    """Fill the placeholders of a `wire.Path`, each value quoted as one segment."""
    return path.format_map({name: quote(value, safe="") for name, value in values.items()})


def _target(path: str, query: Mapping[str, object] | None) -> str:
    given = {key: value for key, value in (query or {}).items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path
