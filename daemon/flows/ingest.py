"""Take in what a phone read: store every part, and when a message is whole, let it be money or not.

One call is one write transaction. Only when it has returned may the slots be emptied (invariant 1). A message that
trips a fault of ours is stored raw and shown as unparsed: it must neither be lost nor stop the ones behind it.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from daemon.core import matching, trust
from daemon.core.ids import new_uuid
from daemon.core.limits import MESSAGE_CHARACTERS_MAX
from daemon.core.model import Message, Payment, PaymentMethod, Sim
from daemon.core.requests import ReadPart, Source
from daemon.env import Env
from daemon.modem import parts as joining
from daemon.modem import pdu as codec
from daemon.modem.pdu_fields import SenderType
from daemon.modem.pdu_values import Deliver, Garbled
from daemon.store import (
    events,
    messages,
    payment_methods,
    payments,
    presence,
    reviews,
    settle,
    transactions,
)
from daemon.store.engine import Tx
from daemon.wire import MessageState, Mode, ReviewReason
from parsers import reading as readings
from parsers import svc_code
from parsers.read import PROVIDERS, provider_of_network, read
from parsers.telco_id import normalize_telco_id

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

PAYING_KINDS = frozenset(
    {readings.Kind.PAYMENT_RECEIVED, readings.Kind.MERCHANT_PAYMENT, readings.Kind.CASH_IN}
)
"""Only money that came in can pay."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one call took in, for the log.

    Attributes:
        new_parts: Parts not seen before.
        concluded: (message id, state) of each message that became whole.
        faults: Sentences about faults of ours; the messages are stored and unparsed.
    """

    new_parts: int
    concluded: tuple[tuple[str, MessageState], ...]
    faults: tuple[str, ...]


async def ingest(env: Env, source: Source, parts: Sequence[ReadPart]) -> Ingested:
    """Store parts durably and conclude the messages they complete.

    Raises:
        Unavailable: The disk is full; nothing was stored and nothing may be deleted from the phone.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> Ingested:
        intake = _Intake(env, tx, source, now)
        for part in parts:
            intake.take(part)
        return Ingested(intake.new_parts, tuple(intake.concluded), ())

    try:
        return await env.store.write(job)
    except (AssertionError, LookupError, TypeError, ValueError, ArithmeticError) as fault:
        return await _ingest_one_by_one(env, source, parts, now, fault)


async def _ingest_one_by_one(
    env: Env,
    source: Source,
    parts: Sequence[ReadPart],
    now: int,
    fault: Exception,
) -> Ingested:
    """Store each part alone, the one that trips a fault without reading it."""
    new_parts, concluded, faults = 0, list[tuple[str, MessageState]](), [repr(fault)]
    for part in parts:

        def job(tx: Tx, part: ReadPart = part) -> _Intake:
            intake = _Intake(env, tx, source, now)
            intake.take(part)
            return intake

        def store_only(tx: Tx, part: ReadPart = part) -> _Intake:
            intake = _Intake(env, tx, source, now)
            intake.take_unread(part, "internal_error")
            return intake

        try:
            intake = await env.store.write(job)
        except (AssertionError, LookupError, TypeError, ValueError, ArithmeticError) as error:
            faults.append(repr(error))
            intake = await env.store.write(store_only)
        new_parts += intake.new_parts
        concluded += intake.concluded
    return Ingested(new_parts, tuple(concluded), tuple(faults))


