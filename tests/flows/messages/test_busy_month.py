"""A month of a busy shop through the real store and flows: no forgery pays, hardly a customer waits, nothing is lost unseen.

The month is the one of `tests/core/messages/test_busy_month.py`; here it comes as PDUs, and the database is asked what became of it.
"""

import json
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from daemon.core.limits import DAY_US
from daemon.core.messages.balance import unaccounted
from daemon.store.engine import Tx
from daemon.store.messages import balances
from daemon.store.payments import transactions
from daemon.wire import MessageState
from parsers.times import from_us
from tests.fakes.month import BUSY, FORGERIES, Month, Size, Sms
from tests.fakes.shop import TELECEL_IMSI, FakeShop
from tests.fakes.tiers import share

QUIET = Size(receipts=240, sent=16, reversals=4, lost=6, swapped=2, forged_of_a_kind=1, days=4)


class Played:
    """A month that a shop lived through, and what it said at each step."""

    def __init__(self, shop: FakeShop, month: Month) -> None:
        self.shop = shop
        self.month = month
        self.message_ids: dict[str, str] = {}
        self.states: dict[str, MessageState] = {}
        self.named: dict[str, set[int]] = {}
        self._seen = 0

    @classmethod
    async def live(cls, folder: Path, seed: int, size: Size) -> "Played":
        shop = await FakeShop.make(folder, imsi=TELECEL_IMSI)
        opened = from_us(shop.clock.now_us()).replace(microsecond=0, tzinfo=UTC)
        played = cls(shop, Month(seed, size, started=opened + timedelta(hours=1)))
        await shop.env.store.write(played._ask_for_money)
        for number, sms in enumerate(played.month.arriving):
            await played._receive(number, sms)
        return played

    def _ask_for_money(self, tx: Tx) -> None:
        for number, (code, asked) in enumerate(self.month.requests.items()):
            row = {name: value for name, value in asdict(asked).items() if name != "seq"}
            made = transactions.add(tx, {**row, "public_slug": f"slug-{number}"})
            assert made.expires_at is not None
            transactions.claim_code(
                tx, made.mode, code, made.id, made.expires_at + 40 * DAY_US, made.created_at
            )

    async def _receive(self, number: int, sms: Sms) -> None:
        behind_s = (sms.at - _at(self.shop)).total_seconds() + 1
        self.shop.clock.advance(max(behind_s, 0.001))
        taken = await self.shop.read_pdus(sms.pdus(number))
        assert not taken.faults
        [(self.message_ids[sms.key], self.states[sms.key])] = taken.concluded
        self.named[sms.key] = {
            amount for data in await self._said() for amount in _amounts(json.loads(data))
        }

    async def _said(self) -> list[str]:
        """Return what was said about missing money since the last step."""
        seen, self._seen = self._seen, await self._last_event()
        notices: list[str] = await self.shop.values(
            f"SELECT data FROM events WHERE seq > {seen} AND type = 'notice.money_missing'"
        )
        asked: list[str] = await self.shop.values(
            "SELECT r.details FROM reviews r JOIN events e ON e.message_id = r.message_id "
            f"WHERE e.seq > {seen} AND e.type = 'review.opened'"
        )
        return notices + asked

    async def _last_event(self) -> int:
        [last] = await self.shop.values("SELECT COALESCE(MAX(seq), 0) FROM events")
        return int(last)


def _at(shop: FakeShop) -> datetime:
    return from_us(shop.clock.now_us())


def _amounts(data: dict[str, object]) -> list[int]:
    gaps = data.get("gaps")
    if isinstance(gaps, list):
        return [int(gap["amount"].replace(".", "")) for gap in gaps]
    gap_minor = data.get("gap_minor")
    return [gap_minor] if isinstance(gap_minor, int) else []


