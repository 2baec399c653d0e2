"""Judge a message from a network's own sender by its network ID, its balance and its SMSC.

The steps, in this order:

1. A transaction ID that is already known makes the message a duplicate or a conflict.
2. `core.messages.trust` says whether its SMSC is home and finds the doubts about it, and
   `core.messages.balance` gives it its place in the balance chain of its line.
3. Every entry that changed is stored. A message that is in the chain now pays; one in an open row pays within the
   line's `unconfirmed_limit` of the day; any other is held with a review.

Test messages skip all of this.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.messages.balance import BalanceCheck, LineMessages
from daemon.core.messages.balance_chain import ChainEntry, Standing, Why, effects_of, is_in_chain
from daemon.core.messages.line_history import USUAL_DAYS
from daemon.core.messages.trust import (
    Doubt,
    IdReuse,
    SmscSource,
    TransactionClaim,
    TrustFacts,
    classify_id_reuse,
    doubts_about,
    fee_doubt,
    is_home,
)
from daemon.core.model import Message, Payment, Review
from daemon.steps import confirmed_wordings, settle
from daemon.steps.context import Context, MessageOutcome, StoredMessage, microseconds
from daemon.steps.pay import (
    is_imported,
    is_proved,
    open_message_review,
    pay,
    reverse,
    reversed_payment,
    transaction_for,
)
from daemon.store.journal import Notice, add_notice
from daemon.store.messages import balances, messages
from daemon.store.messages.balances import Chain, ChainContext
from daemon.store.payments import payments, reviews, transactions
from daemon.wire import MessageState, Mode, ReviewReason, TransactionStatus, TrustLevel
from parsers import reading as readings
from parsers.money import read_money, render
from parsers.read import PROVIDERS, read
from parsers.reading import normalize_telco_id

UNVERIFIED: Final = "wording_unverified"
"""No genuine message has confirmed this wording yet. The message is shown and never pays without an operator."""
PERHAPS_OWN: Final = "perhaps_own"
"""Its payer's name is that of an account from which the owner may have fetched money of their own."""
REVERSAL_AMOUNT: Final = "reversal_amount"
"""A reversal that names another amount than its payment."""
REVERSAL_WITHOUT_BALANCE: Final = "reversal_without_balance"
UNCONFIRMED_LEAST_MINOR: Final = 200_00
"""The least `[trust] unconfirmed_limit = "auto"`."""
FLOOD: Final = 20
"""From this many doubtful messages in an hour on, further ones share one review."""
_SAME_ID_MAX: Final = 5
"""Earlier messages with one ID that are compared: a flood may repeat one."""

Claimed = readings.Payment | readings.Reversal


class Arrival(Struct, frozen=True):
    """The message that comes in now."""

    message: StoredMessage
    outcome: MessageOutcome
    reading: readings.Reading


def judge_message(
    context: Context, arrived: StoredMessage, outcome: MessageOutcome, reading: readings.Reading
) -> None:
    """Judge a message from the network's own sender, act on the changes, and fill in `outcome`."""
    if context.mode is not Mode.LIVE or not is_in_chain(reading):
        _accept_test_message(context, arrived, outcome, reading)
        return
    full = context.source.level is TrustLevel.FULL
    # Only a modem reports the SMSC. The value of any other source is ignored.
    home = full and is_home(arrived.smsc, context.homes)
    known = balances.known(context.tx, arrived.chain, context.mode, own_id(reading))
    reused = handle_known_id(context, arrived, outcome, reading, known, home=home)
    if reused is None:
        return
    tail = known.tail
    further = [
        *reused,
        *_fee_doubts(reading, foreign=full and not home),
        *_reversal_doubts(context, arrived, reading),
    ]
    new = _entry(arrived, reading, tail, home=home, further=further)
    line = LineMessages(tail)
    if not full or not line.is_plain(new):
        line = LineMessages(balances.state(context.tx, arrived.chain, new.time, foreign=not full))
    if _is_test_payment(context, new, reading):
        if full:
            learn_smsc(context, arrived.chain, new, SmscSource.TEST_PAYMENT)
        line.begin(replace(new, home=full))
    elif not full:
        line.take_without_route(new)
    else:
        begins = (
            line.end is not None
            or not context.expects_test_payment
            or not balances.expected_test_payment(context.tx, context.sim.sim_key, context.now)
        )
        line.take(new, claims=isinstance(reading, Claimed), begins=begins)
    apply_line(context, arrived.chain, line, Arrival(arrived, outcome, reading))


