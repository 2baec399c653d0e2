"""Hand a webhook to a receiver on this machine, and say what it answered."""

import base64
import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from momo_cli import system
from momo_cli.errors import Failure, usage

_ANSWER_BYTES_MAX: Final = 64 * 1024
_TIMEOUT_S: Final = 60.0
"""Longer than momo waits, so that a slow receiver is seen to be slow by momo, as it would be over the internet."""
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of one POST: a status, or the reason why there is none."""

    status_code: int | None
    error: str | None
    body: str
    duration_ms: int

    @property
    def good(self) -> bool:
        """Say whether momo would call it delivered."""
        return self.status_code is not None and 200 <= self.status_code < 300

    def report(self, attempt: int) -> dict[str, Any]:
        """Return what the daemon is told."""
        if self.error is not None:
            return {"attempt": attempt, "error": self.error}
        return {"attempt": attempt, "status_code": self.status_code, "response_body": self.body}


@dataclass(frozen=True, slots=True)
class Receiver:
    """A place on this machine that webhooks are handed to."""

    host: str
    port: int
    target: str

    def post(self, headers: Mapping[str, str], body: bytes) -> Heard:
        """Send one webhook, byte for byte; nothing that the receiver does is raised."""
        started = system.monotonic()

        def heard(status: int | None, error: str | None = None, answer: bytes = b"") -> Heard:
            took = round((system.monotonic() - started) * 1000)
            return Heard(status, error, answer.decode("utf-8", "replace"), took)

        connection = http.client.HTTPConnection(self.host, self.port, timeout=_TIMEOUT_S)
        try:
            connection.request("POST", self.target, body, dict(headers))
            response = connection.getresponse()
            return heard(response.status, None, response.read(_ANSWER_BYTES_MAX))
        except TimeoutError:
            return heard(None, "timeout")
        except ConnectionRefusedError:
            return heard(None, "connection_refused")
        except (ConnectionError, http.client.RemoteDisconnected):
            return heard(None, "connection_reset")
        except http.client.HTTPException:
            return heard(None, "protocol_error")
        except OSError:
            return heard(None, "connection_refused")
        finally:
            connection.close()


def receiver_at(url: str) -> Receiver:
    """Read the address of a receiver on this machine.

    Raises:
        Failure: USAGE, it is none.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError:
        raise _wrong(url) from None
    if parts.scheme != "http" or parts.hostname not in _LOOPBACK:
        raise _wrong(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Receiver(parts.hostname, port, target)


def _wrong(url: str) -> Failure:
    return usage(
        f"--forward-to: {url}: takes an address of this machine, such as http://127.0.0.1:3000/hook; "
        "for a server elsewhere: momo endpoints add https://... --sandbox"
    )


def body_of(data: Mapping[str, Any]) -> bytes:
    """Return the body of a webhook as the daemon streams it."""
    return base64.b64decode(str(data.get("body", "")))
