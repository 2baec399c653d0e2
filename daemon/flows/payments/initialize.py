"""Create a transaction: a reference, an unused payment code and a checkout address."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from daemon.core import ids
from daemon.core.access.callers import Caller, CallerKind, Operation, require
from daemon.core.errors import FieldError, Refusal, Unavailable, invalid
from daemon.core.inputs import InitializeRequest, Keep
from daemon.core.limits import CODE_REST_US, HOUR_US, LATE_WINDOW_US
from daemon.core.lines import receiving
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.model import Payment, PaymentMethod, Transaction
from daemon.core.payments import matching
from daemon.core.payments.checkout import NOT_PUBLIC, payable
from daemon.core.text import Text
from daemon.core.upkeep.clock_check import Times
from daemon.core.upkeep.self_check import SpaceStep
from daemon.env import Env
from daemon.steps import settle
from daemon.steps.settle import cancel_transaction, own_transaction
from daemon.steps.suggest import suggest_earlier_payments
from daemon.store import idempotency as answers
from daemon.store import journal
from daemon.store.branches.scope import seen_by
from daemon.store.engine import Tx
from daemon.store.lines import devices, payment_methods
from daemon.store.payments import payments, texts, transactions
from daemon.wire import ErrorCode, Mode, TransactionStatus
from parsers import svc_code
from parsers.money import render

CODE_DRAWS_MAX: Final = 64
"""Tries to find a free code. With 26 million codes even 13 million in use fail once in 2**64 times."""
EXPECTED_ID_LOOKBACK_US: Final = 24 * HOUR_US
"""An unused payment stored within this time still satisfies `expected_telco_transaction_id`."""
_OPEN = (TransactionStatus.PENDING, TransactionStatus.MANUAL_REVIEW)
"""Only in these states does a transaction keep others from expecting the same transaction ID."""


class Initialized(Struct, frozen=True):
    """A new transaction.

    Attributes:
        texted: The SMS with its code is queued.
        warnings: What keeps the customer from paying or from the checkout page.
        methods: The numbers that the customer can pay.
    """

    transaction: Transaction
    texted: bool
    warnings: tuple[str, ...]
    methods: tuple[PaymentMethod, ...]


async def initialize(
    env: Env,
    caller: Caller,
    request: InitializeRequest,
    *,
    keep: Keep[Initialized] | None = None,
    phones: Sequence[ModemHealth] = (),
) -> Initialized:
    """Create a transaction.

    `phones` is the current state of the ports: a warning says when no message can come to a line. The
    replaced transaction is cancelled in the same commit.

    Raises:
        Refusal: IDEMPOTENCY_KEY_REUSED, TRANSACTION_ID_ALREADY_USED, VALIDATION_ERROR; for the replaced one
            TRANSACTION_NOT_FOUND, TRANSACTION_NOT_CANCELLABLE.
        Unavailable: Nothing could be written, the database is damaged, or the rest of the disk is reserved for payments.
    """
    require(caller, Operation.CREATE_TRANSACTION)
    if caller.branch_id is not None and request.expected_telco_transaction_id is not None:
        why = "names a payment in advance, which is not for users and keys of one branch"
        raise invalid([FieldError("expected_telco_transaction_id", "invalid", why)])
    if request.replaces is not None:
        require(caller, Operation.CANCEL_TRANSACTION)
    times = env.times()
    now = times.wall_us

    def job(tx: Tx) -> Initialized:
        return answers.kept(tx, keep, now, lambda: create(tx))

    def create(tx: Tx) -> Initialized:
        env.refuse_if_damaged()
        if env.disk.room is SpaceStep.FULL:
            raise Unavailable(Text("unavailable.reserved"), 60)
        if not env.place.takes_orders:
            raise Refusal(ErrorCode.HUB_DECIDES)
        mode = caller.mode or Mode.LIVE
        if request.replaces is not None:
            old = own_transaction(tx, caller, request.replaces)
            cancel_transaction(tx, old, caller.name, "replaced by a new one", now)
        waiting = _payment_expected(tx, env, mode, request, times)
        transaction = _add(tx, env, caller, request, mode, times)
        # After the payment, the customer needs no code.
        texted = waiting is None and texts.queue_code(tx, env.texting, env.new_id, transaction, now)
        not_public = None if env.config.http.public_base_url else NOT_PUBLIC
        methods = payment_methods.in_use(seen_by(tx, caller), mode)
        warnings = (_not_receiving(tx, caller, methods, phones, now), not_public)
        if waiting is not None:
            decision = matching.match(
                waiting,
                [],
                transaction,
                late_policy=env.config.transactions.late_policy,
                approved=payments.approved_numbers(tx, waiting, [transaction]),
            )
            if isinstance(decision, matching.Verify):
                how = settle.Settlement(
                    decision.verdict, decision.matched_by, decision.late, payer_known_by=decision.payer_known_by
                )
                settle.verify(tx, env.outbox, transaction, waiting, how, now)
        else:
            suggest_earlier_payments(tx, env, transaction, now)
        told = tuple(text for text in warnings if text is not None)
        return Initialized(transaction, texted, told, payable(methods, caller.branch_id))

    return await env.store.write(job)


def _add(tx: Tx, env: Env, caller: Caller, request: InitializeRequest, mode: Mode, times: Times) -> Transaction:
    now = times.wall_us
    entropy = env.entropy
    transaction_id = ids.time_ordered(env.new_id(), now)
    expires_at = now + request.expires_in_hours * HOUR_US
    row: dict[str, Any] = {
        **asdict(request),
        "id": transaction_id,
        "mode": mode.value,  # plain values are bound in a third of the time
        "origin": "request",
        "status": "PENDING",
        "svc_code": _draw_code(env),
        "public_slug": ids.public_slug(entropy.bytes(16)),
        "expected_minor": request.amount_minor,
        "send_sms_to_payer": int(request.send_sms_to_payer),
        "created_with": created_with(caller),
        "made_for": caller.branch_id,
        "created_at": now,
        "expires_at": expires_at,
        "late": 0,
        "rejected": 0,
    }
    transaction = _with_code(tx, env, transactions.add(tx, row), times.lower_bound_us)
    env.clock_check.note_created(transaction_id, times)
    transactions.index_names(tx, transaction)
    data = {"expected_minor": request.amount_minor, "currency": request.currency}
    journal.add(tx, "transaction.created", now, transaction, actor=caller.name, data=data)
    return transaction


def _with_code(tx: Tx, env: Env, request: Transaction, now: int) -> Transaction:
    """Reserve the code of a new transaction; draw again while the drawn code is in use."""
    assert request.expires_at is not None
    free_at = request.expires_at + LATE_WINDOW_US + CODE_REST_US
    for _draw in range(CODE_DRAWS_MAX):
        assert request.svc_code is not None
        if transactions.claim_code(tx, request.mode, request.svc_code, request.id, free_at, now):
            return request
        request = transactions.change_code(tx, request.id, _draw_code(env))
    raise AssertionError("no free payment code was found in 64 draws")


def created_with(caller: Caller) -> str:
    """Return the kind of caller that created a transaction, for the access check of `by-client-ref`."""
    if caller.kind is not CallerKind.KEY:
        return "session"
    return "publishable" if caller.publishable else "secret"


def _draw_code(env: Env) -> str:
    return svc_code.make_code(env.entropy.below, env.place.code_first)


def _payment_expected(tx: Tx, env: Env, mode: Mode, request: InitializeRequest, times: Times) -> Payment | None:
    """Return an unused payment that already has the network ID that this transaction names in advance.

    Raises:
        Refusal: The payment with this ID already paid a transaction, or another open transaction expects the ID.
    """
    telco_id = request.expected_telco_transaction_id
    if telco_id is None:
        return None
    overdue = None
    if times.doubt is None:
        overdue = transactions.expire_overdue_expecting(tx, mode, telco_id, times.lower_bound_us)
    if overdue is not None:
        settle.record_expiry(tx, env.outbox, overdue, times.wall_us)
    other = transactions.expecting(tx, mode, telco_id)
    if other is not None and other.status in _OPEN:
        raise invalid(
            [
                FieldError(
                    "expected_telco_transaction_id",
                    "already_expected",
                    "another open transaction already expects this transaction ID",
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
        if payment.stored_at > times.wall_us - EXPECTED_ID_LOOKBACK_US
        and payment.decided_here
        and payment.reversed_at is None
        and not payment.historical
    ]
    return fresh[0] if len(fresh) == 1 else None


def _not_receiving(
    tx: Tx, caller: Caller, methods: Sequence[PaymentMethod], phones: Sequence[ModemHealth], now: int
) -> str | None:
    """Return the warning that the payment will not be seen, None if it will."""
    if caller.mode is Mode.TEST or caller.branch_id is not None:
        return None  # the phones of a branch are not here
    known, sims = devices.known(tx), devices.sims_of_lines(tx)
    lines = receiving.judge(known, sims, methods, phones, now)
    found = receiving.warning(lines, phones, now)
    # The public answer says that the confirmation may take longer, without details of the shop's equipment.
    return receiving.PUBLIC_WARNING if found and caller.publishable else found
