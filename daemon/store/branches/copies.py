"""A hub's copies of the rows of its branches: stored by version, so that a fact that comes twice changes nothing."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from daemon.core.branches.facts import KEYS, MESSAGE, MODELS, TABLES, Fact, fault_of
from daemon.core.branches.identity import HISTORY_DAYS, Rival, day_limit
from daemon.core.errors import MomoError
from daemon.core.limits import DAY_US
from daemon.core.model import Payment, Transaction
from daemon.store.branches.branches import Numbers, trusted
from daemon.store.engine import Reader, Tx
from daemon.store.rows import column, columns, json_ids, load, number

_ORDER: Final = ("method", "payment", "transaction", "review", "reversal")
"""Each kind refers only to rows of the kinds before it."""

_REFERS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "method": (("id", "payment_methods"),),
    "message": (("id", "messages"), ("payment_id", "payments"), ("payment_method_id", "payment_methods")),
    "payment": (("id", "payments"), ("message_id", "messages"), ("payment_method_id", "payment_methods")),
    "transaction": (("id", "transactions"), ("payment_id", "payments"), ("held_payment_id", "payments")),
    "review": (
        ("id", "reviews"),
        ("message_id", "messages"),
        ("payment_id", "payments"),
        ("transaction_id", "transactions"),
    ),
    "reversal": (("message_id", "messages"), ("message_id", "reversals")),
}
"""Kind -> the columns that name rows, with their tables. All of them must be the branch's own rows."""


