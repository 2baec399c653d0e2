"""Whether the machine's clock is to be believed. The networks' own times, in the messages that just came, are witnesses.

A witness is carried forward by the clock that counts on through sleep and that nobody can set, so a wall clock that is
set wrong, or right again, is noticed at once and not with the next message. The clock is believed as soon as one of the
last few witnesses agrees with it: one message that came late, or one network with a wrong clock, proves nothing against
the others. Pure: both hands are arguments.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from daemon.core.limits import MINUTE_US, SECOND_US

AGREES_US: Final = 10 * MINUTE_US
"""How far a network's time and ours may be apart (operations.md 2.6)."""
WITNESSES: Final = 5
SETTLES_S: Final = 120.0
"""For so long after a phone was opened, old messages are its backlog: that they are late says nothing about our clock."""
BUILT_US: Final = 1_767_225_600 * SECOND_US
"""2026-01-01: no clock that is right is before this program was written. A dead battery gives 1970 or the board's year."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why the clock is not believed.

    Attributes:
        why: One sentence for a person.
        ahead_us: How far the clock is ahead of the witness, negative when it is behind; None when nobody knows.
    """

    why: str
    ahead_us: int | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which the wall clock ran on without a step, all of it as wrong as its end was.

    Attributes:
        from_us: When it began, by that clock.
        until_us: When it ended, by that clock.
        step_us: From that clock to the one that followed all of them.
    """

    from_us: int
    until_us: int
    step_us: int


class ClockWatch:
    """What is known of the wall clock since the program started."""

    def __init__(self) -> None:
        self._floor: tuple[int, float] | None = None
        self._opened: dict[str, float] = {}
        self.doubted = False
        """The journal says that the clock is in doubt."""
        self._looked: tuple[int, float] | None = None
        self._since_us = 0
        self._wrong: list[tuple[int, int, int]] = []
        self._witnesses: deque[tuple[int, float]] = deque(maxlen=WITNESSES)

    def written_before(self, at_us: int, boot_s: float) -> None:
        """Note the latest time that the shop's journal holds at the start: it cannot be earlier now."""
        self._floor = (at_us, boot_s)

    def look(self, now_us: int, boot_s: float) -> None:
        """Note both hands: a step of the clock since the last look ends one stretch and begins another."""
        last, self._looked = self._looked, (now_us, boot_s)
        if last is None:
            self._since_us = now_us
            return
        ended_us = _carried(last, boot_s)
        if abs(now_us - ended_us) <= AGREES_US:
            return
        if self.doubted:
            self._wrong.append((self._since_us, ended_us, ended_us - _us(boot_s)))
        # The step may be as old as the last look.
        self._since_us = now_us - (ended_us - last[0])

    def wrong(self) -> list[Stretch]:
        """Return the stretches that were in doubt and that another clock followed."""
        if self._looked is None:
            return []
        here = self._looked[0] - _us(self._looked[1])
        steps = [Stretch(since, until, here - there) for since, until, there in self._wrong]
        return [stretch for stretch in steps if abs(stretch.step_us) > AGREES_US]

    def turned(self, *, doubted: bool) -> None:
        """Note that the journal has it that a doubt began, or that it is over and `wrong` was seen to."""
        self.doubted = doubted
        self._wrong.clear()

    def opened(self, sim_key: str, boot_s: float) -> None:
        """Note that a phone with this SIM begins to be read."""
        self._opened[sim_key] = boot_s

    def heard(self, sim_key: str, sent_us: int, now_us: int, boot_s: float) -> None:
        """Note the network's time of a message that just became whole."""
        backlog = boot_s - self._opened.get(sim_key, boot_s) < SETTLES_S
        if backlog and now_us - sent_us > AGREES_US:
            return
        self._witnesses.append((sent_us, boot_s))

    def doubt(self, now_us: int, boot_s: float) -> Doubt | None:
        """Say why the clock is not believed, None when it is."""
        if now_us < BUILT_US:
            return Doubt("the clock of this machine is before this program was written", None)
        apart = [now_us - _carried(witness, boot_s) for witness in self._witnesses]
        if any(abs(one) <= AGREES_US for one in apart):
            return None
        if apart:
            # The smallest is the best guess: a message can come late, but not before it was sent.
            ahead = min(apart)
            return Doubt(
                f"the clock of this machine is {_span(abs(ahead))} {'ahead of' if ahead > 0 else 'behind'} the "
                "network time in the last SMS",
                ahead,
            )
        if self._floor is not None and now_us + AGREES_US < _carried(self._floor, boot_s):
            behind = now_us - _carried(self._floor, boot_s)
            return Doubt(
                f"the clock of this machine has gone backwards: the shop's journal is {_span(-behind)} ahead of it",
                behind,
            )
        return None

    def believed_us(self, now_us: int, boot_s: float) -> int:
        """Return the best guess of the time: the clock's, or the witness's when the clock is in doubt."""
        doubt = self.doubt(now_us, boot_s)
        return now_us if doubt is None or doubt.ahead_us is None else now_us - doubt.ahead_us


def _carried(witness: tuple[int, float], boot_s: float) -> int:
    at_us, then_s = witness
    return at_us + round((boot_s - then_s) * SECOND_US)


def _us(boot_s: float) -> int:
    return round(boot_s * SECOND_US)


def _span(apart_us: int) -> str:
    minutes = apart_us // MINUTE_US
    if minutes < 120:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} hours" if hours < 48 else f"{hours // 24} days"
