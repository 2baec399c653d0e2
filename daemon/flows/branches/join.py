"""Join a hub as a branch, leave it, and take rows back from it after a restore."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Protocol

from msgspec import Struct

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.branches import answer
from daemon.core.branches.answer import AnswerError, DaySums, Joined, Uses
from daemon.core.branches.facts import DECISION, EPOCH, KEYS, METHODS_MAX, SUMS, USES, date_of, day_json
from daemon.core.branches.place import ALONE, Place
from daemon.core.errors import Refusal, needed
from daemon.core.ids import reference_of
from daemon.core.limits import CODE_REST_US, DAY_US, LATE_WINDOW_US
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps import hand_up
from daemon.steps.context import internal_errors
from daemon.steps.pay import settle_released
from daemon.store import journal
from daemon.store.branches import feed, restored
from daemon.store.branches.feed import KEY_PURPOSE, HubLink
from daemon.store.branches.restored import Taking
from daemon.store.engine import Reader, Tx
from daemon.store.payments import payments
from daemon.wire import VERSION, ErrorCode, Path, ShopRole

Row = Mapping[str, Any]
PAGE: Final = 500
RECENT_DAYS: Final = 31
DIFFERENT_MAX: Final = 10
"""Different days that are named."""
ASIDE_MAX: Final = 100
"""Rows kept aside that the journal names."""
COMPARE_S: Final = 10.0
COMPARE_WHOLE_S: Final = 60.0
UNDECIDED: Final = (
    "the hub has payments that this shop has no SMS of; type `momo hub restore --from-hub`, which asks about them"
)
"""Why a branch that joined again sends nothing."""
KINDS: Final = ("method", "message", "payment", "transaction", "review", "reversal", DECISION)
"""Kinds of rows that a hub gives back, in the order in which they refer to each other."""


class HubCaller(Protocol):
    """The hub's client."""

    async def call(
        self, path: str, body: Mapping[str, Any], *, timeout_s: float = ..., whole_s: float = ...
    ) -> dict[str, Any]:
        """POST an object, and return the member `data` of the answer."""


async def preview(env: Env) -> dict[str, Any]:
    """Return the number of rows that would be sent, the payments by day, and the codes in use that begin with a digit, as a hub's do.

    Raises:
        Refusal: BRANCH_EXISTS, also if the shop is on a server and could send nothing.
    """
    now = env.clock.now_us()

    def look(reader: Reader) -> dict[str, Any]:
        if env.place.role is not ShopRole.ALONE:
            raise Refusal(ErrorCode.BRANCH_EXISTS)
        if reader.is_postgresql:
            raise Refusal(
                ErrorCode.BRANCH_EXISTS,
                "The data of this shop is on a PostgreSQL server; a branch keeps its data in a file.",
                hint="Set up a shop of its own for the branch: `momo setup` on its machine.",
            )
        days = [day_json(row) for row in restored.sums(reader)]
        return {**feed.counts(reader), "days": days, "codes_like_a_hub": restored.codes_like_a_hub(reader, now)}

    return await env.store.read(look)


Connect = Callable[[str], AbstractAsyncContextManager[HubCaller]]
"""Opens the hub's client with the key of a branch."""


class Invitation(Struct, frozen=True):
    """An invitation: the hub's address, the word, and the beginning of the hash of the hub's key, if it named one."""

    url: str
    word: str
    pin: str = ""


