"""The adversary: capabilities at each level, and the tools of the strategies.

| level | can |
|---|---|
| 0 | send from any number, and type anything when he really pays |
| 1 | send any text under the network's exact name, through a centre abroad |
| 2 | level 1, and he knows the balance at any moment |
| 3 | send through the SIM's own centre; he does not know the balance |
| 4 | level 3, and he knows the balance or keeps genuine messages away |
"""

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from parsers.svc_code import make_code
from tests.fakes.receipts import MTN_SENDER
from tests.simulation.trust.wallet import (
    ABROAD,
    HOME,
    MINUTE,
    SECOND,
    Change,
    Part,
    Route,
    short_receipt_text,
    telco_id_at,
)

LEVELS: Final = range(5)
KNOWS_BALANCE: Final = frozenset({2, 4})
SENDS_AT_HOME: Final = frozenset({3, 4})
AMOUNTS: Final = (1_000, 5_000, 12_000, 19_500, 45_000, 90_000)


class Moment(StrEnum):
    """Moments that a strategy may wait for."""

    RECEIPT = "receipt"
    """A customer paid; the network has not sent its message yet."""
    LOST = "lost"
    """Money came in, and the network sends no message about it."""
    SWEPT = "swept"
    """The owner has emptied the wallet, as everybody can know."""
    BACK = "back"
    """The modem is back, or the daemon has restarted."""


class World(Protocol):
    """The part of the simulation that a player can reach."""

    now: int
    balance: int
    """The true balance; read only at the levels that may know it."""
    told: list[Change]
    """The genuine receipts with messages that have arrived."""

    def at(self, when: int, act: Callable[[], None]) -> None:
        """Do something at a time."""

    def order(self, code: str, amount: int) -> None:
        """Make an order at the shop, as any customer can."""

    def deliver(self, part: Part) -> None:
        """Send one part."""

    def deliver_text(self, sender: str, text: str, stamped: int) -> bool:
        """Send a whole text to a source that reads no parts; return False if the source reads parts."""

    def jam(self, until: int) -> None:
        """Keep genuine messages away."""

    def note_sent(self, text: str) -> None:
        """Remember when a text was sent."""


@dataclass
class Player:
    """One adversary. His random numbers are his own, so that he does not change the genuine traffic."""

    level: int
    rng: random.Random
    world: World

    def __post_init__(self) -> None:
        self._waits: dict[Moment, list[Callable[[Change | None], bool]]] = defaultdict(list)
        self.told = 0
        """How many messages he sent."""

    # --- knowledge ---------------------------------------------------------------------------------

    @property
    def knows_balance(self) -> bool:
        """Whether he knows the balance."""
        return self.level in KNOWS_BALANCE

    def balance(self) -> int:
        """Return the balance, or his guess: he knows about how large it is."""
        true = self.world.balance
        return true if self.knows_balance else self.rng.randrange(100, 2 * max(true, 500), 10)

    @property
    def smsc(self) -> str:
        """The best centre that he can send through."""
        return HOME if self.level in SENDS_AT_HOME else ABROAD

    # --- actions -----------------------------------------------------------------------------------

    def amount(self) -> int:
        """Return an amount worth the trouble."""
        return self.rng.choice(AMOUNTS)

    def new_id(self, ahead: int = 0) -> str:
        """Return an ID of this moment, or `ahead` of it."""
        return str(int(telco_id_at(self.world.now, self.rng)) + ahead)

    def order(self, amount: int) -> str:
        """Order something; return the payment code."""
        code = make_code(self.rng.randrange)
        self.world.order(code, amount)
        return code

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later."""
        self.world.at(self.world.now + round(seconds * SECOND), act)

    def wait_for(self, moment: Moment, act: Callable[[Change | None], bool]) -> None:
        """Call `act` at each such moment until it returns True."""
        self._waits[moment].append(act)

    def happens(self, moment: Moment, change: Change | None = None) -> None:
        """Run the actions that wait for a moment."""
        self._waits[moment] = [act for act in self._waits[moment] if not act(change)]

    def tell(
        self, text: str, *, smsc: str = "", sender: str = MTN_SENDER, stamped: int | None = None, only: int = 0
    ) -> None:
        """Send a text now.

        Args:
            text: Any text.
            smsc: Another centre than his best one.
            sender: Another sender than the network's name.
            stamped: Another SMSC time than now.
            only: Send only this part of it, from 1.
        """
        self.told += 1
        self.world.note_sent(text)
        at = self.world.now
        if self.world.deliver_text(sender, text, at if stamped is None else stamped):
            return
        route = Route((smsc or self.smsc,), at if stamped is None else stamped, at + SECOND, reference=self.rng.randrange(256))  # fmt: skip
        for number, part in enumerate(route.parts(text, sender), 1):
            if only in {0, number}:
                self.world.deliver(part)

    def receipt(self, amount: int, after: int, *, code: str = "", telco_id: str = "") -> str:
        """Return a forged receipt for an order of his own."""
        return short_receipt_text(amount, after, telco_id or self.new_id(), code or self.order(amount))

    def row(self, count: int, before: int, every_s: float = 40.0) -> None:
        """Send receipts that follow each other, the first one from this balance."""
        if not count:
            return
        amount = self.amount()
        self.tell(self.receipt(amount, before + amount))
        self.later(every_s, lambda: self.row(count - 1, before + amount, every_s))

    def soon(self, seconds: float = 30.0) -> float:
        """Return a random pause, in seconds."""
        return self.rng.uniform(1, seconds)

    def jam(self, minutes: float) -> None:
        """Keep genuine messages away for some minutes."""
        self.world.jam(self.world.now + round(minutes * MINUTE))
