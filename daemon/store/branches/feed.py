"""The feed of a branch: which rows changed, written in the commit of the change and read as they are now; and the link to its hub.

Triggers write the feed (`daemon/store/sqlite_file.py`).
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from daemon.core.branches.facts import BYTES_MAX, DAYS_MAX, FACTS_MAX, KEYS, MESSAGE, MODELS, TABLES, DaySum, Fact
from daemon.core.branches.place import Place
from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.model import Message
from daemon.store.engine import Reader, Tx
from daemon.store.rows import column, insertion, json_ids
from daemon.store.sqlite_file import WATCHED
from daemon.wire import Mode, ShopRole

TOPIC = "hub_link"
"""Woken when this shop joins or leaves a hub, and when a payment is handed up: it is sent at once."""
KEPT: Final = 100_000
"""The number of acknowledged entries that are kept, so that a restored hub can ask for them again."""
_SHOWN: Final = {
    "sim": ("sims", "sim_key", "network device_id slot_index present ignored_at not_receiving_since served_by"),
    "device": ("devices", "device_id", "mode name manufacturer model present forgotten_at"),
}
"""Kind -> table, key and columns of facts that are only shown."""
_REFERENCES: Final = {
    "transaction": (("payment_id", "payment"), ("held_payment_id", "payment")),
    "review": (("payment_id", "payment"), ("transaction_id", "transaction")),
}
"""Kind -> the columns that refer to rows of other kinds; messages go along with each fact."""
_MESSAGE: Final = ", ".join(column(Message, name) for name in MESSAGE)
_Key = tuple[str, str]
"""Kind and id."""
_HISTORY: Final = ("method", "payment", "transaction", "review", "reversal", "sim", "device")
"""The kinds of rows of a shop that joins, in the order in which they refer to each other."""


def start(tx: Tx) -> None:
    """Begin to write the feed, for a shop that joins."""
    tx.write_feed(on=True)


def stop(tx: Tx) -> None:
    """Write it no longer, and empty it."""
    tx.write_feed(on=False)
    tx.run("DELETE FROM feed")


def add_everything(tx: Tx) -> tuple[int, int]:
    """Add every row, for a hub that knows none; return the number behind which they begin, and their last one."""
    _first, begin = bounds(tx)
    for kind in _HISTORY:
        table, key = next((table, key) for name, table, key, _ in WATCHED if name == kind)
        order = key if kind == "device" else "seq"
        tx.run(f"INSERT INTO feed (kind, id) SELECT '{kind}', {key} FROM {table} ORDER BY {order}")
    return begin, bounds(tx)[1]


def counts(reader: Reader) -> dict[str, int]:
    """Return the number of rows of each kind that a shop sends when it joins, by the plural of the kind."""
    return {f"{kind}s": reader.count(f"SELECT COUNT(*) FROM {table}") for kind, (table, _names) in TABLES.items()}


def bounds(reader: Reader) -> tuple[int, int]:
    """Return the first and last number, (0, 0) if it is empty."""
    row = reader.one("SELECT MIN(seq), MAX(seq) FROM feed")
    assert row is not None, "an aggregate has one row"
    return row[0] or 0, row[1] or 0


def brings(reader: Reader, now: int) -> list[DaySum]:
    """Return the real payments that are not sent yet, by day, the newest first, if nothing was sent in this epoch or for an hour."""
    found = get_link(reader)
    if found is None or (found.acked_seq != found.begin_seq and now - (found.heard_at or 0) < HOUR_US):
        return []
    rows = reader.all(
        "SELECT telco_at / :day AS day, currency, COUNT(*), SUM(amount_minor) FROM payments WHERE mode = 'live' "
        "AND id IN (SELECT id FROM feed WHERE kind = 'payment' AND seq > :after) "
        "GROUP BY telco_at / :day, currency ORDER BY day DESC, currency",
        {"day": DAY_US, "after": found.acked_seq},
    )
    return [
        DaySum(day=day, mode=Mode.LIVE, currency=currency, count=count, amount_minor=int(amount))
        for day, currency, count, amount in rows[:DAYS_MAX]
    ]


def prune(tx: Tx, acked_seq: int) -> None:
    """Drop entries that were acknowledged long ago, but never the last one: its number must not be used again."""
    tx.run("DELETE FROM feed WHERE seq <= :upto AND seq < (SELECT MAX(seq) FROM feed)", {"upto": acked_seq - KEPT})


def first_entry(reader: Reader, kind: str, row_id: str, after: int) -> int | None:
    """Return the number of the first entry of a row behind `after`; None if there is none."""
    seq: int | None = reader.value(
        "SELECT MIN(seq) FROM feed WHERE seq > :after AND kind = :kind AND id = :id",
        {"after": after, "kind": kind, "id": row_id},
    )
    return seq


class Batch(Struct, frozen=True):
    """The facts of one request.

    Attributes:
        facts: Each row as it is now, after the rows that it refers to.
        upto: The number up to which they cover the feed.
        sent: The number up to which the hub may know rows: some facts are sent before their place in the feed.
        size: Bytes of the facts as JSON.
    """

    facts: Sequence[Fact]
    upto: int
    sent: int
    size: int


def batch(reader: Reader, after: int, *, texts: bool, size_max: int = BYTES_MAX) -> Batch:
    """Return the next facts.

    A row may refer to one that was stored later: an order to the payment that paid it. If the feed has that one further
    behind, it goes along, because the hub could not store the first one without it. Its own place in the feed sends it again.

    Args:
        reader: One snapshot.
        after: The last number that the hub has.
        texts: Send the texts of SMS too.
        size_max: Bytes of the facts as JSON; one fact may be larger.
    """
    entries = reader.all(
        "SELECT seq, kind, id FROM feed WHERE seq > :after ORDER BY seq LIMIT :limit",
        {"after": after, "limit": FACTS_MAX},
    )
    rows = _rows(reader, {(kind, row_id) for _seq, kind, row_id in entries})
    later = _add_references(reader, rows, after)
    texts_of = _messages(reader, rows, texts=texts)
    facts, upto, size = list[Fact](), after, 0
    seen = dict[_Key, int]()
    for seq, kind, row_id in entries:
        place = seen.get((kind, row_id))
        if place is not None:
            # The later number: the hub may have the row as it was at the earlier one.
            facts[place] = replace(facts[place], seq=seq)
            upto = seq
            continue
        together = [
            Fact(0, *key, row, None if row is None else texts_of.get(row.get("message_id", "")))
            for key in _in_order((kind, row_id), rows, seen)
            for row in (rows.get(key),)
        ]
        more = sum(len(msgspec.json.encode((one.row, one.message))) for one in together)
        if facts and (size + more > size_max or len(facts) + len(together) > FACTS_MAX):
            break
        size += more
        for one in together:
            seen[one.kind, one.id] = len(facts)
            facts.append(one)
        facts[-1] = replace(facts[-1], seq=seq)
        upto = seq
    sent = max([upto, *(seq for key, seq in later.items() if key in seen)])
    return Batch([one if one.seq else replace(one, seq=upto) for one in facts], upto, sent, size)


def _references(kind: str, row: Mapping[str, Any] | None) -> Iterator[_Key]:
    for field, other in _REFERENCES.get(kind, ()):
        if row is not None and row[field] is not None:
            yield other, row[field]


def _add_references(reader: Reader, rows: dict[_Key, dict[str, Any]], after: int) -> dict[_Key, int]:
    """Add the rows that the hub may not know, and to which others refer; return their first numbers in the feed."""
    first, new = dict[_Key, int](), rows
    while new:
        wanted = {each for (kind, _id), row in new.items() for each in _references(kind, row)}
        found = _first_entries(reader, wanted - rows.keys(), after)
        new = _rows(reader, set(found))
        rows |= new
        first |= found
    return first


def _first_entries(reader: Reader, wanted: Collection[_Key], after: int) -> dict[_Key, int]:
    found = dict[_Key, int]()
    for kind in {kind for kind, _id in wanted}:
        ids = sorted(row_id for each, row_id in wanted if each == kind)
        rows = reader.all(
            "SELECT id, MIN(seq) FROM feed WHERE kind = :kind AND id IN (SELECT value ->> 0 FROM json_each(:ids)) "
            "AND seq > :after GROUP BY id",
            {"kind": kind, "ids": json_ids(ids), "after": after},
        )
        found |= {(kind, str(row_id)): int(seq) for row_id, seq in rows}
    return found


def _in_order(key: _Key, rows: Mapping[_Key, Mapping[str, Any]], seen: Collection[_Key]) -> list[_Key]:
    """Return a row after the rows that it refers to and that are not in the batch yet."""
    before: list[_Key] = []
    for each in _references(key[0], rows.get(key)):
        if each in rows and each not in seen:
            before += [one for one in _in_order(each, rows, seen) if one not in before]
    return [*before, key]


def _rows(reader: Reader, wanted: set[_Key]) -> dict[_Key, dict[str, Any]]:
    found = dict[_Key, dict[str, Any]]()
    for kind in {kind for kind, _id in wanted}:
        ids = sorted(row_id for each, row_id in wanted if each == kind)
        if kind in TABLES:
            (table, names), key = TABLES[kind], KEYS.get(kind, "id")
            chosen = [column(MODELS[kind], name) for name in names]
        else:
            table, key, columns = _SHOWN[kind]
            names = tuple(columns.split())
            chosen = [*names]
        for key_value, *values in reader.all(
            f"SELECT {key}, {', '.join(chosen)} FROM {table} WHERE {key} IN (SELECT value ->> 0 FROM json_each(:ids))",
            {"ids": json_ids(ids)},
        ):
            found[kind, str(key_value)] = dict(zip(names, values, strict=True))
    return found


def _messages(reader: Reader, rows: dict[tuple[str, str], dict[str, Any]], *, texts: bool) -> dict[str, dict[str, Any]]:
    ids = sorted({str(row["message_id"]) for row in rows.values() if row.get("message_id")})
    if not ids:
        return {}
    found = {}
    for values in reader.all(
        f"SELECT {_MESSAGE} FROM messages WHERE id IN (SELECT value ->> 0 FROM json_each(:ids))", {"ids": json_ids(ids)}
    ):
        row = dict(zip(MESSAGE, values, strict=True))
        if not texts:
            row["body"] = None if row["body"] is None else ""
        if row["state"] == "payment":
            row["fields"] = "{}"  # the payment has them
        found[row["id"]] = row
    return found


KEY_PURPOSE = "hub-key"
"""The purpose under which the key is sealed."""
DECIDED = "decided"
"""The kind of a command that only reports the hub's decision about a payment."""


