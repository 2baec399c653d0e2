"""Rows of a branch that come back from its hub, and the sums by which the two are compared.

Some contradict rows here: the same number, payment or review under another id, or a payment twice.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from daemon.core.branches.facts import EPOCH, KEYS, MESSAGE, MODELS, TABLES, DaySum
from daemon.core.ids import reference_of
from daemon.core.limits import DAY_US
from daemon.store.branches.branches import Numbers, trusted
from daemon.store.engine import Reader, Tx
from daemon.wire import Mode
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


def store(tx: Tx, kind: str, rows: Sequence[Mapping[str, Any]], taking: Taking, *, rest_us: int) -> None:
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
    wanted = without(tx, kind, wanted, taking.same, taking.aside)
    numbers = Numbers(tx)
    for start in range(0, len(wanted), _ROWS_AT_ONCE):
        some = wanted[start : start + _ROWS_AT_ONCE]
        stored = numbers.stored(MODELS[kind], [{n: row.get(n) for n in names} for row in some])
        given, piece = [*stored[0]], [[*row.values()] for row in stored]
        # The text of a message, and what was read in it, are only here; its copy has none.
        changed = ", ".join(f"{n} = excluded.{n}" for n in given if n not in (key, "body", "fields"))
        tx.insert_rows(name, given, piece, f"ON CONFLICT ({key}) DO UPDATE SET {changed}")
    for row in wanted if kind == "transaction" else ():
        if row["svc_code"] is not None and row["expires_at"] is not None:
            tx.run(
                "INSERT INTO svc_codes (mode, code, transaction_seq, free_at) "
                "VALUES (:mode, :code, (SELECT seq FROM transactions WHERE id = :id), :free_at) ON CONFLICT (mode, code) DO NOTHING",
                {"mode": row["mode"], "code": row["svc_code"], "id": row["id"], "free_at": row["expires_at"] + rest_us},
            )


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
    "transaction": {"payment_id": "payment_seq", "reversed_at": "reversed_at", "merged_into": "merged_into"},
    # One that the hub may have used must not be open here, unless an order here has it.
    "payment": {
        "standing": "CASE WHEN EXISTS (SELECT 1 FROM transactions t WHERE t.payment_seq = payments.seq "
        "AND t.origin = 'request') THEN 'used' END",
        "decider": "decider",
    },
    "review": {"state": "state"},
    "message": {"payment_id": "payment_id"},
}
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


def _behind_here(tx: Tx, kind: str, rows: Sequence[dict[str, Any]], taking: Taking) -> list[dict[str, Any]]:
    """Return the rows that are not here, or of which the hub's copy is further on."""
    name, key = "messages" if kind == "message" else TABLES[kind][0], KEYS.get(kind, "id")
    ids = [row[key] for row in rows]
    steps = _STEPS.get(kind, {})
    found = tx.all_among(f"SELECT {', '.join((key, *steps.values()))} FROM {name} WHERE {key} IN (members)", ids)
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
        if row[key] not in here or not _is_kept(kind, row, here[row[key]], entries.get(row[key]), taking)
    ]


def _is_kept(kind: str, row: Mapping[str, Any], progress: int, entry: int | None, taking: Taking) -> bool:
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


