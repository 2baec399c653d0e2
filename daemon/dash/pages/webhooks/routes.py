"""Explain for one payment which endpoints got it and why, and which would get it by today's rules."""

import uuid
from typing import Final

from daemon.core.ids import split_reference
from daemon.core.webhooks.rule_json import RoutingAnswer
from daemon.dash.web.visit import Shown, Visit
from daemon.flows.webhooks.explain import explanation
from daemon.store.engine import Reader
from daemon.store.payments import payment_list

GIVEN_MAX: Final = 100


async def show(visit: Visit) -> Shown:
    """Show the field, and with `of` (reference, order or payment) the explanation."""
    given = visit.query.get("of", "").strip()[:GIVEN_MAX]
    found = await visit.env.store.read(lambda reader: _read(reader, given)) if given else None
    if given and found is None:
        visit.errors["of"] = visit.words("route_not_found")
    values = {
        "given": given,
        "found": found,
        "command": f"momo tx routes {found.reference}"
        if found is not None
        else "momo tx routes REFERENCE",
    }
    return Shown("webhooks/route.html", values, visit.words("route"))


def _read(reader: Reader, given: str) -> RoutingAnswer | None:
    wanted = split_reference(given)
    if wanted is None:
        try:
            wanted = str(uuid.UUID(given))
        except ValueError:
            return None
    of_order = explanation(reader, wanted, None)
    if of_order is not None:
        return of_order
    about = payment_list.one(reader, wanted)
    if about is None or about.transaction is None:
        return None
    return explanation(reader, about.transaction.id, None)
