"""A signed webhook for tests of the real sender, and the relevant parts of an outcome."""

from collections.abc import Callable

from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError
from daemon.core.webhooks.signing import make_secret, sign
from daemon.sender.address_guard import AddressPolicy
from daemon.sender.https import Sender
from daemon.sender.local_targets import Target

SECRET = make_secret(bytes(range(32)))
BODY = '{"webhook_id":"ocl_0123456789abcdefghijklmn","amount":"25.00","name":"Akosua ɔ"}'.encode()
LOCAL = AddressPolicy.from_settings(["localhost", "127.0.0.1"])
MakeSender = Callable[..., Sender]
"""Makes a sender that trusts the receiver; it is closed after the test."""


def headers(body: bytes = BODY) -> dict[str, str]:
    stamp = 1_767_225_600
    return {
        "Content-Type": "application/json",
        "User-Agent": "momo-webhooks/1",
        "X-Svc-Event": "transaction.forwarded",
        **sign([SECRET], webhook_id="ocl_0123456789abcdefghijklmn", timestamp=stamp, body=body),
    }


async def post(sender: Target, url: str) -> AttemptOutcome:
    return await sender.post(url, headers(), BODY)


def summary(outcome: AttemptOutcome) -> tuple[int | None, DeliveryError | None, bool]:
    return outcome.status_code, outcome.error_code, outcome.connected
