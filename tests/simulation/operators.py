"""Operators in the simulated shop: they reconcile, decide, cancel, pause, replay and move numbers, sensibly or not."""

import asyncio
import random
from functools import partial
from typing import Any, Final

from daemon.core.errors import MomoError
from daemon.core.inputs import ReconcileRequest
from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.lines.line_json import MethodChanges, Slot
from daemon.core.webhooks.endpoint import EndpointChanges
from daemon.flows.lines import payment_methods
from daemon.flows.messages import import_file
from daemon.flows.payments import cancel_expire, reconcile, review
from daemon.flows.webhooks import endpoints, redeliver, replay
from parsers.times import to_us
from tests.fakes.shop import OWNER
from tests.simulation.customers import Customers
from tests.simulation.initial_state import HOSTS, endpoint_id
from tests.simulation.shop import Killed, Shop
from tests.simulation.traffic import Number

OFF: Final = MethodChanges(sim=None)

JOBS: Final = {
    "reconcile": 6, "decide": 6, "cancel": 1, "pause": 2, "resume": 3, "replay": 2, "redeliver": 1, "replay dead": 2,
    "rotate": 1, "move": 1, "claim": 1, "import": 3,
}  # fmt: skip
"""Action -> relative frequency."""


BEFORE_PHONE: Final = "imported before the phone read it"
NEXT_RECEIPT_S: Final = 300.0
"""Longest wait of an operator for the next customer's receipt, in seconds."""


