"""Hand a payment up to the hub, take it back before it was sent, and match handed-up payments at the hub.

A payment has one decider at a time, named in its row at the branch that read it. The branch alone changes it.
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from daemon.core import ids
from daemon.core.branches import identity
from daemon.core.branches.place import NOTHING
from daemon.core.errors import Refusal
from daemon.core.limits import DAY_US
from daemon.core.model import Payment, Transaction
from daemon.core.payments import matching
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps import settle
from daemon.steps.suggest import open_near_miss_review
from daemon.store import journal
from daemon.store.branches import branches, copies, feed
from daemon.store.branches.branches import Branch
from daemon.store.branches.feed import HubLink
from daemon.store.engine import Reader, Tx
from daemon.store.payments import payments, transactions
from daemon.wire import ErrorCode, Mode
from parsers import svc_code
from parsers.money import render

STANDING: Final = "handed"
"""The standing of a payment at the branch that handed it up, and at the hub while it waits for a person."""
DECIDED: Final = "decided"
"""Why a branch does not take a payment back: it remembers the order of the hub that the payment paid."""
ASK_AGAIN_S: Final = 5
CONFIRMED_US: Final = 7 * DAY_US
"""A SIM and number that a branch has had for so long is its own: the thief of a key is found out before."""
ASKED: Final = "has this and was asked"
"""The rest of a sentence about a branch that has not answered."""


def hand_up(tx: Tx, payment: Payment, *, actor: str, now: int) -> None:
    """Let the hub decide a payment that paid no transaction here."""
    payments.set_decider(tx, payment.id, "hub", STANDING)
    journal.add(tx, "payment.handed_up", now, payment, actor=actor)
    tx.wake(feed.TOPIC)


def usable_here(tx: Tx, env: Env, payment: Payment, transaction: Transaction, *, actor: str, now: int) -> Payment:
    """Return a payment that a person wants to use here, once it is this shop's to use.

    Of history, and of what a hub that this shop has left may have used, the person has vouched before with the password.

    Raises:
        Refusal: PAYMENT_HANDED_UP at a branch; BRANCH_ASKED at a hub, where the caller commits the question.
    """
    if payment.decided_here:
        return payment
    if payment.branch_id is None:
        return _take_back(tx, payment, actor, now)
    branches.ask(
        tx, env.new_id(), payment.branch_id, "claim", payment.id,
        {"transaction_id": transaction.id, "reference": transaction.reference}
        | ({"vouched": True} if payment.historical else {}), by=actor, now=now,
    )  # fmt: skip
    raise branch_asked(tx, payment.branch_id)


def branch_asked(tx: Tx, branch_id: str, how: str = ASKED) -> Refusal:
    """Return the answer while a branch has not answered; `how` is the rest of a sentence about the branch."""
    branch = branches.get(tx, branch_id)
    assert branch is not None, "a copy belongs to a branch"
    return Refusal(
        ErrorCode.BRANCH_ASKED,
        f"The branch {branch.name} {how}; it answers when its connection is back.",
        headers={"Retry-After": str(ASK_AGAIN_S)},
        retry_after=ASK_AGAIN_S,
        branch=branch.name,
    )


def _take_back(tx: Tx, payment: Payment, actor: str, now: int) -> Payment:
    """Take back a payment that was never sent to the hub, or, after this shop has left it, on a person's word.

    Raises:
        Refusal: PAYMENT_HANDED_UP: the hub may have it, and may have used it.
    """
    # Also after the branch has left, or has joined again: what the hub used stays used.
    to_hub = feed.get_link(tx)
    if _used_by_hub(tx, payment) or (to_hub is not None and _may_be_at_hub(tx, payment, to_hub)):
        raise Refusal(ErrorCode.PAYMENT_HANDED_UP)
    return _back_here(tx, payment, actor, now)


def _used_by_hub(reader: Reader, payment: Payment) -> bool:
    decision = feed.decision_about(reader, payment.id) or {}
    return decision.get("reference") is not None or decision.get("same_as") is not None


def _may_be_at_hub(reader: Reader, payment: Payment, to_hub: HubLink) -> bool:
    first = feed.first_entry(reader, "payment", payment.id, to_hub.acked_seq)
    return first is None or first <= to_hub.sent_seq or feed.was_claimed(reader, payment.id)


def is_unanswered(reader: Reader, payment: Payment) -> bool:
    """Return whether this shop handed a payment up to a hub that it has left without an answer: the hub may have used it."""
    mine = payment.branch_id is None and not payment.decided_here
    return mine and feed.get_link(reader) is None and not _used_by_hub(reader, payment)


def take_back_unsent(tx: Tx, to_hub: HubLink, actor: str, now: int) -> tuple[list[Payment], list[Payment]]:
    """For a shop that leaves its hub, take back the payments that were never sent; return those, and the unanswered ones."""
    back, unanswered = list[Payment](), list[Payment]()
    for payment in payments.with_standing(tx, STANDING):
        if _used_by_hub(tx, payment):
            continue
        if _may_be_at_hub(tx, payment, to_hub):
            unanswered.append(payment)
        else:
            back.append(_back_here(tx, payment, actor, now))
    return back, unanswered


def sums_of(found: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    """Return number and sum by currency of payments, each given as its currency and its amount in minor units."""
    by_currency = dict[str, list[int]]()
    for currency, minor in found:
        by_currency.setdefault(currency, []).append(minor)
    return [
        {"currency": currency, "count": len(minors), "amount": render(sum(minors), currency)}
        for currency, minors in by_currency.items()
    ]


def _back_here(tx: Tx, payment: Payment, actor: str, now: int) -> Payment:
    payments.set_decider(tx, payment.id, "branch", "open")
    journal.add(tx, "payment.taken_back", now, payment, actor=actor)
    return replace(payment, decider="branch", standing="open")


def decide(  # noqa: PLR0913 -- what is known of the payment
    tx: Tx, env: Env, branch: Branch, payment: Payment, times: Times, *, referred: bool, vouched: bool = False
) -> None:
    """Match a payment that a branch handed up to this hub; one that pays nothing here goes back, unless it was claimed.

    One on a new SIM or number waits, undecided, if it is above the limit of the day, unless a person named it. `payment` is
    the hub's copy. `referred`: a transaction, a review or a command refers to it; `vouched`: a person said that it counts.
    """
    now = times.wall_us
    if referred and branches.open_command(tx, "release", payment.id) is not None:
        payments.set_decider(tx, payment.id, "branch", "review")
        return
    decision = _match(tx, env, payment, times)
    claimed = referred and branches.last_command(tx, "claim", payment.id) is not None
    wanted = claimed or branch.decides == NOTHING
    if isinstance(decision, matching.Unmatched) and not wanted:
        release(tx, env, payment, by="momo", now=now)
        return
    if not (claimed or vouched or payment.reversed_at is not None or _is_counted(tx, env, branch, payment, now)):
        return
    if isinstance(decision, matching.Unmatched) or payment.reversed_at is not None:
        _keep(tx, env, payment, now)
    elif isinstance(decision, matching.Verify):
        if referred:
            copies.detach_copies(tx, payment.id, decision.transaction.id)
        how = settle.Settlement(
            decision.verdict,
            decision.matched_by,
            decision.late,
            payer_known_by=decision.payer_known_by,
            referred=referred,
        )
        settle.verify(tx, env.outbox, decision.transaction, payment, how, now)
    else:
        about = payment.id if decision.transaction is None else decision.transaction.id
        copies.detach_copies(tx, payment.id, about)
        payments.set_standing(tx, payment.id, "review")
        settle.open_payment_review(tx, env.outbox, payment, decision, now)
        settle.tell_branch(tx, env.outbox, payment, None, now)


def _is_counted(tx: Tx, env: Env, branch: Branch, payment: Payment, now: int) -> bool:
    """Return whether a payment is on a SIM and number of the branch, or within the limit for new ones; else tell people."""
    if payment.mode is Mode.TEST or copies.is_known(tx, payment, now - CONFIRMED_US):
        return True
    limit = env.config.hub.unconfirmed_limit * 100
    if branches.count_unconfirmed(tx, branch.id, payment.amount_minor, day=now // DAY_US, limit=limit):
        return True
    payments.set_standing(tx, payment.id, STANDING)
    alike = [one.amount_minor for one in copies.unconfirmed(tx, branch.id) if one.currency == payment.currency]
    data = {"branch": branch.name, "amount_minor": sum(alike), "currency": payment.currency}
    journal.add_notice(tx, journal.Notice.SIM_UNCONFIRMED, now, mode=payment.mode, payment_id=payment.id, data=data)
    return False


def _match(tx: Tx, env: Env, payment: Payment, times: Times) -> matching.Decision:
    if payment.historical:
        return matching.Unmatched("history")
    # The clock of a branch may be years off: the times are the network's, and ours.
    seen = replace(payment, stored_at=times.wall_us)
    codes = svc_code.candidates(payment.reference_text or "")
    coded = transactions.by_codes_in_use(tx, payment.mode, codes, times.lower_bound_us)
    expecting = transactions.expecting(tx, payment.mode, payment.telco_transaction_id)
    return matching.match(
        seen, coded, expecting, late_policy=env.config.transactions.late_policy,
        approved=payments.approved_numbers(tx, payment, [*coded, expecting]), dated=times.confirmed,
    )  # fmt: skip


def _keep(tx: Tx, env: Env, payment: Payment, now: int) -> None:
    holder_id = ids.holder_id(env.account_key, payment.id)
    copies.detach_copies(tx, payment.id, holder_id)
    payments.set_standing(tx, payment.id, "open")
    holding = settle.Holding(rejected=payment.reversed_at is not None)
    holder = settle.add_holder(tx, env.outbox, payment, holding, now)
    if payment.reversed_at is None:
        open_near_miss_review(tx, env, payment, holder, now)
    settle.tell_branch(tx, env.outbox, payment, holder, now)


def keep_decided(tx: Tx, env: Env, payment_id: str, now: int) -> Payment | None:
    """Keep and return a payment of an order that this hub lost with a restore: a sale until a person reconciles it."""
    payment = payments.get(tx, payment_id)
    if payment is not None and payment.standing != "used":
        payments.set_decider(tx, payment.id, "hub", "open")
        _keep(tx, env, replace(payment, decider="hub"), now)
    return payment


def same_elsewhere(tx: Tx, payment: Payment) -> Payment | None:
    """Return the same payment of another branch that counts instead, if it was used or is for this hub to use."""
    first = None if payment.double_of is None else payments.get(tx, payment.double_of)
    if first is None or not (first.standing == "used" or first.decided_here):
        return None
    # A payment of another SIM or amount is another one: one of the two IDs is wrong, and a person chooses.
    return first if identity.money(first) == identity.money(payment) else None


def settle_identity(
    tx: Tx, env: Env, payment: Payment, times: Times, *, chosen: str | None = None, actor: str = "momo"
) -> bool:
    """Let at most one of the payments with the network ID of this one count, by default the one that `identity.counting` says.

    One that counts no longer keeps the order that it paid. One that counts now is decided. Return whether a person must be
    told: they are different payments, or the one that counts is not that of the branch which had the SIM and number before.
    """
    rivals = copies.rivals(tx, payment, times.wall_us - DAY_US)
    best = identity.counting(rivals)
    if chosen is not None:
        best = next(one for one in rivals if one.payment.id == chosen)
    double_of = dict[str, str | None]()
    for one in rivals:
        other = best or next(each for each in rivals if each is not one)
        double_of[one.payment.id] = None if one is best else other.payment.id
        if one is not best and one.payment.double_of is None:
            uncount(tx, env, one.payment, actor, times.wall_us)
    copies.set_doubles(tx, double_of)
    if best is not None and best.payment.double_of is not None and best.payment.branch_id is not None:
        branch = branches.get(tx, best.payment.branch_id)
        assert branch is not None, "a copy belongs to a branch"
        for each, referred in copies.handed_up(tx, branch.id, [best.payment.id]):
            decide(tx, env, branch, each, times, referred=referred, vouched=chosen is not None)
    money = {identity.money(one.payment) for one in rivals}
    return best is None or len(money) > 1 or (not best.known and any(one.known for one in rivals))


def uncount(tx: Tx, env: Env, payment: Payment, actor: str, now: int) -> Transaction | None:
    """Take a payment that counts no longer out of this hub's sales and reviews; return the order that it paid, which stays paid."""
    paid = transactions.paid_by(tx, payment.id)
    if paid is not None and paid.branch_id is None:
        if paid.origin == "request":
            return paid  # it was told to be paid, and the goods may be gone: a person decides
        env.outbox.take_back(tx, transactions.retire_holder(tx, paid.id), payment, now, before=paid)
    if payment.decider == "hub":
        detached = settle.detach_payment(tx, payment, payment.id, actor=actor, now=now)
        assert detached is None or detached.branch_id is not None, "the holder is retired"
        payments.set_standing(tx, payment.id, "review")
    return None


def let_go(tx: Tx, env: Env, payment: Payment, now: int) -> None:
    """Give a payment back to a branch that leaves; of one that counts elsewhere say so, once, and keep it."""
    first = same_elsewhere(tx, payment)
    if first is None:
        release(tx, env, payment, by="momo", now=now)
    elif branches.last_command(tx, feed.DECIDED, payment.id) is None:
        paid = transactions.paid_by(tx, first.id)
        settle.tell_branch(tx, env.outbox, payment, paid, now, same_as=first.id)


def release(tx: Tx, env: Env, payment: Payment, *, by: str, now: int) -> None:
    """Give a payment back to its branch. From now on the hub does not match it; the branch does once it was told."""
    assert payment.branch_id is not None, "the hub's own payments are not handed up"
    settle.detach_payment(tx, payment, payment.id, actor=by, now=now)
    payments.set_decider(tx, payment.id, "branch", "review")
    branches.ask(tx, env.new_id(), payment.branch_id, "release", payment.id, {}, by=by, now=now)
    journal.add(tx, "payment.released", now, payment, actor=by)
