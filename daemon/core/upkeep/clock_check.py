"""Check the machine's clock against the network times in recent messages.

A network time is a witness. It is extrapolated by the boot clock, which counts through sleep and which no user can set,
so a wrong or corrected wall clock is noticed at once and not with the next message. The clock is trusted as soon as one
of the last few witnesses agrees with it: one late message, or one network with a wrong clock, does not outvote the
others.

Without a witness since the machine was switched on, a clock that is ahead cannot be disproved: the machine may have been
off for any time. Then use a lower bound of the time: the last known time plus the boot clock's count since.
`docs/decisions/0021` gives the reasons. Pure: both clocks are arguments.
"""

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from daemon.core.limits import MINUTE_US, SECOND_US

AGREES_US: Final = 10 * MINUTE_US
"""Largest difference between a network's time and ours (operations.md 2.6)."""
WITNESSES: Final = 5
BACKLOG_S: Final = 120.0
"""After a phone is opened, its old messages arrive as a backlog for this long; they say nothing about our clock."""
MISDATED_MAX: Final = 10_000
"""Most transactions with an unconfirmed date that are remembered: days of a busy shop."""
EARLIEST_US: Final = 1_767_225_600 * SECOND_US
"""2026-01-01, before this program was written: an earlier clock is wrong. A dead battery gives 1970 or the board's year."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """The reason not to trust the clock.

    `why` is one sentence for the operator. The clock is `ahead_us` of the witness, negative when it is behind; None if
    unknown.
    """

    why: str
    ahead_us: int | None


@dataclass(frozen=True, slots=True)
class Misdated:
    """A transaction dated by a wrong clock, and the difference from that clock to the right one."""

    transaction_id: str
    by_us: int


@dataclass(frozen=True, slots=True)
class Times:
    """The time at one moment, as far as it is known. A flow reads it once, at its start.

    Attributes:
        wall_us: The wall clock, in microseconds since 1970 in UTC.
        boot_s: The boot clock, in seconds.
        lower_bound_us: The wall clock if it is confirmed, else the latest known time. Use it for expiry when nothing but
            the clock can end a thing: it may end late, and never early.
        best_us: The best estimate: the wall clock, or the networks' time while the wall clock is in doubt.
        doubt: The reason not to trust the wall clock, None when it is trusted. In doubt, nothing expires or is pruned.
        skew_us: How far the networks' time is ahead of the wall clock, negative when it is behind; None without a witness.
        confirmed: The wall clock is confirmed: by a witness, or because it ran on from a known time.
    """

    wall_us: int
    boot_s: float
    lower_bound_us: int
    best_us: int
    doubt: Doubt | None
    skew_us: int | None
    confirmed: bool


class ClockCheck:
    """The state of knowledge about the wall clock, also from before the program started."""

    def __init__(self) -> None:
        self.doubted = False
        """The journal says that the clock is in doubt."""
        self._past: tuple[int, float] | None = None
        """A time that is surely past, and the boot clock when that was known."""
        self._last_reading: tuple[int, float] | None = None
        self._opened: dict[str, float] = {}
        self._unconfirmed: deque[tuple[str, int]] = deque(maxlen=MISDATED_MAX)
        """Transactions made while the clock was unconfirmed, each with the wall time of boot clock zero."""
        self._witnesses: deque[tuple[int, float]] = deque(maxlen=WITNESSES)

    def times(self, now_us: int, boot_s: float) -> Times:
        """Return what a reading of both clocks says about the time."""
        past_us = None if self._past is None else _extrapolate(self._past, boot_s)
        ahead_us = [now_us - _extrapolate(witness, boot_s) for witness in self._witnesses]
        doubt = _doubt(now_us, ahead_us, past_us)
        agrees = bool(ahead_us) or past_us is None or now_us - past_us <= AGREES_US
        confirmed = doubt is None and agrees
        # A message takes some seconds to arrive, so the most recent network time is the most accurate.
        agreeing = [one for one in ahead_us if abs(one) <= AGREES_US]
        least_us = min(agreeing or ahead_us, default=None)
        return Times(
            wall_us=now_us,
            boot_s=boot_s,
            lower_bound_us=now_us if confirmed or past_us is None else min(now_us, past_us),
            best_us=now_us - ((doubt and doubt.ahead_us) or 0),
            doubt=doubt,
            skew_us=None if least_us is None else -least_us,
            confirmed=confirmed,
        )

    def note_latest(self, at_us: int, boot_s: float) -> None:
        """Note the latest time known at the start: now cannot be earlier."""
        self._past = (at_us, boot_s)

    def note_reading(self, times: Times) -> None:
        """Note a reading of both clocks."""
        self._last_reading = (times.wall_us, times.boot_s)
        if times.confirmed:
            self._past = self._last_reading

    def note_opened(self, sim_key: str, boot_s: float) -> None:
        """Note that reading a phone with this SIM begins."""
        self._opened[sim_key] = boot_s

    def note_network_time(self, sim_key: str, sent_us: int, times: Times) -> None:
        """Note the network's time of a message that has just become complete."""
        backlog = times.boot_s - self._opened.get(sim_key, times.boot_s) < BACKLOG_S
        if not backlog or times.wall_us - sent_us <= AGREES_US:
            self._witnesses.append((sent_us, times.boot_s))

    def note_created(self, transaction_id: str, times: Times) -> None:
        """Note a new transaction, if its date may be wrong."""
        if not times.confirmed:
            self._unconfirmed.append((transaction_id, times.wall_us - _us(times.boot_s)))

    def step_us(self, times: Times) -> int:
        """Return by how much the clock was set since the last reading; 0 if it was not."""
        last = self._last_reading
        step = 0 if last is None else times.wall_us - _extrapolate(last, times.boot_s)
        return step if abs(step) > AGREES_US else 0

    def misdated(self, times: Times) -> list[Misdated]:
        """Return the transactions that were dated by another clock than the present one.

        It does not matter which of the two is right: an expiry must use the same clock as the time it is compared with.
        """
        here = times.wall_us - _us(times.boot_s)
        wrong = [one for one in self._unconfirmed if abs(here - one[1]) > AGREES_US]
        if times.confirmed:
            # The other transactions were dated by a clock that turned out to be right.
            self._unconfirmed = deque(wrong, MISDATED_MAX)
        return [Misdated(which, here - there) for which, there in wrong]

    def note_corrected(self, transactions: Sequence[Misdated]) -> None:
        """Note that these transactions were moved to the clock of the moment when `misdated` named them."""
        by = {one.transaction_id: one.by_us for one in transactions}
        moved = ((which, there + by.get(which, 0)) for which, there in self._unconfirmed)
        self._unconfirmed = deque(moved, MISDATED_MAX)

    def dump(self, times: Times, boot_id: str) -> str:
        """Return the state for the next start of the program (`restore`)."""
        past_us = times.wall_us if self._past is None else _extrapolate(self._past, times.boot_s)
        return json.dumps(
            {
                "boot_id": boot_id,
                "boot_s": times.boot_s,
                "now_us": times.wall_us,
                "past_us": past_us,
                "doubted": self.doubted,
                "witnesses": [*self._witnesses],
                "made": [*self._unconfirmed],
            }
        )

    def restore(self, state: str, now_us: int, boot_s: float, boot_id: str) -> bool:
        """Restore the state of the previous run; return False when it cannot be read.

        All of it is valid if the machine has run on since. After a reboot the boot clock started again: only a lower bound
        of the time is known, and transactions of a wrong clock are treated as if the machine had not been off, so that they
        expire late and not early. A clock behind its last reading was set back while the machine was off; `step_us` reports
        it.
        """
        try:
            stored: dict[str, Any] = json.loads(state)
            past_us, then_s = int(stored["past_us"]), float(stored["boot_s"])
            last = (int(stored["now_us"]), then_s)
            witnesses = [(int(at), float(heard_s)) for at, heard_s in stored["witnesses"]]
            made = [(str(which), int(zero)) for which, zero in stored["made"]]
            same = bool(boot_id) and stored["boot_id"] == boot_id and then_s <= boot_s
            doubted = bool(stored["doubted"])
        except (ValueError, TypeError, KeyError):
            return False
        self.doubted = doubted
        if same:
            self._past, self._last_reading = (past_us, then_s), last
            self._witnesses.extend(witnesses)
        else:
            self._past = (past_us, boot_s)
            self._last_reading = (last[0], boot_s) if last[0] > now_us else None
        ran_on = 0 if same else _us(then_s) - _us(boot_s)
        self._unconfirmed.extend((which, zero + ran_on) for which, zero in made)
        return True


def _doubt(now_us: int, ahead_us: Sequence[int], past_us: int | None) -> Doubt | None:
    """Return the reason not to trust the clock; None when it is trusted.

    `ahead_us` is how far the clock is ahead of each witness, `past_us` a lower bound of the time.
    """
    if now_us < EARLIEST_US:
        return Doubt("the clock of this machine is before this program was written", None)
    if any(abs(one) <= AGREES_US for one in ahead_us):
        return None
    if ahead_us:
        # The smallest difference is the best estimate: a message can come late, but not before it was sent.
        least = min(ahead_us)
        return Doubt(
            f"the clock of this machine is {_span(abs(least))} {'ahead of' if least > 0 else 'behind'} the "
            "network time in the last SMS",
            least,
        )
    if past_us is not None and now_us + AGREES_US < past_us:
        behind = now_us - past_us
        return Doubt(
            f"the clock of this machine has gone backwards: the shop's journal is {_span(-behind)} ahead of it",
            behind,
        )
    return None


def _extrapolate(witness: tuple[int, float], boot_s: float) -> int:
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
