"""Present faults of the shop, kept in memory because notices must work while the database cannot be written. Pure."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from daemon.core.json_values import Json, timestamp
from daemon.core.limits import HOUR_US, MINUTE_US
from daemon.core.model import NoticeRow
from daemon.core.text import Text
from daemon.wire import FaultCause

NOTICE_AFTER_US: Final = MINUTE_US
"""A fault gives a notice after this time; most end earlier by themselves, such as another program's lock."""
NOTICE_AGAIN_US: Final = 4 * HOUR_US
ASIDE_MAX: Final = 50
"""Items set aside that are named; others are only counted in the log."""
REPORT: Final = "momo doctor --bundle momo-doctor.tar.gz"


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
    text: Text | str
    next_step: str
    since: int
    told_at: int | None = None
    count: int = 1


class Faults:
    """The present faults: one for each cause, for each loop that fails, and for each item that was set aside."""

    def __init__(self) -> None:
        self._present: dict[FaultCause, Fault] = {}
        self._loops: dict[tuple[str, str], Fault] = {}
        """By loop and item; the item is empty for the loop itself."""
        self._over: list[Fault] = []

    def all(self) -> list[Fault]:
        """Return the present faults, those of the machine first."""
        return [*self._present.values(), *self._loops.values()]

    def loop_failed(self, loop: str, why: str, new_id: str, now_us: int) -> int:
        """Note that a loop ended by a bug; return how often it did so since it last worked."""
        fault = self._loops.setdefault((loop, ""), Fault(new_id, FaultCause.LOOP_FAILS, "", REPORT, now_us, count=0))
        fault.count += 1
        fault.text = Text("fault.loop", loop=loop, count=fault.count, why=why)
        return fault.count

    def is_failing(self, loop: str) -> bool:
        """Return whether a loop has failed since it last worked."""
        return (loop, "") in self._loops

    def loop_works(self, loop: str) -> bool:
        """Note that a loop has done its work; return whether it had failed before."""
        fault = self._loops.pop((loop, ""), None) if self._loops else None
        if fault is None:
            return False
        self._over.append(fault)
        return True

    def set_aside(self, loop: str, item: str, why: str, new_id: str, now_us: int) -> bool:
        """Note an item on which a loop fails again and again, and which it leaves out; False if that is known."""
        if (loop, item) in self._loops or len(self._loops) >= ASIDE_MAX:
            return False
        text = Text("fault.aside", loop=loop, item=item, why=why)
        self._loops[loop, item] = Fault(new_id, FaultCause.LOOP_FAILS, text, REPORT, now_us)
        return True

    def see(
        self, found: Mapping[FaultCause, tuple[Text | str, str]], new_id: str, now_us: int
    ) -> tuple[list[Fault], list[Fault]]:
        """Note all faults that are present now; return those that began and those that ended.

        `found` has the sentence and the next step of each cause.
        """
        ended, self._over = self._over, []
        ended += [self._present.pop(cause) for cause in list(self._present) if cause not in found]
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
            for fault in self.all()
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
        "text": str(fault.text),
        "next": fault.next_step or None,
        "since": timestamp(fault.since),
    }


def as_notice(fault: Fault) -> NoticeRow:
    """Return a fault as a notice that is in no table."""
    return NoticeRow(
        seq=0, id=fault.id, cause=fault.cause, kind=f"fault.{fault.cause}", urgent=True, text=str(fault.text),
        next=fault.next_step, count=fault.count, told=int(fault.told_at is not None), first_at=fault.since,
        last_at=fault.since, seen_at=None, recovered_at=None,
    )  # fmt: skip
