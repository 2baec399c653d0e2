"""What a session with a phone is told and what it tells: settings, stored parts and events.

All are values; nothing here decides anything. The words are those of 3GPP TS 27.005 and 27.007.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from daemon.modem.families import PortRole
from daemon.modem.session_send import SmsEnded, SmsPartSent


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How a session treats its phone.

    Attributes:
        poll_s: How often the phone is asked how many messages it holds; more than we know of are
            listed at once.
        sweep_s: How often every storage is listed whatever the counts say.
        heartbeat_s: The longest silence before the phone is asked for a sign of life, and how long
            questions about its health may wait behind messages.
        command_timeout_s: How long a plain command may take. Listing, deleting and switching the
            radio on may take a multiple of it.
        delete: False leaves messages on the phone after they are stored.
        role: What the port is for, as far as the kernel tells.
        restart: Begin with `AT+CFUN=1,1`, for a phone that hangs.
    """

    poll_s: float = 30.0
    sweep_s: float = 300.0
    heartbeat_s: float = 30.0
    command_timeout_s: float = 5.0
    delete: bool = True
    role: PortRole = PortRole.UNKNOWN
    restart: bool = False


@dataclass(frozen=True, slots=True)
class StoredPart:
    """One received SMS, or one part of one, as it lies in a slot of the phone.

    Attributes:
        storage: `SM`, `ME` and so on; empty for one that the phone passed on without storing it.
        index: The slot's number within its storage; -1 for one that is in no slot.
        status: 0 received unread, 1 received read (27.005 clause 3.1).
        tpdu_length: Octets of the TPDU as the phone counts them, without the SMSC's address. It
            may disagree with the PDU when the phone itself holds a damaged one.
        pdu: Hex of whole octets as the phone wrote it, with the SMSC's address.
    """

    storage: str
    index: int
    status: int
    tpdu_length: int
    pdu: str


class Registration(StrEnum):
    """Whether the network serves the phone (27.007 clause 7.2, `<stat>`)."""

    HOME = "home"
    ROAMING = "roaming"
    SEARCHING = "searching"
    DENIED = "denied"
    NONE = "none"
    EMERGENCY_ONLY = "emergency_only"
    UNKNOWN = "unknown"

    @property
    def receives(self) -> bool:
        """Say whether SMS can arrive."""
        return self in {Registration.HOME, Registration.ROAMING}


@dataclass(frozen=True, slots=True)
class Identified:
    """Who the phone and its SIM are; comes before any `PartsRead`, and again after a restart.

    What the phone does not tell is None. `own_number` is on few SIMs.
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
    """Which of the device's SIMs is in use; the messages are of that one."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The phone is set up: notices are asked for where it can give them, the first sweep follows.

    Attributes:
        notices: False when the phone took no form of `AT+CNMI`; then only polling finds messages.
        storages: What is swept.
    """

    notices: bool = True
    storages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PartsRead:
    """Messages that were read and are still on the phone: store them, then say `stored`."""

    parts: tuple[StoredPart, ...]


@dataclass(frozen=True, slots=True)
class Freed:
    """The slot of a stored part is empty now."""

    part: StoredPart


@dataclass(frozen=True, slots=True)
class KeptOnPhone:
    """A slot was not emptied; what lies in it is handed out again by a later sweep.

    For a message that could not be read at all `part.pdu` is empty.
    """

    part: StoredPart
    why: str


@dataclass(frozen=True, slots=True)
class Health:
    """How the phone fares.

    Attributes:
        signal: 0 to 31 of `AT+CSQ` (-113 dBm + 2 dB each), None when unknown.
        registration: Whether SMS can arrive.
        operator: The network's name or number, None when there is none.
        used: Messages in the storage that receives, None when unknown.
        total: How many it can hold, None when unknown.
        storages: Name, used and total of each storage that was counted.
    """

    signal: int | None
    registration: Registration
    operator: str | None
    used: int | None
    total: int | None
    storages: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Watermark:
    """A storage has become nearly full, or is no longer so.

    A full one takes no message more: the network keeps them for a while and then drops them.
    """

    storage: str
    used: int
    total: int
    high: bool


@dataclass(frozen=True, slots=True)
class PinNeeded:
    """The SIM wants `state`, such as `SIM PIN` or `SIM PUK`.

    The session types a PIN only when it is handed one with `offer_pin`, and then once.

    Attributes:
        state: In the phone's words.
        iccid: Which SIM it is; None when the phone does not tell before it is open.
        imei: Which phone it is.
        tries: How many PINs may still be wrong, None when the phone does not say.
        manufacturer: The phone's, for a name to people.
        model: The same.
    """

    state: str
    iccid: str | None = None
    imei: str | None = None
    tries: int | None = None
    manufacturer: str | None = field(default=None, compare=False)
    model: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PinRefused:
    """The PIN that was handed over was typed and refused; `why` in the phone's words."""

    why: str


@dataclass(frozen=True, slots=True)
class SimAbsent:
    """There is no SIM, or it does not work; the session asks again until there is one."""

    why: str


@dataclass(frozen=True, slots=True)
class HiLink:
    """Messages go to the web page of the stick, where no AT command sees them; `why` we think so.

    What is read after it all the same proves it wrong.
    """

    why: str


@dataclass(frozen=True, slots=True)
class Hung:
    """The session is over: close the port and open it again.

    Attributes:
        why: The reason as a sentence for people.
        silent: No answer came; a restart of the phone may help.
        answered: It has answered before; if not, this may not be a port that takes commands.
    """

    why: str
    silent: bool = True
    answered: bool = True

    def __str__(self) -> str:
        """Return the reason as a sentence for people."""
        return self.why


class Note(StrEnum):
    """What is not known."""

    LINE = "line"
    ERROR = "error"
    MODEM = "modem"


@dataclass(frozen=True, slots=True)
class Noted:
    """What a phone says and no table knows, once each; the session goes on all the same.

    A line that nobody asked for may hold a message's text: mind the log.
    """

    line: str
    what: Note = Note.LINE


Event = (
    Identified
    | Ready
    | PartsRead
    | Freed
    | KeptOnPhone
    | Health
    | Watermark
    | PinNeeded
    | PinRefused
    | SimAbsent
    | HiLink
    | Hung
    | Noted
    | SmsPartSent
    | SmsEnded
)
