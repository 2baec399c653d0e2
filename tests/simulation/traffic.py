"""Messages from the network in the simulation: receipts of two networks, and other SMS."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from daemon.modem.codec.pdu_encode import encode_deliver
from tests.fakes.receipts import FIRST_MTN_ID, FIRST_TELECEL_ID, MTN_SMSC, TELECEL_SMSC, mtn, telecel
from tests.phones.sim import Identity, Sim
from tests.simulation.simulated_time import SimulatedClock

RECEIPTS = 0.6
_MTN_IMSI, _TELECEL_IMSI = "62001", "62002"


@dataclass(slots=True)
class Sent:
    """One message that the network sent to a SIM; no two have the same text."""

    iccid: str
    body: str
    pdus: tuple[str, ...]


@dataclass(slots=True)
class Number:
    """A SIM, its line, and its wallet."""

    sim: Sim
    line_id: str
    telecel: bool
    telco_id: int
    reference: int = 0
    balance_minor: int = 50_000

    @classmethod
    def make(cls, at: int) -> "Number":
        """Make the number at index `at`: MTN and Telecel in turn."""
        of_telecel = at % 2 == 1
        network = _TELECEL_IMSI if of_telecel else _MTN_IMSI
        identity = Identity(
            iccid=f"89233010000000000{at:02d}",
            imsi=f"{network}{at:010d}",
            operator_code=network,
            smsc=TELECEL_SMSC if of_telecel else MTN_SMSC,
        )
        return cls(
            Sim.of(identity),
            f"99999999-9999-4999-8999-{at:012d}",
            of_telecel,
            (FIRST_TELECEL_ID if of_telecel else FIRST_MTN_ID) + at * 1_000_000,
        )


class Writer:
    """Write messages that are all different."""

    def __init__(self, rng: random.Random, clock: SimulatedClock) -> None:
        self._rng = rng
        self._clock = clock
        self._serial = 0

    def message(self, number: Number) -> Sent:
        """Return a receipt, or another text."""
        return self._receipt(number) if self._rng.random() < RECEIPTS else self.text(number)

    def text(self, number: Number) -> Sent:
        """Return a text that is no receipt, in 7 bits or UCS-2, of one to seven parts."""
        self._serial += 1
        number.reference = (number.reference + 1) % 256
        words = self._rng.choice(("See you at the market", "Akwaaba! ɛyɛ 😀", "Price [ok] {€5}"))
        body = f"{words} {self._serial} " + "and so on " * self._rng.choice((0, 1, 20, 40))
        sender = self._rng.choice(("+233241234567", "MTN", "0244123456"))
        pdus = encode_deliver(sender, body, self._now(), reference=number.reference)
        return Sent(number.sim.iccid, body, pdus)

    def _receipt(self, number: Number) -> Sent:
        self._serial += 1
        amount_minor = self._rng.randrange(100, 50_000)
        number.balance_minor += amount_minor
        number.telco_id += self._rng.randrange(1, 50)
        number.reference = (number.reference + 1) % 256
        make = telecel if number.telecel else mtn
        made = make(
            amount_minor,
            f"KWABENA KONADU {_letters(self._serial)} DANKWA",
            number.balance_minor,
            self._rng.choice(("1", "food", "1243AB")),
            f"{number.telco_id:016d}" if number.telecel else str(number.telco_id),
            sent_at=self._now(),
            concatenation=number.reference,
        )
        return Sent(number.sim.iccid, made.text, made.pdus)

    def _now(self) -> datetime:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self._clock.now_us() // 10**6)


def _letters(number: int) -> str:
    """Return a number as capital letters, because a name has no digits."""
    text = ""
    while number:
        number, digit = divmod(number, 26)
        text = chr(ord("A") + digit) + text
    return text or "A"
