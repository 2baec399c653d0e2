"""An operator's commands at a hub (make this shop one, invite branches, ask them for something), and the calls of branches."""

import hashlib
from collections.abc import Collection, Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from daemon.core.access.callers import Caller, KeyKind, Operation, make_key, require
from daemon.core.books.day_sheet import midnight
from daemon.core.branches.facts import DECISION, SUMS, TABLES, USES, DaySum, day_json
from daemon.core.branches.identity import money
from daemon.core.branches.place import ALONE, Place
from daemon.core.errors import FieldError, Refusal, invalid, needed
from daemon.core.limits import DAY_US, SECOND_US
from daemon.core.model import Payment
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps import hand_up
from daemon.store import journal, shop
from daemon.store.access import users
from daemon.store.branches import branches, copies, feed, restored
from daemon.store.branches.branches import Branch
from daemon.store.engine import Reader, Tx
from daemon.store.payments import payments
from daemon.wire import ErrorCode, Mode, Scope, ShopRole
from parsers.money import render

INVITED_S: Final = 15 * 60
INVITED_S_MAX: Final = 30 * 24 * 60 * 60
_LETTERS: Final = "23456789abcdefghjkmnpqrstuvwxyz"
_LENGTH: Final = 20
"""Of the word in an invitation: 99 bits."""
_ID_LENGTH: Final = 7
"""Of a branch's id, which each copied payment has in three rows and four indexes; with a byte more it would take 50 there."""
ROWS_MAX: Final = 500
_SHOWN_US: Final = 7 * DAY_US
"""How long the status of a branch names the days that it last sent together."""
ASKED: Final = ("send_sms", "forget_payer", "settings")
"""Commands that are about a branch; those about its payments and reviews have their own calls."""


async def init(env: Env, caller: Caller) -> dict[str, Any]:
    """Make this shop a hub: from now on its payment codes begin with a digit. Again, it changes nothing.

    Raises:
        Refusal: BRANCH_EXISTS: it is a branch.
    """
    require(caller, Operation.CHANGE_SETTINGS)
    now = env.clock.now_us()

    def job(tx: Tx) -> bool:
        if env.place.role is ShopRole.BRANCH:
            raise Refusal(ErrorCode.BRANCH_EXISTS)
        if env.place.role is ShopRole.HUB:
            return False
        feed.set_role(tx, ShopRole.HUB)
        journal.add(tx, "hub.made", now, actor=caller.name, data={})
        return True

    changed = await env.store.write(job)
    env.place = Place(ShopRole.HUB)
    return {"changed": changed}


async def end(env: Env, caller: Caller) -> dict[str, Any]:
    """Make this hub an ordinary shop again, and withdraw its open invitations. Again, it changes nothing.

    Raises:
        Refusal: BRANCH_EXISTS: a branch has joined, also if it has left since; the hub has its rows.
    """
    require(caller, Operation.CHANGE_SETTINGS)
    now = env.clock.now_us()

    def job(tx: Tx) -> dict[str, Any]:
        if env.place.role is not ShopRole.HUB:
            return {"changed": False, "withdrawn": 0, "ended": []}
        if joined := [one.name for one in branches.every(tx) if one.epoch]:
            why = f"Branches have joined this hub ({', '.join(joined)}), so it stays one."
            raise Refusal(ErrorCode.BRANCH_EXISTS, why)
        ended = [name for one in branches.every(tx) for name in users.end_of_branch(tx, one.id, now)]
        withdrawn = branches.withdraw_invitations(tx)
        feed.set_role(tx, ShopRole.ALONE)
        data = {"withdrawn": withdrawn, "ended": ended}
        journal.add(tx, "hub.ended", now, actor=caller.name, data=data)
        return {"changed": True, **data}

    done = await env.store.write(job)
    if done["changed"]:
        env.place = ALONE
    return done