def _entry(
    arrived: StoredMessage,
    reading: readings.Reading,
    tail: Sequence[ChainEntry],
    *,
    home: bool,
    further: Sequence[str],
) -> ChainEntry:
    """Return the chain entry of a new message; an unreadable one has only its route. `further` are doubts found before."""
    readable = None if isinstance(reading, readings.Unreadable) else reading
    assert arrived.provider is not None, "a trusted message is of a network that we know"
    facts = TrustFacts(
        provider=arrived.provider,
        telco_id=own_id(reading),
        sent_at=arrived.sent_at,
        printed_at=None if readable is None else microseconds(readable.printed_at),
        reference=None if readable is None else readable.reference,
        payer_name=None if readable is None else readable.payer_name,
    )
    doubts: list[str] = [*doubts_about(facts, tail), *further]
    if isinstance(reading, Claimed):
        doubts += wording_doubts(reading)
    balance = None if readable is None else readable.balance
    return balances.new_entry(
        arrived.id,
        at=arrived.at,
        stored_at=arrived.stored_at,
        telco_id=facts.telco_id,
        pays=isinstance(reading, readings.Payment),
        effects=effects_of(reading),
        after=None if balance is None else balance.minor,
        smsc=arrived.smsc,
        home=home,
        doubts=tuple(doubts),
    )


def _fee_doubts(reading: readings.Reading, *, foreign: bool) -> list[Doubt]:
    if not isinstance(reading, readings.Payment) or reading.fee is None:
        return []
    found = fee_doubt(reading.amount.minor, reading.fee.minor, foreign=foreign)
    return [] if found is None else [found]


def wording_doubts(reading: Claimed) -> list[str]:
    """Return the doubts that the wording and the payer's name of a message give."""
    own = isinstance(reading, readings.Payment) and reading.perhaps_own
    return [*([UNVERIFIED] if reading.unverified else []), *([PERHAPS_OWN] if own else [])]


def _reversal_doubts(
    context: Context, arrived: StoredMessage, reading: readings.Reading
) -> Iterator[str]:
    """Yield what a reversal lacks to take its payment back without a person."""
    if not isinstance(reading, readings.Reversal):
        return
    if reading.balance is None:
        yield REVERSAL_WITHOUT_BALANCE
    payment = reversed_payment(context, arrived, reading)
    if payment is not None and (
        reading.amount is None
        or (reading.amount.minor, reading.amount.currency)
        != (payment.amount_minor, payment.currency)
    ):
        yield REVERSAL_AMOUNT


def _is_test_payment(context: Context, new: ChainEntry, reading: readings.Reading) -> bool:
    return (
        isinstance(reading, readings.Payment)
        and new.after is not None
        and not new.doubts
        and context.expects_test_payment
        and balances.take_test_payment(
            context.tx, context.sim.sim_key, reading.amount.minor, context.now
        )
    )


def _accept_test_message(
    context: Context, arrived: StoredMessage, outcome: MessageOutcome, reading: readings.Reading
) -> None:
    """Accept a message outside the chain: a test message, or one about no money. A new wording is held."""
    if not isinstance(reading, Claimed):
        return
    doubts = wording_doubts(reading) if isinstance(reading, readings.Payment) else []
    if doubts:
        _hold(outcome, doubts)
        open_message_review(context, arrived.id, ReviewReason.DOUBTFUL_MESSAGE, {"doubts": doubts})
    else:
        accept_message(context, arrived, outcome, reading)


