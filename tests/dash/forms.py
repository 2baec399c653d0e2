"""A form for each action of the table that is really done, so that each can be tried in tests.

For a new action, add its row to `FORMS`. `{places}` in the path and in the fields come from the function that makes the rows.
"""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import pyotp

from daemon.flows.access import browser
from daemon.flows.books import shifts
from daemon.flows.payments import settlement
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.store.access import users
from daemon.wire import Role, SettlementKind
from parsers.times import from_us
from tests.dash.places import ENDPOINT, RULE, webhook_paths
from tests.dash.test_first_run import SHOP, without_password
from tests.dash.test_messages import TEXT as UNREAD
from tests.dash.test_webhooks import given_up
from tests.fakes import outbox
from tests.fakes.api import OWNER_ID, FakeApi
from tests.fakes.dash import PASSWORD, Person, cookie_of, log_in
from tests.fakes.orders import Orders
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, mtn, mtn_receipt
from tests.fakes.reviews import approve as approve_review
from tests.fakes.reviews import approve_row
from tests.fakes.shop import METHOD_ID, OWNER
from tests.parsers.test_own import FILE

OTHER: Final = "+233201234567"
VISITOR: Final = "a" * 64
"""The cookie of a visitor before the login."""
OWN: Final = {"confirm_password": PASSWORD}
RECEIPT: Final = mtn_receipt(2500, "KOFI", 92_500, "", "93214500077")


@dataclass
class Stage:
    """The shop, and the owner logged in."""

    api: FakeApi
    person: Person

    async def run(self, sql: str, **values: object) -> None:
        await self.api.shop.env.store.write(lambda tx: tx.run(sql, values))

    async def last(self, table: str) -> str:
        (found,) = await self.api.shop.values(f"SELECT id FROM {table} ORDER BY seq DESC LIMIT 1")
        return str(found)

    async def post(self, path: str, fields: dict[str, str] | None = None) -> None:
        answer = await self.person.post(path, fields)
        assert answer.status_code in (200, 303), answer.text


Known = dict[str, str]
Prepare = Callable[[Stage], Awaitable[Known]]


async def nothing(_stage: Stage) -> Known:
    return {}


async def visitor(stage: Stage) -> Known:
    """Leave the browser without a session."""
    client = await stage.api.client()
    client.event_hooks = {}
    client.cookies.set(cookie_of(stage.api), VISITOR, domain="127.0.0.1", path="/dash")
    stage.person = replace(stage.person, token=VISITOR, client=client)
    return {}


async def without_owner(stage: Stage) -> Known:
    stage.person = await without_password(stage.api)
    return {}


# Money


async def doubtful(stage: Stage) -> Known:
    await Orders(stage.api.shop).make("checking", expected_payer_phone=OTHER)
    return {"id": await stage.last("reviews")}


async def decided(stage: Stage) -> Known:
    known = await doubtful(stage)
    await approve_review(stage.api.shop)
    return known


async def waiting(stage: Stage) -> Known:
    order = await Orders(stage.api.shop).make("waiting")
    return {"id": order.reference}


async def practice(stage: Stage) -> Known:
    """Make an order of the sandbox."""
    order = await stage.api.test.post("/v1/transactions/initialize", json={"amount": "7.00", "phone_number": OTHER})
    return {"id": order.json()["data"]["reference"]}


async def short(stage: Stage) -> Known:
    """Make an order that was paid too little, and the payment that brings the rest."""
    orders = Orders(stage.api.shop)
    order = await orders.make("short")
    return {"id": order.reference, "telco_id": await orders.pay(order, reference="the rest")}


async def second(stage: Stage) -> Known:
    """Let the rest of a short order come."""
    orders = Orders(stage.api.shop)
    order = await orders.make("short")
    await orders.pay(order, 500)
    return {"id": await stage.last("reviews")}


async def shift(stage: Stage) -> Known:
    """Open the shift of somebody."""
    return {"id": str((await shifts.begin(stage.api.shop.env, OWNER)).seq)}


async def settled(stage: Stage) -> Known:
    order = await Orders(stage.api.shop).make("short")
    how = settlement.SettlementRequest(SettlementKind.WAIVED)
    await settlement.settle(stage.api.shop.env, OWNER, order.reference, how)
    return {"id": order.reference}


async def unmatched(stage: Stage) -> Known:
    """Make an order, and a payment that names none."""
    orders = Orders(stage.api.shop)
    order = await orders.make("waiting")
    telco_id = await orders.pay(order, reference="rent")
    return {"id": order.reference, "telco_id": telco_id}


