"""The link of a branch to its hub: address and key, how far the feed was sent, and the commands of the hub."""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from daemon.core.branches.place import Place
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns
from daemon.wire import ShopRole

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


_LINK = columns(HubLink)


def get(reader: Reader) -> HubLink | None:
    """Return the link; None if this shop is not a branch."""
    return reader.first(HubLink, "SELECT * FROM hub_link WHERE id = 1")


def place(reader: Reader) -> Place:
    """Return the role of this shop."""
    role = reader.value("SELECT role FROM shop WHERE id = 1")
    found = get(reader)
    return Place(ShopRole(role or ShopRole.ALONE), "all" if found is None else found.decides)


def replace(tx: Tx, link: HubLink) -> None:
    """Store the link in place of an earlier one."""
    tx.run("DELETE FROM hub_link")
    names = _LINK.split(", ")
    tx.run(
        f"INSERT INTO hub_link (id, {_LINK}) VALUES (1, {', '.join(':' + name for name in names)})",
        {name: getattr(link, name) for name in names},
    )


def remove(tx: Tx) -> None:
    """Forget the hub; the outcomes of its commands are kept, and what it has, for a shop that joins again."""
    tx.run(
        "INSERT INTO hub_left (branch_id, epoch, acked_seq) SELECT branch_id, epoch, acked_seq FROM hub_link WHERE id = 1 "
        "ON CONFLICT (branch_id) DO UPDATE SET epoch = excluded.epoch, acked_seq = excluded.acked_seq"
    )
    tx.run("DELETE FROM hub_link")


def left_at(reader: Reader, branch_id: str) -> tuple[int, int]:
    """Return the epoch and how far its hub had the feed when this shop left as this branch; zeros if it never was it."""
    row = reader.one(
        "SELECT epoch, acked_seq FROM hub_left WHERE branch_id = :id", {"id": branch_id}
    )
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
    tx.run(
        "UPDATE hub_link SET acked_seq = :seq, heard_at = :now, problem = ''",
        {"seq": acked_seq, "now": now},
    )


def set_problem(tx: Tx, problem: str) -> None:
    """Record why the hub did not take a request."""
    tx.run("UPDATE hub_link SET problem = :why WHERE problem <> :why", {"why": problem})


def new_epoch(tx: Tx, epoch: int, acked_seq: int, sent_seq: int) -> None:
    """Begin an epoch, in which the feed is sent from behind `acked_seq`; up to `sent_seq` the hub may know it already."""
    tx.run(
        "UPDATE hub_link SET epoch = :epoch, turn = 0, acked_seq = :acked, sent_seq = :sent, problem = '', "
        "begin_seq = :acked",
        {"epoch": epoch, "acked": acked_seq, "sent": sent_seq},
    )


def outcome_of(reader: Reader, command_id: str) -> dict[str, Any] | None:
    """Return the outcome of a command; None if it is new."""
    found = reader.value("SELECT outcome FROM hub_commands WHERE id = :id", {"id": command_id})
    return None if found is None else dict(json.loads(found))


def add_outcome(
    tx: Tx, command: Mapping[str, Any], outcome: Mapping[str, Any], now: int
) -> dict[str, Any]:
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


def was_claimed(reader: Reader, payment_id: str) -> bool:
    """Return whether the hub asked for a payment."""
    return reader.exists(
        "SELECT 1 FROM hub_commands WHERE subject = :id AND kind = 'claim'", {"id": payment_id}
    )


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


def rewind(tx: Tx, acked_seq: int) -> None:
    """Send the feed again from here: the hub lost the later entries."""
    tx.run("UPDATE hub_link SET acked_seq = :seq", {"seq": acked_seq})
