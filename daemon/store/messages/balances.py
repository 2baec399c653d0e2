"""The balance chain of each line, and the SMSCs of its SIM.

A chain is keyed by SIM and provider, because the wallet moves with its SIM; a number that is later put on the SIM gets
the existing chain. `daemon.core.messages.balance` decides about entries; this module stores them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from daemon.core.limits import DAY_US
from daemon.core.messages.balance_chain import Absence, ChainEntry, Standing, Why
from daemon.core.messages.line_history import USUAL_DAYS
from daemon.core.messages.trust import SmscSource
from daemon.core.names import canonical_names
from daemon.store.engine import Reader, Tx
from daemon.store.rows import SIM, json_rows, number
from daemon.wire import Mode

_MESSAGE: Final = "(SELECT id FROM messages WHERE seq = message_seq)"
_COLUMNS: Final = (
    f"seq, {_MESSAGE}, at, stored_at, telco_id, pays, effects, after_minor, smsc, home, doubts, standing, why, row_key, "
    "position, gap_left_minor, gap_left_at, gap_minor, unconfirmed_day"
)
_COLUMNS_B: Final = f"b.{_COLUMNS.replace(', ', ', b.')}".replace(f"b.{_MESSAGE}", "m.id")
_OF_MESSAGE: Final = "message_seq = (SELECT seq FROM messages WHERE id = :id)"
_PROVIDERS: Final = ", ".join(f"'{name}'" for name in canonical_names())
_LATEST: Final = 1 << 62
"""The sequence number of a message that is not stored yet: after all stored ones."""
_effects = msgspec.json.Decoder(tuple[int, ...]).decode
_doubts = msgspec.json.Decoder(tuple[str, ...]).decode
_STANDINGS: Final[Mapping[str, Standing]] = {standing.value: standing for standing in Standing}
_WHYS: Final[Mapping[str, Why]] = {why.value: why for why in Why}

TAIL: Final = 10
"""Messages at the end of the chain: the last one has the balance, and their IDs are the clock."""
OPEN_MAX: Final = 200
"""Most messages of open rows that a decision concerns; older ones wait for an operator."""
FOREIGN_MAX: Final = 1_000
"""Most held foreign messages that a decision concerns."""
_BESIDE_MAX: Final = 50
_TIMES_MAX: Final = 50_000

_OF_LINE: Final = f"FROM line_balances WHERE sim_seq = {SIM} AND provider = :provider"
_WAITING: Final = f"{_OF_LINE} AND standing IN ('unconfirmed', 'held')"
"""The condition of the index `line_balances_open`: SQLite uses the index only for a query that repeats it."""
_NEAREST: Final = (
    f"SELECT * FROM (SELECT {_COLUMNS} {_OF_LINE} AND at <= :at ORDER BY at DESC, seq DESC LIMIT :window) part "
    f"UNION ALL SELECT * FROM (SELECT {_COLUMNS} {_OF_LINE} AND at > :at ORDER BY at, seq LIMIT :window) part"
)
_TAIL: Final = (
    f"SELECT * FROM (SELECT {_COLUMNS} {_OF_LINE} AND standing = 'accepted' AND position IS NOT NULL "
    f"ORDER BY position DESC, seq DESC LIMIT {TAIL}) part "
    f"UNION ALL SELECT * FROM (SELECT {_COLUMNS} {_WAITING} AND standing = 'unconfirmed' "
    f"ORDER BY seq DESC LIMIT {OPEN_MAX}) part"
)
_SAME_ID: Final = (
    f"SELECT {_COLUMNS} {_OF_LINE} AND telco_id = :telco_id ORDER BY seq LIMIT {OPEN_MAX}"
)
_KNOWN: Final = (
    f"SELECT part.*, 'tail' FROM ({_TAIL}) part UNION ALL SELECT part.*, 'same_id' FROM ({_SAME_ID}) part "
    f"UNION ALL SELECT seq{', NULL' * _COLUMNS.count(',')}, 'payment' FROM payments "
    "WHERE telco_transaction_id = :telco_id AND mode = :mode AND double_of IS NULL"
)
_STATE: Final = (
    f"{_TAIL} UNION ALL SELECT * FROM (SELECT {_COLUMNS} {_OF_LINE} AND standing = 'accepted' AND gap_minor <> 0 "
    f"AND at >= :since ORDER BY at DESC, seq DESC LIMIT {_BESIDE_MAX}) part "
    f"UNION ALL SELECT * FROM (SELECT {_COLUMNS} {_OF_LINE} AND at >= :day AND at <= :soon AND after_minor IS NULL "
    f"AND home = 1 AND standing <> 'refuted' ORDER BY at DESC, seq DESC LIMIT {_BESIDE_MAX}) part"
)
_FOREIGN: Final = f"SELECT {_COLUMNS} {_WAITING} AND standing = 'held' AND home = 0 ORDER BY seq DESC LIMIT {FOREIGN_MAX}"

_FLOOD: Final = (
    f"{_WAITING} AND standing = 'held' AND why IN ('foreign', 'no_smsc', 'doubted') AND seq > :after "
    "AND EXISTS (SELECT 1 FROM messages m WHERE m.seq = line_balances.message_seq AND m.state = 'held' "
    "AND NOT EXISTS (SELECT 1 FROM reviews r WHERE r.message_id = m.id AND r.state = 'open'))"
)


class Chain(Struct, frozen=True):
    """The key of a chain."""

    sim_key: str
    provider: str

    def params(self, **more: Any) -> dict[str, Any]:
        """Return the SQL parameters that select it."""
        return {"sim_key": self.sim_key, "provider": self.provider, **more}


class ChainRecord(Struct, frozen=True):
    """An entry and the chain that it is in."""

    chain: Chain
    entry: ChainEntry


def tail(reader: Reader, chain: Chain) -> list[ChainEntry]:
    """Return the end of the chain and the open rows: enough for a message that joins (`Line.is_plain`)."""
    return [_entry(row) for row in reader.all(_TAIL, chain.params())]


class ChainContext(Struct, frozen=True):
    """Stored rows related to an incoming message: the end of its chain (`tail`), and the rows with its transaction ID.

    Attributes:
        same_id: The entries of its line with its ID, oldest first.
        has_payment: Whether a payment of any network has the ID.
    """

    tail: list[ChainEntry]
    same_id: list[ChainEntry]
    has_payment: bool


def known(reader: Reader, chain: Chain, mode: Mode, telco_id: str | None) -> ChainContext:
    """Return the stored rows related to a message with this transaction ID (trimmed, upper case), in one statement."""
    if telco_id is None:
        return ChainContext(tail(reader, chain), [], has_payment=False)
    rows = reader.all(_KNOWN, chain.params(telco_id=telco_id, mode=mode))
    return ChainContext(
        [_entry(row) for row in rows if row[-1] == "tail"],
        [_entry(row) for row in rows if row[-1] == "same_id"],
        any(row[-1] == "payment" for row in rows),
    )


def state(
    reader: Reader, chain: Chain, at: int, *, also: Sequence[str] = (), foreign: bool = False
) -> list[ChainEntry]:
    """Return every entry that a decision about a message of this time concerns.

    Args:
        reader: The database.
        chain: The line.
        at: Time of the message, microseconds.
        also: Further messages.
        foreign: With the held foreign messages.
    """
    times = {"since": at - USUAL_DAYS * DAY_US, "day": at - DAY_US, "soon": at + DAY_US}
    rows = reader.all(_STATE, chain.params(**times))
    if foreign:
        rows += reader.all(_FOREIGN, chain.params())
    found = {row[1]: _entry(row) for row in rows}
    for key in also:
        if key not in found and (record := of_message(reader, key)) is not None:
            found[key] = record.entry
    return list(found.values())


def has_chain(reader: Reader, sim_key: str) -> bool:
    """Return whether a balance chain of this SIM has begun."""
    return reader.exists(
        f"SELECT 1 FROM line_balances WHERE sim_seq = {SIM} AND standing = 'accepted' AND position IS NOT NULL LIMIT 1",
        {"sim_key": sim_key},
    )


def nearest(reader: Reader, chain: Chain, at: int, window: int) -> list[ChainEntry]:
    """Return up to `window` entries on each side of this time, to show them."""
    return [_entry(row) for row in reader.all(_NEAREST, chain.params(at=at, window=window))]


def between(reader: Reader, chain: Chain, since: int, until: int) -> list[ChainEntry]:
    """Return the entries of the chain in a period."""
    rows = reader.all(
        f"SELECT {_COLUMNS} {_OF_LINE} AND at >= :since AND at <= :until AND standing = 'accepted'",
        chain.params(since=since, until=until),
    )
    return [_entry(row) for row in rows]


def unsettled_chains(reader: Reader, since: int) -> list[Chain]:
    """Return the lines with an open row or a held foreign message, stored since then: time may settle these."""
    rows = reader.all(
        "SELECT DISTINCT s.sim_key, b.provider FROM line_balances b JOIN sims s ON s.seq = b.sim_seq WHERE standing IN ('unconfirmed', 'held') "
        "AND (standing = 'unconfirmed' OR why IN ('foreign', 'no_smsc')) AND stored_at >= :since",
        {"since": since},
    )
    return [Chain(*row) for row in rows]


def receipt_times(reader: Reader, chain: Chain, since: int) -> list[int]:
    """Return the times of the receipts in the chain since then, oldest first."""
    rows = reader.all(
        f"SELECT at {_OF_LINE} AND at >= :since AND standing = 'accepted' AND pays = 1 ORDER BY at, seq LIMIT {_TIMES_MAX}",
        chain.params(since=since),
    )
    return [row[0] for row in rows]


def taken_between(reader: Reader, chain: Chain, since: int, until: int) -> tuple[int, int | None]:
    """Return the sum of the receipts in the chain in a period, in minor units, and the time of the first one."""
    row = reader.one(
        "SELECT SUM(CAST(TRIM(effects, '[]') AS BIGINT)), MIN(at) "
        f"{_OF_LINE} AND at >= :since AND at < :until AND standing = 'accepted' AND pays = 1",
        chain.params(since=since, until=until),
    )
    assert row is not None, "a sum has one row"
    return int(row[0] or 0), row[1]


def paid_unconfirmed(reader: Reader, chain: Chain, day: int) -> int:
    """Return the amounts received that paid on a day before they were confirmed and are not confirmed yet, in minor units."""
    return reader.count(
        "SELECT SUM(p.amount_minor) FROM line_balances b JOIN messages m ON m.seq = b.message_seq "
        f"JOIN payments p ON p.id = m.payment_id WHERE b.sim_seq = {SIM} AND b.provider = :provider AND b.unconfirmed_day = :day "
        "AND (b.standing <> 'accepted' OR b.after_minor IS NULL OR b.why = 'first')",
        chain.params(day=day),
    )


def new_entry(message_id: str, **values: Any) -> ChainEntry:
    """Make the entry of a message that is to be judged; it comes after all stored ones."""
    return ChainEntry(key=message_id, seq=_LATEST, **values)


def with_id(reader: Reader, chain: Chain, telco_id: str) -> list[ChainEntry]:
    """Return the entries with this transaction ID (trimmed, upper case), oldest first."""
    return [_entry(row) for row in reader.all(_SAME_ID, chain.params(telco_id=telco_id))]


def of_message(reader: Reader, message_id: str) -> ChainRecord | None:
    """Return the entry of a message; None if it is in no chain."""
    row = reader.one(
        f"SELECT {_COLUMNS}, (SELECT sim_key FROM sims WHERE seq = sim_seq), provider FROM line_balances WHERE {_OF_MESSAGE}",
        {"id": message_id},
    )
    return None if row is None else ChainRecord(Chain(*row[-2:]), _entry(row))


def add(tx: Tx, chain: Chain, entry: ChainEntry) -> None:
    """Store an entry that was judged."""
    tx.run(
        "INSERT INTO line_balances (message_seq, sim_seq, provider, at, stored_at, telco_id, pays, "
        "effects, after_minor, smsc, home, doubts, standing, why, row_key, position, gap_left_minor, gap_left_at, "
        "gap_minor, unconfirmed_day) "
        f"VALUES ({number('messages', ':message_id')}, {SIM}, :provider, :at, :stored_at, :telco_id, :pays, "
        ":effects, :after_minor, :smsc, :home, :doubts, :standing, :why, :row_key, :position, :gap_left_minor, "
        ":gap_left_at, :gap_minor, :unconfirmed_day)",
        chain.params(
            message_id=entry.key,
            at=entry.at,
            stored_at=entry.stored_at,
            telco_id=entry.telco_id,
            pays=entry.pays,
            effects=json.dumps(entry.effects),
            after_minor=entry.after,
            smsc=entry.smsc,
            **_judgement(entry),
        ),
    )


def remove(tx: Tx, message_id: str) -> None:
    """Remove a message that no wording could read from its chain; it is added again with its new reading."""
    tx.run(
        f"DELETE FROM line_balances WHERE {_OF_MESSAGE} AND pays = 0 AND telco_id IS NULL",
        {"id": message_id},
    )


def forget_rejected(tx: Tx, message_id: str) -> bool:
    """Remove a rejected message from its chain, so that it can be judged anew; return False if it has a place in the chain."""
    tx.run(
        f"DELETE FROM line_balances WHERE {_OF_MESSAGE} AND standing NOT IN ('accepted', 'unconfirmed', 'candidate')",
        {"id": message_id},
    )
    return of_message(tx, message_id) is None


def change(tx: Tx, entry: ChainEntry) -> None:
    """Update the judgement of an entry."""
    tx.run(
        "UPDATE line_balances SET home = :home, doubts = :doubts, standing = :standing, why = :why, row_key = :row_key, "
        "position = :position, gap_left_minor = :gap_left_minor, gap_left_at = :gap_left_at, gap_minor = :gap_minor, "
        f"unconfirmed_day = :unconfirmed_day WHERE {_OF_MESSAGE}",
        {"id": entry.key, **_judgement(entry)},
    )


def clear_position(tx: Tx, message_id: str) -> None:
    """Take an entry out of its place in the chain, before its new judgement is stored."""
    tx.run(f"UPDATE line_balances SET position = NULL WHERE {_OF_MESSAGE}", {"id": message_id})


def gaps_since(reader: Reader, since: int) -> dict[str, list[ChainEntry]]:
    """Return the entries after an unexplained difference that no operator acknowledged, by SIM key, oldest first."""
    found: dict[str, list[ChainEntry]] = {}
    for row in reader.all(
        # CROSS starts with the SIMs, so that the index of the gaps is used.
        f"SELECT {_COLUMNS_B}, s.sim_key FROM sims s CROSS JOIN line_balances b CROSS JOIN messages m "
        "WHERE b.sim_seq = s.seq AND m.seq = b.message_seq "
        f"AND b.provider IN ({_PROVIDERS}) AND b.standing = 'accepted' AND b.gap_minor <> 0 "
        "AND b.at >= :since AND NOT EXISTS (SELECT 1 FROM gaps_known k "
        "WHERE k.message_seq = b.message_seq AND k.gap_minor = b.gap_minor) ORDER BY b.at, b.seq",
        {"since": since},
    ):
        found.setdefault(row[-1], []).append(_entry(row))
    return found


def acknowledge_gap(tx: Tx, entry: ChainEntry, *, notes: str | None, by: str, now: int) -> None:
    """Record that an operator acknowledged the difference before a message; another amount there is a new one."""
    tx.run(
        "INSERT INTO gaps_known (message_seq, gap_minor, notes, known_by, known_at) "
        "VALUES ((SELECT seq FROM messages WHERE id = :id), :gap_minor, :notes, :by, :now) ON CONFLICT (message_seq, gap_minor) DO NOTHING",
        {"id": entry.key, "gap_minor": entry.gap_minor, "notes": notes, "by": by, "now": now},
    )


def held_without_notice(reader: Reader, stored_before: int, limit: int) -> list[ChainEntry]:
    """Return receipts, home or of a source without SMSC, that wait unpaid since before `stored_before`, the oldest first.

    No notice mentioned them yet. Those that share the review of a flood are not among them. Those of the chain wait for a
    decision: the first one of a line above the limit, and doubted ones.
    """
    rows = reader.all(
        f"SELECT * FROM (SELECT {_COLUMNS} FROM line_balances WHERE standing IN ('unconfirmed', 'held') AND (home = 1 OR why = 'no_smsc') AND pays = 1 "
        "AND told_at IS NULL AND stored_at <= :before AND unconfirmed_day IS NULL AND (home = 1 OR EXISTS "
        f"(SELECT 1 FROM reviews r WHERE r.message_id = {_MESSAGE} AND r.state = 'open')) "
        "ORDER BY stored_at, seq LIMIT :limit) part "
        f"UNION ALL SELECT * FROM (SELECT {_COLUMNS_B} FROM reviews r JOIN messages m ON m.id = r.message_id "
        "JOIN line_balances b ON b.message_seq = m.seq WHERE r.state = 'open' AND r.branch_id IS NULL "
        "AND m.payment_id IS NULL AND b.standing = 'accepted' AND b.pays = 1 AND b.told_at IS NULL AND b.stored_at <= :before "
        "ORDER BY b.stored_at, b.seq LIMIT :limit) part",
        {"before": stored_before, "limit": limit},
    )
    return sorted((_entry(row) for row in rows), key=lambda one: (one.stored_at, one.seq))


def doubtful_since(reader: Reader, chain: Chain, since: int) -> int:
    """Return the number of messages stored since then that are foreign or doubted, counted up to 200."""
    return reader.count(
        f"SELECT COUNT(*) FROM (SELECT why, stored_at {_WAITING} AND standing = 'held' ORDER BY seq DESC "
        f"LIMIT {OPEN_MAX}) newest WHERE why IN ('foreign', 'no_smsc', 'doubted') AND stored_at >= :since",
        chain.params(since=since),
    )


def flood(reader: Reader, chain: Chain, after: int) -> tuple[int, str | None]:
    """Return the number of held foreign and doubted messages after an entry that have no open review, and the first one."""
    params = chain.params(after=after)
    first = reader.one(f"SELECT {_MESSAGE}, seq {_FLOOD} ORDER BY seq LIMIT 1", params)
    if first is None:
        return 0, None
    return reader.count(f"SELECT COUNT(*) {_FLOOD}", params), first[0]


def refute_flood(tx: Tx, chain: Chain, after: int) -> int:
    """Refute the messages of `flood`, because an operator rejected their review; return their number."""
    refuted = 0
    while batch := tx.all(
        f"SELECT seq, message_seq {_FLOOD} ORDER BY seq LIMIT {FOREIGN_MAX}",
        chain.params(after=after),
    ):
        numbers = json_rows([row[1] for row in batch])
        tx.run(
            "UPDATE line_balances SET standing = 'refuted', why = 'person' "
            "WHERE message_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(:numbers))",
            {"numbers": numbers},
        )
        tx.run(
            "UPDATE messages SET state = 'not_payment' "
            "WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(:numbers))",
            {"numbers": numbers},
        )
        after, refuted = batch[-1][0], refuted + len(batch)
    return refuted


def mark_noticed(tx: Tx, message_id: str, now: int) -> None:
    """Record that a notice mentioned a held receipt."""
    tx.run(
        f"UPDATE line_balances SET told_at = :now WHERE {_OF_MESSAGE}",
        {"id": message_id, "now": now},
    )


class KnownSmsc(Struct, frozen=True):
    """An SMSC of a SIM, why it is known, the message that showed it, and since when."""

    smsc: str
    source: SmscSource
    message_id: str | None
    since: int


def smscs(reader: Reader, sim_key: str) -> list[KnownSmsc]:
    """Return the known SMSCs of a SIM, the oldest first; those only noticed are among them."""
    rows = reader.all(
        "SELECT smsc, source, message_id, since FROM sim_smscs WHERE sim_key = :sim ORDER BY smsc",
        {"sim": sim_key},
    )
    found = [KnownSmsc(row[0], SmscSource(row[1]), *row[2:]) for row in rows]
    return sorted(found, key=lambda one: one.since)


def learn_smsc(
    tx: Tx, sim_key: str, smsc: str, source: SmscSource, message_id: str | None, now: int
) -> None:
    """Record an SMSC of a SIM; a home SMSC keeps its first reason."""
    tx.run(
        "INSERT INTO sim_smscs (sim_key, smsc, source, message_id, since) VALUES (:sim, :smsc, :source, :message, :now) "
        "ON CONFLICT (sim_key, smsc) DO UPDATE SET source = excluded.source, message_id = excluded.message_id, "
        "since = excluded.since WHERE sim_smscs.source = 'noticed'",
        {"sim": sim_key, "smsc": smsc, "source": source, "message": message_id, "now": now},
    )


def forget_smsc(tx: Tx, sim_key: str, smsc: str) -> None:
    """Remove an SMSC from those of a SIM."""
    tx.run(
        "DELETE FROM sim_smscs WHERE sim_key = :sim AND smsc = :smsc",
        {"sim": sim_key, "smsc": smsc},
    )


def released_through(reader: Reader, chain: Chain, smsc: str) -> tuple[int, int, int]:
    """Return the receipts through a foreign SMSC that home messages confirmed, their days, and those refuted."""
    row = reader.one(
        "SELECT SUM(CASE WHEN why = 'between' THEN 1 ELSE 0 END), "
        f"COUNT(DISTINCT CASE WHEN why = 'between' THEN at / {DAY_US} END), "
        f"SUM(CASE WHEN standing = 'refuted' THEN 1 ELSE 0 END) {_OF_LINE} AND smsc = :smsc AND home = 0 AND pays = 1",
        chain.params(smsc=smsc),
    )
    assert row is not None, "a sum has one row"
    return int(row[0] or 0), int(row[1] or 0), int(row[2] or 0)


def accepted_through(reader: Reader, chain: Chain, smsc: str) -> list[ChainEntry]:
    """Return the messages of the chain and of open rows that came through an SMSC, the newest first."""
    rows = reader.all(
        f"SELECT {_COLUMNS} {_OF_LINE} AND smsc = :smsc AND standing IN ('accepted', 'unconfirmed') "
        f"ORDER BY seq DESC LIMIT {FOREIGN_MAX}",
        chain.params(smsc=smsc),
    )
    return [_entry(row) for row in rows]


def tail_beside(reader: Reader, chain: Chain, smsc: str) -> list[str]:
    """Return the keys of the newest messages of the chain that came through other SMSCs: its end without this one."""
    rows = reader.all(
        f"SELECT {_MESSAGE} {_OF_LINE} AND standing = 'accepted' AND position IS NOT NULL "
        f"AND COALESCE(smsc, '') <> :smsc ORDER BY position DESC, seq DESC LIMIT {TAIL}",
        chain.params(smsc=smsc),
    )
    return [row[0] for row in rows]


def expect_test_payment(tx: Tx, sim_key: str, amount_minor: int, expires_at: int) -> None:
    """Record the amount of the owner's test payment; a newer one replaces it."""
    tx.run(
        "INSERT INTO test_payments (sim_key, amount_minor, expires_at) VALUES (:sim, :amount, :expires) "
        "ON CONFLICT (sim_key) DO UPDATE SET amount_minor = excluded.amount_minor, expires_at = excluded.expires_at",
        {"sim": sim_key, "amount": amount_minor, "expires": expires_at},
    )


