"""The sheet of a day or period, read from the database."""

from collections.abc import Sequence
from datetime import tzinfo

from msgspec.structs import replace

from daemon.core.books import day_sheet
from daemon.core.books.day_sheet import Bucket, MoneyKind, Wallet, WalletSums
from daemon.core.json_values import Json, timestamp
from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.model import Shop
from daemon.core.names import network_of
from daemon.store.books import day_sheet as sheet_rows
from daemon.store.books.day_sheet import Period
from daemon.store.engine import Reader
from daemon.wire import Mode
from parsers.money import render


def read_sheet(reader: Reader, period: Period, owner: Shop | None) -> Json:
    """Return the sheet of a period: one for each currency, with a column for each wallet."""
    sums = sheet_rows.sums(reader, period)
    wallets = _wallets(reader, period, sums)
    return {
        "shop": None if owner is None else {"name": owner.name, "timezone": owner.timezone},
        "from": timestamp(period.since),
        "to": timestamp(period.until),
        "test": period.mode is Mode.TEST,
        "branch": period.branch,
        "sheets": day_sheet.sheets(sums, wallets, sheet_rows.lines(reader, period)),
        "settled": day_sheet.settled_sums(sheet_rows.settled(reader, period)),
    }


def _wallets(reader: Reader, period: Period, sums: Sequence[WalletSums]) -> list[Wallet]:
    wallets: list[Wallet] = []
    if period.mode is Mode.TEST:
        return wallets
    for sim_key, provider in sorted({(entry.sim_key, entry.provider) for entry in sums}):
        fees = sum(
            entry.fee_minor
            for entry in sums
            if (entry.sim_key, entry.provider) == (sim_key, provider) and entry.kind in day_sheet.COUNTED
        )
        found = sheet_rows.wallet(reader, period, sim_key, provider, fees)
        if found is not None:
            wallets.append(found)
    return wallets


def read_totals(reader: Reader, period: Period, zone: tzinfo) -> tuple[list[Json], list[Json]]:
    """Return the sheets of a period, without the numbers on its wallets, and its money by hour.

    Both are as from `read_sheet` and `read_buckets`, with one pass over the payments.
    """
    found = [
        entry
        for span in day_sheet.spans(period.since, period.until, zone)
        for entry in sheet_rows.sums_by_time(
            reader, replace(period, since=span.since, until=span.until), size=HOUR_US, offset=span.offset
        )
    ]
    sums = [one for _, one in found]
    hours = [
        Bucket(at, one.currency, one.count, one.amount_minor) for at, one in found if one.kind is not MoneyKind.DOUBTED
    ]
    sheets = day_sheet.sheets(sums, _wallets(reader, period, sums), {})
    return sheets, day_sheet.buckets(hours, "hour", zone)


def read_rows(
    reader: Reader, period: Period, zone: tzinfo, by: str, *, limit: int, offset: int = 0
) -> tuple[list[Json], int]:
    """Return one page of the money of a period by something of `daemon.core.books.day_sheet.BY`, and the number of rows."""
    if by in day_sheet.BY_TIME:
        rows = read_buckets(reader, period, zone, by)
        return rows[offset : offset + limit], len(rows)
    found, total = sheet_rows.by_group(reader, period, by, limit=limit, offset=offset)

    def named(key: str | None, name: str | None) -> Json:
        if by == "payer":
            return {"payer_phone": key, "payer_name": name}
        return {by: network_of(key) if by == "network" and key else key}

    return [
        {**named(key, name), "currency": currency, "count": count, "amount": render(minor, currency)}
        for key, name, currency, count, minor in found
    ], total


def read_buckets(reader: Reader, period: Period, zone: tzinfo, by: str) -> list[Json]:
    """Return the money of a period by a time of `daemon.core.books.day_sheet.BY_TIME`, oldest first."""
    found = [
        bucket
        for span in day_sheet.spans(period.since, period.until, zone)
        for bucket in sheet_rows.by_time(
            reader,
            replace(period, since=span.since, until=span.until),
            size=HOUR_US if by in day_sheet.HOURLY else DAY_US,
            offset=span.offset,
        )
    ]
    return day_sheet.buckets(found, by, zone)
