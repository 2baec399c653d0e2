"""Make a payment request: a reference, a code that is free, and a checkout address (interface.md, Transactions)."""

from typing import Any

from daemon.core import ids, limits, matching, shapes, transaction_shapes
from daemon.core.access import Caller, CallerKind
from daemon.core.checkout import NOT_PUBLIC
from daemon.core.disk_room import Room
from daemon.core.errors import FieldError, Refusal, Unavailable, invalid
from daemon.core.model import Payment, Transaction
from daemon.core.requests import Answer, Idempotency, InitializeRequest
from daemon.env import Env
from daemon.intake.suggest import look_back
from daemon.store import (
    approved_payers,
    events,
    expiry,
    near_miss,
    payments,
    settle,
    texts,
    transactions,
)
from daemon.store import idempotency as answers
from daemon.store.engine import Tx
from daemon.system import Entropy
from daemon.wire import ErrorCode, Mode, TransactionStatus
from parsers import svc_code
from parsers.money import render

_OPEN = (TransactionStatus.PENDING, TransactionStatus.MANUAL_REVIEW)
"""An expired or cancelled request no longer keeps others from expecting the same transaction ID."""


async def initialize(
    env: Env,
    caller: Caller,
    request: InitializeRequest,
    *,
    request_id: str,
    idempotency: Idempotency | None,
) -> Answer:
    """Create a payment request and return the 201 answer, or the stored one of an identical earlier call.

    Raises:
        Refusal: IDEMPOTENCY_KEY_REUSED, TRANSACTION_ID_ALREADY_USED, VALIDATION_ERROR.
        Unavailable: Nothing could be written, the database is damaged, or the disk's last room is for payments alone.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> Answer:
        return answers.once(tx, idempotency, now, lambda: create(tx))

    def create(tx: Tx) -> Answer:
        env.self_check.refuse_if_damaged()
        if env.disk.room is Room.FULL:
            raise Unavailable(
                "the disk is nearly full and what is left is for payments; free some space and momo goes on by itself",
                60,
            )
        mode = caller.mode or Mode.LIVE
        waiting = _payment_expected(tx, env, mode, request, now)
        transaction = _add(tx, env, caller, request, mode, now)
        # Who has paid already needs no code.
        texted = waiting is None and texts.owe_code(tx, env.texting, env.new_id, transaction, now)
        body = shapes.success(
            transaction_shapes.initialized(
                transaction,
                checkout_url=env.checkout_url(str(transaction.public_slug)),
                payer_sms_sent=texted,
            ),
            meta=_meta(env, request_id, idempotency),
        )
        if waiting is not None:
            _settle_expected(tx, env, transaction, waiting, now)
        else:
            look_back(tx, env, transaction, now)
        return Answer(201, body)

    return await env.store.write(job)


def _add(
    tx: Tx, env: Env, caller: Caller, request: InitializeRequest, mode: Mode, now: int
) -> Transaction:
    entropy = env.entropy
    transaction_id = ids.time_ordered(env.new_id(), now)
    expires_at = now + request.expires_in_hours * limits.HOUR_US
    row: dict[str, Any] = {
        "id": transaction_id,
        "mode": mode,
        "origin": "request",
        "status": "PENDING",
        "svc_code": _draw_code(entropy),
        "public_slug": ids.public_slug(entropy.bytes(16)),
        "expected_minor": request.amount_minor,
        "currency": request.currency,
        "phone_number": request.phone_number,
        "customer_name": request.customer_name,
        "description": request.description,
        "webhook_url": request.webhook_url,
        "redirect_url": request.redirect_url,
        "client_reference": request.client_reference,
        "meta": request.meta,
        "expected_telco_transaction_id": request.expected_telco_transaction_id,
        "expected_payer_phone": request.expected_payer_phone,
        "expected_payer_name": request.expected_payer_name,
        "send_sms_to_payer": request.send_sms_to_payer,
        "created_with": created_with(caller),
        "created_at": now,
        "expires_at": expires_at,
        "late": False,
        "rejected": False,
    }
    transaction = _with_code(tx, env, transactions.add(tx, row))
    env.clock_watch.made(transaction_id, now, env.clock.boottime())
    near_miss.remember_names(tx, transaction)
    events.add(
        tx,
        type="transaction.created",
        mode=mode,
        at=now,
        actor=caller.name,
        transaction_id=transaction_id,
        data={"expected_minor": request.amount_minor, "currency": request.currency},
    )
    return transaction


def _with_code(tx: Tx, env: Env, request: Transaction) -> Transaction:
    """Claim the code of a new request, or another one while the one drawn is held."""
    assert request.expires_at is not None
    free_at = request.expires_at + limits.LATE_WINDOW_US + limits.CODE_REST_US
    for _draw in range(limits.CODE_DRAWS_MAX):
        assert request.svc_code is not None
        if transactions.take_code(
            tx, request.mode, request.svc_code, request.id, free_at, env.sure_us()
        ):
            return request
        request = transactions.change_code(tx, request.id, _draw_code(env.entropy))
    raise AssertionError("no free payment code was found in 64 draws")


def created_with(caller: Caller) -> str:
    """Say what kind of caller made a request, as `by-client-ref` needs to know."""
    if caller.kind is not CallerKind.KEY:
        return "session"
    return "publishable" if caller.publishable else "secret"


def _draw_code(entropy: Entropy) -> str:
    return svc_code.make_code(entropy.below)


def _payment_expected(
    tx: Tx, env: Env, mode: Mode, request: InitializeRequest, now: int
) -> Payment | None:
    """Return an unused payment that already has the network ID this request names in advance.

    Raises:
        Refusal: The ID already paid an order, or another open request expects it.
    """
    telco_id = request.expected_telco_transaction_id
    if telco_id is None:
        return None
    overdue = None
    if env.clock_doubt() is None:
        overdue = transactions.expire_overdue_expecting(tx, mode, telco_id, env.sure_us())
    if overdue is not None:
        expiry.tell(tx, env.outbox, overdue, now)
    other = transactions.expecting(tx, mode, telco_id)
    if other is not None and other.status in _OPEN:
        raise invalid(
            [
                FieldError(
                    "expected_telco_transaction_id",
                    "already_expected",
                    "another open request already waits for this transaction ID",
                )
            ]
        )
    found = payments.with_telco_id(tx, mode, telco_id)
    unused = [payment for payment in found if payment.standing != "used"]
    if found and not unused:
        expected = render(request.amount_minor, request.currency)
        raise Refusal(ErrorCode.TRANSACTION_ID_ALREADY_USED, expected_amount=expected)
    fresh = [
        payment
        for payment in unused
        if payment.stored_at > now - limits.EXPECTED_ID_LOOKBACK_US
        and payment.reversed_at is None
        and not payment.historical
    ]
    return fresh[0] if len(fresh) == 1 else None


def _settle_expected(
    tx: Tx, env: Env, transaction: Transaction, payment: Payment, now: int
) -> None:
    """Let the payment that was here first pay the request that names its ID, by the rules of matching."""
    decision = matching.match(
        payment,
        [],
        transaction,
        late_policy=env.config.transactions.late_policy,
        approved=approved_payers.numbers_of(tx, payment, [transaction]),
    )
    if isinstance(decision, matching.Verify):
        how = settle.Settlement(
            decision.verdict,
            decision.matched_by,
            decision.late,
            payer_known_by=decision.payer_known_by,
        )
        settle.verify(tx, env.outbox, transaction, payment, how, now)


def _meta(env: Env, request_id: str, claim: Idempotency | None) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "request_id": request_id,
        "idempotency_key": None if claim is None else claim.key,
    }
    if not env.config.http.public_base_url:
        meta["warnings"] = [NOT_PUBLIC]
    return meta
