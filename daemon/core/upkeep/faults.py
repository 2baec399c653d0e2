"""Present faults of the shop, kept in memory because notices must work while the database cannot be written. Pure."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from daemon.core.json_values import Json, timestamp
from daemon.core.limits import HOUR_US, MINUTE_US
from daemon.core.model import NoticeRow
from daemon.wire import FaultCause

NOTICE_AFTER_US: Final = MINUTE_US
"""A fault gives a notice after this time; most end earlier by themselves, such as another program's lock."""
NOTICE_AGAIN_US: Final = 4 * HOUR_US


class Fault(Struct):
    """One present fault.

    Attributes:
        id: For the list of notices.
        cause: The cause, for programs.
        text: One sentence for the owner.
        next_step: The command or action that ends it; empty if it ends by itself.
        since: When it was first seen, microseconds.
        told_at: When the owner last got a notice; None if not yet.
    """

    id: str
    cause: FaultCause
    text: str
    next_step: str
    since: int
    told_at: int | None = None


class Faults:
    """The present faults, one for each cause."""

    def __init__(self) -> None:
        self._present: dict[FaultCause, Fault] = {}

    def all(self) -> list[Fault]:
        """Return the present faults, the oldest first."""
        return list(self._present.values())

    def see(
        self, found: Mapping[FaultCause, tuple[str, str]], new_id: str, now_us: int
    ) -> tuple[list[Fault], list[Fault]]:
        """Note all faults that are present now; return those that began and those that ended.

        `found` has the sentence and the next step of each cause.
        """
        ended = [self._present.pop(cause) for cause in list(self._present) if cause not in found]
        began = []
        for cause, (text, next_step) in found.items():
            fault = self._present.get(cause)
            if fault is None:
                fault = self._present[cause] = Fault(new_id, cause, text, next_step, now_us)
                began.append(fault)
            fault.text, fault.next_step = text, next_step
        return began, ended

    def due(self, now_us: int) -> list[Fault]:
        """Return the faults about which the owner gets a notice now, and note that it was given."""
        due = [
            fault
            for fault in self._present.values()
            if (
                now_us - fault.since >= NOTICE_AFTER_US
                if fault.told_at is None
                else not 0 <= now_us - fault.told_at < NOTICE_AGAIN_US
            )
        ]
        for fault in due:
            fault.told_at = now_us
        return due


def fault_json(fault: Fault) -> Json:
    """Return the object of a fault in the status."""
    return {
        "cause": fault.cause,
        "text": fault.text,
        "next": fault.next_step or None,
        "since": timestamp(fault.since),
    }


def as_notice(fault: Fault) -> NoticeRow:
    """Return a fault as a notice that is in no table."""
    return NoticeRow(
        seq=0,
        id=fault.id,
        cause=fault.cause,
        kind=f"fault.{fault.cause}",
        urgent=True,
        text=fault.text,
        next=fault.next_step,
        count=1,
        told=int(fault.told_at is not None),
        first_at=fault.since,
        last_at=fault.since,
        seen_at=None,
        recovered_at=None,
    )
