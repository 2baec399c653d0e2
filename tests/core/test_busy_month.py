"""A month of a busy shop, from texts to matches: no forgery pays, hardly a customer waits, nothing is lost unseen.

3,000 receipts, 200 outgoing messages and 10 reversals on one Telecel line; 30 of them are lost on the way, some come in
the wrong order, and 20 forgeries of five kinds come between them, each with the code and the amount of an open request.
"""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from daemon.core import matching, trust
from daemon.core.balance import Ruling, decide, judge, unaccounted
from daemon.core.balance_line import Entry, Standing, Why, effects_of, matters
from daemon.core.doubts import (
    Claim,
    Doubt,
    Facts,
    Twin,
    counting,
    doubts_about,
    of_the_route,
    teaches_smsc,
    twin,
)
from daemon.core.limits import DAY_US
from daemon.core.model import Transaction
from daemon.wire import TransactionStatus
from parsers import reading as readings
from parsers import svc_code
from parsers.read import PROVIDERS, read
from parsers.when import to_us
from tests.fakes import receipts, rows

RECEIPTS, SENT, REVERSALS, LOST, SWAPPED, FORGED_OF_A_KIND = 3_000, 200, 10, 30, 20, 4
DAYS = 30
STARTED = datetime(2026, 11, 1, 7, 0, tzinfo=UTC)
FIRST_ID = 15_000_000_000
IDS_PER_SECOND = 115
PROVIDER = "momo_telecel"
WINDOW = 128
SMSCS = (receipts.TELECEL_SMSC, "+233200000098")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sms:
    """A message as the modem gives it, and what the test knows about it."""

    key: str
    sender: str
    alphanumeric: bool
    smsc: str
    at: datetime
    text: str
    effect: int
    code: str | None = None
    forged: str | None = None


@dataclass(slots=True)
class Shop:
    """What intake will do with the core, over dictionaries instead of tables."""

    requests: dict[str, Transaction]
    entries: dict[str, Entry] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    payments: dict[str, readings.Payment] = field(default_factory=dict)
    smscs: set[str] = field(default_factory=set)
    matched: dict[str, str] = field(default_factory=dict)
    doubted: dict[str, list[str]] = field(default_factory=dict)
    reversed: list[str] = field(default_factory=list)
    rulings: dict[str, Ruling] = field(default_factory=dict)
    seq: int = 0

    def receive(self, sms: Sms) -> None:
        self.seq += 1
        doubts = trust.doubts(
            trust.Evidence(
                sender=sms.sender,
                sender_is_alphanumeric=sms.alphanumeric,
                network="telecel",
                network_senders=PROVIDERS[PROVIDER].senders,
            )
        )
        if doubts:
            self.doubted[sms.key] = doubts
            return
        reading = read(sms.sender, sms.text, network="telecel")
        if matters(reading) and not isinstance(reading, readings.Unreadable):
            self.weigh(sms, reading)

    def weigh(
        self, sms: Sms, reading: readings.Payment | readings.Reversal | readings.NotPayment
    ) -> None:
        pays = isinstance(reading, readings.Payment)
        assert reading.telco_id is not None
        amount = None if reading.amount is None else reading.amount.minor
        claim = Claim(pays, amount, "GHS", "line")
        known = self.claims.setdefault(reading.telco_id, claim)
        if known is not claim:
            self.doubted[sms.key] = [twin(known, claim)]
            return
        at = to_us(sms.at)
        facts = Facts(
            provider=PROVIDER,
            telco_id=reading.telco_id,
            sent_at=at,
            printed_at=None if reading.printed_at is None else to_us(reading.printed_at),
            reference=reading.reference,
            payer_name=reading.payer_name,
            smsc=sms.smsc,
            smscs_known=self.smscs,
        )
        chain = list(itertools.islice(reversed(self.entries.values()), WINDOW))
        doubts = doubts_about(facts, chain)
        new = Entry(
            key=sms.key,
            seq=self.seq,
            at=at,
            stored_at=at,
            telco_id=reading.telco_id,
            pays=pays,
            effects=effects_of(reading),
            after=None if reading.balance is None else reading.balance.minor,
            doubted=of_the_route(doubts),
        )
        ruling = judge(chain, new)
        self.rulings[sms.key] = ruling
        if isinstance(reading, readings.Payment):
            self.payments[sms.key] = reading
        if isinstance(reading, readings.Reversal) and not counting(doubts, ruling):
            assert reading.original_telco_id is not None
            self.reversed.append(reading.original_telco_id)
        if against := counting(doubts, ruling):
            self.doubted[sms.key] = [*against]
        if teaches_smsc(ruling, doubts):
            self.smscs.add(sms.smsc)
        self.keep(ruling)
        if pays and not ruling.holds and not against:
            self.pay(sms.key)

    def keep(self, ruling: Ruling) -> None:
        self.entries[ruling.entry.key] = ruling.entry
        for change in ruling.changes:
            self.entries[change.after.key] = change.after
            if change.released and change.after.pays and change.after.key not in self.doubted:
                self.pay(change.after.key)

    def pay(self, key: str) -> None:
        read_as = self.payments[key]
        at = self.entries[key].at
        payment = rows.payment(
            telco_transaction_id=read_as.telco_id,
            amount_minor=read_as.amount.minor,
            reference_text=read_as.reference,
            telco_at=at,
            stored_at=at,
        )
        codes = svc_code.candidates(read_as.reference or "")
        coded = [self.requests[code] for code in codes if code in self.requests]
        decision = matching.match(payment, coded, None, late_policy="accept")
        if isinstance(decision, matching.Verify):
            code = decision.transaction.svc_code
            assert code is not None
            done = replace(decision.transaction, status=TransactionStatus.SUCCESS)
            self.requests[code] = done
            self.matched[code] = key


