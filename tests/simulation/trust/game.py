"""One simulated month (or week): genuine traffic, an adversary, an operator with three visits a day, and the real momo.

`play` is a pure function of its arguments: the same `Setting` gives the same `Result`.
"""

import asyncio
import heapq
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.messages.line_trust import LIMIT_RECEIPTS
from tests.fakes.receipts import MTN_SENDER
from tests.simulation.trust.player import Moment, Player
from tests.simulation.trust.product import Limit, Paid, Product
from tests.simulation.trust.strategies import ANY, FIRST, NIGHT, of_level
from tests.simulation.trust.traffic import Size, Told, Traffic
from tests.simulation.trust.wallet import (
    CLOSES,
    DAY,
    HOUR,
    MINUTE,
    OPENS,
    SECOND,
    START,
    Change,
    Kind,
    Part,
    day_of,
    with_reference,
)

VISITS: Final = (9 * HOUR, 13 * HOUR, 18 * HOUR)
"""The operator's visits to the reviews."""
UNTOLD_FOR: Final = 30 * MINUTE
"""The operator skips reviews that are younger: momo reports a held receipt after this time."""
SETTLE_EVERY: Final = 15 * MINUTE
"""Momo does this more often; the simulation has no time for it."""
ASSEMBLE_AFTER: Final = (7 * SECOND, 14 * SECOND)
"""After each part, momo puts parts together at least then."""
AT_ONCE: Final = 10 * SECOND
"""A receipt that pays so soon after its last part counts as paid at once."""
A_DAY: Final = 4
"""Strategies that an adversary begins on each day."""
ACTS_MAX: Final = 10_000_000
TYPED: Final = (
    "Current Balance: GHS 9999.00 . Reference: {code}",
    "{code}. Transaction ID: 93214599999. TRANSACTION FEE: 0.00 Payment received for GHS 900.00",
    "KOFI ANTWI BADU BOATENG ,233201000456,{code} from VODAFONE",
    "NEW BALANCE SHOES", "Payment received, thank you", "Balance",
)  # fmt: skip
"""References that a payer at level 0 types for a real payment; the code is of a more expensive order."""
TYPED_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Setting:
    """One game.

    Attributes:
        seed: Of everything.
        level: Of the adversary; None without one.
        size: Of the genuine traffic.
        limit: `[trust] unconfirmed_limit`.
        quiet: Play the traffic of this level without its player, to compare.
        owner: When he says what the wallet shows: `asked` (at a visit, when momo has a question), `daily` or `weekly` (at
            closing), or `never`: he only decides reviews. `errs` is `asked`, and one decision of ten is wrong and taken back
            on the next day.
        phone: The source tells no service centre.
    """

    seed: int
    level: int | None = None
    size: Size = field(default_factory=Size)
    limit: Limit = "auto"
    quiet: bool = False
    owner: str = "asked"
    phone: bool = False

    def again(self) -> str:
        """Return the command that plays the same game."""
        level = "" if self.level is None else f" --level {self.level}"
        return (
            f"python -m tests.simulation.trust --from {self.seed} --seeds 1{level} --days {self.size.days} "
            f"--per-month {self.size.per_month} --limit {self.limit} --centres {self.size.centres!r} --owner {self.owner}"
            f"{' --phone' if self.phone else ''} --closed {','.join(map(str, self.size.closed)) or '-'} "
            f"--outages {self.size.outages} --swept {self.size.swept}"
        )


@dataclass(frozen=True, slots=True)
class Fate:
    """The outcome of one genuine receipt.

    Attributes:
        how: `at once`, `later` (by itself), `person`, or `never`.
        further: How many genuine messages came between it and its payment.
        matched: Whether it paid its order, if it names one.
        foreign: On its day a centre of the network was not home yet, so that gaps used the day's limit up; it was paid within a day.
        day: The day on which it came.
    """

    how: str
    further: int = 0
    matched: bool = True
    foreign: bool = False
    day: int = 0


@dataclass(frozen=True, slots=True)
class Forged:
    """A forgery that momo paid.

    Attributes:
        sent: When it was sent; None for a text that was not sent as a whole.
        at: When it paid.
        limited: It counted to the limit of its day.
        told_first: The numbers of the changes of the wallet, none of them paid otherwise, in which this money came in.
        proved_at: When the line had its last proof before it paid.
    """

    text: str
    amount: int
    balance: int | None
    sent: int | None
    at: int
    how: str
    limited: bool
    told_first: tuple[int, ...] = ()
    proved_at: int = 0


