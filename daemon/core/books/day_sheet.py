"""The day sheet: the money received by each wallet, by outcome, compared with the wallet's own balances.

A column is a wallet: a SIM and a provider. `wallet says` is the amount that must have come in by the balances in its
messages: the last balance minus the one before the day, plus money that left and minus other income, by the messages
about these. It uses no payments, so a payment without money in the wallet, or money without a payment, is a difference.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Struct

from daemon.core.json_values import Json, timestamp
from daemon.core.names import network_name, network_of
from daemon.core.shape import Amount, Count, Currency, Flag, sample
from daemon.wire import SettlementKind
from parsers.money import render
from parsers.times import from_us, to_us


class MoneyKind(StrEnum):
    """The outcome of money received."""

    PAID = "paid"
    SHORT = "short"
    OVER = "over"
    UNMATCHED = "unmatched"
    REST = "rest"
    """It settles a transaction that was short, so it is no sale of its own."""
    REVERSED = "reversed"
    DOUBTED = "doubted"


COUNTED: Final = (
    MoneyKind.PAID, MoneyKind.SHORT, MoneyKind.OVER, MoneyKind.UNMATCHED, MoneyKind.REST, MoneyKind.REVERSED,
)  # fmt: skip
"""Kinds that are money in the wallet; a receipt that its balance disproves is not."""
DAYS_MAX: Final = 400
"""Longest period of one sheet."""


class WalletSums(Struct, frozen=True):
    """The payments of one wallet, currency and kind, added up.

    `apart_minor` is the expected minus the received amount; `late` is how many came after their transaction had
    expired.
    """

    sim_key: str
    provider: str
    currency: str
    kind: MoneyKind
    count: int
    amount_minor: int
    fee_minor: int
    apart_minor: int
    late: int


class SettledSum(Struct, frozen=True):
    """How often, and over which sum, transactions were settled in one way; `in_cash`: the rest came without a payment."""

    kind: Annotated[SettlementKind, sample(SettlementKind.WAIVED)]
    in_cash: Flag
    currency: Currency
    count: Count
    amount: Amount


def settled_sums(rows: Iterable[tuple[str, str]]) -> list[SettledSum]:
    """Add up the settlements of a period: the stored JSON of each, and its currency."""
    found: dict[tuple[str, bool, str], list[int]] = {}
    for text, currency in rows:
        facts = json.loads(text)
        in_cash = facts["kind"] == SettlementKind.REST_RECEIVED and "holder" not in facts
        found.setdefault((facts["kind"], in_cash, currency), []).append(facts["amount_minor"])
    return [
        SettledSum(SettlementKind(kind), cash, currency, len(each), render(sum(each), currency))
        for (kind, cash, currency), each in sorted(found.items())
    ]


class Wallet(Struct, frozen=True):
    """The balances of one wallet over the period, from its messages; minor units.

    Attributes:
        opening: Before the first message of the period.
        closing: After the last one.
        out: Money that left, by the messages about it.
        other_in: Income that is no payment, such as interest.
        came_in: Income without a message.
        went_out: Money that left without a message.
        fees: Deducted from payments received.
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
        """The amount that must have come in as payments."""
        return self.closing - self.opening + self.out - self.other_in + self.fees


class WalletNumber(Struct, frozen=True):
    """The number on a wallet in its display form; None where it has none."""

    payment_method_id: str
    phone_number: str
    account_name: str


class Span(Struct, frozen=True):
    """A part of a period with a constant offset from UTC; microseconds."""

    since: int
    until: int
    offset: int


def day(text: date, zone: tzinfo) -> tuple[int, int]:
    """Return the start of a local day and of the next one; the day may have 23 or 25 hours."""
    after = text + timedelta(days=1)
    first, last = (datetime(when.year, when.month, when.day, tzinfo=zone) for when in (text, after))
    return to_us(first), to_us(last)


def midnight(now: int, zone: tzinfo) -> int:
    """Return the start of the local day that a time is in."""
    return day(from_us(now).astimezone(zone).date(), zone)[0]


def spans(since: int, until: int, zone: tzinfo) -> list[Span]:
    """Split a period where the zone's clocks change, so that hours and days can be counted by adding an offset."""
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
    """Return the time at which the offset changes between two times of a day, to the microsecond; `end` if it does not."""
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


