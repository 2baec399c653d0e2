"""The role of a shop (alone, a branch or a hub), and which payments a branch hands up to its hub. Pure."""

from typing import Final

from msgspec import Struct

from daemon.core.payments import matching
from daemon.wire import ShopRole
from parsers import svc_code

NOTHING: Final = "nothing"
"""`decides` of a branch that only receives payments."""


class Place(Struct, frozen=True):
    """The role of this shop; `decides` is `nothing` for a branch that takes no orders, else `all`."""

    role: ShopRole
    decides: str = "all"

    @property
    def code_first(self) -> str:
        """The characters that its payment codes begin with."""
        if self.role is ShopRole.HUB:
            return svc_code.HUB_FIRST
        return svc_code.BRANCH_FIRST if self.role is ShopRole.BRANCH else svc_code.ALPHABET

    @property
    def takes_orders(self) -> bool:
        """Whether transactions are created here."""
        return self.role is not ShopRole.BRANCH or self.decides != NOTHING

    def hands_up(self, decision: matching.Decision, reference_text: str | None) -> bool:
        """Return whether a payment is the hub's to match: this branch decides nothing, or has no order for a hub's code."""
        if self.role is not ShopRole.BRANCH:
            return False
        if self.decides == NOTHING:
            return True
        if not isinstance(decision, matching.Unmatched) or decision.rejected:
            return False
        return any(map(svc_code.is_of_hub, svc_code.candidates(reference_text or "")))


ALONE: Final = Place(ShopRole.ALONE)
