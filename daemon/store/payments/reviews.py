"""Reviews: questions to an operator about held messages and payments, and everything known about each."""

import json
from collections.abc import Collection
from typing import Any, Final

from msgspec.structs import asdict

from daemon.core.messages.message_json import ChainPosition
from daemon.core.model import PaymentMethod, Review, WaitingApproval
from daemon.core.payments.review_json import ReviewEvidence
from daemon.core.text import Text
from daemon.store import journal
from daemon.store.engine import Reader, Tx
from daemon.store.messages import balances, messages
from daemon.store.payments import payments, suggestions, transaction_list, transactions
from daemon.store.rows import Conditions, json_ids
from daemon.wire import Mode, ReviewReason
from parsers.read import PROVIDERS
from parsers.svc_code import candidates

WAITING: Final = "approvals"
"""Woken by every approval that waits."""
OPEN: Final = "open"
"""The state of an undecided review."""


def open_review(
    tx: Tx,
    *,
    review_id: str,
    mode: Mode,
    reason: ReviewReason,
    message_id: str,
    now: int,
    payment_id: str | None = None,
    transaction_id: str | None = None,
    details: dict[str, Any] | None = None,
    shown_with: str | None = None,
    told: dict[str, Any] | None = None,
) -> None:
    """Open a review of a message or payment, and record it in the journal.

    The journal entry belongs to the review's own transaction, or to `shown_with` if the review has none, and contains
    the reason, the doubts about the message if there are any, and the facts in `told`.
    """
    tx.run(
        "INSERT INTO reviews (id, mode, reason, state, message_id, payment_id, transaction_id, details, created_at) "
        "VALUES (:id, :mode, :reason, 'open', :message_id, :payment_id, :transaction_id, :details, :now)",
        {
            "id": review_id,
            "mode": mode,
            "reason": reason,
            "message_id": message_id,
            "payment_id": payment_id,
            "transaction_id": transaction_id,
            "details": _text(details or {}),
            "now": now,
        },
    )
    known = details or {}
    doubts = {"doubts": known["doubts"]} if known.get("doubts") else {}
    data = {"reason": reason, **doubts, **(told or {})}
    journal.add(
        tx,
        "review.opened",
        now,
        transaction_id=transaction_id or shown_with,
        payment_id=payment_id,
        message_id=message_id,
        mode=mode,
        data=data,
    )


def get(reader: Reader, review_id: str, mode: Mode | None) -> Review | None:
    """Return one review; with `mode`, only if it is of that mode."""
    return reader.first(
        Review,
        "SELECT * FROM reviews WHERE id = :id AND (CAST(:mode AS TEXT) IS NULL OR mode = :mode)",
        {"id": review_id, "mode": mode},
    )


def page(
    reader: Reader, *, state: str | None, mode: Mode | None, limit: int, offset: int, branch: str | None = None
) -> tuple[list[Review], int]:
    """Return one page of reviews, newest first, and their total number; None filters nothing; `branch` is a name."""
    conditions = Conditions()
    conditions.by("r.state = :state", state=state)
    conditions.by("r.mode = :mode", mode=mode)
    conditions.by("r.branch_id = (SELECT id FROM branches WHERE name = :branch)", branch=branch)
    found = reader.page(
        "SELECT r.* FROM reviews r", conditions, order="r.seq DESC", limit=limit, offset=offset, r=Review
    )
    return found.rows, found.total


def count_open(reader: Reader, mode: Mode) -> int:
    """Return how many reviews wait for a decision."""
    return reader.count("SELECT COUNT(*) FROM reviews WHERE state = 'open' AND mode = :mode", {"mode": mode})


def next_open(reader: Reader, *, before: int | None, without: Collection[ReviewReason], mode: Mode) -> Review | None:
    """Return the newest open review (with a `seq` below `before`) whose approval does not wait; None if there is none."""
    return reader.first(
        Review,
        "SELECT * FROM reviews WHERE state = 'open' AND mode = :mode "
        "AND id NOT IN (SELECT review_id FROM approvals_waiting) "
        "AND (CAST(:before AS INTEGER) IS NULL OR seq < :before) "
        "AND reason NOT IN (SELECT value ->> 0 FROM json_each(:without)) ORDER BY seq DESC LIMIT 1",
        {"before": before, "without": json_ids(without), "mode": mode},
    )


def last_decided(reader: Reader, by: str, since: int) -> Review | None:
    """Return the newest decision of an operator since a time; None if there is none."""
    return reader.first(
        Review,
        "SELECT * FROM reviews WHERE decided_by = :by AND decided_at >= :since "
        "ORDER BY decided_at DESC, seq DESC LIMIT 1",
        {"by": by, "since": since},
    )


def open_for_payment(reader: Reader, payment_id: str) -> list[Review]:
    """Return the open reviews of a payment."""
    return reader.every(
        Review, "SELECT * FROM reviews WHERE payment_id = :id AND state = 'open' ORDER BY seq", {"id": payment_id}
    )


