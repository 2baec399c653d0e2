"""Check the machine's clock against the network times in recent messages.

A network time is a witness. It is extrapolated by the boot clock, which counts through sleep and which no user can set,
so a wrong or corrected wall clock is noticed at once and not with the next message. The clock is trusted as soon as one
of the last few witnesses agrees with it: one late message, or one network with a wrong clock, does not outvote the
others.

Witnesses have ranks, and only the highest rank that is present is asked: the network's times in messages, then the
clocks of phones that the network sets, then the `Date` headers of receivers. A receiver can write any `Date`, so two
hosts must agree, and they can only speak against the clock: they never confirm it.

Without a witness since the machine was switched on, a clock that is ahead cannot be disproved: the machine may have been
off for any time. Then use a lower bound of the time: the last known time plus the boot clock's count since.
`docs/decisions/0021` gives the reasons. Pure: both clocks are arguments.

Whether a 4xx may be the fault of a clock: then its delivery waits and is signed again. Pure.
"""

import json
from collections import deque
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from daemon.core.limits import DAY_US, MINUTE_US, SECOND_US
from daemon.core.text import Text

AGREES_US: Final = 10 * MINUTE_US
"""Largest difference between a network's time and ours."""
WITNESSES: Final = 5
BACKLOG_S: Final = 120.0
"""After a phone is opened, its old messages arrive as a backlog for this long; they are no evidence about our clock."""
MISDATED_MAX: Final = 10_000
"""Most transactions with an unconfirmed date that are remembered: days of a busy shop."""
EARLIEST_US: Final = 1_767_225_600 * SECOND_US
"""2026-01-01, before this program was written: an earlier clock is wrong. A dead battery gives 1970 or the board's year."""
LATEST_US: Final = EARLIEST_US + 30 * 365 * DAY_US
"""A phone's clock beyond this was not set by a network: years have two digits, and 1980 is read as 2080."""
HOSTS_AGREE_US: Final = MINUTE_US
"""Largest difference between receivers that agree about the time."""
HOSTS_MIN: Final = 2
HOSTS_MAX: Final = 20
"""The number of receivers with a remembered `Date`."""


class Witness(StrEnum):
    """The source of the time, the best first."""

    MESSAGES = "messages"
    PHONE = "phone"
    RECEIVERS = "receivers"


class ClockDoubt(Struct, frozen=True):
    """The reason not to trust the clock.

    `why` is one sentence for the operator. The clock is `ahead_us` of the witness, negative when it is behind; None if
    unknown.
    """

    why: Text
    ahead_us: int | None


class Misdated(Struct, frozen=True):
    """A transaction dated by a wrong clock, and the difference from that clock to the right one."""

    transaction_id: str
    by_us: int


