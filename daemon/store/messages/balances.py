"""The trust of each line, its balance chain, the rows beside it, and the SMSCs of its SIM.

A chain is keyed by SIM and provider, because the wallet moves with its SIM; a number that is later put on the SIM gets
the existing chain. `daemon.core.messages.line_trust` decides about entries; this module stores them.
"""

import json
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from daemon.core.limits import DAY_US
from daemon.core.messages.balance_chain import Absence, ChainEntry
from daemon.core.messages.line_trust import CANDIDATES_MAX, LIMIT_RECEIPTS, SWEPT_MINOR, LineState, Row, Used
from daemon.core.messages.trust import SmscSource
from daemon.core.names import canonical_names
from daemon.store.engine import Reader, Tx
from daemon.store.rows import SIM, anew, insertion, json_ids, number, update
from daemon.wire import Mode

_ADD: Final = insertion(
    "line_balances", ChainEntry, "key", message_seq=number("messages", ":key"), sim_seq=SIM, provider=":provider"
)
_CHANGE: Final = update(
    "line_balances", ChainEntry, "key", "at", "stored_at", "telco_id", "pays", "amount", "effect", "after", "smsc"
)
_ADD_STATE: Final = insertion("line_trust", LineState, sim_seq=SIM, provider=":provider")
_STATE_ANEW: Final = anew(LineState)
LATEST: Final = 1 << 62
"""The sequence number of a message that is not stored yet: after all stored ones."""

TAIL: Final = 10
"""Messages at the end of the chain whose IDs are the clock."""
SAME_ID_MAX: Final = 5
"""Earlier messages with one ID that are compared: a flood may repeat one."""
GAPS_MAX: Final = 8
"""Gaps of the chain, the newest first, that a late message may fill."""
LOOSE_MAX: Final = 1_000
"""Most messages beside the chain among which a proof looks for a way."""
_TIMES_MAX: Final = 50_000
_LOOKED_BACK_US: Final = 14 * DAY_US
_WAITED_US: Final = DAY_US
"""A receipt that waits is looked for no longer than so much after its notice is due."""


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


# --- the state of a line ---------------------------------------------------------------------------


def state(reader: Reader, chain: Chain) -> LineState:
    """Return the trust of a line."""
    found = reader.first(
        LineState,
        "SELECT * FROM line_trust WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider",
        chain.params(),
    )
    return LineState() if found is None else found


def put_state(tx: Tx, chain: Chain, line: LineState) -> None:
    """Store the trust of a line."""
    tx.run(f"{_ADD_STATE} ON CONFLICT (sim_seq, provider) DO UPDATE SET {_STATE_ANEW}", chain.params(**asdict(line)))


def unsettled_chains(reader: Reader) -> list[Chain]:
    """Return the lines that time may settle: those with a row or a flood, and those whose balance is provisional."""
    rows = reader.all(
        "SELECT s.sim_key, t.provider FROM line_trust t JOIN sims s ON s.seq = t.sim_seq "
        "WHERE t.live_rows > 0 OR t.flood_told_at > 0 OR (t.provisional IS NOT NULL AND t.balance IS NOT NULL)"
    )
    return [Chain(*row) for row in rows]


def used(reader: Reader, chain: Chain, day: int, proved_at: int) -> Used:
    """Return what was paid unconfirmed: of a day's limits, and since the last proof."""
    row = reader.one(
        "SELECT (SELECT SUM(amount_minor) FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND counts > 0 AND counts IN (1, 2) AND counts_day = :day), "
        "(SELECT SUM(amount_minor) FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND counts > 0 AND counts IN (1, 3)), "
        "(SELECT SUM(amount_minor) FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND counts > 0 AND counts = 4 AND counts_day = :day AND stored_at > :proved)",
        chain.params(day=day, proved=proved_at),
    )
    assert row is not None, "a sum has one row"
    return Used(*(int(value or 0) for value in row))