def of_settlement(reader: Reader, payment_id: str) -> list[Review]:
    """Return the reviews of a payment that its use for a settlement closed."""
    return reader.every(
        Review,
        "SELECT * FROM reviews WHERE payment_id = :payment AND state = 'used_for_settlement' ORDER BY seq",
        {"payment": payment_id},
    )


def open_of_sender_since(reader: Reader, sim_key: str, sender: str, since: int) -> int:
    """Return the number of open reviews of an untrusted sender's messages on a SIM, opened since then."""
    return reader.count(
        "SELECT COUNT(*) FROM messages m JOIN reviews r ON r.message_id = m.id WHERE LOWER(m.sender) = LOWER(:sender) "
        "AND m.sim_key = :sim AND r.state = 'open' AND r.reason IN ('unknown_sender', 'doubtful_message', 'ambiguous_parts') AND r.created_at >= :since",
        {"sim": sim_key, "sender": sender, "since": since},
    )


def had_review(reader: Reader, payment_id: str) -> bool:
    """Return whether a payment has or had a review."""
    return reader.exists("SELECT 1 FROM reviews WHERE payment_id = :id LIMIT 1", {"id": payment_id})


def open_of_reason(
    reader: Reader, reason: ReviewReason, *, created_before: int, after: int, limit: int
) -> list[Review]:
    """Return open reviews of this shop with a reason that were opened before a time, in order, after `after`."""
    return reader.every(
        Review,
        "SELECT * FROM reviews WHERE state = 'open' AND reason = :reason AND created_at < :before "
        "AND branch_id IS NULL AND seq > :after ORDER BY seq LIMIT :limit",
        {"reason": reason, "before": created_before, "after": after, "limit": limit},
    )


def open_for_message(reader: Reader, message_id: str) -> Review | None:
    """Return the open review of a message; there is at most one."""
    return reader.first(Review, "SELECT * FROM reviews WHERE message_id = :id AND state = 'open'", {"id": message_id})


def open_for_transaction(reader: Reader, transaction_id: str) -> list[Review]:
    """Return the open reviews about a transaction."""
    return reader.every(
        Review,
        "SELECT * FROM reviews WHERE state = 'open' AND transaction_id = :id ORDER BY seq",
        {"id": transaction_id},
    )


def held_for(reader: Reader, transaction_id: str) -> str | None:
    """Return the ID of the newest open review about a transaction; None if there is none."""
    found: str | None = reader.value(
        "SELECT id FROM reviews WHERE state = 'open' AND transaction_id = :id ORDER BY seq DESC LIMIT 1",
        {"id": transaction_id},
    )
    return found


def put_waiting(tx: Tx, approval: WaitingApproval) -> None:
    """Let an approval wait."""
    tx.run(
        "INSERT INTO approvals_waiting (review_id, reference, user_name, role, confirmed, due_at) "
        "VALUES (:review_id, :reference, :user_name, :role, :confirmed, :due_at)",
        asdict(approval),
    )
    tx.wake(WAITING)


def drop_waiting(tx: Tx, review_id: str) -> bool:
    """Undo an approval that waits; return False if none does."""
    return tx.changed("DELETE FROM approvals_waiting WHERE review_id = :id", {"id": review_id})


def drop_approval(tx: Tx, approval: WaitingApproval, why: Text | None, now: int) -> None:
    """Drop an approval that waits, and tell why it did nothing; None tells nothing."""
    drop_waiting(tx, approval.review_id)
    review = get(tx, approval.review_id, None)
    if why is not None and review is not None:
        data = {"review_id": review.id, "by": approval.user_name, "why": why}
        journal.add_notice(tx, journal.Notice.APPROVAL_REFUSED, now, review, data=data)


def waiting(reader: Reader, review_id: str) -> WaitingApproval | None:
    """Return the approval of a review that waits; None if none does."""
    return reader.first(WaitingApproval, "SELECT * FROM approvals_waiting WHERE review_id = :id", {"id": review_id})


def next_waiting(reader: Reader) -> WaitingApproval | None:
    """Return the approval that is carried out next; None if none waits."""
    return reader.first(WaitingApproval, "SELECT * FROM approvals_waiting ORDER BY due_at, seq LIMIT 1")


def last_waiting(reader: Reader, user_name: str) -> Review | None:
    """Return the review that a user approved last, while the approval waits; None if there is none."""
    return reader.first(
        Review,
        "SELECT r.* FROM reviews r JOIN approvals_waiting w ON w.review_id = r.id "
        "WHERE w.user_name = :user ORDER BY w.due_at DESC, w.seq DESC LIMIT 1",
        {"user": user_name},
    )


def close(tx: Tx, review_id: str, state: str, *, by: str, now: int, notes: str | None = None) -> bool:
    """Decide an open review; return False if it was decided before. An approval of another user that waits is dropped and told."""
    overtaken = waiting(tx, review_id)
    if overtaken is not None:
        mine = by == f"user:{overtaken.user_name}"
        drop_approval(tx, overtaken, None if mine else Text("approval.overtaken", by=by), now)
    return tx.changed(
        "UPDATE reviews SET state = :state, decided_at = :now, decided_by = :by, notes = :notes "
        "WHERE id = :id AND state = 'open'",
        {"id": review_id, "state": state, "now": now, "by": by, "notes": notes},
    )