class Month:
    """What happens in the wallet, and what of it reaches the shop."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.balance = 12_345
        self.requests: dict[str, Transaction] = {}
        self.genuine = list(self._genuine())
        numbers = range(1, len(self.genuine) - 1)
        losable = [n for n in numbers if self.genuine[n].code or self.genuine[n].effect < 0]
        self.lost = {self.genuine[n].key for n in self.dice.sample(losable, LOST)}
        self.arriving = self._arriving()

    def new_code(self, amount_minor: int) -> str:
        code = svc_code.make_code(self.dice.randrange)
        start = to_us(STARTED)
        self.requests[code] = rows.transaction(
            id=f"request-{code}",
            svc_code=code,
            expected_minor=amount_minor,
            created_at=start,
            expires_at=start + 2 * DAYS * DAY_US,
        )
        return code

    def new_id(self, at: datetime) -> str:
        number = FIRST_ID + int((at - STARTED).total_seconds()) * IDS_PER_SECOND
        return f"{number + self.dice.randrange(IDS_PER_SECOND):016d}"

    def _genuine(self) -> Iterator[Sms]:
        kinds = ["receipt"] * RECEIPTS + ["sent"] * SENT + ["reversal"] * REVERSALS
        self.dice.shuffle(kinds)
        kinds.sort(key=lambda kind: kind == "receipt" and self.dice.random() < 0.01, reverse=True)
        seconds = sorted(self.dice.sample(range(DAYS * 86_400), len(kinds)))
        paid: list[tuple[str, int]] = []
        for number, (kind, second) in enumerate(zip(kinds, seconds, strict=True)):
            at = STARTED + timedelta(seconds=second)
            telco_id = self.new_id(at)
            amount = self.dice.randrange(100, 30_000)
            code = None
            if kind == "receipt":
                code = self.new_code(amount) if self.dice.random() < 0.8 else None
                self.balance += amount
                paid.append((telco_id, amount))
                text = self.receipt(amount, code or "1", telco_id, at)
                effect = amount
            elif kind == "sent":
                amount, fee = self.dice.randrange(1, self.balance // 3), self.dice.randrange(90)
                effect = -amount - fee
                self.balance += effect
                text = (
                    f"{telco_id} Confirmed. GHS{money(amount)} sent to  0241000018 FLORA KUMIWAA on MTN MOBILE "
                    f"MONEY on {at:%Y-%m-%d} at {at:%H:%M:%S}. Your Telecel Cash balance is "
                    f"GHS{money(self.balance)}. You were charged GHS{money(fee)}. Your E-levy charge is GHS0.00. "
                    "Do more with Telecel Cash!\nReference: stock."
                )
            else:
                original, amount = self.dice.choice(paid)
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
        known = forged is None or forged == "injected reference" or self.dice.random() < 0.5
        return Sms(
            key=key,
            sender=sender,
            alphanumeric=not sender.startswith("+"),
            smsc=self.dice.choice(SMSCS) if known else "+447000000001",
            at=at + timedelta(seconds=self.dice.randrange(9)),
            text=text,
            effect=effect,
            code=code,
            forged=forged,
        )

    def _arriving(self) -> list[Sms]:
        """Lose some, swap some neighbours, and put the forgeries between them."""
        whole = self.genuine
        forgeries = dict(
            zip(
                self.dice.sample(self._apart(), 5 * FORGED_OF_A_KIND),
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
                # Money of an injected reference is real, so all balances behind it are higher.
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
        """Return the messages with time behind them, so that the IDs of forgeries lie in their order too."""
        pairs = enumerate(itertools.pairwise(self.genuine))
        return [
            number
            for number, (here, following) in pairs
            if number >= 100
            and following.at - here.at > timedelta(minutes=1)
            and here.key not in self.lost
        ]

    def _swappable(self, forgeries: dict[int, int]) -> set[int]:
        def quiet(number: int) -> bool:
            around = range(number - 3, number + 3)
            return not any(n in forgeries or self.genuine[n].key in self.lost for n in around)

        numbers = [n for n in range(10, len(self.genuine) - 10, 7) if quiet(n)]
        return set(self.dice.sample(numbers, SWAPPED))

    def _forgery(self, kind: int, last: Sms, until: datetime, number: int) -> Sms:
        name = FORGERIES[kind]
        amount = self.dice.randrange(100, 30_000)
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
            sender = self.dice.choice(("T-CASH.", "TCASH", "T-Cash", "T-CASH "))
            text = self.receipt(amount, code, telco_id, at, knows)
        elif name == "wrong balance":
            balance = amount + self.dice.randrange(10_000_000)
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
    """Return a text whose balance is higher."""
    before, mark, rest = text.partition("balance is GHS")
    whole, _, part = rest.partition(".")
    balance = int(whole) * 100 + int(part[:2]) + shift
    return f"{before}{mark}{money(balance)}{part[2:]}"


def lived(seed: int) -> tuple[Month, Shop]:
    month = Month(seed)
    shop = Shop(month.requests)
    for sms in month.arriving:
        shop.receive(sms)
    return month, shop


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 21))]
)
def test_a_busy_month(seed: int) -> None:
    month, shop = lived(seed)
    forged = {sms.key: sms for sms in month.arriving if sms.forged}
    genuine = [sms for sms in month.arriving if not sms.forged]

    assert sorted(sms.forged or "" for sms in forged.values()) == sorted(
        FORGERIES * FORGED_OF_A_KIND
    )
    assert not {shop.matched.get(sms.code or "") for sms in forged.values()} - {None}
    assert not set(shop.matched.values()) & set(forged)

    coded = [sms for sms in genuine if sms.code]
    in_order = [sms for sms in coded if shop.matched.get(sms.code or "") == sms.key]
    assert len(in_order) >= 0.995 * len(coded), f"{len(in_order)} of {len(coded)}"

    thought = {shop.entries[sms.key].standing for sms in genuine}
    assert thought <= {Standing.ACCEPTED, Standing.HELD}
    assert len(shop.reversed) == REVERSALS - sum(
        "reversed" in sms.text for sms in month.genuine if sms.key in month.lost
    )
    assert_every_loss_is_named(month, shop)


def assert_every_loss_is_named(month: Month, shop: Shop) -> None:
    """The first message behind a loss names what was lost, before another receipt is through."""
    missing = 0
    named = 0
    for sms in month.genuine:
        if sms.key in month.lost:
            missing += sms.effect
            named += 1
        elif missing:
            assert missing in {gap.minor for gap in shop.rulings[sms.key].gaps}, sms.key
            missing = 0
    assert named == LOST
    found = unaccounted(shop.entries.values())
    if Standing.HELD not in {entry.standing for entry in shop.entries.values()}:
        lost = sum(sms.effect for sms in month.genuine if sms.key in month.lost)
        assert found.came_in_minor - found.went_out_minor == lost


def test_every_kind_of_forgery_is_told_apart() -> None:
    month, shop = lived(1)
    for sms in month.arriving:
        if sms.forged is None:
            continue
        doubts = shop.doubted.get(sms.key, [])
        if sms.forged == "ordinary sender":
            assert doubts == ["sender_is_a_number"]
        elif sms.forged == "look-alike sender":
            assert doubts == ["sender_not_of_network"]
        elif sms.forged == "re-used ID":
            assert doubts == [Twin.CONFLICT]
        elif sms.forged == "injected reference":
            assert doubts == [Doubt.REFERENCE_LIKE_A_RECEIPT]
            assert shop.rulings[sms.key].why is Why.JOINS
        else:
            assert shop.rulings[sms.key].why is Why.BREAKS
            assert shop.entries[sms.key].standing is Standing.FORGED
            ruling = decide(shop.entries.values(), sms.key, genuine=False)
            assert ruling.entry.standing is Standing.FORGED
