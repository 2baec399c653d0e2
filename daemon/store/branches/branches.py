"""The branches of a hub: their names and keys, how far they have sent, and the hub's commands to them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from daemon.core.branches.facts import EPOCH, Fact
from daemon.core.limits import DAY_US, HOUR_US
from daemon.store.engine import Reader, Tx
from daemon.store.rows import by_number, json_ids, numbered
from parsers.money import render

TOPIC = "branch_commands"
"""Woken by a new command."""


class Branch(Struct, frozen=True):
    """A branch; see the table `branches`."""

    seq: int
    id: str
    name: str
    decides: str
    status: str
    key_id: str | None
    invite_sha256: str | None
    invite_until: int | None
    epoch: int
    turn: int
    turn_sha256: str | None
    turn_answer: str | None
    acked_seq: int
    last_heard_at: int | None
    version: str | None
    clock_off_us: int | None
    told_at: int | None
    brings_at: int | None
    brings: str
    created_at: int


class BranchCommand(Struct, frozen=True):
    """Something that the hub asks of a branch; `body` and `outcome` are JSON objects."""

    seq: int
    id: str
    branch_id: str
    kind: str
    subject: str
    body: str
    made_by: str
    made_at: int
    sent_at: int | None
    done_at: int | None
    outcome: str | None


def every(reader: Reader) -> list[Branch]:
    """Return all branches by name."""
    return reader.every(Branch, "SELECT * FROM branches ORDER BY name")


def names(reader: Reader) -> dict[str, str]:
    """Return the names of all branches by id, in the order of their names."""
    return dict(reader.all("SELECT id, name FROM branches ORDER BY name"))


def get(reader: Reader, branch_id: str) -> Branch | None:
    """Return one branch by its id."""
    return reader.first(Branch, "SELECT * FROM branches WHERE id = :id", {"id": branch_id})


def named(reader: Reader, name: str) -> Branch | None:
    """Return one branch by its name."""
    return reader.first(Branch, "SELECT * FROM branches WHERE name = :name", {"name": name})


def with_key(reader: Reader, key_id: str) -> Branch | None:
    """Return the branch that this API key belongs to."""
    return reader.first(Branch, "SELECT * FROM branches WHERE key_id = :id", {"id": key_id})


def invited(reader: Reader, sha256: str, now: int) -> Branch | None:
    """Return the branch with this open invitation."""
    return reader.first(
        Branch,
        "SELECT * FROM branches WHERE invite_sha256 = :sha256 AND invite_until > :now",
        {"sha256": sha256, "now": now},
    )


def invite(tx: Tx, *, branch_id: str, name: str, decides: str, sha256: str, until: int, now: int) -> None:
    """Store an invitation; a branch that exists keeps its rows and may join once more."""
    tx.run(
        "INSERT INTO branches (id, name, decides, status, invite_sha256, invite_until, epoch, turn, acked_seq, created_at) "
        "VALUES (:id, :name, :decides, 'invited', :sha256, :until, 0, 0, 0, :now) ON CONFLICT (name) DO UPDATE SET "
        "decides = excluded.decides, invite_sha256 = excluded.invite_sha256, invite_until = excluded.invite_until",
        {"id": branch_id, "name": name, "decides": decides, "sha256": sha256, "until": until, "now": now},
    )


def join(tx: Tx, branch_id: str, key_id: str, epoch: int) -> None:
    """Let a branch begin an epoch with a new key; its invitation is used up."""
    tx.run(
        "UPDATE branches SET status = 'joined', key_id = :key, invite_sha256 = NULL, invite_until = NULL, "
        "epoch = :epoch, turn = 0, turn_sha256 = NULL, acked_seq = 0 WHERE id = :id",
        {"id": branch_id, "key": key_id, "epoch": epoch},
    )


def forget_key(tx: Tx, branch_id: str) -> None:
    """Take no request with the key of a branch any more."""
    tx.run("UPDATE branches SET key_id = NULL WHERE id = :id", {"id": branch_id})


def withdraw_invitations(tx: Tx) -> int:
    """Remove the branches, none of which has ever joined, with what was asked of them; return their number."""
    tx.run("DELETE FROM branch_commands")
    tx.run("UPDATE transactions SET made_for = NULL WHERE made_for IS NOT NULL")
    return len(tx.all("DELETE FROM branches WHERE epoch = 0 RETURNING id"))


def count_unconfirmed(tx: Tx, branch_id: str, minor: int, *, day: int, limit: int) -> bool:
    """Count money on a new SIM or number if the branch has not more than `limit` of it on this day; return whether it is counted."""
    today = "CASE WHEN unconfirmed_day = :day THEN unconfirmed_minor ELSE 0 END + :minor"
    return tx.changed(
        f"UPDATE branches SET unconfirmed_minor = {today}, unconfirmed_day = :day WHERE id = :id AND {today} <= :limit",
        {"id": branch_id, "minor": minor, "day": day, "limit": limit},
    )


def confirm_sims(tx: Tx, branch_id: str) -> None:
    """Let the SIMs and numbers of a branch be as those that it has had for long."""
    tx.run("UPDATE branch_sims SET since = 0 WHERE branch_id = :id", {"id": branch_id})


def set_status(tx: Tx, branch_id: str, status: str) -> None:
    """Set the status."""
    tx.run("UPDATE branches SET status = :status WHERE id = :id", {"id": branch_id, "status": status})


def set_told(tx: Tx, branch_id: str, now: int) -> None:
    """Record when people were told that two machines send as a branch."""
    tx.run("UPDATE branches SET told_at = :now WHERE id = :id", {"id": branch_id, "now": now})


def set_epoch(tx: Tx, branch_id: str, epoch: int, acked_seq: int) -> None:
    """Follow a branch that was restored. Its new epoch ends a dispute: it has taken the hub's rows."""
    tx.run(
        "UPDATE branches SET epoch = :epoch, turn = 0, turn_sha256 = NULL, acked_seq = :seq, "
        "status = CASE WHEN status = 'disputed' THEN 'joined' ELSE status END WHERE id = :id",
        {"id": branch_id, "epoch": epoch, "seq": acked_seq},
    )