def reopen(tx: Tx, review_id: str, payment_id: str | None) -> None:
    """Open a decided review again; without a payment it is about its message."""
    tx.run(
        "UPDATE reviews SET state = 'open', decided_at = NULL, decided_by = NULL, payment_id = :payment_id "
        "WHERE id = :id",
        {"id": review_id, "payment_id": payment_id},
    )


def supersede(tx: Tx, review_id: str, *, by: str, now: int) -> None:
    """Close a rejected review whose decision was taken back: its message or payment was judged again."""
    tx.run(
        "UPDATE reviews SET state = 'superseded', decided_at = :now, decided_by = :by WHERE id = :id",
        {"id": review_id, "by": by, "now": now},
    )


def rejected_with(reader: Reader, review: Review) -> list[Review]:
    """Return the reviews of messages that one rejection decided: this one, and those of the messages settled with it."""
    return reader.every(
        Review,
        "SELECT * FROM reviews WHERE state = 'rejected' AND mode = :mode AND branch_id IS NULL "
        "AND payment_id IS NULL AND decided_at = :at AND decided_by = :by ORDER BY seq",
        {"mode": review.mode, "at": review.decided_at, "by": review.decided_by},
    )


def change_reason(tx: Tx, payment_id: str, reason: ReviewReason) -> None:
    """Change the reason of a payment's open review (a held payment becomes an extra one)."""
    tx.run(
        "UPDATE reviews SET reason = :reason WHERE payment_id = :id AND state = 'open'",
        {"id": payment_id, "reason": reason},
    )


def set_reason(tx: Tx, review_id: str, reason: ReviewReason) -> None:
    """Change the reason of one open review."""
    tx.run("UPDATE reviews SET reason = :reason WHERE id = :id AND state = 'open'", {"id": review_id, "reason": reason})


def set_payment(tx: Tx, review_id: str, payment_id: str) -> None:
    """Record the payment that the review's message made in the end."""
    tx.run("UPDATE reviews SET payment_id = :payment_id WHERE id = :id", {"id": review_id, "payment_id": payment_id})


def _text(details: dict[str, Any]) -> str:
    return json.dumps(details, ensure_ascii=False, separators=(",", ":"))


SHOWN_NEAR: Final = 8
"""Messages of the line to look at on each side; a few of them are shown."""


def evidence_of(reader: Reader, review_id: str, mode: Mode | None, now: int) -> ReviewEvidence | None:
    """Return a review with its evidence, None if there is none with this id and mode."""
    review = get(reader, review_id, mode)
    return None if review is None else _collected(reader, review, now)


def evidence_page(
    reader: Reader,
    *,
    state: str | None,
    mode: Mode | None,
    limit: int,
    offset: int,
    now: int,
    branch: str | None = None,
) -> tuple[list[ReviewEvidence], int]:
    """Return one page of reviews, newest first, and their total number; `state` None is every state."""
    found, total = page(reader, state=state, mode=mode, limit=limit, offset=offset, branch=branch)
    return [_collected(reader, review, now) for review in found], total


def _collected(reader: Reader, review: Review, now: int) -> ReviewEvidence:
    message = messages.get(reader, review.message_id)
    assert message is not None, "a review belongs to a message"
    payment = None if review.payment_id is None else payments.get(reader, review.payment_id)
    transaction = None
    if review.transaction_id is not None:
        transaction = transaction_list.by_id(reader, review.transaction_id, None)
    details = json.loads(review.details)
    other_id = details.get("payment_id")
    # If the other message made a payment, the payment is shown, otherwise the message itself.
    other_message_id = details.get("message_id") if other_id is None else None
    typed = json.loads(message.fields).get("reference") if payment is None else payment.reference_text
    later = waiting(reader, review.id) if review.state == OPEN else None
    near_miss = review.state == OPEN and review.reason == ReviewReason.NEAR_MISS
    place = None
    if (known := balances.of_message(reader, message.id)) is not None:
        near = balances.nearest(reader, known.chain, known.entry.at, SHOWN_NEAR)
        place = ChainPosition(
            known.entry,
            [entry for entry in near if entry.key != known.entry.key],
            PROVIDERS[known.chain.provider].currency,
        )
    return ReviewEvidence(
        review=review,
        message=message,
        # The number that received it, even if it was deleted since.
        line=reader.first(
            PaymentMethod, "SELECT * FROM payment_methods WHERE id = :id", {"id": message.payment_method_id}
        ),
        payment=payment,
        request=transaction,
        pays=None if payment is None else transactions.paid_by(reader, payment.id),
        other_payment=None if other_id is None else payments.get(reader, other_id),
        other_message=None if other_message_id is None else messages.get(reader, other_message_id),
        named=tuple(transactions.by_codes_in_use(reader, review.mode, candidates(str(typed or "")), now)),
        # As of now: transactions may be paid, or made, after the payment came.
        suggestions=tuple(suggestions.suggestions(reader, payment)) if payment and near_miss else (),
        place=place,
        approving_by=None if later is None else f"user:{later.user_name}",
    )
