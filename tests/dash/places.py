"""A value for each `{place}` of the tables of pages and actions, so that each row can be asked for in tests.

For a new page with a place, add the row of the test shop with this id here.
"""

from daemon.core.access.callers import of_role
from daemon.flows.books import shifts
from daemon.store.webhooks import routing
from daemon.wire import Role
from tests.fakes import outbox
from tests.fakes.api import FakeApi
from tests.fakes.orders import Orders

ENDPOINT = "22222222-2222-4222-8222-222222222222"
RULE = "33333333-3333-4333-8333-333333333333"
EVIL = "\"'><img src=x onerror=alert(1)>"
NOWHERE = "00000000-0000-4000-8000-000000000000"


async def paths(api: FakeApi) -> dict[str, str]:
    """Make the rows for the places; return the address of each page, by its path in the table."""
    orders = Orders(api.shop)
    paid = await orders.make("paid")
    assert paid.payment_id is not None
    await orders.make("checking", expected_payer_phone="+233201234567")
    [review] = await api.shop.values("SELECT id FROM reviews WHERE state = 'open' AND reason LIKE 'payer%'")
    [method] = await api.shop.values("SELECT id FROM payment_methods")
    message = (await api.shop.values("SELECT id FROM messages"))[0]
    [key, *_] = await api.shop.values("SELECT id FROM api_keys ORDER BY seq")
    await shifts.begin(api.shop.env, of_role(Role.CASHIER, Role.CASHIER))
    return {
        "/dash/shifts/{id}": "/dash/shifts/1",
        "/dash/customers/{id}": "/dash/customers/233241234567",
        "/dash/keys/{id}": f"/dash/keys/{key}",
        "/dash/settings/{id}": "/dash/settings/smtp.to",
        "/dash/users/{id}": "/dash/users/owner",
        "/dash/messages/{id}": f"/dash/messages/{message}",
        "/dash/lines/{id}": f"/dash/lines/{api.shop.source.device_id}:0",
        "/dash/lines/{id}/ussd": f"/dash/lines/{api.shop.source.device_id}:0/ussd",
        "/dash/unplaced/{id}": f"/dash/unplaced/{method}",
        "/dash/review/{id}": f"/dash/review/{review}",
        "/dash/payments/{id}": f"/dash/payments/{paid.payment_id}",
        **{
            path: path.replace("{id}", paid.reference)
            for path in ("/dash/till/{id}", "/dash/till/{id}/receipt", "/dash/transactions/{id}")
        },
        **await webhook_paths(api, orders),
    }


async def webhook_paths(api: FakeApi, orders: Orders) -> dict[str, str]:
    """Make an endpoint with a rule and a delivery that was given up; return the addresses of their pages."""
    shop = api.shop
    await outbox.add_endpoint(shop, ENDPOINT, url=f"https://shop.example/{EVIL}", description=EVIL)
    now = shop.clock.now_us()
    rule = {
        "id": RULE, "endpoint_id": ENDPOINT, "name": EVIL, "position": 1, "enabled": False,
        "filter": '{"amount":{"$gte":"50.00"}}', "created_at": now, "updated_at": now, "replaced_at": None,
    }  # fmt: skip
    await shop.env.store.write(lambda tx: routing.add_rule(tx, rule))
    await orders.make("paid")
    (leased,) = await outbox.lease(shop)
    await outbox.fail(shop, leased, 404)
    ((letter, delivery),) = await shop.values("SELECT id, delivery_id FROM dead_letters")
    hook = f"/dash/webhooks/{ENDPOINT}"
    return {
        "/dash/webhooks/{id}": hook,
        **{
            f"/dash/webhooks/{{id}}/{name}": f"{hook}/{name}"
            for name in ("edit", "delete", "secret", "rules/new", "deliveries")
        },
        "/dash/webhooks/{id}/rules/{rule}": f"{hook}/rules/{RULE}",
        "/dash/deliveries/{id}": f"/dash/deliveries/{delivery}",
        "/dash/dead-letters/{id}": f"/dash/dead-letters/{letter}",
        "/dash/dead-letters/of/{id}/{kind}": f"/dash/dead-letters/of/{ENDPOINT}/permanent_4xx~http_error~404~0",
    }


def filled(path: str, known: dict[str, str]) -> str:
    """Return the address of a page; an unknown place gets an id that does not exist, which suffices to test a refusal."""
    return known.get(path) or path.replace("{id}", NOWHERE)
