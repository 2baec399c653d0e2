"""What people look at: transactions, messages and the day, filtered, counted and a page at a time.

A request that is past its time counts as EXPIRED here even before the sweep says so, in filters and in totals alike
(decisions.md section 2). A holder whose payment went to a request is in no list.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from daemon.core.model import Event, Message
from daemon.store.engine import Reader
from daemon.store.pages import Narrowed, page
from daemon.store.rows import columns, load
from daemon.store.transaction_list import BOTH, JOINED, Found, found_in
from daemon.wire import MessageState, Mode

_MESSAGE = f"{columns(Message, 'm.')}, pm.phone_number"
_WITH_LINE = "messages m LEFT JOIN payment_methods pm ON pm.id = m.payment_method_id"


def by_id(reader: Reader, transaction_id: str, mode: Mode | None) -> Found | None:
    """Return one transaction by its UUID."""
    return _one(reader, "t.id = :id", {"id": transaction_id}, mode)


def by_code(reader: Reader, svc_code: str, mode: Mode | None) -> Found | None:
    """Return the newest request that has or had this code."""
    holders = "t.id IN (SELECT transaction_id FROM svc_codes WHERE mode IN ('live', 'test') AND code = :code)"
    return _one(reader, holders, {"code": svc_code}, mode)


def by_client_reference(
    reader: Reader, client_reference: str, mode: Mode | None, *, now: int
) -> tuple[Found | None, int]:
    """Return the best request with the caller's own reference, and how many there are.

    Verified ones come first, then open ones, then the newest. Requests made with a publishable key do not count:
    anybody can make those.
    """
    where = (
        "t.client_reference = :reference AND t.created_with <> 'publishable' "
        "AND (:mode IS NULL OR t.mode = :mode)"
    )
    params = {"reference": client_reference, "mode": mode, "now": now}
    matches = int(reader.value(f"SELECT COUNT(*) FROM transactions t WHERE {where}", params))
    row = reader.one(
        f"SELECT {BOTH} FROM {JOINED} WHERE {where} "
        "ORDER BY CASE WHEN t.status IN ('SUCCESS', 'PARTIAL', 'OVERPAID') THEN 0 "
        "WHEN t.status = 'MANUAL_REVIEW' OR (t.status = 'PENDING' AND t.expires_at > :now) THEN 1 "
        "ELSE 2 END, t.seq DESC LIMIT 1",
        params,
    )
    return None if row is None else found_in(row), matches


def _one(reader: Reader, where: str, params: dict[str, Any], mode: Mode | None) -> Found | None:
    row = reader.one(
        f"SELECT {BOTH} FROM {JOINED} WHERE {where} "
        "AND (:mode IS NULL OR t.mode = :mode) ORDER BY t.seq DESC LIMIT 1",
        {**params, "mode": mode},
    )
    return None if row is None else found_in(row)


# The queue --------------------------------------------------------------------------------------------


def queue(reader: Reader) -> dict[str, int]:
    """Count what is owed, what was given up, and the dead letters that nobody has dealt with."""
    counts = dict(
        reader.all(
            "SELECT status, COUNT(*) FROM deliveries WHERE next_attempt_at IS NOT NULL "
            "GROUP BY status"
        )
    )
    # Every failed delivery has its dead letter, and there are few of those.
    failed = reader.value(
        "SELECT COUNT(*) FROM dead_letters l JOIN deliveries d ON d.id = l.delivery_id "
        "WHERE d.status = 'failed'"
    )
    dead = reader.value(
        "SELECT COUNT(*) FROM dead_letters WHERE resolved_at IS NULL AND replayed_at IS NULL"
    )
    return {
        "pending": int(counts.get("pending", 0)),
        "retrying": int(counts.get("retrying", 0)),
        "failed": int(failed),
        "dead_letters": int(dead),
    }


def waiting_by_endpoint(reader: Reader) -> dict[str, int]:
    """Count what waits for each endpoint."""
    return dict(
        reader.all(
            "SELECT endpoint_id, COUNT(*) FROM deliveries WHERE next_attempt_at IS NOT NULL "
            "GROUP BY endpoint_id"
        )
    )


# Messages -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """What a list of SMS is narrowed to.

    Attributes:
        line: A merchant number (E.164) or a payment method's id.
        sender: As the message has it; capitals do not matter.
        since: First `received_at`.
    """

    state: MessageState | None = None
    line: str | None = None
    sender: str | None = None
    since: int | None = None


def messages(
    reader: Reader, wanted: MessageFilter, *, limit: int, offset: int
) -> tuple[list[tuple[Message, str | None]], int]:
    """Return one page of SMS with the merchant number each came to, newest first, and how many in all."""
    narrowed = Narrowed()
    narrowed.by("m.state = :state", state=wanted.state)
    narrowed.by("(pm.phone_number = :line OR pm.id = :line)", line=wanted.line)
    narrowed.by("LOWER(m.sender) = LOWER(:sender)", sender=wanted.sender)
    narrowed.by("m.received_at >= :since", since=wanted.since)
    rows, total = page(
        reader,
        narrowed,
        columns=_MESSAGE,
        source=_WITH_LINE,
        order="m.seq DESC",
        limit=limit,
        offset=offset,
    )
    return [(load(Message, row[:-1]), row[-1]) for row in rows], total


def message(reader: Reader, message_id: str) -> tuple[Message, str | None] | None:
    """Return one SMS with the merchant number it came to."""
    row = reader.one(f"SELECT {_MESSAGE} FROM {_WITH_LINE} WHERE m.id = :id", {"id": message_id})
    return None if row is None else (load(Message, row[:-1]), row[-1])


def message_of_part(reader: Reader, sim_key: str, sha256: str) -> str | None:
    """Return the id of the SMS that a part belongs to."""
    found: str | None = reader.value(
        "SELECT message_id FROM sms_parts WHERE sim_key = :sim_key AND sha256 = :sha256",
        {"sim_key": sim_key, "sha256": sha256},
    )
    return found


# The journal --------------------------------------------------------------------------------------------


def events_with_transactions(
    reader: Reader, events: Iterable[Event]
) -> list[tuple[Event, Found | None]]:
    """Join lines of the journal with the transactions they are about, as those are now."""
    known: dict[str, Found | None] = {}
    joined: list[tuple[Event, Found | None]] = []
    for event in events:
        key = event.transaction_id
        if key is not None and key not in known:
            known[key] = by_id(reader, key, None)
        joined.append((event, None if key is None else known[key]))
    return joined


# Today --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Today:
    """The live day so far.

    Attributes:
        verified: (status, currency) -> how many requests, and how much was received for them.
    """

    verified: dict[tuple[str, str], tuple[int, int]]
    waiting: int
    review: int


def today(reader: Reader, since: int, now: int) -> Today:
    """Count the day that began at `since`."""
    verified = reader.all(
        "SELECT t.status, p.currency, COUNT(*), SUM(p.amount_minor) FROM transactions t "
        "JOIN payments p ON p.id = t.payment_id WHERE t.completed_at >= :since AND t.mode = 'live' "
        "AND t.origin = 'request' GROUP BY t.status, p.currency",
        {"since": since},
    )
    waiting = reader.value(
        "SELECT COUNT(*) FROM transactions WHERE status = 'PENDING' AND expires_at > :now "
        "AND mode = 'live'",
        {"now": now},
    )
    review = reader.value("SELECT COUNT(*) FROM reviews WHERE state = 'open' AND mode = 'live'")
    return Today(
        {(status, currency): (number, minor) for status, currency, number, minor in verified},
        int(waiting),
        int(review),
    )