def apply_line(
    context: Context,
    chain: Chain,
    line: LineMessages,
    arrival: Arrival | None = None,
    *,
    actor: str = "momo",
    decided: str | None = None,
) -> int:
    """Store the entries that changed, and act on each; return how many held messages but `decided` were settled."""
    settled, changes = 0, line.changes()
    for before, entry in changes:
        if before is not None and before.gives_up_place(entry):
            # An earlier message may take its place, and two in one place are refused.
            balances.clear_position(context.tx, entry.key)
    shared = None
    if any(before is not None for before, _ in changes):
        shared = reviews.open_group(context.tx, chain.sim_key)
    for before, entry in changes:
        if before is None:
            assert arrival is not None, "only the message that comes in has no entry"
            _act_on_new(context, chain, line, entry, arrival)
        else:
            done = _act_on_change(context, chain, before, entry, actor)
            settled += 0 if entry.key == decided else done
    if shared is not None and reviews.open_for_message(context.tx, shared.message_id) is None:
        # Not before all changes are stored: the next message may be settled as well.
        pass_on_flood(context, shared)
    return settled


def _act_on_new(
    context: Context, chain: Chain, line: LineMessages, entry: ChainEntry, arrival: Arrival
) -> None:
    """Store the entry of the message that comes in; let it pay, or hold it with a review."""
    claims = isinstance(arrival.reading, Claimed)
    passed = _passed(context, chain, entry, arrival.reading) if claims else None
    balances.add(context.tx, chain, passed or entry)
    _notify_gap(context, entry)
    if not isinstance(arrival.reading, Claimed):
        return
    if passed is not None:
        warns = _check(context) is BalanceCheck.WARN
        if warns and entry.standing is not Standing.ACCEPTED:
            _notify(context, Notice.BALANCE_WARNING, entry)
        accept_message(context, arrival.message, arrival.outcome, arrival.reading)
    else:
        _hold_new(context, chain, line, entry, arrival)


def _passed(
    context: Context, chain: Chain, entry: ChainEntry, reading: readings.Reading | None = None
) -> ChainEntry | None:
    """Return the entry if its message may pay or take back money now, else None.

    A receipt that is not confirmed yet may pay within the line's limit; the entry returned has the day then. The message is
    stored, or it comes in now as `reading`.
    """
    if entry.doubts:
        return None
    sure = entry.standing is Standing.ACCEPTED
    proved = sure and entry.why not in {Why.NO_BALANCE, Why.FIRST}
    # A receipt that is history is shown, without paying by itself, if it is home or its source has no SMSCs.
    shown = entry.pays and context.is_history(entry.at) and (entry.home or entry.why is Why.NO_SMSC)
    if proved or shown or _check(context) is not BalanceCheck.REVIEW:
        return entry
    if not entry.pays or not (sure or entry.standing is Standing.UNCONFIRMED):
        return entry if sure else None
    day = context.now // DAY_US
    # Not the entry's effect: a made-up fee would make that as small as its sender likes.
    if isinstance(reading, readings.Payment):
        amount: int | None = reading.amount.minor
    else:
        amount = _claim(context, entry, chain.sim_key).amount_minor
    assert amount is not None, "a receipt names its amount"
    if balances.paid_unconfirmed(context.tx, chain, day) + amount > _limit(context, chain):
        return None
    return replace(entry, unconfirmed_day=day)


def _check(context: Context) -> BalanceCheck:
    return BalanceCheck(context.env.config.trust.balance_check)