async def join(
    env: Env, caller: Caller, invitation: Invitation, hub: HubCaller, connect: Connect, *, dry_run: bool
) -> dict[str, Any]:
    """Join a hub with an invitation; from that commit on, all that is and will be stored is sent to it.

    A hub that has rows of this branch which this database does not include, because it is older, gives them back first:
    what is sent then replaces them. If payments are among them of which this shop has no SMS, which a stolen key could have
    made up, the answer has their sums (`unknown`), and nothing is taken or sent before `restore`.

    Raises:
        Refusal: BRANCH_EXISTS.
        HubRefusalError: The hub refused the invitation.
        HubUnreachableError: No hub answered; if it gave rows back already, a new invitation is needed.
        AnswerError: The answer is not understood.
    """
    require(caller, Operation.CHANGE_SETTINGS)
    counts = await preview(env)
    methods = await env.store.read(restored.method_ids)
    asked = {
        "word": invitation.word, "dry_run": dry_run, "version": VERSION,
        **({"methods": methods[:METHODS_MAX]} if methods else {}),
    }  # fmt: skip
    given = answer.read(await hub.call(Path.BRANCH_JOIN, asked), Joined)
    url = invitation.url
    data = {"name": given.name, "hub": given.hub, "url": url, "decides": given.decides, **counts}
    if dry_run:
        return {**data, "joined": False}
    if not given.key:
        raise AnswerError("the hub's answer is not understood: it has no key")
    taking = await env.store.read(lambda reader: _lacking(reader, given))
    rows, only_there = None, dict[str, Row]()
    if taking is not None:
        async with connect(given.key) as own:
            only_there = await _only_at_hub(env, own)
            if not only_there:
                rows, _epoch = await _take_rows(env, own, taking)
    aside = _aside(taking)
    times = env.times()

    def job(tx: Tx) -> None:
        if rows is not None:
            _settle(tx, env, times)
        feed.start(tx)
        sealed = env.vault.seal(given.key.encode(), KEY_PURPOSE)
        # The hub may have any of these rows from an earlier time, so none of them may be taken back unasked.
        begin, sent = feed.add_everything(tx)
        feed.replace_link(
            tx,
            HubLink(
                given.branch_id, given.name, invitation.url, invitation.pin, sealed,
                given.decides, given.epoch, 0, begin, sent, None, UNDECIDED if only_there else "", begin,
                must_renew=bool(only_there),
            ),
        )  # fmt: skip
        feed.set_role(tx, ShopRole.BRANCH)
        data = {"url": url, **({"aside": aside[:ASIDE_MAX]} if aside else {})}
        journal.add(tx, "hub.joined", times.wall_us, actor=caller.name, data=data)
        tx.wake(feed.TOPIC)

    await env.store.write(job)
    env.place = Place(ShopRole.BRANCH, given.decides)
    return {**data, "joined": True, "rows": rows, "aside": aside, "unknown": _sums(only_there)}


def _lacking(reader: Reader, given: Joined) -> Taking | None:
    """Return how to take rows back if the hub may have some that this database does not include."""
    if given.epoch <= 1:
        return None
    epoch, acked = feed.left_at(reader, given.branch_id)
    known = given.known
    if epoch and known is not None and known["epoch"] == epoch and known["acked"] <= acked:
        return None
    return Taking(epoch, epoch * EPOCH + acked, None)


def _sums(only_there: Mapping[str, Row]) -> list[dict[str, Any]]:
    return hand_up.sums_of((row["currency"], row["amount_minor"]) for row in only_there.values())


def _aside(taking: Taking | None) -> list[str]:
    return [] if taking is None else [f"{kind} {row_id}" for kind, row_id in sorted(taking.aside)]


async def leave(env: Env, caller: Caller, *, force: bool) -> dict[str, Any]:
    """Ask to leave, once all is sent and the undecided payments are back; with `force` forget the hub at once.

    With `force` the answer has the sums of the payments that were sent and not answered: they stay handed up, because the hub
    may have used them, until a person with the password uses one here. What was never sent is matched here.

    Raises:
        Refusal: NOT_A_BRANCH.
    """
    require(caller, Operation.CHANGE_SETTINGS)
    if force:
        _ended, unanswered = await _end(env, caller.name, None)
        return {"left": True, "unanswered": unanswered}
    needed(await env.store.read(feed.get_link), ErrorCode.NOT_A_BRANCH)
    return {"left": False}


async def end(env: Env, actor: str = "hub", of: HubLink | None = None) -> bool:
    """Forget the hub; return whether it was. Payments that it may have used stay handed up.

    `of` means only this link, because after a join there is another one, and only if everything was sent; None means any.

    Raises:
        Refusal: NOT_A_BRANCH.
    """
    return (await _end(env, actor, of))[0]


async def _end(env: Env, actor: str, of: HubLink | None) -> tuple[bool, list[dict[str, Any]]]:
    """Do as `end`, and return the sums of the payments that were sent and not answered too."""
    times = env.times()
    now = times.wall_us

    def job(tx: Tx) -> tuple[bool, list[dict[str, Any]]]:
        found = feed.get_link(tx)
        if found is None or (of is not None and found.key_sealed != of.key_sealed):
            raise Refusal(ErrorCode.NOT_A_BRANCH)
        if of is not None and found.acked_seq < feed.bounds(tx)[1]:
            return False, []
        back, unanswered = hand_up.take_back_unsent(tx, found, actor, now)
        feed.remove_link(tx)
        feed.set_role(tx, ShopRole.ALONE)
        feed.stop(tx)
        for payment in back:
            settle_released(env, tx, payment, times)
        sums = hand_up.sums_of((one.currency, one.amount_minor) for one in unanswered)
        journal.add(tx, "hub.left", now, actor=actor, data={"unanswered": sums} if sums else {})
        return True, sums

    ended, unanswered = await env.store.write(job)
    if ended:
        env.place = ALONE
    return ended, unanswered


