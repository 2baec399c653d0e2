"""USSD: the answers of a network's menu, and the sessions that are open, one for each phone. Pure, and in memory only.

What is typed may be a PIN. It goes to the phone and is kept nowhere; of a menu, nothing but a balance that a person takes as proof.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct, field

ANSWER_S: Final = 60.0
"""How long a network may take to answer."""
IDLE_S: Final = 120.0
"""How long a menu waits for a person; networks give up after 30 s to some minutes."""
CODE: Final = re.compile(r"[*#]{1,3}[0-9][0-9*#]{0,60}#", re.ASCII)
REPLY: Final = re.compile(r"[ !#-~]{1,160}", re.ASCII)
"""Printable ASCII without `"`, which would end the text of `AT+CUSD`."""


class UssdEnd(StrEnum):
    """Why a session is over."""

    ANSWERED = "answered"
    NETWORK = "network"
    UNSUPPORTED = "unsupported"
    TIMEOUT = "timeout"
    """The network told that it waited too long."""
    SILENT = "silent"
    REFUSED = "refused"
    """By the phone."""
    LOST = "lost"
    """The phone is not there, has restarted, or cannot do USSD."""
    IDLE = "idle"
    CANCELLED = "cancelled"


class UssdMenu(Struct, frozen=True):
    """What the network shows.

    Attributes:
        text: Its words; may be empty.
        end: Why the session is over; None while the network waits for a reply.
        sent: False if it came before the last reply, which was therefore not sent.
    """

    text: str
    end: UssdEnd | None = None
    sent: bool = True


class UssdPort(Protocol):
    """A phone that can do USSD; only one `send` is made at a time."""

    async def send(self, text: str, *, opens: bool) -> UssdMenu:
        """Send a code that opens a session, or a reply; return the network's answer."""

    async def cancel(self) -> None:
        """End the session at the network, after a `send` that waited was cancelled."""


@runtime_checkable
class UssdSource(Protocol):
    """A source of messages with phones that can do USSD."""

    def ussd(self, device_id: str) -> UssdPort | None:
        """Return a phone; None if it is not of this source, or not connected."""


class UssdSession(Struct):
    """An open session: its id, who opened it, its phone, when it was last used, and what ends the wait for an answer."""

    id: str
    who: str
    port: UssdPort
    at_s: float
    stop: Callable[[], object] | None = None


class UssdSessions(Struct):
    """The open sessions by phone; `port_of` returns a phone that can do USSD now, None if that one cannot."""

    port_of: Callable[[str], UssdPort | None] = lambda _device_id: None
    open: dict[str, UssdSession] = field(default_factory=dict)