class Operators:
    """The owner and other operators."""

    def __init__(self, shop: Shop, customers: Customers) -> None:
        self.shop = shop
        self._customers = customers
        self._truth = customers.truth
        self._rng = random.Random(shop.size.seed + 5)

    def pause_s(self) -> float:
        """Return the seconds until the next action."""
        return self._rng.expovariate(1 / 120)

    async def work(self) -> None:
        """Do one random action."""
        name = self._rng.choices([*JOBS], [*JOBS.values()])[0]
        await self.shop.happen(name, getattr(self, "_" + name.replace(" ", "_"))())

    async def _reconcile(self) -> None:
        """Match a payment without a code; sometimes with a wrong reference."""
        if not self._customers.waiting:
            return
        reference, telco_id = self._rng.choice(self._customers.waiting)
        if self._rng.random() < 0.2 and self._truth.orders:
            reference = self._rng.choice([*self._truth.orders])
        answer = await self.shop.call(
            lambda env: reconcile.reconcile(env, OWNER, reference, ReconcileRequest(telco_id))
        )
        if isinstance(answer, reconcile.Reconciled):
            assert self._truth.matched.setdefault(reference, telco_id) == telco_id, "matched twice"
            self._customers.waiting = [one for one in self._customers.waiting if one[1] != telco_id]

    async def decide_all(self) -> None:
        """Decide all open reviews."""
        for _ in range(3):
            for _ in range(len(await self._reviews())):
                await self._decide()

    async def _reviews(self) -> list[tuple[Any, ...]]:
        return await self.shop.look(
            "SELECT r.id, COALESCE(p.telco_transaction_id, ''), m.body FROM reviews r "
            "JOIN messages m ON m.id = r.message_id LEFT JOIN payments p ON p.id = r.payment_id "
            "WHERE r.state = 'open' ORDER BY r.seq"
        )

    async def _decide(self) -> None:
        """Decide one review by comparing the message with the facts."""
        waiting = await self._reviews()
        if not waiting:
            return
        review_id, telco_id, body = self._rng.choice(waiting)
        written = self._truth.forged | self._truth.spoofed
        forged = any(one == telco_id or one in (body or "") for one in written)
        if forged:
            await self.shop.call(lambda env: review.reject(env, OWNER, review_id, "forged", confirmed=True))
            return
        said = review.Approval(confirmed=True)
        answer = await self.shop.call(lambda env: review.approve(env, OWNER, review_id, said))
        if isinstance(answer, MomoError) and not isinstance(answer, Killed):
            await self.shop.call(lambda env: review.reject(env, OWNER, review_id, "", confirmed=True))

    async def _cancel(self) -> None:
        if self._truth.orders:
            reference = self._rng.choice([*self._truth.orders])
            await self.shop.call(lambda env: cancel_expire.cancel(env, OWNER, reference, reason=None))

    async def _pause(self) -> None:
        await self._switch(active=False)

    async def _resume(self) -> None:
        await self._switch(active=True)

    async def _switch(self, *, active: bool) -> None:
        which = endpoint_id(self._rng.randrange(len(HOSTS)))
        await self._set(which, active=active)

    async def _set(self, which: str, *, active: bool) -> None:
        changes = EndpointChanges(is_active=active)
        said = await self.shop.call(lambda env: endpoints.update(env, OWNER, which, changes))
        host = HOSTS[int(which[-12:])]
        self.shop.posts.switched(host, active=None if isinstance(said, MomoError) else active)

    async def resume_all(self) -> None:
        """Resume all endpoints."""
        for at in range(len(HOSTS)):
            await self._set(endpoint_id(at), active=True)

    async def _replay(self) -> None:
        now = self.shop.clock.now_us()
        asked = replay.ReplayRequest(endpoint_id(self._rng.randrange(len(HOSTS))), now - HOUR_US, now)
        await self.shop.call(lambda env: replay.replay(env, OWNER, asked))

    async def replay_all(self) -> None:
        """Replay the payments of the last days to each endpoint."""
        now = self.shop.clock.now_us()
        for at in range(len(HOSTS)):
            asked = replay.ReplayRequest(endpoint_id(at), now - 5 * DAY_US, now)
            await self.shop.call(partial(replay.replay, caller=OWNER, asked=asked))

    async def _redeliver(self) -> None:
        rows = await self.shop.look("SELECT id FROM deliveries ORDER BY seq DESC LIMIT 20")
        if rows:
            (which,) = self._rng.choice(rows)
            await self.shop.call(lambda env: redeliver.redeliver(env, OWNER, which))

    async def _replay_dead(self) -> None:
        rows = await self.shop.look("SELECT id FROM dead_letters ORDER BY seq")
        if rows:
            batch = [(row[0], row[0]) for row in rows[-20:]]
            await self.shop.call(lambda env: redeliver.replay_dead_letters(env, OWNER, batch))

    async def _rotate(self) -> None:
        at = self._rng.randrange(len(HOSTS))
        shown = await self.shop.call(
            lambda env: endpoints.rotate_secret(env, OWNER, endpoint_id(at), expire_previous=False)
        )
        if isinstance(shown, endpoints.RevealedSecret):
            self.shop.receivers[HOSTS[at]].secrets.append(shown.secret)
        elif isinstance(shown, Killed):
            # It may have been rotated, so look it up.
            seen = await self.shop.call(lambda env: endpoints.reveal_secret(env, OWNER, endpoint_id(at)))
            while not isinstance(seen, endpoints.RevealedSecret):
                await asyncio.sleep(60)
                seen = await self.shop.call(lambda env: endpoints.reveal_secret(env, OWNER, endpoint_id(at)))
            self.shop.receivers[HOSTS[at]].secrets.append(seen.secret)

    async def _move(self) -> None:
        """Take a number off its SIM for a while, so that unplaced payments arrive."""
        number = self._rng.choice(self.shop.numbers)
        await self.shop.call(lambda env: payment_methods.change(env, OWNER, number.line_id, OFF))
        await asyncio.sleep(self._rng.uniform(30, 600))
        await self.put_back(number)

    async def put_back(self, number: Number) -> None:
        """Put a number on its SIM again, wherever the SIM is now."""
        for _ in range(60):
            rows = await self.shop.look(
                f"SELECT d.device_id, s.slot_index FROM sims s JOIN devices d ON d.device_id = s.device_id "
                f"WHERE s.sim_key = '{number.sim.iccid}'"
            )
            if rows:
                slot = Slot(rows[0][0], rows[0][1])
                moved = await self.shop.call(
                    partial(
                        payment_methods.change, caller=OWNER, method_id=number.line_id, changes=MethodChanges(sim=slot)
                    )
                )
                if not isinstance(moved, MomoError):
                    return
            await asyncio.sleep(60)

    async def _import(self) -> None:
        """Import a backup of the newest messages; in half of the cases just before the modem reads the newest."""
        if just := self._rng.random() < 0.5:
            await self._customers.next_receipt(NEXT_RECEIPT_S)
        newest = list(self._truth.genuine.values())[-10:]
        numbers = [
            number
            for number in self.shop.numbers
            if not (just and newest) or (number.sim.iccid, newest[-1].text) in self._truth.texts
        ]
        number = self._rng.choice(numbers)
        known = [one for one in newest if (number.sim.iccid, one.text) in self._truth.texts]
        some = [one for one in known if self._rng.random() < 0.5 or (just and one is newest[-1])]
        entries = [import_file.FileMessage(one.sender, one.text, to_us(one.sent_at)) for one in some]
        stored = {body for (body,) in await self.shop.look("SELECT body FROM messages")}
        said = await self.shop.call(
            lambda env: import_file.import_messages(env, OWNER, number.line_id, entries, dry_run=False)
        )
        if not isinstance(said, MomoError) and any(one.text not in stored for one in some):
            self.shop.note(BEFORE_PHONE)

    async def _claim(self) -> None:
        number = self._rng.choice(self.shop.numbers)
        await self.shop.call(lambda env: payment_methods.claim_unplaced(env, OWNER, number.line_id, dry_run=False))
