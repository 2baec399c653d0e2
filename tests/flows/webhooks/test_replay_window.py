"""A replay does not read the deliveries of its window that the endpoint has received already."""

import itertools

import pytest

from daemon.core.webhooks.replay import ReplayDecision
from daemon.store.engine import Reader
from daemon.store.webhooks import endpoints, replay
from daemon.store.webhooks.replay import Candidate, Window
from tests.fakes import delivering
from tests.fakes.outbox import LINK, POLICY, add_endpoint, lease, outcome, owe
from tests.fakes.shop import FakeShop

NEVER = 2**62


@pytest.mark.parametrize("batch", [1, 2, 3, 500])
async def test_only_what_the_endpoint_has_not_had_is_read_whole(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(replay, "BATCH", batch)
    await add_endpoint(shop)
    for number in range(6):
        await owe(shop, f"9321450000{number}")
    answers = itertools.cycle([outcome(200), outcome(410)])
    for leased, answer in zip(await lease(shop, limit=4), answers, strict=False):
        await delivering.record_outcome(shop.env, leased, answer, link=LINK, policy=POLICY)

    def look(reader: Reader) -> list[tuple[int, Candidate | None, ReplayDecision]]:
        endpoint = endpoints.get(reader, "e1")
        assert endpoint is not None
        window = Window(endpoint, 0, NEVER)
        return list(replay.fates(reader, window, include_failed=True, include_historical=False))

    found = await shop.env.store.read(look)
    assert [(seq, what) for seq, _, what in found] == [
        (1, ReplayDecision.DELIVERED),
        (2, ReplayDecision.AGAIN),
        (3, ReplayDecision.DELIVERED),
        (4, ReplayDecision.AGAIN),
        (5, ReplayDecision.IN_FLIGHT),
        (6, ReplayDecision.IN_FLIGHT),
    ]
    assert [None if one is None else one.payment.seq for _, one, _ in found] == [None, 2, None, 4, 5, 6]
