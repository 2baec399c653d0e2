"""The strategies of adversaries. To add one, write a function of a `Player` and give it `@strategy(levels)`.

It is called once, at a time of its kind: `ANY` of the shop's hours, `FIRST` before the shop's first message, or `NIGHT`
after closing. From there it may act at once, `later`, or `wait_for` a moment. Letters are those of the attacks in the design
of the trust rules.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from tests.simulation.trust.player import LEVELS, Moment, Player
from tests.simulation.trust.wallet import (
    ABROAD,
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Change,
    debit_text,
    money,
    receipt_text,
    reversal_text,
    short_receipt_text,
)

Act = Callable[[Player], None]
ANY, FIRST, NIGHT = "any", "first", "night"
SENDERS: Final = LEVELS[1:]
"""The levels that send under the network's name."""
KNOWING: Final = (2, 4)
HIS_NAME: Final = "YAW MENSAH OPOKU AGYEMANG"
"""The payer in his first parts; no genuine receipt has it."""
FAR_AHEAD: Final = 60_000_000


@dataclass(frozen=True, slots=True)
class Strategy:
    """One strategy, the levels that can play it, and the time of day at which it begins."""

    name: str
    levels: Collection[int]
    act: Act
    begins: str


STRATEGIES: Final[list[Strategy]] = []


def strategy(levels: Collection[int], begins: str = ANY) -> Callable[[Act], Act]:
    """Add a strategy."""

    def add(act: Act) -> Act:
        STRATEGIES.append(Strategy(act.__name__, levels, act, begins))
        return act

    return add


def of_level(level: int, begins: str) -> list[Strategy]:
    """Return the strategies that a player of this level can begin at this time."""
    return [one for one in STRATEGIES if level in one.levels and one.begins == begins]


# --- from a number, without the network's name ---------------------------------------------------------


@strategy(LEVELS)
def from_a_number(player: Player) -> None:
    """A perfect receipt from an ordinary number and from look-alike names."""
    for sender in ("+233244000111", "MobileMone", "MobiIeMoney", "MTN", "mobilemoney"):
        amount = player.amount()
        player.tell(player.receipt(amount, player.world.balance + amount), sender=sender, smsc=ABROAD)


@strategy(LEVELS)
def reversal_from_a_number(player: Player) -> None:
    """A reversal of a real payment from an ordinary number."""
    if player.world.told:
        paid = player.rng.choice(player.world.told[-10:])
        text = reversal_text(paid.effect, paid.telco_id, paid.name)
        player.tell(text, sender="+233244000111", smsc=ABROAD)


# --- parts ---------------------------------------------------------------------------------------------


@strategy(SENDERS)
def parts_before(player: Player) -> None:
    """A: second parts, sent before a genuine first one, that turn its money over to another order."""
    code, number = player.order(player.amount()), player.rng.choice((8, 40, 80))

    def one() -> None:
        text = "x" * 153 + f" {code}. Transaction ID: {player.new_id()}. TRANSACTION FEE: 0.00"
        player.tell(text, only=2)

    for at in range(number):
        player.later(at * 30 + player.soon(5), one)


@strategy(SENDERS)
def parts_at_payment(player: Player) -> None:
    """Second parts with many references in the seconds of a payment."""

    def now(_: Change | None) -> bool:
        code = player.order(player.amount())
        for _each in range(40):
            text = "x" * 153 + f" {code}. Transaction ID: {player.new_id()}. TRANSACTION FEE: 0.00"
            player.tell(text, only=2)
        return True

    player.wait_for(Moment.RECEIPT, now)


@strategy(SENDERS)
def first_parts(player: Player) -> None:
    """First parts with a claim of their own, which wait for the second part of a genuine receipt."""

    def one() -> None:
        amount = player.amount()
        text = receipt_text(amount, player.balance() + amount, player.new_id(), "food", name=HIS_NAME)
        player.tell(text, only=1)

    for at in range(20):
        player.later(at * 30 + player.soon(5), one)


# --- single forgeries and rows of them -----------------------------------------------------------------


@strategy(SENDERS)
def one_receipt(player: Player) -> None:
    """F: one receipt with the best balance that he knows."""
    amount = player.amount()
    player.tell(player.receipt(amount, player.balance() + amount))


