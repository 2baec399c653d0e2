"""Things that happen to a shop, and what its owner is told of them by mail."""

from typing import Any, Final

from daemon.core.model import NoticeRow
from daemon.flows import notices
from daemon.store import events, notice_outbox
from daemon.store.engine import Tx
from daemon.wire import Mode
from tests.fakes.shop import FakeShop

EMAIL: Final = ["email"]


async def happens(
    shop: FakeShop,
    kind: str,
    mode: Mode = Mode.LIVE,
    endpoint_id: str | None = None,
    **facts: Any,
) -> None:
    """Write an event into the journal."""
    now = shop.clock.now_us()

    def job(tx: Tx) -> None:
        events.add(tx, type=kind, mode=mode, at=now, endpoint_id=endpoint_id, data=facts)

    await shop.env.store.write(job)


async def sent(shop: FakeShop) -> list[notice_outbox.Send]:
    """Gather, and return what is due now; it counts as sent."""
    after = await shop.env.store.read(notice_outbox.cursor)
    await notices.gather(shop.env, after, EMAIL)
    await notices.digest(shop.env, EMAIL)
    sends = await notices.due(shop.env)
    for send in sends:
        await notices.tried(shop.env, send, None)
    return list(sends)


async def told(shop: FakeShop) -> list[str]:
    """Return what the owner is told now, in the words of the messages."""
    return [send.body for send in await sent(shop)]


async def shown(shop: FakeShop) -> list[NoticeRow]:
    """Return the notices that the command line shows."""
    found, _ = await shop.env.store.read(
        lambda reader: notice_outbox.page(reader, unseen=False, limit=100, offset=0)
    )
    return found
