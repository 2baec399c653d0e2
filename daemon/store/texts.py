"""SMS to payers and the owner, and tests of a modem: an outbox in which each goes out at most once, with its limits.

The limits hold in the commit that queues. Over 300 lines because every statement on the one table is here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from daemon.core import limits
from daemon.core.model import Payment, Transaction
from daemon.core.texting import (
    CODE_FOR_US,
    RECEIPT_FOR_US,
    REPORT_FOR_US,
    TEST_FOR_US,
    Texting,
    TextKind,
    TextLine,
    choose_line,
    code_text,
    receipt_text,
)
from daemon.core.verdict import Verdict
from daemon.store import events
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load, load_all, load_optional
from daemon.wire import Mode

TOPIC: Final = "sms_outbox"
NOTICE_FOR_US: Final = 12 * limits.HOUR_US
"""A notice that could not go out by then is old news."""


@dataclass(frozen=True, slots=True)
class Text:
    """One SMS of the outbox.

    Attributes:
        parts_sent: How many of its parts the network took.
        why: What went wrong last, empty when nothing did.
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


_TEXT = columns(Text)


def owe_code(
    tx: Tx, texting: Texting, new_id: Callable[[], str], request: Transaction, now: int
) -> bool:
    """Queue the SMS with a request's code; False when it gets none, or no line can send it now."""
    number = _wanted(texting, TextKind.CODE, request)
    if number is None or request.expected_minor is None or request.svc_code is None:
        return False
    line = _line(tx, texting, number, now)
    if line is None:
        return False
    body = code_text(
        texting,
        line,
        number=number,
        minor=request.expected_minor,
        currency=request.currency,
        code=request.svc_code,
    )
    until = now + CODE_FOR_US if request.expires_at is None else request.expires_at
    expires_at = min(now + CODE_FOR_US, until)
    return _queue(
        tx,
        request,
        text_id=new_id(),
        kind=TextKind.CODE,
        sim_seq=line.sim_seq,
        number=number,
        body=body,
        expires_at=expires_at,
        now=now,
    )


def owe_receipt(
    tx: Tx,
    texting: Texting,
    text_id: str,
    request: Transaction,
    payment: Payment,
    *,
    verdict: Verdict,
    now: int,
) -> bool:
    """Queue the receipt of a request that was just verified; False as with `owe_code`."""
    number = _wanted(texting, TextKind.RECEIPT, request)
    if number is None or request.svc_code is None:
        return False
    line = _line(tx, texting, number, now)
    if line is None:
        return False
    body = receipt_text(
        texting,
        line,
        verdict,
        minor=payment.amount_minor,
        currency=payment.currency,
        code=request.svc_code,
    )
    expires_at = now + RECEIPT_FOR_US
    return _queue(
        tx,
        request,
        text_id=text_id,
        kind=TextKind.RECEIPT,
        sim_seq=line.sim_seq,
        number=number,
        body=body,
        expires_at=expires_at,
        now=now,
    )


def owe_notice(tx: Tx, texting: Texting, text_id: str, number: str, body: str, now: int) -> bool:
    """Queue an SMS to the owner, under the same limits; False when no line can send it now.

    The same id again is the same SMS: it is queued once.
    """
    if tx.value("SELECT 1 FROM sms_outbox WHERE id = :id", {"id": text_id}) is not None:
        return True
    line = _line(tx, texting, number, now)
    if line is None:
        return False
    return _queue(
        tx,
        None,
        text_id=text_id,
        kind=TextKind.NOTICE,
        sim_seq=line.sim_seq,
        number=number,
        body=body,
        expires_at=now + NOTICE_FOR_US,
        now=now,
    )


def owe_test(
    tx: Tx,
    texting: Texting,
    text_id: str,
    *,
    sim_seq: int,
    number: str,
    body: str,
    actor: str,
    now: int,
) -> bool:
    """Queue an SMS that tests one SIM, with a number or without, under the same limits; False when they are reached."""
    if not _may_get(tx, texting, number, now) or not _may_send(tx, sim_seq, now):
        return False
    return _queue(
        tx,
        None,
        text_id=text_id,
        kind=TextKind.TEST,
        sim_seq=sim_seq,
        number=number,
        body=body,
        expires_at=now + TEST_FOR_US,
        now=now,
        actor=actor,
    )