class HubLink(Struct, frozen=True):
    """The link; see the table `hub_link`."""

    branch_id: str
    name: str
    url: str
    spki: str
    key_sealed: str
    decides: str
    epoch: int
    turn: int
    acked_seq: int
    sent_seq: int
    heard_at: int | None
    problem: str
    begin_seq: int | None = None
    must_renew: bool = False


_ADD_LINK = insertion("hub_link", HubLink, id="1")


def get_link(reader: Reader) -> HubLink | None:
    """Return the link; None if this shop is not a branch."""
    return reader.first(HubLink, "SELECT * FROM hub_link WHERE id = 1")


def link_place(reader: Reader) -> Place:
    """Return the role of this shop."""
    role = reader.value("SELECT role FROM shop WHERE id = 1")
    found = get_link(reader)
    return Place(ShopRole(role or ShopRole.ALONE), "all" if found is None else found.decides)


def replace_link(tx: Tx, link: HubLink) -> None:
    """Store the link in place of an earlier one."""
    tx.run("DELETE FROM hub_link")
    tx.run(_ADD_LINK, asdict(link))


def remove_link(tx: Tx) -> None:
    """Forget the hub; the outcomes of its commands are kept, and what it has, for a shop that joins again."""
    tx.run(
        "INSERT INTO hub_left (branch_id, epoch, acked_seq) SELECT branch_id, epoch, acked_seq FROM hub_link WHERE id = 1 "
        "ON CONFLICT (branch_id) DO UPDATE SET epoch = excluded.epoch, acked_seq = excluded.acked_seq"
    )
    tx.run("DELETE FROM hub_link")