def heard(tx: Tx, branch_id: str, *, turn: int, sha256: str, version: str, now: int, clock_off_us: int) -> None:
    """Record a request, with the hash of its body."""
    tx.run(
        "UPDATE branches SET turn = :turn, turn_sha256 = :sha256, turn_answer = NULL, last_heard_at = :now, "
        "version = :version, clock_off_us = :off WHERE id = :id",
        {"id": branch_id, "turn": turn, "sha256": sha256, "now": now, "version": version, "off": clock_off_us},
    )


def set_brings(tx: Tx, branch_id: str, brings: str, now: int) -> None:
    """Record what a branch is about to send: JSON of `facts.DaySum`."""
    tx.run(
        "UPDATE branches SET brings = :brings, brings_at = :now WHERE id = :id",
        {"id": branch_id, "brings": brings, "now": now},
    )


MARKS_KEPT_US: Final = 92 * DAY_US
"""How long a hub knows when rows came."""


def mark(tx: Tx, branch: Branch, now: int) -> None:
    """Record at the first request of an hour how far the copies of a branch had come with the last one before it."""
    if branch.last_heard_at is None or branch.last_heard_at // HOUR_US == now // HOUR_US:
        return
    tx.run(
        "INSERT INTO branch_marks (branch_id, at, version) VALUES (:id, :at, :version) ON CONFLICT (branch_id, at) DO NOTHING",
        {"id": branch.id, "at": branch.last_heard_at, "version": branch.epoch * EPOCH + branch.acked_seq},
    )
    tx.run(
        "DELETE FROM branch_marks WHERE branch_id = :id AND at < :before",
        {"id": branch.id, "before": now - MARKS_KEPT_US},
    )