def in_order(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts so that each row comes after the rows that it refers to."""
    known = {kind: place for place, kind in enumerate(_ORDER)}
    return sorted(facts, key=lambda fact: known.get(fact.kind, len(known)))


_REFERRED: Final = (
    "EXISTS (SELECT 1 FROM transactions o WHERE o.payment_seq = p.seq) "
    "OR EXISTS (SELECT 1 FROM transactions o WHERE o.held_payment_seq = p.seq) "
    "OR EXISTS (SELECT 1 FROM reviews o WHERE o.payment_id = p.id) "
    "OR EXISTS (SELECT 1 FROM branch_commands o WHERE o.subject = p.id)"
)
"""Whether a transaction, a review or a command refers to a payment."""


class ForeignRowError(MomoError):
    """A fact names a row of another branch, or of the hub itself."""


class UnreadableRowError(MomoError):
    """A fact has a row that this version cannot read."""


class TooManyError(MomoError):
    """The branch has far more payments of one day than usual, as one who has its key could make them up."""


def store(
    tx: Tx, branch_id: str, epoch: int, facts: Sequence[Fact], now: int, *, limited: bool = True
) -> dict[str, bool]:
    """Store facts of a branch; return the payments that another branch, or the hub, has too, each with whether it is new.

    With `limited` no day gets far more payments than a usual one.

    Raises:
        ForeignRowError: One names a row that is not the branch's.
        UnreadableRowError: One has a value that this version cannot read.
        TooManyError: It is a payment of a day that has too many.
    """
    numbers = Numbers(tx)
    _check(tx, branch_id, facts, numbers)
    _count_days(tx, branch_id, facts, numbers, limited=limited)
    by_kind: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.row is not None:
            by_kind.setdefault(fact.kind, []).append(fact)
    doubles = dict[str, bool]()
    for kind in _ORDER:
        some = by_kind.pop(kind, [])
        if kind == "payment":
            sent = {
                str(fact.message.get("id")): (fact.version(epoch), _lean(fact, fact.message))
                for fact in facts
                if fact.message is not None and fact.kind in TABLES
            }
            _upsert(tx, branch_id, "message", list(sent.values()), numbers)
            some, doubles = _with_doubles(tx, some)
        elif kind == "transaction":
            _free_payments(tx, some, numbers)
        elif kind == "review":
            _close_others(tx, branch_id, some)
        versions = [(fact.version(epoch), fact.row or {}) for fact in some]
        _upsert(tx, branch_id, kind, versions, numbers)
        if kind == "payment" and some:
            tx.run(
                "INSERT INTO branch_sims (branch_id, sim_key, payment_method_seq, since) SELECT DISTINCT branch_id, sim_key, "
                "payment_method_seq, CAST(:now AS BIGINT) FROM payments WHERE id IN (SELECT value ->> 0 FROM json_each(:ids)) "
                "AND payment_method_seq IS NOT NULL ON CONFLICT (branch_id, sim_key, payment_method_seq) DO NOTHING",
                {"now": now, "ids": json_ids([fact.id for fact in some])},
            )
    for some in by_kind.values():
        _show(tx, branch_id, epoch, some)
    return doubles


_IN_PAYMENT: Final = {"sim_key": "", "device_id": "", "kind": None, "provider": None}
"""What the copy of a payment's message has instead of the payment's own values, which `rows.column` reads."""


def _lean(fact: Fact, message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message of a fact without what its payment has too."""
    row = fact.row or {}
    if fact.kind != "payment" or message.get("payment_id") != fact.id:
        return message
    same = {name: none for name, none in _IN_PAYMENT.items() if name in message and message[name] == row.get(name)}
    return {**message, **same}


def _check(reader: Reader, branch_id: str, facts: Sequence[Fact], numbers: Numbers) -> None:
    """Learn the numbers of the rows that are named; refuse rows that cannot be read, or that name rows of others.

    The key of the call says which branch owns the rows.
    """
    named: dict[str, set[str]] = {}
    for fact in facts:
        if fact.row is None or fact.kind not in TABLES:
            continue
        if fact.row.get(KEYS.get(fact.kind, "id")) != fact.id:
            raise UnreadableRowError(f"the {fact.kind} has another id than its row")
        _note_named(named, fact.kind, fact.row)
        if fact.message is not None:
            _note_named(named, "message", fact.message)
    for name, ids in named.items():
        key = KEYS["reversal"] if name == "reversals" else "id"
        rows = reader.all_among(f"SELECT {key}, seq, branch_id FROM {name} WHERE {key} IN (members)", ids)
        foreign = [row_id for row_id, _seq, owner in rows if owner != branch_id]
        if foreign:
            raise ForeignRowError(f"{name} {foreign[0]} is not a row of this branch")
        numbers.learn(name, (row[:2] for row in rows))


def _note_named(named: dict[str, set[str]], kind: str, row: Mapping[str, Any]) -> None:
    """Add the rows that a row names to those of each table."""
    why = fault_of(kind, row)
    if why:
        raise UnreadableRowError(f"the {kind}'s {why}")
    for field, name in _REFERS[kind]:
        if row.get(field) is not None:
            named.setdefault(name, set()).add(row[field])


def _upsert(tx: Tx, branch_id: str, kind: str, rows: Sequence[tuple[int, Mapping[str, Any]]], numbers: Numbers) -> None:
    """Store rows with their versions; a row that is stored with the same or a later version stays.

    A newer branch may send more columns, which are left out, and an older one fewer, which keep their default.
    """
    (name, names), key = _table_of(kind), KEYS.get(kind, "id")
    alike: dict[tuple[str, ...], list[tuple[int, Mapping[str, Any]]]] = {}
    for version, row in rows:
        alike.setdefault(tuple(row), []).append((version, row))
    for columns_sent, some in alike.items():
        sent = [each for each in (*names, "double_of") if each in columns_sent]
        stored = numbers.stored(MODELS[kind], [{each: row[each] for each in sent} for _version, row in some])
        given = [*stored[0]]
        every = [*given, "branch_id", "version"]
        changed = ", ".join(_assignment(name, each) for each in every if each not in (key, "branch_id"))
        tx.insert_rows(
            name,
            every,
            [[*row.values(), branch_id, version] for (version, _sent), row in zip(some, stored, strict=True)],
            f"ON CONFLICT ({key}) DO UPDATE SET {changed} WHERE {name}.version < excluded.version",
        )


def _table_of(kind: str) -> tuple[str, tuple[str, ...]]:
    return ("messages", MESSAGE) if kind == "message" else TABLES[kind]


def _assignment(name: str, column: str) -> str:
    if name == "payments" and column == "standing":
        # The hub decides a handed-up payment, so its own standing of it counts.
        return (
            "standing = CASE WHEN excluded.decider <> 'hub' THEN excluded.standing "
            "WHEN payments.decider = 'hub' THEN payments.standing ELSE 'review' END"
        )
    return f"{column} = excluded.{column}"


def _count_days(tx: Tx, branch_id: str, facts: Sequence[Fact], numbers: Numbers, *, limited: bool) -> None:
    """Count the new payments by the network's day."""
    new = {
        fact.id: fact.row["telco_at"] // DAY_US  # type: ignore[operator]  # `fault_of` has looked
        for fact in facts
        if fact.kind == "payment" and fact.row and "telco_at" in fact.row and not numbers.has("payments", fact.id)
    }
    for day, count in Counter(new.values()).items():
        params = {"branch": branch_id, "day": day, "count": count, "limit": HISTORY_DAYS}
        others = tx.column(
            "SELECT payments FROM branch_days WHERE branch_id = :branch AND day <> :day ORDER BY branch_id, day DESC LIMIT :limit",
            params,
        )
        most, stored = day_limit(others), tx.value(
            "INSERT INTO branch_days (branch_id, day, payments) VALUES (:branch, :day, :count) ON CONFLICT (branch_id, day) "
            "DO UPDATE SET payments = branch_days.payments + excluded.payments RETURNING payments",
            params,
        )  # fmt: skip
        if limited and most is not None and stored > most:
            raise TooManyError(
                f"more than {most} payments of one day, ten times a usual one; if they are real: momo hub accept"
            )


def _with_doubles(tx: Tx, facts: Sequence[Fact]) -> tuple[list[Fact], dict[str, bool]]:
    """Mark payments with a network ID that another branch, or the hub, has too: at most one row of a payment counts.

    A row that is stored stays as it was marked. Return the marked ones too, each with whether it is new.
    """
    marked, others = _with_ids(tx, {_network_id(fact) for fact in facts})
    found, doubles = list[Fact](), dict[str, bool]()
    for fact in facts:
        known = marked.get(fact.id)
        first = others.get(_network_id(fact))
        double_of = known if known is not None else None if first == fact.id else first
        if double_of is not None:
            doubles[fact.id] = known is None
        row = {**(fact.row or {}), "double_of": double_of}
        if row.get("standing") == "handed":
            row["standing"] = "review"  # until the hub has decided, in the same commit
        found.append(Fact(fact.seq, fact.kind, fact.id, row))
    return found, doubles


_NetworkId = tuple[Any, Any, Any]
"""Mode, provider and the network's ID."""


def _network_id(fact: Fact) -> _NetworkId:
    row = fact.row or {}
    return row.get("mode"), row.get("provider"), row.get("telco_transaction_id")


def _with_ids(tx: Tx, network_ids: Collection[_NetworkId]) -> tuple[dict[str, str], dict[_NetworkId, str]]:
    """Return the rows that do not count, each with the one that counts instead; and by network ID one row, which counts if any does."""
    marked, others = dict[str, str](), dict[_NetworkId, str]()
    for mode, provider in {(mode, provider) for mode, provider, _telco_id in network_ids}:
        ids = [one[2] for one in network_ids if one[:2] == (mode, provider) and one[2] is not None]
        for telco_id, own, double_of in [
            *tx.all_among(
                "SELECT telco_transaction_id, id, double_of FROM payments WHERE telco_transaction_id IN (members) "
                "AND double_of IS NOT NULL AND double_of <> id AND mode = ? AND provider = ? ORDER BY seq DESC",
                ids, mode, provider,
            ),
            *tx.all_among(
                "SELECT telco_transaction_id, id, double_of FROM payments WHERE telco_transaction_id IN (members) "
                "AND mode = ? AND provider = ? AND double_of IS NULL",
                ids, mode, provider,
            ),
        ]:  # fmt: skip
            others[mode, provider, telco_id] = own
            if double_of is not None:
                marked[own] = double_of
    return marked, others


def rivals(reader: Reader, payment: Payment, before: int) -> list[Rival]:
    """Return all payments with the network ID of this one, but withdrawn ones; a SIM and number are known if the branch had them `before`."""
    rows = reader.all(
        f"SELECT {columns(Payment, 'p.')}, p.branch_id IS NULL OR EXISTS (SELECT 1 FROM branch_sims s "
        "WHERE s.branch_id = p.branch_id AND s.sim_key = p.sim_key AND s.payment_method_seq = p.payment_method_seq AND s.since <= :before), "
        "EXISTS (SELECT 1 FROM transactions t WHERE t.payment_seq = p.seq AND t.origin = 'request') FROM payments p "
        "WHERE p.seq IN (SELECT seq FROM payments WHERE telco_transaction_id = :telco_id AND double_of IS NULL UNION ALL "
        "SELECT seq FROM payments WHERE telco_transaction_id = :telco_id AND double_of IS NOT NULL AND double_of <> id) "
        "AND p.mode = :mode AND p.provider = :provider ORDER BY p.seq",
        {
            "telco_id": payment.telco_transaction_id, "mode": payment.mode, "provider": payment.provider,
            "before": before,
        },
    )  # fmt: skip
    return [Rival(load(Payment, row[:-2]), bool(row[-2]), bool(row[-1])) for row in rows]


def set_doubles(tx: Tx, double_of: Mapping[str, str | None]) -> None:
    """Set for each payment the one that counts instead; the one with None counts, so it comes last."""
    rows = sorted(double_of.items(), key=lambda row: row[1] is None)
    tx.run_for_each("UPDATE payments SET double_of = ? WHERE id = ?", [[other, own] for own, other in rows])


def _free_payments(tx: Tx, facts: Sequence[Fact], numbers: Numbers) -> None:
    """Take payments from the transactions that had them before: the facts of those may come later."""
    rows = numbers.stored(Transaction, [fact.row or {} for fact in facts])
    for place, change, condition in (
        ("payment_seq", "payment_seq = NULL, merged_into = ?", "origin = 'open'"),
        ("held_payment_seq", "held_payment_seq = NULL", "branch_id IS NOT NULL"),
    ):
        wanted = {row[place]: fact.id for fact, row in zip(facts, rows, strict=True) if row.get(place)}
        if not wanted:
            continue
        found = tx.all_among(f"SELECT id, {place} FROM transactions WHERE {place} IN (members) AND {condition}", wanted)
        for own, payment_seq in found:
            into = wanted[payment_seq]
            if own != into:
                merged = [into] if "?" in change else []
                tx.run(f"UPDATE transactions SET {change} WHERE id = ?", [*merged, own])


def _close_others(tx: Tx, branch_id: str, facts: Sequence[Fact]) -> None:
    """Close the copy of an earlier review of the same message: its own fact may come later."""
    rows = [(fact.id, fact.row or {}) for fact in facts]
    tx.run_for_each(
        "UPDATE reviews SET state = 'superseded' WHERE message_id = ? AND id <> ? AND state = 'open' AND branch_id = ?",
        [[row.get("message_id"), own, branch_id] for own, row in rows if row.get("state") == "open"],
    )


def _show(tx: Tx, branch_id: str, epoch: int, facts: Sequence[Fact]) -> None:
    """Keep facts that are only shown; of an unknown kind too, for the version that knows it (`branches.of_kinds`)."""
    rows = [
        [
            branch_id, fact.kind, fact.id, fact.version(epoch), json.dumps(fact.row),
            None if fact.message is None else json.dumps(fact.message),
        ]
        for fact in facts
    ]  # fmt: skip
    tx.insert_rows(
        "branch_facts", ("branch_id", "kind", "id", "version", "body", "message"), rows,
        "ON CONFLICT (branch_id, kind, id) DO UPDATE SET version = excluded.version, body = excluded.body, message = excluded.message "
        "WHERE branch_facts.version < excluded.version",
    )  # fmt: skip


def owner_of(reader: Reader, method_ids: Collection[str], branch_id: str) -> str | None:
    """Return the name of another branch that has one of these numbers."""
    rows = reader.all_among(
        "SELECT b.name FROM payment_methods m JOIN branches b ON b.id = m.branch_id "
        "WHERE m.id IN (members) AND m.branch_id <> ? ORDER BY m.seq LIMIT 1",
        method_ids,
        branch_id,
    )
    return str(rows[0][0]) if rows else None


_DECIDER: Final = (
    # The branch was asked to take these back, and has not yet.
    "CASE WHEN EXISTS (SELECT 1 FROM branch_commands c WHERE c.subject = payments.id "
    "AND c.kind = 'release' AND c.done_at IS NULL) THEN 'hub' ELSE decider END AS decider"
)


def handed_up(reader: Reader, branch_id: str, ids: Sequence[str]) -> list[tuple[Payment, bool]]:
    """Return those of these payments that the hub decides, and has not decided, each with whether another row refers to it."""
    if not ids:
        return []
    rows = reader.all_among(
        f"SELECT {columns(Payment, 'p.')}, {_REFERRED} FROM payments p WHERE p.id IN (members) AND p.branch_id = ? "
        "AND p.decider = 'hub' AND p.double_of IS NULL "
        "AND NOT EXISTS (SELECT 1 FROM transactions t WHERE t.payment_seq = p.seq AND t.branch_id IS NULL) "
        "AND NOT EXISTS (SELECT 1 FROM reviews r WHERE r.payment_id = p.id AND r.state = 'open' AND r.branch_id IS NULL) "
        "ORDER BY p.seq",
        ids,
        branch_id,
    )
    return [(load(Payment, row[:-1]), bool(row[-1])) for row in rows]


def unconfirmed(reader: Reader, branch_id: str) -> list[Payment]:
    """Return the payments that this hub decides, and that wait because their SIM or number is new."""
    return reader.every(
        Payment,
        "SELECT * FROM payments WHERE branch_id = :id AND decider = 'hub' AND standing = 'handed' AND double_of IS NULL "
        "AND reversed_at IS NULL ORDER BY seq",
        {"id": branch_id},
    )


def is_known(reader: Reader, payment: Payment, before: int) -> bool:
    """Return whether the branch of a payment had its SIM and number `before`."""
    return reader.exists(
        "SELECT 1 FROM branch_sims WHERE branch_id = :branch AND sim_key = :sim AND since <= :before "
        "AND payment_method_seq = (SELECT seq FROM payment_methods WHERE id = :method)",
        {"branch": payment.branch_id, "sim": payment.sim_key, "method": payment.payment_method_id, "before": before},
    )


def is_superseded(reader: Reader, branch_id: str, fact: Fact, version: int) -> bool:
    """Return whether a later state of a row is stored or kept aside: storing this one could take a payment from its holder."""
    params = {"branch": branch_id, "id": fact.id, "version": version}
    if reader.exists(
        "SELECT 1 FROM facts_refused WHERE branch_id = :branch AND kind = :kind AND id = :id AND version > :version",
        {**params, "kind": fact.kind},
    ):
        return True
    if fact.kind not in TABLES:
        return False
    name, key = TABLES[fact.kind][0], KEYS.get(fact.kind, "id")
    return reader.exists(
        f"SELECT 1 FROM {name} WHERE branch_id = :branch AND {key} = :id AND version >= :version", params
    )


def detach_copies(tx: Tx, payment_id: str, into: str) -> None:
    """Take a payment that the hub decides from the copy of its holder at the branch."""
    tx.run(
        "UPDATE transactions SET payment_seq = NULL, merged_into = :into "
        f"WHERE payment_seq = {number('payments', ':id')} AND branch_id IS NOT NULL AND origin = 'open'",
        {"id": payment_id, "into": into},
    )
    tx.run(
        "UPDATE reviews SET state = 'superseded' WHERE payment_id = :id AND branch_id IS NOT NULL AND state = 'open'",
        {"id": payment_id},
    )


_IN_ORDER_OF: Final = {"payment": "stored_at", "transaction": "created_at"}
"""Kind -> the column by which the index of a branch's rows is sorted, if it is that of their list; others are in order of `seq`."""


def rows_of(
    reader: Reader, branch_id: str, kind: str, after: int, limit: int
) -> tuple[list[dict[str, Any]], int | None]:
    """Return rows of a branch for its restore, with `seq` of the last one if more follow; none that is distrusted."""
    name, names = _table_of(kind)
    wanted = trusted(name)
    naming = {"message": "id = messages.payment_id", "method": "payment_method_seq = payment_methods.seq"}.get(kind)
    if naming is not None:
        # Sent again since, but a payment from before needs it.
        wanted = f"({wanted} OR EXISTS (SELECT 1 FROM payments WHERE payments.{naming} AND {trusted('payments')}))"
    columns_of = ", ".join(_DECIDER if each == "decider" else column(MODELS[kind], each) for each in names)
    order = ", ".join(filter(None, (_IN_ORDER_OF.get(kind), "seq")))
    behind = f"AND ({order}) > (SELECT {order} FROM {name} WHERE seq = :after)" if after else ""
    rows = reader.all(
        f"SELECT seq, version, {columns_of} FROM {name} WHERE branch_id = :id {behind} AND {wanted} "
        f"ORDER BY {order} LIMIT :limit",
        {"id": branch_id, "after": after, "limit": limit},
    )
    found = [dict(zip(("version", *names), row[1:], strict=True)) for row in rows]
    for row in found:
        if row.get("decider") == "hub":
            row["standing"] = "handed"
    return found, int(rows[-1][0]) if len(rows) == limit else None


_BETWEEN: Final = "branch_id = :id AND version > :after AND version < :until"


def distrusted(reader: Reader, branch_id: str, after: int, until: int) -> list[Payment]:
    """Return the payments between two versions that count."""
    return reader.every(
        Payment,
        f"SELECT * FROM payments WHERE {_BETWEEN} AND standing <> 'withdrawn' ORDER BY seq",
        {"id": branch_id, "after": after, "until": until},
    )


def withdraw(
    tx: Tx, branch_id: str, between: tuple[int, int], ids: Collection[str], used: Collection[str], now: int
) -> list[str]:
    """Let copies between two versions count for nothing; return the payments that did not count because of them.

    What the branch sends again, after it has joined with another key, counts again.

    Args:
        tx: The database transaction.
        branch_id: The branch.
        between: The versions before the first one, and behind the last one.
        ids: The payments, but those that pay an order of the hub.
        used: Those, which keep it and are not trusted.
        now: The time.
    """
    params = {"id": branch_id, "after": between[0], "until": between[1]}
    tx.run(f"DELETE FROM reversals WHERE {_BETWEEN}", params)
    tx.run(f"UPDATE reviews SET state = 'superseded' WHERE {_BETWEEN} AND state = 'open'", params)
    tx.run(
        f"UPDATE transactions SET payment_seq = NULL, merged_into = id WHERE {_BETWEEN} AND origin = 'open' "
        "AND merged_into IS NULL",
        params,
    )
    tx.run(
        "UPDATE transactions SET payment_seq = NULL, held_payment_seq = NULL, completed_at = NULL, status = 'CANCELLED', "
        f"cancelled_at = :now WHERE {_BETWEEN} AND origin = 'request' AND status NOT IN ('CANCELLED', 'EXPIRED')",
        {**params, "now": now},
    )
    tx.run_for_each(
        "UPDATE payments SET standing = 'withdrawn', decider = 'branch', double_of = id WHERE id = ?",
        [[one] for one in ids],
    )
    tx.run_for_each("UPDATE payments SET double_of = id WHERE id = ?", [[one] for one in used])
    stopped = "SELECT id FROM payments WHERE double_of IN (members) AND id <> double_of ORDER BY seq"
    rows = tx.all_among(stopped, [*ids, *used])
    return [str(row[0]) for row in rows]
