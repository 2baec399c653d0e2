"""Endpoints of `momo listen` while the daemon starts."""

from functools import partial

from daemon.store.webhooks import endpoints
from tests.fakes.outbox import add_endpoint
from tests.fakes.shop import FakeShop


async def test_a_listener_that_connects_while_the_daemon_starts_is_not_paused(shop: FakeShop) -> None:
    for name in ("a", "b"):
        await add_endpoint(shop, name, url=f"listen:{name}", url_normalised=f"listen:{name}")
    await add_endpoint(shop, "c", url="https://c.example", url_normalised="https://c.example")
    active = "SELECT id FROM endpoints WHERE is_active = 1 ORDER BY id"
    for connected, expected in ((["listen:b"], ["b", "c"]), ([], ["c"])):
        paused = await shop.env.store.write(partial(endpoints.pause_scheme, scheme="listen:", connected=connected))
        assert paused == 1
        assert await shop.values(active) == expected
