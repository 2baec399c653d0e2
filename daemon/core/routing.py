"""Where does a verified payment go? Pure (decisions.md section 5).

A payment goes to every endpoint of the right mode with a matching rule; only if there is none, to every endpoint
whose `catch_all` is on. Until endpoints have rules, each claim is a catch-all's.
"""

import json
from collections.abc import Sequence

from daemon.core.model import Endpoint
from daemon.wire import EventKind


def claiming(endpoints: Sequence[Endpoint]) -> list[Endpoint]:
    """Return the endpoints that claim a payment. Paused ones claim too: their deliveries wait."""
    return [endpoint for endpoint in endpoints if endpoint.catch_all]


def subscribed(endpoints: Sequence[Endpoint], kind: EventKind) -> list[Endpoint]:
    """Return the endpoints that asked for this kind of event."""
    return [endpoint for endpoint in endpoints if kind in json.loads(endpoint.events)]


def completed_targets(endpoints: Sequence[Endpoint], implicit: Endpoint | None) -> list[Endpoint]:
    """Return who hears `transaction.completed`.

    The request's own webhook (or the account's default one) and every subscribed endpoint; if that leaves nobody,
    the endpoints that claim the payment.
    """
    targets = subscribed(endpoints, EventKind.COMPLETED)
    if implicit is not None:
        targets = [implicit, *targets]
    return targets or claiming(endpoints)


def overlaps(endpoint: Endpoint, in_use: Sequence[Endpoint]) -> list[str]:
    """Say what is allowed and may not be meant: that others of its mode get the same payments."""
    others = [other for other in in_use if other.id != endpoint.id]
    found = []
    if any(other.url_normalised == endpoint.url_normalised for other in others):
        found.append("Another endpoint has the same address: it will get each payment twice.")
    if endpoint.catch_all and any(other.catch_all for other in others):
        found.append(
            "Another endpoint also takes every payment that no rule claims: both will get them."
        )
    return found
