"""Reconcile: match a payment to a transaction by the network ID; and the claims of payers on the checkout page.

Anyone with the page's address can claim, including a stranger with the transaction ID of another customer. So a claim is only
a hint for the operator: nothing is matched, and the answer is the same for unknown, foreign and right IDs.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core import ids
from daemon.core.access.callers import Caller, CallerKind, Operation, require
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.inputs import Idempotency, Keep, ReconcileRequest
from daemon.core.limits import HOUR_US, MINUTE_US, SECOND_US
from daemon.core.model import Payment, Transaction
from daemon.core.payments import checkout
from daemon.core.payments.matching import VERIFIED, Verdict
from daemon.env import Env
from daemon.steps import hand_up, settle
from daemon.steps.pay import is_unconfirmed_history
from daemon.steps.suggest import open_near_miss_review
from daemon.store import idempotency as answers
from daemon.store import journal
from daemon.store.engine import Reader, Tx
from daemon.store.payments import payments, reviews, suggestions, transactions
from daemon.store.payments.transactions import by_slug as transaction_of
from daemon.wire import ErrorCode
from parsers.money import render
from parsers.reading import normalize_telco_id, valid_for_any

MISS_WINDOW_US: Final = 15 * MINUTE_US
"""Window in which distinct unknown IDs of a reconcile are counted, to stop guessing."""
CLAIMS_PER_HOUR: Final = 3
"""Different transaction IDs that a customer may name for one transaction."""
_COMMITS: Final = (ErrorCode.NO_MATCHING_TRANSACTION, ErrorCode.BRANCH_ASKED)
"""Refusals that commit the rows written before them: the counted miss, and the question to the branch."""


ID_DIGITS_MAX: Final = 18
"""The most digits that an ID of a network has, with its leading zeros."""
NO_FORM: Final = (
    "does not have the form of any network's transaction ID: copy the whole ID from the customer's message, as text"
)


class UnprovedSource(StrEnum):
    """Why a payment is used only by a person with the password."""

    HISTORY = "history"
    """Its message came from a file, a paste, or a time before its line."""
    HANDED = "handed"
    """A hub that this shop has left may have used it."""


_SENTENCES: Final = {
    UnprovedSource.HISTORY: "The message of this payment of {} came from a file, a paste, or a time before its line was set up. Anybody "
    "can make up such a message, so look into the wallet first; the owner's password is needed to use the payment.",
    UnprovedSource.HANDED: "This payment of {} was handed up to the head office before this shop left it, and the head office has not "
    "answered: it may have paid an order there. Ask there first; the owner's password is needed to use the payment here.",
}


def sentence(doubt: UnprovedSource, payment: Payment) -> str:
    """Return the doubt about a payment in words, with the amount."""
    amount = f"{payment.currency} {render(payment.amount_minor, payment.currency)}"
    return _SENTENCES[doubt].format(amount)


def doubt_about(reader: Reader, payment: Payment) -> UnprovedSource | None:
    """Return why only a person with the password may use a payment; None if anybody may."""
    if is_unconfirmed_history(reader, payment):
        return UnprovedSource.HISTORY
    return UnprovedSource.HANDED if hand_up.is_unanswered(reader, payment) else None


class Reconciled(Struct, frozen=True):
    """A verified transaction, the payment that paid it, and how their amounts compare."""

    reconciliation_id: str
    transaction: Transaction
    payment: Payment
    verdict: Verdict


async def needs_password(
    env: Env, caller: Caller, reference: str, request: ReconcileRequest, idempotency: Idempotency | None
) -> tuple[UnprovedSource, Payment] | None:
    """Return why reconciling needs the account password, and the payment.

    None if it does not, for a key, which is refused, and for a call that was answered before.
    """

    def look(reader: Reader) -> tuple[UnprovedSource, Payment] | None:
        transaction = transactions.by_reference(reader, reference, caller.mode)
        answered = idempotency is not None and answers.find(reader, idempotency)
        if transaction is None or answered or caller.kind is CallerKind.KEY:
            return None
        if transaction.origin == "open" or transaction.status in VERIFIED:
            return None
        _, usable = _found(reader, transaction, request)
        unused = [payment for payment in usable if payment.standing != "used"]
        if len(unused) != 1 or request.amount_minor not in (None, unused[0].amount_minor):
            return None
        doubt = doubt_about(reader, unused[0])
        return None if doubt is None else (doubt, unused[0])

    return await env.store.read(look)


async def reconcile(
    env: Env, caller: Caller, reference: str, request: ReconcileRequest, *, keep: Keep[Reconciled] | None = None
) -> Reconciled:
    """Match a payment to a transaction by its network ID.

    Raises:
        Refusal: In this order: TRANSACTION_NOT_FOUND, ALREADY_VERIFIED, TOO_MANY_ATTEMPTS, NO_MATCHING_TRANSACTION,
            TRANSACTION_ID_ALREADY_USED or AMBIGUOUS_TRANSACTION_ID, AMOUNT_MISMATCH, for a `UnprovedSource` SESSION_REQUIRED,
            ROLE_REQUIRED or INVALID_PASSWORD, PAYMENT_HANDED_UP or BRANCH_ASKED.
    """
    require(caller, Operation.RECONCILE)
    now, telco_id = env.clock.now_us(), normalize_telco_id(request.transaction_id)

    def job(tx: Tx) -> Reconciled | Refusal:
        try:
            return answers.kept(tx, keep, now, lambda: match(tx))
        except Refusal as refusal:
            if refusal.code not in _COMMITS:
                raise
            return refusal

    def match(tx: Tx) -> Reconciled:
        env.refuse_if_damaged()
        transaction = settle.payable_transaction(tx, reference, caller.mode)
        tried = transactions.misses_since(tx, transaction.id, now - MISS_WINDOW_US)
        if len(tried) >= env.config.limits.reconcile_misses_15min and telco_id not in tried:
            retry_after_s = -(-(min(tried.values()) + MISS_WINDOW_US - now) // SECOND_US)
            raise Refusal(
                ErrorCode.TOO_MANY_ATTEMPTS,
                "Too many different transaction IDs were tried for this transaction.",
                headers={"Retry-After": str(retry_after_s)},
                retry_after=retry_after_s,
            )
        payment = _payment(tx, env, transaction, request, now)
        if request.amount_minor is not None and request.amount_minor != payment.amount_minor:
            raise Refusal(
                ErrorCode.AMOUNT_MISMATCH,
                claimed_amount=render(request.amount_minor),
                matched_amount=render(payment.amount_minor),
            )
        _vouched(tx, caller, payment, confirmed=request.confirmed)
        payment = hand_up.usable_here(tx, env, payment, transaction, actor=caller.name, now=now)
        decision = settle.OperatorDecision(
            ids.reconciliation_id(env.entropy.bytes(16)),
            caller.name,
            "reconcile",
            claimed_minor=request.amount_minor,
            notes=request.notes,
        )
        verified, verdict = settle.verify_by_operator(tx, env.outbox, transaction, payment, decision, now)
        return Reconciled(decision.reconciliation_id, verified, payment, verdict)

    result = await env.store.write(job)
    if isinstance(result, Refusal):
        raise result
    return result


def _found(reader: Reader, transaction: Transaction, request: ReconcileRequest) -> tuple[list[Payment], list[Payment]]:
    """Return the payments with the ID, and those of them that may pay: not reversed, and no history beside a live one."""
    found = [
        payment
        for payment in payments.with_telco_id(reader, transaction.mode, normalize_telco_id(request.transaction_id))
        if payment.currency == transaction.currency and request.provider in (None, payment.provider)
    ]
    usable = [payment for payment in found if payment.reversed_at is None]
    live = [payment for payment in usable if not payment.historical]
    return found, live or usable


def _payment(tx: Tx, env: Env, transaction: Transaction, request: ReconcileRequest, now: int) -> Payment:
    """Return the only unused payment with the ID. An ID in a form that no network uses is no guess, so it is not counted."""
    telco_id = normalize_telco_id(request.transaction_id)
    found, usable = _found(tx, transaction, request)
    # The shop's own wordings may read IDs of any form.
    if not found and not valid_for_any(telco_id) and not env.own_wordings.wordings:
        raise invalid([FieldError("transaction_id", "invalid", NO_FORM)])
    if not usable:
        transactions.add_miss(tx, transaction.id, telco_id, now, now - MISS_WINDOW_US)
        if found:
            raise Refusal(ErrorCode.NO_MATCHING_TRANSACTION, reason="reversed")
        near = _other_zeros(tx, transaction, request)
        if near is not None:
            raise Refusal(
                ErrorCode.NO_MATCHING_TRANSACTION,
                f"No payment has that transaction ID. {near} has arrived: only the zeros in front differ.",
                hint="Compare the zeros with the customer's message, and reconcile with the whole ID.",
                near_transaction_id=near,
            )
        raise Refusal(ErrorCode.NO_MATCHING_TRANSACTION)
    return settle.only_unused(tx, usable, transaction)


def _other_zeros(tx: Tx, transaction: Transaction, request: ReconcileRequest) -> str | None:
    """Return the ID of the only unused payment whose ID differs by leading zeros alone; None if there is not exactly one."""
    telco_id = normalize_telco_id(request.transaction_id)
    number = telco_id.lstrip("0")
    if not (number.isascii() and number.isdigit()):
        return None
    near = [
        payment
        for length in range(len(number), ID_DIGITS_MAX + 1)
        if length != len(telco_id)
        for payment in _found(tx, transaction, replace(request, transaction_id=number.zfill(length)))[1]
        if payment.standing != "used"
    ]
    return near[0].telco_id_as_read if len(near) == 1 else None


def _vouched(tx: Tx, caller: Caller, payment: Payment, *, confirmed: bool) -> None:
    """Refuse a doubtful payment unless a person who may decide about forgeries vouches for it with the password."""
    doubt = doubt_about(tx, payment)
    if doubt is None:
        return
    if caller.kind is CallerKind.KEY:
        raise Refusal(ErrorCode.SESSION_REQUIRED, sentence(doubt, payment))
    require(caller, Operation.DECIDE_FORGERY)
    if not confirmed:
        raise Refusal(ErrorCode.INVALID_PASSWORD, sentence(doubt, payment))


class ClaimResult(StrEnum):
    """Result shown to the customer."""

    THANKS = "thanks"
    TOO_MANY = "too_many"
    NO_PAGE = "no_page"


async def claim_payment(env: Env, slug: str, telco_id: str) -> ClaimResult:
    """Store a customer's claim that the payment with this ID is for the transaction of this page.

    If that payment is stored now or later and pays no other transaction, the operator sees this transaction as a suggestion.
    At most three new IDs an hour are accepted; a repeated one is not counted.
    """
    now = env.clock.now_us()
    telco_id = normalize_telco_id(telco_id)

    def job(tx: Tx) -> ClaimResult:
        request = transaction_of(tx, slug)
        if request is None or not checkout.is_shown(request, now):
            return ClaimResult.NO_PAGE
        if request.status not in checkout.UNPAID:
            return ClaimResult.THANKS
        claims = suggestions.claims_of(tx, request.id)
        if telco_id in claims:
            return ClaimResult.THANKS
        lately = [at for at in claims.values() if at > now - HOUR_US]
        if len(lately) >= CLAIMS_PER_HOUR:
            return ClaimResult.TOO_MANY
        suggestions.add_claim(tx, request, telco_id, now)
        data = {"transaction_id": telco_id}
        journal.add(tx, "transaction.payment_claimed", now, request, actor="customer", data=data)
        for payment in payments.with_telco_id(tx, request.mode, telco_id):
            holder = transactions.paid_by(tx, payment.id)
            if holder is None or holder.origin != "open":
                continue
            if reviews.open_for_message(tx, payment.message_id) is None:
                open_near_miss_review(tx, env, payment, holder, now)
        return ClaimResult.THANKS

    return await env.store.write(job)
