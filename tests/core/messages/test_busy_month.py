"""A month of a busy shop, from texts to matches: no forgery pays, hardly a customer waits, nothing is lost unseen.

3,000 receipts, 200 outgoing messages and 10 reversals on one Telecel line; 30 of them are lost on the way, some come in
the wrong order, and 20 forgeries of five kinds come between them (`tests/fakes/month.py`). Here the core alone decides, over
dictionaries; `tests/flows/messages/test_busy_month.py` plays the same month through the real store and flows.
"""

import itertools
from dataclasses import dataclass, field, replace

import pytest

from daemon.core.messages import trust
from daemon.core.messages.balance import NEAREST, Ruling, decide, is_conclusive, judge, unaccounted
from daemon.core.messages.balance_chain import Entry, Standing, Why, effects_of, is_in_chain
from daemon.core.messages.trust import (
    Claim,
    Doubt,
    Facts,
    IdReuse,
    classify_id_reuse,
    concerns_route,
    doubts_about,
    holding_doubts,
    proves_smsc,
)
from daemon.core.model import Transaction
from daemon.core.payments import matching
from daemon.wire import TransactionStatus
from parsers import reading as readings
from parsers import svc_code
from parsers.read import PROVIDERS, read
from parsers.times import to_us
from tests.fakes import rows
from tests.fakes.month import BUSY, FORGERIES, Month, Sms
from tests.fakes.tiers import share

PROVIDER = "momo_telecel"
WINDOW = 128


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
    plain: int = 0

    def receive(self, sms: Sms) -> None:
        self.seq += 1
        doubts = trust.untrusted_reasons(
            trust.SenderEvidence(
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
        if is_in_chain(reading) and not isinstance(reading, readings.Unreadable):
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
            self.doubted[sms.key] = [classify_id_reuse(known, claim)]
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
            doubted=concerns_route(doubts),
        )
        ruling = judge(chain, new)
        near = sorted(chain, key=lambda entry: abs(entry.at - at))[:NEAREST]
        if is_conclusive(near, judge(near, new)):
            # What the shop really does first: a few messages are enough, and say the same.
            assert (judge(near, new), doubts_about(facts, near)) == (ruling, doubts)
            self.plain += 1
        self.rulings[sms.key] = ruling
        if isinstance(reading, readings.Payment):
            self.payments[sms.key] = reading
        if isinstance(reading, readings.Reversal) and not holding_doubts(doubts, ruling):
            assert reading.original_telco_id is not None
            self.reversed.append(reading.original_telco_id)
        if against := holding_doubts(doubts, ruling):
            self.doubted[sms.key] = [*against]
        if proves_smsc(ruling, doubts):
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


def lived(seed: int) -> tuple[Month, Shop]:
    month = Month(seed)
    shop = Shop(month.requests)
    for sms in month.arriving:
        shop.receive(sms)
    return month, shop


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, share(20) + 1)]
)
def test_every_genuine_payment_of_a_busy_month_counts_and_no_forgery_does(seed: int) -> None:
    month, shop = lived(seed)
    forged = {sms.key: sms for sms in month.arriving if sms.forged}
    genuine = [sms for sms in month.arriving if not sms.forged]

    assert sorted(sms.forged or "" for sms in forged.values()) == sorted(
        FORGERIES * BUSY.forged_of_a_kind
    )
    assert not {shop.matched.get(sms.code or "") for sms in forged.values()} - {None}
    assert not set(shop.matched.values()) & set(forged)

    coded = [sms for sms in genuine if sms.code]
    in_order = [sms for sms in coded if shop.matched.get(sms.code or "") == sms.key]
    assert len(in_order) >= 0.995 * len(coded), f"{len(in_order)} of {len(coded)}"

    thought = {shop.entries[sms.key].standing for sms in genuine}
    assert thought <= {Standing.ACCEPTED, Standing.HELD}
    assert len(shop.reversed) == BUSY.reversals - sum(
        "reversed" in sms.text for sms in month.genuine if sms.key in month.lost
    )
    assert shop.plain > 0.7 * len(genuine)
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
    assert named == BUSY.lost
    found = unaccounted(shop.entries.values())
    if Standing.HELD not in {entry.standing for entry in shop.entries.values()}:
        lost = sum(sms.effect for sms in month.genuine if sms.key in month.lost)
        assert found.came_in_minor - found.went_out_minor == lost


@pytest.mark.slow
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
            assert doubts == [IdReuse.CONFLICT]
        elif sms.forged == "injected reference":
            assert doubts == [Doubt.REFERENCE_LIKE_A_RECEIPT]
            assert shop.rulings[sms.key].why is Why.JOINS
        else:
            assert shop.rulings[sms.key].why is Why.BREAKS
            assert shop.entries[sms.key].standing is Standing.FORGED
            ruling = decide(shop.entries.values(), sms.key, genuine=False)
            assert ruling.entry.standing is Standing.FORGED
