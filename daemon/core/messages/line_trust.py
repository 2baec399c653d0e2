"""The rules of trust for one line: which balance is believed, which receipt pays, and what a proof decides. Pure.

Each line has one believed balance. A message whose balance before is the believed balance *joins*: it is believed, and its
own balance is the believed one now. Any other is a candidate in a *row* beside the chain. A row becomes part of the chain
when a late message leads to it, when everything else is silent, or when the owner says what the wallet shows.

The believed balance is *firm* or *provisional*. What is paid through rows and provisional balances counts to a daily limit
and to a bound between two proofs (docs/shop/concepts.md). The callers store everything; this module decides.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US
from daemon.core.messages.balance_chain import ChainEntry, Counts

REORDERED_US: Final = MINUTE_US
"""Messages this close in SMSC time may have been booked in another order."""
HELD_US_MAX: Final = 30 * MINUTE_US
"""An operator is notified of a receipt that waits for longer."""
SWEPT_MINOR: Final = 1_00
"""A wallet with one cedi or less was emptied, and everybody knows what it holds."""
LIMIT_LEAST_MINOR: Final = 200_00
LIMIT_RECEIPTS: Final = 12
"""The least `unconfirmed_limit = "auto"`: an amount, and so many receipts as they usually are."""
PHONE_LIMIT_LEAST_MINOR: Final = 1_000_00
"""The least `phone_limit = "auto"`."""
OPENING_MAX: Final = 5
CANDIDATES_MAX: Final = 20
"""More messages that open a row, or more that do not join, within a day and since the last proof are a flood."""
STRIKE_US: Final = 7 * DAY_US
STRIKE_WITHOUT_SMSC_US: Final = 30 * DAY_US
"""After contradicted money nothing that does not join pays for this long."""
WINNING_MESSAGES: Final = 3
WINNING_RECEIPTS: Final = 8
"""A row wins by silence with so many messages, in the time in which the line usually gets so many receipts."""
FIRM_AFTER_US: Final = 20 * HOUR_US
"""And after a usual day's receipts: with half a day a row would be firm by the evening of a closed day that nobody expected."""
FIRM_MESSAGES: Final = 3
LAPSED_AFTER_US: Final = 2 * HOUR_US
"""A row that the chain has passed, and that did not grow for this long, is no longer a rival."""
PROOF_MINUTES_US: Final = 15 * MINUTE_US
"""The number that the owner types may be any balance of the last minutes."""
ASK_AT_PERCENT: Final = 40
"""When so much of the bound is used, momo asks what the wallet shows."""
ASK_PHONE_LEFT_PERCENT: Final = 20
"""It asks too when only so much of the daily limit of a source without service centres is left."""


class BalanceCheck(StrEnum):
    """The setting `[trust] balance_check`."""

    REVIEW = "review"
    WARN = "warn"
    OFF = "off"


class Provisional(StrEnum):
    """Why a believed balance is not firm."""

    FIRST = "first"
    """The line has had no proof yet."""
    SWEPT = "swept"
    """The wallet was emptied."""
    SILENCE = "silence"
    """Only silence speaks for it."""


class LineState(Struct, frozen=True):
    """The trust of one line. Times are microseconds, amounts minor units.

    Attributes:
        balance: The believed balance; None before the first message.
        sent_at: The latest network time of a message that moved it.
        moved_at: When it moved last.
        position: The place of its message in the chain.
        base: The first place of the chain since another row became it.
        provisional: Why it is not firm; None if it is.
        since: Since when it is not firm.
        joined: How many messages have joined since then.
        swept_at: When it was a cedi or less for the last time; 0 if never.
        gap_left: A balance before it that no message leads from to it; None if the last message did.
        gap_left_at: The time of that balance.
        split_at: The place of its last receipt, if the payment code and the balance of that stood in different parts.
        proved_at: The last proof; 0 if never.
        strike_until: Nothing that does not join pays until then.
        candidate_at: When the last candidate came; 0 if never.
        flood_told_at: When the last notice about a flood was given; 0 once what waited in it has its reviews.
        asked_at: When a notice asked last what the wallet shows, because much of the bound was used; 0 if never.
        live_rows: Rows that are rivals.
        usual_day: The day for which the usual takings were added up.
        usual_minor: Usual takings of a day.
        usual_receipts: Usual number of receipts of a day.
    """

    balance: int | None = None
    sent_at: int = 0
    moved_at: int = 0
    position: int = -1
    base: int = 0
    provisional: Provisional | None = Provisional.FIRST
    since: int = 0
    joined: int = 0
    swept_at: int = 0
    gap_left: int | None = None
    gap_left_at: int | None = None
    split_at: int | None = None
    proved_at: int = 0
    strike_until: int = 0
    candidate_at: int = 0
    flood_told_at: int = 0
    asked_at: int = 0
    live_rows: int = 0
    usual_day: int = 0
    usual_minor: int = 0
    usual_receipts: int = 0