@strategy(SENDERS)
def chain(player: Player) -> None:
    """B: a forgery, and more that follow it."""
    player.row(player.rng.choice((2, 3, 5)), player.balance())


@strategy(SENDERS)
def excuse(player: Player) -> None:
    """C: an unreadable text or a made-up debit, and behind it any balance."""
    if player.rng.random() < 0.5:
        player.tell("Hello")
        player.later(player.soon(), lambda: player.row(1, player.balance()))
        return
    before, amount = player.balance(), 100 * player.rng.randrange(1, 50)
    if before > amount:
        player.tell(debit_text(amount, before - amount, player.new_id()))
        player.later(player.soon(), lambda: player.row(2, before - amount))


@strategy(SENDERS)
def after_absence(player: Player) -> None:
    """D: any balance, as soon as the modem is back or the daemon has restarted."""

    def now(_: Change | None) -> bool:
        player.later(player.soon(10), lambda: player.row(2, player.balance()))
        return True

    player.wait_for(Moment.BACK, now)


@strategy(SENDERS, FIRST)
def first_of_the_line(player: Player) -> None:
    """E: the first message of a new line."""
    player.row(2, player.balance())


@strategy(SENDERS)
def far_id(player: Player) -> None:
    """G: an ID far ahead, which would make all later genuine ones look old."""
    amount, ahead = player.amount(), player.new_id(FAR_AHEAD * player.rng.choice((1, 4)))
    if player.rng.random() < 0.5:
        player.tell(player.receipt(amount, player.balance() + amount, telco_id=ahead))
    else:
        player.tell(debit_text(amount, max(0, player.balance() - amount), ahead))


@strategy(SENDERS)
def reversal(player: Player) -> None:
    """I: the network seems to take a real payment back."""
    if not player.world.told:
        return
    paid = player.rng.choice(player.world.told[-10:])
    balance = player.balance() - paid.effect if player.rng.random() < 0.5 else None
    if balance is None or balance > 0:
        player.tell(reversal_text(paid.effect, paid.telco_id, paid.name, balance=balance))


@strategy(KNOWING)
def before_the_last(player: Player) -> None:
    """J: a receipt that follows the balance before the last receipt."""
    if player.world.told:
        player.row(1, player.world.told[-1].before)


# --- floods --------------------------------------------------------------------------------------------


@strategy(SENDERS)
def flood_of_guesses(player: Player) -> None:
    """Many guesses, so that one fits the balance of a genuine message on either side."""
    amount = player.amount()
    code = player.order(amount)

    def guess() -> None:
        after = player.rng.randrange(1, 2 * max(player.world.balance, 500)) + amount
        player.tell(player.receipt(amount, after, code=code))

    for at in range(player.rng.choice((30, 60, 120))):
        player.later(at * 7, guess)


@strategy(SENDERS)
def flood_of_texts(player: Player) -> None:
    """Texts that momo cannot read, to hide another message or to fill the list."""
    for at in range(40):
        player.later(at * 11, lambda: player.tell(f"Yello! You won {player.rng.random()}"))


# --- beside genuine receipts ---------------------------------------------------------------------------


@strategy(SENDERS)
def twin(player: Player) -> None:
    """The claim of a genuine receipt with another code, sent before it; the payer knows ID and amount."""

    def now(change: Change | None) -> bool:
        assert change is not None
        telco_id = change.telco_id if player.rng.random() < 0.5 else player.new_id()
        after = change.after if player.knows_balance else player.balance()
        player.tell(player.receipt(change.effect, after, telco_id=telco_id))
        return True

    player.wait_for(Moment.RECEIPT, now)


@strategy(SENDERS)
def split(player: Player) -> None:
    """Two receipts that together lead to the balance of a genuine one."""

    def now(change: Change | None) -> bool:
        assert change is not None
        if change.effect < 400:
            return False
        before = change.before if player.knows_balance else player.balance()
        first = change.effect // 200 * 100
        player.tell(player.receipt(first, before + first))
        player.tell(player.receipt(change.effect - first, before + change.effect))
        return True

    player.wait_for(Moment.RECEIPT, now)


