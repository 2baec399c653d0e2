"""Judge a message from a network's own sender by its network ID, its balance and its SMSC.

The steps, in this order:

1. A message of a foreign centre, or with a doubt about its ID, time, fee, text or missing balance, is doubtful: it is listed
   and changes nothing for another message.
2. A transaction ID that is already known makes the message a duplicate or a conflict.
3. A message that joins the believed balance of its line is in the chain; any other is in a row beside it.
4. A receipt pays if `core.messages.line_trust` allows it; else it waits with a review of its own.

Time, a proof and a person settle rows later. Test messages skip all of this.
"""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.inputs import MessageOutcome
from daemon.core.limits import DAY_US, MINUTE_US
from daemon.core.messages import line_trust
from daemon.core.messages.balance_chain import ChainEntry, Counts, Standing, Why, effect_of, is_in_chain
from daemon.core.messages.line_history import USUAL_DAYS, away_for, usual_receipts
from daemon.core.messages.line_trust import BalanceCheck, Circumstances, Limits, LineState, Row
from daemon.core.messages.trust import Doubt, SmscSource, doubts_about, fee_doubt, is_home
from daemon.core.model import Message, Payment, Review
from daemon.core.payments.reviews import without_text
from daemon.steps import confirmed_wordings, settle
from daemon.steps.context import Context, StoredMessage, microseconds
from daemon.steps.pay import (
    is_proved,
    is_without_phone,
    open_message_review,
    pay,
    reverse,
    reversed_payment,
    review_sender,
    transaction_for,
)
from daemon.store.engine import Reader
from daemon.store.journal import Notice, add_notice
from daemon.store.messages import balances, messages
from daemon.store.messages.balances import Chain
from daemon.store.payments import payments, reviews, transactions
from daemon.wire import MessageState, Mode, ReviewReason, TransactionStatus, TrustLevel
from parsers import reading as readings
from parsers.money import render
from parsers.read import PROVIDERS, read
from parsers.reading import normalize_telco_id

UNVERIFIED: Final = "wording_unverified"
"""No genuine message has confirmed this wording yet. The message is shown and never pays without an operator."""
PERHAPS_OWN: Final = "perhaps_own"
"""Its payer's name is that of an account from which the owner may have fetched money of their own."""
REVERSAL_AMOUNT: Final = "reversal_amount"
"""A reversal that names another amount than its payment."""
TYPED: Final = "typed_receipt"
"""Its payer typed words of a receipt. It is no doubt once the balance joins."""
_NAMES_NO_BALANCE: Final = frozenset({Doubt.NO_BALANCE, Doubt.REVERSAL_WITHOUT_BALANCE})

Claimed = readings.Payment | readings.Reversal


class Arrival(Struct, frozen=True):
    """The message that comes in now."""

    message: StoredMessage
    outcome: MessageOutcome
    reading: readings.Reading


def judge_message(context: Context, arrived: StoredMessage, outcome: MessageOutcome, reading: readings.Reading) -> None:
    """Judge a message from the network's own sender, act on the changes, and fill in `outcome`."""
    if context.mode is not Mode.LIVE or not is_in_chain(reading):
        _accept_outside_chain(context, arrived, outcome, reading)
        return
    full = context.source.level is TrustLevel.FULL
    # Only a modem reports the SMSC. The value of any other source is ignored.
    home = full and is_home(arrived.smsc, context.homes)
    foreign = full and not home and _check(context) is BalanceCheck.REVIEW
    if isinstance(reading, readings.Payment) and reading.unverified and not foreign:
        _hold_doubtful(context, arrived, outcome, wording_doubts(reading))
        return
    known = balances.known(context.tx, arrived.chain, context.mode, own_id(reading))
    if not foreign and _is_known(context, arrived, outcome, reading, known):
        return
    entry = _entry(arrived, reading, known.tail, home=home)
    line = Line(context, arrived.chain, Arrival(arrived, outcome, reading))
    soft = list(_doubts_for_a_person(context, arrived, reading))
    test = not entry.doubts and _is_test_payment(context, reading)
    if test:
        if full:
            learn_smsc(context, arrived.chain, entry, SmscSource.TEST_PAYMENT)
        line.prove_by(replace(entry, home=full))
    elif entry.doubts or foreign:
        asks = home and _NAMES_NO_BALANCE.issuperset(entry.doubts)
        entry = replace(entry, doubts=(*entry.doubts, *soft))
        line.doubt(entry, foreign=foreign, asks=asks)
    else:
        line.take(replace(entry, doubts=tuple(soft)))
    line.save()


def choose_reading(context: Context, arrived: StoredMessage, read_as: readings.Unreadable) -> readings.Reading:
    """Return what a receipt says into which its payer typed words of a receipt: what joins, because no payer knows the balance.

    Without any that joins it is the first, where the payer typed into the reference. A source without service centres has only
    that one, because each other one would be one more guess for a forger.
    """
    found = [one for one in read_as.perhaps if one.balance and not _is_unverified(one)]
    if context.mode is not Mode.LIVE or context.imported or not found:
        return read_as
    if context.source.level is not TrustLevel.FULL:
        return found[0]
    chain, tx = arrived.chain, context.tx
    befores = [0 if one.balance is None else one.balance.minor - (effect_of(one) or 0) for one in found]
    believed = balances.state(tx, chain).balance
    if believed in befores:
        return found[befores.index(believed)]
    ends = (balances.rivals(tx, chain, "ends", before) for before in befores)
    return next((one for one, rows in zip(found, ends, strict=True) if rows), found[0])


def _is_unverified(reading: readings.Reading) -> bool:
    return isinstance(reading, Claimed) and reading.unverified