class Row(Struct, frozen=True):
    """A row of messages that join each other beside the chain.

    Attributes:
        number: Its number.
        before: The balance before its first message.
        after: The balance after its last message.
        began_at: The network time of its first message.
        grew_at: When its last message came.
        messages: How many it has.
        lapsed: It is no rival any more; only a proof or a person can still choose it.
    """

    number: int
    before: int
    after: int
    began_at: int
    grew_at: int
    messages: int
    lapsed: bool = False


class Limits(Struct, frozen=True):
    """The amounts of a line that may be paid unconfirmed, in minor units.

    Attributes:
        day: In a day.
        bound: Between two proofs.
        phone: In a day, of what joins, by a source without service centres.
    """

    day: int
    bound: int
    phone: int

    @classmethod
    def of(cls, state: LineState, unconfirmed: str | int, phone: str | int) -> "Limits":
        """Return the limits by the settings, in cedis or `auto`, and by the usual takings of the line."""
        usual, receipts = state.usual_minor, state.usual_receipts
        some = LIMIT_RECEIPTS * usual // receipts if receipts else 0
        day = max(usual // 2, some, LIMIT_LEAST_MINOR)
        if unconfirmed != "auto":
            day = int(unconfirmed) * 100
        a_day = max(2 * usual, PHONE_LIMIT_LEAST_MINOR) if phone == "auto" else int(phone) * 100
        # A limit of 0 says that nothing is paid before it is confirmed: not what joins a provisional balance either.
        return cls(day, max(usual * 3 // 2, day, LIMIT_LEAST_MINOR) if day else 0, a_day)


class Used(Struct, frozen=True):
    """What was paid unconfirmed: of the limit of today, of the bound, and today by a source without service centres."""

    day: int = 0
    bound: int = 0
    phone: int = 0


class Circumstances(Struct, frozen=True):
    """What decides about a payment besides the message.

    Attributes:
        has_centres: Its source tells the service centre of a message.
        flood: The line is in a flood.
        breaks_pay: The setting allows a message that does not join to pay.
        now: The time.
    """

    has_centres: bool
    flood: bool
    breaks_pay: bool
    now: int


def counts_as(state: LineState, *, joins: bool, split: bool, around: Circumstances) -> Counts | None:
    """Return how the payment of a receipt would count; None if it may not pay now.

    Args:
        state: The line before the message.
        joins: The message joins the believed balance.
        split: Its payment code and its balance stand in different parts, or its payer typed words of a receipt.
        around: The circumstances.
    """
    striking = around.now < state.strike_until
    if not joins:
        if striking or not around.breaks_pay or (around.flood and not around.has_centres):
            return None
        return Counts.LIMIT
    if split or (around.has_centres and around.flood):
        return Counts.LIMIT
    by_silence = Counts.BOUND
    by_sweep = Counts.BOUND if around.has_centres and not striking else Counts.LIMIT
    firm = Counts.FREE if around.has_centres else Counts.PHONE
    return {Provisional.FIRST: Counts.LIMIT, Provisional.SWEPT: by_sweep, Provisional.SILENCE: by_silence, None: firm}[
        _provisional_after(state)
    ]


def _provisional_after(state: LineState) -> Provisional | None:
    """Return whether the balance is provisional for what joins it now."""
    swept = state.balance is not None and state.balance <= SWEPT_MINOR
    return Provisional.SWEPT if swept and state.provisional is None else state.provisional


def has_room(counts: Counts, amount: int, used: Used, limits: Limits) -> bool:
    """Return whether a payment that counts so stays within the limits."""
    match counts:
        case Counts.FREE:
            return True
        case Counts.PHONE:
            return used.phone + amount <= limits.phone
        case Counts.BOUND:
            return used.bound + amount <= limits.bound
        case _:
            return used.day + amount <= limits.day and used.bound + amount <= limits.bound


def is_flood(candidates: Iterable[tuple[int, bool]], state: LineState, now: int) -> bool:
    """Return whether a line is in a flood.

    Args:
        candidates: When each message beside the chain came, and whether it opened a row; the newest 21 are enough.
        state: The line.
        now: The time.
    """
    since = max(now - DAY_US, state.proved_at)
    recent = [opens for at, opens in candidates if at > since]
    return sum(recent) > OPENING_MAX or len(recent) > CANDIDATES_MAX


def moved(state: LineState, entry: ChainEntry, now: int) -> LineState:
    """Return the line after a message that joins it, or that begins it."""
    assert entry.after is not None, "what joins names a balance"
    provisional = _provisional_after(state)
    if state.balance is None:
        state = replace(state, since=now)
    elif state.balance <= SWEPT_MINOR:
        state = replace(state, swept_at=now)
        if state.provisional is None:
            state = replace(state, provisional=provisional, since=now, joined=0)
    return replace(
        state,
        balance=entry.after,
        sent_at=max(state.sent_at, entry.time),
        moved_at=now,
        position=state.position + 1,
        joined=state.joined + 1,
        gap_left=None,
        gap_left_at=None,
    )


def placed(state: LineState, entry: ChainEntry) -> ChainEntry:
    """Return the entry of a message that continues the chain, with its place and the gap before it."""
    before, left, left_at = entry.before, state.gap_left, state.gap_left_at
    assert before is not None, "what continues the chain names a balance"
    if left is None and state.balance is not None and before != state.balance:
        left, left_at = state.balance, state.sent_at
    first = state.balance is None
    return replace(
        entry,
        row=None,
        position=state.position + 1,
        gap_minor=None if first else 0 if left is None else before - left,
        gap_left=left if left != before else None,
        gap_left_at=left_at if left != before else None,
    )


def is_firm_again(state: LineState, usual: Callable[[int, int], float], joined_receipts: int, now: int) -> bool:
    """Return whether time has made a provisional balance firm: it was joined, and no row is a rival.

    Args:
        state: The line.
        usual: The number of receipts that it usually gets between two times.
        joined_receipts: Receipts of the chain since the balance is provisional.
        now: The time.
    """
    if state.provisional is None or state.live_rows or state.joined < FIRM_MESSAGES:
        return False
    if state.swept_at and usual(state.swept_at, now) < WINNING_RECEIPTS:
        return False
    if state.provisional is Provisional.SWEPT:
        return usual(state.since, now) >= WINNING_RECEIPTS
    if now - state.since < FIRM_AFTER_US:
        return False
    if state.provisional is Provisional.FIRST:
        # A new line has no usual day to compare with.
        return joined_receipts >= WINNING_RECEIPTS
    return usual(state.since, now) >= max(state.usual_receipts, 1)


def is_passed(state: LineState, row: Row, now: int) -> bool:
    """Return whether the chain went on past a row, and the row did not grow for long."""
    return (
        state.sent_at > row.began_at + REORDERED_US
        and state.moved_at > row.grew_at
        and now - row.grew_at > LAPSED_AFTER_US
    )


def silent_since(state: LineState, rows: Sequence[Row]) -> tuple[Row, int] | None:
    """Return the row that grew last, and when everything else became silent; None if the chain grew after it.

    Args:
        state: The line.
        rows: The two rows that grew last are enough.
    """
    if not rows:
        return None
    newest, *others = sorted(rows, key=lambda row: row.grew_at, reverse=True)
    others_at = max((row.grew_at for row in others), default=0)
    silent = max(state.moved_at, others_at)
    return None if silent >= newest.grew_at else (newest, silent)


def wins(row: Row, since: int, later_messages: int, usual: Callable[[int, int], float], now: int) -> bool:
    """Return whether a row wins by silence.

    Args:
        row: The row that grew last.
        since: When everything else became silent.
        later_messages: Messages of the row since then.
        usual: The number of receipts that the line usually gets between two times.
        now: The time.
    """
    if later_messages < WINNING_MESSAGES:
        return False
    return usual(max(row.began_at, since), now) >= WINNING_RECEIPTS


def taken_over(state: LineState, now: int, *, proved: bool) -> LineState:
    """Return the line when a row is about to become its chain: the gap before it is measured when its messages are placed."""
    return replace(
        state,
        provisional=None if proved else Provisional.SILENCE,
        since=now,
        joined=0,
        base=state.position + 1,
        proved_at=now if proved else state.proved_at,
    )


def is_contradicted(at: int, gaps: Iterable[ChainEntry]) -> bool:
    """Return whether the chain runs without a gap over a time, so that a message beside it then cannot be genuine.

    Args:
        at: The network time of the message.
        gaps: The messages of the chain after a gap.
    """
    return not any(is_in_gap(at, right) for right in gaps)


def is_in_gap(at: int, right: ChainEntry) -> bool:
    """Return whether a time lies in the gap before a message of the chain, 60 s more on each side."""
    left_at = right.time if right.gap_left_at is None else right.gap_left_at
    return left_at - REORDERED_US <= at <= right.time + REORDERED_US


def fitting_gap(entry: ChainEntry, gaps: Iterable[ChainEntry]) -> ChainEntry | None:
    """Return the message of the chain before which a late message fits the gap from either side; None without one."""
    return next(
        (
            right
            for right in gaps
            if entry.time <= right.time + REORDERED_US
            and (entry.before == right.gap_left or entry.after == right.before)
        ),
        None,
    )


def fill(right: ChainEntry, entry: ChainEntry) -> tuple[ChainEntry, ChainEntry]:
    """Return the message after a gap, and the late message that fills the gap in whole or in part."""
    assert right.gap_left is not None, "it has a gap"
    assert right.before is not None, "it has a balance"
    assert entry.before is not None, "it has a balance"
    assert entry.after is not None, "it has a balance"
    rest = right.before - entry.after
    lead = entry.before - right.gap_left
    if entry.before == right.gap_left:
        left = entry.after if rest else None
        later = replace(right, gap_minor=rest, gap_left=left, gap_left_at=entry.time if rest else None)
        return later, replace(entry, position=None, row=None, gap_minor=0)
    earlier = replace(entry, position=None, row=None, gap_minor=lead, gap_left=right.gap_left, gap_left_at=right.gap_left_at)  # fmt: skip
    return replace(right, gap_minor=0, gap_left=None, gap_left_at=None), earlier


def path(balance: int, shown: int, loose: Sequence[ChainEntry], steps_max: int = 3_000) -> list[ChainEntry]:
    """Return messages beside the chain that lead from the believed balance to what the wallet shows; none if there is no way.

    Args:
        balance: The believed balance.
        shown: What the wallet shows.
        loose: The messages beside the chain, the doubtful ones among them.
        steps_max: The search ends after so many steps.
    """
    following: dict[int, list[ChainEntry]] = {}
    for entry in sorted(loose, key=lambda one: (one.time, one.seq), reverse=True):
        if entry.before is not None:
            following.setdefault(entry.before, []).append(entry)
    # A stack instead of a recursion: each element is a way and the balance that it leads to.
    stack: list[tuple[int, tuple[ChainEntry, ...]]] = [(balance, ())]
    for _ in range(steps_max):
        if not stack:
            break
        at, way = stack.pop()
        if way and at == shown:
            return list(way)
        latest = way[-1].time - 75 * MINUTE_US if way else 0
        used = {one.key for one in way}
        stack.extend(
            (entry.after, (*way, entry))
            for entry in following.get(at, ())
            if entry.key not in used and entry.time >= latest and entry.after is not None
        )
    return []