def left_at(reader: Reader, branch_id: str) -> tuple[int, int]:
    """Return the epoch and how far its hub had the feed when this shop left as this branch; zeros if it never was it."""
    row = reader.one("SELECT epoch, acked_seq FROM hub_left WHERE branch_id = :id", {"id": branch_id})
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def set_role(tx: Tx, role: ShopRole) -> None:
    """Set the role of this shop."""
    tx.run("UPDATE shop SET role = :role WHERE id = 1", {"role": role})


def begin_turn(tx: Tx, turn: int, sent_seq: int) -> None:
    """Record a request before it is sent, so that its number is never used again."""
    tx.run(
        "UPDATE hub_link SET turn = :turn, sent_seq = CASE WHEN sent_seq > :seq THEN sent_seq ELSE :seq END",
        {"turn": turn, "seq": sent_seq},
    )


def end_turn(tx: Tx, acked_seq: int, now: int) -> None:
    """Record the hub's answer."""
    tx.run("UPDATE hub_link SET acked_seq = :seq, heard_at = :now, problem = ''", {"seq": acked_seq, "now": now})


def set_problem(tx: Tx, problem: str) -> None:
    """Record why the hub did not take a request."""
    tx.run("UPDATE hub_link SET problem = :why WHERE problem <> :why", {"why": problem})