@pytest.mark.parametrize(
    ("seed", "size"),
    [
        (1, QUIET),
        *(pytest.param(seed, BUSY, marks=pytest.mark.slow) for seed in range(1, share(3) + 1)),
    ],
)
@pytest.mark.timeout(600)
async def test_a_busy_month_ends_with_every_payment_where_it_belongs(
    tmp_path: Path, seed: int, size: Size
) -> None:
    played = await Played.live(tmp_path, seed, size)
    try:
        await no_forgery_pays(played)
        await hardly_a_customer_waits(played)
        every_loss_is_named(played)
        await what_is_unaccounted_for_is_what_was_lost(played)
        await what_was_taken_back_is_marked(played)
    finally:
        played.shop.close()


async def no_forgery_pays(played: Played) -> None:
    forged = {sms.key: sms for sms in played.month.arriving if sms.forged}
    kinds = Counter(sms.forged for sms in forged.values())
    assert kinds == dict.fromkeys(FORGERIES, played.month.size.forged_of_a_kind)
    assert {played.states[key] for key in forged} == {MessageState.HELD}
    ids = ", ".join(f"'{played.message_ids[key]}'" for key in forged)
    assert await played.shop.values(f"SELECT id FROM payments WHERE message_id IN ({ids})") == []
    codes = ", ".join(f"'{sms.code}'" for sms in forged.values())
    paid = await played.shop.values(
        f"SELECT svc_code FROM transactions WHERE svc_code IN ({codes}) AND payment_id IS NOT NULL"
    )
    assert paid == []
    # A customer whose order a forger named can still pay it.
    waiting = await played.shop.values(
        f"SELECT DISTINCT status FROM transactions WHERE svc_code IN ({codes})"
    )
    assert waiting == ["PENDING"]


async def hardly_a_customer_waits(played: Played) -> None:
    coded = [sms for sms in played.month.arriving if sms.code and not sms.forged]
    rows = await played.shop.values(
        "SELECT t.svc_code, p.message_id FROM transactions t JOIN payments p ON p.id = t.payment_id "
        "WHERE t.matched_by = 'code' AND t.status = 'SUCCESS'"
    )
    paid_by = dict(rows)
    matched = [sms for sms in coded if paid_by.get(sms.code) == played.message_ids[sms.key]]
    assert len(matched) >= 0.995 * len(coded), f"{len(matched)} of {len(coded)}"
    assert len(paid_by) == len(matched)


def every_loss_is_named(played: Played) -> None:
    """The message behind a loss names what was lost, or else the first receipt behind it does."""
    genuine, lost = played.month.genuine, played.month.lost
    missing, named = 0, 0
    for sms in genuine:
        if sms.key in lost:
            missing += sms.effect
            continue
        if missing and missing in played.named[sms.key]:
            named, missing = named + 1, 0
        assert not missing or sms.effect < 0, (sms.key, missing, played.named[sms.key])
    assert named > 0


async def what_is_unaccounted_for_is_what_was_lost(played: Played) -> None:
    held = await played.shop.values("SELECT COUNT(*) FROM line_balances WHERE standing = 'held'")
    gaps = await played.shop.env.store.read(lambda reader: balances.gaps_since(reader, 0))
    found = unaccounted(gaps[played.shop.source.sim_key])
    lost = sum(sms.effect for sms in played.month.genuine if sms.key in played.month.lost)
    if held == [0]:
        assert found.came_in_minor - found.went_out_minor == lost


async def what_was_taken_back_is_marked(played: Played) -> None:
    month = played.month
    arrived = [sms for sms in month.genuine if "reversed" in sms.text and sms.key not in month.lost]
    taken_back = await played.shop.values("SELECT COUNT(*) FROM reversals")
    assert taken_back == [len(arrived)]
    # Of each that is here; the receipts of some were lost.
    assert await played.shop.values(
        "SELECT COUNT(*) FROM payments p JOIN reversals r ON r.original_telco_id = p.telco_transaction_id "
        "WHERE p.reversed_at IS NULL OR p.reversed_at <> r.at"
    ) == [0]
    statuses = await played.shop.values(
        "SELECT DISTINCT status FROM transactions WHERE reversed_at IS NOT NULL"
    )
    assert statuses == ["SUCCESS"]