def _wanted(texting: Texting, kind: TextKind, request: Transaction) -> str | None:
    """Return the number that gets this SMS, None when nobody does."""
    wants = texting.wants(
        kind,
        asked=request.send_sms_to_payer,
        live=request.mode is Mode.LIVE,
        publishable=request.created_with == "publishable",
    )
    return request.phone_number if wants else None


def _line(tx: Tx, texting: Texting, number: str, now: int) -> TextLine | None:
    """Return the line that is to send, None when none is ready or the limits are reached."""
    lines = _ready_lines(tx)
    if not lines or not _may_get(tx, texting, number, now):
        return None
    return choose_line(lines, number, lambda line: _may_send(tx, line.sim_seq, now))


def _may_get(tx: Tx, texting: Texting, number: str, now: int) -> bool:
    most = texting.per_number_hour
    return not most or _count(tx, "number", number, now - limits.HOUR_US) < most


def _may_send(tx: Tx, sim_seq: int, now: int) -> bool:
    hour = _count(tx, "sim_seq", sim_seq, now - limits.HOUR_US)
    day = _count(tx, "sim_seq", sim_seq, now - limits.DAY_US)
    return hour < limits.SMS_PER_SIM_HOUR and day < limits.SMS_PER_SIM_DAY


def _count(tx: Tx, column: str, value: object, since: int) -> int:
    """Count what was queued since then; what never went out does not count."""
    return int(
        tx.value(
            f"SELECT COUNT(*) FROM sms_outbox WHERE {column} = :value AND created_at > :since "
            "AND (status <> 'expired' OR parts_sent > 0)",
            {"value": value, "since": since},
        )
    )


def _ready_lines(tx: Tx) -> list[TextLine]:
    rows = tx.all(
        "SELECT m.sim_seq, s.network, m.phone_number, m.account_name FROM payment_methods m "
        "JOIN sims s ON s.seq = m.sim_seq JOIN devices d ON d.device_id = s.device_id "
        "WHERE m.deleted_at IS NULL AND m.is_active = 1 AND s.present = 1 AND d.present = 1 "
        "AND d.forgotten_at IS NULL ORDER BY m.seq"
    )
    return load_all(TextLine, rows)


def _queue(
    tx: Tx,
    request: Transaction | None,
    *,
    text_id: str,
    kind: TextKind,
    sim_seq: int,
    number: str,
    body: str,
    expires_at: int,
    now: int,
    actor: str = "momo",
) -> bool:
    queued = tx.one(
        "INSERT INTO sms_outbox (id, transaction_id, kind, sim_seq, number, body, status, tries, parts_sent, "
        "next_try_at, expires_at, created_at, why) VALUES (:id, :transaction_id, :kind, :sim_seq, :number, :body, "
        "'queued', 0, 0, :now, :expires_at, :now, '') ON CONFLICT (transaction_id, kind) DO NOTHING RETURNING seq",
        {
            "id": text_id,
            "transaction_id": None if request is None else request.id,
            "kind": kind,
            "sim_seq": sim_seq,
            "number": number,
            "body": body,
            "expires_at": expires_at,
            "now": now,
        },
    )
    if queued is not None:
        about = None if request is None else request.id
        events.add(
            tx,
            type="sms.queued",
            mode=Mode.LIVE,
            at=now,
            actor=actor,
            transaction_id=about,
            data={"kind": kind},
        )
        tx.wake(TOPIC)
    return queued is not None


def _tell(
    tx: Tx, what: str, transaction_id: str | None, kind: TextKind, now: int, **facts: object
) -> None:
    data: dict[str, Any] = {"kind": kind, **facts}
    events.add(tx, type=what, mode=Mode.LIVE, at=now, transaction_id=transaction_id, data=data)


def of_transaction(reader: Reader, transaction_id: str) -> list[Text]:
    """Return the SMS that one request caused, oldest first."""
    return load_all(
        Text,
        reader.all(
            f"SELECT {_TEXT} FROM sms_outbox WHERE transaction_id = :id ORDER BY seq",
            {"id": transaction_id},
        ),
    )


