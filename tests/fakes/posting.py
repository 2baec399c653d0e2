"""A webhook of the right form, posted by the real sender, and what is judged of its outcome."""

from collections.abc import Callable

from daemon.core.delivery import DeliveryError, Outcome
from daemon.core.signing import make_secret, sign
from daemon.webhooks.addresses import AddressPolicy
from daemon.webhooks.sender import Sender
from daemon.webhooks.targets import Target

SECRET = make_secret(bytes(range(32)))
BODY = '{"webhook_id":"ocl_0123456789abcdefghijklmn","amount":"25.00","name":"Akosua ɔ"}'.encode()
LOCAL = AddressPolicy.from_settings(["localhost", "127.0.0.1"])
MakeSender = Callable[..., Sender]
"""Makes a sender that trusts the receiver; closed after the test."""


def headers(body: bytes = BODY) -> dict[str, str]:
    stamp = 1_767_225_600
    return {
        "Content-Type": "application/json",
        "User-Agent": "momo-webhooks/1",
        "X-Svc-Event": "transaction.forwarded",
        **sign([SECRET], webhook_id="ocl_0123456789abcdefghijklmn", timestamp=stamp, body=body),
    }


async def post(sender: Target, url: str) -> Outcome:
    return await sender.post(url, headers(), BODY)


def judged(outcome: Outcome) -> tuple[int | None, DeliveryError | None, bool]:
    return outcome.status_code, outcome.error_code, outcome.connected
