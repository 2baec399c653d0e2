"""At a hub: the names of its branches, for the column and the filter of lists."""

from collections.abc import Mapping

from daemon.dash.parts.listing import Choice
from daemon.dash.web.visit import Visit
from daemon.store.branches import branches
from daemon.wire import ShopRole


async def names_of(visit: Visit) -> Mapping[str, str]:
    """Return the names of the branches by id; empty unless this shop is a hub."""
    if visit.env.place.role is not ShopRole.HUB:
        return {}
    return await visit.env.store.read(branches.names)


def filters(names: Mapping[str, str]) -> tuple[Choice, ...]:
    """Return the filter by branch; none without branches."""
    return (Choice("branch", ("", *names.values()), named=True),) if names else ()