async def unknown(env: Env, hub: HubCaller) -> dict[str, Any]:
    """Return the sums of the payments that only the hub has: no SMS of them is here, also none in the journal of messages.

    Raises:
        HubRefusalError: The hub refused it.
        HubUnreachableError: No hub answered.
        AnswerError: An answer is not understood.
    """
    return {"unknown": _sums(await _only_at_hub(env, hub))}


async def restore(env: Env, caller: Caller, hub: HubCaller, *, take_unknown: bool) -> dict[str, Any]:
    """Take the hub's copies of this branch's rows back, then begin a new epoch and send everything again.

    For a shop that was restored from a backup, or set up anew. Rows that are further on here stay. Rows that contradict rows
    here (an order paid by a payment that another order has) are kept aside and named.

    A payment of which no SMS is here could be made up with a stolen key. With `take_unknown` it comes back, and if it pays
    nothing it needs the password to be used; without, it stays away, with all that names it.

    Raises:
        Refusal: NOT_A_BRANCH.
        HubRefusalError: The hub refused it.
        HubUnreachableError: No hub answered; the rows so far are stored, and the command may be repeated.
        AnswerError: An answer is not understood; the same.
    """
    require(caller, Operation.CHANGE_SETTINGS)
    found = needed(await env.store.read(feed.get_link), ErrorCode.NOT_A_BRANCH)
    taking = Taking(found.epoch, found.epoch * EPOCH + found.acked_seq, found.acked_seq)
    if found.must_renew and not found.turn:
        # It joined again and has sent nothing: what the hub had when it left says which rows are later there.
        epoch, acked = await env.store.read(lambda reader: feed.left_at(reader, found.branch_id))
        taking = Taking(epoch, epoch * EPOCH + acked, None)
    only_there = await _only_at_hub(env, hub)
    counts, epoch = await _take_rows(env, hub, taking, only_there, take_unknown=take_unknown)
    times = env.times()
    aside = _aside(taking)
    sums = _sums(only_there)

    def job(tx: Tx) -> None:
        _settle(tx, env, times)
        feed.new_epoch(tx, max(epoch, found.epoch) + 1, *feed.add_everything(tx))
        data = {**counts, "aside": aside[:ASIDE_MAX], "unknown": sums, "taken": take_unknown}
        journal.add(tx, "hub.restored_from", times.wall_us, actor=caller.name, data=data)
        tx.wake(feed.TOPIC)

    await env.store.write(job)
    return {"rows": counts, "aside": aside, "unknown": sums, "taken": take_unknown}


async def _pages(hub: HubCaller, kind: str) -> AsyncIterator[answer.FeedPage]:
    """Return the hub's rows of a kind."""
    after: int | None = 0
    while after is not None:
        asked = {"kind": kind, "after": after, "limit": PAGE}
        data = await hub.call(Path.BRANCH_ROWS, asked, timeout_s=60)
        page = answer.read_page(data, kind)
        yield page
        after = page.next


async def _only_at_hub(env: Env, hub: HubCaller) -> dict[str, Row]:
    """Return the real payments, by id, that only the hub has. The journal of messages was read at the start."""
    found = dict[str, Row]()
    async for page in _pages(hub, "payment"):
        found |= await env.store.read(partial(restored.not_here, rows=page.rows))
    return found


async def _take_rows(
    env: Env,
    hub: HubCaller,
    taking: Taking,
    only_there: Mapping[str, Row] = MappingProxyType({}),
    *,
    take_unknown: bool = False,
) -> tuple[dict[str, int], int]:
    """Store the hub's copies, page by page; return the number of rows by kind, and the hub's epoch."""
    counts, epoch = dict.fromkeys(KINDS, 0), 0
    left = set[Any]()
    if not take_unknown:
        left = {*only_there, *(row["message_id"] for row in only_there.values())}
    for kind in KINDS:
        async for page in _pages(hub, kind):
            epoch = page.epoch
            if kind == DECISION:
                rows: list[Row] = [*page.rows]
                await env.store.write(partial(feed.add_decisions, rows=rows, now=env.clock.now_us()))
            else:
                rows = [
                    _doubted(kind, row, only_there)
                    for row in page.rows
                    if left.isdisjoint(row.get(name) for name in _NAMES)
                ]
                await _store(env, kind, rows, taking)
            counts[kind] += len(rows)
    return counts, epoch


def _doubted(kind: str, row: Row, only_there: Collection[str]) -> Row:
    """Return a row as it is stored here: payments that only the hub has are history, and wait for no order and no review."""
    if kind == "payment" and row["id"] in only_there and row["standing"] in ("open", "review"):
        return {**row, "historical": True}
    if kind == "transaction" and row["held_payment_id"] in only_there:
        return {**row, "held_payment_id": None, "status": "PENDING"}
    if kind == "review" and row["payment_id"] in only_there and row["state"] == "open":
        return {**row, "state": "superseded"}
    return row