async def payment(stage: Stage) -> Known:
    order = await unmatched(stage)
    return {"id": await stage.last("payments"), "order": order["id"]}


# Lines and messages


async def line(stage: Stage) -> Known:
    return {"id": f"{stage.api.shop.source.device_id}:0"}


async def bare_line(stage: Stage) -> Known:
    """Take the number off the SIM."""
    known = await line(stage)
    await stage.post(f"/dash/lines/{known['id']}/clear")
    return known


async def gap(stage: Stage) -> Known:
    """Lose a receipt of GHS 7.00."""
    shop = stage.api.shop
    await shop.begin_chain(87_500)
    shop.limit(0)
    await shop.read(
        mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"),
        mtn(100, "KOFI ANTWI BADU", 90_800, "food", "93214500003", concatenation=1),
        mtn(100, "KOFI ANTWI BADU", 90_900, "food", "93214500004", concatenation=2),
    )
    await approve_row(shop)
    return await line(stage)


async def unplaced(stage: Stage) -> Known:
    await Orders(stage.api.shop).make("paid")
    await stage.run("UPDATE payments SET payment_method_seq = NULL")
    return {"id": METHOD_ID}


async def unread(stage: Stage) -> Known:
    """Store a message that only a wording which was added later reads."""
    shop, folder = stage.api.shop, stage.api.home / "wordings"
    at = from_us(shop.clock.now_us())
    await shop.read_pdus(encode_deliver(MTN_SENDER, UNREAD, at, smsc=MTN_SMSC))
    folder.mkdir()
    (folder / "mtn.toml").write_text(FILE)
    shop.env.own_wordings.folder = folder
    shop.env.own_wordings.read_again()
    return {"id": await stage.last("messages")}


async def unconfirmed(stage: Stage) -> Known:
    known = await unread(stage)
    await stage.post(f"/dash/messages/{known['id']}/reparse")
    return known


async def confirmed(stage: Stage) -> Known:
    known = await unconfirmed(stage)
    await stage.post(f"/dash/messages/{known['id']}/confirm", OWN)
    return known


# Webhooks


async def endpoint(stage: Stage) -> Known:
    """Make an endpoint at a name that nobody knows, so that a test sends nothing."""
    await outbox.add_endpoint(stage.api.shop, ENDPOINT, url="https://nowhere.example/x")
    return {"id": ENDPOINT}


async def paused(stage: Stage) -> Known:
    known = await endpoint(stage)
    await stage.post(f"/dash/webhooks/{ENDPOINT}/pause")
    return known


async def rule(stage: Stage) -> Known:
    await webhook_paths(stage.api, Orders(stage.api.shop))
    return {"id": ENDPOINT, "rule": RULE}


async def letter(stage: Stage) -> Known:
    (found,) = await given_up(stage.api, 1)
    return {"id": found}


async def delivery(stage: Stage) -> Known:
    await letter(stage)
    return {"id": await stage.last("deliveries")}


async def fault(stage: Stage) -> Known:
    """Return the only group of dead letters."""
    one = await letter(stage)
    page = (await stage.person.get("/dash/dead-letters")).text
    (kind,) = set(re.findall(rf'href="/dash/dead-letters/of/{ENDPOINT}/([^"]+)"', page))
    return {"id": ENDPOINT, "kind": kind, "letter": one["id"]}


async def gone_without(stage: Stage) -> Known:
    """Make an endpoint after a payment."""
    await outbox.owe(stage.api.shop)
    return await endpoint(stage)


# Access and upkeep


async def other_session(stage: Stage) -> Known:
    """Log the owner in at another browser."""
    env = stage.api.shop.env
    user = await env.store.read(users.owner)
    assert user is not None
    await browser.open_session(env, user, "127.0.0.1", "test", "password")
    return {"id": await stage.last("browser_sessions")}


async def ama(stage: Stage) -> Known:
    await log_in(stage.api, Role.CASHIER, "ama")
    return {"id": "ama", "session": await stage.last("browser_sessions")}


async def key(stage: Stage) -> Known:
    return {"id": await stage.last("api_keys")}


async def seed(stage: Stage) -> Known:
    """Ask for a second factor, and make the code of now and that of half a minute later."""
    page = (await stage.person.get("/dash/account/second-factor")).text
    shown = re.findall(r"<code>([A-Z2-7 ]+)</code>", page)[0].replace(" ", "")
    setup = re.findall(r'name="setup" value="([^"]+)"', page)[0]
    now = stage.api.shop.clock.now_us() // 1_000_000
    code, later = (pyotp.TOTP(shown).at(now + step) for step in (0, 31))
    return {"setup": setup, "code": code, "later": later}


