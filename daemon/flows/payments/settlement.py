"""Settle a transaction that was paid too little or too much: the rest came, it is waived, or change was given back.

Status and amounts of the transaction stay: they say what the network moved. A payment that settles it counts as used, keeps a
holder of its own, which names the transaction (`settles`), and is forwarded once as that holder.
"""

import json
from typing import Final

from msgspec import Struct

from daemon.core.access.callers import Caller, Operation, allows, require
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.inputs import Keep
from daemon.core.json_values import timestamp_or_none
from daemon.core.model import Payment, PaymentMethod, Transaction
from daemon.core.payments.checkout import payable
from daemon.core.text import Text
from daemon.env import Env
from daemon.steps import hand_up
from daemon.steps import settle as steps
from daemon.steps.pay import is_unconfirmed_history
from daemon.steps.take_back import hold_again
from daemon.store import idempotency, journal
from daemon.store.engine import Tx
from daemon.store.lines import payment_methods
from daemon.store.payments import payments, reviews, transactions
from daemon.wire import ErrorCode, SettlementKind, TransactionStatus
from parsers.reading import normalize_telco_id

_FITS: Final = {
    SettlementKind.REST_RECEIVED: TransactionStatus.PARTIAL,
    SettlementKind.WAIVED: TransactionStatus.PARTIAL,
    SettlementKind.CHANGE_GIVEN: TransactionStatus.OVERPAID,
}


class SettlementRequest(Struct, frozen=True):
    """How a transaction is settled.

    Attributes:
        kind: What happened.
        payment: The network's ID, or the reference, of the second payment that brought the rest; None: cash.
        notes: For the record.
    """

    kind: SettlementKind
    payment: str | None = None
    notes: str | None = None


class Settled(Struct, frozen=True):
    """The transaction after it was settled, or after that was taken back.

    `payment` verified it, and `methods` are the numbers that a customer can pay.
    """

    transaction: Transaction
    payment: Payment
    held_review_id: str | None
    methods: tuple[PaymentMethod, ...]
    at: int


def may_settle_by_hand(env: Env, caller: Caller) -> bool:
    """Return whether a caller may settle without a second payment: a manager, and a cashier where the shop says so."""
    by_setting = env.config.access.cashiers_settle and allows(caller, Operation.SETTLE)
    return by_setting or allows(caller, Operation.SETTLE_BY_HAND)


async def settle(
    env: Env, caller: Caller, reference: str, request: SettlementRequest, *, keep: Keep[Settled] | None = None
) -> Settled:
    """Settle a transaction.

    Raises:
        Refusal: TRANSACTION_NOT_FOUND, BELONGS_TO_BRANCH, NOT_SETTLEABLE, ALREADY_SETTLED, ROLE_REQUIRED; VALIDATION_ERROR if
            the kind does not fit the status; for the payment NO_MATCHING_TRANSACTION, TRANSACTION_ID_ALREADY_USED,
            AMBIGUOUS_TRANSACTION_ID.
        Unavailable: Nothing could be written, or the database is damaged.
    """
    require(caller, Operation.SETTLE)
    if request.payment is None and not may_settle_by_hand(env, caller):
        require(caller, Operation.SETTLE_BY_HAND)
    now = env.clock.now_us()

    def record(tx: Tx) -> Settled:
        env.refuse_if_damaged()
        order = steps.own_transaction(tx, caller, reference)
        _fits(order, request)
        assert order.expected_minor is not None
        paid = steps.paying(tx, order)
        amount = abs(order.expected_minor - paid.amount_minor)
        facts = {"kind": request.kind, "amount_minor": amount, "notes": request.notes}
        if request.payment is not None:
            rest = _rest(tx, order, request.payment)
            holder = _use(tx, env, order, rest, actor=caller.name, now=now)
            facts |= {"amount_minor": rest.amount_minor, "holder": holder.id}
        settled = transactions.settle(tx, order.id, settlement=json.dumps(facts), by=caller.name, now=now)
        assert settled is not None, "it was read in this database transaction"
        data = {"kind": request.kind, "amount_minor": facts["amount_minor"], "currency": order.currency}
        journal.add(
            tx,
            "transaction.settled",
            now,
            order,
            actor=caller.name,
            payment_id=None if request.payment is None else rest.id,
            data=data,
        )
        env.outbox.update(tx, settled, paid, now, before=(order, paid))
        return _done(tx, settled, paid, now)

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: record(tx)))


