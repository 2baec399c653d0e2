"""Whether the machine's clock is to be believed. The networks' own times, in the messages that just came, are witnesses.

A witness is carried forward by the clock that counts on through sleep and that nobody can set, so a wall clock that is
set wrong, or right again, is noticed at once and not with the next message. The clock is believed as soon as one of the
last few witnesses agrees with it: one message that came late, or one network with a wrong clock, proves nothing against
the others.

Where no witness has spoken since the machine was off, nothing speaks against a clock that is ahead: the time for which
it was off may be anything. Then only what has surely passed counts: the last time that is known of, and what that other
clock has counted since. `docs/decisions/0045` says why. Pure: both hands are arguments.
"""

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from daemon.core.limits import MINUTE_US, SECOND_US

AGREES_US: Final = 10 * MINUTE_US
"""How far a network's time and ours may be apart (operations.md 2.6)."""
WITNESSES: Final = 5
SETTLES_S: Final = 120.0
"""For so long after a phone was opened, old messages are its backlog: that they are late says nothing about our clock."""
MADE_MAX: Final = 10_000
"""Orders of a clock that nothing vouches for that are remembered: days of a busy shop."""
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
class Misdated:
    """An order that was made by a wrong clock, and how far it is from that clock to the right one."""

    transaction_id: str
    by_us: int


class ClockWatch:
    """What is known of the wall clock, also from before the program started."""

    def __init__(self) -> None:
        self._past: tuple[int, float] | None = None
        """A time that has surely come, and when that was known."""
        self._opened: dict[str, float] = {}
        self.doubted = False
        """The journal has it that the clock is in doubt."""
        self._looked: tuple[int, float] | None = None
        self._made: deque[tuple[str, int]] = deque(maxlen=MADE_MAX)
        """Orders that were made while nothing vouched for the clock, and where its zero was then."""
        self._witnesses: deque[tuple[int, float]] = deque(maxlen=WITNESSES)

    def written_before(self, at_us: int, boot_s: float) -> None:
        """Note the latest time that is known of at the start: it cannot be earlier now."""
        self._past = (at_us, boot_s)

    def look(self, now_us: int, boot_s: float) -> None:
        """Note both hands."""
        self._looked = (now_us, boot_s)
        if self.vouched(now_us, boot_s):
            self._past = (now_us, boot_s)

    def step(self, now_us: int, boot_s: float) -> int:
        """Return by how much the clock was set since the last look, 0 where it ran on."""
        step_us = 0 if self._looked is None else now_us - _carried(self._looked, boot_s)
        return step_us if abs(step_us) > AGREES_US else 0

    def made(self, transaction_id: str, now_us: int, boot_s: float) -> None:
        """Note that an order was made, if it may be by a wrong clock."""
        if not self.vouched(now_us, boot_s):
            self._made.append((transaction_id, now_us - _us(boot_s)))

    def misdated(self, now_us: int, boot_s: float) -> list[Misdated]:
        """Return the orders that were made by another clock than the one that is here now.

        Whichever of the two is right: an order's end is to be by the same clock as what it is compared with.
        """
        here = now_us - _us(boot_s)
        if self.vouched(now_us, boot_s):
            # The others were made by a clock that turned out to be right.
            wrong = (one for one in self._made if abs(here - one[1]) > AGREES_US)
            self._made = deque(wrong, MADE_MAX)
        steps = (Misdated(which, here - there) for which, there in self._made)
        return [one for one in steps if abs(one.by_us) > AGREES_US]

    def dated(self, orders: Sequence[Misdated]) -> None:
        """Note that these were moved to the clock that was here when `misdated` named them."""
        by = {one.transaction_id: one.by_us for one in orders}
        moved = ((which, there + by.get(which, 0)) for which, there in self._made)
        self._made = deque(moved, MADE_MAX)

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
        if self._past is not None and now_us + AGREES_US < _carried(self._past, boot_s):
            behind = now_us - _carried(self._past, boot_s)
            return Doubt(
                f"the clock of this machine has gone backwards: the shop's journal is {_span(-behind)} ahead of it",
                behind,
            )
        return None

    def skew_us(self, now_us: int, boot_s: float) -> int | None:
        """Return how far the networks' time is ahead of the clock, negative when it is behind; None while none has spoken.

        A message is on its way for some seconds, so of the last few the one that says the most is nearest.
        """
        apart = [_carried(witness, boot_s) - now_us for witness in self._witnesses]
        agreeing = [one for one in apart if abs(one) <= AGREES_US]
        return max(agreeing or apart, default=None)

    def vouched(self, now_us: int, boot_s: float) -> bool:
        """Say whether something speaks for the clock: a witness, or that it ran on from a time that is known."""
        if self.doubt(now_us, boot_s) is not None:
            return False
        if self._witnesses or self._past is None:
            return True
        return now_us - _carried(self._past, boot_s) <= AGREES_US

    def sure_us(self, now_us: int, boot_s: float) -> int:
        """Return a time that has surely come: the clock's while something speaks for it, else the latest that is known.

        What has no end but by the clock ends by this one: later than it should perhaps, and never before.
        """
        if self._past is None or self.vouched(now_us, boot_s):
            return now_us
        return min(now_us, _carried(self._past, boot_s))

    def memory(self, now_us: int, boot_s: float, boot_id: str) -> str:
        """Return what the next start of the program is to know (`remember`)."""
        return json.dumps(
            {
                "boot_id": boot_id,
                "boot_s": boot_s,
                "now_us": now_us,
                "past_us": now_us if self._past is None else _carried(self._past, boot_s),
                "doubted": self.doubted,
                "witnesses": [*self._witnesses],
                "made": [*self._made],
            }
        )

    def remember(self, memory: str, now_us: int, boot_s: float, boot_id: str) -> bool:
        """Take up where the program before this one ended; False when that cannot be read.

        All of it where the machine has run on since. Else the counter began anew: only the time that had come by then is
        known, and orders of a wrong clock are taken as if the machine had not been off, so that they end late, not early.
        A clock that is behind where it was left was surely set back while the machine was off; `step` says so next.
        """
        try:
            told: dict[str, Any] = json.loads(memory)
            past_us, then_s = int(told["past_us"]), float(told["boot_s"])
            looked = (int(told["now_us"]), then_s)
            witnesses = [(int(at), float(heard_s)) for at, heard_s in told["witnesses"]]
            made = [(str(which), int(zero)) for which, zero in told["made"]]
            same = bool(boot_id) and told["boot_id"] == boot_id and then_s <= boot_s
            doubted = bool(told["doubted"])
        except (ValueError, TypeError, KeyError):
            return False
        self.doubted = doubted
        if same:
            self._past, self._looked = (past_us, then_s), looked
            self._witnesses.extend(witnesses)
        else:
            self._past = (past_us, boot_s)
            self._looked = (looked[0], boot_s) if looked[0] > now_us else None
        ran_on = 0 if same else _us(then_s) - _us(boot_s)
        self._made.extend((which, zero + ran_on) for which, zero in made)
        return True

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