def not_here(reader: Reader, rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the real payments, by id, that are not here, also not under another id."""
    ids = {str(row["id"]) for row in rows}
    known = {
        *reader.all_among("SELECT id FROM payments WHERE id IN (members)", ids),
        *reader.all_among(
            "SELECT mode, provider, telco_transaction_id FROM payments WHERE telco_transaction_id IN (members)",
            {str(row["telco_transaction_id"]) for row in rows},
        ),
    }
    return {
        row["id"]: row
        for row in rows
        if row["mode"] == "live"
        and (row["id"],) not in known
        and (row["mode"], row["provider"], row["telco_transaction_id"]) not in known
    }


def settle_standings(tx: Tx) -> list[str]:
    """Let each payment stand as the orders and reviews say; return those that have neither: their order has another one now."""
    standing = f"COALESCE({_STANDING}, 'open')"
    tx.run(f"UPDATE payments SET standing = {standing} WHERE standing <> {standing} AND branch_id IS NULL")
    tx.run(  # what pays an order waits for no decision
        "UPDATE reviews SET state = 'used_elsewhere' WHERE state = 'open' AND branch_id IS NULL "
        "AND payment_id IN (SELECT id FROM payments WHERE standing = 'used')"
    )
    return tx.column(f"SELECT id FROM payments WHERE {_STANDING} IS NULL AND branch_id IS NULL ORDER BY seq")


def method_ids(reader: Reader) -> list[str]:
    """Return the ids of the shop's numbers, by which a hub knows it again."""
    return reader.column("SELECT id FROM payment_methods ORDER BY seq")


def codes_like_a_hub(reader: Reader, now: int) -> int:
    """Return how many codes in use begin with a digit, as those of a hub do."""
    return reader.count(
        "SELECT COUNT(*) FROM svc_codes WHERE free_at > :now AND code >= :first AND code < :behind",
        {"now": now, "first": HUB_FIRST[0], "behind": chr(ord(HUB_FIRST[-1]) + 1)},
    )


def sums(reader: Reader, branch_id: str | None = None, since_day: int = 0) -> list[DaySum]:
    """Return the number and sum of payments by day (UTC, of the storage), mode and currency; at a hub of one branch.

    `since_day` is the first day, counted from 1970-01-01.
    """
    whose = "branch_id IS NULL" if branch_id is None else f"branch_id = :branch AND {trusted('payments')}"
    rows = reader.all(
        "SELECT stored_at / :day AS day, mode, currency, COUNT(*), SUM(amount_minor) FROM payments "
        f"WHERE {whose} AND stored_at >= :since GROUP BY stored_at / :day, mode, currency "
        "ORDER BY day DESC, mode, currency",
        {"day": DAY_US, "since": since_day * DAY_US} | ({} if branch_id is None else {"branch": branch_id}),
    )
    return [
        DaySum(day=day, mode=Mode(mode), currency=currency, count=count, amount_minor=int(amount))
        for day, mode, currency, count, amount in rows
    ]


def uses(reader: Reader, branch_id: str, since: int) -> list[tuple[str, str]]:
    """Return the payments of a branch since a time that paid an order, of the branch or of its hub, each with the order's id."""
    return reader.all(
        "SELECT p.id, t.id FROM payments p JOIN transactions t ON t.payment_seq = p.seq AND t.origin = 'request' "
        "WHERE p.branch_id = :id AND p.stored_at >= :since",
        {"id": branch_id, "since": since},
    )


def own_uses(reader: Reader, since: int) -> list[tuple[str, str, str, bool]]:
    """Return this branch's payments since a time: id, the network's ID, the order that it paid or empty, and whether it is handed up."""
    rows = reader.all(
        "SELECT p.id, p.telco_id_as_read, t.id, p.standing, (SELECT c.body FROM hub_commands c WHERE c.subject = p.id AND c.kind = 'decided' "
        "ORDER BY c.seq DESC LIMIT 1) FROM payments p LEFT JOIN transactions t ON t.payment_seq = p.seq AND t.origin = 'request' "
        "WHERE p.stored_at >= :since ORDER BY p.seq",
        {"since": since},
    )
    found = []
    for own, telco_id, order, standing, decided in rows:
        told = json.loads(decided or "{}") if standing == "handed" else {}
        theirs = str(told.get("reference")) if told.get("origin") == "request" else ""
        found.append((own, telco_id, reference_of(order) if order else theirs, standing == "handed"))
    return found


_NATURAL: Final = {
    "method": ("payment_methods", "phone_number", ("mode", "provider"), "deleted_at IS NULL"),
    "payment": ("payments", "telco_transaction_id", ("mode", "provider"), "double_of IS NULL"),
    "reversal": ("reversals", "original_telco_id", ("mode", "provider"), "TRUE"),
}
"""Kind -> table, the column that says what it is, the columns within which that is unique, and for which rows."""
_NEEDS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "payment": (("message_id", "messages"), ("payment_method_id", "payment_methods")),
    "message": (("payment_method_id", "payment_methods"),),
    "transaction": (("payment_id", "payments"), ("held_payment_id", "payments")),
    "review": (("message_id", "messages"), ("payment_id", "payments"), ("transaction_id", "transactions")),
    "reversal": (("message_id", "messages"),),
}
"""Kind -> the columns that name rows, with their tables."""


