"""The sheet at the end of a day: what came in on each wallet, by what became of it, and what the wallet itself says.

A column is a wallet: a SIM and a provider. `wallet says` is what must have come in by the balances that its messages name:
the last one minus the one before the day, plus what left and minus what came in otherwise, by the messages about that. It
uses no payment, so money that is in the list and not in the wallet, or the other way round, shows as a difference.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Final

from daemon.core.provider_names import network_name, network_of
from daemon.core.shapes import Json, timestamp
from parsers.money import render
from parsers.when import from_us, to_us


class Kind(StrEnum):
    """What became of money that came in."""

    PAID = "paid"
    SHORT = "short"
    OVER = "over"
    UNMATCHED = "unmatched"
    REVERSED = "reversed"
    DOUBTED = "doubted"


COUNTED: Final = (Kind.PAID, Kind.SHORT, Kind.OVER, Kind.UNMATCHED, Kind.REVERSED)
"""What is money in the wallet; a receipt that its balance shows to be wrong is not."""
DAYS_MAX: Final = 400
"""Longest period of one sheet."""


@dataclass(frozen=True, slots=True)
class Sums:
    """The payments of one wallet, currency and kind, added up.

    Attributes:
        apart_minor: What was expected, minus what was received.
        late: How many came after their order had expired.
    """

    sim_key: str
    provider: str
    currency: str
    kind: Kind
    count: int
    amount_minor: int
    fee_minor: int
    apart_minor: int
    late: int


@dataclass(frozen=True, slots=True)
class Wallet:
    """What the messages of one wallet say of its balance over the period, minor units.

    Attributes:
        opening: Before the first message of the period.
        closing: After the last one.
        out: What left, by the messages that say so.
        other_in: What came in that is no payment, such as interest.
        came_in: What came in and no message tells of.
        went_out: What left and no message tells of.
        fees: Taken off payments that came in.
    """

    sim_key: str
    provider: str
    opening: int
    closing: int
    out: int
    other_in: int
    came_in: int
    went_out: int
    fees: int = 0

    @property
    def says(self) -> int:
        """How much must have come in as payments."""
        return self.closing - self.opening + self.out - self.other_in + self.fees


@dataclass(frozen=True, slots=True)
class Line:
    """The number on a wallet, as it is shown; None where it has none."""

    payment_method_id: str
    phone_number: str
    account_name: str


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a period in which local time is one offset away from UTC; microseconds."""

    since: int
    until: int
    offset: int


def day(text: date, zone: tzinfo) -> tuple[int, int]:
    """Return when a local day begins, and when the next one does; it may have 23 or 25 hours."""
    after = text + timedelta(days=1)
    first, last = (datetime(when.year, when.month, when.day, tzinfo=zone) for when in (text, after))
    return to_us(first), to_us(last)


def spans(since: int, until: int, zone: tzinfo) -> list[Span]:
    """Part a period where the zone's clocks change, so that hours and days can be counted by adding a number."""
    found: list[Span] = []
    start = since
    while start < until:
        here = from_us(start).astimezone(zone)
        end = min(until, day(here.date(), zone)[1])
        middle = _change(start, end, zone)
        offset = _offset(start, zone)
        if found and found[-1].offset == offset:
            found[-1] = Span(found[-1].since, middle, offset)
        else:
            found.append(Span(start, middle, offset))
        start = middle
    return found


def _offset(at: int, zone: tzinfo) -> int:
    gone = from_us(at).astimezone(zone).utcoffset()
    assert gone is not None
    return gone // timedelta(microseconds=1)


def _change(start: int, end: int, zone: tzinfo) -> int:
    """Return where the offset changes between two times of a day, to the microsecond; `end` when it does not."""
    first = _offset(start, zone)
    if _offset(end - 1, zone) == first:
        return end
    low, high = start, end - 1
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(middle, zone) == first:
            low = middle
        else:
            high = middle
    return high


# The shape ----------------------------------------------------------------------------------------------


