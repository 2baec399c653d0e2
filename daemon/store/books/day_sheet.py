"""Totals of a period, added up by the database: payments by wallet, by hour or day, by payer; wallet balances.

The time of a payment is that of its message at the network (`line_balances.at`), so that payments and balances have the
same order; a message in no chain uses the payment's own time. A wallet is a SIM and a provider, as in
`daemon.store.messages.balances`: the number may move to another SIM, the money does not.
"""

from typing import Any, Final

from msgspec import Struct

from daemon.core.books.day_sheet import Bucket, MoneyKind, Wallet, WalletNumber, WalletSums
from daemon.store.engine import Reader
from daemon.store.rows import SIM
from daemon.wire import Mode

_OF_BRANCH: Final = "p.branch_id = (SELECT id FROM branches WHERE name = :branch) AND p.standing <> 'withdrawn'"
_COUNTED: Final = "(p.double_of IS NULL OR (p.double_of = p.id AND p.standing <> 'withdrawn'))"
_NO_SMS: Final = """(p.branch_id IS NULL AND NOT EXISTS (SELECT 1 FROM sms_parts s WHERE s.message_seq = p.message_seq)
    AND NOT EXISTS (SELECT 1 FROM reconciliations r WHERE r.payment_id = p.id))"""
"""Only the hub of this branch had a payment, which a stolen key could have made up; no SMS of it came since, and nobody used it here."""
_DOUBTED: Final = "(x.standing = 'doubtful' OR COALESCE(p.double_of, '') = p.id)"
"""The balances deny it, nothing but the hub knows it, or it paid an order and came with a key that was stolen."""
_KIND: Final = f"""
CASE WHEN {_DOUBTED} THEN 'doubted'
     WHEN p.reversed_at IS NOT NULL THEN 'reversed'
     WHEN t.origin = 'request' AND t.status = 'SUCCESS' THEN 'paid'
     WHEN t.origin = 'request' AND t.status = 'PARTIAL' THEN 'short'
     WHEN t.origin = 'request' AND t.status = 'OVERPAID' THEN 'over'
     WHEN t.settles IS NOT NULL THEN 'rest'
     ELSE 'unmatched' END
"""
_SUMMED: Final = (
    "COUNT(*), SUM(p.amount_minor), SUM(COALESCE(p.fee_minor, 0)), "
    # The whole sheet of a hub names what the hub itself can settle; the sheet of a branch names what the branch can.
    "SUM(CASE WHEN t.settled_at IS NULL AND (t.branch_id IS NULL OR CAST(:branch AS TEXT) IS NOT NULL) "
    "THEN COALESCE(t.expected_minor, p.amount_minor) - p.amount_minor ELSE 0 END), "
    "SUM(COALESCE(t.late, 0)) "
    "FROM money x JOIN payments p ON p.seq = x.payment_seq LEFT JOIN transactions t ON t.payment_seq = p.seq"
)
_KEYS: Final = ("at", "LENGTH(COALESCE(telco_id, ''))", "COALESCE(telco_id, '')", "seq")
"""The order of a chain, except for a rare message booked against the order of IDs: time, then the network's ID."""
_FORWARDS: Final = ", ".join(_KEYS)
_BACKWARDS: Final = ", ".join(f"{key} DESC" for key in _KEYS)
_BALANCES: Final = (
    f"FROM line_balances WHERE sim_seq = {SIM} AND provider = :provider AND standing = 'accepted' "
    "AND after_minor IS NOT NULL"
)
_MOVED: Final = f"""
SELECT COUNT(*), SUM(CASE WHEN moved < 0 THEN -moved ELSE 0 END), SUM(CASE WHEN moved > 0 THEN moved ELSE 0 END),
       SUM(CASE WHEN gap > 0 THEN gap ELSE 0 END), SUM(CASE WHEN gap < 0 THEN -gap ELSE 0 END)
FROM (
    SELECT gap_minor AS gap,
           CASE WHEN pays = 1 THEN 0 ELSE COALESCE(effect_minor, 0) END AS moved
    FROM line_balances
    WHERE sim_seq = {SIM} AND provider = :provider AND at >= :since AND at < :until
      AND standing = 'accepted'
) movements
"""


class Period(Struct, frozen=True):
    """A period in microseconds, the end excluded, the mode, and at a hub the name of a branch; None: all of them."""

    since: int
    until: int
    mode: Mode = Mode.LIVE
    branch: str | None = None

    def params(self, **more: Any) -> dict[str, Any]:
        """Return the SQL parameters that select it."""
        of = {} if self.branch is None else {"branch": self.branch}
        return {"since": self.since, "until": self.until, "mode": self.mode, **of, **more}


