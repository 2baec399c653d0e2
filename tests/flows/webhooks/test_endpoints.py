"""Add an endpoint: the stored rows (the refusals are in tests/api)."""

import pytest

from daemon.core.errors import Unavailable
from daemon.core.model import Event
from daemon.core.webhooks.endpoint import Endpoint, NewEndpoint
from daemon.flows.webhooks.endpoints import create
from daemon.wire import EventKind, Mode
from tests.fakes.shop import OWNER, FakeShop

NEW = NewEndpoint(
    url="https://SHOP.example:443/hook",
    description="web shop",
    is_sandbox=True,
    events=(EventKind.FORWARDED,),
    catch_all=False,
    include_raw=True,
)


async def test_the_endpoint_its_secret_and_its_event_are_one_commit(shop: FakeShop) -> None:
    made = await create(shop.env, OWNER, NEW)
    [row] = await shop.rows(Endpoint, "endpoints")
    assert (made.endpoint, made.warnings) == (row, [])
    assert row == Endpoint(
        seq=1,
        id=made.endpoint.id,
        kind="endpoint",
        mode=Mode.TEST,
        url="https://SHOP.example:443/hook",
        url_normalised="https://shop.example/hook",
        description="web shop",
        events='["transaction.forwarded"]',
        catch_all=False,
        include_raw=True,
        is_active=True,
        auto_paused_at=None,
        last_success_at=None,
        last_failure_at=None,
        consecutive_failures=0,
        link_failures=0,
        created_at=shop.clock.now_us(),
        updated_at=shop.clock.now_us(),
        deleted_at=None,
        backlog_seq=0,
    )
    [event] = await shop.rows(Event, "events", "type = 'endpoint.created'")
    assert (event.endpoint_id, event.actor, event.mode) == (row.id, "socket:0", Mode.TEST)
    assert await shop.values("SELECT owner FROM webhook_secrets") == [row.id]


async def test_a_key_file_that_others_can_read_is_not_used(shop: FakeShop) -> None:
    from pathlib import Path

    key = Path(shop.env.store.path).parent / "master.key"
    key.write_bytes(b"x")
    key.chmod(0o644)
    with pytest.raises(Unavailable, match="chmod 600"):
        await create(shop.env, OWNER, NEW)
