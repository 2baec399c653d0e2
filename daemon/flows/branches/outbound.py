"""The requests of a branch to its hub, the handling of the answers, and the hub's commands about a payment.

The outcome of a command is stored with its effect. A command that comes again is answered again and not carried out again.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.branches.answer import ExchangeAnswer
from daemon.core.branches.facts import BYTES_MAX, SyncRequest, packed
from daemon.core.model import Payment
from daemon.env import Env
from daemon.steps import hand_up, settle
from daemon.steps.pay import is_unconfirmed_history, settle_released
from daemon.store import journal
from daemon.store.branches import feed
from daemon.store.branches.feed import KEY_PURPOSE, HubLink
from daemon.store.engine import Tx
from daemon.store.payments import payments, texts
from daemon.wire import VERSION, Mode
from parsers.phone import read_phone

LARGE_BYTES: Final = 32 * 1024


class HubRequest(Struct, frozen=True):
    """A request to the hub.

    Attributes:
        link: Where it goes.
        key: The branch's API key.
        octets: Its body.
        size: Bytes of its facts as JSON.
        more: The feed goes on behind it.
    """

    link: HubLink
    key: str
    request: SyncRequest
    octets: bytes
    size: int
    more: bool

    @property
    def is_empty(self) -> bool:
        """Whether it only asks for commands."""
        r = self.request
        return not (r.facts or r.outcomes or r.stale) and r.upto == r.after


class Requests:
    """The requests of a branch, one at a time.

    While one is on its way and the feed goes on behind it, the next one is prepared. It is sent only if the hub takes the one
    before it as a whole and asks for nothing else.
    """

    def __init__(self, env: Env) -> None:
        self._env = env
        self._ahead: asyncio.Task[HubRequest | None] | None = None

    async def next(
        self, outcomes: Mapping[str, Mapping[str, Any]], *, stale: HubLink | None, size_max: int = BYTES_MAX
    ) -> HubRequest | None:
        """Return the next request, recorded as sent; None if this shop is not a branch, or one that must renew its epoch first.

        Args:
            outcomes: By the id of a command, its outcome.
            stale: The link whose last request the hub answered with BRANCH_STALE. Said only while it is the same epoch
                with the same key: a new one begins with nothing that could be stale.
            size_max: Bytes of its facts as JSON.

        Raises:
            SecretsLocked: The key cannot be read.
        """
        ahead, self._ahead = self._ahead, None
        made = None if ahead is None else await ahead
        # Rows that were read before a command was carried out must not follow its outcome.
        if made is None or outcomes or stale is not None or not await self._is_next(made.request):
            made = await _prepare(self._env, outcomes, stale=stale, size_max=size_max)
        if made is not None and made.more:
            self._ahead = asyncio.create_task(
                _prepare(self._env, {}, stale=None, size_max=size_max, after=made.request.upto)
            )
        return made

    async def _is_next(self, request: SyncRequest) -> bool:
        """Return whether the hub has all facts before a request, and this is still the same branch."""
        found = await self._env.store.look(feed.get_link)
        return found is not None and (found.epoch, found.turn, found.acked_seq) == (
            request.epoch,
            request.turn,
            request.after,
        )

    async def close(self) -> None:
        """Forget the request that was prepared ahead."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.cancel()
            await asyncio.gather(ahead, return_exceptions=True)


async def _prepare(
    env: Env,
    outcomes: Mapping[str, Mapping[str, Any]],
    *,
    stale: HubLink | None,
    size_max: int,
    after: int | None = None,
) -> HubRequest | None:
    """Return the request with the facts behind `after`, by default behind the last acknowledged one.

    Its number, and how far the hub may know the feed, are recorded in the transaction that reads the facts. Rows that change
    later are treated as rows that the hub may know, so it does not matter when it is sent, or whether.
    """
    now = env.clock.now_us()
    brings = await env.store.read(lambda reader: feed.brings(reader, now)) if after is None else []

    def job(tx: Tx) -> tuple[HubLink, SyncRequest, int, bool] | None:
        found = feed.get_link(tx)
        if found is None or found.must_renew:
            return None
        texts = env.config.hub.send_texts
        begin = found.acked_seq if after is None else after
        some = feed.batch(tx, begin, texts=texts, size_max=size_max)
        turn = found.turn + 1
        feed.begin_turn(tx, turn, some.sent)
        is_stale = stale is not None and _epoch_of(stale) == _epoch_of(found)
        request = SyncRequest(
            found.epoch, turn, begin, some.upto, some.facts, outcomes, now, is_stale, VERSION, found.begin_seq, brings
        )
        return found, request, some.size, some.upto < feed.bounds(tx)[1]

    made = await env.store.write(job)
    if made is None:
        return None
    found, request, size, more = made
    key = env.vault.unseal(found.key_sealed, KEY_PURPOSE).decode()
    pack = partial(packed, request)
    # Compressing a large one takes 20 ms, in which nothing else in this thread would go on.
    octets = pack() if size < LARGE_BYTES else await asyncio.to_thread(pack)
    return HubRequest(found, key, request, octets, size, more)


def _epoch_of(one: HubLink) -> tuple[int, str]:
    return one.epoch, one.key_sealed


