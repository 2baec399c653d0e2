"""The branch of a hub that a user or a key is for."""

from daemon.core.errors import Refusal
from daemon.env import Env
from daemon.store.branches import branches
from daemon.store.engine import Reader
from daemon.wire import ErrorCode, ShopRole


def branch_id_of(reader: Reader, env: Env, name: str | None) -> str | None:
    """Return the id of the branch that a user or a key is for; None without a name.

    Raises:
        Refusal: NOT_A_HUB; BRANCH_NOT_FOUND, also for a branch that has left.
    """
    if name is None:
        return None
    if env.place.role is not ShopRole.HUB:
        raise Refusal(
            ErrorCode.NOT_A_HUB, "This shop is not a hub, so it has no branches that a user or key could be for."
        )
    found = branches.named(reader, name)
    if found is not None and found.status in ("leaving", "left"):
        raise Refusal(
            ErrorCode.BRANCH_NOT_FOUND, f"The branch {name} has left this hub; its users and keys have ended."
        )
    if found is None:
        raise Refusal(ErrorCode.BRANCH_NOT_FOUND)
    return found.id