def doubt(tx: Tx, branch: Branch, since: int, *, by: str, now: int) -> tuple[int, int]:
    """Distrust the rows that came since a time; return the versions between which they are.

    They begin at the last mark before that time, so up to an hour earlier, and with the first row of all without such a mark.
    """
    after = tx.value(
        "SELECT MAX(version) FROM branch_marks WHERE branch_id = :id AND at <= :since",
        {"id": branch.id, "since": since},
    )
    between = (int(after or 0), (branch.epoch + 1) * EPOCH)
    tx.run(
        "DELETE FROM branch_sims WHERE branch_id = :id AND since >= :since", {"id": branch.id, "since": since - HOUR_US}
    )
    tx.run(
        "INSERT INTO branch_doubts (branch_id, after_version, until_version, since, made_by, made_at) "
        "VALUES (:id, :after, :until, :since, :by, :now)",
        {"id": branch.id, "after": between[0], "until": between[1], "since": since, "by": by, "now": now},
    )
    return between


def trusted(table: str) -> str:
    """Return the SQL condition for the copies of a table that nobody distrusts."""
    return (
        f"NOT EXISTS (SELECT 1 FROM branch_doubts d WHERE d.branch_id = {table}.branch_id "
        f"AND {table}.version > d.after_version AND {table}.version < d.until_version)"
    )


def acknowledge(tx: Tx, branch_id: str, seq: int, answer: str) -> None:
    """Record that everything up to this number is stored, and the answer to the last request, as JSON."""
    tx.run(
        "UPDATE branches SET acked_seq = :seq, turn_answer = :answer WHERE id = :id",
        {"id": branch_id, "seq": seq, "answer": answer},
    )


def ask(
    tx: Tx,
    command_id: str,
    branch_id: str,
    kind: str,
    subject: str,
    body: Mapping[str, Any],
    *,
    by: str,
    now: int,
    again: bool = False,
) -> bool:
    """Ask a branch for something; return False if the same was asked and is not answered yet, unless `again`."""
    if not again and open_command(tx, kind, subject) is not None:
        return False
    tx.run(
        "INSERT INTO branch_commands (id, branch_id, kind, subject, body, made_by, made_at) "
        "VALUES (:id, :branch_id, :kind, :subject, :body, :by, :now)",
        {
            "id": command_id, "branch_id": branch_id, "kind": kind, "subject": subject,
            "body": json.dumps(body), "by": by, "now": now,
        },
    )  # fmt: skip
    tx.wake(TOPIC)
    return True


def open_command(reader: Reader, kind: str, subject: str) -> BranchCommand | None:
    """Return the command of this kind about a row that was not answered yet."""
    return reader.first(
        BranchCommand,
        "SELECT * FROM branch_commands WHERE subject = :subject AND kind = :kind AND done_at IS NULL",
        {"subject": subject, "kind": kind},
    )


def last_command(reader: Reader, kind: str, subject: str) -> BranchCommand | None:
    """Return the newest command of this kind about a row."""
    return reader.first(
        BranchCommand,
        "SELECT * FROM branch_commands WHERE subject = :subject AND kind = :kind ORDER BY seq DESC LIMIT 1",
        {"subject": subject, "kind": kind},
    )


def commands_for(reader: Reader, branch_id: str, limit: int) -> list[BranchCommand]:
    """Return the commands that a branch has not answered, oldest first."""
    return reader.every(
        BranchCommand,
        "SELECT * FROM branch_commands WHERE branch_id = :id AND done_at IS NULL ORDER BY seq LIMIT :limit",
        {"id": branch_id, "limit": limit},
    )


def has_open_commands(reader: Reader, key_id: str) -> bool:
    """Return whether anything is asked of the branch with this API key."""
    return reader.exists(
        "SELECT 1 FROM branch_commands WHERE done_at IS NULL "
        "AND branch_id = (SELECT id FROM branches WHERE key_id = :key)",
        {"key": key_id},
    )