@dataclass
class Result:
    """The events of a game."""

    setting: Setting
    fates: dict[int, Fate] = field(default_factory=dict)
    typed: set[int] = field(default_factory=set)
    """Receipts with a text of `TYPED`; they may be held."""
    forged: list[Forged] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)
    """For each day, the most that the line's `unconfirmed_limit` may be."""
    bounds: list[int] = field(default_factory=list)
    """For each day, the most that may be paid unconfirmed between two proofs."""
    phone_limits: list[int] = field(default_factory=list)
    """For each day, the most that may be paid of what joins at a source without service centres."""
    decisions: int = 0
    sent: int = 0
    """Messages of the adversary."""
    reversals: set[str] = field(default_factory=set)
    """IDs of payments that momo marks as reversed and that were not."""
    conflicts: set[int] = field(default_factory=set)
    """Genuine receipts with a review because another payment has their ID."""
    foretold: set[int] = field(default_factory=set)
    """Genuine receipts that a paid forgery foretold with their ID, amount and balance. Only the payer knows the ID so early. An ID
    is booked once, so that the genuine receipt is a duplicate: the shop has the money that it booked, and no other."""
    misread: list[str] = field(default_factory=list)
    notices: dict[str, int] = field(default_factory=dict)
    dump: str = field(default="", repr=False)
    """All payments, reviews and messages, of a short game."""

    def count(self, how: str) -> int:
        """Return the number of genuine receipts with this fate."""
        return sum(fate.how == how for number, fate in self.fates.items() if number not in self.typed)

    @property
    def by_person(self) -> int:
        """The number of genuine receipts that needed a person, and did not only wait until the owner trusted a new centre."""
        return sum(
            fate.how in {"person", "never"} and not fate.foreign
            for number, fate in self.fates.items()
            if number not in self.typed
        )

    @property
    def genuine(self) -> int:
        """The number of genuine receipts that arrived."""
        return len(self.fates.keys() - self.typed)

    def forged_by_day(self) -> Counter[int]:
        """Return the forged money of each day that never came in."""
        days: Counter[int] = Counter()
        for one in self.forged:
            if not one.told_first:
                days[day_of(one.at)] += one.amount
        return days


def play(folder: Path, setting: Setting) -> Result:
    """Play one game in an empty folder."""
    return asyncio.run(_Game(folder, setting).play())