class _Intake:
    """One write transaction's work on the parts of one SIM."""

    def __init__(self, env: Env, tx: Tx, source: Source, now: int) -> None:
        self.env = env
        self.outbox = env.outbox
        self.tx = tx
        self.source = source
        self.now = now
        self.mode = Mode.TEST if source.test else Mode.LIVE
        self.new_parts = 0
        self.concluded: list[tuple[str, MessageState]] = []
        sim = presence.sim(tx, source.sim_key)
        assert sim is not None, "the loop stores the SIM before it hands over its messages"
        self.sim: Sim = sim
        self.line: PaymentMethod | None = payment_methods.on_sim(tx, sim.seq)

    # Parts ------------------------------------------------------------------------------------------

    def take(self, part: ReadPart) -> None:
        """Store one part and, when it completes a message, conclude that."""
        sha256 = _digest(part.pdu)
        if messages.has_part(self.tx, self.source.sim_key, sha256):
            return
        value = codec.decode(part.pdu, tpdu_length=part.tpdu_length)
        if not isinstance(value, Deliver):
            why = (
                value.why
                if isinstance(value, Garbled)
                else f"not a received SMS: {type(value).__name__}"
            )
            self.take_unread(part, f"garbled: {why}")
            return
        sent_at = None if value.sent_at is None else (value.sent_at - _EPOCH) // _MICROSECOND
        key = joining.key_of(self.source.sim_key, value)
        if key is None:
            message_id = self._add_message(value, sent_at, total=1)
            self._add_part(part, value.pdu, sha256, message_id, 1, sent_at)
            self._conclude(message_id, value, value.text, sent_at)
            return
        known = messages.under_key(
            self.tx,
            sim_key=key.iccid,
            sender=key.sender,
            width=key.width,
            reference=key.reference,
            total=key.total,
        )
        stored = [messages.parts_of(self.tx, message.id) for message in known]
        place = joining.place([_as_parts(rows) for rows in stored], joining.part_of(value))
        if place.fit is joining.Fit.REPEAT:
            return  # the network delivered this part again, by another service centre
        assert value.concat is not None
        position = value.concat.position
        if place.index is None:
            message_id = self._add_message(value, sent_at, total=key.total)
            have: list[tuple[int, str, int | None]] = []
        else:
            message = known[place.index]
            message_id, have = message.id, stored[place.index]
            messages.count_part(self.tx, message_id)
        self._add_part(part, value.pdu, sha256, message_id, position, sent_at)
        have = [*have, (position, value.pdu, sent_at)]
        if joining.is_whole(key.total, (row[0] for row in have)):
            have.sort(key=lambda row: row[0])
            body = joining.join_pdus([row[1] for row in have])
            self._conclude(message_id, value, body, have[0][2])

    def take_unread(self, part: ReadPart, why: str) -> None:
        """Store a part that cannot be read, as a message of its own that a person can look at."""
        sha256 = _digest(part.pdu)
        if messages.has_part(self.tx, self.source.sim_key, sha256):
            return
        message_id = self._add_message(None, None, total=1)
        self._add_part(part, part.pdu, sha256, message_id, 1, None)
        self._write(message_id, _Outcome(MessageState.UNPARSED, reasons=[why]), body=None)

    def _add_part(
        self,
        part: ReadPart,
        pdu: str,
        sha256: str,
        message_id: str,
        position: int,
        sent_at: int | None,
    ) -> None:
        """Store a part; `pdu` is normalised to begin with its SMSC field, so that it decodes alone."""
        self.new_parts += 1
        messages.add_part(
            self.tx,
            {
                "sim_key": self.source.sim_key,
                "sha256": sha256,
                "pdu": pdu,
                "message_id": message_id,
                "position": position,
                "sent_at": sent_at,
                "storage": part.storage,
                "slot": part.slot,
                "received_at": self.now,
            },
        )

    def _add_message(self, value: Deliver | None, sent_at: int | None, *, total: int) -> str:
        concat = None if value is None else value.concat
        message_id = new_uuid(self.env.entropy.bytes(16))
        messages.add(
            self.tx,
            {
                "id": message_id,
                "mode": self.mode,
                "sim_key": self.source.sim_key,
                "device_id": self.source.device_id,
                "slot_index": self.source.slot_index,
                "payment_method_id": None if self.line is None else self.line.id,
                "sender": None if value is None else value.sender,
                "sender_type": None if value is None else value.sender_type,
                "smsc": None if value is None else value.smsc,
                "sent_at": sent_at,
                "parts_total": total,
                "parts_seen": 1,
                "reference_width": None if concat is None else concat.width,
                "reference": None if concat is None else concat.reference,
                "body": None,
                "state": MessageState.INCOMPLETE,
                "kind": None,
                "provider": None,
                "wording": None,
                "fields": "{}",
                "trusted": None,
                "reasons": "[]",
                "payment_id": None,
                "received_at": self.now,
                "created_at": self.now,
            },
        )
        return message_id

    # Whole messages ------------------------------------------------------------------------------------

    def _conclude(self, message_id: str, value: Deliver, body: str, sent_at: int | None) -> None:
        """Decide what a whole message is, and let a trusted payment pay."""
        network = self.sim.network
        provider = None if network is None else provider_of_network(network)
        doubts = trust.doubts(
            trust.Evidence(
                sender=value.sender,
                sender_is_alphanumeric=value.sender_type is SenderType.ALPHANUMERIC,
                network=network,
                network_senders=() if provider is None else PROVIDERS[provider].senders,
            )
        )
        read_as: readings.Reading
        if len(body) > MESSAGE_CHARACTERS_MAX:
            read_as = readings.Unreadable("longer than any payment message")
        else:
            # A stranger's text is read by every wording, so that a person sees what it pretends to be.
            read_as = read(None, body) if doubts else read(value.sender, body, network=network)
        outcome = _Outcome(
            MessageState.NOT_PAYMENT, provider=provider, trusted=not doubts, reasons=doubts
        )
        if isinstance(read_as, readings.Unreadable):
            outcome.state = MessageState.UNPARSED
            outcome.reasons = [*doubts, read_as.why]
        else:
            outcome.kind = read_as.kind
            outcome.wording = read_as.wording
            outcome.fields = readings.fields(read_as)
        message = messages.get(self.tx, message_id)
        assert message is not None
        if isinstance(read_as, readings.Payment) and read_as.kind in PAYING_KINDS:
            if doubts:
                outcome.state = MessageState.HELD
                self._ask(message, ReviewReason.UNTRUSTED_SENDER, {"doubts": doubts})
            else:
                assert provider is not None
                self._pay(message, outcome, read_as, provider, sent_at)
        self._write(message_id, outcome, body=body)

    def _pay(
        self,
        message: Message,
        outcome: "_Outcome",
        read_as: readings.Payment,
        provider: str,
        sent_at: int | None,
    ) -> None:
        """Make the payment of a trusted message and let it pay what it pays."""
        payments.touch_line(
            self.tx, None if self.line is None else self.line.id, self.source.sim_key, self.now
        )
        if read_as.telco_id is None:
            outcome.state = MessageState.HELD
            self._ask(message, ReviewReason.NO_TELCO_ID, {})
            return
        since = self.sim.first_seen_at
        if self.line is not None and self.line.line_created_at is not None:
            since = self.line.line_created_at
        historical = trust.is_history(sent_at, since)
        row = self._payment_row(message, read_as, read_as.telco_id, provider, sent_at)
        payment = payments.add(self.tx, {**row, "historical": historical})
        if payment is None:
            self._same_id_again(message, outcome, row)
            return
        outcome.payment_id = payment.id
        if historical:
            outcome.state = MessageState.HISTORICAL
            settle.give_holder(self.tx, self.outbox, payment, rejected=False, now=self.now)
            return
        outcome.state = MessageState.PAYMENT
        self._match(outcome, payment)

    def _match(self, outcome: "_Outcome", payment: Payment) -> None:
        tx, now = self.tx, self.now
        codes = svc_code.candidates(payment.reference_text or "")
        decision = matching.match(
            payment,
            transactions.by_codes_in_use(tx, payment.mode, codes, now),
            transactions.expecting(tx, payment.mode, payment.telco_transaction_id),
            now=now,
            late_policy=self.env.config.transactions.late_policy,
        )
        if isinstance(decision, matching.Verify):
            how = settle.Settlement(decision.verdict, decision.matched_by, decision.late)
            settle.verify(tx, self.outbox, decision.transaction, payment, how, now)
        elif isinstance(decision, matching.Hold):
            outcome.state = MessageState.HELD
            outcome.reasons = [*outcome.reasons, decision.reason]
            payments.set_standing(tx, payment.id, "review")
            settle.ask_person(
                tx,
                self.env.entropy,
                reason=decision.reason,
                payment=payment,
                request=decision.transaction,
                moves=decision.moves,
                now=now,
            )
        else:
            settle.give_holder(tx, self.outbox, payment, rejected=decision.rejected, now=now)

    def _same_id_again(self, message: Message, outcome: "_Outcome", row: dict[str, Any]) -> None:
        """A second trusted message with one ID: the same again, or something a person must see."""
        others = payments.with_telco_id(self.tx, self.mode, row["telco_transaction_id"])
        first = next(other for other in others if other.provider == row["provider"])
        same = (
            first.amount_minor == row["amount_minor"]
            and first.currency == row["currency"]
            and first.payment_method_id == row["payment_method_id"]
        )
        if same:
            outcome.state = MessageState.DUPLICATE
            outcome.payment_id = first.id
            outcome.reasons = [f"duplicate_of:{first.id}"]
            return
        outcome.state = MessageState.HELD
        outcome.reasons = [ReviewReason.ID_CONFLICT]
        self._ask(message, ReviewReason.ID_CONFLICT, {"payment_id": first.id})

    def _payment_row(
        self,
        message: Message,
        read_as: readings.Payment,
        telco_id: str,
        provider: str,
        sent_at: int | None,
    ) -> dict[str, Any]:
        printed = read_as.printed_at
        telco_at = sent_at if sent_at is not None else self.now
        if printed is not None:
            telco_at = (printed - _EPOCH) // _MICROSECOND
        return {
            "id": new_uuid(self.env.entropy.bytes(16)),
            "mode": self.mode,
            "provider": provider,
            "telco_transaction_id": normalize_telco_id(telco_id),
            "telco_id_as_read": telco_id,
            "message_id": message.id,
            "payment_method_id": None if self.line is None else self.line.id,
            "sim_key": self.source.sim_key,
            "device_id": self.source.device_id,
            "slot_index": self.source.slot_index,
            "kind": read_as.kind,
            "amount_minor": read_as.amount.minor,
            "currency": read_as.amount.currency,
            "fee_minor": None if read_as.fee is None else read_as.fee.minor,
            "balance_minor": None if read_as.balance is None else read_as.balance.minor,
            "payer_name": read_as.payer_name,
            "payer_phone": read_as.payer_phone,
            "reference_text": read_as.reference,
            "telco_at": telco_at,
            "stored_at": self.now,
            "standing": "open",
            "reversed_at": None,
        }

    # Writing down ------------------------------------------------------------------------------------------

    def _ask(self, message: Message, reason: ReviewReason, details: dict[str, Any]) -> None:
        reviews.open_review(
            self.tx,
            id=new_uuid(self.env.entropy.bytes(16)),
            mode=self.mode,
            reason=reason,
            message_id=message.id,
            payment_id=None,
            transaction_id=None,
            details=details,
            now=self.now,
        )
        events.add(
            self.tx,
            type="review.opened",
            mode=self.mode,
            at=self.now,
            message_id=message.id,
            data={"reason": reason},
        )

    def _write(self, message_id: str, outcome: "_Outcome", *, body: str | None) -> None:
        messages.conclude(
            self.tx,
            message_id,
            body=body,
            state=outcome.state,
            kind=outcome.kind,
            provider=outcome.provider,
            wording=outcome.wording,
            fields=outcome.fields,
            trusted=outcome.trusted,
            reasons=outcome.reasons,
            payment_id=outcome.payment_id,
            payment_method_id=None if self.line is None else self.line.id,
            received_at=self.now,
        )
        events.add(
            self.tx,
            type="message.received",
            mode=self.mode,
            at=self.now,
            payment_id=outcome.payment_id,
            message_id=message_id,
            data={"state": outcome.state, "kind": outcome.kind},
        )
        self.concluded.append((message_id, outcome.state))


@dataclass(slots=True)
class _Outcome:
    """What a message turned out to be, filled in step by step."""

    state: MessageState
    kind: str | None = None
    provider: str | None = None
    wording: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    trusted: bool | None = None
    reasons: list[str] = field(default_factory=list)
    payment_id: str | None = None


def _digest(pdu: str) -> str:
    """Return the SHA-256 of the PDU's octets, or of its text where it is no hex."""
    try:
        octets = bytes.fromhex(pdu)
    except ValueError:
        octets = pdu.encode()
    return hashlib.sha256(octets).hexdigest()


def _as_parts(rows: Sequence[tuple[int, str, int | None]]) -> list[joining.Part]:
    """Return stored parts as `joining` wants them; a stored part always decodes as it did when it was stored."""
    found = []
    for position, pdu, sent_at in rows:
        value = codec.decode(pdu)
        assert isinstance(value, Deliver), json.dumps(pdu[:16])
        found.append(joining.Part(position, sent_at, value.user_data))
    return found