async def take_answer(env: Env, sent: HubRequest, answer: ExchangeAnswer) -> bool:
    """Record the hub's acknowledgement; return whether more can be sent at once."""
    now, request = env.clock.now_us(), sent.request

    def job(tx: Tx) -> bool:
        found = feed.get_link(tx)
        # The turn is larger than this request's if the next one is prepared already.
        if found is None or found.epoch != request.epoch or found.turn < request.turn:
            return True  # this shop left or was restored meanwhile
        acked = max(found.acked_seq, min(answer.acked, request.upto))
        if answer.want is not None:
            # Send the facts that the hub lost again: from the feed, or every row if the feed no longer has it.
            after = min(answer.want.from_seq, found.acked_seq)
            if after + 1 >= feed.bounds(tx)[0]:
                feed.rewind_link(tx, after)
            else:
                feed.new_epoch(tx, found.epoch + 1, *feed.add_everything(tx))
            return True
        feed.end_turn(tx, acked, now)
        feed.prune(tx, acked)
        return acked < feed.bounds(tx)[1]

    return await env.store.write(job)


async def note_problem(env: Env, why: str, *, refused: bool = False) -> None:
    """Record why the hub did not take a request, and once tell the owner; `refused`: only a person can mend it."""
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        found = feed.get_link(tx)
        if found is not None and found.problem != why:
            feed.set_problem(tx, why)
            kind = "notice.hub_refused" if refused else "hub.problem"
            journal.add(tx, kind, now, data={"why": why, "hub": found.url})

    await env.store.write(job)


Command = Mapping[str, Any]
Outcome = dict[str, Any]
DONE: Outcome = {"done": True}


async def known_outcome(env: Env, command_id: str) -> Outcome | None:
    """Return the outcome of a command that was carried out before; None if it is new."""
    return await env.store.read(lambda reader: feed.outcome_of(reader, command_id))


async def keep_outcome(env: Env, command: Command, outcome: Outcome) -> Outcome:
    """Store the outcome of a command that another flow carried out."""
    now = env.clock.now_us()
    return await env.store.write(lambda tx: feed.add_outcome(tx, command, outcome, now))


async def claim(env: Env, command: Command) -> Outcome:
    """Give a payment up to the hub, unless it was used here."""
    now, actor = env.clock.now_us(), actor_of(command)

    def give(tx: Tx) -> Outcome:
        env.refuse_if_damaged()
        payment = payments.get(tx, command["subject"])
        why = _not_to_give(payment)
        if payment is None or why:
            return {"done": False, "why": why}
        if is_unconfirmed_history(tx, payment) and not command["body"].get("vouched"):
            return {"done": False, "why": "unconfirmed"}
        if payment.decider != "hub":
            into = str(command["body"].get("transaction_id") or payment.id)
            settle.detach_payment(tx, payment, into, actor=actor, now=now)
            hand_up.hand_up(tx, payment, actor=actor, now=now)
        return DONE

    return await _once(env, command, now, give)


def _not_to_give(payment: Payment | None) -> str:
    if payment is None:
        return "no such payment"
    if payment.standing == "used":
        return "used"
    return "reversed" if payment.reversed_at is not None else ""


async def release(env: Env, command: Command) -> Outcome:
    """Take back a payment that the hub gave back, and match it here.

    A hub that was restored may have forgotten that the payment paid an order of its own: the decision that this branch
    remembers then stands, and the hub is told.
    """
    times = env.times()

    def take(tx: Tx) -> Outcome:
        env.refuse_if_damaged()
        payment = payments.get(tx, command["subject"])
        if payment is None:
            return {"done": False, "why": "no such payment"}
        decision = feed.decision_about(tx, payment.id) or {}
        if payment.decider == "hub" and decision.get("origin") == "request":
            return {"done": False, "why": hand_up.DECIDED, "reference": decision["reference"]}
        if payment.decider == "hub":
            payments.set_decider(tx, payment.id, "branch", "open")
            journal.add(tx, "payment.given_back", times.wall_us, payment, actor="hub")
            settle_released(env, tx, replace(payment, decider="branch", standing="open"), times)
        return DONE

    return await _once(env, command, times.wall_us, take)


async def hear(env: Env, command: Command) -> Outcome:
    """Note the hub's decision about a payment, or that a payment was paid twice."""
    now = env.clock.now_us()

    def note(tx: Tx) -> Outcome:
        about = payments.get(tx, command["subject"])
        kind = "notice.paid_twice" if command["kind"] == "paid_twice" else "hub.decided"
        mode = Mode.LIVE if about is None else about.mode
        journal.add(tx, kind, now, actor="hub", mode=mode, payment_id=command["subject"], data=command["body"])
        return DONE

    return await _once(env, command, now, note)


async def send_sms(env: Env, command: Command) -> Outcome:
    """Queue an SMS to a payer on one of this branch's SIMs."""
    now = env.clock.now_us()
    number = read_phone(str(command["body"].get("number", "")))
    text = str(command["body"].get("text", ""))

    def queue(tx: Tx) -> Outcome:
        if number is not None and texts.queue_notice(tx, env.texting, env.new_id(), number, text, now):
            return DONE
        return {"done": False, "why": "no line can send it, or its limit is reached"}

    return await _once(env, command, now, queue)


async def _once(env: Env, command: Command, now: int, carry_out: Callable[[Tx], Outcome]) -> Outcome:
    """Carry a command out and store its outcome in the same commit, or return the outcome of the first time."""

    def job(tx: Tx) -> Outcome:
        known = feed.outcome_of(tx, command["id"])
        return known or feed.add_outcome(tx, command, carry_out(tx), now)

    return await env.store.write(job)


def actor_of(command: Command) -> str:
    """Return the name under which the journal records a command of the hub."""
    return f"hub:{command.get('by') or 'momo'}"