async def _store(env: Env, kind: str, rows: Sequence[Row], taking: Taking) -> None:
    """Store rows; one that trips a fault of ours, or that the database refuses, is kept aside."""
    rest_us = LATE_WINDOW_US + CODE_REST_US
    try:
        await env.store.write(partial(restored.store, kind=kind, rows=rows, taking=taking, rest_us=rest_us))
    except internal_errors(env):
        if len(rows) == 1:
            taking.aside.add((kind, rows[0][KEYS.get(kind, "id")]))
            return
        for row in rows:
            await _store(env, kind, [row], taking)


_NAMES: Final = ("id", "message_id", "payment_id", "held_payment_id")
"""The columns by which a row is, or names, a payment or its message."""


def _settle(tx: Tx, env: Env, times: Times) -> None:
    """Let the payments stand as the orders say, and match those whose order has another payment now."""
    for payment_id in restored.settle_standings(tx):
        payment = payments.get(tx, payment_id)
        assert payment is not None, "it was just read"
        settle_released(env, tx, payment, times)


async def status(env: Env) -> dict[str, Any]:
    """Return how far this branch has sent.

    Raises:
        Refusal: NOT_A_BRANCH.
    """

    def look(reader: Reader) -> dict[str, Any]:
        found = needed(feed.get_link(reader), ErrorCode.NOT_A_BRANCH)
        _first, last = feed.bounds(reader)
        with_hub, untold = feed.handed_up(reader)
        return {
            "name": found.name,
            "url": found.url,
            "decides": found.decides,
            "epoch": found.epoch,
            "acked": found.acked_seq,
            "behind": max(0, last - found.acked_seq),
            "heard_at": found.heard_at,
            "problem": found.problem or None,
            "handed_up": with_hub,
            "undecided": untold,
        }

    return await env.store.read(look)


async def compare(env: Env, hub: HubCaller, *, recent: bool) -> dict[str, Any]:
    """Compare the payments here with the hub's copies: their number and sum by day.

    While something is not sent yet, the days of its payments differ.

    `recent` means only the last 31 days.

    Raises:
        HubRefusalError: The hub refused it; one that is older does not know the question.
        HubUnreachableError: No hub answered.
        AnswerError: The answer is not understood.
    """
    today = env.clock.now_us() // DAY_US
    since = today - RECENT_DAYS + 1 if recent else 0
    asked = {"kind": SUMS, "after": since, "limit": PAGE}
    data = await hub.call(Path.BRANCH_ROWS, asked, timeout_s=COMPARE_S, whole_s=COMPARE_WHOLE_S)
    here = await env.store.read(lambda r: restored.sums(r, None, since))
    there = answer.read(data, DaySums).rows
    mine, theirs = _by_day(here), _by_day(there)
    days = {day for day in mine | theirs if mine.get(day) != theirs.get(day)}
    return {
        "agrees": not days,
        "payments": sum(row["count"] for row in here),
        "hub_payments": sum(row["count"] for row in there),
        "days": RECENT_DAYS if recent else None,
        "different_days": [*map(date_of, sorted(days, reverse=True)[:DIFFERENT_MAX])],
    }


async def other_uses(env: Env, hub: HubCaller) -> list[str]:
    """Return the payments of the last 31 days that paid another order here than at the hub, each as a sentence part.

    Raises:
        HubRefusalError: The hub refused it; one that is older does not know the question.
        HubUnreachableError: No hub answered.
        AnswerError: The answer is not understood, or not everything is sent yet.
    """
    since = env.clock.now_us() // DAY_US - RECENT_DAYS + 1
    asked = {"kind": USES, "after": since, "limit": PAGE}
    data = await hub.call(Path.BRANCH_ROWS, asked, timeout_s=COMPARE_S, whole_s=COMPARE_WHOLE_S)
    theirs = {own: reference_of(order) for own, order in answer.read(data, Uses).rows}
    if (await status(env))["behind"]:
        raise AnswerError("not everything is sent yet")
    return [
        f"the payment {telco_id} paid {here or 'nothing'} here, {theirs.get(own, 'nothing')} at the hub"
        for own, telco_id, here, handed in await env.store.read(lambda r: restored.own_uses(r, since * DAY_US))
        # A decision that the hub has not told yet is under way.
        if here != theirs.get(own, "") and (here or not handed)
    ]


def _by_day(sums: Sequence[Mapping[str, Any]]) -> dict[int, set[tuple[Any, ...]]]:
    found = dict[int, set[tuple[Any, ...]]]()
    for row in sums:
        values = (row["mode"], row["currency"], row["count"], row["amount_minor"])
        found.setdefault(row["day"], set()).add(values)
    return found
