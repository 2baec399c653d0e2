"""The payers of the simulation: customers and a thief, and the facts for the final checks."""

import asyncio
import contextlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from daemon.core.errors import Refusal
from daemon.core.inputs import HttpAnswer, Idempotency, InitializeRequest
from daemon.env import Env
from daemon.flows.payments import initialize
from daemon.modem.codec.pdu_encode import encode_deliver
from tests.fakes.answers import answered
from tests.fakes.receipts import Receipt, mtn, telecel
from tests.fakes.shop import OWNER
from tests.simulation.initial_state import HOSTS
from tests.simulation.shop import Shop
from tests.simulation.traffic import Number

LOST_SMS: Final = 0.01
"""Share of the messages that the network loses."""
THIEF: Final = "+233209999999"
PAYING: Final = (
    ("exact", 60), ("typo", 6), ("short", 5), ("over", 4), ("no code", 10), ("twice", 3), ("late", 3), ("never", 9),
)  # fmt: skip


@dataclass(slots=True)
class Truth:
    """The facts, independent of the shop's state.

    Attributes:
        genuine: Network ID -> receipt, for all that reached a SIM whole.
        forged: Network IDs of forgeries from the thief's own number.
        spoofed: Network IDs of forgeries with the network's sender name. If the modem was away just before, only an
            operator can recognise one; phones are often away here, so these are not
            part of the final checks.
        texts: SIM and text of each message that reached a SIM whole.
        orders: References that the shop answered.
        matched: Reference -> network ID, of each successful reconcile.
    """

    genuine: dict[str, Receipt] = field(default_factory=dict)
    forged: set[str] = field(default_factory=set)
    spoofed: set[str] = field(default_factory=set)
    texts: list[tuple[str, str]] = field(default_factory=list)
    orders: dict[str, int] = field(default_factory=dict)
    matched: dict[str, str] = field(default_factory=dict)


