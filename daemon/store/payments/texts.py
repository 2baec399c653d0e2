"""The outbox of SMS to payers and the owner, and of modem tests; each is sent at most once, within limits.

The commit that queues an SMS checks the limits.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from daemon.core.limits import DAY_US, EXPIRE_BATCH, HOUR_US
from daemon.core.model import Payment, Transaction
from daemon.core.payments.matching import Verdict
from daemon.core.payments.payer_texts import (
    CODE_TTL_US,
    RECEIPT_TTL_US,
    REPORT_MATCH_US,
    TEST_TTL_US,
    Texting,
    TextKind,
    TextLine,
    choose_line,
    code_text,
    receipt_text,
)
from daemon.store import journal
from daemon.store.engine import Reader, Tx
from daemon.store.rows import load
from daemon.wire import Mode

SMS_PER_SIM_HOUR: Final = 30
SMS_PER_SIM_DAY: Final = 200
"""Limit of one SIM, so that its network does not take the shop for a spammer."""
TOPIC: Final = "sms_outbox"
_READY_LINES: Final = (
    "SELECT m.sim_seq, s.network, m.phone_number, m.account_name, "
    "(SELECT COUNT(*) FROM sms_outbox WHERE number = :number AND created_at > :hour "
    "AND (status <> 'expired' OR parts_sent > 0)), "
    "(SELECT COUNT(*) FROM sms_outbox WHERE sim_seq = m.sim_seq AND created_at > :hour "
    "AND (status <> 'expired' OR parts_sent > 0)), "
    "(SELECT COUNT(*) FROM sms_outbox WHERE sim_seq = m.sim_seq AND created_at > :day "
    "AND (status <> 'expired' OR parts_sent > 0)) "
    "FROM payment_methods m JOIN sims s ON s.seq = m.sim_seq JOIN devices d ON d.device_id = s.device_id "
    "WHERE m.mode = 'live' AND m.deleted_at IS NULL AND m.is_active = 1 AND s.present = 1 AND d.present = 1 "
    "AND d.forgotten_at IS NULL ORDER BY m.seq"
)
NOTICE_VALID_US: Final = 12 * HOUR_US
"""A notice that could not be sent by then is outdated."""


class PayerText(Struct, frozen=True):
    """One SMS of the outbox.

    Attributes:
        parts_sent: Number of parts that the network accepted.
        why: The last error, empty if there is none.
    """

    seq: int
    id: str
    transaction_id: str | None
    kind: TextKind
    sim_seq: int
    number: str
    body: str
    status: str
    tries: int
    parts_sent: int
    next_try_at: int
    expires_at: int
    created_at: int
    ended_at: int | None
    why: str


def queue_code(
    tx: Tx,
    texting: Texting,
    new_id: Callable[[], str],
    transaction: Transaction,
    now: int,
    *,
    asked_by: str | None = None,
) -> bool:
    """Queue the SMS with a transaction's code; return False if it gets none, or no line can send it now.

    With `asked_by` it is queued once more, because this actor asked for it.
    """
    kind = TextKind.CODE if asked_by is None else TextKind.CODE_AGAIN
    number = transaction.phone_number
    if asked_by is None:
        number = _wanted(texting, kind, transaction)
    if number is None or transaction.expected_minor is None or transaction.svc_code is None:
        return False
    line = _line(tx, texting, number, now)
    if line is None:
        return False
    body = code_text(
        texting, line, number=number, minor=transaction.expected_minor, currency=transaction.currency,
        code=transaction.svc_code,
    )  # fmt: skip
    until = now + CODE_TTL_US if transaction.expires_at is None else transaction.expires_at
    end, about, by = min(now + CODE_TTL_US, until), transaction.id, asked_by or "momo"
    return _queue(tx, kind, new_id(), number, body, end, about=about, sim_seq=line.sim_seq, now=now, actor=by)


def queue_receipt(
    tx: Tx, texting: Texting, text_id: str, transaction: Transaction, payment: Payment, *, verdict: Verdict, now: int
) -> bool:
    """Queue the receipt of a transaction that was just verified; return False as `queue_code` does."""
    number = _wanted(texting, TextKind.RECEIPT, transaction)
    if number is None or transaction.svc_code is None:
        return False
    line = _line(tx, texting, number, now)
    if line is None:
        return False
    body = receipt_text(
        texting, line, verdict, minor=payment.amount_minor, currency=payment.currency, code=transaction.svc_code
    )
    end, about = now + RECEIPT_TTL_US, transaction.id
    return _queue(tx, TextKind.RECEIPT, text_id, number, body, end, about=about, sim_seq=line.sim_seq, now=now)


def queue_notice(tx: Tx, texting: Texting, text_id: str, number: str, body: str, now: int) -> bool:
    """Queue an SMS to the owner, under the same limits; return False if no line can send it now.

    An SMS with the same id is queued only once.
    """
    if tx.exists("SELECT 1 FROM sms_outbox WHERE id = :id", {"id": text_id}):
        return True
    line = _line(tx, texting, number, now)
    if line is None:
        return False
    end = now + NOTICE_VALID_US
    return _queue(tx, TextKind.NOTICE, text_id, number, body, end, about=None, sim_seq=line.sim_seq, now=now)


def queue_test(
    tx: Tx, texting: Texting, text_id: str, *, sim_seq: int, number: str, body: str, actor: str, now: int
) -> bool:
    """Queue a test SMS for one SIM, with a merchant number or without; return False if the limits are reached."""
    params = {"sim": sim_seq, "hour": now - HOUR_US, "day": now - DAY_US}
    counts = tx.one(
        "SELECT COUNT(*) FILTER (WHERE created_at > :hour), COUNT(*) FROM sms_outbox "
        "WHERE sim_seq = :sim AND created_at > :day AND (status <> 'expired' OR parts_sent > 0)",
        params,
    )
    assert counts is not None, "an aggregate has one row"
    if not may_receive(tx, texting, number, now) or not _is_below_limits(*counts):
        return False
    end, kind = now + TEST_TTL_US, TextKind.TEST
    return _queue(tx, kind, text_id, number, body, end, about=None, sim_seq=sim_seq, now=now, actor=actor)


def _wanted(texting: Texting, kind: TextKind, transaction: Transaction) -> str | None:
    """Return the number that gets this SMS, None if it is not wanted."""
    due = texting.at in {"both", "request" if kind is TextKind.CODE else "verified"}
    allowed = texting.public or transaction.created_with != "publishable"
    asked = transaction.send_sms_to_payer and transaction.mode is Mode.LIVE
    return transaction.phone_number if due and allowed and asked else None


def _line(tx: Tx, texting: Texting, number: str, now: int) -> TextLine | None:
    """Return the line to send from, None if none is ready or the limits are reached."""
    rows = tx.all(_READY_LINES, {"number": number, "hour": now - HOUR_US, "day": now - DAY_US})
    # The SMS sent to the number within an hour, and those from a line's SIM within an hour and a day.
    lines = [(load(TextLine, row[:4]), row[4], row[5:7]) for row in rows]
    most = texting.per_number_hour
    if not lines or (most and lines[0][1] >= most):
        return None
    sent = {line.sim_seq: counts for line, _, counts in lines}
    return choose_line([line for line, _, _ in lines], number, lambda line: _is_below_limits(*sent[line.sim_seq]))


def may_receive(tx: Tx, texting: Texting, number: str, now: int) -> bool:
    """Return whether a number has had fewer SMS within an hour than the limit."""
    most = texting.per_number_hour
    return not most or most > tx.count(
        "SELECT COUNT(*) FROM sms_outbox WHERE number = :number AND created_at > :since "
        "AND (status <> 'expired' OR parts_sent > 0)",
        {"number": number, "since": now - HOUR_US},
    )


def _is_below_limits(in_hour: int, in_day: int) -> bool:
    return in_hour < SMS_PER_SIM_HOUR and in_day < SMS_PER_SIM_DAY


def _queue(
    tx: Tx,
    kind: TextKind,
    text_id: str,
    number: str,
    body: str,
    expires_at: int,
    *,
    about: str | None,
    sim_seq: int,
    now: int,
    actor: str = "momo",
) -> bool:
    queued = tx.one(
        "INSERT INTO sms_outbox (id, transaction_id, kind, sim_seq, number, body, status, tries, parts_sent, "
        "next_try_at, expires_at, created_at, why) VALUES (:id, :transaction_id, :kind, :sim_seq, :number, :body, "
        "'queued', 0, 0, :now, :expires_at, :now, '') ON CONFLICT (transaction_id, kind) DO NOTHING RETURNING seq",
        {
            "id": text_id,
            "transaction_id": about,
            "kind": kind,
            "sim_seq": sim_seq,
            "number": number,
            "body": body,
            "expires_at": expires_at,
            "now": now,
        },
    )
    if queued is not None:
        _record(tx, "sms.queued", about, kind, now, actor)
        tx.wake(TOPIC)
    return queued is not None


def _record(
    tx: Tx, what: str, about: str | None, kind: TextKind, now: int, actor: str = "momo", **facts: object
) -> None:
    data = {"kind": kind, **facts}
    journal.add(tx, what, now, actor=actor, transaction_id=about, data=data)


def of_transaction(reader: Reader, transaction_id: str) -> list[PayerText]:
    """Return the SMS of one transaction, oldest first."""
    return reader.every(
        PayerText, "SELECT * FROM sms_outbox WHERE transaction_id = :id ORDER BY seq", {"id": transaction_id}
    )


def first_due(tx: Tx, sim_key: str, now: int) -> PayerText | None:
    """Return the SMS of a SIM that has been due longest, None if none is due."""
    return tx.first(
        PayerText,
        "SELECT * FROM sms_outbox WHERE status = 'queued' AND next_try_at <= :now "
        "AND sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) "
        "ORDER BY next_try_at, seq LIMIT 1",
        {"sim_key": sim_key, "now": now},
    )


def begin(tx: Tx, text: PayerText) -> PayerText:
    """Record that an SMS is being sent, before the phone gets it; return it as it is now."""
    tx.run("UPDATE sms_outbox SET status = 'sending', tries = tries + 1 WHERE id = :id", {"id": text.id})
    return get(tx, text.id)


def next_due(reader: Reader, sim_key: str) -> int | None:
    """Return when the next SMS of a SIM is due, None when none waits."""
    at = reader.value(
        "SELECT MIN(next_try_at) FROM sms_outbox WHERE status = 'queued' "
        "AND sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key)",
        {"sim_key": sim_key},
    )
    return None if at is None else int(at)


def part_sent(tx: Tx, text_id: str, part: int, reference: int | None, now: int) -> None:
    """Record that the network accepted a part."""
    tx.run(
        "INSERT INTO sms_outbox_parts (sms_id, part, reference, sent_at) VALUES (:id, :part, :reference, :now)",
        {"id": text_id, "part": part, "reference": reference, "now": now},
    )
    tx.run("UPDATE sms_outbox SET parts_sent = :sent WHERE id = :id", {"id": text_id, "sent": part + 1})


def retry_later(tx: Tx, text_id: str, next_try_at: int, why: str) -> None:
    """Queue an SMS again after its next part was not sent."""
    tx.run(
        "UPDATE sms_outbox SET status = 'queued', next_try_at = :at, why = :why WHERE id = :id",
        {"id": text_id, "at": next_try_at, "why": why},
    )
    tx.wake(TOPIC)


def end(tx: Tx, text: PayerText, status: str, why: str, now: int) -> None:
    """Record the final status of an SMS: `sent`, `failed`, `unknown` or `expired`."""
    tx.run(
        "UPDATE sms_outbox SET status = :status, why = :why, ended_at = :now WHERE id = :id",
        {"id": text.id, "status": status, "why": why, "now": now},
    )
    facts = {"why": why} if why else {}
    _record(tx, f"sms.{status}", text.transaction_id, text.kind, now, **facts)


def get(reader: Reader, text_id: str) -> PayerText:
    """Return one SMS, which must exist."""
    text = find(reader, text_id)
    assert text is not None, "an SMS is never deleted"
    return text


def find(reader: Reader, text_id: str) -> PayerText | None:
    """Return one SMS, None if there is none with that id."""
    return reader.first(PayerText, "SELECT * FROM sms_outbox WHERE id = :id", {"id": text_id})


def last_sent_at(reader: Reader, sim_seq: int) -> int | None:
    """Return when the last SMS that the network accepted from this SIM was queued, None if there is none."""
    at: int | None = reader.value(
        "SELECT created_at FROM sms_outbox WHERE sim_seq = :sim AND parts_sent > 0 "
        "ORDER BY created_at DESC, seq DESC LIMIT 1",
        {"sim": sim_seq},
    )
    return at


def sending(reader: Reader) -> list[PayerText]:
    """Return the SMS being sent; at start, those that a crash interrupted."""
    return reader.every(PayerText, "SELECT * FROM sms_outbox WHERE status = 'sending' ORDER BY seq")


def overdue(reader: Reader, now: int) -> list[PayerText]:
    """Return queued SMS that have expired."""
    return reader.every(
        PayerText,
        "SELECT * FROM sms_outbox WHERE status = 'queued' AND expires_at <= :now ORDER BY expires_at, seq LIMIT :most",
        {"now": now, "most": EXPIRE_BATCH},
    )


def report(tx: Tx, sim_key: str, *, reference: int, number: str, outcome: str, now: int) -> bool:
    """Record the status report of a part sent from a SIM; return False if no such part is known."""
    found = tx.one(
        "SELECT o.id, o.transaction_id, o.kind, p.part, p.outcome FROM sms_outbox_parts p "
        "JOIN sms_outbox o ON o.id = p.sms_id JOIN sims s ON s.seq = o.sim_seq "
        "WHERE p.reference = :reference AND p.sent_at > :since AND o.number = :number "
        "AND s.sim_key = :sim_key ORDER BY p.sent_at DESC, p.part DESC, o.seq DESC LIMIT 1",
        {"reference": reference, "since": now - REPORT_MATCH_US, "number": number, "sim_key": sim_key},
    )
    if found is None:
        return False
    text_id, transaction_id, kind, part, before = found
    if before == outcome:
        return True
    tx.run(
        "UPDATE sms_outbox_parts SET outcome = :outcome WHERE sms_id = :id AND part = :part",
        {"id": text_id, "part": part, "outcome": outcome},
    )
    if outcome != "trying":
        what = "sms.delivered" if outcome == "delivered" else "sms.undelivered"
        _record(tx, what, transaction_id, TextKind(kind), now, part=part + 1)
    return True
