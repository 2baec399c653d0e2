"""Server-sent events, as the daemon sends them."""

import http.client
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    id: str
    kind: str
    data: dict[str, Any]


def read_events(
    response: http.client.HTTPResponse, before_read: Callable[[], None]
) -> Iterator[Event | None]:
    """Read the stream by the rules of the HTML standard, section 9.2.6.

    Args:
        response: The open answer.
        before_read: Called before each line is waited for; sets the time-out.

    Yields:
        Each event; None for each comment.
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
            except ValueError:
                said = None
            body = said if isinstance(said, dict) else {"value": said}
            yield Event(seen.get("id", ""), seen.get("event", "message"), body)
        seen, data = {}, []
