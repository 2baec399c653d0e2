"""A month of a busy wallet: its transactions at the network, and the messages that reach the shop.

Receipts, outgoing messages and reversals on one Telecel line. Some are lost, some arrive in the wrong order, and
forgeries of five kinds come between them, each with the code and the amount of an open transaction.
"""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from daemon.core.limits import DAY_US
from daemon.core.model import Transaction
from daemon.modem.codec.pdu_encode import encode_deliver
from parsers import reading as readings
from parsers import svc_code
from parsers.read import read
from parsers.times import to_us
from tests.fakes import receipts, rows

STARTED: Final = datetime(2026, 11, 1, 7, 0, tzinfo=UTC)
FIRST_ID: Final = 15_000_000_000
IDS_PER_SECOND: Final = 115
SMSCS: Final = (receipts.TELECEL_SMSC, "+233200000098")


@dataclass(frozen=True, slots=True)
class Size:
    """The number of days and of messages of each kind."""

    receipts: int = 3_000
    sent: int = 200
    reversals: int = 10
    lost: int = 30
    swapped: int = 20
    forged_of_a_kind: int = 4
    days: int = 30


BUSY: Final = Size()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sms:
    """A message as the modem delivers it, with the facts that the test knows."""

    key: str
    sender: str
    alphanumeric: bool
    smsc: str
    at: datetime
    text: str
    effect: int
    code: str | None = None
    forged: str | None = None

    def pdus(self, number: int) -> tuple[str, ...]:
        """Return its parts as the network delivers them."""
        return encode_deliver(
            self.sender, self.text, self.at, smsc=self.smsc, reference=number % 256
        )