def sheets(
    sums: Sequence[Sums], wallets: Iterable[Wallet], lines: Mapping[tuple[str, str], Line]
) -> list[Json]:
    """Make one sheet for each currency: a column for each wallet, and all of them together.

    Args:
        sums: What came in.
        wallets: What the balances say.
        lines: The number on a wallet, by (SIM key, provider).
    """
    known = {(wallet.sim_key, wallet.provider): wallet for wallet in wallets}
    found = []
    for currency in sorted({entry.currency for entry in sums}):
        mine = [entry for entry in sums if entry.currency == currency]
        keys = sorted({(entry.provider, entry.sim_key) for entry in mine})
        columns = []
        for provider, sim_key in keys:
            of_wallet = [e for e in mine if (e.sim_key, e.provider) == (sim_key, provider)]
            line = lines.get((sim_key, provider))
            columns.append(
                {
                    "provider": provider,
                    "network": network_of(provider),
                    "network_name": network_name(network_of(provider)),
                    "payment_method_id": None if line is None else line.payment_method_id,
                    "phone_number": None if line is None else line.phone_number,
                    "account_name": None if line is None else line.account_name,
                    **_column(of_wallet, known.get((sim_key, provider)), currency),
                }
            )
        wallet = _together([known.get((sim_key, provider)) for provider, sim_key in keys])
        found.append(
            {"currency": currency, "lines": columns, "all": _column(mine, wallet, currency)}
        )
    return found


def _column(sums: Sequence[Sums], wallet: Wallet | None, currency: str) -> Json:
    by_kind = {kind: [entry for entry in sums if entry.kind is kind] for kind in Kind}
    shape: Json = {}
    for kind, entries in by_kind.items():
        shape[kind] = _total(entries, currency)
    apart = {kind: abs(sum(e.apart_minor for e in by_kind[kind])) for kind in Kind}
    shape[Kind.SHORT]["owed"] = render(apart[Kind.SHORT], currency)
    shape[Kind.OVER]["to_give_back"] = render(apart[Kind.OVER], currency)
    counted = [entry for entry in sums if entry.kind in COUNTED]
    shape["late"] = sum(entry.late for entry in counted)
    shape["money_in"] = _total(counted, currency)
    shape["fees"] = render(sum(entry.fee_minor for entry in counted), currency)
    shape["wallet"] = None
    if wallet is not None:
        came = sum(entry.amount_minor for entry in counted)
        shape["wallet"] = {
            "says": render(wallet.says, currency),
            "difference": render(came - wallet.says, currency),
            "agrees": came == wallet.says,
            "opening": render(wallet.opening, currency),
            "closing": render(wallet.closing, currency),
            "out": render(wallet.out, currency),
            "other_in": render(wallet.other_in, currency),
            "untold_in": render(wallet.came_in, currency),
            "untold_out": render(wallet.went_out, currency),
        }
    return shape


def _total(entries: Sequence[Sums], currency: str) -> Json:
    return {
        "count": sum(entry.count for entry in entries),
        "amount": render(sum(entry.amount_minor for entry in entries), currency),
    }


def _together(wallets: Sequence[Wallet | None]) -> Wallet | None:
    """Add wallets up; None when one of them names no balance: then nobody can say."""
    told = [wallet for wallet in wallets if wallet is not None]
    if len(told) < len(wallets) or not told:
        return None
    return Wallet(
        "",
        "",
        opening=sum(wallet.opening for wallet in told),
        closing=sum(wallet.closing for wallet in told),
        out=sum(wallet.out for wallet in told),
        other_in=sum(wallet.other_in for wallet in told),
        came_in=sum(wallet.came_in for wallet in told),
        went_out=sum(wallet.went_out for wallet in told),
        fees=sum(wallet.fees for wallet in told),
    )


@dataclass(frozen=True, slots=True)
class Bucket:
    """What came in within one hour or day."""

    at: int
    currency: str
    count: int
    amount_minor: int


def buckets(rows: Iterable[Bucket], by: str, zone: tzinfo) -> list[Json]:
    """Make the rows by hour or by day, oldest first; one that a change of the clocks parted is one row."""
    found: dict[tuple[str, str], Bucket] = {}
    for row in rows:
        local = from_us(row.at).astimezone(zone)
        name = f"{local:%Y-%m-%d %H}:00" if by == "hour" else f"{local:%Y-%m-%d}"
        before = found.get((name, row.currency))
        if before is not None:
            row = Bucket(  # noqa: PLW2901 -- it takes in what was before
                before.at,
                row.currency,
                row.count + before.count,
                row.amount_minor + before.amount_minor,
            )
        found[name, row.currency] = row
    return [
        {
            by: name,
            "from": timestamp(row.at),
            "currency": currency,
            "count": row.count,
            "amount": render(row.amount_minor, currency),
        }
        for (name, currency), row in found.items()
    ]