async def invite(
    env: Env, caller: Caller, name: str, decides: str, pin: str, *, valid_s: int = INVITED_S
) -> dict[str, Any]:
    """Invite a branch; return the word that it joins with, once, within this time.

    Raises:
        Refusal: NOT_A_HUB.
    """
    require(caller, Operation.MANAGE_KEYS)
    _needs_hub(env)
    now = env.clock.now_us()
    secret = _letters(env, _LENGTH)
    branch_id = _letters(env, _ID_LENGTH)

    def job(tx: Tx) -> None:
        branches.invite(
            tx, branch_id=branch_id, name=name, decides=decides, sha256=_hash(secret),
            until=now + valid_s * SECOND_US, now=now,
        )  # fmt: skip
        journal.add(tx, "branch.invited", now, actor=caller.name, data={"branch": name})

    await env.store.write(job)
    word = f"{secret}.{pin}" if pin else secret
    return {"name": name, "word": word, "decides": decides, "expires_in_s": valid_s}


async def distrust(env: Env, caller: Caller, name: str, since: int) -> dict[str, Any]:
    """End the key of a branch, because it was stolen, and let the rows that came since a time count for nothing.

    They are not given back to the branch either. Return the sums of their payments, and the orders of this hub that some of
    them paid.

    Raises:
        Refusal: NOT_A_HUB; BRANCH_NOT_FOUND: no rows of this branch are here that could be distrusted.
    """
    require(caller, Operation.MANAGE_KEYS)
    _needs_hub(env)
    times = env.times()

    def job(tx: Tx) -> dict[str, Any]:
        found = branches.named(tx, name)
        if found is None or not found.epoch:
            why = f"No branch {name} has joined, so it has sent nothing that could be distrusted."
            raise Refusal(ErrorCode.BRANCH_NOT_FOUND, why)
        return _distrust(tx, env, caller, found, since, times)

    return await env.store.write(job)


def _distrust(tx: Tx, env: Env, caller: Caller, branch: Branch, since: int, times: Times) -> dict[str, Any]:
    """End the key of a branch, and let the rows that came since a time count for nothing."""
    now = times.wall_us
    if branch.key_id is not None:
        users.revoke_key(tx, branch.key_id, now)
        branches.forget_key(tx, branch.id)
    between = branches.doubt(tx, branch, since, by=caller.name, now=now)
    withdrawn, used, orders = list[Payment](), list[Payment](), list[dict[str, Any]]()
    for payment in copies.distrusted(tx, branch.id, *between):
        paid = hand_up.uncount(tx, env, payment, caller.name, now)
        if paid is not None:
            amount = render(payment.amount_minor, payment.currency)
            orders.append({"reference": paid.reference, "currency": payment.currency, "amount": amount})
        (withdrawn if paid is None else used).append(payment)
    freed_ids, kept_ids = [[one.id for one in some] for some in (withdrawn, used)]
    for waiting in copies.withdraw(tx, branch.id, between, freed_ids, kept_ids, now):
        freed = payments.get(tx, waiting)
        assert freed is not None, "it was just read"
        hand_up.settle_identity(tx, env, freed, times)
    live = [(one.currency, one.amount_minor) for one in withdrawn if one.mode == Mode.LIVE]
    told = {"distrusted": hand_up.sums_of(live), "paid_orders": orders}
    journal.add(tx, "branch.distrusted", now, actor=caller.name, data={"branch": branch.name, "since": since, **told})
    return told


async def accept(env: Env, word: str, *, dry_run: bool, methods: Collection[str] = ()) -> dict[str, Any]:
    """Let a branch join with its invitation; return its key, once. The key that it had before ends.

    `methods` are the ids of its numbers, and the answer says what the hub has of it (`known`).

    Raises:
        Refusal: INVITATION_INVALID, also if it is for another branch than the one that the numbers belong to.
    """
    now = env.clock.now_us()
    text = make_key(Mode.LIVE, KeyKind.SECRET, env.entropy.below)
    key_id = env.new_id()

    def job(tx: Tx) -> dict[str, Any]:
        found = None
        if env.place.role is ShopRole.HUB:
            found = branches.invited(tx, _hash(word), now)
        if found is None:
            raise Refusal(ErrorCode.INVITATION_INVALID)
        if owner := copies.owner_of(tx, methods, found.id):
            why = f"This shop is the branch {owner} of this hub, not {found.name}. At the hub type `momo hub invite {owner}`."
            raise Refusal(ErrorCode.INVITATION_INVALID, why)
        here = shop.get(tx)
        assert here is not None, "a shop was set up"
        data = {
            "branch_id": found.id, "name": found.name, "hub": here.name, "decides": found.decides,
            "epoch": found.epoch + 1, "known": {"epoch": found.epoch, "acked": found.acked_seq},
        }  # fmt: skip
        if dry_run:
            return data
        if found.key_id is not None:
            users.revoke_key(tx, found.key_id, now)
        row = users.new_key_row(key_id, f"branch {found.name}", text, [Scope.BRANCH], now)
        users.add_key(tx, row)
        branches.join(tx, found.id, key_id, found.epoch + 1)
        journal.add(tx, "branch.joined", now, data={"branch": found.name})
        return {**data, "key": text}

    return await env.store.write(job)