class Month:
    """The events in the wallet, and the messages that reach the shop."""

    def __init__(self, seed: int, size: Size = BUSY, started: datetime = STARTED) -> None:
        self.size = size
        self.started = started
        self.rng = random.Random(seed)
        self.balance = 12_345
        self.requests: dict[str, Transaction] = {}
        self.genuine = list(self._genuine())
        numbers = range(1, len(self.genuine) - 1)
        losable = [n for n in numbers if self.genuine[n].code or self.genuine[n].effect < 0]
        self.lost = {self.genuine[n].key for n in self.rng.sample(losable, size.lost)}
        self.arriving = self._arriving()

    def new_code(self, amount_minor: int) -> str:
        code = svc_code.make_code(self.rng.randrange)
        start = to_us(self.started)
        self.requests[code] = rows.transaction(
            id=f"request-{code}",
            svc_code=code,
            expected_minor=amount_minor,
            created_at=start,
            expires_at=start + 2 * self.size.days * DAY_US,
        )
        return code

    def new_id(self, at: datetime) -> str:
        number = FIRST_ID + int((at - self.started).total_seconds()) * IDS_PER_SECOND
        return f"{number + self.rng.randrange(IDS_PER_SECOND):016d}"

    def _genuine(self) -> Iterator[Sms]:
        size = self.size
        kinds = ["receipt"] * size.receipts + ["sent"] * size.sent + ["reversal"] * size.reversals
        self.rng.shuffle(kinds)
        kinds.sort(key=lambda kind: kind == "receipt" and self.rng.random() < 0.01, reverse=True)
        seconds = sorted(self.rng.sample(range(size.days * 86_400), len(kinds)))
        paid: list[tuple[str, int]] = []
        for number, (kind, second) in enumerate(zip(kinds, seconds, strict=True)):
            at = self.started + timedelta(seconds=second)
            telco_id = self.new_id(at)
            amount = self.rng.randrange(100, 30_000)
            code = None
            if kind == "receipt":
                code = self.new_code(amount) if self.rng.random() < 0.8 else None
                self.balance += amount
                paid.append((telco_id, amount))
                text = self.receipt(amount, code or "1", telco_id, at)
                effect = amount
            elif kind == "sent":
                amount, fee = self.rng.randrange(1, self.balance // 3), self.rng.randrange(90)
                effect = -amount - fee
                self.balance += effect
                text = (
                    f"{telco_id} Confirmed. GHS{money(amount)} sent to  0241000018 FLORA KUMIWAA on MTN MOBILE "
                    f"MONEY on {at:%Y-%m-%d} at {at:%H:%M:%S}. Your Telecel Cash balance is "
                    f"GHS{money(self.balance)}. You were charged GHS{money(fee)}. Your E-levy charge is GHS0.00. "
                    "Do more with Telecel Cash!\nReference: stock."
                )
            else:
                original, amount = self.rng.choice(paid)
                effect = -amount
                self.balance += effect
                text = (
                    f"{telco_id} Confirmed. Transaction {original} of GHS{money(amount)} from 233209000543 - KOJO "
                    f"ANSAH BEKOE has been reversed on {at:%Y-%m-%d} at {at:%H:%M:%S}. Your Telecel Cash balance is "
                    f"GHS{money(self.balance)}."
                )
            yield self.sms(f"g{number}", at, text, effect, code=code)

    def receipt(
        self, amount: int, reference: str, telco_id: str, at: datetime, balance: int | None = None
    ) -> str:
        balance = self.balance if balance is None else balance
        return receipts.telecel_receipt(
            amount, "KOJO ANSAH BEKOE", balance, reference, telco_id, sent_at=at
        )

    def sms(
        self,
        key: str,
        at: datetime,
        text: str,
        effect: int,
        *,
        code: str | None = None,
        forged: str | None = None,
        sender: str = receipts.TELECEL_SENDER,
    ) -> Sms:
        known = forged is None or forged == "injected reference" or self.rng.random() < 0.5
        return Sms(
            key=key,
            sender=sender,
            alphanumeric=not sender.startswith("+"),
            smsc=self.rng.choice(SMSCS) if known else "+447000000001",
            at=at + timedelta(seconds=self.rng.randrange(9)),
            text=text,
            effect=effect,
            code=code,
            forged=forged,
        )

    def _arriving(self) -> list[Sms]:
        """Lose some messages, swap some neighbours, and insert the forgeries."""
        whole = self.genuine
        forgeries = dict(
            zip(
                self.rng.sample(self._apart(), 5 * self.size.forged_of_a_kind),
                itertools.cycle(range(5)),
                strict=False,
            )
        )
        swapped = self._swappable(forgeries)
        arriving: list[Sms] = []
        shift = 0
        for number, genuine in enumerate(whole):
            sms = genuine
            if shift:
                # Money of an injected reference is real, so all later balances are higher.
                sms = replace(sms, text=raised(sms.text, shift))
            if sms.key not in self.lost:
                arriving.append(sms)
            if number in swapped:
                arriving[-1], arriving[-2] = arriving[-2], arriving[-1]
            if number in forgeries:
                forged = self._forgery(forgeries[number], sms, whole[number + 1].at, number)
                shift += forged.effect
                arriving.append(forged)
        return arriving

    def _apart(self) -> list[int]:
        """Return messages followed by a pause, so that the IDs of forgeries fit into the order."""
        pairs = enumerate(itertools.pairwise(self.genuine))
        return [
            number
            for number, (here, following) in pairs
            if number >= self.size.receipts // 30
            and following.at - here.at > timedelta(minutes=1)
            and here.key not in self.lost
        ]

    def _swappable(self, forgeries: dict[int, int]) -> set[int]:
        def quiet(number: int) -> bool:
            around = range(number - 3, number + 3)
            return not any(n in forgeries or self.genuine[n].key in self.lost for n in around)

        numbers = [n for n in range(10, len(self.genuine) - 10, 7) if quiet(n)]
        return set(self.rng.sample(numbers, self.size.swapped))

    def _forgery(self, kind: int, last: Sms, until: datetime, number: int) -> Sms:
        name = FORGERIES[kind]
        amount = self.rng.randrange(100, 30_000)
        code = self.new_code(amount)
        at = last.at + (until - last.at) / 2
        telco_id = self.new_id(at)
        reading = read(last.sender, last.text, network="telecel")
        assert isinstance(reading, readings.Payment | readings.Reversal | readings.NotPayment)
        assert reading.balance is not None
        knows = reading.balance.minor + amount
        sender = receipts.TELECEL_SENDER
        effect = 0
        if name == "ordinary sender":
            sender, text = "+233244000111", self.receipt(amount, code, telco_id, at, knows)
        elif name == "look-alike sender":
            sender = self.rng.choice(("T-CASH.", "TCASH", "T-Cash", "T-CASH "))
            text = self.receipt(amount, code, telco_id, at, knows)
        elif name == "wrong balance":
            balance = amount + self.rng.randrange(10_000_000)
            text = self.receipt(amount, code, telco_id, at, balance)
        elif name == "re-used ID":
            assert reading.telco_id is not None
            text = self.receipt(amount, code, reading.telco_id, at, knows)
        else:
            effect = 100
            claim = self.receipt(amount, code, f"{int(telco_id) + 1:016d}", at, knows)
            typed = f"{code}. {claim.partition(chr(10))[0]}"
            balance = reading.balance.minor + effect
            text = self.receipt(effect, typed, telco_id, at, balance)
        return self.sms(f"f{number}", at, text, effect, code=code, forged=name, sender=sender)


FORGERIES = (
    "ordinary sender",
    "look-alike sender",
    "wrong balance",
    "re-used ID",
    "injected reference",
)


def money(minor: int) -> str:
    return f"{minor // 100}.{minor % 100:02d}"


def raised(text: str, shift: int) -> str:
    """Return the text with its balance raised by `shift`."""
    before, mark, rest = text.partition("balance is GHS")
    whole, _, part = rest.partition(".")
    balance = int(whole) * 100 + int(part[:2]) + shift
    return f"{before}{mark}{money(balance)}{part[2:]}"