def sheets(
    sums: Sequence[WalletSums], wallets: Iterable[Wallet], lines: Mapping[tuple[str, str], WalletNumber]
) -> list[Json]:
    """Return one sheet for each currency: a column for each wallet, and their total.

    `lines` has the number on each wallet, by (SIM key, provider).
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
        found.append({"currency": currency, "lines": columns, "all": _column(mine, wallet, currency)})
    return found


def _column(sums: Sequence[WalletSums], wallet: Wallet | None, currency: str) -> Json:
    by_kind = {kind: [entry for entry in sums if entry.kind is kind] for kind in MoneyKind}
    shape: Json = {}
    for kind, entries in by_kind.items():
        shape[kind] = _total(entries, currency)
    apart = {kind: abs(sum(e.apart_minor for e in by_kind[kind])) for kind in MoneyKind}
    shape[MoneyKind.SHORT]["owed"] = render(apart[MoneyKind.SHORT], currency)
    shape[MoneyKind.OVER]["to_give_back"] = render(apart[MoneyKind.OVER], currency)
    counted = [entry for entry in sums if entry.kind in COUNTED]
    shape["late"] = sum(entry.late for entry in counted)
    shape["money_in"] = _total(counted, currency)
    shape["fees"] = render(sum(entry.fee_minor for entry in counted), currency)
    shape["wallet"] = None
    if wallet is not None:
        came = sum(entry.amount_minor for entry in counted)
        shape["wallet"] = {
            "says": render(wallet.says, currency), "difference": render(came - wallet.says, currency),
            "agrees": came == wallet.says, "opening": render(wallet.opening, currency),
            "closing": render(wallet.closing, currency), "out": render(wallet.out, currency),
            "other_in": render(wallet.other_in, currency), "untold_in": render(wallet.came_in, currency),
            "untold_out": render(wallet.went_out, currency),
        }  # fmt: skip
    return shape


def _total(entries: Sequence[WalletSums], currency: str) -> Json:
    return {
        "count": sum(entry.count for entry in entries),
        "amount": render(sum(entry.amount_minor for entry in entries), currency),
    }


def _together(wallets: Sequence[Wallet | None]) -> Wallet | None:
    """Add wallets up; return None if one of them names no balance, because the total is unknown then."""
    known_wallets = [wallet for wallet in wallets if wallet is not None]
    if len(known_wallets) < len(wallets) or not known_wallets:
        return None
    amounts = Wallet.__struct_fields__[2:]
    return Wallet("", "", *(sum(getattr(one, name) for one in known_wallets) for name in amounts))


class Bucket(Struct, frozen=True):
    """The money received within one hour or day."""

    at: int
    currency: str
    count: int
    amount_minor: int


WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
BY_TIME: Final[Mapping[str, Callable[[datetime], str]]] = {
    "hour": lambda at: f"{at:%Y-%m-%d %H}:00",
    "day": lambda at: f"{at:%Y-%m-%d}",
    "week": lambda at: f"{at - timedelta(days=at.weekday()):%Y-%m-%d}",
    "month": lambda at: f"{at:%Y-%m}",
    "weekday": lambda at: WEEKDAYS[at.weekday()],
    "hour_of_day": lambda at: f"{at:%H}:00",
}
"""The times that money is added up by, and the name of each in local time; a week has the name of its Monday."""
HOURLY: Final = ("hour", "hour_of_day")
BY: Final = (*BY_TIME, "network", "maker", "payer")
"""Everything that the money of a period is added up by; the maker is who made the order."""


def buckets(rows: Iterable[Bucket], by: str, zone: tzinfo) -> list[Json]:
    """Return the rows by a time of `BY_TIME`, oldest first, of a recurring one from the first; rows of one name are joined."""
    found: dict[tuple[str, str], Bucket] = {}
    for row in rows:
        name = BY_TIME[by](from_us(row.at).astimezone(zone))
        before = found.get((name, row.currency))
        if before is not None:
            row = Bucket(  # noqa: PLW2901 -- joined with the row before
                before.at, row.currency, row.count + before.count, row.amount_minor + before.amount_minor
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
        for (name, currency), row in sorted(found.items(), key=lambda one: _place(one[0][0]))
    ]


def _place(name: str) -> str | int:
    return WEEKDAYS.index(name) if name in WEEKDAYS else name
