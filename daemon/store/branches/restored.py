"""Rows of a branch that come back from its hub, and the sums by which the two are compared."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from daemon.core.branches.facts import EPOCH, KEYS, MESSAGE, MODELS, TABLES
from daemon.core.limits import DAY_US
from daemon.store.branches import contradictions
from daemon.store.branches.numbers import Numbers
from daemon.store.engine import Reader, Tx
from daemon.store.rows import number
from parsers.svc_code import HUB_FIRST

_ROWS_AT_ONCE: Final = 250


class Taking(Struct):
    """What is known while the hub's rows come back.

    Attributes:
        epoch: Of the feed here.
        known: The latest version of the hub's copies that the rows here include.
        after: Rows without an entry of the feed behind this number did not change since; None: no feed says what changed.
        same: The id here of a number or payment that the hub knows by another id.
        aside: Rows that could not be stored: kind and id.
    """

    epoch: int
    known: int
    after: int | None
    same: dict[str, str] = {}
    aside: set[tuple[str, str]] = set()


def store(
    tx: Tx, kind: str, rows: Sequence[Mapping[str, Any]], taking: Taking, *, rest_us: int
) -> None:
    """Store rows, except those that are further on here, and those that contradict rows here.

    Args:
        tx: The database transaction.
        kind: The kind of fact, or `message`.
        rows: With the columns that are sent, and the version of the copy.
        taking: What is known; it learns.
        rest_us: How long after its expiry the code of a transaction is not used again.
    """
    name, known = ("messages", MESSAGE) if kind == "message" else TABLES[kind]
    # A hub that is older sends fewer columns; they keep their default.
    names = [each for each in known if rows and each in rows[0]]
    key = KEYS.get(kind, "id")
    wanted = _behind_here(tx, kind, [_with_own_ids(row, taking) for row in rows], taking)
    wanted = contradictions.without(tx, kind, wanted, taking.same, taking.aside)
    numbers = Numbers(tx)
    for start in range(0, len(wanted), _ROWS_AT_ONCE):
        some = wanted[start : start + _ROWS_AT_ONCE]
        stored = numbers.stored(MODELS[kind], [{n: row.get(n) for n in names} for row in some])
        given, piece = [*stored[0]], [[*row.values()] for row in stored]
        # The text of a message is only here; its copy has none.
        changed = ", ".join(f"{n} = excluded.{n}" for n in given if n not in (key, "body"))
        tx.insert_rows(name, given, piece, f"ON CONFLICT ({key}) DO UPDATE SET {changed}")
    if kind == "transaction":
        _reserve_codes(tx, wanted, rest_us)


def _with_own_ids(row: Mapping[str, Any], taking: Taking) -> dict[str, Any]:
    """Return a row that names numbers and payments as they are named here."""
    changed = {
        field: taking.same[row[field]]
        for field in ("payment_id", "held_payment_id", "payment_method_id")
        if row.get(field) in taking.same
    }
    return {**row, **changed}


_MERGED: Final = 3
"""Progress of a holder whose payment pays an order: which one is for that order to say."""
_STEPS: Final[Mapping[str, Mapping[str, str]]] = {
    "transaction": {
        "payment_id": "payment_seq", "reversed_at": "reversed_at", "merged_into": "merged_into",
    },
    # One that the hub may have used must not be open here, unless an order here has it.
    "payment": {
        "standing": "CASE WHEN EXISTS (SELECT 1 FROM transactions t WHERE t.payment_seq = payments.seq "
        "AND t.origin = 'request') THEN 'used' END",
        "decider": "decider",
    },
    "review": {"state": "state"},
    "message": {"payment_id": "payment_id"},
}  # fmt: skip
"""Kind -> what `_progress` needs of a copy, with the expressions that give it of the row here."""


def _progress(kind: str, row: Mapping[str, Any]) -> int:
    """Return how far a row has come. A paid order never becomes unpaid again; a holder ends when its payment pays an order."""
    if kind == "transaction":
        steps = ("payment_id", "reversed_at", "merged_into")
        return max([0, *(n for n, step in enumerate(steps, 1) if row.get(step) is not None)])
    if kind == "payment":
        return 2 if row.get("standing") == "used" else int(row.get("decider") == "hub")
    if kind == "review":
        return int(row.get("state") != "open")
    return int(kind == "message" and row.get("payment_id") is not None)


def _behind_here(
    tx: Tx, kind: str, rows: Sequence[dict[str, Any]], taking: Taking
) -> list[dict[str, Any]]:
    """Return the rows that are not here, or of which the hub's copy is further on."""
    name, key = "messages" if kind == "message" else TABLES[kind][0], KEYS.get(kind, "id")
    ids = [row[key] for row in rows]
    steps = _STEPS.get(kind, {})
    found = tx.all_among(
        f"SELECT {', '.join((key, *steps.values()))} FROM {name} WHERE {key} IN (members)", ids
    )
    here = {one[0]: _progress(kind, dict(zip(steps, one[1:], strict=True))) for one in found}
    entries = dict[str, int]()
    if taking.after is not None:
        entries = dict(
            tx.all_among(
                "SELECT id, MAX(seq) FROM feed WHERE id IN (members) AND kind = ? AND seq > ? GROUP BY id",
                ids,
                kind,
                taking.after,
            )
        )
    return [
        row
        for row in rows
        if row[key] not in here
        or not _is_kept(kind, row, here[row[key]], entries.get(row[key]), taking)
    ]


