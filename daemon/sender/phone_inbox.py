"""Ask the Android app's local server to post the SMS of a period again (`POST /inbox/refresh`)."""

import base64
import json
import ssl
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

import httpx

from daemon.core.errors import MomoError
from daemon.core.limits import SECOND_US
from daemon.sender.http_client import HttpClient

TIMEOUT_S: Final = 30.0
_PATHS: Final = ("/inbox/refresh", "/messages/inbox/export")
"""The second is the name of versions before 2026."""


class InboxError(MomoError):
    """The app did not take the order; the text says why."""


async def post_again(
    url: str,
    user: str,
    password: str | None,
    since_us: int,
    until_us: int,
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Let the app post every SMS that it received in a period, each as `sms:received`.

    Args:
        url: The address of the app's local server, such as `http://192.168.1.23:8080`.
        user: The user that the app shows.
        password: The password that the app shows; None if it is not known here.
        since_us: Begin of the period, microseconds.
        until_us: Its end.
        timeout_s: Time limit of each call.

    Raises:
        InboxError: The phone does not answer, or refuses.
    """
    if password is None:
        raise InboxError(
            "the password of the app's local server is not stored: momo phones password NAME"
        )
    order = {
        "since": _iso(since_us),
        "until": _iso(until_us),
        # Versions differ in the name of the switch; each ignores the other one.
        "triggerWebhooks": True,
        "webhookDelivery": "Individual",
    }
    headers = {
        "Content-Type": "application/json",
        "Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode(),
    }
    try:
        client = HttpClient(url, ssl.create_default_context)
        try:
            for path in _PATHS:
                body = json.dumps(order).encode()
                answer, _ = await client.post(path, headers, body, timeout_s, whole_s=timeout_s)
                if answer.status_code != HTTPStatus.NOT_FOUND:
                    break
        finally:
            await client.aclose()
    except httpx.HTTPError as error:
        raise InboxError(f"the phone does not answer at {url}: {error}") from error
    if answer.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise InboxError(f"the app at {url} refuses the user or the password")
    if answer.status_code // 100 != 2:
        raise InboxError(f"the app at {url} answers {answer.status_code}")


def _iso(at_us: int) -> str:
    return datetime.fromtimestamp(at_us // SECOND_US, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