@strategy(KNOWING)
def tell_the_lost(player: Player) -> None:
    """Forge a receipt of money that came in without a message, as if it paid his order."""

    def now(change: Change | None) -> bool:
        assert change is not None
        player.later(player.soon(), lambda: player.tell(player.receipt(change.effect, change.after)))
        return False

    player.wait_for(Moment.LOST, now)


@strategy((2, 3))
def made_up_fee(player: Player) -> None:
    """Large receipts with fees that leave nothing, little or most of them, or just the money that came in without a message."""

    def tell(amount: int, fee: int, after: int) -> None:
        player.tell(player.receipt(amount, after).replace("FEE: 0.00", f"FEE: {money(fee)}"))

    def fitting(change: Change | None) -> bool:
        assert change is not None
        for more in (change.effect // 20, player.amount()):
            tell(change.effect + more, more, change.after)
        return False

    amount, before = player.amount(), player.balance()
    for fee in (amount + 100, amount, amount - 1, amount // 2, amount // 10):
        tell(amount, fee, before + amount - fee)
    if player.knows_balance:
        player.wait_for(Moment.LOST, fitting)


@strategy(KNOWING)
def poison(player: Player) -> None:
    """Receipts that fit, through one centre, on several days, until that centre counts as home; then a large one."""
    for day in range(3):
        for at in range(8):
            player.later(day * DAY / SECOND + at * 240, lambda: one_small(player))
    player.later(3 * DAY / SECOND, lambda: player.row(2, player.balance()))


def one_small(player: Player) -> None:
    """Send a small receipt that fits."""
    amount = 100
    after = player.balance() + amount
    player.tell(short_receipt_text(amount, after, player.new_id(), "food"))


# --- what pays nothing and is not watched ----------------------------------------------------------------


@strategy(SENDERS)
def debit_guesses(player: Player) -> None:
    """Made-up debits, each a guess at the balance, and behind each a receipt."""

    def guess() -> None:
        before, amount = player.balance(), 100 * player.rng.randrange(1, 50)
        if before > amount:
            player.tell(debit_text(amount, before - amount, player.new_id()))
            if player.rng.random() < 0.2:
                player.row(1, before - amount)

    for at in range(20):
        player.later(at * 170, guess)


@strategy(SENDERS)
def without_a_balance(player: Player) -> None:
    """A deposit and a reversal that name no balance, and behind them a receipt."""
    amount = player.amount()
    player.tell(
        f"Money Transfer Deposit received for GHS {money(amount)} from YAW Token: 998469693069 Transaction ID: "
        f"{player.new_id()}. TRANSACTION FEE IS 0"
    )
    player.row(1, player.balance() + amount)
    if player.world.told:
        paid = player.rng.choice(player.world.told[-10:])
        player.tell(reversal_text(paid.effect + player.amount(), paid.telco_id, paid.name))


@strategy(SENDERS)
def on_an_emptied_wallet(player: Player) -> None:
    """Receipts on the balance of an emptied wallet."""

    def now(_: Change | None) -> bool:
        for before in (0, 50, 100):
            player.row(2, before, every_s=300)
        return True

    player.wait_for(Moment.SWEPT, now)


# --- times of day --------------------------------------------------------------------------------------


@strategy(SENDERS, NIGHT)
def after_closing(player: Player) -> None:
    """A row in the night, when no genuine message contradicts it."""
    player.row(4, player.balance(), every_s=900)


@strategy(SENDERS)
def long_row(player: Player) -> None:
    """A row at the pace of the shop, so that it looks like a wallet of its own."""
    player.row(player.rng.choice((6, 9)), player.balance(), every_s=20 * MINUTE / SECOND)


@strategy(SENDERS)
def old_and_new_times(player: Player) -> None:
    """Forged SMSC times: an hour ago, and in an hour."""
    for shift in (-HOUR, HOUR):
        amount = player.amount()
        player.tell(player.receipt(amount, player.balance() + amount), stamped=player.world.now + shift)


@strategy((4,))
def jammed(player: Player) -> None:
    """Keep genuine messages away, and send a row of his own meanwhile."""
    player.jam(20)
    player.row(4, player.balance(), every_s=240)