def expected_test_payment(reader: Reader, sim_key: str, now: int) -> tuple[int, int] | None:
    """Return the amount of the expected test payment, in minor units, and when it expires; None if none is expected."""
    return reader.one(
        "SELECT amount_minor, expires_at FROM test_payments WHERE sim_key = :sim AND expires_at >= :now",
        {"sim": sim_key, "now": now},
    )


def take_test_payment(tx: Tx, sim_key: str, amount_minor: int, now: int) -> bool:
    """Return whether this receipt is the expected test payment; it is expected no longer then."""
    return tx.changed(
        "DELETE FROM test_payments WHERE sim_key = :sim AND amount_minor = :amount AND expires_at >= :now",
        {"sim": sim_key, "amount": amount_minor, "now": now},
    )


def absences(reader: Reader, sim_key: str, since: int) -> list[Absence]:
    """Return the absences of this SIM that ended after `since` or have not ended."""
    rows = reader.all(
        "SELECT since, until FROM sim_absences WHERE sim_key = :sim AND until >= :since "
        "UNION ALL SELECT since, until FROM sim_absences WHERE sim_key = :sim AND until IS NULL",
        {"sim": sim_key, "since": since},
    )
    return [Absence(*row) for row in rows]


def _judgement(entry: ChainEntry) -> dict[str, Any]:
    return {
        "home": entry.home,
        "doubts": json.dumps(entry.doubts),
        "standing": entry.standing,
        "why": entry.why,
        "row_key": entry.row,
        "position": entry.position,
        "gap_left_minor": entry.gap_left,
        "gap_left_at": entry.gap_left_at,
        "gap_minor": entry.gap_minor,
        "unconfirmed_day": entry.unconfirmed_day,
    }


def _entry(row: tuple[Any, ...]) -> ChainEntry:
    return ChainEntry(
        seq=row[0],
        key=row[1],
        at=row[2],
        stored_at=row[3],
        telco_id=row[4],
        pays=bool(row[5]),
        effects=_effects(row[6]),
        after=row[7],
        smsc=row[8],
        home=bool(row[9]),
        doubts=_doubts(row[10]),
        standing=_STANDINGS[row[11]],
        why=_WHYS[row[12]],
        row=row[13],
        position=row[14],
        gap_left=row[15],
        gap_left_at=row[16],
        gap_minor=row[17],
        unconfirmed_day=row[18],
    )
