"""A receiver gets every body byte for byte as it was made, however it is stored."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.store.webhooks import deliveries
from tests.fakes.outbox import add_endpoint, lease_one, owe
from tests.fakes.shop import FakeShop


@given(st.binary(max_size=20_000) | st.text().map(str.encode))
def test_any_body_comes_back_as_it_was(body: bytes) -> None:
    assert deliveries.inflate(deliveries.deflate(body)) == body


@given(st.integers(1, 20_000), st.randoms(use_true_random=False))
def test_a_body_of_any_length_comes_back_as_it_was(length: int, random: "st.DataObject") -> None:
    body = random.randbytes(length)  # type: ignore[attr-defined]
    assert deliveries.inflate(deliveries.deflate(body)) == body


def test_a_body_that_was_cut_off_is_refused() -> None:
    deflated = deliveries.deflate(b'{"type":"transaction.forwarded"}')
    with pytest.raises(zlib.error):
        deliveries.inflate(deflated[:-1])


async def test_what_is_sent_is_what_was_made_with_the_payment(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    (body,) = await shop.bodies()
    leased = await lease_one(shop)
    assert leased.body.decode() == body
    assert leased.delivery.webhook_id in body
    (stored,) = await shop.values("SELECT deflated FROM delivery_bodies")
    assert 3 * len(stored) < 2 * len(leased.body)