def _entry(arrived: StoredMessage, reading: readings.Reading, tail: list[ChainEntry], *, home: bool) -> ChainEntry:
    """Return the chain entry of a message."""
    assert arrived.provider is not None, "a trusted message is of a network that we know"
    assert not isinstance(reading, readings.Unreadable), "an unreadable message is in no chain"
    doubts = doubts_about(
        tail,
        provider=arrived.provider,
        telco_id=own_id(reading),
        sent_at=arrived.sent_at,
        printed_at=microseconds(reading.printed_at),
        texts=(reading.reference, reading.payer_name),
    )
    if reading.amount is not None and reading.fee is not None:
        high = fee_doubt(reading.amount.minor, reading.fee.minor)
        doubts += [] if high is None else [high]
    pays = isinstance(reading, readings.Payment)
    effect = effect_of(reading)
    if reading.balance is None or effect is None:
        takes_back = isinstance(reading, readings.Reversal)
        doubts.append(Doubt.REVERSAL_WITHOUT_BALANCE if takes_back else Doubt.NO_BALANCE)
    elif reading.balance.minor < (effect if pays else 0):
        doubts.append(Doubt.IMPOSSIBLE_BALANCE)
    return balances.new_entry(
        arrived.id,
        at=arrived.at,
        stored_at=arrived.stored_at,
        telco_id=own_id(reading),
        pays=pays,
        amount=reading.amount.minor if isinstance(reading, readings.Payment) else None,
        effect=effect,
        after=None if reading.balance is None else reading.balance.minor,
        smsc=arrived.smsc,
        home=home,
        doubts=tuple(doubts),
    )


def wording_doubts(reading: Claimed) -> list[str]:
    """Return the doubts that the wording and the payer's name of a message give."""
    own = isinstance(reading, readings.Payment) and reading.perhaps_own
    return [*([UNVERIFIED] if reading.unverified else []), *([PERHAPS_OWN] if own else [])]


def _doubts_for_a_person(context: Context, arrived: StoredMessage, reading: readings.Reading) -> Iterator[str]:
    """Yield why a message only pays, or takes a payment back, by a person; the balance that it names is believed all the same."""
    if isinstance(reading, Claimed):
        yield from wording_doubts(reading)
    if arrived.typed:
        yield TYPED
    if isinstance(reading, readings.Reversal):
        payment = reversed_payment(context, arrived, reading)
        if payment is not None and (
            reading.amount is None
            or (reading.amount.minor, reading.amount.currency) != (payment.amount_minor, payment.currency)
        ):
            yield REVERSAL_AMOUNT


def _is_test_payment(context: Context, reading: readings.Reading) -> bool:
    return (
        isinstance(reading, readings.Payment)
        and context.expects_test_payment
        and balances.take_test_payment(context.tx, context.sim.sim_key, reading.amount.minor, context.now)
    )


def _accept_outside_chain(
    context: Context, arrived: StoredMessage, outcome: MessageOutcome, reading: readings.Reading
) -> None:
    """Accept a message outside the chain: a test message, or one about no money. A new wording is held."""
    if not isinstance(reading, Claimed):
        return
    doubts = wording_doubts(reading) if isinstance(reading, readings.Payment) else []
    if doubts:
        _hold_doubtful(context, arrived, outcome, doubts)
    else:
        accept_message(context, arrived, outcome, reading)


def _hold_doubtful(context: Context, arrived: StoredMessage, outcome: MessageOutcome, doubts: list[str]) -> None:
    _hold(outcome, doubts)
    review_sender(context, arrived.id, arrived.sender, ReviewReason.DOUBTFUL_MESSAGE, doubts)