class _Game:
    """The world of a game; `player.World` is the player's view of it."""

    def __init__(self, folder: Path, setting: Setting) -> None:
        self.setting = setting
        self.result = Result(setting)
        self.now = START
        self.balance = 0
        self.told: list[Change] = []
        self._folder = folder
        self._rng = random.Random(f"game {setting.seed} {setting.level}")
        self.traffic = _typed(Traffic.draw(setting.seed, setting.size), setting, self.result, self._rng)
        self._by_text = {one.change.text(): one.change for one in self.traffic.told}
        self._plan: list[tuple[int, int, Callable[[], Awaitable[None] | None]]] = []
        self._order = itertools.count()
        self._sent: dict[str, int] = {}
        self._arrived: dict[int, int] = {}
        """Change -> how many genuine messages had arrived when its message was complete."""
        self._complete_at: dict[int, int] = {}
        self._paid: dict[int, Fate] = {}
        self._takings: Counter[int] = Counter()
        self._receipts: Counter[int] = Counter()
        self._claimed: set[int] = set()
        self._sweeps: set[int] = set()
        self._jammed = 0
        self._foreign: set[int] = set()
        self._foreign_day = -1
        self._centres: set[str] = set()
        """Centres that have brought genuine messages, without their last two digits."""
        self._wrong: list[tuple[int, str]] = []
        self._how = "later"
        active = setting.level is not None and not setting.quiet
        self.player = _player(setting, self) if active else None

    # --- for the player ----------------------------------------------------------------------------

    def at(self, when: int, act: Callable[[], Awaitable[None] | None]) -> None:
        """Do something at a time."""
        heapq.heappush(self._plan, (max(when, self.now), next(self._order), act))

    def order(self, code: str, amount: int) -> None:
        """Make an order."""
        self.at(self.now, lambda: self.product.order(code, amount))

    def deliver(self, part: Part) -> None:
        """Send one part of the adversary, but not on the last day."""
        if self.now >= self.setting.size.end - DAY:
            return
        self.at(self._when_plugged(part.arrives), lambda: self._take(part))

    def deliver_text(self, sender: str, text: str, stamped: int) -> bool:
        """Send a whole text, if the source reads no parts."""
        if self.setting.phone and self.now < self.setting.size.end - DAY:
            at = self._when_plugged(self.now + SECOND)
            self.at(at, lambda: self._take_text(sender, text, stamped))
        return self.setting.phone

    def jam(self, until: int) -> None:
        """Keep genuine messages away."""
        self._jammed = until

    # --- the plan ------------------------------------------------------------------------------------

    async def play(self) -> Result:
        """Play it to its end."""
        self.product = await Product.open(self._folder, self.setting.seed, self.setting.limit, phone=self.setting.phone)
        try:
            self._plan_all()
            for _ in range(ACTS_MAX):
                if not self._plan:
                    break
                self.now, _, act = heapq.heappop(self._plan)
                self.product.go_to(self.now)
                doing = act()
                if doing is not None:
                    await doing
            self._finish()
        finally:
            self.product.close()
        return self.result

    def _plan_all(self) -> None:
        size, traffic = self.setting.size, self.traffic
        lost = {one.change.number for one in traffic.told if one.lost}
        for change in traffic.changes:
            self.at(change.at, partial(self._happen, change, lost=change.number in lost))
            if change.code is not None:
                order = partial(self.product.order, change.code, change.effect)
                self.at(change.at - 5 * MINUTE, order)
        for told in traffic.told:
            parts = told.parts()
            for part in parts:
                self.at(part.arrives, partial(self._arrive, told, part, last=part is parts[-1]))
        for away in traffic.away:
            self.at(away.begins, self.product.disconnect)
            self.at(away.ends, partial(self._back, self.product.connect))
        for at in traffic.restarts:
            self.at(at, partial(self._back, self.product.restart))
        for day in range(size.days + 1):
            self._plan_day(START + day * DAY)
        for at, act in self._strategies():
            self.at(at, act)

    def _plan_day(self, midnight: int) -> None:
        for visit in VISITS:
            self.at(midnight + visit, self._visit)
        weekday = (midnight - START) // DAY % 7
        if self.setting.owner == "daily" or (self.setting.owner == "weekly" and weekday == 5):
            self.at(midnight + CLOSES + 18 * MINUTE, self._close)
        self.at(midnight + 3 * HOUR, self.product.tidy)
        for after in range(0, DAY, SETTLE_EVERY):
            self.at(midnight + after, partial(self._sweep, self.product.settle))

    def _strategies(self) -> Iterator[tuple[int, Callable[[], None]]]:
        """Yield the adversary's actions and their times: all strategies of the level in turn, in a random order."""
        player, level = self.player, self.setting.level
        if player is None or level is None:
            return
        rng, deck = player.rng, list[Callable[[Player], None]]()
        if rng.random() < 0.5:
            for one in of_level(level, FIRST):
                yield START + OPENS - 2 * HOUR, partial(one.act, player)
        for day in range(self.setting.size.days - 1):
            for _ in range(A_DAY):
                if not deck:
                    deck = [one.act for one in of_level(level, ANY)]
                    rng.shuffle(deck)
                act = deck.pop()
                at = START + day * DAY + rng.randrange(OPENS, CLOSES)
                yield at, partial(act, player)
            for one in of_level(level, NIGHT):
                if rng.random() < 0.3:
                    at = START + day * DAY + CLOSES + rng.randrange(2 * HOUR)
                    yield at, partial(one.act, player)
        for at, one in itertools.product(self._known_silence(), of_level(level, NIGHT)):
            yield at, partial(one.act, player)

    def _known_silence(self) -> Iterator[int]:
        """Yield when the silence begins that everybody knows in advance: closed days, and hours without any message."""
        for day in range(self.setting.size.days):
            if day % 7 in self.setting.size.closed:
                yield START + day * DAY + OPENS
        for outage in self.traffic.outages:
            yield outage.begins + 10 * MINUTE

    # --- events ------------------------------------------------------------------------------------

    def _happen(self, change: Change, *, lost: bool) -> None:
        self.balance = change.after
        if self.player is not None and 0 <= change.after <= 100:
            self.player.happens(Moment.SWEPT, change)
        if self.player is None or change.effect <= 0:
            return
        untold = lost or change.kind is Kind.UNTOLD
        self.player.happens(Moment.LOST if untold else Moment.RECEIPT, change)

    async def _arrive(self, told: Told, part: Part, *, last: bool) -> None:
        """Let a genuine part arrive."""
        if self.now < self._jammed:
            return
        number = told.change.number
        if last and number not in self._arrived:
            self._arrived[number] = len(self._arrived)
            self._complete_at[number] = self.now
            if told.change.kind is Kind.RECEIPT:
                self.told.append(told.change)
        self._centres.add(told.route.smscs[-1][:-2])
        if not self.setting.phone and self._centres - self.product.homes():
            self._foreign_day = day_of(self.now)
        if last and self._foreign_day == day_of(self.now):
            self._foreign.add(number)
        if not self.setting.phone:
            await self._take(part)
        elif last:
            await self._take_text(MTN_SENDER, told.change.text(), told.route.stamped)

    async def _take_text(self, sender: str, text: str, stamped: int) -> None:
        await self.product.take_text(sender, text, stamped)
        self._note_payments()

    async def _take(self, part: Part) -> None:
        await self.product.take([part.pdu])
        self._note_payments()
        for after in ASSEMBLE_AFTER:
            at = (self.now + after) // SECOND * SECOND
            if at not in self._sweeps:
                self._sweeps.add(at)
                self.at(at, partial(self._sweep, self.product.assemble))

    async def _sweep(self, work: Callable[[], Awaitable[None]]) -> None:
        self._sweeps.discard(self.now)
        await work()
        self._note_payments()

    async def _back(self, begin: Callable[[], Awaitable[None]]) -> None:
        """Plug the modem in again, or start the daemon again."""
        await begin()
        if self.player is not None:
            self.player.happens(Moment.BACK)

    async def _visit(self) -> None:
        """Let the operator answer momo's question and decide all reviews correctly, by the wallet's own list."""
        self._how = "person"
        for decided_at, review_id in list(self._wrong):
            if self.now - decided_at >= 20 * HOUR:
                self._wrong.remove((decided_at, review_id))
                await self.product.take_back(review_id)
        if self.setting.owner in {"asked", "errs"} and self.product.asks(self.now - UNTOLD_FOR):
            await self._say_balance()
        asked: set[str] = set()
        while found := [one for one in self.product.open_reviews(self.now - UNTOLD_FOR) if one.id not in asked]:
            for one in found:
                asked.add(one.id)
                change = self._by_text.get(one.body)
                genuine = change is not None and change.at <= self.now
                code = None if change is None else change.code
                errs = self.setting.owner == "errs" and self.now < self.setting.size.end - 2 * DAY
                if errs and self._rng.random() < 0.1:
                    genuine = not genuine
                    self._wrong.append((self.now, one.id))
                await self.product.decide(one, genuine=genuine, code=code)
                self._note_payments()
        for message_id, body in self.product.shown_receipts(self.now - UNTOLD_FOR):
            change = self._by_text.get(body)
            if change is not None and change.at <= self.now:
                # A customer shows his message: the network has a new centre, or a forged chain contradicted it.
                await self.product.trust(message_id)
                self._note_payments()
        self._how = "later"

    async def _close(self) -> None:
        self._how = "person"
        await self._say_balance()
        self._how = "later"

    async def _say_balance(self) -> None:
        """Say what the wallet shows, and answer what momo asks about it truly."""
        genuine = self._by_text.keys()
        await self.product.say_balance(self.balance, lambda bodies: all(one in genuine for one in bodies))
        self._note_payments()

    def _when_plugged(self, at: int) -> int:
        for away in self.traffic.away:
            if away.begins <= at < away.ends:
                return away.ends + 20 * SECOND
        return at

    # --- momo's payments ---------------------------------------------------------------------------

    def _note_payments(self) -> None:
        for paid in self.product.new_payments():
            change = self._by_text.get(paid.body)
            # A usual day is one of the network's times, also of a forgery that a later decision or silence let pay.
            day = day_of(paid.sent_at)
            self._takings[day] += paid.amount
            self._receipts[day] += 1
            if change is None or change.kind is not Kind.RECEIPT:
                self.result.forged.append(self._forged(paid))
                continue
            if paid.amount != change.effect:
                self.result.misread.append(f"{paid.amount} for {paid.body}")
            soon = self.now - self._complete_at.get(change.number, self.now) <= AT_ONCE
            how = "at once" if soon else self._how
            further = max(0, len(self._arrived) - 1 - self._arrived.get(change.number, 0))
            matched = change.code is None or paid.used or change.number in self.result.typed
            waited = self.now - self._complete_at.get(change.number, self.now)
            foreign = change.number in self._foreign and waited < DAY
            self._paid[change.number] = Fate(how, further, matched, foreign, day_of(change.at))

    def _forged(self, paid: Paid) -> Forged:
        sent = self._sent.get(paid.body)
        return Forged(
            paid.body, paid.amount, paid.balance, sent, self.now,
            "at once" if sent is not None and self.now - sent < 5 * SECOND else self._how, paid.limited,
            proved_at=self.product.proved_at(),
        )  # fmt: skip

    def _finish(self) -> None:
        result, changes, arrived = self.result, self.traffic.changes, self._arrived
        taken_back = {one.reverses: arrived[one.number] for one in changes if one.number in arrived}
        for change in changes:
            if change.kind is not Kind.RECEIPT or change.number not in arrived:
                continue
            fate = self._paid.get(change.number)
            # Money that went back before its receipt came is not owed.
            if fate is not None or taken_back.get(change.telco_id, len(arrived)) > arrived[change.number]:
                fate = fate or Fate("never")
                # What the network took back before it was decided pays no order.
                result.fates[change.number] = replace(fate, matched=fate.matched or change.telco_id in taken_back)
        days = range(self.setting.size.days + 1)
        if self.setting.owner == "errs":  # what he approved in error and took back did not stay paid
            counts = self.product.standing()
            result.forged = [one for one in result.forged if one.text in counts]
        result.forged = [self._explained(one) for one in result.forged]
        first = {one.text: changes[one.told_first[0]] for one in result.forged if len(one.told_first) == 1}
        result.foretold = {change.number for text, change in first.items() if change.telco_id in text}
        result.phone_limits = [max(100_000, *self._usual(day, 4)) for day in days]
        result.limits = [self._limit(day) for day in days]
        result.bounds = [max(self._limit(day), 20_000, *self._usual(day, 3)) for day in days]
        result.decisions = self.product.decisions
        result.sent = 0 if self.player is None else self.player.told
        true = {change.reverses for change in changes if change.reverses is not None}
        result.reversals = self.product.reversed_ids() - {one for one in true if one}
        bodies = self.product.conflicts() & self._by_text.keys()
        result.conflicts = {self._by_text[body].number for body in bodies}
        result.notices = self.product.notices()
        result.dump = self.product.dump() if self.setting.size.days <= 3 else ""

    def _explained(self, one: Forged) -> Forged:
        """Find the money that a forgery announced first, if it is real and no other receipt was paid for it."""
        if one.balance is None:
            return one
        changes = self.traffic.changes
        for first, change in enumerate(changes):
            if change.before != one.balance - one.amount or not 0 <= one.at - change.at < DAY:
                continue
            run = [change]
            while run[-1].after < one.balance and run[-1].number + 1 < len(changes):
                run.append(changes[first + len(run)])
            numbers = {each.number for each in run}
            unpaid = not numbers & (self._paid.keys() | self._claimed)
            if run[-1].after == one.balance and all(each.effect > 0 for each in run) and unpaid:
                self._claimed |= numbers
                return replace(one, told_first=tuple(sorted(numbers)))
        return one

    def _limit(self, day: int) -> int:
        """Return the most that `unconfirmed_limit` may be on a day, minor units: half a usual day, or twelve usual receipts."""
        limit = self.setting.limit
        if limit != "auto":
            return int(limit) * 100
        days = [back for back in range(day) if self._receipts[back]]
        twelve = [LIMIT_RECEIPTS * self._takings[back] // self._receipts[back] for back in days]
        return max(20_000, *self._usual(day, 1), *twelve)

    def _usual(self, day: int, halves: int) -> list[int]:
        """Return so many halves of the usual takings of a day; any number of the days before may count as usual."""
        if day == 0:  # twelve of its receipts are at most all of them
            return [0, halves * self._takings[0]]
        # A day without receipts is no usual day.
        open_days = [takings for back in range(1, day + 1) if (takings := self._takings[day - back])]
        return [0] + [halves * sum(open_days[:span]) // span // 2 for span in range(1, min(14, len(open_days)) + 1)]

    def note_sent(self, text: str) -> None:
        """Remember when the adversary sent a text."""
        self._sent.setdefault(text, self.now)


def _player(setting: Setting, game: _Game) -> Player:
    assert setting.level is not None
    return Player(setting.level, random.Random(f"player {setting.seed} {setting.level}"), game)


def _typed(traffic: Traffic, setting: Setting, result: Result, rng: random.Random) -> Traffic:
    """Let some payers of level 0 type texts that look like a receipt; the wallet's changes stay the same."""
    if setting.level != 0:
        return traffic
    typed: dict[int, Change] = defaultdict()
    for change in traffic.changes:
        if change.kind is Kind.RECEIPT and change.number and rng.random() < TYPED_SHARE:
            text = rng.choice(TYPED).format(code="A7K2M9")
            typed[change.number] = with_reference(change, text, None)
    result.typed = set(typed)
    traffic.changes = [typed.get(one.number, one) for one in traffic.changes]
    traffic.told = [replace(one, change=typed.get(one.change.number, one.change)) for one in traffic.told]
    return traffic