def _is_kept(
    kind: str, row: Mapping[str, Any], progress: int, entry: int | None, taking: Taking
) -> bool:
    """Return whether the row here stays; `entry` is its last change here that the hub did not acknowledge."""
    # Messages have no entries of their own.
    if taking.after is not None and entry is None and kind != "message":
        return False
    version = int(row.get("version") or 0)
    if version <= taking.known:
        return True
    theirs = _progress(kind, row)
    if progress != theirs or progress == _MERGED:
        return progress >= theirs
    # Both changed. In one epoch the numbers say which was later, unless the database is older than the feed that the hub has.
    same_epoch = version // EPOCH == taking.epoch
    return entry is not None and same_epoch and entry > version % EPOCH


_STANDING: Final = (
    "CASE WHEN decider = 'hub' THEN 'handed' "
    "WHEN EXISTS (SELECT 1 FROM transactions t WHERE t.payment_seq = payments.seq AND t.origin = 'request') THEN 'used' "
    "WHEN EXISTS (SELECT 1 FROM transactions t WHERE t.payment_seq = payments.seq) THEN 'open' "
    "WHEN EXISTS (SELECT 1 FROM reviews r WHERE r.payment_id = payments.id AND r.state = 'open') THEN 'review' END"
)


def settle_standings(tx: Tx) -> list[str]:
    """Let each payment stand as the orders and reviews say; return those that have neither: their order has another one now."""
    tx.run(
        f"UPDATE payments SET standing = {_STANDING} WHERE standing <> {_STANDING} AND branch_id IS NULL"
    )
    rows = tx.all(
        f"SELECT id FROM payments WHERE {_STANDING} IS NULL AND branch_id IS NULL ORDER BY seq"
    )
    return [str(row[0]) for row in rows]


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


def method_ids(reader: Reader) -> list[str]:
    """Return the ids of the shop's numbers, by which a hub knows it again."""
    return [str(row[0]) for row in reader.all("SELECT id FROM payment_methods ORDER BY seq")]


def codes_like_a_hub(reader: Reader, now: int) -> int:
    """Return how many codes in use begin with a digit, as those of a hub do."""
    return reader.count(
        "SELECT COUNT(*) FROM svc_codes WHERE free_at > :now AND code >= :first AND code < :behind",
        {"now": now, "first": HUB_FIRST[0], "behind": chr(ord(HUB_FIRST[-1]) + 1)},
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