class Line:
    """One line while its messages are judged: its state, and what a change means for messages, payments and reviews.

    Call `save` at the end.
    """

    def __init__(self, context: Context, chain: Chain, arrival: Arrival | None = None, actor: str = "momo") -> None:
        self.context, self.chain, self.actor = context, chain, actor
        self.state = self._stored = balances.state(context.tx, chain)
        self.settled, self.decided = 0, ""
        """How many held messages were settled, without the one that an operator decided."""
        self._arrival = arrival
        self._flood: bool | None = None
        self._struck: list[ChainEntry] = []

    def save(self) -> None:
        """Store the state of the line if it changed; one notice names all money that was contradicted."""
        if self._struck:
            total = sum(one.amount or 0 for one in self._struck)
            self._notify(Notice.MONEY_CONTRADICTED, self._struck[0], struck_minor=total)
            self._struck = []
        if self.state != self._stored:
            balances.put_state(self.context.tx, self.chain, self.state)
            self._stored = self.state

    # --- a message comes in ------------------------------------------------------------------------

    def doubt(self, entry: ChainEntry, *, foreign: bool, asks: bool) -> None:
        """Store a doubtful message: it is listed, and changes nothing. Money without a balance asks a person if `asks`."""
        why = Why.FOREIGN if foreign else Why.DOUBTED
        entry = replace(entry, standing=Standing.DOUBTFUL, why=why)
        self._put(entry)
        if self._arrival is None or not isinstance(self._arrival.reading, Claimed):
            return
        _hold(self._arrival.outcome, list(entry.doubts) or [str(why)])
        if foreign and not entry.doubts and entry.before == self.state.balance:
            self._notice_foreign(entry)
        day = self.context.now - DAY_US
        recent = balances.doubtful_count(self.context.tx, self.chain, day) if asks else 0
        if asks and recent <= line_trust.CANDIDATES_MAX:
            self._review(entry, self._arrival)

    def take(self, entry: ChainEntry) -> None:
        """Judge a message without doubts: it joins the chain, fills a gap, or is a candidate in a row."""
        if self.state.balance is None or entry.before == self.state.balance:
            self._join(entry)
        elif not self._fill(entry):
            self._put_beside(entry)

    def _join(self, entry: ChainEntry) -> None:
        self._confirm_split(entry)
        before = self.state
        self.state = line_trust.moved(before, entry, self.context.now)
        entry = replace(line_trust.placed(before, entry), standing=Standing.ACCEPTED, why=Why.JOINS)
        if entry.has_gap:
            self._notify(Notice.MONEY_MISSING, entry)
        self._pay(entry, before, joins=True)
        self.absorb()

    def _confirm_split(self, entry: ChainEntry) -> None:
        """Confirm the receipt before this one if its code and its balance stood in different parts: a home message joins it."""
        place = self.state.split_at
        if place is None or not entry.home:
            return
        self.state = replace(self.state, split_at=None)
        if self.state.provisional is None and not self.is_flooded and place == self.state.position:
            balances.confirm(self.context.tx, self.chain, place, place)
            for waiting in balances.unpaid_of_chain(self.context.tx, self.chain, place):
                self.accept(waiting, Why.JOINS)

    def absorb(self) -> None:
        """Take each row into the chain that joins it now."""
        while self.state.live_rows:
            found = [
                row
                for row in balances.rivals(self.context.tx, self.chain, "begins", self.state.balance)
                if row.began_at >= self.state.sent_at - line_trust.REORDERED_US
            ]
            if not found:
                return
            self._take_row(found[0], Why.JOINS)

    def _take_row(self, row: Row, why: Why, *, free: bool = False) -> None:
        """Continue the chain with the messages of a row; what waits in it pays if it may, or if it is `free` of limits."""
        entries = balances.of_row(self.context.tx, row)
        self.drop_row(row)
        for entry in entries:
            before = self.state
            self.state = line_trust.moved(before, entry, self.context.now)
            placed = replace(line_trust.placed(before, entry), standing=Standing.ACCEPTED, why=why)
            if placed.has_gap:
                self._notify(Notice.MONEY_MISSING, placed)
            if self.state.provisional is None or free:
                placed = replace(placed, counts=Counts.FREE, counts_day=None)
            self._pay(placed, before, joins=True, free=free)

    def drop_row(self, row: Row) -> None:
        """Remove a row; the caller places its messages."""
        balances.remove_row(self.context.tx, row)
        if not row.lapsed:
            self.state = replace(self.state, live_rows=self.state.live_rows - 1)

    def _fill(self, entry: ChainEntry) -> bool:
        """Let a late message fill a gap of the chain; return False if it fits none."""
        gap = self.state.gap_left
        if gap is not None and entry.time <= self.context.now and gap == entry.before:
            # The gap is before the balance that the owner named, and no message has joined that yet.
            left = None if entry.after == self.state.balance else entry.after
            self.state = replace(self.state, gap_left=left, gap_left_at=entry.time if left is not None else None)
            filled = entry
        else:
            since = self.context.now - USUAL_DAYS * DAY_US
            gaps = balances.gaps(self.context.tx, self.chain, since)
            right = line_trust.fitting_gap(entry, gaps)
            if right is None:
                return False
            later, filled = line_trust.fill(right, entry)
            balances.change(self.context.tx, later)
        filled = replace(filled, standing=Standing.ACCEPTED, why=Why.JOINS, gap_minor=filled.gap_minor or 0)
        self._pay(filled, self.state, joins=True)
        return True

    def _put_beside(self, entry: ChainEntry) -> None:
        """Put a candidate at the end or the beginning of a row that it joins, or open a row."""
        tx, chain, now = self.context.tx, self.chain, self.context.now
        self._flood = None
        assert entry.before is not None, "a candidate names a balance"
        ends = balances.rivals(tx, chain, "ends", entry.before)
        starts = balances.rivals(tx, chain, "begins", entry.after)
        starts = [row for row in starts if entry.time <= row.began_at + line_trust.REORDERED_US]
        self.state = replace(self.state, candidate_at=now)
        entry = replace(entry, standing=Standing.CANDIDATE, why=Why.BREAKS)
        if ends:
            row = ends[0]
            entry = replace(entry, row=row.number, position=balances.places(tx, row)[1] + 1)
            row = replace(row, after=entry.after, grew_at=now, messages=row.messages + 1)
            balances.put_row(tx, row)
        elif starts:
            row = starts[0]
            entry = replace(entry, row=row.number, position=balances.places(tx, row)[0] - 1)
            row = replace(row, before=entry.before, began_at=entry.time, grew_at=now, messages=row.messages + 1)
            balances.put_row(tx, row)
        else:
            # What was stamped before the proof is no rival of what the wallet showed.
            late = self._is_before_proof(entry)
            number = balances.add_row(tx, chain, entry, now, lapsed=late)
            entry = replace(entry, row=number, position=0, opens=True)
            self.state = replace(self.state, live_rows=self.state.live_rows + (not late))
        self._pay(entry, self.state, joins=False)
        if ends and starts and starts[0].number != ends[0].number:
            self._join_rows(row, starts[0])

    def _is_before_proof(self, entry: ChainEntry) -> bool:
        return entry.time < self.state.proved_at - line_trust.REORDERED_US

    def _join_rows(self, first: Row, second: Row) -> None:
        tx = self.context.tx
        shift = balances.places(tx, first)[1] + 1 - balances.places(tx, second)[0]
        balances.join_rows(tx, first, second, shift)
        messages_of_both = first.messages + second.messages
        balances.put_row(tx, replace(first, after=second.after, grew_at=max(first.grew_at, second.grew_at), messages=messages_of_both))  # fmt: skip
        self.drop_row(second)

    # --- payments ----------------------------------------------------------------------------------

    def limits(self) -> Limits:
        """Return the limits of the line today; the usual takings are added up once a day, while there are none at each call."""
        today = self.context.now // DAY_US
        if self.state.usual_day != today or not self.state.usual_receipts:
            usual, receipts = balances.usual_day(self.context.tx, self.chain, today)
            self.state = replace(self.state, usual_day=today, usual_minor=usual, usual_receipts=receipts)
        trust = self.context.env.config.trust
        return Limits.of(self.state, trust.unconfirmed_limit, trust.phone_limit)

    @property
    def is_flooded(self) -> bool:
        """Whether the line is in a flood."""
        if self._flood is None:
            now, since = self.context.now, self.context.lacks_since
            lacking = since is not None and since <= now - MINUTE_US
            self._flood = is_flooded(self.context.tx, self.chain, self.state, now, lacking=lacking)
        return self._flood

    def _pay(self, entry: ChainEntry, before: LineState, *, joins: bool, free: bool = False) -> None:
        """Store an entry, and let its message pay or take back money if it may; else it waits with a review.

        `before` is the line before the message; `free` of limits is what a proof or a person confirmed.
        """
        if joins:
            entry = replace(entry, doubts=tuple(one for one in entry.doubts if one != TYPED))
        new = self._arrival is not None and entry.key == self._arrival.message.id
        paid = not new and entry.pays and messages.payment_of(self.context.tx, entry.key) is not None
        counts: Counts | None = Counts.FREE
        if entry.doubts and not free:
            counts = None
        elif entry.pays and not paid and not free:
            counts = self._counts(entry, before, joins=joins)
        elif not entry.pays and not free and (not joins or before.provisional is not None):
            counts = None  # a reversal takes money back: not before its balance is firm
        if counts is not None and not paid and entry.pays:
            day = None if counts is Counts.FREE else self.context.now // DAY_US
            entry = replace(entry, counts=counts, counts_day=day)
        self._put(entry)
        if paid:
            return
        if counts is None:
            self._wait(entry)
        elif new:
            self._accept_new(entry, joins=joins)
        else:
            self.release(entry)

    def _counts(self, entry: ChainEntry, before: LineState, *, joins: bool) -> Counts | None:
        """Return how the payment of a receipt counts; None if it waits."""
        context, check = self.context, _check(self.context)
        # A receipt that is history is shown, without paying by itself.
        if check is not BalanceCheck.REVIEW or context.is_history(entry.at):
            return Counts.FREE
        # A source without service centres has no home messages, and of a modem only those come here.
        centres = entry.home
        arrived = None if self._arrival is None else self._arrival.message
        split = joins and arrived is not None and (arrived.split or arrived.typed)
        breaks = centres or context.env.config.trust.phone_breaks
        around = Circumstances(centres, self.is_flooded, breaks, context.now)
        counts = line_trust.counts_as(before, joins=joins, split=split, around=around)
        if split:
            self.state = replace(self.state, split_at=self.state.position)
        if counts is None or counts is Counts.FREE:
            return counts
        limits = self.limits()
        day = context.now // DAY_US
        used = balances.used(context.tx, self.chain, day, self.state.proved_at)
        assert entry.amount is not None, "a receipt names its amount"
        if not line_trust.has_room(counts, entry.amount, used, limits):
            return None
        asked = limits.bound * line_trust.ASK_AT_PERCENT // 100
        told_before = self.state.asked_at > max(context.now - DAY_US, self.state.proved_at)
        left = limits.bound - used.bound - entry.amount
        much = used.bound + entry.amount > asked
        if counts is Counts.PHONE:
            left = limits.phone - used.phone - entry.amount
            much = left < limits.phone * line_trust.ASK_PHONE_LEFT_PERCENT // 100
        if much and not told_before:
            # Not only where the sum passes the part: the bound follows the usual day, and may fall below what is used.
            self.state = replace(self.state, asked_at=context.now)
            self._notify(Notice.WALLET_ASKED, entry, left_minor=left)
        return counts

    def _accept_new(self, entry: ChainEntry, *, joins: bool) -> None:
        arrival = self._arrival
        assert arrival is not None, "it comes in now"
        if not isinstance(arrival.reading, Claimed):
            return
        if not joins and _check(self.context) is BalanceCheck.WARN:
            self._notify(Notice.BALANCE_WARNING, entry)
        accept_message(self.context, arrival.message, arrival.outcome, arrival.reading)

    def _wait(self, entry: ChainEntry) -> None:
        """Hold a message that may not pay now, with a review of its own; one that was held before keeps its review."""
        arrival, context = self._arrival, self.context
        new = arrival is not None and entry.key == arrival.message.id
        if arrival is None or not new:
            row = messages.get(context.tx, entry.key)
            assert row is not None, "an entry belongs to a message"
            if row.state is not MessageState.HELD or reviews.open_for_message(context.tx, row.id):
                return
            reading = read_again(context, row)
            arrival = Arrival(StoredMessage.before(row), MessageOutcome(row.state), reading)
        if not isinstance(arrival.reading, Claimed):
            return
        _hold(arrival.outcome, list(entry.doubts) or [ReviewReason.BALANCE_BREAK])
        self._flood = None
        if entry.standing is Standing.CANDIDATE and not entry.doubts and self.is_flooded:
            # One notice asks for a proof; in a flood each text would open a review.
            now = context.now
            if self.state.flood_told_at <= max(now - DAY_US, self.state.proved_at):
                self.state = replace(self.state, flood_told_at=now)
                self._notify(Notice.FORGERY_FLOOD, entry)
            return
        self._review(entry, arrival)

    def _review(self, entry: ChainEntry, arrival: Arrival) -> None:
        """Open a review; the transaction that the receipt names waits for the decision if only the balance is in doubt."""
        context, transaction, waits = self.context, None, False
        if isinstance(arrival.reading, readings.Payment):
            transaction, waits = transaction_for(context, arrival.message, arrival.reading)
        elif isinstance(arrival.reading, readings.Reversal):
            # The receivers that were told of the payment are told that its reversal waits for a person.
            payment = reversed_payment(context, arrival.message, arrival.reading)
            transaction = None if payment is None else transactions.paid_by(context.tx, payment.id)
        reason, details = ReviewReason.BALANCE_BREAK, dict[str, Any](why=entry.why)
        if entry.doubts:
            reason = ReviewReason.DOUBTFUL_MESSAGE
            details["doubts"] = list(entry.doubts)
        else:
            currency = PROVIDERS[self.chain.provider].currency
            details["limit"] = render(self.limits().day, currency)
            if entry.standing is Standing.CANDIDATE and self.state.balance is not None:
                gap = render((entry.before or 0) - self.state.balance, currency)
                details["gaps"] = [{"amount": gap, "currency": currency}]
            if transaction is not None and waits:
                transactions.hold(context.tx, transaction.id, None)
        tell = not entry.doubts or (entry.standing is Standing.ACCEPTED and not entry.pays)
        transaction_id = None if transaction is None else transaction.id
        open_message_review(context, entry.key, reason, details, transaction_id, tell=tell)

    def release(self, entry: ChainEntry) -> bool:
        """Accept a held message; return whether it paid or took back money."""
        context = self.context
        row = messages.get(context.tx, entry.key)
        assert row is not None, "an entry belongs to a message"
        reading = read_again(context, row)
        if row.state is not MessageState.HELD or not isinstance(reading, Claimed):
            return False
        review = reviews.open_for_message(context.tx, entry.key)
        if review is not None:
            release_waiting(context, review, actor=self.actor)
            state = "superseded" if self.actor == "momo" else "approved"
            reviews.close(context.tx, review.id, state, by=self.actor, now=context.now)
        outcome = MessageOutcome(MessageState.NOT_PAYMENT)
        accept_message(context, StoredMessage.before(row), outcome, reading)
        messages.record_release(context.tx, row.id, outcome.state, outcome.reasons, outcome.payment_id)
        self.settled += entry.key != self.decided
        return True

    # --- what settles rows -------------------------------------------------------------------------

    def settle(self) -> None:
        """Settle the line by time: rows lapse, a row wins by silence, a provisional balance becomes firm."""
        tx, now = self.context.tx, self.context.now
        due = due_of(tx, self.chain, self.state, now)
        for row in due.passed:
            self._lapse(row)
        if due.winner is not None:
            self.win(due.winner, Why.SILENCE)
        elif due.firm:
            self.confirm(self.state.position)
            self.state = replace(self.state, provisional=None)
            self.pay_waiting()
        if due.flood_over:
            self._ask_after_flood()
        rows = balances.live_rows(tx, self.chain)
        if rows != self.state.live_rows:
            self.state = replace(self.state, live_rows=rows)

    def _ask_after_flood(self) -> None:
        """Open the reviews that a flood kept back, of what still waits."""
        self._flood = None
        waiting = balances.without_review(self.context.tx, self.chain)
        for entry in waiting:
            self._wait(entry)
        if len(waiting) < line_trust.CANDIDATES_MAX:
            self.state = replace(self.state, flood_told_at=0)

    def _lapse(self, row: Row) -> None:
        """Let a row that the chain has passed be no rival any more; a strike, if it was paid and the chain has no gap there."""
        self.set_aside(row)
        gaps = balances.gaps(self.context.tx, self.chain, row.began_at - DAY_US)
        if line_trust.is_contradicted(row.began_at, gaps):
            self.contradict(balances.of_row(self.context.tx, row))

    def set_aside(self, row: Row) -> None:
        """Let a row be no rival any more."""
        if not row.lapsed:
            balances.put_row(self.context.tx, replace(row, lapsed=True))
            self.state = replace(self.state, live_rows=self.state.live_rows - 1)

    def contradict(self, entries: Iterable[ChainEntry]) -> None:
        """Mark messages that the chain contradicts; a strike if one was paid. Their reviews stay open for a person."""
        entries = list(entries)
        self.strike(entries)
        for entry in entries:
            paid = entry.pays and messages.payment_of(self.context.tx, entry.key) is not None
            counts = Counts.SPENT if paid and entry.counts is not Counts.FREE else entry.counts
            now = replace(entry, standing=Standing.DOUBTFUL, why=Why.CONTRADICTED, counts=counts)
            balances.change(self.context.tx, now)
            if paid:
                self._notify(Notice.RECEIPT_SUSPECT, now)
            elif entry.pays:
                self._notify(Notice.RECEIPT_FORGED, now)
                review = reviews.open_for_message(self.context.tx, entry.key)
                if review is not None:
                    release_waiting(self.context, review, actor="momo")

    def strike(self, contradicted: Iterable[ChainEntry]) -> None:
        """Stop paying what does not join for some days, if money that was paid unconfirmed is contradicted."""
        paid = [
            one
            for one in contradicted
            if one.counts in {Counts.LIMIT, Counts.BOUND} and messages.payment_of(self.context.tx, one.key) is not None
        ]
        if paid:
            lasts = line_trust.STRIKE_US if paid[0].home else line_trust.STRIKE_WITHOUT_SMSC_US
            until = max(self.state.strike_until, self.context.now + lasts)
            self.state = replace(self.state, strike_until=until)
            self._struck += paid

    def revive(self, row: Row) -> None:
        """Let a row that was no rival any more be one again, because a proof leads through it."""
        balances.put_row(self.context.tx, replace(row, lapsed=False))
        self.state = replace(self.state, live_rows=self.state.live_rows + 1)

    def append(self, entry: ChainEntry, why: Why) -> None:
        """Continue the chain with a message that a proof or a person confirmed, free of limits."""
        before = self.state
        self.state = line_trust.moved(before, entry, self.context.now)
        placed = replace(
            line_trust.placed(before, entry), standing=Standing.ACCEPTED, why=why, doubts=(), counts=Counts.FREE, counts_day=None
        )  # fmt: skip
        self._pay(placed, before, joins=True, free=True)

    def accept(self, entry: ChainEntry, why: Why) -> None:
        """Let a message of the chain that waits pay, free of limits."""
        self._pay(replace(entry, why=why, counts=Counts.FREE, counts_day=None), self.state, joins=True, free=True)

    def win(self, winner: Row, why: Why) -> None:
        """Make a row the chain of the line: by silence, by a proof, or by a person. The other rows are no rivals any more."""
        proved = why is not Why.SILENCE
        balances.lapse_rows(self.context.tx, self.chain, winner.number)
        live = replace(self.state, live_rows=0 if winner.lapsed else 1)
        self.state = line_trust.taken_over(live, self.context.now, proved=proved)
        self._take_row(winner, why, free=proved)
        self.absorb()

    def pay_waiting(self, confirmed_until: int = -1) -> None:
        """Let what waits in the chain pay, now that its balance is firm: up to a place free of limits, behind it within them."""
        for entry in balances.unpaid_of_chain(self.context.tx, self.chain, self.state.base):
            free = entry.position is not None and entry.position <= confirmed_until
            if not entry.doubts and entry.key != self.decided:
                self._pay(entry, self.state, joins=True, free=free)

    def accept_row(self, row: Row, until: ChainEntry) -> None:
        """Accept a row up to a message that a person approved; what came after that is judged by what it joins then.

        A row that is no rival any more, or from before a proof, stays beside the chain.
        """
        if row.lapsed or self._is_before_proof(until):
            self.accept_aside_until(row, until, Why.PERSON)
            return
        row, later = self.cut(row, until)
        self.win(row, Why.PERSON)
        for entry in later:
            self.take(entry)

    def cut(self, row: Row, last: ChainEntry) -> tuple[Row, list[ChainEntry]]:
        """Let a row end with one of its messages; return it, and what came after that, which is in no row now."""
        entries = balances.of_row(self.context.tx, row)
        count = entries.index(last) + 1
        later = [replace(one, row=None, position=None) for one in entries[count:]]
        if later:
            row = replace(row, after=last.after, messages=count)
            balances.put_row(self.context.tx, row)
        for entry in later:
            balances.change(self.context.tx, entry)
        return row, later

    def accept_aside_until(self, row: Row, last: ChainEntry, why: Why) -> None:
        """Accept a row up to one of its messages without a place in the chain; the rest stays a row."""
        entries = balances.of_row(self.context.tx, row)
        count = entries.index(last) + 1
        rest = entries[count:]
        if rest:
            balances.put_row(
                self.context.tx, replace(row, before=last.after, began_at=rest[0].time, messages=len(rest))
            )
        else:
            self.drop_row(row)
        for entry in entries[:count]:
            self.accept_aside(entry, why)

    def accept_aside(self, entry: ChainEntry, why: Why) -> None:
        """Accept a message without a place in the chain, free of limits."""
        entry = replace(
            entry, standing=Standing.ACCEPTED, why=why, doubts=(), row=None, position=None, counts=Counts.FREE, counts_day=None
        )  # fmt: skip
        self._pay(entry, self.state, joins=True, free=True)

    def confirm(self, until: int) -> None:
        """Confirm what was paid on the chain up to a place."""
        balances.confirm(self.context.tx, self.chain, self.state.base, until)

    def prove_by(self, entry: ChainEntry) -> None:
        """Accept the owner's test payment: a proof of its own balance and of what it joins from behind, which pays now."""
        now, joined = self.context.now, entry.before
        if joined is not None and joined > line_trust.SWEPT_MINOR:
            ends = balances.rivals(self.context.tx, self.chain, "ends", joined)
            if joined == self.state.balance:
                self.pay_waiting(self.state.position)
            elif ends and all(one.pays for one in balances.of_row(self.context.tx, ends[0])):
                self.win(ends[0], Why.PROVED)
        before = self.state
        if before.balance is not None and entry.before == before.balance:
            self.confirm(before.position)
        elif before.balance is not None:
            balances.spend(self.context.tx, self.chain, now)
        self.state = line_trust.moved(before, entry, now)
        placed = replace(line_trust.placed(before, entry), standing=Standing.ACCEPTED, why=Why.PERSON)
        self.state = replace(self.state, provisional=None, proved_at=now, base=self.state.position)
        self._pay(placed, before, joins=True, free=True)
        self.absorb()

    # --- rows and notices --------------------------------------------------------------------------

    def _put(self, entry: ChainEntry) -> None:
        if entry.seq == balances.LATEST:
            balances.add(self.context.tx, self.chain, entry)
        else:
            balances.change(self.context.tx, entry)

    def _notice_foreign(self, entry: ChainEntry) -> None:
        """Give one notice about a foreign SMSC if its message joins the chain: the network may have a new one."""
        known = {one.smsc for one in balances.smscs(self.context.tx, self.chain.sim_key)}
        if entry.smsc is not None and entry.smsc not in known:
            learn_smsc(self.context, self.chain, entry, SmscSource.NOTICED)
            self._notify(Notice.SMSC_UNKNOWN, entry)

    def _notify(self, notice: Notice, entry: ChainEntry, **more: Any) -> None:
        _notify(self.context, notice, entry, **more)