def note_sent(tx: Tx, commands: Iterable[BranchCommand], now: int) -> None:
    """Record that commands are in an answer."""
    for command in commands:
        if command.sent_at is None:
            tx.run("UPDATE branch_commands SET sent_at = :now WHERE id = :id", {"id": command.id, "now": now})


def change_command(tx: Tx, command_id: str, body: Mapping[str, Any], by: str, now: int) -> None:
    """Ask for something else with a command that was not sent yet."""
    tx.run(
        "UPDATE branch_commands SET body = :body, made_by = :by, made_at = :now WHERE id = :id AND sent_at IS NULL",
        {"id": command_id, "body": json.dumps(body), "by": by, "now": now},
    )


def answer(tx: Tx, branch_id: str, command_id: str, outcome: Mapping[str, Any], now: int) -> BranchCommand | None:
    """Record the outcome of a command of this branch; None if it has one already, or it is not its command.

    The number and text of an SMS, and the number of a payer whose data was erased, are not kept.
    """
    return tx.first(
        BranchCommand,
        "UPDATE branch_commands SET done_at = :now, outcome = :outcome, "
        "body = CASE WHEN kind IN ('send_sms', 'forget_payer') THEN '{}' ELSE body END "
        "WHERE id = :id AND branch_id = :branch_id AND done_at IS NULL RETURNING *",
        {"id": command_id, "branch_id": branch_id, "outcome": json.dumps(outcome), "now": now},
    )


def refuse(tx: Tx, branch_id: str, fact: Fact, version: int, *, why: str, now: int, program: str) -> bool:
    """Keep a fact that this version of the program cannot store; return False if it is kept already."""
    body = {"row": fact.row, "message": fact.message}
    return tx.changed("INSERT INTO facts_refused (branch_id, version, kind, id, why, body, at, tried_with) "
            "VALUES (:branch, :version, :kind, :id, :why, :body, :now, :program) ON CONFLICT (branch_id, version) DO NOTHING", {
                "branch": branch_id, "version": version, "kind": fact.kind, "id": fact.id,
                "why": why, "body": json.dumps(body), "now": now, "program": program,
            })  # fmt: skip


def was_told(reader: Reader, branch_id: str, why: str, since: int) -> bool:
    """Return whether the last fact of a branch that was refused, if it was since then, was refused for the same reason."""
    last = reader.one(
        "SELECT why, at FROM facts_refused WHERE branch_id = :id AND version = (SELECT MAX(version) FROM facts_refused WHERE branch_id = :id)",
        {"id": branch_id},
    )
    return last is not None and last[0] == why and last[1] >= since


def refused_by_none(tx: Tx, branch_id: str) -> None:
    """Let all kept facts of a branch be tried once more."""
    tx.run("UPDATE facts_refused SET tried_with = '' WHERE branch_id = :id", {"id": branch_id})


