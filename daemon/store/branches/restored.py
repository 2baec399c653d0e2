"""Rows of a branch that come back from its hub, and the sums by which the two are compared."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from daemon.core.branches.facts import KEYS, MESSAGE, MODELS, TABLES
from daemon.core.limits import DAY_US
from daemon.store.branches.numbers import Numbers
from daemon.store.engine import Reader, Tx
from daemon.store.rows import number, table, values
from parsers.svc_code import HUB_FIRST

_ROWS_AT_ONCE: Final = 250
_PAYMENT: Final = number("payments", ":payment")


def store(
    tx: Tx,
    kind: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    newer_than: int | None,
    rest_us: int,
) -> None:
    """Store rows, except those that changed here after the hub's copy.

    Args:
        tx: The database transaction.
        kind: The kind of fact, or `message`.
        rows: With the columns that are sent.
        newer_than: Rows with an entry of the feed behind this number stay; None: the feed is of another epoch.
        rest_us: How long after its expiry the code of a transaction is not used again.
    """
    name, known = ("messages", MESSAGE) if kind == "message" else TABLES[kind]
    # A hub that is older sends fewer columns; they keep their default.
    names = [each for each in known if rows and each in rows[0]]
    key = KEYS.get(kind, "id")
    kept = set[str]()
    if newer_than is not None:
        found = tx.all(
            "SELECT id FROM feed WHERE seq > :seq AND kind = :kind",
            {"seq": newer_than, "kind": kind},
        )
        kept = {str(row[0]) for row in found}
    wanted = [row for row in rows if str(row[key]) not in kept]
    if kind == "transaction":
        _free_payments(tx, wanted)
    numbers = Numbers(tx)
    for start in range(0, len(wanted), _ROWS_AT_ONCE):
        some = wanted[start : start + _ROWS_AT_ONCE]
        stored = numbers.stored(MODELS[kind], [{n: row.get(n) for n in names} for row in some])
        given, piece = [*stored[0]], [[*row.values()] for row in stored]
        # The text of a message is only here; its copy has none.
        changed = ", ".join(f"{n} = excluded.{n}" for n in given if n not in (key, "body"))
        tx.run(
            f"INSERT INTO {name} ({', '.join(given)}) VALUES {table(piece)} "
            f"ON CONFLICT ({key}) DO UPDATE SET {changed}",
            values(piece),
        )
    if kind == "transaction":
        _reserve_codes(tx, wanted, rest_us)


def _free_payments(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        tx.run(
            "UPDATE transactions SET payment_seq = NULL, merged_into = :id "
            f"WHERE payment_seq = {_PAYMENT} AND id <> :id AND origin = 'open'",
            {"id": row["id"], "payment": row["payment_id"]},
        )
        tx.run(
            "UPDATE transactions SET held_payment_seq = NULL, status = 'PENDING' "
            f"WHERE held_payment_seq = {_PAYMENT} AND id <> :id",
            {"id": row["id"], "payment": row["held_payment_id"]},
        )


def _reserve_codes(tx: Tx, rows: Sequence[Mapping[str, Any]], rest_us: int) -> None:
    for row in rows:
        if row["svc_code"] is not None and row["expires_at"] is not None:
            tx.run(
                "INSERT INTO svc_codes (mode, code, transaction_seq, free_at) "
                f"VALUES (:mode, :code, {number('transactions', ':id')}, :free_at) ON CONFLICT (mode, code) DO NOTHING",
                {
                    "mode": row["mode"],
                    "code": row["svc_code"],
                    "id": row["id"],
                    "free_at": row["expires_at"] + rest_us,
                },
            )


def codes_like_a_hub(reader: Reader, now: int) -> int:
    """Return how many codes in use begin with a digit, as those of a hub do."""
    return int(
        reader.value(
            "SELECT COUNT(*) FROM svc_codes WHERE free_at > :now AND code >= :first AND code < :behind",
            {"now": now, "first": HUB_FIRST[0], "behind": chr(ord(HUB_FIRST[-1]) + 1)},
        )
    )


def sums(reader: Reader, branch_id: str | None = None, since_day: int = 0) -> list[dict[str, Any]]:
    """Return the number and sum of payments by day (UTC, of the storage), mode and currency; at a hub of one branch.

    `since_day` is the first day, counted from 1970-01-01.
    """
    whose = "branch_id IS NULL" if branch_id is None else "branch_id = :branch"
    rows = reader.all(
        "SELECT stored_at / :day AS day, mode, currency, COUNT(*), SUM(amount_minor) FROM payments "
        f"WHERE {whose} AND stored_at >= :since GROUP BY stored_at / :day, mode, currency "
        "ORDER BY day DESC, mode, currency",
        {"day": DAY_US, "since": since_day * DAY_US}
        | ({} if branch_id is None else {"branch": branch_id}),
    )
    names = ("day", "mode", "currency", "count", "amount_minor")
    return [dict(zip(names, (*row[:4], int(row[4])), strict=True)) for row in rows]
