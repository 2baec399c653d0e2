"""Endpoints and their deliveries, leased and recorded as the delivery loop does it."""

from typing import Any

from daemon.core.model import Delivery
from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError, LinkState, RetryPolicy
from daemon.store.webhooks.attempts import Leased
from tests.fakes import delivering
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
LINK = LinkState(other_host_answered=True, other_host_known=True)
POLICY = RetryPolicy()
ID = "93214500001"
IDS = (ID, "93214500002", "93214500003")


def outcome(status: int | None, error: DeliveryError | None = None, **more: Any) -> AttemptOutcome:
    return AttemptOutcome(status, "", error, None if error is None else "it failed", 1000, connected=True, **more)


async def add_endpoint(shop: FakeShop, endpoint_id: str = "e1", **changes: Any) -> None:
    values = {
        "id": endpoint_id, "kind": "endpoint", "mode": "live", "url": "https://shop.example/hook",
        "url_normalised": f"https://shop.example/{endpoint_id}", "description": "",
        "events": '["transaction.forwarded"]', "catch_all": 1, "include_raw": 0, "is_active": 1,
        "consecutive_failures": 0, "created_at": 1, "updated_at": 1, **changes,
    }  # fmt: skip
    sealed = shop.env.vault.seal(SECRET.encode(), "webhook-secret")

    def job(tx: Any) -> None:
        tx.run(
            f"INSERT INTO endpoints ({', '.join(values)}) VALUES ({', '.join(':' + name for name in values)})", values
        )
        tx.run(
            "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES (:id, :sealed, 1)",
            {"id": endpoint_id, "sealed": sealed},
        )

    await shop.env.store.write(job)


async def owe(shop: FakeShop, telco_id: str = ID) -> None:
    await shop.read(
        mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), "food", telco_id, concatenation=int(telco_id) % 256)
    )


async def lease_one(shop: FakeShop) -> Leased:
    (leased,) = await lease(shop, limit=1)
    return leased


async def lease(shop: FakeShop, limit: int = 5) -> list[Leased]:
    due = await delivering.lease(shop.env, limit=limit, per_endpoint=5, running={})
    return list(due.leased)


async def attempts(shop: FakeShop) -> list[tuple[Any, ...]]:
    return await shop.env.store.read(lambda reader: reader.all("SELECT * FROM attempts"))


async def only(shop: FakeShop) -> Delivery:
    (row,) = await shop.rows(Delivery, "deliveries")
    assert isinstance(row, Delivery)
    return row


async def fail(shop: FakeShop, leased: Leased, status: int = 500) -> None:
    await delivering.record_outcome(shop.env, leased, outcome(status), link=LINK, policy=POLICY)


async def deliver(shop: FakeShop, leased: Leased) -> None:
    await delivering.record_outcome(shop.env, leased, outcome(200), link=LINK, policy=POLICY)
