"""The balance chain of each line (decisions.md section 4, rule 5), and the SMSCs of its SIM (rule 6).

A chain is keyed by SIM and provider, because the wallet moves with its SIM; a number that is later put on the SIM gets
the existing chain. `daemon.core.messages.balance` decides about entries; this module stores them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from daemon.core.messages.balance import NEAREST, WINDOW
from daemon.core.messages.balance_chain import Absence, Entry, Standing, Why
from daemon.store.engine import Reader, Tx

_COLUMNS: Final = "seq, message_id, at, stored_at, telco_id, pays, effects, after_minor, doubted, standing, gap_minor, place"
_LATEST: Final = 1 << 62
"""The sequence number of a message that is not stored yet: after all stored ones."""
_effects = msgspec.json.Decoder(tuple[int, ...]).decode
_STANDINGS: Final[Mapping[str, Standing]] = {standing.value: standing for standing in Standing}

_OF_LINE: Final = "FROM line_balances WHERE sim_key = :sim_key AND provider = :provider"
_NEAREST: Final = (
    f"SELECT * FROM (SELECT {_COLUMNS} {_OF_LINE} AND at <= :at ORDER BY at DESC, seq DESC LIMIT :window) "
    f"UNION ALL SELECT * FROM (SELECT {_COLUMNS} {_OF_LINE} AND at > :at ORDER BY at, seq LIMIT :window)"
)
# The last two queries may scan further back than the window, but only a few rows: most entries are accepted.
_CHAIN: Final = (
    f"{_NEAREST} "
    f"UNION ALL SELECT * FROM (SELECT {_COLUMNS} {_OF_LINE} AND standing = 'accepted' "
    "AND after_minor IS NOT NULL AND at <= :at ORDER BY at DESC, seq DESC LIMIT 2) "
    f"UNION ALL SELECT * FROM (SELECT {_COLUMNS} {_OF_LINE} AND standing = 'accepted' AND pays = 1 "
    "ORDER BY at DESC, seq DESC LIMIT 1)"
)


@dataclass(frozen=True, slots=True)
class Chain:
    """The key of a chain."""

    sim_key: str
    provider: str

    def params(self, **more: Any) -> dict[str, Any]:
        """Return the SQL parameters that select it."""
        return {"sim_key": self.sim_key, "provider": self.provider, **more}


@dataclass(frozen=True, slots=True)
class ChainRecord:
    """The stored data of one message besides its entry.

    Attributes:
        chain: The chain that the entry is in.
        why: The reason for its standing.
        doubts: Other doubts that were found when it came in.
    """

    chain: Chain
    entry: Entry
    why: Why
    doubts: tuple[str, ...]


def entries_around(reader: Reader, chain: Chain, at: int) -> list[Entry]:
    """Return the entries among which a message of this time is judged, as `daemon.core.messages.balance.judge` expects them."""
    rows = reader.all(_CHAIN, chain.params(at=at, window=WINDOW))
    # The last two queries mostly return rows that the first ones returned too.
    return [_entry(row) for row in {row[0]: row for row in rows}.values()]


def nearest(reader: Reader, chain: Chain, at: int, window: int = NEAREST) -> list[Entry]:
    """Return up to `window` entries on each side of this time; enough where `daemon.core.messages.balance.is_conclusive` says so."""
    return [_entry(row) for row in reader.all(_NEAREST, chain.params(at=at, window=window))]


def new_entry(message_id: str, **values: Any) -> Entry:
    """Make the entry of a message that is to be judged; it comes after all stored ones."""
    return Entry(key=message_id, seq=_LATEST, **values)


def with_id(reader: Reader, chain: Chain, telco_id: str) -> Entry | None:
    """Return the entry with this transaction ID (trimmed, upper case)."""
    row = reader.one(
        f"SELECT {_COLUMNS} {_OF_LINE} AND telco_id = :telco_id", chain.params(telco_id=telco_id)
    )
    return None if row is None else _entry(row)


def of_message(reader: Reader, message_id: str) -> ChainRecord | None:
    """Return the chain data of a message; None if it is in no chain."""
    row = reader.one(
        f"SELECT {_COLUMNS}, sim_key, provider, why, doubts FROM line_balances WHERE message_id = :id",
        {"id": message_id},
    )
    if row is None:
        return None
    sim_key, provider, why, doubts = row[-4:]
    return ChainRecord(Chain(sim_key, provider), _entry(row), Why(why), tuple(json.loads(doubts)))


def add(
    tx: Tx,
    chain: Chain,
    entry: Entry,
    *,
    payment_method_id: str | None,
    why: Why,
    doubts: Iterable[str],
) -> None:
    """Store an entry that was judged."""
    tx.run(
        "INSERT INTO line_balances (message_id, sim_key, provider, payment_method_id, at, stored_at, telco_id, pays, "
        "effects, after_minor, doubted, standing, gap_minor, place, why, doubts) "
        "VALUES (:message_id, :sim_key, :provider, :payment_method_id, :at, :stored_at, :telco_id, :pays, "
        ":effects, :after_minor, :doubted, :standing, :gap_minor, :place, :why, :doubts)",
        chain.params(
            message_id=entry.key,
            payment_method_id=payment_method_id,
            at=entry.at,
            stored_at=entry.stored_at,
            telco_id=entry.telco_id,
            pays=entry.pays,
            effects=json.dumps(entry.effects),
            why=why,
            doubts=json.dumps(list(doubts)),
            **_judgement(entry),
        ),
    )


def remove(tx: Tx, message_id: str) -> None:
    """Remove a message that no wording could read from its chain; it is added again with its new reading."""
    tx.run(
        "DELETE FROM line_balances WHERE message_id = :id AND pays = 0 AND telco_id IS NULL",
        {"id": message_id},
    )


def change(tx: Tx, entry: Entry, *, why: Why | None = None) -> None:
    """Update the judgement of an entry; `why` only if an operator decided."""
    tx.run(
        "UPDATE line_balances SET standing = :standing, gap_minor = :gap_minor, after_minor = :after_minor, "
        "doubted = :doubted, place = :place, why = COALESCE(:why, why) WHERE message_id = :id",
        {"id": entry.key, "why": why, **_judgement(entry)},
    )


def gaps_since(reader: Reader, since: int) -> dict[str, list[Entry]]:
    """Return the entries after an unexplained difference that no operator acknowledged, by SIM key, oldest first."""
    found: dict[str, list[Entry]] = {}
    for row in reader.all(
        f"SELECT {_COLUMNS}, sim_key FROM line_balances WHERE standing = 'accepted' AND gap_minor <> 0 "
        "AND at >= :since AND NOT EXISTS (SELECT 1 FROM gaps_known k "
        "WHERE k.message_id = line_balances.message_id AND k.gap_minor = line_balances.gap_minor) ORDER BY at, seq",
        {"since": since},
    ):
        found.setdefault(row[-1], []).append(_entry(row))
    return found


def acknowledge_gap(tx: Tx, entry: Entry, *, notes: str | None, by: str, now: int) -> None:
    """Record that an operator acknowledged the difference before a message; another amount there is a new one."""
    tx.run(
        "INSERT INTO gaps_known (message_id, gap_minor, notes, known_by, known_at) "
        "VALUES (:id, :gap_minor, :notes, :by, :now) ON CONFLICT (message_id, gap_minor) DO NOTHING",
        {"id": entry.key, "gap_minor": entry.gap_minor, "notes": notes, "by": by, "now": now},
    )


def held_without_notice(reader: Reader, stored_before: int, limit: int) -> list[Entry]:
    """Return receipts held since before `stored_before` that no notice mentioned yet, oldest first."""
    rows = reader.all(
        f"SELECT {_COLUMNS} FROM line_balances WHERE standing = 'held' AND pays = 1 AND told_at IS NULL "
        "AND stored_at <= :before ORDER BY stored_at, seq LIMIT :limit",
        {"before": stored_before, "limit": limit},
    )
    return [_entry(row) for row in rows]


def mark_noticed(tx: Tx, message_id: str, now: int) -> None:
    """Record that a notice mentioned a held receipt."""
    tx.run(
        "UPDATE line_balances SET told_at = :now WHERE message_id = :id",
        {"id": message_id, "now": now},
    )


def smscs(reader: Reader, sim_key: str) -> set[str]:
    """Return the service centres (SMSC) that are known to send this SIM genuine messages."""
    rows = reader.all("SELECT smsc FROM sim_smscs WHERE sim_key = :sim", {"sim": sim_key})
    return {row[0] for row in rows}


def learn_smsc(tx: Tx, sim_key: str, smsc: str, message_id: str, now: int) -> None:
    """Record a service centre as known for this SIM."""
    tx.run(
        "INSERT INTO sim_smscs (sim_key, smsc, message_id, learned_at) VALUES (:sim, :smsc, :message, :now) "
        "ON CONFLICT (sim_key, smsc) DO NOTHING",
        {"sim": sim_key, "smsc": smsc, "message": message_id, "now": now},
    )


def absences(reader: Reader, sim_key: str, since: int) -> list[Absence]:
    """Return the absences of this SIM that ended after `since` or have not ended."""
    rows = reader.all(
        "SELECT since, until FROM sim_absences WHERE sim_key = :sim AND until >= :since "
        "UNION ALL SELECT since, until FROM sim_absences WHERE sim_key = :sim AND until IS NULL",
        {"sim": sim_key, "since": since},
    )
    return [Absence(*row) for row in rows]


def _judgement(entry: Entry) -> dict[str, Any]:
    return {
        "after_minor": entry.after,
        "doubted": entry.doubted,
        "standing": entry.standing,
        "gap_minor": entry.gap_minor,
        "place": None if entry.place is None else str(entry.place),
    }


def _entry(row: tuple[Any, ...]) -> Entry:
    return Entry(
        seq=row[0],
        key=row[1],
        at=row[2],
        stored_at=row[3],
        telco_id=row[4],
        pays=bool(row[5]),
        effects=_effects(row[6]),
        after=row[7],
        doubted=bool(row[8]),
        standing=_STANDINGS[row[9]],
        gap_minor=row[10],
        place=None if row[11] is None else int(row[11]),
    )