def _limit(context: Context, chain: Chain) -> int:
    """Return the line's `[trust] unconfirmed_limit`, in minor units.

    `auto` is half of the line's income on a usual day: the mean of the last 14 days, without the present one.
    """
    setting = context.env.config.trust.unconfirmed_limit
    if setting != "auto":
        return int(setting) * 100
    today = context.now // DAY_US
    taken, first_at = balances.taken_between(
        context.tx, chain, (today - USUAL_DAYS) * DAY_US, today * DAY_US
    )
    days = 1 if first_at is None else today - first_at // DAY_US
    return max(UNCONFIRMED_LEAST_MINOR, taken // days // 2)


def _hold_new(
    context: Context, chain: Chain, line: LineMessages, entry: ChainEntry, arrival: Arrival
) -> None:
    """Hold a message and open a review; the transaction that it names waits for the decision if only the balance breaks."""
    arrived, reading = arrival.message, arrival.reading
    reason = _reason(entry)
    stands_for_doubts = reason is ReviewReason.DOUBTFUL_MESSAGE
    _hold(arrival.outcome, [*([] if stands_for_doubts else [reason]), *entry.doubts])
    transaction, waits = None, False
    if isinstance(reading, readings.Payment):
        transaction, waits = transaction_for(context, arrived, reading)
    elif isinstance(reading, readings.Reversal):
        # The receivers that were told of the payment are told that its reversal waits for a person.
        payment = reversed_payment(context, arrived, reading)
        transaction = None if payment is None else transactions.paid_by(context.tx, payment.id)
    untrusted = reason is not ReviewReason.BALANCE_BREAK or bool(entry.doubts)
    if (
        transaction is not None
        and waits
        and not untrusted
        and entry.standing is not Standing.REFUTED
    ):
        # An untrusted message never changes a transaction. Only a receipt with the balance as its single doubt does.
        transactions.hold(context.tx, transaction.id, None)
    if reason is ReviewReason.FOREIGN_SMSC and line.fits(entry):
        _notify_foreign(context, chain, entry)
    details = _details(context, chain, line, entry)
    since = context.now - HOUR_US
    if _can_share(entry) and balances.doubtful_since(context.tx, chain, since) > FLOOD:
        _group(context, chain, entry, reason, details)
        return
    transaction_id = None if transaction is None else transaction.id
    joins = entry.standing is Standing.ACCEPTED and isinstance(reading, readings.Reversal)
    tell = not untrusted or joins
    open_message_review(context, arrived.id, reason, details, transaction_id, tell=tell)


def _hold(outcome: MessageOutcome, reasons: list[str]) -> None:
    outcome.state = MessageState.HELD
    outcome.trusted = False
    outcome.reasons = reasons


def _reason(entry: ChainEntry) -> ReviewReason:
    """Return the reason of the review of a held message."""
    if entry.why in {Why.FOREIGN, Why.NO_SMSC}:
        return ReviewReason.FOREIGN_SMSC
    if entry.why is Why.FIRST:
        return ReviewReason.FIRST_MESSAGE
    sound = entry.standing is Standing.ACCEPTED and entry.why is not Why.NO_BALANCE
    if entry.doubts and (sound or entry.why is Why.DOUBTED):
        return ReviewReason.DOUBTFUL_MESSAGE
    return ReviewReason.BALANCE_BREAK


def _details(
    context: Context, chain: Chain, line: LineMessages, entry: ChainEntry
) -> dict[str, Any]:
    """Return the facts of a review: why the message is held, and the amount that no message accounts for."""
    currency = PROVIDERS[chain.provider].currency
    details: dict[str, Any] = {"why": entry.why}
    end = line.end
    if end is not None and end.after is not None and entry.balances_before:
        gap = entry.balances_before[0] - end.after
        details["gaps"] = [
            {"amount": render(gap, currency), "currency": currency, "since_message_id": end.key}
        ]
    if entry.doubts:
        details["doubts"] = list(entry.doubts)
    if entry.why in {Why.FOREIGN, Why.NO_SMSC}:
        details |= {"smsc": entry.smsc, "joins": line.fits(entry)}
    if entry.standing is Standing.UNCONFIRMED:
        details["limit"] = render(_limit(context, chain), currency)
    return details


def _notify_foreign(context: Context, chain: Chain, entry: ChainEntry) -> None:
    """Give one notice about a foreign SMSC if its message joins the chain: the network may have a new one."""
    known = {one.smsc for one in balances.smscs(context.tx, chain.sim_key)}
    if entry.smsc is not None and entry.smsc not in known:
        learn_smsc(context, chain, entry, SmscSource.NOTICED)
        _notify(context, Notice.SMSC_UNKNOWN, entry)


def _can_share(entry: ChainEntry) -> bool:
    """Return whether a decision on the review of a flood reaches a message (`balances.flood`)."""
    return entry.standing is Standing.HELD and entry.why in {
        Why.FOREIGN,
        Why.NO_SMSC,
        Why.DOUBTED,
    }


def _group(
    context: Context, chain: Chain, entry: ChainEntry, reason: ReviewReason, details: dict[str, Any]
) -> None:
    """Add a message of a flood to the review that the flood shares; open it and give a notice at the first one."""
    shared = reviews.open_group(context.tx, chain.sim_key)
    if shared is None:
        open_message_review(context, entry.key, reason, {"group": 1, **details}, tell=False)
        _notify(context, Notice.FORGERY_FLOOD, entry)
        return
    reviews.add_to_group(context.tx, shared)


def decide_flood(context: Context, review: Review, *, genuine: bool) -> int:
    """Apply a decision on the review of a flood to its other messages; return how many it settled.

    A rejection rejects them all. After an approval they wait for a review of their own.
    """
    if "group" not in json.loads(review.details):
        return 0
    if genuine:
        pass_on_flood(context, review)
        return 0
    leader = balances.of_message(context.tx, review.message_id)
    if leader is None:
        return messages.reject_without_review(context.tx, review.message_id)
    return balances.refute_flood(context.tx, leader.chain, leader.entry.seq)


def pass_on_flood(context: Context, review: Review) -> None:
    """Open a review of the other messages of a flood, whose review is closed."""
    old = json.loads(review.details)
    if "group" not in old:
        return
    leader = balances.of_message(context.tx, review.message_id)
    if leader is None:
        count, first = messages.without_review(context.tx, review.message_id)
        if first is not None:
            details = {"group": count, "doubts": old["doubts"]}
            open_message_review(context, first, ReviewReason.UNKNOWN_SENDER, details)
        return
    count, first = balances.flood(context.tx, leader.chain, leader.entry.seq)
    following = None if first is None else balances.of_message(context.tx, first)
    if following is not None:
        entry = following.entry
        details = {"group": count, "why": entry.why}
        open_message_review(context, entry.key, _reason(entry), details, tell=False)


def learn_smsc(context: Context, chain: Chain, entry: ChainEntry, source: SmscSource) -> None:
    """Record the SMSC of a message, and that it is home unless it was only noticed."""
    if entry.smsc is not None:
        balances.learn_smsc(context.tx, chain.sim_key, entry.smsc, source, entry.key, context.now)
        if source is not SmscSource.NOTICED:
            context.homes.append(entry.smsc)


def _act_on_change(
    context: Context, chain: Chain, before: ChainEntry, entry: ChainEntry, actor: str
) -> int:
    """Act on the new standing of an earlier message; return 1 if it was held and is settled now."""
    if entry.standing is before.standing:
        balances.change(context.tx, entry)
        _leave_flood(context, before, entry)
        return 0
    paid = messages.payment_of(context.tx, entry.key) is not None
    if entry.standing is Standing.REFUTED:
        balances.change(context.tx, entry)
        _act_on_refuted(context, entry, actor, paid=paid)
        _leave_flood(context, before, entry)
        return 1 if entry.why is Why.PERSON and not paid else 0
    passed = None if paid else _passed(context, chain, entry)
    balances.change(context.tx, passed or entry)
    _notify_gap(context, entry)
    if passed is not None:
        return _release(context, entry, actor)
    review = None if paid else reviews.open_for_message(context.tx, entry.key)
    if review is not None and entry.standing is not Standing.HELD:
        reviews.set_reason(context.tx, review.id, _reason(entry))
    _leave_flood(context, before, entry)
    return 0


def _leave_flood(context: Context, before: ChainEntry, entry: ChainEntry) -> None:
    """Open a review of a held message that a decision on the review of its flood no longer reaches."""
    if not _can_share(before) or _can_share(entry):
        return
    row = messages.get(context.tx, entry.key)
    is_held = row is not None and row.state is MessageState.HELD
    if is_held and reviews.open_for_message(context.tx, entry.key) is None:
        details = {"why": entry.why, **({"doubts": list(entry.doubts)} if entry.doubts else {})}
        open_message_review(context, entry.key, _reason(entry), details, tell=False)


def _act_on_refuted(context: Context, entry: ChainEntry, actor: str, *, paid: bool) -> None:
    """Notify the operator that a receipt is forged; close its review if an operator decided about its row."""
    if paid:
        _notify(context, Notice.RECEIPT_SUSPECT, entry)
        return
    if entry.pays:
        _notify(context, Notice.RECEIPT_FORGED, entry)
    _release_waiting_for(context, entry.key)
    if entry.why is not Why.PERSON:
        return
    messages.mark_rejected(context.tx, entry.key)
    review = reviews.open_for_message(context.tx, entry.key)
    if review is not None:
        reviews.close(context.tx, review.id, "rejected", by=actor, now=context.now)


def judge_without_doubt(context: Context, chain: Chain, entry: ChainEntry) -> bool:
    """Store the entry of a held message that has fewer doubts now; accept the message and return True if it may pay."""
    passed = _passed(context, chain, entry)
    balances.change(context.tx, passed or entry)
    review = reviews.open_for_message(context.tx, entry.key)
    if passed is not None:
        released = _release(context, entry, "momo") == 1
        if released and review is not None:
            pass_on_flood(context, review)
        return released
    if review is not None:
        reviews.set_reason(context.tx, review.id, _reason(entry))
    return False


def _release(context: Context, entry: ChainEntry, actor: str) -> int:
    """Accept a held message; return 1 if it paid or took back money."""
    row = messages.get(context.tx, entry.key)
    assert row is not None, "an entry belongs to a message"
    reading = read_again(context, row)
    if row.state is not MessageState.HELD or not isinstance(reading, Claimed):
        return 0
    _release_waiting_for(context, entry.key)
    review = reviews.open_for_message(context.tx, entry.key)
    if review is not None:
        state = "superseded" if actor == "momo" else "approved"
        reviews.close(context.tx, review.id, state, by=actor, now=context.now)
    outcome = MessageOutcome(MessageState.NOT_PAYMENT)
    accept_message(context, StoredMessage.before(row), outcome, reading)
    messages.record_release(context.tx, row.id, outcome.state, outcome.reasons, outcome.payment_id)
    return 1


def accept_message(
    context: Context, arrived: StoredMessage, outcome: MessageOutcome, reading: Claimed
) -> None:
    """Record a payment and match it, or apply a reversal."""
    if isinstance(reading, readings.Payment):
        pay(context, arrived, outcome, reading)
    else:
        reverse(context, arrived, reading)


def handle_known_id(
    context: Context,
    arrived: StoredMessage,
    outcome: MessageOutcome,
    reading: readings.Reading,
    known: ChainContext,
    *,
    home: bool,
) -> list[str] | None:
    """Compare a message with earlier ones of its transaction ID.

    A foreign, doubted or refuted message occupies no ID: the genuine message with that ID is judged as if it were alone.
    So does one in an open row that names another balance, because a forger learns ID and amount by a real payment.

    Returns:
        None if the message is a duplicate or a conflict, and `outcome` says so. Else the doubts that its ID gives.
    """
    telco_id = own_id(reading)
    if telco_id is None or isinstance(reading, readings.Unreadable):
        return []
    pays = isinstance(reading, readings.Payment)
    payment = None
    if pays and known.has_payment:
        found = payments.with_telco_id(context.tx, context.mode, telco_id)
        payment = next((one for one in found if one.provider == arrived.provider), None)
        if payment is not None and is_imported(context.tx, payment):
            # An imported message has no chain entry, so this one gets it. `pay` handles the known ID.
            return []
    amount, currency = None, None
    if reading.amount is not None:
        amount, currency = reading.amount.minor, reading.amount.currency
    claim = TransactionClaim(pays, amount, currency, arrived.sim_key)
    entries = known.same_id[:_SAME_ID_MAX]
    after = None if reading.balance is None else reading.balance.minor
    occupying = [one for one in entries if _occupies(one, after)]
    first = _first_claim(context, occupying, claim, payment, home=home)
    if first is None:
        return []
    if classify_id_reuse(first.claim, claim) is IdReuse.CONFLICT:
        if not home:
            return [Doubt.ID_TAKEN]
        details = {"message_id": first.key}
        if payment is not None:
            details["payment_id"] = payment.id
        _hold(outcome, [ReviewReason.ID_CONFLICT])
        open_message_review(context, arrived.id, ReviewReason.ID_CONFLICT, details)
        return None
    outcome.payment_id = None if payment is None else payment.id
    if pays:
        outcome.state = MessageState.DUPLICATE
    outcome.reasons = [f"duplicate_of:{outcome.payment_id or first.key}"]
    return None


def _occupies(entry: ChainEntry, after: int | None) -> bool:
    """Return whether an earlier message may occupy its ID against a message that names this balance."""
    return entry.standing is Standing.ACCEPTED or entry.after == after


class _FirstClaim(Struct, frozen=True):
    """The claim of an earlier message, and the key of that message."""

    claim: TransactionClaim
    key: str


def _first_claim(
    context: Context,
    entries: Iterable[ChainEntry],
    claim: TransactionClaim,
    payment: Payment | None,
    *,
    home: bool,
) -> _FirstClaim | None:
    """Return the earlier claim that occupies a message's ID; None when none does."""
    found = None
    for entry in entries:
        if entry.home and entry.standing is Standing.REFUTED:
            continue
        earlier = _FirstClaim(_claim(context, entry, claim.line or ""), entry.key)
        if earlier.claim == claim and (entry.home or not home):
            return earlier
        if entry.standing in {Standing.ACCEPTED, Standing.UNCONFIRMED}:
            found = earlier
    if found is None and payment is not None and is_proved(context.tx, payment):
        # After a move of the number to another SIM or source, the number is the line.
        moved = (
            payment.payment_method_id is not None and payment.payment_method_id == context.line_id
        )
        line = claim.line if moved else payment.sim_key
        paid = TransactionClaim(True, payment.amount_minor, payment.currency, line)
        return _FirstClaim(paid, payment.message_id)
    return found


def own_id(reading: readings.Reading) -> str | None:
    """Return the ID of a message's own transaction, trimmed and in upper case; None if it names none.

    A reversal that only repeats the ID of the payment it takes back has no ID of its own.
    """
    if isinstance(reading, readings.Unreadable) or reading.telco_id is None:
        return None
    if isinstance(reading, readings.Reversal) and reading.telco_id == reading.original_telco_id:
        return None
    return normalize_telco_id(reading.telco_id)


def _claim(context: Context, first: ChainEntry, line: str) -> TransactionClaim:
    """Return the claim of the first message with an ID."""
    row = messages.get(context.tx, first.key)
    assert row is not None, "an entry belongs to a message"
    fields = json.loads(row.fields)
    amount = read_money(fields.get("amount") or "", currency=fields.get("currency"))
    if amount is None:
        return TransactionClaim(first.pays, None, None, line)
    return TransactionClaim(first.pays, amount.minor, amount.currency, line)


def _notify_gap(context: Context, entry: ChainEntry) -> None:
    """Record a notice about the amount that no message accounts for before an accepted message."""
    if entry.has_gap and entry.standing is Standing.ACCEPTED:
        _notify(context, Notice.MONEY_MISSING, entry)


def _notify(context: Context, notice: Notice, entry: ChainEntry) -> None:
    payment_id = messages.payment_of(context.tx, entry.key)
    paid = None if payment_id is None else transactions.paid_by(context.tx, payment_id)
    network = context.sim.network
    provider = next((one for one in PROVIDERS.values() if one.network == network), None)
    add_notice(
        context.tx,
        notice,
        mode=context.mode,
        now=context.now,
        message_id=entry.key,
        payment_id=payment_id,
        transaction_id=None if paid is None else paid.id,
        data={
            "gap_minor": entry.gap_minor,
            "amount_minor": entry.effects[0] if entry.effects else None,
            "currency": None if provider is None else provider.currency,
            "telco_id": entry.telco_id,
            "smsc": entry.smsc,
        },
    )


def apply_decision(context: Context, message_id: str, *, genuine: bool, actor: str) -> int:
    """Apply an operator's decision to a held message and its row, and judge the later ones again.

    Returns:
        The number of other held messages that it settled.
    """
    known = balances.of_message(context.tx, message_id)
    if known is None:
        return 0
    entry, chain = known.entry, known.chain
    is_first = entry.why is Why.FIRST
    if entry.standing is Standing.NOTED or (entry.standing is Standing.ACCEPTED and not is_first):
        if genuine:
            balances.change(context.tx, replace(entry, doubts=()))
        return 0
    if is_first and genuine:
        proved = replace(entry, doubts=(), why=Why.PERSON)
        balances.change(context.tx, proved)
        _release(context, proved, actor)
        return 0
    through = [] if genuine else _approved_through(context, chain, entry)
    also = [message_id, *(one.key for one in through)]
    if through and entry.smsc is not None:
        also += balances.tail_beside(context.tx, chain, entry.smsc)
    line = LineMessages(balances.state(context.tx, chain, entry.time, also=also, foreign=True))
    if not genuine:
        line.reject(message_id)
        if through and entry.smsc is not None:
            balances.forget_smsc(context.tx, chain.sim_key, entry.smsc)
            context.homes.remove(entry.smsc)
            line.distrust(entry.smsc)
    elif line.approve(message_id) and not entry.home:
        learn_smsc(context, chain, entry, SmscSource.APPROVED)
        line.trust(lambda smsc: is_home(smsc, context.homes))
    line.join_without_route()
    return apply_line(context, chain, line, actor=actor, decided=message_id)


def _approved_through(context: Context, chain: Chain, entry: ChainEntry) -> list[ChainEntry]:
    """Return the messages taken through an SMSC since an operator's approval made it home."""
    approved = next(
        (
            one
            for one in balances.smscs(context.tx, chain.sim_key)
            if one.smsc == entry.smsc and one.source is SmscSource.APPROVED
        ),
        None,
    )
    return [] if approved is None else balances.accepted_through(context.tx, chain, approved.smsc)


def accept_reversal(context: Context, row: Message) -> Payment | None:
    """Accept a held reversal on an operator's decision; return the payment that it takes back."""
    reading = read_again(context, row)
    assert isinstance(reading, readings.Reversal), "it was read as one when it came in"
    payment = reverse(context, StoredMessage.before(row), reading)
    messages.record_release(context.tx, row.id, MessageState.NOT_PAYMENT, [], None)
    return payment


def read_again(context: Context, row: Message) -> readings.Reading:
    """Read a stored message of a trusted sender by the rules that applied when it came in."""
    own = context.env.own_wordings.wordings
    reading = read(row.sender, row.body or "", network=context.sim.network, own=own)
    return confirmed_wordings.confirmed_reading(context, row.sender, reading)


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
        settle.release(
            context.tx, transaction, review.message_id, None, actor=actor, now=context.now
        )


def _release_waiting_for(context: Context, message_id: str) -> None:
    """Release the transaction that waits for a held message, unless another held message keeps it waiting."""
    review = reviews.open_for_message(context.tx, message_id)
    if review is not None:
        release_waiting(context, review, actor="momo")


def _holds(context: Context, review: Review) -> bool:
    """Return whether a review is about a receipt that is held for its balance."""
    known = balances.of_message(context.tx, review.message_id)
    return (
        known is not None
        and known.entry.pays
        and known.entry.standing in {Standing.HELD, Standing.UNCONFIRMED}
    )
