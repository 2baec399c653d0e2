"""The headers of one webhook POST: its signatures, and what it is (decisions.md section 6). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core import signing

USER_AGENT: Final = "momo-webhooks/1"


@dataclass(frozen=True, slots=True)
class Sent:
    """What a receiver is told of one attempt.

    Attributes:
        attempt: Within its run, from 1.
        sequence: Rises from delivery to delivery; 0 for a test send.
        replay: It was asked for again, by a redelivery or a replay.
        test: It is no real money.
    """

    webhook_id: str
    event: str
    delivery_id: str
    attempt: int
    sequence: int
    replay: bool
    test: bool


def headers(secrets: Sequence[str], sent: Sent, *, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of an attempt, signed with the secrets that are valid now, the newest first.

    Args:
        secrets: As `signing.sign` takes them.
        sent: What is sent.
        timestamp: Unix seconds at this attempt.
        body: The bytes that are sent.

    Raises:
        ValueError: There is no secret, or one is none of ours.
    """
    made = signing.sign(secrets, webhook_id=sent.webhook_id, timestamp=timestamp, body=body)
    made |= {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "X-Svc-Event": sent.event,
        "X-Svc-Delivery": sent.delivery_id,
        "X-Svc-Attempt": str(sent.attempt),
        "X-Svc-Sequence": str(sent.sequence),
    }
    if sent.replay:
        made["X-Svc-Replay"] = "true"
    if sent.test:
        made["X-Svc-Test"] = "true"
    return made
