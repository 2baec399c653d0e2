"""Genuine traffic of a busy month: changes of the wallet, and the messages with their times and SMSCs.

Everything is drawn from one seed and independent of an adversary: the same seed gives the same traffic with and without
one.
"""

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from parsers.svc_code import make_code
from tests.simulation.trust.wallet import (
    CLOSES,
    DAY,
    FAR,
    HOME,
    HOUR,
    MINUTE,
    NAMES,
    NEIGHBOUR,
    OPENS,
    SECOND,
    START,
    TEST_PAYMENT,
    Change,
    Kind,
    Part,
    Route,
    day_of,
    telco_id_at,
)

Centres = Callable[[random.Random, int, int], str]
"""(rng, day, days) -> the centre that brings a message."""


def neighbours(rng: random.Random, day: int, days: int) -> str:
    """One centre at a time of two that differ in the last digit; three changes in the month."""
    return (HOME, NEIGHBOUR)[4 * day // max(days, 4) % 2]


def moved_far(rng: random.Random, day: int, days: int) -> str:
    """The network moves to a far centre on the tenth day."""
    return HOME if day < 10 else FAR[0]


def second_far(rng: random.Random, day: int, days: int) -> str:
    """30 % of the messages come through a second, far centre."""
    return FAR[0] if rng.random() < 0.3 else HOME


def three_far(rng: random.Random, day: int, days: int) -> str:
    """Three centres in turn, far from each other; one of them is the SIM's own."""
    return rng.choice((HOME, *FAR[:2]))


CENTRES: Final[dict[str, Centres]] = {
    "one SMSC, or moved to a neighbour": neighbours,
    "moved to a far SMSC on day 10": moved_far,
    "30 % through a second, far SMSC": second_far,
    "three far SMSCs in turn, one known at first": three_far,
}


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the traffic and its faults.

    Attributes:
        days: Length; the figures of a month are of 26.
        per_month: Receipts in 26 days.
        untold: Share of receipts before which the balance changed without a message.
        lost: Share of messages that never arrive.
        late: Share that arrives 107 s to 75 min after its SMSC time.
        doubled: Share that the network sends twice.
        reversed: Share of receipts that the network takes back.
        debits: Debits per receipt.
        coded: Share of receipts with the payment code of an order.
        absences: How often the modem is away in 26 days.
        restarts: How often the daemon restarts in 26 days.
        centres: A row of `CENTRES`.
        closed: Weekdays on which the shop is closed, from 0, the weekday of the first day. Everybody knows them.
        outages: How often the network keeps all messages back for hours in 26 days, known in advance.
        swept: Share of evenings on which the owner empties the wallet.
    """

    days: int = 26
    per_month: int = 1_000
    untold: float = 0.003
    lost: float = 0.002
    late: float = 0.008
    doubled: float = 0.003
    reversed: float = 0.001
    debits: float = 0.08
    coded: float = 0.7
    absences: int = 2
    restarts: int = 3
    centres: str = "one SMSC, or moved to a neighbour"
    closed: tuple[int, ...] = ()
    outages: int = 0
    swept: float = 0

    @property
    def end(self) -> int:
        """The end of the last day."""
        return START + self.days * DAY


@dataclass(frozen=True, slots=True)
class Told:
    """A message of the network; `lost` is whether it never arrives."""

    change: Change
    route: Route
    lost: bool = False

    def parts(self) -> list[Part]:
        """Return the parts that reach the modem."""
        return [] if self.lost else self.route.parts(self.change.text())


@dataclass(frozen=True, slots=True)
class Away:
    """A time without the modem; the network keeps the messages until it is back."""

    begins: int
    ends: int


@dataclass
class Traffic:
    """The whole traffic of one seed."""

    size: Size
    changes: list[Change] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    away: list[Away] = field(default_factory=list)
    outages: list[Away] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)

    @classmethod
    def draw(cls, seed: int, size: Size) -> "Traffic":
        """Draw it."""
        rng = random.Random(f"traffic {seed}")
        traffic = cls(size)
        days = range(1, size.days)
        for at, share in ((traffic.away, size.absences), (traffic.restarts, size.restarts)):
            count = max(1, round(share * size.days / 26)) if share else 0
            chosen = rng.sample(days, min(count, len(days)))
            moments = [START + day * DAY + rng.randrange(OPENS, CLOSES - 4 * HOUR) for day in sorted(chosen)]
            if at is traffic.away:
                traffic.away = [Away(one, one + rng.randrange(HOUR, 4 * HOUR)) for one in moments]
            else:
                traffic.restarts = moments
        for number in range(round(size.outages * size.days / 26)):
            day = (number + 1) * size.days // (size.outages + 1)
            begins = START + day * DAY + rng.randrange(OPENS, CLOSES - 6 * HOUR)
            traffic.outages.append(Away(begins, begins + 5 * HOUR))
        traffic.changes = list(_changes(rng, size))
        traffic.told = [
            one
            for reference, change in enumerate(change for change in traffic.changes if change.kind is not Kind.UNTOLD)
            for one in traffic._tell(rng, change, reference)
        ]
        return traffic

    def _tell(self, rng: random.Random, change: Change, reference: int) -> Iterator[Told]:
        size, owners = self.size, change.number == 0
        lost = not owners and rng.random() < size.lost
        stamped = change.at + rng.randrange(4 * SECOND)
        late = rng.random() < size.late and not owners
        delay = (
            rng.randrange(107 * SECOND, 75 * MINUTE)
            if late
            else min(107.0 * SECOND, SECOND + rng.expovariate(1 / (6 * SECOND)))
        )
        yield Told(change, self._route(rng, change, reference, stamped, delay), lost)
        if rng.random() < size.doubled and not lost:
            again = stamped + rng.randrange(5 * SECOND, 5 * MINUTE)
            yield Told(change, self._route(rng, change, reference + 128, again, 2 * SECOND))

    def _route(self, rng: random.Random, change: Change, reference: int, stamped: int, delay: float) -> Route:
        size = self.size
        smscs: tuple[str, ...] = (CENTRES[size.centres](rng, day_of(change.at), size.days),)
        if smscs[0] in {HOME, NEIGHBOUR} and rng.random() < 0.02:
            smscs = (HOME, NEIGHBOUR)
        apart = rng.randrange(22) * SECOND if rng.random() < 0.02 else 0
        arrives = stamped + round(delay)
        for away in (*self.away, *self.outages):
            if away.begins <= arrives < away.ends:
                # The waiting messages come in the order in which they were stamped, a few seconds apart.
                waited = (stamped - away.begins) / max(1, away.ends - away.begins)
                arrives = away.ends + round(min(max(waited, 0.0), 1.0) * 5 * MINUTE) + 5 * SECOND
        return Route(smscs, stamped, arrives, apart, reference % 256, rng.random() < 0.03)


def _changes(rng: random.Random, size: Size) -> Iterator[Change]:
    """Yield the changes of the wallet, beginning with the owner's test payment on the first morning."""
    numbers = itertools.count()
    balance = rng.randrange(5_000, 60_000)

    def change(at: int, kind: Kind, effect: int, **more: str | None) -> Change:
        nonlocal balance
        balance += effect
        told = {name: value for name, value in more.items() if value is not None}
        return Change(
            number=next(numbers), at=at, kind=kind, effect=effect, after=balance, telco_id=telco_id_at(at, rng), **told
        )

    yield change(START + OPENS - 40 * MINUTE, Kind.RECEIPT, TEST_PAYMENT, reference="test payment")
    paid: list[Change] = []
    codes = set[str | None]()
    swept_at = START + CLOSES
    for at in _moments(rng, size):
        while swept_at < at:
            if size.swept and rng.random() < size.swept and balance > 3_000:
                yield change(swept_at, Kind.DEBIT, 50 - balance)
            swept_at += DAY
        if rng.random() < size.untold:
            moved = rng.randrange(50, 6_000)
            effect = moved if rng.random() < 0.25 or balance < moved else -moved
            yield change(at - 20 * SECOND, Kind.UNTOLD, effect)
        if rng.random() < size.debits and balance > 3_000:
            yield change(at - 10 * SECOND, Kind.DEBIT, -rng.randrange(500, balance * 3 // 4))
        if paid and rng.random() < size.reversed and balance > paid[-1].effect:
            back = paid.pop()
            yield change(at - 5 * SECOND, Kind.REVERSAL, -back.effect, reverses=back.telco_id, name=back.name)
        code = make_code(rng.randrange) if rng.random() < size.coded else None
        while code is not None and code in codes:  # a shop gives no code twice within 30 days
            code = make_code(rng.randrange)
        codes.add(code)
        name = rng.choices(NAMES, (40, 30, 25, 5))[0]
        made = change(
            at, Kind.RECEIPT, _amount(rng), name=name, code=code, reference=code or rng.choice(("1", "food", "rice"))
        )
        yield made
        paid = [*paid[-5:], made]


def _amount(rng: random.Random) -> int:
    amount = min(250_000, max(100, round(rng.lognormvariate(8.3, 0.9))))
    return amount if rng.random() < 0.2 else max(100, amount // 100 * 100)


def _moments(rng: random.Random, size: Size) -> list[int]:
    """Return the times of the receipts: busier at noon and in the evening, closed at night."""
    moments: list[int] = []
    for day in range(size.days):
        if day % 7 in size.closed:
            continue
        wanted = size.per_month / 26 * rng.uniform(0.75, 1.25)
        count = int(wanted) + (rng.random() < wanted % 1)
        for _ in range(count):
            middle, width = rng.choice(((10, 2.0), (13, 1.5), (18, 1.5)))
            hour = rng.gauss(middle, width)
            within = min(max(round(hour * HOUR), OPENS), CLOSES - SECOND)
            moments.append(START + day * DAY + within + rng.randrange(SECOND))
    # Twenty seconds hold a debit and an untold change before a receipt.
    moments.sort()
    for at in range(1, len(moments)):
        moments[at] = max(moments[at], moments[at - 1] + 21 * SECOND)
    return moments