def refused_by_others(reader: Reader, program: str, limit: int) -> list[tuple[str, int, Fact]]:
    """Return kept facts that this version of the program has not tried, each with its branch and epoch, oldest first."""
    rows = reader.all(
        "SELECT branch_id, version, kind, id, body FROM facts_refused WHERE tried_with <> :program "
        "ORDER BY branch_id, version, id LIMIT :limit",
        {"program": program, "limit": limit},
    )
    found = []
    for branch_id, version, kind, row_id, text in rows:
        body = json.loads(text)
        fact = Fact(version % EPOCH, kind, row_id, body["row"], body["message"])
        found.append((str(branch_id), version // EPOCH, fact))
    return found


def of_kinds(reader: Reader, kinds: Sequence[str], limit: int) -> list[tuple[str, int, Fact]]:
    """Return facts of these kinds that are only shown, because an older version did not know the kind.

    Each has its branch and version.
    """
    rows = reader.all(
        "SELECT branch_id, version, kind, id, body, message FROM branch_facts "
        "WHERE kind IN (SELECT value ->> 0 FROM json_each(:kinds)) ORDER BY branch_id, kind, id LIMIT :limit",
        {"kinds": json_ids(kinds), "limit": limit},
    )
    return [
        (branch_id, version, Fact(version % EPOCH, kind, row_id, json.loads(row), json.loads(message or "null")))
        for branch_id, version, kind, row_id, row, message in rows
    ]


def refuse_unknown(tx: Tx, facts: Sequence[tuple[str, int, Fact]], now: int) -> None:
    """Move facts that are only shown to the refused ones, which each version of the program tries once."""
    for branch_id, version, fact in facts:
        refuse(tx, branch_id, fact, version, why="its kind was not known", now=now, program="")
    tx.run_for_each(
        "DELETE FROM branch_facts WHERE branch_id = ? AND kind = ? AND id = ?",
        [[branch_id, fact.kind, fact.id] for branch_id, _version, fact in facts],
    )


def refuse_again(tx: Tx, branch_id: str, version: int, why: str, program: str) -> None:
    """Record that this version of the program cannot store a kept fact either."""
    tx.run(
        "UPDATE facts_refused SET why = :why, tried_with = :program WHERE branch_id = :branch AND version = :version",
        {"branch": branch_id, "version": version, "why": why, "program": program},
    )


def forget_refused(tx: Tx, branch_id: str, version: int) -> None:
    """Drop a kept fact that was stored after all."""
    tx.run(
        "DELETE FROM facts_refused WHERE branch_id = :branch AND version = :version",
        {"branch": branch_id, "version": version},
    )


def refused_since(reader: Reader, since: int) -> list[tuple[str, int, str]]:
    """Return for each branch with refused facts since a time: its name, their number, and the newest reason."""
    rows = reader.all(
        "SELECT b.name, COUNT(*), MAX(CASE WHEN f.version = (SELECT MAX(n.version) FROM facts_refused n "
        "WHERE n.branch_id = b.id AND n.at >= :since) THEN f.why END) "
        "FROM facts_refused f JOIN branches b ON b.id = f.branch_id "
        "WHERE f.at >= :since GROUP BY b.id, b.name ORDER BY b.name",
        {"since": since},
    )
    return [(str(row[0]), int(row[1]), str(row[2])) for row in rows]


_COUNTS: Final[Mapping[str, str]] = {
    "open_reviews": "SELECT COUNT(*) FROM reviews WHERE branch_id = :id AND state = 'open' AND mode = 'live'",
    "waiting": "SELECT COUNT(*) FROM payments WHERE branch_id = :id AND decider = 'hub' AND standing <> 'used' AND mode = 'live'",
    "refused": "SELECT COUNT(*) FROM facts_refused WHERE branch_id = :id",
    "asked": "SELECT COUNT(*) FROM branch_commands WHERE branch_id = :id AND done_at IS NULL",
}
"""What is counted of a branch. Nothing that grows for ever: a hub has millions of payments."""


def counts(reader: Reader, branch_id: str) -> dict[str, int]:
    """Return the open reviews of a branch, its payments for the hub to decide, and what was refused or waits for an answer."""
    return {name: reader.count(sql, {"id": branch_id}) for name, sql in _COUNTS.items()}


def decisions(reader: Reader, branch_id: str, after: int, limit: int) -> tuple[list[dict[str, Any]], int | None]:
    """Return the decisions that this branch was told, in their order, with `seq` of the last one if more follow."""
    rows = reader.all(
        "SELECT seq, id, subject, body FROM branch_commands WHERE branch_id = :id AND kind = 'decided' AND seq > :after "
        "ORDER BY seq LIMIT :limit",
        {"id": branch_id, "after": after, "limit": limit},
    )
    found = [{"version": 0, "id": row[1], "subject": row[2], **json.loads(row[3])} for row in rows]
    return found, int(rows[-1][0]) if len(rows) == limit else None


def lost_orders(reader: Reader, branch_id: str) -> list[dict[str, str]]:
    """Return what a branch remembers of orders that this hub lost with a restore, and that were paid.

    The branch named them when the hub wanted to give their payments back. A payment that an order has again is not among
    them.
    """
    rows = reader.all(
        "SELECT p.id, e.data, p.currency, p.amount_minor FROM events e CROSS JOIN payments p "
        "WHERE e.type = 'notice.order_lost' AND e.payment_seq > 0 AND p.seq = e.payment_seq AND p.branch_id = :id "
        "AND p.standing <> 'used' ORDER BY e.payment_seq",
        {"id": branch_id},
    )
    return [
        {
            "payment_id": str(payment_id), "reference": str(json.loads(data)["reference"]),
            "amount": render(int(minor), str(currency)), "currency": str(currency),
        }
        for payment_id, data, currency, minor in rows
    ]  # fmt: skip


def takings(reader: Reader, branch_id: str, since: int) -> list[tuple[str, int, int]]:
    """Return number and sum of a branch's payments since a time in each currency; a sum in minor units, without those taken back."""
    rows = reader.all(
        "SELECT currency, COUNT(*), SUM(CASE WHEN reversed_at IS NULL THEN amount_minor ELSE 0 END) FROM payments "
        "WHERE branch_id = :id AND stored_at >= :since AND mode = 'live' AND (double_of IS NULL OR double_of <> id) "
        "GROUP BY currency ORDER BY currency",
        {"id": branch_id, "since": since},
    )
    return [(str(currency), int(count), int(minor)) for currency, count, minor in rows]


def handed_and_unused(reader: Reader, branch_id: str) -> list[str]:
    """Return the payments that a branch handed up and that paid no transaction of the hub."""
    return reader.column(
        "SELECT id FROM payments WHERE branch_id = :id AND decider = 'hub' AND standing <> 'used' ORDER BY seq",
        {"id": branch_id},
    )


_UNKNOWN: Final = 0
"""In place of the number of a row that is not stored; no column takes it."""
_NUMBERS: Final = {
    "messages": "SELECT id, seq FROM messages WHERE id IN (members)",
    "payment_methods": "SELECT id, seq FROM payment_methods WHERE id IN (members)",
    "payments": "SELECT id, seq FROM payments WHERE id IN (members)",
    "transactions": "SELECT id, seq FROM transactions WHERE id IN (members)",
}
"""Table -> the numbers of its rows; the tables that `rows.by_number` names for the rows of a branch."""
Row = Mapping[str, Any]


class Numbers:
    """The numbers of rows by table and id, each looked up once, those of a table together."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[str, dict[str, int]] = {}

    def learn(self, table: str, found: Iterable[tuple[str, int]]) -> None:
        """Remember numbers that were read already."""
        self._known.setdefault(table, {}).update(found)

    def has(self, table: str, row_id: str) -> bool:
        """Return whether the number of a row is known."""
        return row_id in self._known.get(table, {})

    def stored(self, model: type[Struct], rows: Sequence[Row]) -> list[Row]:
        """Return rows with the columns of their table in place of the fields of a model."""
        referred = by_number(model)
        for table in set(referred.values()):
            names = [name for name, of in referred.items() if of == table]
            known = self._known.setdefault(table, {})
            ids = {row[name] for row in rows for name in names if row.get(name)}
            if missing := ids - known.keys():
                known.update(self._reader.all_among(_NUMBERS[table], missing))

        found = list[Row]()
        for row in rows:
            stored = dict[str, Any]()
            for name, value in row.items():
                if name not in referred:
                    stored[name] = value
                elif value is None:
                    stored[numbered(name)] = None
                else:
                    stored[numbered(name)] = self._known[referred[name]].get(value, _UNKNOWN)
            found.append(stored)
        return found