async def begin_to_leave(env: Env, key_id: str | None) -> dict[str, Any]:
    """Let a branch leave: the unused payments that it handed up go back, in the answers to its next requests.

    Raises:
        Refusal: BRANCH_NOT_FOUND.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> dict[str, Any]:
        found = needed(None if key_id is None else branches.with_key(tx, key_id), ErrorCode.BRANCH_NOT_FOUND)
        if found.status == "joined":
            branches.set_status(tx, found.id, "leaving")
            journal.add(tx, "branch.leaving", now, data={"branch": found.name})
        return {"status": "leaving"}

    return await env.store.write(job)


async def rows(env: Env, key_id: str | None, kind: str, after: int, limit: int) -> dict[str, Any]:
    """Return a page of a branch's own rows, for its restore; of the kinds `sums` and `uses`, all since the day `after`.

    Raises:
        Refusal: BRANCH_NOT_FOUND; VALIDATION_ERROR.
    """
    if kind not in (SUMS, USES, "message", DECISION, *TABLES):
        raise invalid([FieldError("kind", "invalid", "is not a kind of row")])

    def look(reader: Reader) -> dict[str, Any]:
        found = needed(None if key_id is None else branches.with_key(reader, key_id), ErrorCode.BRANCH_NOT_FOUND)
        if kind == SUMS:
            return {"rows": restored.sums(reader, found.id, after), "next": None}
        if kind == USES:
            return {"rows": restored.uses(reader, found.id, after * DAY_US), "next": None}
        if kind == DECISION:
            page, following = branches.decisions(reader, found.id, after, min(limit, ROWS_MAX))
        else:
            page, following = copies.rows_of(reader, found.id, kind, after, min(limit, ROWS_MAX))
        return {"rows": page, "next": following, "epoch": found.epoch, "acked": found.acked_seq}

    return await env.store.read(look)


async def give_back(env: Env, caller: Caller, payment_id: str) -> dict[str, Any]:
    """Give a payment that was handed up back to its branch, also one whose network ID another branch named first.

    Raises:
        Refusal: NOT_A_HUB; NO_MATCHING_TRANSACTION; TRANSACTION_ID_ALREADY_USED; BELONGS_TO_BRANCH; HUB_DECIDES.
    """
    require(caller, Operation.RECONCILE)
    _needs_hub(env)
    now = env.clock.now_us()

    def job(tx: Tx) -> dict[str, Any]:
        payment = payments.get(tx, payment_id)
        if payment is None or payment.branch_id is None:
            raise Refusal(ErrorCode.NO_MATCHING_TRANSACTION, "No branch sent a payment with this id.")
        branch = branches.get(tx, payment.branch_id)
        assert branch is not None, "a copy belongs to a branch"
        if payment.decider != "hub":
            raise Refusal(ErrorCode.BELONGS_TO_BRANCH, branch=branch.name)
        if payment.standing == "used" or hand_up.same_elsewhere(tx, payment) is not None:
            raise Refusal(ErrorCode.TRANSACTION_ID_ALREADY_USED)
        if branch.decides == "nothing":
            raise Refusal(ErrorCode.HUB_DECIDES, f"The branch {branch.name} decides nothing.")
        hand_up.release(tx, env, payment, by=caller.name, now=now)
        return {"payment_id": payment.id, "branch": branch.name}

    return await env.store.write(job)


async def choose(env: Env, caller: Caller, payment_id: str) -> dict[str, Any]:
    """Let this one count of several payments of branches with one network ID.

    Raises:
        Refusal: NOT_A_HUB; NO_MATCHING_TRANSACTION: it is none of several; TRANSACTION_ID_ALREADY_USED: its money paid an order.
    """
    require(caller, Operation.MANAGE_KEYS)
    _needs_hub(env)
    times = env.times()

    def job(tx: Tx) -> dict[str, Any]:
        payment = payments.get(tx, payment_id)
        several = [] if payment is None else copies.rivals(tx, payment, 0)
        if payment is None or len(several) < 2 or payment.branch_id is None:
            raise Refusal(ErrorCode.NO_MATCHING_TRANSACTION, "It is none of several payments with one network ID.")
        if any(one.used and one.payment.id != payment_id and money(one.payment) == money(payment) for one in several):
            raise Refusal(ErrorCode.TRANSACTION_ID_ALREADY_USED)
        hand_up.settle_identity(tx, env, payment, times, chosen=payment_id, actor=caller.name)
        name = branches.names(tx)[payment.branch_id]
        journal.add(tx, "payment.chosen", times.wall_us, payment, actor=caller.name, data={"branch": name})
        return {"branch": name, "payment_id": payment_id, "stored": 0, "refused": 0, "counted": []}

    return await env.store.write(job)


async def ask(env: Env, caller: Caller, name: str, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Ask a branch to send an SMS, to forget a payer or to change a setting.

    Raises:
        Refusal: NOT_A_HUB; BRANCH_NOT_FOUND; VALIDATION_ERROR.
    """
    require(caller, Operation.CHANGE_SETTINGS if kind == "settings" else Operation.ERASE)
    _needs_hub(env)
    if kind not in ASKED:
        raise invalid([FieldError("kind", "invalid", f"must be one of {', '.join(ASKED)}")])
    now, command_id = env.clock.now_us(), env.new_id()

    def job(tx: Tx) -> dict[str, Any]:
        found = needed(branches.named(tx, name), ErrorCode.BRANCH_NOT_FOUND)
        branches.ask(tx, command_id, found.id, kind, "", body, by=caller.name, now=now, again=True)
        journal.add(tx, "branch.asked", now, actor=caller.name, data={"branch": name, "kind": kind})
        return {"id": command_id, "branch": name, "kind": kind}

    return await env.store.write(job)