def _money(period: Period) -> str:
    """Return the table of the period's payments, each with its time and its standing in the chain of balances.

    SQLite keeps the order of a CROSS JOIN: from the few SIMs by time, never from all payments of a mode. A payment of
    two branches counts once, but on the sheet of each.
    """
    which = _COUNTED if period.branch is None else _OF_BRANCH
    return f"""
WITH money AS (
    SELECT b.at AS at, p.seq AS payment_seq, b.standing AS standing
    FROM sims s
    CROSS JOIN line_balances b
    CROSS JOIN messages m
    CROSS JOIN payments p
    WHERE b.sim_seq = s.seq AND b.at >= :since AND b.at < :until AND b.pays = 1
      AND m.seq = b.message_seq AND p.id = m.payment_id AND p.message_seq = m.seq AND p.mode = :mode AND {which}
    UNION ALL
    SELECT p.telco_at, p.seq, CASE WHEN {_NO_SMS} THEN 'doubtful' ELSE 'accepted' END FROM payments p
    WHERE p.mode = :mode AND p.telco_at >= :since AND p.telco_at < :until AND {which} AND NOT EXISTS
        (SELECT 1 FROM line_balances b WHERE b.message_seq = p.message_seq AND b.pays = 1)
)
"""


def sums(reader: Reader, period: Period) -> list[WalletSums]:
    """Return the totals of the payments by wallet, currency and kind: those of one bucket, which is the whole period."""
    size = max(1, period.until - period.since)
    return [one for _, one in sums_by_time(reader, period, size=size, offset=-period.since)]


def sums_by_time(reader: Reader, period: Period, *, size: int, offset: int) -> list[tuple[int, WalletSums]]:
    """Return `sums` for each hour or day of `size` microseconds with its start, oldest first; see `by_time`.

    One pass over the payments of the period is enough for its sheet and its money by hour.
    """
    # PostgreSQL's SUM of integers is a numeric.
    rows = reader.all(
        f"{_money(period)} SELECT (x.at + :offset) / :size AS bucket, p.sim_key, p.provider, p.currency, {_KIND} AS became, {_SUMMED} "
        "GROUP BY bucket, p.sim_key, p.provider, p.currency, became "
        "ORDER BY bucket, p.currency, p.sim_key, p.provider, became",
        {"branch": None, **period.params(size=size, offset=offset)},
    )
    return [
        (row[0] * size - offset, WalletSums(row[1], row[2], row[3], MoneyKind(row[4]), *map(int, row[5:])))
        for row in rows
    ]


def wallet(reader: Reader, period: Period, sim_key: str, provider: str, fees_minor: int) -> Wallet | None:
    """Return the balances of a wallet according to its messages; None if no message had a balance before the end.

    `fees_minor` was deducted from the incoming payments.
    """
    chain = {"sim_key": sim_key, "provider": provider}
    closing = reader.value(
        f"SELECT after_minor {_BALANCES} AND at < :until ORDER BY {_BACKWARDS} LIMIT 1",
        {**chain, "until": period.until},
    )
    if closing is None:
        return None
    opening = reader.value(
        f"SELECT after_minor {_BALANCES} AND at < :since ORDER BY {_BACKWARDS} LIMIT 1",
        {**chain, "since": period.since},
    )
    if opening is None:
        row = reader.one(
            f"SELECT after_minor, effect_minor {_BALANCES} AND at >= :since ORDER BY {_FORWARDS} LIMIT 1",
            {**chain, "since": period.since},
        )
        assert row is not None, "the closing balance is one of these"
        # The wallet's first known message: the balance before it is its balance less its effect.
        opening = row[0] - (row[1] or 0)
    moved = reader.one(_MOVED, {**chain, **period.params()})
    assert moved is not None, "an aggregate has one row"
    out, other_in, came_in, went_out = (int(value or 0) for value in moved[1:])
    return Wallet(sim_key, provider, opening, closing, out, other_in, came_in, went_out, fees_minor)


def settled(reader: Reader, period: Period) -> list[tuple[str, str]]:
    """Return how each transaction was settled in the period (JSON), and its currency."""
    return [
        (str(row[0]), str(row[1]))
        for row in reader.all(
            "SELECT settlement, currency FROM transactions WHERE mode = :mode AND settled_at >= :since AND settled_at < :until "
            "AND (CAST(:branch AS TEXT) IS NULL OR branch_id = (SELECT id FROM branches WHERE name = :branch))",
            {"branch": None, **period.params()},
        )
    ]


def handed_up(reader: Reader, period: Period) -> dict[str, tuple[int, int]]:
    """Return, by currency, number and minor units of the payments that this branch handed up to its hub."""
    rows = reader.all(
        f"{_money(period)} SELECT p.currency, COUNT(*), SUM(p.amount_minor) FROM money x JOIN payments p ON p.seq = x.payment_seq "
        f"WHERE p.standing = 'handed' AND p.reversed_at IS NULL AND NOT ({_DOUBTED}) GROUP BY p.currency",
        period.params(),
    )
    return {str(row[0]): (int(row[1]), int(row[2])) for row in rows}