def usual_day(reader: Reader, chain: Chain, day: int) -> tuple[int, int]:
    """Return the takings of a usual day, in minor units, and its number of receipts: of the last 14 days with receipts.

    On the first day of a line they are those so far that count to no limit, if they are a dozen. What waits or was paid
    unconfirmed never counts, or it would raise its own limit.
    """
    since = day * DAY_US
    rows = reader.all(
        "SELECT amount_minor, at, counts FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND at >= :since AND standing = 'accepted' AND pays = 1 AND counts <> 1 AND counts <> 2 AND counts <> 3 "
        "AND EXISTS (SELECT 1 FROM messages m WHERE m.seq = message_seq AND m.payment_id IS NOT NULL) ORDER BY at, seq",
        chain.params(since=since - _LOOKED_BACK_US),
    )
    before, today = [row for row in rows if row[1] < since], [row for row in rows if not row[2]]
    rows = before or (today if len(today) >= LIMIT_RECEIPTS else [])
    days = len({at // DAY_US for _, at, _ in rows}) or 1
    return sum(amount for amount, _, _ in rows) // days, len(rows) // days


def receipt_times(reader: Reader, chain: Chain, since: int) -> list[int]:
    """Return the times of the receipts in the chain since then, oldest first; texts under a cedi do not count."""
    return reader.column(
        "SELECT at FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND at >= :since AND standing = 'accepted' AND pays = 1 AND amount_minor >= :swept ORDER BY at, seq LIMIT :most",
        chain.params(since=since, swept=SWEPT_MINOR, most=_TIMES_MAX),
    )


def recent_candidates(reader: Reader, chain: Chain) -> list[tuple[int, bool]]:
    """Return when the newest candidates came, and whether each opened a row: enough to know a flood."""
    # `IN ('candidate', 'doubtful')` is the condition of the index: SQLite uses it only for a query that repeats it.
    rows = reader.all(
        "SELECT stored_at, opens FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND standing IN ('candidate', 'doubtful') AND standing = 'candidate' ORDER BY seq DESC LIMIT :most",
        chain.params(most=CANDIDATES_MAX + 1),
    )
    return [(at, bool(opens)) for at, opens in rows]


def without_review(reader: Reader, chain: Chain) -> list[ChainEntry]:
    """Return held candidates that nobody was asked about because they came in a flood, the oldest ones."""
    return reader.every(
        ChainEntry,
        "SELECT * FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND standing IN ('candidate', 'doubtful') AND standing = 'candidate' AND pays = 1 AND EXISTS (SELECT 1 FROM messages m "
        "WHERE m.seq = message_seq AND m.state = 'held' AND NOT EXISTS (SELECT 1 FROM reviews r "
        "WHERE r.message_id = m.id AND r.state = 'open')) ORDER BY seq LIMIT :most",
        chain.params(most=CANDIDATES_MAX),
    )


# --- rows beside the chain -------------------------------------------------------------------------


def add_row(tx: Tx, chain: Chain, entry: ChainEntry, now: int, *, lapsed: bool) -> int:
    """Open a row with a message, which is a rival unless it is `lapsed`; return its number."""
    return tx.add(
        "INSERT INTO line_rows (sim_seq, provider, before_minor, after_minor, began_at, grew_at, messages, lapsed) "
        "VALUES ((SELECT seq FROM sims WHERE sim_key = :sim_key), :provider, :before, :after, :at, :now, 1, :lapsed)",
        chain.params(before=entry.before, after=entry.after, at=entry.time, now=now, lapsed=int(lapsed)),
    )


def put_row(tx: Tx, row: Row) -> None:
    """Store a row that grew."""
    tx.run(
        "UPDATE line_rows SET before_minor = :before, after_minor = :after, began_at = :began_at, grew_at = :grew_at, "
        "messages = :messages, lapsed = :lapsed WHERE seq = :number",
        asdict(row),
    )


def remove_row(tx: Tx, row: Row) -> None:
    """Remove a row whose messages are in the chain, in another row, or doubtful now."""
    tx.run("DELETE FROM line_rows WHERE seq = :number", {"number": row.number})


def join_rows(tx: Tx, first: Row, second: Row, shift: int) -> None:
    """Put the messages of the second row behind those of the first; its places move by so many."""
    tx.run(
        "UPDATE line_balances SET row_number = :first, position = position + :shift WHERE row_number = :second",
        {"first": first.number, "second": second.number, "shift": shift},
    )


def places(reader: Reader, row: Row) -> tuple[int, int]:
    """Return the first and the last place in a row."""
    found = reader.one(
        "SELECT (SELECT MIN(position) FROM line_balances WHERE row_number = :number), "
        "(SELECT MAX(position) FROM line_balances WHERE row_number = :number)",
        {"number": row.number},
    )
    assert found is not None, "a row of values"
    return int(found[0]), int(found[1])


def lapse_rows(tx: Tx, chain: Chain, but: int = 0) -> None:
    """Let the rows of a line be no rivals any more, without the one with this number."""
    tx.run(
        "UPDATE line_rows SET lapsed = 1 WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider AND lapsed = 0 AND seq <> :number",
        chain.params(number=but),
    )


# With a sum the order uses no index, so that the test does.
_RIVALS: Final = {
    "begins": (
        "SELECT * FROM line_rows WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND lapsed = 0 AND before_minor = :value ORDER BY grew_at + 0 DESC, seq DESC LIMIT 20"
    ),
    "ends": (
        "SELECT * FROM line_rows WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND lapsed = 0 AND after_minor = :value ORDER BY grew_at + 0 DESC, seq DESC LIMIT 20"
    ),
    "before": (
        "SELECT * FROM line_rows WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND lapsed = 0 AND began_at < :value ORDER BY grew_at + 0 DESC, seq DESC LIMIT 20"
    ),
    "still": (
        "SELECT * FROM line_rows WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND lapsed = 0 AND grew_at < :value ORDER BY grew_at + 0 DESC, seq DESC LIMIT 20"
    ),
}


def rivals(reader: Reader, chain: Chain, which: str, value: int | None) -> list[Row]:
    """Return the rows of a line that are rivals, the newest 20.

    `which` is `begins` or `ends` with the balance `value`, or `before` or `still`: it began, or grew last, before the
    time `value`.
    """
    return reader.every(Row, _RIVALS[which], chain.params(value=value))


def newest_rows(reader: Reader, chain: Chain) -> list[Row]:
    """Return the two rivals that grew last."""
    return reader.every(
        Row,
        "SELECT * FROM line_rows WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider AND lapsed = 0 ORDER BY grew_at DESC, seq DESC LIMIT 2",
        chain.params(),
    )


def row_of(reader: Reader, row_number: int) -> Row | None:
    """Return one row."""
    return reader.first(Row, "SELECT * FROM line_rows WHERE seq = :number", {"number": row_number})


def all_rows(reader: Reader, chain: Chain) -> list[Row]:
    """Return the rows of a line with the lapsed ones, the rivals first and then the newest."""
    return reader.every(
        Row,
        "SELECT * FROM line_rows WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider ORDER BY lapsed, grew_at DESC, seq DESC LIMIT :most",
        chain.params(most=LOOSE_MAX),
    )


def live_rows(reader: Reader, chain: Chain) -> int:
    """Return the number of rows that are rivals."""
    return reader.count(
        "SELECT COUNT(*) FROM line_rows WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider AND lapsed = 0",
        chain.params(),
    )


def of_row(reader: Reader, row: Row) -> list[ChainEntry]:
    """Return the messages of a row in their order."""
    return reader.every(
        ChainEntry,
        "SELECT * FROM line_balances WHERE row_number = :number ORDER BY position, seq",
        {"number": row.number},
    )


def later_in_row(reader: Reader, row: Row, since: int) -> int:
    """Return how many messages of a row came after a time."""
    return reader.count(
        "SELECT COUNT(*) FROM line_balances WHERE row_number = :number AND stored_at > :since",
        {"number": row.number, "since": since},
    )


# --- the messages ----------------------------------------------------------------------------------


class ChainContext(Struct, frozen=True):
    """Stored rows related to an incoming message: the end of its chain, and the rows with its transaction ID.

    Attributes:
        same_id: The entries of its line with its ID, oldest first.
        has_payment: Whether a payment of any network has the ID.
    """

    tail: list[ChainEntry]
    same_id: list[ChainEntry]
    has_payment: bool


def known(reader: Reader, chain: Chain, mode: Mode, telco_id: str | None) -> ChainContext:
    """Return the stored rows related to a message with this transaction ID (trimmed, upper case)."""
    tail = of_chain(reader, chain, TAIL)
    if telco_id is None:
        return ChainContext(tail, [], has_payment=False)
    has_payment = reader.exists(
        "SELECT 1 FROM payments WHERE telco_transaction_id = :telco_id AND mode = :mode AND double_of IS NULL LIMIT 1",
        {"telco_id": telco_id, "mode": mode},
    )
    return ChainContext(tail, with_id(reader, chain, telco_id), has_payment)


def of_chain(reader: Reader, chain: Chain, limit: int) -> list[ChainEntry]:
    """Return the messages at the end of the chain, the newest first."""
    return reader.every(
        ChainEntry,
        "SELECT * FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND standing = 'accepted' AND position IS NOT NULL ORDER BY position DESC, seq DESC LIMIT :limit",
        chain.params(limit=limit),
    )


def gaps(reader: Reader, chain: Chain, since: int) -> list[ChainEntry]:
    """Return the messages of the chain after a gap since a time, the newest first."""
    return reader.every(
        ChainEntry,
        "SELECT * FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND standing = 'accepted' AND gap_minor <> 0 AND at >= :since ORDER BY at DESC, seq DESC LIMIT :most",
        chain.params(since=since, most=GAPS_MAX),
    )


def unpaid_of_chain(reader: Reader, chain: Chain, base: int) -> list[ChainEntry]:
    """Return the receipts of the chain from a place on that wait, oldest first."""
    return reader.every(
        ChainEntry,
        "SELECT * FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND standing = 'accepted' AND position >= :base AND pays = 1 AND EXISTS "
        "(SELECT 1 FROM messages m WHERE m.seq = message_seq AND m.state = 'held' AND m.payment_id IS NULL) ORDER BY position, seq",
        chain.params(base=base),
    )


def loose(reader: Reader, chain: Chain, since: int) -> list[ChainEntry]:
    """Return the messages with a balance beside the chain, stored since a time: candidates and doubtful ones."""
    return reader.every(
        ChainEntry,
        "SELECT * FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND standing IN ('candidate', 'doubtful') AND after_minor IS NOT NULL AND why <> 'person' AND stored_at >= :since "
        "ORDER BY seq DESC LIMIT :most",
        chain.params(since=since, most=LOOSE_MAX),
    )


def doubtful_through(reader: Reader, chain: Chain, smsc: str, since: int) -> list[ChainEntry]:
    """Return the messages that only their service centre makes doubtful, oldest first, stored since a time."""
    return reader.every(
        ChainEntry,
        "SELECT * FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND standing IN ('candidate', 'doubtful') AND standing = 'doubtful' AND why = 'foreign' AND smsc = :smsc "
        "AND stored_at >= :since ORDER BY at, seq LIMIT :most",
        chain.params(smsc=smsc, since=since, most=LOOSE_MAX),
    )


def proved_through(reader: Reader, chain: Chain, smsc: str) -> tuple[int, int, int]:
    """Return how many messages through a foreign centre proofs confirmed, on how many days, and how many the line had since."""
    row = reader.one(
        "SELECT COUNT(*), COUNT(DISTINCT at / :day), MIN(at) FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND smsc = :smsc AND home = 0 AND standing = 'accepted'",
        chain.params(smsc=smsc, day=DAY_US),
    )
    assert row is not None, "an aggregate has one row"
    total = reader.count(
        "SELECT COUNT(*) FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND standing = 'accepted' AND at >= :since",
        chain.params(since=row[2] or 0),
    )
    return int(row[0]), int(row[1]), total


def doubtful_count(reader: Reader, chain: Chain, since: int) -> int:
    """Return how many messages of a line are doubtful since a time, counted up to 1,000."""
    return reader.count(
        "SELECT COUNT(*) FROM (SELECT stored_at FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND standing IN ('candidate', 'doubtful') AND standing = 'doubtful' ORDER BY seq DESC LIMIT :most) newest WHERE stored_at >= :since",
        chain.params(since=since, most=LOOSE_MAX),
    )


def counting(reader: Reader, chain: Chain) -> list[ChainEntry]:
    """Return the receipts that were paid and that nothing has confirmed."""
    return reader.every(
        ChainEntry,
        "SELECT * FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider AND counts > 0 AND counts IN (1, 3)",
        chain.params(),
    )


def confirm(tx: Tx, chain: Chain, base: int, until: int) -> None:
    """Confirm what was paid on the chain between two places, both included."""
    tx.run(
        "UPDATE line_balances SET counts = 0, counts_day = NULL WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND counts > 0 AND counts IN (1, 3) AND standing = 'accepted' AND position >= :base AND position <= :until",
        chain.params(base=base, until=until),
    )


def spend(tx: Tx, chain: Chain, before: int) -> None:
    """Let what was paid until then and was not confirmed count to the limit of its day only; rivals keep counting."""
    tx.run(
        "UPDATE line_balances SET counts = 2 WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider "
        "AND counts > 0 AND counts IN (1, 3) AND stored_at <= :before AND "
        "(row_number IS NULL OR row_number NOT IN (SELECT seq FROM line_rows WHERE lapsed = 0))",
        chain.params(before=before),
    )


def has_chain(reader: Reader, sim_key: str) -> bool:
    """Return whether a balance chain of this SIM has begun."""
    return reader.exists(
        "SELECT 1 FROM line_trust WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND balance IS NOT NULL LIMIT 1",
        {"sim_key": sim_key},
    )


def nearest(reader: Reader, chain: Chain, at: int, window: int) -> list[ChainEntry]:
    """Return up to `window` entries on each side of this time, to show them."""
    params = chain.params(at=at, window=window)
    before = reader.every(
        ChainEntry,
        "SELECT * FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider AND at <= :at ORDER BY at DESC, seq DESC LIMIT :window",
        params,
    )
    after = reader.every(
        ChainEntry,
        "SELECT * FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider AND at > :at ORDER BY at, seq LIMIT :window",
        params,
    )
    return [*before, *after]


def new_entry(message_id: str, **values: Any) -> ChainEntry:
    """Make the entry of a message that is to be judged; it comes after all stored ones."""
    return ChainEntry(key=message_id, seq=LATEST, **values)


def with_id(reader: Reader, chain: Chain, telco_id: str) -> list[ChainEntry]:
    """Return the first entries with this transaction ID (trimmed, upper case), oldest first."""
    return reader.every(
        ChainEntry,
        "SELECT * FROM line_balances WHERE sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) AND provider = :provider AND telco_id = :telco_id ORDER BY seq LIMIT :most",
        chain.params(telco_id=telco_id, most=SAME_ID_MAX),
    )


def of_message(reader: Reader, message_id: str) -> ChainRecord | None:
    """Return the entry of a message; None if it is in no chain."""
    rows = reader.joined(
        "SELECT b.*, s.sim_key, b.provider FROM line_balances b JOIN sims s ON s.seq = b.sim_seq "
        "WHERE b.message_seq = (SELECT seq FROM messages WHERE id = :id)",
        {"id": message_id},
        b=ChainEntry,
    )
    return ChainRecord(Chain(*rows[0][1:]), rows[0][0]) if rows else None


def add(tx: Tx, chain: Chain, entry: ChainEntry) -> None:
    """Store an entry that was judged."""
    tx.run(_ADD, chain.params(**_stored(entry)))


def remove(tx: Tx, message_id: str) -> None:
    """Remove a message that no wording could read from its chain; it is added again with its new reading."""
    tx.run(
        "DELETE FROM line_balances WHERE message_seq = (SELECT seq FROM messages WHERE id = :id) AND pays = 0 AND telco_id IS NULL",
        {"id": message_id},
    )


def forget_rejected(tx: Tx, message_id: str) -> bool:
    """Remove a rejected message from its chain, so that it can be judged anew; return False if it has a place in the chain."""
    tx.run(
        "DELETE FROM line_balances WHERE message_seq = (SELECT seq FROM messages WHERE id = :id) "
        "AND standing NOT IN ('accepted', 'candidate')",
        {"id": message_id},
    )
    return of_message(tx, message_id) is None


def change(tx: Tx, entry: ChainEntry) -> None:
    """Update the judgement of an entry."""
    tx.run(f"{_CHANGE} WHERE message_seq = (SELECT seq FROM messages WHERE id = :key)", _stored(entry))


def _stored(entry: ChainEntry) -> dict[str, Any]:
    return {**asdict(entry), "doubts": json.dumps(entry.doubts), "counts": int(entry.counts)}


def gaps_since(reader: Reader, since: int) -> dict[str, list[ChainEntry]]:
    """Return the entries after an unexplained difference that no operator acknowledged, by SIM key, oldest first."""
    found: dict[str, list[ChainEntry]] = {}
    for entry, sim_key in reader.joined(
        # CROSS starts with the SIMs, so that the index of the gaps is used.
        "SELECT b.*, s.sim_key FROM sims s CROSS JOIN line_balances b WHERE b.sim_seq = s.seq "
        "AND b.provider IN (SELECT value ->> 0 FROM json_each(:providers)) AND b.standing = 'accepted' AND b.gap_minor <> 0 "
        "AND b.at >= :since AND NOT EXISTS (SELECT 1 FROM gaps_known k "
        "WHERE k.message_seq = b.message_seq AND k.gap_minor = b.gap_minor) ORDER BY b.at, b.seq",
        {"since": since, "providers": json_ids(canonical_names())},
        b=ChainEntry,
    ):
        found.setdefault(sim_key, []).append(entry)
    return found


def acknowledge_gap(tx: Tx, entry: ChainEntry, *, notes: str | None, by: str, now: int) -> None:
    """Record that an operator acknowledged the difference before a message; another amount there is a new one."""
    tx.run(
        "INSERT INTO gaps_known (message_seq, gap_minor, notes, known_by, known_at) "
        "VALUES ((SELECT seq FROM messages WHERE id = :id), :gap_minor, :notes, :by, :now) ON CONFLICT (message_seq, gap_minor) DO NOTHING",
        {"id": entry.key, "gap_minor": entry.gap_minor, "notes": notes, "by": by, "now": now},
    )


def held_without_notice(reader: Reader, stored_before: int, limit: int) -> list[ChainEntry]:
    """Return receipts of the chain and of rows that wait unpaid since before `stored_before`, the oldest first.

    No notice mentioned them yet.
    """
    return reader.every(
        ChainEntry,
        "SELECT b.* FROM line_balances b JOIN messages m ON m.seq = b.message_seq "
        "WHERE b.standing IN ('accepted', 'candidate') AND b.pays = 1 AND b.told_at IS NULL AND b.stored_at <= :before "
        "AND b.stored_at >= :since AND m.state = 'held' AND m.payment_id IS NULL ORDER BY b.stored_at, b.seq LIMIT :limit",
        {"before": stored_before, "since": stored_before - _WAITED_US, "limit": limit},
    )


def mark_noticed(tx: Tx, message_id: str, now: int) -> None:
    """Record that a notice mentioned a held receipt."""
    tx.run(
        "UPDATE line_balances SET told_at = :now WHERE message_seq = (SELECT seq FROM messages WHERE id = :id)",
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
        "SELECT smsc, source, message_id, since FROM sim_smscs WHERE sim_key = :sim ORDER BY smsc", {"sim": sim_key}
    )
    found = [KnownSmsc(row[0], SmscSource(row[1]), *row[2:]) for row in rows]
    return sorted(found, key=lambda one: one.since)


def learn_smsc(tx: Tx, sim_key: str, smsc: str, source: SmscSource, message_id: str | None, now: int) -> None:
    """Record an SMSC of a SIM; a home SMSC keeps its first reason."""
    tx.run(
        "INSERT INTO sim_smscs (sim_key, smsc, source, message_id, since) VALUES (:sim, :smsc, :source, :message, :now) "
        "ON CONFLICT (sim_key, smsc) DO UPDATE SET source = excluded.source, message_id = excluded.message_id, "
        "since = excluded.since WHERE sim_smscs.source = 'noticed'",
        {"sim": sim_key, "smsc": smsc, "source": source, "message": message_id, "now": now},
    )


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
