"""Journal events of a shop and the notices that its owner gets by e-mail."""

from typing import Any, Final

from daemon.core.model import NoticeRow
from daemon.flows.upkeep import notices
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.upkeep import notices as store_notices
from daemon.wire import Mode
from tests.fakes.shop import FakeShop

EMAIL: Final = ["email"]


async def add_event(
    shop: FakeShop, kind: str, mode: Mode = Mode.LIVE, endpoint_id: str | None = None, **facts: Any
) -> None:
    """Write an event into the journal."""
    now = shop.clock.now_us()

    def job(tx: Tx) -> None:
        journal.add(tx, kind, now, endpoint_id=endpoint_id, mode=mode, data=facts)

    await shop.env.store.write(job)


async def send_due(shop: FakeShop) -> list[store_notices.Send]:
    """Gather notices, return the due ones, and record them as sent."""
    after = await shop.env.store.read(store_notices.cursor)
    await notices.gather(shop.env, after, EMAIL)
    await notices.digest(shop.env, EMAIL)
    sends = await notices.due(shop.env)
    for send in sends:
        await notices.record_try(shop.env, send, None)
    return list(sends)


async def sent_bodies(shop: FakeShop) -> list[str]:
    """Return the bodies of the messages that are due now."""
    return [send.body for send in await send_due(shop)]


async def listed(shop: FakeShop) -> list[NoticeRow]:
    """Return the notices that the command line shows."""
    found, _ = await shop.env.store.read(lambda reader: store_notices.page(reader, unseen=False, limit=100, offset=0))
    return found