def lines(reader: Reader, period: Period) -> dict[tuple[str, str], WalletNumber]:
    """Return the last number of each wallet that received money in the period."""
    rows = reader.all(
        f"{_money(period)} SELECT x.sim_key, x.provider, pm.id, pm.phone_number, pm.account_name FROM "
        "(SELECT p.sim_key, p.provider, MAX(p.seq) AS seq FROM money JOIN payments p ON p.seq = money.payment_seq "
        "WHERE p.payment_method_seq IS NOT NULL GROUP BY p.sim_key, p.provider) x "
        "JOIN payments p ON p.seq = x.seq JOIN payment_methods pm ON pm.seq = p.payment_method_seq",
        period.params(),
    )
    return {(row[0], row[1]): WalletNumber(*row[2:]) for row in rows}


def by_time(reader: Reader, period: Period, *, size: int, offset: int) -> list[Bucket]:
    """Return totals for each hour or day of `size` microseconds; local time is UTC plus `offset`."""
    rows = reader.all(
        f"{_money(period)} SELECT (x.at + :offset) / :size AS bucket, p.currency, COUNT(*), SUM(p.amount_minor) "
        f"FROM money x JOIN payments p ON p.seq = x.payment_seq WHERE NOT ({_DOUBTED}) "
        "GROUP BY bucket, p.currency ORDER BY bucket, p.currency",
        period.params(size=size, offset=offset),
    )
    return [Bucket(row[0] * size - offset, row[1], int(row[2]), int(row[3])) for row in rows]


_GROUPS: Final = {
    "payer": ("p.payer_phone", "p.payer_name", "CASE WHEN p.payer_phone IS NULL THEN p.payer_name END", ""),
    "network": ("p.provider", "CAST(NULL AS TEXT)", "p.provider", ""),
    "maker": (
        "e.actor",
        "CAST(NULL AS TEXT)",
        "e.actor",
        (
            "LEFT JOIN transactions t ON t.payment_seq = p.seq LEFT JOIN transactions o ON o.id = t.settles "
            "LEFT JOIN events e ON e.type = 'transaction.created' AND e.transaction_seq = COALESCE(o.seq, t.seq)"
        ),
    ),
}
"""By what money is grouped: its key, the name beside it, what else tells two groups apart, and the tables for it."""


def by_group(
    reader: Reader, period: Period, by: str, *, limit: int, offset: int
) -> tuple[list[tuple[str | None, str | None, str, int, int]], int]:
    """Return one page of (key, name, currency, count, minor units), largest sum first, and the number of groups.

    Payers are distinguished by number, and by name if the network gives no number. The maker is who made the order; a payment that
    settles an order counts for the maker of that one.
    """
    key, name, apart, joined = _GROUPS[by]
    grouped = (
        f"FROM money x JOIN payments p ON p.seq = x.payment_seq {joined} WHERE NOT ({_DOUBTED}) "
        f"GROUP BY {key}, {apart}, p.currency"
    )
    total = reader.value(f"{_money(period)} SELECT COUNT(*) FROM (SELECT 1 {grouped}) g", period.params())
    rows = reader.all(
        f"{_money(period)} SELECT {key} AS key, MAX({name}) AS name, p.currency, COUNT(*), SUM(p.amount_minor) AS total "
        f"{grouped} ORDER BY total DESC, key, name, p.currency LIMIT :limit OFFSET :offset",
        period.params(limit=limit, offset=offset),
    )
    return [(row[0], row[1], row[2], int(row[3]), int(row[4])) for row in rows], int(total)


class Today(Struct, frozen=True):
    """The totals of the current live day.

    `verified` has by (status, currency) the number of transactions, and the sum received for them; none that the sheet doubts.
    """

    verified: dict[tuple[str, str], tuple[int, int]]
    waiting: int
    review: int


def today(reader: Reader, since: int, now: int) -> Today:
    """Return the totals of the day that began at `since`."""
    verified = reader.all(
        "SELECT t.status, p.currency, COUNT(*), SUM(p.amount_minor) FROM transactions t "
        "JOIN payments p ON p.seq = t.payment_seq LEFT JOIN line_balances x ON x.message_seq = p.message_seq "
        "AND x.pays = 1 WHERE t.completed_at >= :since AND t.mode = 'live' AND t.origin = 'request' "
        f"AND {_DOUBTED} IS NOT TRUE AND (x.standing IS NOT NULL OR NOT {_NO_SMS}) GROUP BY t.status, p.currency",
        {"since": since},
    )
    review = reader.value("SELECT COUNT(*) FROM reviews WHERE state = 'open' AND mode = 'live'")
    return Today(
        {(status, currency): (number, minor) for status, currency, number, minor in verified},
        waiting(reader, now, Mode.LIVE),
        int(review),
    )


def waiting(reader: Reader, now: int, mode: Mode) -> int:
    """Return how many transactions wait for their payment."""
    return reader.count(
        "SELECT COUNT(*) FROM transactions WHERE status = 'PENDING' AND expires_at > :now AND mode = :mode",
        {"now": now, "mode": mode},
    )
