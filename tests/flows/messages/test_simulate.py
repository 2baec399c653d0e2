"""Simulated receipts are unique: many in one second are as many payments, for any random numbers."""

from msgspec import structs

from daemon.core.messages import sandbox
from daemon.core.messages.sandbox import Cycle
from daemon.flows.messages.ingest import ingest
from daemon.flows.messages.simulate import SimulatedSms, SimulateRequest, simulate_sms
from tests.fakes.entropy import FakeEntropy
from tests.fakes.shop import FakeShop

ASKED = SimulateRequest("momo_mtn", amount_minor=500)


class LoadedDice(FakeEntropy):
    """A random source that always returns the same number."""

    def below(self, limit: int) -> int:
        return limit - 2


async def made(shop: FakeShop, count: int) -> list[SimulatedSms]:
    return [await simulate_sms(shop.env, ASKED) for _ in range(count)]


async def payments(shop: FakeShop) -> list[str]:
    return await shop.values("SELECT telco_transaction_id FROM payments ORDER BY seq")


async def test_receipts_of_one_second_that_differ_in_nothing_are_as_many_payments(shop: FakeShop) -> None:
    shop.env = structs.replace(shop.env, entropy=LoadedDice())
    for receipt in await made(shop, 20):
        await ingest(shop.env, receipt.source, receipt.parts)
    assert len(set(await payments(shop))) == 20
    assert await shop.values("SELECT DISTINCT state FROM messages") == ["payment"]


async def test_no_part_of_thousands_in_one_second_is_like_another(shop: FakeShop) -> None:
    parts = [part.pdu for receipt in await made(shop, 3_000) for part in receipt.parts]
    assert len(set(parts)) == len(parts) == 6_000


async def test_an_id_of_a_run_before_does_not_come_again(shop: FakeShop) -> None:
    dice = LoadedDice()
    for _run in range(2):
        shop.env = structs.replace(shop.env, entropy=dice, sandbox_cycles=sandbox.Cycles())
        (receipt,) = await made(shop, 1)
        # The network's clock continues after the last second, so only the references begin anew.
        await ingest(shop.env, receipt.source, receipt.parts)
        shop.clock.advance(1)
    assert len(set(await payments(shop))) == 2


async def test_the_same_parts_again_are_still_the_network_s_repeat(shop: FakeShop) -> None:
    (receipt,) = await made(shop, 1)
    for _ in range(2):
        await ingest(shop.env, receipt.source, receipt.parts)
    assert len(await payments(shop)) == 1


def test_a_wheel_shows_each_number_once_before_any_comes_again() -> None:
    wheel = Cycle(5)
    assert [wheel.next(lambda _limit: 3) for _ in range(7)] == [3, 4, 0, 1, 2, 3, 4]