def without(
    tx: Tx, kind: str, rows: Iterable[dict[str, Any]], same: dict[str, str], aside: set[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Return the rows that can be stored, and change the rows here that were only the second choice.

    Args:
        tx: The database transaction.
        kind: The kind of fact, or `message`.
        rows: The rows that are to be stored.
        same: The id here of a number or payment that the hub knows by another id; some are added.
        aside: Kind and id of rows that cannot be stored; some are added.
    """
    found = _named(tx, kind, rows, aside)
    if kind in _NATURAL:
        found = _new(tx, kind, found, same)
    if kind == "transaction":
        return _transactions(tx, found, aside)
    if kind == "review":
        return [_beside_others(tx, row) for row in found]
    return found


def _named(tx: Tx, kind: str, rows: Iterable[dict[str, Any]], aside: set[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the rows that name only rows that are here: those that they name may have been kept aside."""
    found = [*rows]
    for field, name in _NEEDS.get(kind, ()):
        ids = {row[field] for row in found if row.get(field) is not None}
        here = {row[0] for row in tx.all_among(f"SELECT id FROM {name} WHERE id IN (members)", ids)}
        lacking = [row for row in found if row.get(field) is not None and row[field] not in here]
        aside.update((kind, str(row.get("id") or row["message_id"])) for row in lacking)
        found = [row for row in found if row not in lacking]
    return found


def _new(tx: Tx, kind: str, rows: Sequence[dict[str, Any]], same: dict[str, str]) -> list[dict[str, Any]]:
    """Return the rows without those that are here under another id."""
    name, column, within, condition = _NATURAL[kind]
    key = "message_id" if kind == "reversal" else "id"
    known: dict[tuple[Any, ...], str] = {
        tuple(row[1:]): row[0]
        for row in tx.all_among(
            f"SELECT {key}, {column}, {', '.join(within)} FROM {name} WHERE {column} IN (members) AND {condition}",
            {row[column] for row in rows},
        )
    }
    found = []
    for row in rows:
        what = tuple(row[each] for each in (column, *within))
        own = row[key] if row.get("deleted_at") is not None else known.setdefault(what, row[key])
        if own == row[key]:
            found.append(row)
            continue
        same[row[key]] = own
        if kind == "payment":
            _follow(tx, row, own)
    return found


def _follow(tx: Tx, row: Mapping[str, Any], own: str) -> None:
    """Let a payment here be handed up as the hub's copy of it is, unless an order here has it."""
    tx.run(
        "UPDATE messages SET state = 'duplicate', payment_id = :own WHERE id = :message AND payment_id = :theirs",
        {"own": own, "message": row["message_id"], "theirs": row["id"]},
    )
    if row.get("decider") == "hub":
        tx.run(
            "UPDATE payments SET decider = 'hub', standing = 'handed' WHERE id = :own AND decider = 'branch' "
            "AND NOT EXISTS (SELECT 1 FROM transactions t WHERE t.payment_seq = payments.seq AND t.origin = 'request')",
            {"own": own},
        )


def _transactions(tx: Tx, rows: Sequence[dict[str, Any]], aside: set[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the transactions that can be stored. A holder gives way to an order: it only says that nothing has the payment."""
    found, taken = dict[str, dict[str, Any]](), set[str]()
    for row in sorted(rows, key=lambda each: bool(each["origin"] == "open")):
        is_request = row["origin"] == "request"
        if not taken.isdisjoint(_payments_of(row)) or not _take_payments(tx, row):
            if is_request:
                aside.add(("transaction", row["id"]))
        elif is_request or _agrees(tx, row, found):
            found[row["id"]] = row
            taken.update(_payments_of(row))
    return [*found.values()]


def _agrees(tx: Tx, holder: Mapping[str, Any], orders: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether the order that a holder's payment moved to, if it did, names this holder and not another one of here."""
    into = holder.get("merged_into")
    if into is None:
        return True
    if into in orders:
        return bool(orders[into].get("supersedes") == holder["id"])
    # At the hub it may have moved to an order of head office, which is not here.
    named = tx.one("SELECT supersedes FROM transactions WHERE id = :id", {"id": into})
    return named is None or bool(named[0] == holder["id"])


def _payments_of(row: Mapping[str, Any]) -> list[str]:
    return [row[each] for each in ("payment_id", "held_payment_id") if row.get(each) is not None]


def _take_payments(tx: Tx, row: dict[str, Any]) -> bool:
    """Free the payments of a transaction that comes back; return False if it cannot be stored beside the orders here."""
    own = row["id"]
    wanted = _payments_of(row)
    paid = _others(tx, "payment_seq", own, wanted)
    has_order = any(origin == "request" for _id, origin in paid)
    if has_order or (paid and row["origin"] == "open") or _is_taken(tx, row):
        return False
    for holder, _origin in paid:
        if row.get("payment_id") is not None:
            row["supersedes"] = holder
            tx.run(
                "UPDATE transactions SET payment_seq = NULL, merged_into = :into WHERE id = :id",
                {"into": own, "id": holder},
            )
    for other, _origin in _others(tx, "held_payment_seq", own, wanted):
        tx.run("UPDATE transactions SET held_payment_seq = NULL, status = 'PENDING' WHERE id = :id", {"id": other})
        tx.run(
            "UPDATE reviews SET state = 'used_elsewhere' WHERE transaction_id = :id AND state = 'open'", {"id": other}
        )
    return True


def _others(tx: Tx, place: str, own: str, payment_ids: Collection[str]) -> list[tuple[str, str]]:
    """Return the other transactions with these payments, each with its origin."""
    rows = tx.all_among(
        f"SELECT id, origin FROM transactions WHERE {place} IN (SELECT seq FROM payments WHERE id IN (members)) AND id <> ?",
        payment_ids,
        own,
    )
    return [(str(row[0]), str(row[1])) for row in rows]


def _is_taken(tx: Tx, row: Mapping[str, Any]) -> bool:
    """Return whether another order has the same page, or waits for the same network ID."""
    if tx.exists(
        "SELECT 1 FROM transactions WHERE public_slug = :slug AND id <> :id",
        {"slug": row.get("public_slug"), "id": row["id"]},
    ):
        return True
    return row["status"] == "PENDING" and tx.exists(
        "SELECT 1 FROM transactions WHERE mode = :mode AND expected_telco_transaction_id = :telco_id "
        "AND status = 'PENDING' AND branch_id IS NULL AND id <> :id",
        {"mode": row["mode"], "telco_id": row.get("expected_telco_transaction_id"), "id": row["id"]},
    )


def _beside_others(tx: Tx, row: dict[str, Any]) -> dict[str, Any]:
    """Close the other open reviews of the message, which was read again; one that a person decided counts instead."""
    params = {"message": row["message_id"], "id": row["id"]}
    others = "message_id = :message AND id <> :id"
    if row["state"] == "open" and tx.exists(
        f"SELECT 1 FROM reviews WHERE {others} AND state IN ('approved', 'rejected')", params
    ):
        return {**row, "state": "superseded"}
    tx.run(f"UPDATE reviews SET state = 'superseded' WHERE {others} AND state = 'open'", params)
    return row