async def with_factor(stage: Stage) -> Known:
    known = await seed(stage)
    fields = {"setup": known["setup"], "code": known["code"], **OWN}
    await stage.post("/dash/account/second-factor/on", fields)
    return known


async def half_way(stage: Stage) -> Known:
    """Log in as far as to the code of the second factor."""
    known = await with_factor(stage)
    stage.api.shop.clock.advance(31)
    await visitor(stage)
    user = await stage.api.shop.env.store.read(users.owner)
    assert user is not None
    assert user.id == OWNER_ID
    return {**known, "half": await browser.seal_half(stage.api.shop.env, user)}


async def backup(stage: Stage) -> Known:
    await stage.post("/dash/health/backups")
    (made,) = (stage.api.home / "backups").iterdir()
    return {"name": made.name.removeprefix("momo-").removesuffix(".db")}


async def limit(_stage: Stage) -> Known:
    return {"id": "limits.burst"}


HOOK: Final = {"url": "https://shop.example/x", "event.transaction.forwarded": "1"}
FORMS: Final[dict[str, tuple[Prepare, dict[str, str]]]] = {
    "/dash/review/{id}/approve": (doubtful, {"order": "held"}),
    "/dash/review/{id}/reject": (doubtful, {"note": "no_money"}),
    "/dash/review/{id}/rest": (second, {}),
    "/dash/review/{id}/undo": (decided, {}),
    "/dash/shifts": (nothing, {}),
    "/dash/shifts/{id}/close": (shift, {}),
    "/dash/lines/{id}/name": (line, {"name": "front"}),
    "/dash/lines/{id}/assign": (
        bare_line,
        {"provider": "momo_mtn", "phone_number": "0244124567", "account_name": "Ama"},
    ),
    "/dash/lines/{id}/clear": (line, {}),
    "/dash/lines/{id}/pin": (line, {"pin": "7391"}),
    "/dash/lines/{id}/test": (line, {}),
    "/dash/lines/{id}/text": (line, {"number": "0201234567"}),
    "/dash/lines/{id}/test-payment": (line, {}),
    "/dash/lines/{id}/ignore": (bare_line, {"ignored": "yes"}),
    "/dash/lines/{id}/acknowledge": (gap, {"notes": "interest"}),
    "/dash/lines/{id}/ussd": (line, {"code": "*170#"}),
    "/dash/lines/{id}/wallet": (line, {"balance": "900", **OWN}),
    "/dash/unplaced/{id}/claim": (unplaced, {}),
    "/dash/messages/all/reparse": (unread, {}),
    "/dash/messages/import/paste": (nothing, {"line": METHOD_ID, "text": RECEIPT}),
    "/dash/messages/import/backup": (
        nothing,
        {
            "line": METHOD_ID,
            "backup": f'sender,text,date\r\nMobileMoney,"{RECEIPT}",2026-11-01T10:00:00Z',
            "do": "take",
        },
    ),
    "/dash/messages/{id}/reparse": (unread, {}),
    "/dash/messages/{id}/confirm": (unconfirmed, OWN),
    "/dash/messages/{id}/unconfirm": (confirmed, {}),
    "/dash/login": (visitor, {"name": "owner", "password": PASSWORD, "to": ""}),
    "/dash/login/code": (half_way, {"half": "{half}", "code": "{later}", "to": ""}),
    "/dash/logout": (nothing, {}),
    "/dash/till": (nothing, {"amount": "5", "phone": "024 123 4567"}),
    "/dash/till/{id}/cancel": (waiting, {}),
    "/dash/payments/{id}/reconcile": (payment, {"order": "{order}"}),
    "/dash/transactions/{id}/cancel": (waiting, {"reason": "ordered twice"}),
    "/dash/transactions/{id}/settle": (short, {"kind": "rest_received", "payment": "{telco_id}"}),
    "/dash/transactions/{id}/unsettle": (settled, {}),
    "/dash/transactions/{id}/renew": (waiting, {}),
    "/dash/transactions/{id}/reconcile": (unmatched, {"transaction_id": "{telco_id}"}),
    "/dash/transactions/{id}/send": (waiting, {}),
    "/dash/transactions/{id}/practise": (practice, {}),
    "/dash/account/password": (
        nothing,
        {"current": PASSWORD, "password": "a new long password", "again": "a new long password"},
    ),
    "/dash/account/sessions/{id}/end": (other_session, {}),
    "/dash/account/second-factor/on": (seed, {"setup": "{setup}", "code": "{code}", **OWN}),
    "/dash/account/second-factor/off": (with_factor, {}),
    "/dash/account/language": (nothing, {"language": "fr"}),
    "/dash/account/mode": (nothing, {"mode": "test"}),
    "/dash/webhooks/new": (nothing, HOOK),
    "/dash/webhooks/{id}/edit": (endpoint, HOOK),
    "/dash/webhooks/{id}/pause": (endpoint, {}),
    "/dash/webhooks/{id}/resume": (paused, {}),
    "/dash/webhooks/{id}/test": (endpoint, {}),
    "/dash/webhooks/{id}/delete": (endpoint, {}),
    "/dash/webhooks/{id}/secret/reveal": (endpoint, OWN),
    "/dash/webhooks/{id}/secret/rotate": (endpoint, OWN),
    "/dash/webhooks/{id}/rules/new": (
        endpoint,
        {"enabled": "1", "field_0": "amount", "operator_0": "$gte", "value_0": "5"},
    ),
    "/dash/webhooks/{id}/rules/{rule}": (
        rule,
        {"enabled": "1", "field_0": "amount", "operator_0": "$gte", "value_0": "5"},
    ),
    "/dash/webhooks/{id}/rules/{rule}/remove": (rule, {}),
    "/dash/deliveries/{id}/redeliver": (delivery, {}),
    "/dash/deliveries/{id}/curl": (delivery, {}),
    "/dash/dead-letters/of/{id}/{kind}/all": (fault, {}),
    "/dash/dead-letters/of/{id}/{kind}/marked": (fault, {"letter.{letter}": "1"}),
    "/dash/dead-letters/{id}/replay": (letter, {}),
    "/dash/dead-letters/{id}/dismiss": (letter, {"notes": "closed"}),
    "/dash/replay": (gone_without, {"endpoint": ENDPOINT, "from": "2026-11-01T00:00", "to": "2026-11-22T00:00"}),
    "/dash/day/mail": (nothing, {}),
    "/dash/statement": (nothing, {"statement": "FID,Amount\n93214500001,25.00\n"}),
    "/dash/first/shop": (without_owner, SHOP),
    "/dash/users": (nothing, {"name": "esi", "role": "viewer", **OWN}),
    "/dash/users/{id}": (ama, {"what": "password", **OWN}),
    "/dash/users/{id}/sessions/end": (ama, {"session": "{session}"}),
    "/dash/keys": (nothing, {"name": "page", "kind": "publishable", "mode": "live", "days": "", **OWN}),
    "/dash/keys/{id}": (key, {"what": "rotate", "overlap": "24", **OWN}),
    "/dash/health/backups": (nothing, {}),
    "/dash/health/backups/check": (backup, {"backup": "{name}"}),
    "/dash/settings/{id}": (limit, {"value": "70", **OWN}),
    "/dash/settings/restart/now": (nothing, {}),
    "/dash/settings/mail/password": (nothing, {"mail_password": "secret-of-mail", **OWN}),
    "/dash/settings/notices/test": (nothing, {}),
}
"""The rows that an action is about, and the fields of its form."""


