"""What a PDU says once it is read: received and sent messages, status reports, garbled lines.

Clauses are of 3GPP TS 23.040.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from daemon.modem.pdu_fields import Coding, Concat, Element, Ports, SenderType


class Direction(StrEnum):
    """Which way a PDU goes; the same type bits mean other things each way (clause 9.2.3.1)."""

    FROM_NETWORK = "from_network"
    TO_NETWORK = "to_network"


class Outcome(StrEnum):
    """What became of a sent message, by TP-Status (clause 9.2.3.15)."""

    DELIVERED = "delivered"
    TRYING = "trying"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    """What received and sent messages have in common.

    Attributes:
        pdu: the PDU as upper-case hex, SMSC field first ("00" when the modem gave none): decodes
            again without a length, so this is what a store keeps.
        smsc: number of the service centre, or None.
        text: what the user data says; "" for 8-bit data. A message part cut inside a surrogate
            pair shows U+FFFD there: join parts from their octets (`daemon.modem.parts`).
        user_data: its octets as sent, without header; GSM 7-bit ones may begin with fill bits.
        septets: GSM 7-bit user data, unpacked, one per byte; b"" for other codings.
        coding: of the user data.
        udh: the user data header as sent with its length octet, b"" when there is none.
        elements: the information elements of the header.
        concat: place among the parts of a long message, None for a whole one.
        ports: application ports, None when there are none.
        locking: national locking shift table of the text, 0 for the default.
        single: national single shift table, 0 for the default.
        pid: TP-PID.
        dcs: TP-DCS.
        message_class: 0 to 3, or None.
    """

    pdu: str
    smsc: str | None
    text: str
    user_data: bytes
    septets: bytes
    coding: Coding
    udh: bytes
    elements: tuple[Element, ...]
    concat: Concat | None
    ports: Ports | None
    locking: int
    single: int
    pid: int
    dcs: int
    message_class: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver(_Body):
    """SMS-DELIVER, a received message (clause 9.2.2.1).

    `sender` is a name as sent or a number, with `+` if international; `sent_at` is the service
    centre's time in the zone it named, None where it names no moment.
    """

    sender: str
    sender_type: SenderType
    sent_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit(_Body):
    """SMS-SUBMIT, a message sent or kept to be sent (clause 9.2.2.2).

    `reference` is TP-MR; `validity` holds the octets of TP-VP, b"" when there are none.
    """

    recipient: str
    recipient_type: SenderType
    reference: int
    status_report: bool
    validity: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """SMS-STATUS-REPORT: what became of a sent message (clause 9.2.2.3).

    `reference` is the number that `+CMGS:` told. Match by it first: some modems garble the
    recipient. `status` is TP-Status.
    """

    pdu: str
    smsc: str | None
    recipient: str
    recipient_type: SenderType
    reference: int
    sent_at: datetime | None
    discharged_at: datetime | None
    status: int

    @property
    def outcome(self) -> Outcome:
        """Read TP-Status; a reserved value counts as the last word on a failure."""
        if self.status < 0x20:
            return Outcome.DELIVERED
        return Outcome.TRYING if self.status < 0x40 else Outcome.FAILED


@dataclass(frozen=True, slots=True)
class Garbled:
    """A line that is no readable PDU: `why` is a sentence's end, `raw` the line as given."""

    why: str
    raw: str


Message = Deliver | Submit
"""What carries text."""
