"""Value types of an AT session: settings, stored parts and events.

Plain data without logic. The terms are those of 3GPP TS 27.005 and 27.007.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from daemon.core.lines.ussd import UssdMenu
from daemon.modem.quirks import PortRole
from daemon.modem.session.send import SmsEnded, SmsPartSent


class SessionSettings(Struct, frozen=True):
    """Settings of a session.

    Attributes:
        poll_s: Interval between counts of the messages on the phone; a count above the known number
            triggers a list at once.
        sweep_s: Interval between lists of every storage, independent of the counts.
        heartbeat_s: The longest silence before a health check, and the longest time that health
            questions wait behind messages.
        command_timeout_s: Time limit of a plain command. Listing, deleting and switching the radio
            on may take a multiple of it.
        delete: False leaves messages on the phone after they are stored.
        role: Role of the port, as far as the kernel knows it.
        restart: Begin with `AT+CFUN=1,1`, for a hung phone.
    """

    poll_s: float = 30.0
    sweep_s: float = 300.0
    heartbeat_s: float = 30.0
    command_timeout_s: float = 5.0
    delete: bool = True
    role: PortRole = PortRole.UNKNOWN
    restart: bool = False


class StoredPart(Struct, frozen=True):
    """One received SMS, or one part of it, in a slot of the phone.

    Attributes:
        storage: `SM`, `ME` and so on; empty for a message that the phone forwarded without storing it.
        index: The slot's number within its storage; -1 for a message in no slot.
        status: 0 received unread, 1 received read (27.005 clause 3.1).
        tpdu_length: Octets of the TPDU as the phone counts them, without the SMSC's address. It
            may disagree with the PDU when the phone holds a damaged one.
        pdu: Hex of whole octets as the phone wrote it, with the SMSC's address.
    """

    storage: str
    index: int
    status: int
    tpdu_length: int
    pdu: str


class Registration(StrEnum):
    """Network registration of the phone (27.007 clause 7.2, `<stat>`)."""

    HOME = "home"
    ROAMING = "roaming"
    SEARCHING = "searching"
    DENIED = "denied"
    NONE = "none"
    EMERGENCY_ONLY = "emergency_only"
    UNKNOWN = "unknown"

    @property
    def receives(self) -> bool:
        """Return whether SMS can arrive."""
        return self in {Registration.HOME, Registration.ROAMING}


class Identified(Struct, frozen=True):
    """Identity of the phone and its SIM; comes before any `PartsRead`, and again after a restart.

    Unknown values are None. `own_number` is present on few SIMs.
    """

    imei: str | None
    iccid: str | None
    imsi: str | None
    manufacturer: str | None
    model: str | None
    firmware: str | None
    smsc: str | None
    own_number: str | None
    slot: int = 0
    """SIM slot in use; the messages are from that SIM."""


class Ready(Struct, frozen=True):
    """The phone is set up: notices are enabled if possible, and the first sweep follows.

    `notices` is False when the phone accepted no form of `AT+CNMI`; then only polling finds messages. `storages` are
    swept.
    """

    notices: bool = True
    storages: tuple[str, ...] = ()


class PartsRead(Struct, frozen=True):
    """Messages that were read and are still on the phone: store them, then call `stored`."""

    parts: tuple[StoredPart, ...]


class Freed(Struct, frozen=True):
    """The slot of a stored part is empty now."""

    part: StoredPart


class KeptOnPhone(Struct, frozen=True):
    """A slot was not emptied; its content is handed out again by a later sweep.

    For a message that could not be read at all `part.pdu` is empty. With `tell` the owner has to know.
    """

    part: StoredPart
    why: str
    tell: bool = False


class MessageLost(Struct, frozen=True):
    """A message came that cannot be read, and that the phone does not keep."""

    why: str


class Health(Struct, frozen=True):
    """Health of the phone.

    `signal` is 0 to 31 of `AT+CSQ` (-113 dBm + 2 dB each). `operator` is the network's name or number. `used` and
    `total` are of the storage that receives; `storages` has name, used and total of each counted storage. None is
    unknown.
    """

    signal: int | None
    registration: Registration
    operator: str | None
    used: int | None
    total: int | None
    storages: tuple[tuple[str, int, int], ...] = ()


class NetworkClock(Struct, frozen=True):
    """The phone's clock, which the network sets; microseconds since 1970. A phone without time from it gives any year."""

    at_us: int


class Watermark(Struct, frozen=True):
    """A storage has become nearly full, or is no longer nearly full.

    A full storage accepts no more messages: the network keeps them for a while and then drops them.
    """

    storage: str
    used: int
    total: int
    high: bool


@dataclass(frozen=True, slots=True)
class PinNeeded:
    """The SIM asks for `state`, such as `SIM PIN` or `SIM PUK`.

    The session enters a PIN only after `offer_pin`, and then once. `state` is the phone's answer to `AT+CPIN?`. `iccid`
    is None when the phone does not give it before the SIM is unlocked. `tries` is the number of PIN tries left, None
    when unknown.
    """

    state: str
    iccid: str | None = None
    imei: str | None = None
    tries: int | None = None
    manufacturer: str | None = field(default=None, compare=False)
    model: str | None = field(default=None, compare=False)


class PinRefused(Struct, frozen=True):
    """The offered PIN was entered and refused; `why` is the phone's error text."""

    why: str


class SimAbsent(Struct, frozen=True):
    """There is no SIM, or it does not work; the session retries until there is one."""

    why: str


class HiLink(Struct, frozen=True):
    """Messages go to the stick's web page, out of reach of AT commands; `why` is the evidence.

    If a message is read afterwards, this was wrong.
    """

    why: str


class Hung(Struct, frozen=True):
    """The session is over: close the port and open it again.

    If it is `silent`, a restart of the phone may help. If it never `answered` before, this may not be a command port. If
    it is `unusable`, the phone lacks a function that every session needs, so a retry is useless.
    """

    why: str
    silent: bool = True
    answered: bool = True
    unusable: bool = False

    def __str__(self) -> str:
        return self.why


class Note(StrEnum):
    """Kind of an unknown item."""

    LINE = "line"
    ERROR = "error"
    MODEM = "modem"


class Noted(Struct, frozen=True):
    """A line, error or modem that is in no table, reported once each; the session continues.

    An unsolicited line may contain a message's text, so it must not be logged as it is.
    """

    line: str
    what: Note = Note.LINE


Event = (
    Identified
    | Ready
    | PartsRead
    | Freed
    | KeptOnPhone
    | MessageLost
    | Health
    | NetworkClock
    | Watermark
    | PinNeeded
    | PinRefused
    | SimAbsent
    | HiLink
    | Hung
    | Noted
    | SmsPartSent
    | SmsEnded
    | UssdMenu
)