async def take_back(env: Env, caller: Caller, reference: str) -> Settled:
    """Take a settlement back: the transaction is short or overpaid again, and its second payment is free.

    A review of that payment, which the settlement had closed, waits for a decision again.

    Raises:
        Refusal: TRANSACTION_NOT_FOUND, BELONGS_TO_BRANCH, NOT_SETTLEABLE if it is not settled, ROLE_REQUIRED.
        Unavailable: Nothing could be written, or the database is damaged.
    """
    require(caller, Operation.SETTLE_BY_HAND)
    now = env.clock.now_us()

    def undo(tx: Tx) -> Settled:
        env.refuse_if_damaged()
        order = steps.own_transaction(tx, caller, reference)
        if order.settled_at is None:
            raise Refusal(ErrorCode.NOT_SETTLEABLE, "This transaction is not settled.", transaction_status=order.status)
        holder = transactions.settling(tx, order.id)
        after, paid = steps.unsettle(tx, env.outbox, order, actor=caller.name, now=now)
        if holder is not None:
            for review in reviews.of_settlement(tx, holder.payment_id or ""):
                reviews.reopen(tx, review.id, review.payment_id)
                hold_again(tx, review)
        return _done(tx, after, paid, now)

    return await env.store.write(undo)


def _done(tx: Tx, order: Transaction, paid: Payment, now: int) -> Settled:
    methods = payable(payment_methods.in_use(tx, order.mode))
    return Settled(order, paid, reviews.held_for(tx, order.id), methods, now)


def _fits(order: Transaction, request: SettlementRequest) -> None:
    if order.settled_at is not None:
        raise Refusal(
            ErrorCode.ALREADY_SETTLED, settled_at=timestamp_or_none(order.settled_at), settled_by=order.settled_by
        )
    if order.origin == "open" or order.status not in _FITS.values() or order.reversed_at is not None:
        why = None if order.reversed_at is None else "The payment of this transaction was reversed."
        raise Refusal(ErrorCode.NOT_SETTLEABLE, why, transaction_status=order.status)
    if _FITS[request.kind] is not order.status:
        key = "field.settle.short" if order.status is TransactionStatus.PARTIAL else "field.settle.over"
        raise invalid([FieldError("kind", "invalid", Text(key))])
    if request.payment is not None and request.kind is not SettlementKind.REST_RECEIVED:
        raise invalid([FieldError("payment", "invalid", Text("field.settle.payment"))])


def _rest(tx: Tx, order: Transaction, named: str) -> Payment:
    """Return the unused payment with this network ID, or of the holder with this reference."""
    holder = transactions.by_reference(tx, named, order.mode)
    if holder is not None:
        one = payments.get(tx, holder.payment_id or "") if holder.origin == "open" else None
        found = [] if one is None else [one]
    else:
        found = payments.with_telco_id(tx, order.mode, normalize_telco_id(named))
    usable = [
        payment
        for payment in found
        if payment.currency == order.currency and payment.reversed_at is None and payment.decided_here
    ]
    unused = [payment for payment in usable if payment.standing != "used"]
    if not usable or any(
        is_unconfirmed_history(tx, payment) or hand_up.is_unanswered(tx, payment) for payment in unused
    ):
        # A person with the password may reconcile an order with such a payment.
        raise Refusal(ErrorCode.NO_MATCHING_TRANSACTION)
    return steps.only_unused(tx, usable, order)


def _use(tx: Tx, env: Env, order: Transaction, rest: Payment, *, actor: str, now: int) -> Transaction:
    """Use a payment for a settlement and return its holder, which names the order; its reviews close.

    A payment that was rejected counts from now on: it is forwarded, as if it had never been.
    """
    for review in reviews.open_for_payment(tx, rest.id):
        reviews.close(tx, review.id, "used_for_settlement", by=actor, now=now)
    held = transactions.holding(tx, rest.id)
    if held is not None:
        steps.release(tx, held, rest.message_id, rest.id, actor=actor, now=now)
    known = transactions.paid_by(tx, rest.id)
    payments.set_standing(tx, rest.id, "used")
    how = steps.Holding(matched_by="review", settles=order.id)
    if known is not None:
        settling = transactions.set_settles(tx, known.id, order.id)
        env.outbox.update(tx, settling, rest, now, before=(known, rest))
    return steps.add_holder(tx, env.outbox, rest, how, now)