def mark_restored(tx: Tx, problem: str) -> bool:
    """Stop a branch that was restored from a copy from sending, until it has the hub's rows; return whether it is a branch."""
    tx.run("UPDATE hub_link SET must_renew = 1, problem = :why", {"why": problem})
    return tx.exists("SELECT 1 FROM hub_link")


def new_epoch(tx: Tx, epoch: int, acked_seq: int, sent_seq: int) -> None:
    """Begin an epoch, in which the feed is sent from behind `acked_seq`; up to `sent_seq` the hub may know it already."""
    tx.run(
        "UPDATE hub_link SET epoch = :epoch, turn = 0, acked_seq = :acked, sent_seq = :sent, problem = '', "
        "begin_seq = :acked, must_renew = 0",
        {"epoch": epoch, "acked": acked_seq, "sent": sent_seq},
    )


def outcome_of(reader: Reader, command_id: str) -> dict[str, Any] | None:
    """Return the outcome of a command; None if it is new."""
    found = reader.value("SELECT outcome FROM hub_commands WHERE id = :id", {"id": command_id})
    return None if found is None else dict(json.loads(found))


def add_outcome(tx: Tx, command: Mapping[str, Any], outcome: Mapping[str, Any], now: int) -> dict[str, Any]:
    """Store the outcome of a command and return it, or the outcome of the first time if it was carried out before.

    Of its body only a decision is read again; others have numbers and texts, which are not kept.
    """
    tx.run(
        "INSERT INTO hub_commands (id, kind, subject, body, outcome, done_at) "
        "VALUES (:id, :kind, :subject, :body, :outcome, :now) ON CONFLICT (id) DO NOTHING",
        {
            "id": command["id"],
            "kind": command["kind"],
            "subject": command["subject"],
            "body": json.dumps(command["body"] if command["kind"] == DECIDED else {}),
            "outcome": json.dumps(outcome),
            "now": now,
        },
    )
    kept = outcome_of(tx, str(command["id"]))
    assert kept is not None, "it was stored"
    return kept


def add_decisions(tx: Tx, rows: Iterable[Mapping[str, Any]], now: int) -> None:
    """Store decisions of the hub that this branch was told before it was restored."""
    for row in rows:
        body = {name: row.get(name) for name in ("status", "reference", "origin", "same_as")}
        command = {"id": row["id"], "kind": DECIDED, "subject": row["subject"], "body": body}
        add_outcome(tx, command, {"done": True}, now)


def was_claimed(reader: Reader, payment_id: str) -> bool:
    """Return whether the hub asked for a payment."""
    return reader.exists("SELECT 1 FROM hub_commands WHERE subject = :id AND kind = 'claim'", {"id": payment_id})


def decision_about(reader: Reader, payment_id: str) -> dict[str, Any] | None:
    """Return the hub's newest decision about a payment that was handed up; None if it has not said."""
    found = reader.value(
        "SELECT body FROM hub_commands WHERE subject = :id AND kind = :kind ORDER BY seq DESC LIMIT 1",
        {"id": payment_id, "kind": DECIDED},
    )
    return None if found is None else dict(json.loads(found))


def handed_up(reader: Reader) -> tuple[int, int]:
    """Return the number of payments handed up, and of those that the hub has not decided, as far as the branch knows."""
    row = reader.one(
        "SELECT COUNT(*), SUM(CASE WHEN EXISTS (SELECT 1 FROM hub_commands c WHERE c.subject = p.id "
        "AND c.kind = :kind) THEN 0 ELSE 1 END) FROM payments p WHERE p.standing = 'handed'",
        {"kind": DECIDED},
    )
    assert row is not None, "an aggregate has one row"
    return int(row[0]), int(row[1] or 0)


def rewind_link(tx: Tx, acked_seq: int) -> None:
    """Send the feed again from here: the hub lost the later entries."""
    tx.run("UPDATE hub_link SET acked_seq = :seq", {"seq": acked_seq})
