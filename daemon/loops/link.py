"""The loop of a branch that sends its feed to the hub, waits for commands, and carries them out.

One request is in flight. With nothing to send, the hub holds it open; a change at the branch ends it, so that the change goes
soon, and a payment that the hub has to decide at once.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from daemon import wire
from daemon.core.access.callers import ALL_SCOPES, Caller, CallerKind
from daemon.core.branches import answer as core_answer
from daemon.core.branches.answer import AnswerError, ExchangeAnswer, read
from daemon.core.branches.facts import BYTES_FIRST
from daemon.core.errors import MomoError, Refusal, Unavailable
from daemon.core.inputs import HttpAnswer, Idempotency, Keep, Repeated
from daemon.env import Env
from daemon.flows.branches import join, outbound, sync
from daemon.flows.branches.outbound import HubRequest
from daemon.flows.payments import review
from daemon.flows.upkeep import erasure, settings
from daemon.loops.keep_running import note_work, set_aside
from daemon.runtime.config_file import find_row
from daemon.runtime.log import Log
from daemon.runtime.secrets import SecretsLocked
from daemon.sender.hub_client import HubClient, HubRefusalError, HubUnreachableError
from daemon.store import journal
from daemon.store.branches import feed
from daemon.store.branches.feed import HubLink
from daemon.wire import VERSION
from parsers.masking import describe_error
from parsers.phone import read_phone

WORKER: Final = "hub"
HELD_S: Final = 40.0
"""Longest time until an answer begins: the hub holds an empty request for 25 s."""
WHOLE_S: Final = 120.0
"""Longest time of a request: 100 commands may come over a narrow line (9.6 kbit/s)."""
REST_S: Final = 600.0
STUCK_S: Final = 1.0
"""Shortest time until the next request if the hub took nothing of the last one."""
SETTLE_S: Final = 0.1
"""From a change to its request: the webhooks of the change go first, and the changes of this time go together."""
RETRY_S: Final = (1.0, 2.0, 5.0, 10.0, 20.0)
"""Between failed requests; each is multiplied by 0.5 to 1.0, so that 200 branches do not return at once."""
LONG_S: Final = 3600.0
"""After failures for this long the branch asks less often."""
RETRY_LONG_S: Final = 300.0


class HubLinkLoop:
    """Sends while this shop is a branch; before and afterwards it waits."""

    def __init__(self, env: Env, places: wire.Places, log: Log) -> None:
        self._env = env
        self._log = log
        self._commands = HubCommands(env, places, log)
        self._changed = asyncio.Event()
        self._urgent = asyncio.Event()
        """The hub has to decide a payment, or there is another hub: also while the hub does not answer it is asked at once."""
        self._settling: asyncio.TimerHandle | None = None
        self._outcomes: dict[str, Mapping[str, Any]] = {}
        self._requests = outbound.Requests(env)
        self._stale: HubLink | None = None
        self._failures = 0
        self._failing_since_s = 0.0
        self._size_max = BYTES_FIRST
        self._client: tuple[tuple[str, str, str], HubClient] | None = None

    async def run(self) -> None:
        """Run until cancelled."""
        store = self._env.store
        ends = [store.subscribe(journal.TOPIC, self._note_change), store.subscribe(feed.TOPIC, self._note_urgent)]
        try:
            if self._env.place.role is wire.ShopRole.HUB:
                with contextlib.suppress(Unavailable):  # the next start tries the rest
                    await sync.try_again(self._env, VERSION)
            while True:
                rest_s = await self._turn()
                await note_work(self._env, self._log, WORKER)
                self._env.heartbeat(WORKER, rest_s)
                if rest_s > 0:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(rest_s):
                            await (self._urgent if self._failures else self._changed).wait()
        finally:
            for end in ends:
                end()
            if self._settling is not None:
                self._settling.cancel()
            await self._requests.close()
            await self._forget_client()

    def _note_change(self) -> None:
        # A shop without a hub must not be woken at each commit.
        if self._env.place.role is wire.ShopRole.BRANCH and self._settling is None:
            self._settling = asyncio.get_running_loop().call_later(SETTLE_S, self._send)

    def _send(self) -> None:
        self._settling = None
        self._changed.set()

    def _note_urgent(self) -> None:
        self._changed.set()
        self._urgent.set()

    async def _turn(self) -> float:
        """Make one request; return the time until the next one in seconds."""
        self._changed.clear()
        self._urgent.clear()
        self._env.heartbeat(WORKER, WHOLE_S)
        outgoing: HubRequest | None = None
        try:
            outgoing = await self._requests.next(self._outcomes, stale=self._stale, size_max=self._size_max)
            if outgoing is None:
                await self._forget_client()
                return REST_S
            answer = await self._post(outgoing)
            if answer is None:
                return 0.0  # something changed while it was held open
            self._stale = None
            return await self._take(outgoing, read(answer, ExchangeAnswer))
        except HubRefusalError as refusal:
            is_stale = refusal.code == wire.ErrorCode.BRANCH_STALE
            self._stale = outgoing.link if outgoing is not None and is_stale else None
            return await self._fail(str(refusal), refusal.retry_after_s, refused=refusal.status in (401, 404, 409))
        except (HubUnreachableError, AnswerError, SecretsLocked) as error:
            return await self._fail(str(error), None)
        except Unavailable as error:
            self._failures += 1
            return float(error.retry_after_s)

    async def _post(self, outgoing: HubRequest) -> dict[str, Any] | None:
        """Send a request. One that brings nothing ends as soon as there is something to send: None."""
        found = outgoing.link
        wanted = (found.url, found.spki, outgoing.key)
        if self._client is None or self._client[0] != wanted:
            await self._forget_client()
            self._client = wanted, HubClient(*wanted, ca_file=self._env.config.hub.ca_file)
        client = self._client[1]
        call = client.call(wire.Path.BRANCH_SYNC, outgoing.octets, timeout_s=HELD_S, whole_s=WHOLE_S)
        if not outgoing.is_empty:
            clock = self._env.clock
            began_s = clock.monotonic()
            try:
                answer = await call
            except HubUnreachableError:
                self._size_max = core_answer.after_failure(self._size_max, outgoing.size)
                raise
            self._size_max = core_answer.after_answer(self._size_max, outgoing.size, clock.monotonic() - began_s)
            return answer
        post = asyncio.create_task(call)
        change = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait((post, change), return_when=asyncio.FIRST_COMPLETED)
            return post.result() if post.done() else None
        finally:
            for task in (post, change):
                task.cancel()
            await asyncio.gather(post, change, return_exceptions=True)

    async def _take(self, outgoing: HubRequest, answer: ExchangeAnswer) -> float:
        self._failures = 0
        more = await outbound.take_answer(self._env, outgoing, answer)
        self._outcomes = {}
        for command in answer.commands:
            self._env.heartbeat(WORKER, HELD_S)
            self._outcomes[command["id"]] = await self._commands.carry_out(command)
        if answer.left:
            try:
                if await join.end(self._env, of=outgoing.link):
                    return REST_S
            except Refusal:  # the owner has left with --force meanwhile, and may have joined again
                return 0.0
            more = True  # a payment that came meanwhile may be handed up: it is sent first
        asks_again = any(command["id"] in outgoing.request.outcomes for command in answer.commands)
        if asks_again or answer.want is not None or answer.acked <= outgoing.request.after < outgoing.request.upto:
            return max(answer.pause_s, STUCK_S)
        if more or self._outcomes or answer.pause_s:
            return answer.pause_s
        # An old hub that holds nothing open must not be asked all the time.
        return 0.0 if not outgoing.is_empty or answer.held else 1.0

    async def _fail(self, why: str, after_s: float | None, *, refused: bool = False) -> float:
        await self._forget_client()
        now_s = self._env.clock.monotonic()
        if not self._failures:
            self._failing_since_s = now_s
        is_long = now_s - self._failing_since_s > LONG_S
        rest_s = RETRY_LONG_S if is_long else RETRY_S[min(self._failures, len(RETRY_S) - 1)]
        self._failures += 1
        share = 0.5 + self._env.entropy.below(1_000) / 2_000
        wait_s = max(rest_s * share, after_s or 0.0)
        self._log.warning("hub.not_reached", why=why, retry_s=round(wait_s, 1))
        with contextlib.suppress(Unavailable):
            await outbound.note_problem(self._env, why, refused=refused)
        return wait_s

    async def _forget_client(self) -> None:
        if self._client is not None:
            await self._client[1].aclose()
            self._client = None


Command = Mapping[str, Any]
Outcome = dict[str, Any]


class HubCommands:
    """Carries out commands; each has an outcome, which is kept and given again."""

    def __init__(self, env: Env, places: wire.Places, log: Log) -> None:
        self._env = env
        self._places = places
        self._log = log
        self._by_kind: Final[Mapping[str, Callable[[Env, Command], Awaitable[Outcome]]]] = {
            "claim": outbound.claim,
            "release": outbound.release,
            "decided": outbound.hear,
            "paid_twice": outbound.hear,
            "send_sms": outbound.send_sms,
        }

    async def carry_out(self, command: Command) -> Outcome:
        """Return the outcome of a command; one that trips a fault of ours has failed, and the feed goes on.

        Raises:
            Unavailable: It cannot be carried out now; the hub sends it again.
        """
        try:
            return await self._carry_out(command)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 -- else the hub would send the same command for ever
            why = describe_error(error)
            await set_aside(self._env, self._log, "hub", f"a command {command['kind']}", error)
            return {"done": False, "why": why}

    async def _carry_out(self, command: Command) -> Outcome:
        env, kind = self._env, command["kind"]
        # These look for an earlier outcome themselves, in the commit of their effect.
        own = self._by_kind.get(kind)
        known = None if own else await outbound.known_outcome(env, command["id"])
        if known is not None:
            return known
        try:
            if own:
                return await own(env, command)
            outcome = await self._other(command)
        except Unavailable:
            raise
        except Repeated:  # carried out before, in a commit whose outcome was not kept
            outcome = {"done": True}
        except Refusal as refusal:
            outcome = {"done": False, "why": refusal.code, "message": str(refusal.message)}
        except (MomoError, OSError, ValueError, LookupError) as error:
            outcome = {"done": False, "why": str(error)}
        if not outcome["done"]:
            why = outcome["why"]
            self._log.warning("hub.command_refused", command=command["id"], kind=kind, why=why)
        return await outbound.keep_outcome(env, command, outcome)

    async def _other(self, command: Command) -> Outcome:
        kind, body, name = command["kind"], command["body"], outbound.actor_of(command)
        caller = Caller(CallerKind.SOCKET, None, ALL_SCOPES, None, False, name, owner=True)
        if kind == "decide_review":
            claim = Idempotency("hub", command["id"], kind)
            keep = Keep[review.Decided](claim, lambda _: HttpAnswer(200, b""))
            if body["action"] == "approve":
                approval = review.Approval(body.get("reference"), body.get("notes"), confirmed=True)
                await review.approve(self._env, caller, command["subject"], approval, keep=keep)
            else:
                notes = str(body.get("notes") or "rejected at head office")
                await review.reject(self._env, caller, command["subject"], notes, keep=keep)
            return {"done": True}
        if kind == "forget_payer":
            number = read_phone(str(body["number"]))
            if number is None:
                return {"done": False, "why": "not a phone number"}
            done = await erasure.forget(self._env, caller, number)
            return {"done": True, "counts": done.counts}
        if kind == "settings":
            key = str(body["key"])
            if not find_row(key).setting.hub:
                return {"done": False, "why": f"{key} is only changed at the branch"}
            changed = await settings.change(self._env, caller, self._places, key, body.get("value"))
            return {"done": True, "restart": changed["changed"] and not changed["live"]}
        return {"done": False, "why": f"this version does not know the command {kind}"}
