"""Dependencies of the dashboard besides the environment."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from daemon.core.lines.modem_health import ModemHealth
from daemon.sender.address_guard import Resolver
from daemon.sender.connect import SystemResolver
from daemon.wire import Places


class FaultLog(Protocol):
    """The log of the daemon, as far as the dashboard needs it."""

    def error(self, event: str, **fields: Any) -> None:
        """Write one line; `fields` must not contain bodies, names, numbers or secrets."""


async def no_modem_answers(_device_id: str) -> bool:
    """Return False: there are no modems."""
    return False


class Machine(Struct, frozen=True):
    """Dependencies besides the environment, provided by the composition root.

    Attributes:
        log: The log for internal errors.
        phone_states: Returns the current state of each modem.
        places: The paths of the shop.
        channels: The channels of notices to the owner.
        resolver: Finds the addresses of the hosts of webhooks.
        inspect: Asks a modem for its state by its device id; False if it does not answer.
    """

    log: FaultLog
    phone_states: Callable[[], Sequence[ModemHealth]]
    places: Places
    channels: Sequence[str] = ()
    resolver: Resolver = field(default_factory=SystemResolver)
    inspect: Callable[[str], Awaitable[bool]] = no_modem_answers