@dataclass(frozen=True)
class Form:
    """A form that is ready to be posted by `person`."""

    person: Person
    path: str
    fields: dict[str, str]


async def form_of(api: FakeApi, path: str) -> Form:
    """Make the rows of an action; return its form."""
    prepare, fields = FORMS[path]
    stage = Stage(api, await log_in(api, Role.OWNER))
    known = await prepare(stage)
    filled = {name.format(**known): text.format(**known) for name, text in fields.items()}
    return Form(stage.person, path.format(**known), filled)


async def effects(api: FakeApi) -> dict[str, Any]:
    """Return everything that an action can change: the rows of each table, the files, and the requests to others.

    Left out are the keys of the forms themselves and the time when a browser was seen last.
    """
    names = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'search%' "
        "AND name <> 'idempotency_keys' ORDER BY name"
    )
    found: dict[str, Any] = {}
    for name in await api.shop.values(names):
        found[name] = await api.shop.values(f"SELECT * FROM {name}")
    found["browser_sessions"] = await api.shop.values(
        "SELECT id, user_id, language, mode, confirmed_at FROM browser_sessions ORDER BY seq"
    )
    found["files"] = {
        path: path.read_bytes()
        for path in sorted(api.home.rglob("*"))
        if path.is_file() and not path.name.startswith("momo.db") and "idempotency" not in path.name
    }
    found["asked"] = json.dumps([api.inspected, api.resolver.asked, api.restarts])
    return found