def first_due(tx: Tx, sim_key: str, now: int) -> Text | None:
    """Return the SMS that is due longest on a SIM, None when none is."""
    return load_optional(
        Text,
        tx.one(
            f"SELECT {_TEXT} FROM sms_outbox WHERE status = 'queued' AND next_try_at <= :now "
            "AND sim_seq = (SELECT seq FROM sims WHERE sim_key = :sim_key) "
            "ORDER BY next_try_at, seq LIMIT 1",
            {"sim_key": sim_key, "now": now},
        ),
    )


def begin(tx: Tx, text: Text) -> Text:
    """Write down that an SMS is being sent, before the phone is told; return it as it is now."""
    tx.run(
        "UPDATE sms_outbox SET status = 'sending', tries = tries + 1 WHERE id = :id",
        {"id": text.id},
    )
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
    """Note that the network took a part."""
    tx.run(
        "INSERT INTO sms_outbox_parts (sms_id, part, reference, sent_at) VALUES (:id, :part, :reference, :now)",
        {"id": text_id, "part": part, "reference": reference, "now": now},
    )
    tx.run(
        "UPDATE sms_outbox SET parts_sent = :sent WHERE id = :id", {"id": text_id, "sent": part + 1}
    )


def again(tx: Tx, text_id: str, next_try_at: int, why: str) -> None:
    """Queue an SMS again whose next part did not leave the phone."""
    tx.run(
        "UPDATE sms_outbox SET status = 'queued', next_try_at = :at, why = :why WHERE id = :id",
        {"id": text_id, "at": next_try_at, "why": why},
    )
    tx.wake(TOPIC)


def end(tx: Tx, text: Text, status: str, why: str, now: int) -> None:
    """Write down the last word on an SMS: `sent`, `failed`, `unknown` or `expired`."""
    tx.run(
        "UPDATE sms_outbox SET status = :status, why = :why, ended_at = :now WHERE id = :id",
        {"id": text.id, "status": status, "why": why, "now": now},
    )
    facts = {"why": why} if why else {}
    _tell(tx, f"sms.{status}", text.transaction_id, text.kind, now, **facts)


def get(reader: Reader, text_id: str) -> Text:
    """Return one SMS, which must be there."""
    text = find(reader, text_id)
    assert text is not None, "an SMS is never deleted"
    return text


def find(reader: Reader, text_id: str) -> Text | None:
    """Return one SMS, None when there is none of that id."""
    row = reader.one(f"SELECT {_TEXT} FROM sms_outbox WHERE id = :id", {"id": text_id})
    return None if row is None else load(Text, row)


def sending(reader: Reader) -> list[Text]:
    """Return what was being sent: after a start, what a crash interrupted."""
    return load_all(
        Text, reader.all(f"SELECT {_TEXT} FROM sms_outbox WHERE status = 'sending' ORDER BY seq")
    )


def overdue(reader: Reader, now: int) -> list[Text]:
    """Return what waits and is of no use any more."""
    return load_all(
        Text,
        reader.all(
            f"SELECT {_TEXT} FROM sms_outbox WHERE status = 'queued' AND expires_at <= :now "
            "ORDER BY expires_at LIMIT :most",
            {"now": now, "most": limits.EXPIRE_BATCH},
        ),
    )


def report(tx: Tx, sim_key: str, *, reference: int, number: str, outcome: str, now: int) -> bool:
    """Note what a status report says of a part that went out from a SIM; False when no such part is known."""
    found = tx.one(
        "SELECT o.id, o.transaction_id, o.kind, p.part, p.outcome FROM sms_outbox_parts p "
        "JOIN sms_outbox o ON o.id = p.sms_id JOIN sims s ON s.seq = o.sim_seq "
        "WHERE p.reference = :reference AND p.sent_at > :since AND o.number = :number "
        "AND s.sim_key = :sim_key ORDER BY p.sent_at DESC LIMIT 1",
        {
            "reference": reference,
            "since": now - REPORT_FOR_US,
            "number": number,
            "sim_key": sim_key,
        },
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
        _tell(tx, what, transaction_id, TextKind(kind), now, part=part + 1)
    return True