class Customers:
    """The customers and the thief."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.truth = Truth()
        self.waiting: list[tuple[str, str]] = []
        """Reference and network ID of payments without a code, for customers that wait at the shop."""
        self._rng = random.Random(shop.size.seed + 3)
        self._serial = 0
        self._paid = asyncio.Event()

    async def come(self, end: float) -> None:
        """Start all customers, one after the other; each pays later."""
        paying = list[asyncio.Task[None]]()
        for left in range(self.shop.size.orders, 0, -1):
            mean_s = max(0.0, end - self.shop.clock.monotonic()) / left
            await asyncio.sleep(self._rng.uniform(0, 2) * mean_s)
            paying.append(asyncio.create_task(self._customer()))
        await asyncio.gather(*paying)

    async def _customer(self) -> None:
        self._serial += 1
        amount_minor = self._rng.randrange(100, 20_000)
        idempotency = Idempotency("live:sim", f"order-{self._serial}", f"{self._serial}")
        way = self._rng.choices([way for way, _ in PAYING], [weight for _, weight in PAYING])[0]
        asked = InitializeRequest(
            amount_minor,
            "GHS",
            "+233241234567",
            webhook_url=f"https://{HOSTS[2]}/own" if self._rng.random() < 0.2 else None,
            expires_in_hours=1 if way == "late" else 24,
            send_sms_to_payer=self._rng.random() < 0.1,
        )
        # A customer without an answer repeats the call with the same idempotency key.
        while True:
            answer = await self.shop.call(lambda env: _initialize(env, asked, idempotency))
            if isinstance(answer, HttpAnswer):
                break
            await asyncio.sleep(30)
        self.shop.note("order")
        if self._rng.random() < 0.2:
            await self._ask_again(asked, idempotency, answer.body)
        data = json.loads(answer.body)
        assert self.truth.orders.setdefault(data["reference"], amount_minor) == amount_minor
        await asyncio.sleep(5400 if way == "late" else self._rng.uniform(10, 1200))
        self._pay(way, data["reference"], data["svc_code"], amount_minor)

    async def _ask_again(self, asked: InitializeRequest, idempotency: Idempotency, body: bytes) -> None:
        """Repeat a call with an answered key: the same body, or another one."""
        same = self._rng.random() < 0.7
        self.shop.note("asked again" if same else "asked otherwise")
        if not same:
            asked = replace(asked, amount_minor=asked.amount_minor + 1)
            idempotency = replace(idempotency, fingerprint="other")
        said = await self.shop.call(lambda env: _initialize(env, asked, idempotency))
        if isinstance(said, HttpAnswer):
            assert same, "one key of a caller was answered for two bodies"
            assert said.body == body, "one key of a caller has two answers"
        elif isinstance(said, Refusal):
            assert not same, "the same call was answered once and refused then"

    def _pay(self, way: str, reference: str, code: str, amount_minor: int) -> None:
        if way == "never":
            return
        typed = code
        if way == "typo":
            at = self._rng.randrange(len(code))
            typed = code[:at] + self._rng.choice("ABCDEFGHJK") + code[at + 1 :]
        elif way == "no code":
            typed = self._rng.choice(("1", "food", "thanks"))
        paid = amount_minor
        paid += {"short": -min(50, amount_minor - 1), "over": 200}.get(way, 0)
        number = self._rng.choice(self.shop.numbers)
        for _ in range(2 if way == "twice" else 1):
            receipt = self._receipt(number, paid, typed)
            if way == "no code" and receipt is not None:
                self.waiting.append((reference, receipt.telco_id))

    async def next_receipt(self, most_s: float) -> None:
        """Wait for the next receipt, until just before it is sent, for at most `most_s`."""
        self._paid.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._paid.wait(), most_s)

    def _receipt(self, number: Number, amount_minor: int, typed: str) -> Receipt | None:
        """Move the money and send the receipt; return None if the network loses it."""
        number.balance_minor += amount_minor
        made = self._write(number, amount_minor, typed, number.balance_minor)
        if self._rng.random() < LOST_SMS:
            self.shop.note("SMS lost")
            return None
        self.truth.genuine[made.telco_id] = made
        self._send(number, made)
        self._paid.set()
        return made

    def _write(self, number: Number, amount_minor: int, typed: str, balance_minor: int) -> Receipt:
        number.telco_id += self._rng.randrange(1, 50)
        number.reference = (number.reference + 1) % 256
        true = timedelta(seconds=self.shop.clock.true_us() // 10**6)
        make: Callable[..., Receipt] = telecel if number.telecel else mtn
        return make(
            amount_minor,
            "KWABENA KONADU DANKWA-AMOAKO",
            balance_minor,
            typed,
            f"{number.telco_id:016d}" if number.telecel else str(number.telco_id),
            sent_at=datetime(1970, 1, 1, tzinfo=UTC) + true,
            concatenation=number.reference,
        )

    def _send(self, number: Number, made: Receipt) -> None:
        """Send it: parts in any order, with gaps, sometimes one twice."""
        self.shop.note("receipt")
        self.truth.texts.append((number.sim.iccid, made.text))
        pdus = list(made.pdus)
        if self._rng.random() < 0.3:
            self.shop.note("SMS shuffled")
            self._rng.shuffle(pdus)
        if self._rng.random() < 0.05:
            self.shop.note("SMS twice")
            pdus.append(self._rng.choice(pdus))
        gap_s = 0.0
        for pdu in pdus:
            asyncio.get_running_loop().call_later(gap_s, self._arrive, number, pdu)
            gap_s += self._rng.choice((0.0, 0.1, 3.0))

    def _arrive(self, number: Number, pdu: str) -> None:
        for phone in self.shop.phones:
            if phone.phone.sim is number.sim:
                phone.phone.deliver(pdu)
                phone.carry()
                return
        number.sim.waiting.append((pdu, None))

    async def thief(self) -> None:
        """Send a forged receipt for an open transaction, with a guessed balance."""
        if not self.truth.orders:
            return
        rows = await self.shop.look(
            "SELECT svc_code, expected_minor FROM transactions WHERE origin = 'request' ORDER BY seq DESC LIMIT 5"
        )
        code, amount_minor = self._rng.choice(rows)
        number = self._rng.choice(self.shop.numbers)
        guessed = number.balance_minor + self._rng.randrange(10_000, 90_000)
        made = self._write(number, amount_minor, code, guessed)
        if self._rng.random() < 0.5:
            self.truth.spoofed.add(made.telco_id)
        else:
            pdus = encode_deliver(THIEF, made.text, made.sent_at, smsc=number.sim.smsc, reference=number.reference)
            made = replace(made, pdus=pdus)
            self.truth.forged.add(made.telco_id)
        self._send(number, made)


async def _initialize(env: Env, asked: InitializeRequest, claim: Idempotency) -> HttpAnswer:
    def text(made: initialize.Initialized) -> str:
        transaction = made.transaction
        return json.dumps({"reference": transaction.reference, "svc_code": transaction.svc_code})

    return await answered(claim, lambda keep: initialize.initialize(env, OWNER, asked, keep=keep), text)
