"""What an AT session is told to do and what it has to say: settings and events, nothing else."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How often a session asks, and how long it waits for an answer.

    Attributes:
        poll_s: Between two looks at how many messages are stored. A notice may be lost.
        sweep_s: Between two full lists of each storage, whatever the counts say.
        heartbeat_s: Between two questions for signal and registration.
        command_timeout_s: After so long without an answer a command has missed; three in a row
            are a hung phone.
        delete: Whether slots are emptied at all once their message is stored.
    """

    poll_s: float = 30.0
    sweep_s: float = 300.0
    heartbeat_s: float = 30.0
    command_timeout_s: float = 10.0
    delete: bool = True


@dataclass(frozen=True, slots=True)
class StoredPart:
    """One SMS in a slot of the phone, as it was read.

    Attributes:
        storage: Such as `SM` or `ME`.
        index: The slot's number; some makes count from 0.
        status: 0 unread, 1 read (3GPP TS 27.005 clause 3.1).
        tpdu_length: Octets behind the SMSC field, as the phone said it.
        pdu: In upper-case hex, with the SMSC field.
    """

    storage: str
    index: int
    status: int
    tpdu_length: int
    pdu: str


@dataclass(frozen=True, slots=True)
class Identified:
    """Who the phone and its SIM are. Comes before the first `PartsRead`; again after a reboot."""

    imei: str | None
    iccid: str | None
    imsi: str | None
    manufacturer: str | None
    model: str | None
    firmware: str | None
    smsc: str | None
    own_number: str | None


@dataclass(frozen=True, slots=True)
class Ready:
    """The phone is set up and is being listened to."""


@dataclass(frozen=True, slots=True)
class PartsRead:
    """Messages were read; give them to `Session.stored` when they are durable."""

    parts: tuple[StoredPart, ...]


@dataclass(frozen=True, slots=True)
class Freed:
    """The slot no longer holds this part."""

    part: StoredPart


@dataclass(frozen=True, slots=True)
class KeptOnPhone:
    """The slot was not emptied: it holds something else now, or could not be read again."""

    part: StoredPart
    why: str


@dataclass(frozen=True, slots=True)
class Health:
    """How the phone is.

    Attributes:
        signal: 0 to 31; -113 dBm plus 2 dBm each (3GPP TS 27.007 clause 8.5).
        registration: `<stat>` of `+CREG` (clause 7.2): 1 and 5 are home and roaming.
        operator: The network's name as the phone gives it.
        used: Slots in use in the storage that receives.
        total: Slots it has.
    """

    signal: int | None
    registration: int | None
    operator: str | None
    used: int | None
    total: int | None


@dataclass(frozen=True, slots=True)
class PinNeeded:
    """The SIM waits for a code, such as `SIM PIN` or `SIM PUK`. The session tries none."""

    state: str


@dataclass(frozen=True, slots=True)
class Hung:
    """The phone no longer answers. Close the port and open it again; nothing more will come."""

    why: str


@dataclass(frozen=True, slots=True)
class Noted:
    """A line that nobody here knows; each kind once. It may hold private data."""

    line: str


Event = Identified | Ready | PartsRead | Freed | KeptOnPhone | Health | PinNeeded | Hung | Noted