class Times(Struct, frozen=True):
    """The time at one moment, as far as it is known. A flow reads it once, at its start.

    Attributes:
        wall_us: The wall clock, in microseconds since 1970 in UTC.
        boot_s: The boot clock, in seconds.
        lower_bound_us: The wall clock if it is confirmed, else the latest known time. Use it for expiry when nothing but
            the clock can end a thing: it may end late, but not early.
        best_us: The best estimate. While the wall clock is in doubt this is the time of the witnesses, or without one the
            latest known time. Webhooks are signed with it.
        doubt: The reason not to trust the wall clock, None when it is trusted. In doubt, nothing expires or is pruned.
        skew_us: How far the witnesses are ahead of the wall clock, negative when they are behind; None without a witness.
        confirmed: The wall clock is confirmed: by a witness, or because it ran on from a known time.
    """

    wall_us: int
    boot_s: float
    lower_bound_us: int
    best_us: int
    doubt: ClockDoubt | None
    skew_us: int | None
    confirmed: bool
    witness: Witness | None = None
    """The witnesses that were asked, None without any."""

    @property
    def offset_us(self) -> int:
        """The best known time when the boot clock was zero: it changes only when more becomes known."""
        return self.best_us - _us(self.boot_s)


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
        self._phones: dict[str, tuple[int, float]] = {}
        """The last reading of each phone's clock, by port."""
        self._hosts: dict[str, tuple[int, float]] = {}
        """The last `Date` of each receiver, by host, the oldest first."""
        self._acted_on: tuple[bool, int] | None = None

    def times(self, now_us: int, boot_s: float) -> Times:
        """Evaluate a reading of both clocks."""
        past_us = None if self._past is None else _extrapolate(self._past, boot_s)
        witness, ahead_us = self._testimony(now_us, boot_s)
        doubt = _doubt(now_us, witness, ahead_us, past_us)
        networks = witness is Witness.MESSAGES or witness is Witness.PHONE
        ran_on = past_us is None or now_us - past_us <= AGREES_US
        confirmed = doubt is None and (networks or ran_on)
        # A message takes some seconds to arrive, so the most recent network time is the most accurate.
        agreeing = [one for one in ahead_us if abs(one) <= AGREES_US]
        least_us = min(agreeing or ahead_us, default=None)
        # A clock a few minutes ahead of a message may be right, because the message came late; one behind it is not.
        behind_us = min(agreeing, key=abs, default=0)
        return Times(
            wall_us=now_us,
            boot_s=boot_s,
            lower_bound_us=now_us if confirmed or past_us is None else min(now_us, past_us),
            best_us=now_us - (doubt.ahead_us or 0 if doubt else behind_us if behind_us < -MINUTE_US else 0),
            doubt=doubt,
            skew_us=None if least_us is None else -least_us,
            confirmed=confirmed,
            witness=witness,
        )

    def _testimony(self, now_us: int, boot_s: float) -> tuple[Witness | None, list[int]]:
        """Return the best witnesses, and how far the wall clock is ahead of each."""
        for witness, said in (
            (Witness.MESSAGES, [*self._witnesses]),  # the thread of the database adds to it
            (Witness.PHONE, self._phones.values()),
        ):
            if said:
                return witness, [now_us - _extrapolate(one, boot_s) for one in said]
        hosts = [now_us - _extrapolate(one, boot_s) for one in self._hosts.values()]
        # The middle value of the hosts that agree; None unless they are at least two and more than half.
        agreeing = max(
            ([one for one in hosts if 0 <= one - first <= HOSTS_AGREE_US] for first in hosts), key=len, default=[]
        )
        enough = len(agreeing) >= HOSTS_MIN and 2 * len(agreeing) > len(hosts)
        agreed_us = sorted(agreeing)[(len(agreeing) - 1) // 2] if enough else None
        return (None, []) if agreed_us is None else (Witness.RECEIVERS, [agreed_us])

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

    def note_phone_clock(self, port: str, at_us: int, boot_s: float) -> None:
        """Note the clock of a phone that lets the network set it (3GPP TS 27.007 clause 8.15).

        Until the network has set it, a phone returns the year of its make; such a reading is ignored.
        """
        if EARLIEST_US <= at_us <= LATEST_US:
            self._phones[port] = (at_us, boot_s)
        else:
            self._phones.pop(port, None)

    def note_date(self, host: str, at_us: int, boot_s: float) -> None:
        """Note the `Date` of a receiver's answer (RFC 9110 section 6.6.1)."""
        self._hosts.pop(host, None)
        self._hosts[host] = (at_us, boot_s)
        if len(self._hosts) > HOSTS_MAX:
            del self._hosts[next(iter(self._hosts))]

    def knows_more(self, times: Times) -> bool:
        """Return whether the time became known, or known better, since the waiting work was last tried; true at first."""
        before = self._acted_on
        return (
            before is None or (times.confirmed and not before[0]) or abs(times.offset_us - before[1]) > HOSTS_AGREE_US
        )

    def note_acted_on(self, times: Times) -> None:
        """Note that the work that waited for the time was tried again, if `knows_more`; call it with each reading."""
        # The offset is kept while nothing is tried, so that a slow drift adds up and a lost confirmation is noticed.
        if self._acted_on is None or self.knows_more(times):
            self._acted_on = (times.confirmed, times.offset_us)
        else:
            self._acted_on = (times.confirmed, self._acted_on[1])

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


def _doubt(now_us: int, witness: Witness | None, ahead_us: Sequence[int], past_us: int | None) -> ClockDoubt | None:
    """Return the reason not to trust the clock; None when it is trusted.

    `ahead_us` is how far the clock is ahead of each witness, `past_us` a lower bound of the time.
    """
    # The smallest difference is the best estimate: a message can come late, but not before it was sent.
    least = min(ahead_us, default=None)
    if now_us < EARLIEST_US:
        if least is None and past_us is not None:
            least = min(0, now_us - past_us)
        return ClockDoubt(Text("clock.early"), least)
    if any(abs(one) <= AGREES_US for one in ahead_us):
        return None
    if witness is not None and least is not None:
        key = "clock.ahead" if least > 0 else "clock.behind"
        who = Text(f"clock.witness.{witness}")
        return ClockDoubt(Text(key, span=span(abs(least)), witness=who), least)
    if past_us is not None and now_us + AGREES_US < past_us:
        behind = now_us - past_us
        return ClockDoubt(Text("clock.back", span=span(-behind)), behind)
    return None


def _extrapolate(witness: tuple[int, float], boot_s: float) -> int:
    at_us, then_s = witness
    return at_us + round((boot_s - then_s) * SECOND_US)


def _us(boot_s: float) -> int:
    return round(boot_s * SECOND_US)


def span(apart_us: int) -> Text:
    """Return a duration in words: minutes, hours or days."""
    minutes = apart_us // MINUTE_US
    if minutes < 120:
        return Text("span.minutes", count=minutes)
    hours = minutes // 60
    return Text("span.hours", count=hours) if hours < 48 else Text("span.days", count=hours // 24)


TOLERANCE_US: Final = 5 * MINUTE_US
"""Receivers refuse a signature that is older or newer than this (`docs/developers/webhooks.md`)."""
RETRY_US: Final = 10 * MINUTE_US
"""Between two attempts, if there is no new knowledge about the time; `delivery.CLOCK_WAITS_MAX` of them are 24 hours."""


def clock_wait_us(date_us: int | None, signed: Times, ended: Times, *, remote: bool = True) -> int | None:
    """Return how long a delivery waits after a 4xx before it is signed again; None if the 4xx is final.

    `date_us` is the `Date` of the answer, if any; the attempt was signed with `best_us` of `signed`. A receiver that is
    not `remote` has our clock.
    """
    if signed.doubt is None and ended.doubt is None:
        if date_us is None:
            in_question = remote and not signed.confirmed
        else:
            in_question = abs(date_us - _second(signed)) > TOLERANCE_US
        if not in_question:
            return None
    known_now = signed.doubt is not None and ended.doubt is None
    changed = abs(ended.offset_us - signed.offset_us) > HOSTS_AGREE_US
    return 0 if known_now or changed else RETRY_US


def difference(date_us: int | None, signed: Times) -> str:
    """Return how the receiver's clock differs from the time that we signed with, "" if it does not."""
    apart_us = 0 if date_us is None else date_us - _second(signed)
    if abs(apart_us) <= TOLERANCE_US:
        return ""
    side = "ahead of" if apart_us > 0 else "behind"
    return f"its clock is {span(abs(apart_us))} {side} the time of our signature"


def _second(signed: Times) -> int:
    return signed.best_us // SECOND_US * SECOND_US