async def status(env: Env) -> dict[str, Any]:
    """Return the branches, each with its progress, today's payments and their sums, and what is open; without test mode.

    Raises:
        Refusal: NOT_A_HUB.
    """
    _needs_hub(env)

    now = env.clock.now_us()

    def look(reader: Reader) -> dict[str, Any]:
        found, here = branches.every(reader), shop.get(reader)
        assert here is not None, "a shop was set up"
        since = midnight(now, ZoneInfo(here.timezone))
        return {"branches": [_status_of(reader, one, since, now) for one in found]}

    return await env.store.read(look)


def _brings(one: Branch, now: int) -> dict[str, Any] | None:
    """Return when a branch last began to send payments that had waited, and their number and sum by day; None after a week."""
    if one.brings_at is None or now - one.brings_at > _SHOWN_US:
        return None
    days = msgspec.json.decode(one.brings, type=list[DaySum])
    return {"at": one.brings_at, "days": [day_json(each) for each in days]}


def _status_of(reader: Reader, one: Branch, since: int, now: int) -> dict[str, Any]:
    # A branch stores its payments by its own clock.
    taken = branches.takings(reader, one.id, since + (one.clock_off_us or 0))
    return {
        "id": one.id, "name": one.name, "status": one.status, "decides": one.decides,
        "epoch": one.epoch, "acked": one.acked_seq, "last_heard_at": one.last_heard_at,
        "version": one.version, "clock_off_us": one.clock_off_us,
        "payments_today": sum(count for _, count, _ in taken),
        **branches.counts(reader, one.id),
        "brings": _brings(one, now),
        "lost_orders": branches.lost_orders(reader, one.id),
        "unconfirmed": hand_up.sums_of((each.currency, each.amount_minor) for each in copies.unconfirmed(reader, one.id)),
        "takings_today": [
            {"currency": currency, "amount": render(minor, currency)}
            for currency, _, minor in taken
            if minor
        ],
    }  # fmt: skip


def _needs_hub(env: Env) -> None:
    if env.place.role is not ShopRole.HUB:
        raise Refusal(ErrorCode.NOT_A_HUB)


def _letters(env: Env, count: int) -> str:
    return "".join(_LETTERS[env.entropy.below(len(_LETTERS))] for _place in range(count))


def _hash(word: str) -> str:
    return hashlib.sha256(word.encode()).hexdigest()