class Due(Struct, frozen=True):
    """What time has brought for a line: rows that the chain has passed, the row that wins, and whether its balance is firm.

    `flood_over`: what waited in a flood has no reviews yet.
    """

    passed: list[Row]
    winner: Row | None
    firm: bool
    flood_over: bool

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is to be done."""
        return not (self.passed or self.winner or self.firm or self.flood_over)


def due_of(reader: Reader, chain: Chain, state: LineState, now: int) -> Due:
    """Return what time has brought for a line."""
    absences = balances.absences(reader, chain.sim_key, now - USUAL_DAYS * DAY_US)

    @cache
    def times() -> list[int]:
        return balances.receipt_times(reader, chain, now - (USUAL_DAYS + 1) * DAY_US)

    def usual(since: int, until: int) -> float:
        return usual_receipts(times(), since, until - away_for(absences, since, until))

    passed: list[Row] = []
    winner = None
    if state.live_rows:
        found = balances.rivals(reader, chain, "still", min(now - line_trust.LAPSED_AFTER_US, state.moved_at))
        passed = [row for row in found if line_trust.is_passed(state, row, now)]
        newest = line_trust.silent_since(state, balances.newest_rows(reader, chain))
        if newest is not None:
            row, since = newest
            later = balances.later_in_row(reader, row, since)
            winner = row if line_trust.wins(row, since, later, usual, now) else None
    firm = state.provisional is not None and line_trust.is_firm_again(
        state, usual, sum(at >= state.since for at in times()), now
    )
    over = state.flood_told_at > 0 and not is_flooded(reader, chain, state, now)
    return Due(passed, winner, firm, over)


def is_flooded(reader: Reader, chain: Chain, state: LineState, now: int, *, lacking: bool = True) -> bool:
    """Return whether a line is in a flood; `lacking`: a message of its SIM may lack parts for a minute."""
    since, senders = max(now - DAY_US, state.proved_at), PROVIDERS[chain.provider].senders
    # A part without its others opens a row: it may be the half of a forgery that waits.
    until, most = now - MINUTE_US, line_trust.OPENING_MAX + 1
    strays = messages.strays(reader, chain.sim_key, senders, since, until, most) if lacking else []
    recent = balances.recent_candidates(reader, chain) if state.candidate_at > since else []
    return line_trust.is_flood([*recent, *((at, True) for at in strays)], state, now)


def _check(context: Context) -> BalanceCheck:
    return BalanceCheck(context.env.config.trust.balance_check)


def _hold(outcome: MessageOutcome, reasons: list[str]) -> None:
    outcome.state = MessageState.HELD
    outcome.trusted = False
    outcome.reasons = reasons


def accept_message(context: Context, arrived: StoredMessage, outcome: MessageOutcome, reading: Claimed) -> None:
    """Record a payment and match it, or apply a reversal."""
    if isinstance(reading, readings.Payment):
        pay(context, arrived, outcome, reading)
    else:
        reverse(context, arrived, reading)


def _is_known(
    context: Context,
    arrived: StoredMessage,
    outcome: MessageOutcome,
    reading: readings.Reading,
    known: balances.ChainContext,
) -> bool:
    """Return whether a message is a duplicate or a conflict by its transaction ID; `outcome` says so then.

    A doubtful message occupies no ID: the genuine message with that ID is judged as if it were alone. So does a candidate
    that names another balance, because a forger learns ID and amount by a real payment.
    """
    telco_id = own_id(reading)
    if telco_id is None or isinstance(reading, readings.Unreadable):
        return False
    pays = isinstance(reading, readings.Payment)
    payment = None
    if pays and known.has_payment:
        found = payments.with_telco_id(context.tx, context.mode, telco_id)
        payment = next((one for one in found if one.provider == arrived.provider), None)
        if payment is not None and is_without_phone(context.tx, payment):
            # Its message has no chain entry, so this one gets it. `pay` handles the known ID.
            return False
    after = None if reading.balance is None else reading.balance.minor
    first = next(
        (
            one
            for one in known.same_id
            if one.standing is Standing.ACCEPTED or (one.standing is Standing.CANDIDATE and one.after == after)
        ),
        None,
    )
    amount = None if reading.amount is None else reading.amount.minor
    if first is not None:
        same = not pays or (first.pays and first.amount == amount)
    elif payment is not None and is_proved(context.tx, payment):
        # After a move of the number to another SIM or source, the number is the line.
        same = payment.amount_minor == amount and (
            payment.sim_key == arrived.sim_key
            or (payment.payment_method_id is not None and payment.payment_method_id == context.line_id)
        )
    else:
        return False
    first_key = payment.message_id if first is None and payment is not None else first.key if first else ""
    if not same:
        details = {"message_id": first_key}
        if payment is not None:
            details["payment_id"] = payment.id
        _hold(outcome, [ReviewReason.ID_CONFLICT])
        open_message_review(context, arrived.id, ReviewReason.ID_CONFLICT, details)
        return True
    outcome.payment_id = None if payment is None else payment.id
    if pays:
        outcome.state = MessageState.DUPLICATE
    outcome.reasons = [f"duplicate_of:{outcome.payment_id or first_key}"]
    return True


def own_id(reading: readings.Reading) -> str | None:
    """Return the ID of a message's own transaction, trimmed and in upper case; None if it names none.

    A reversal that only repeats the ID of the payment it takes back has no ID of its own.
    """
    if isinstance(reading, readings.Unreadable) or reading.telco_id is None:
        return None
    if isinstance(reading, readings.Reversal) and reading.telco_id == reading.original_telco_id:
        return None
    return normalize_telco_id(reading.telco_id)


def learn_smsc(context: Context, chain: Chain, entry: ChainEntry, source: SmscSource) -> None:
    """Record the SMSC of a message, and that it is home unless it was only noticed."""
    if entry.smsc is not None:
        balances.learn_smsc(context.tx, chain.sim_key, entry.smsc, source, entry.key, context.now)
        if source is not SmscSource.NOTICED:
            context.homes.append(entry.smsc)


def judge_again_through(line: Line, smsc: str) -> None:
    """Judge the doubtful messages of a centre that is home now again, in order of time."""
    since = line.context.now - USUAL_DAYS * DAY_US
    for entry in balances.doubtful_through(line.context.tx, line.chain, smsc, since):
        if not entry.doubts:
            line.take(replace(entry, home=True))


def _notify(context: Context, notice: Notice, entry: ChainEntry, **more: Any) -> None:
    payment_id = messages.payment_of(context.tx, entry.key)
    paid = None if payment_id is None else transactions.paid_by(context.tx, payment_id)
    network = context.sim.network
    provider = next((one for one in PROVIDERS.values() if one.network == network), None)
    data = {
        "gap_minor": entry.gap_minor,
        "amount_minor": entry.effect,
        "currency": None if provider is None else provider.currency,
        "telco_id": entry.telco_id,
        "smsc": entry.smsc,
        **more,
    }
    add_notice(
        context.tx, notice, context.now, paid, payment_id=payment_id, message_id=entry.key, mode=context.mode, data=data
    )


def apply_decision(context: Context, message_id: str, *, genuine: bool, actor: str) -> int:
    """Apply an operator's decision to a held message, and to its row; return how many other held messages it settled.

    Approving a message of a row is a proof of the row up to it. Rejecting one rejects the row from it on: its messages follow
    from each other.
    """
    known = balances.of_message(context.tx, message_id)
    if known is None:
        return 0
    entry, chain = known.entry, known.chain
    line = Line(context, chain, actor=actor)
    line.decided = message_id
    row = None if entry.row is None else balances.row_of(context.tx, entry.row)
    if genuine and row is not None:
        line.accept_row(row, entry)
    elif genuine and entry.standing is Standing.ACCEPTED:
        line.accept(replace(entry, doubts=()), entry.why)
        if not entry.doubts:
            place = -1 if entry.position is None else entry.position
            line.confirm(place)
            line.state = replace(line.state, provisional=None, proved_at=context.now)
            line.pay_waiting(place)
    elif genuine:
        _accept_doubtful(line, entry)
    elif row is not None:
        entries = balances.of_row(context.tx, row)
        at = entries.index(entry)
        if at:
            line.cut(row, entries[at - 1])
        else:
            line.drop_row(row)
        for one in entries[at:]:
            _reject(line, one)
    elif entry.standing is not Standing.ACCEPTED:
        _reject(line, entry)
    line.save()
    return line.settled


def _accept_doubtful(line: Line, entry: ChainEntry) -> None:
    """Accept a doubtful message that a person approved; its centre becomes home if its balance joins."""
    was_foreign = entry.why is Why.FOREIGN
    joins = line.state.balance is None or entry.before == line.state.balance
    if entry.before is not None and (joins or entry.time > max(line.state.sent_at, line.state.proved_at)):
        if not joins:
            line.state = line_trust.taken_over(line.state, line.context.now, proved=True)
        line.append(entry, Why.PERSON)
        line.absorb()
    else:
        line.accept_aside(entry, Why.PERSON)
    if was_foreign and entry.smsc is not None:
        learn_smsc(line.context, line.chain, entry, SmscSource.APPROVED)
        judge_again_through(line, entry.smsc)


def _reject(line: Line, entry: ChainEntry) -> None:
    """Refute a message that an operator rejected, close its review, and tell if its money was paid."""
    context = line.context
    refuted = replace(entry, standing=Standing.DOUBTFUL, why=Why.PERSON, row=None, position=None)
    paid = entry.pays and messages.payment_of(context.tx, entry.key) is not None
    if paid and entry.counts in {Counts.LIMIT, Counts.BOUND}:
        refuted = replace(refuted, counts=Counts.SPENT)
    balances.change(context.tx, refuted)
    if paid:
        _notify(context, Notice.RECEIPT_SUSPECT, refuted)
        return
    row = messages.get(context.tx, entry.key)
    if row is not None and row.state is MessageState.HELD:
        messages.mark_rejected(context.tx, entry.key)
        line.settled += 1
    review = reviews.open_for_message(context.tx, entry.key)
    if review is not None:
        release_waiting(context, review, actor=line.actor)
        reviews.close(context.tx, review.id, "rejected", by=line.actor, now=context.now)


def accept_reversal(context: Context, row: Message) -> Payment | None:
    """Accept a held reversal on an operator's decision; return the payment that it takes back.

    Raises:
        Refusal: NO_MATCHING_TRANSACTION: it came back from a hub without its text.
    """
    reading = read_again(context, row)
    if not isinstance(reading, readings.Reversal):
        raise without_text()
    payment = reverse(context, StoredMessage.before(row), reading)
    messages.record_release(context.tx, row.id, MessageState.NOT_PAYMENT, [], None)
    return payment


def read_again(context: Context, row: Message) -> readings.Reading:
    """Read a stored message of a trusted sender by the rules that applied when it came in."""
    own = context.env.own_wordings.wordings
    reading = read(row.sender, row.body or "", network=context.sim.network, own=own)
    reading = confirmed_wordings.confirmed_reading(context, row.sender, reading)
    if not isinstance(reading, readings.Unreadable):
        return reading
    shown = json.loads(row.fields)
    return next((one for one in reading.perhaps if readings.fields(one) == shown), reading)


def release_waiting(context: Context, review: Review, *, actor: str) -> None:
    """Release the transaction that waits for a message without a payment, unless another such message keeps it waiting."""
    transaction = None
    if review.transaction_id is not None:
        transaction = transactions.get(context.tx, review.transaction_id)
    if (
        transaction is None
        or transaction.status is not TransactionStatus.MANUAL_REVIEW
        or transaction.held_payment_id is not None
    ):
        return
    others = reviews.open_for_transaction(context.tx, transaction.id)
    if not any(other.id != review.id and _holds(context, other) for other in others):
        settle.release(context.tx, transaction, review.message_id, None, actor=actor, now=context.now)


def _holds(context: Context, review: Review) -> bool:
    """Return whether a review is about a receipt that is held for its balance."""
    known = balances.of_message(context.tx, review.message_id)
    return known is not None and known.entry.pays and known.entry.standing is not Standing.DOUBTFUL
