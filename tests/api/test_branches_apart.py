"""A user or an API key of one branch of a hub sees no row, sum, count, search result, export or event of another branch or of head
office, and changes none.

`READS` has every read of the API, of the socket and of the dashboard. What such a caller may read says the same before and
after the others have rows; everything else is refused to it. A new path fails until it has a row here.
"""

import re
from typing import Any

import pytest

from daemon.api.routes import OPERATIONS
from daemon.core.branches.place import Place
from daemon.dash.tables import ACTIONS, PAGES
from daemon.wire import Path, Role, ShopRole
from tests.api.test_modes_apart import CHANGING, differing
from tests.dash.places import paths
from tests.fakes.api import FakeApi
from tests.fakes.dash import PASSWORD, Person, log_in
from tests.fakes.orders import Orders

KUMASI, TAMALE = "br_kumasi01", "br_tamale01"
SEEN, REFUSED, NO_ROWS = "its own rows", "refused", "no rows: a document, a login, a form"
READS: dict[str, str] = {
    **dict.fromkeys(
        (
            Path.TRANSACTIONS, Path.TRANSACTION, Path.TRANSACTION_BY_CODE, Path.TRANSACTION_BY_CLIENT_REF,
            Path.TRANSACTION_EVENTS, Path.REVIEWS, Path.REVIEW, Path.PAYMENT_METHODS, Path.PAYMENT_METHOD,
            "/dash", "/dash/till", "/dash/till/screen", "/dash/till/{id}", "/dash/till/{id}/receipt", "/dash/review",
            "/dash/review/{id}", "/dash/reviews", "/dash/search", "/dash/payments", "/dash/payments/{id}",
            "/dash/customers/{id}", "/dash/transactions", "/dash/transactions/{id}", "/dash/day", "/dash/account",
            "/dash/account/second-factor",
        ),
        SEEN,
    ),
    **dict.fromkeys(
        (
            Path.HEALTH, Path.METRICS, Path.OPENAPI, Path.DOCS, Path.DOCS_ERRORS, Path.MANUAL, Path.MANUAL_PICTURE,
            Path.MANUAL_PAGE, "/dash/login", "/dash/login/code", "/dash/enter",
        ),
        NO_ROWS,
    ),
    **dict.fromkeys(
        (
            Path.EVENTS, Path.APPROVED_PAYERS, Path.APPROVED_PAYER, Path.KEYS, Path.KEY, Path.SIMS, Path.LINES, Path.ENDPOINTS,
            Path.ENDPOINT, Path.RULES, Path.ROUTING, Path.DELIVERIES, Path.DELIVERY, Path.DELIVERY_ATTEMPTS, Path.GAP,
            Path.DEAD_LETTERS, Path.DEAD_LETTER, Path.LOCAL_USERS, Path.LOCAL_HUB, Path.LOCAL_BRANCH, Path.LOCAL_SOURCES,
            Path.LOCAL_STATUS, Path.LOCAL_DOCTOR, Path.LOCAL_LOGS, Path.LOCAL_MODEMS, Path.LOCAL_MODEM,
            Path.LOCAL_MODEM_TEXT, Path.LOCAL_MESSAGES, Path.LOCAL_MESSAGE, Path.LOCAL_TEMPLATES, Path.LOCAL_CHECKOUT,
            Path.LOCAL_REPORT, Path.LOCAL_SHIFTS, Path.LOCAL_SHIFT, Path.LOCAL_EXPORT, Path.LOCAL_PRUNE, Path.LOCAL_NOTICES,
            "/dash/poster", "/dash/webhooks", "/dash/webhooks/new", "/dash/webhooks/{id}", "/dash/webhooks/{id}/edit",
            "/dash/webhooks/{id}/delete", "/dash/webhooks/{id}/secret", "/dash/webhooks/{id}/rules/new",
            "/dash/webhooks/{id}/rules/{rule}", "/dash/webhooks/{id}/deliveries", "/dash/deliveries",
            "/dash/deliveries/{id}", "/dash/dead-letters", "/dash/dead-letters/of/{id}/{kind}", "/dash/dead-letters/{id}",
            "/dash/replay", "/dash/routes", "/dash/lines", "/dash/lines/{id}", "/dash/lines/{id}/ussd", "/dash/unplaced", "/dash/unplaced/{id}",
            "/dash/messages", "/dash/messages/import", "/dash/messages/{id}", "/dash/shifts", "/dash/shifts/{id}",
            "/dash/statement", "/dash/shop", "/dash/developers", "/dash/settings", "/dash/settings/{id}", "/dash/journal",
            "/dash/health", "/dash/health/checks", "/dash/users", "/dash/users/{id}", "/dash/keys", "/dash/keys/{id}",
            "/dash/first",
        ),
        REFUSED,
    ),
}  # fmt: skip
FOUND_BY = (
    "search=kofi",
    "search=25.00",
    "status=SUCCESS",
    "unsettled=true",
    "origin=all",
    "branch=tamale",
    "sort=largest",
)
ASKED = {
    Path.TRANSACTIONS: FOUND_BY,
    Path.REVIEWS: ("state=open", "branch=tamale"),
    "/dash/search": ("q=kofi", "q=25.00"),
    "/dash/payments": ("search=kofi", "as=csv", "branch=tamale", "sort=largest", "state=review"),
    "/dash/transactions": ("search=kofi", "as=csv", "branch=tamale"),
    "/dash/reviews": ("as=csv",),
    "/dash/day": ("by=hour", "by=line", "as=csv", "branch=tamale"),
}
"""Filters, searches and files of the lists."""


def plain(path: str) -> str:
    return path.replace(":path", "")


def test_every_read_has_a_rule() -> None:
    reads = {plain(path) for path, verbs in OPERATIONS.items() if "GET" in verbs} | {page.path for page in PAGES}
    assert reads == set(READS)
    assert {plain(path) for path, verbs in OPERATIONS.items() for one in verbs.values() if one.of_branch} == {
        *(path for path, rule in READS.items() if rule == SEEN and path.startswith("/v1")),
        Path.INITIALIZE,
        Path.CANCEL,
    }
    assert {page.path for page in PAGES if page.of_branch} == {
        path for path, rule in READS.items() if rule == SEEN and path.startswith("/dash")
    }


async def hub_of_two(api: FakeApi) -> None:
    def job(tx: Any) -> None:
        for branch_id, name in ((KUMASI, "kumasi"), (TAMALE, "tamale")):
            tx.run(
                "INSERT INTO branches (id, name, decides, status, epoch, turn, acked_seq, created_at) "
                "VALUES (:id, :name, 'all', 'joined', 1, 0, 0, 0)",
                {"id": branch_id, "name": name},
            )

    await api.shop.env.store.write(job)
    api.shop.env.place = Place(ShopRole.HUB)


async def rows_of(api: FakeApi, orders: Orders, branch_id: str | None) -> None:
    """Make orders, payments, reviews, messages and a number, and give them to a branch."""
    for state in ("waiting", "paid", "short", "over", "checking", "reversed"):
        more = {"expected_payer_phone": "+233201234567"} if state == "checking" else {}
        await orders.make(state, client_reference="order-1", **more)
    await orders.pay(await orders.make("waiting"), reference="rice")
    names = "mode, provider, account_name, merchant_code, is_active, created_at, updated_at"

    def job(tx: Any) -> None:
        for table in ("messages", "payments", "transactions", "reviews"):
            tx.run(f"UPDATE {table} SET branch_id = :id, version = 1 WHERE version IS NULL", {"id": branch_id})
        tx.run(
            f"INSERT INTO payment_methods (id, phone_number, branch_id, version, {names}) SELECT :new, :number, :id, 1, {names} "
            "FROM payment_methods WHERE version IS NULL",
            {
                "id": branch_id,
                "new": api.shop.env.new_id(),
                "number": f"+23324{len(branch_id or '')}00000"[:12] + ("1" if branch_id == TAMALE else "0"),
            },
        )

    await api.shop.env.store.write(job)


async def of_kumasi(api: FakeApi) -> tuple[Any, Person]:
    """Make a key with all scopes and a manager of kumasi; return a client with the key, and the person."""
    person = await log_in(api, Role.MANAGER, branch_id=KUMASI)
    return await api.client(await api.key(branch_id=KUMASI)), person


async def places(api: FakeApi, branch_id: str | None) -> dict[str, str]:
    """Return an address of a row of the branch for each path with a place."""
    of = "branch_id IS NULL" if branch_id is None else f"branch_id = '{branch_id}'"

    async def one(column: str, table: str, where: str = "1 = 1") -> str:
        return str(
            (
                await api.shop.values(
                    f"SELECT {column} FROM {table} WHERE {of} AND version = 1 AND {where} ORDER BY seq"
                )
            )[0]
        )

    reference = "svc_trx_" + (await one("id", "transactions", "status = 'SUCCESS'")).replace("-", "")
    code, review = await one("svc_code", "transactions"), await one("id", "reviews")
    payment, method = await one("id", "payments"), await one("id", "payment_methods")
    payer = "+233241234567"
    found = {
        "/dash/payments/{id}": f"/dash/payments/{payment}",
        Path.TRANSACTION_BY_CODE: f"/v1/transactions/by-svc/{code}",
    }
    found |= {Path.TRANSACTION_BY_CLIENT_REF: "/v1/transactions/by-client-ref/order-1"}
    found |= {
        Path.PAYMENT_METHOD: f"/v1/payment-methods/{method}",
        "/dash/customers/{id}": f"/dash/customers/{payer[1:]}",
    }
    for path in READS:
        if path not in found and "{" in path:
            found[path] = re.sub(r"{\w+}", review if "review" in path else reference, path)
    return found


async def read_all(api: FakeApi, key: Any, person: Person, where: dict[str, str], rule: str) -> dict[str, str]:
    """Return what each path of a rule says, with its filters."""
    found = {}
    for path in (path for path, its in READS.items() if its == rule):
        address = where.get(path, path)
        for query in ("", *ASKED.get(path, ())):
            client = person if path.startswith("/dash") else key
            answer = await client.get(f"{address}?{query}" if query else address)
            text = re.sub(r"req_[0-9a-f]{32}", "", CHANGING.sub("", answer.text))
            found[f"{address}?{query}"] = f"{answer.status_code}\n{text}"
    return found


@pytest.mark.slow
async def test_a_user_and_a_key_of_one_branch_see_nothing_of_the_others(api: FakeApi) -> None:
    await hub_of_two(api)
    key, person = await of_kumasi(api)
    orders = Orders(api.shop)
    await rows_of(api, orders, KUMASI)
    made = await key.post(
        Path.INITIALIZE, json={"amount": "9.00", "phone_number": "0241234567", "client_reference": "mine"}
    )
    assert made.status_code == 201, made.text
    assert made.json()["data"]["pay_to"][0]["phone_number"] == "+233241100000"
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE transactions SET version = 0 WHERE version IS NULL"))
    mine = await places(api, KUMASI)
    before = await read_all(api, key, person, mine, SEEN)
    assert [at for at, text in before.items() if text[:3] != "200"] == ["/dash/review?"], "it leads to the review"
    assert made.json()["data"]["reference"] in before[f"{Path.TRANSACTIONS}?"]
    await rows_of(api, orders, TAMALE)
    await rows_of(api, orders, None)
    after = await read_all(api, key, person, mine, SEEN)
    del before["/dash/account/second-factor?"]  # a new seed each time
    assert differing(before, after) == {}
    for others in (await places(api, TAMALE), await places(api, None)):
        hidden = {path: at for path, at in others.items() if READS[path] == SEEN}
        # The same payer and the same client reference name rows of each branch.
        for path in (Path.TRANSACTION_BY_CLIENT_REF, "/dash/customers/{id}"):
            del hidden[path]
        for path, at in hidden.items():
            answer = await (person if path.startswith("/dash") else key).get(at)
            assert answer.status_code == 404, (path, answer.status_code)


@pytest.mark.slow
async def test_everything_else_is_refused_with_a_sentence(api: FakeApi) -> None:
    await hub_of_two(api)
    key, person = await of_kumasi(api)
    where = await paths(api)
    for path in (path for path, rule in READS.items() if rule == REFUSED):
        if path.startswith("/dash"):
            answer = await person.get(where.get(path, path))
            owners = {page.path for page in PAGES if Role.MANAGER not in page.roles}
            said = "Your role does not allow this" if path in owners else "This is for head office"
            assert said in answer.text, path
        else:
            answer = await key.get(re.sub(r"{\w+}", "x", path))
            local = path.startswith("/local")
            assert answer.json()["error"]["code"] == ("ROUTE_NOT_FOUND" if local else "HEAD_OFFICE_ONLY"), path
            if not local:
                continue
            # On the socket a key is no operator.
            on_socket = await api.local.get(
                re.sub(r"{\w+}", "x", path), headers={"Authorization": key.headers["Authorization"]}
            )
            assert on_socket.json()["error"]["code"] == "SESSION_REQUIRED", path


@pytest.mark.slow
async def test_a_user_and_a_key_of_one_branch_change_nothing_of_the_others(api: FakeApi) -> None:
    await hub_of_two(api)
    key, person = await of_kumasi(api)
    orders = Orders(api.shop)
    await rows_of(api, orders, TAMALE)
    open_one = await orders.make("waiting")
    where = await places(api, TAMALE)
    kept = [
        f"SELECT * FROM {table} ORDER BY seq" for table in ("transactions", "payments", "reviews", "payment_methods")
    ]

    async def rows() -> list[Any]:
        return await api.shop.env.store.read(lambda reader: [reader.all(sql) for sql in kept])

    before = await rows()
    for path, verbs in OPERATIONS.items():
        for verb, operation in verbs.items():
            if verb == "GET" or operation.public or plain(path) == Path.INITIALIZE:
                continue
            for reference in (where[Path.TRANSACTION].rpartition("/")[2], open_one.reference):
                at = plain(path).replace("{reference}", reference)
                at = re.sub(r"{\w+}", where[Path.REVIEW].rpartition("/")[2], at)
                api.shop.clock.advance(1)  # a key is limited
                answer = await key.request(verb, at, json={"reason": "x"})
                assert answer.status_code in (403, 404), (verb, path, answer.text)
    for action in ACTIONS:
        if action.path.startswith(("/dash/login", "/dash/logout", "/dash/account")) or action.path == "/dash/till":
            continue
        at = action.path.replace("{id}", open_one.reference).replace("{rule}", "x").replace("{kind}", "x")
        answer = await person.post(at, {"confirm": "yes"})
        assert answer.status_code in (403, 404, 422), (action.path, answer.status_code)
    assert await rows() == before


async def test_what_a_branch_makes_here_is_its_own(api: FakeApi) -> None:
    await hub_of_two(api)
    key, person = await of_kumasi(api)
    body = {"amount": "9.00", "phone_number": "0241234567"}
    reference = (await key.post(Path.INITIALIZE, json=body)).json()["data"]["reference"]
    at_till = await person.post("/dash/till", {"amount": "7.00"})
    assert at_till.status_code == 303
    assert at_till.headers["location"].split("/")[-1].split("?")[0] in (await key.get(Path.TRANSACTIONS)).text
    for asked in ("", "?branch=kumasi", "?branch=kumasi&sort=oldest&origin=all"):
        listed = (await api.live.get(f"{Path.TRANSACTIONS}{asked}")).json()["data"]
        assert {(one["branch_id"], one["branch"]) for one in listed} == {(KUMASI, "kumasi")}, (
            "head office sees whose it is"
        )
        assert reference in [one["reference"] for one in listed]
    assert (await api.live.get(f"{Path.TRANSACTIONS}?branch=tamale")).json()["data"] == []
    owner = await log_in(api, Role.OWNER)
    assert "<td>kumasi</td>" in (await owner.get("/dash/transactions")).text
    named = await key.post(Path.INITIALIZE, json=body | {"expected_telco_transaction_id": "0012345678"})
    assert named.json()["error"]["details"][0]["field"] == "expected_telco_transaction_id"
    assert (await key.post(Path.CANCEL.format(reference=reference), json={})).status_code == 200
    assert (await person.get("/dash/events")).status_code == 204, "the stream tells of every branch"
    for refused in (
        await key.get(Path.EVENTS),
        await key.post(Path.RECONCILE.format(reference=reference), json={"transaction_id": "0012345678"}),
    ):
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (403, "HEAD_OFFICE_ONLY")
        assert "settled and reviewed at the branch itself; head office" in error["hint"]
    page = await person.get("/dash")
    assert "/dash/transactions" in page.text
    assert "/dash/shop" not in page.text


@pytest.mark.parametrize(
    ("branch", "status", "said"),
    [
        ("accra", 404, "There is no such branch."),
        ("tamale", 404, "The branch tamale has left this hub; its users and keys have ended."),
    ],
)
async def test_a_branch_that_is_none_is_named(api: FakeApi, branch: str, status: int, said: str) -> None:
    await hub_of_two(api)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE branches SET status = 'left' WHERE name = 'tamale'"))
    for path, body in (
        (Path.KEYS, {"name": "x"}),
        (Path.LOCAL_USERS, {"name": "efua", "role": "viewer", "password": "long enough"}),
    ):
        answer = await api.local.post(path, json={**body, "branch": branch})
        assert (answer.status_code, answer.json()["error"]["message"]) == (status, said)
    refused = await api.local.post(Path.KEYS, json={"name": "x", "branch": "kumasi", "scopes": ["webhooks:manage"]})
    assert refused.json()["error"]["details"][0]["message"] == "a key of one branch cannot have webhooks:manage"


async def test_a_shop_that_is_no_hub_has_no_branches(api: FakeApi) -> None:
    for path, body in (
        (Path.KEYS, {"name": "x"}),
        (Path.LOCAL_USERS, {"name": "efua", "role": "viewer", "password": "long enough"}),
    ):
        answer = await api.local.post(path, json={**body, "branch": "kumasi"})
        assert answer.status_code == 409
        assert "not a hub, so it has no branches" in answer.json()["error"]["message"]


async def test_a_rotated_key_is_of_the_same_branch_and_both_end_with_it(api: FakeApi) -> None:
    await hub_of_two(api)
    key, person = await of_kumasi(api)
    [old] = await api.shop.values("SELECT id FROM api_keys WHERE branch_id IS NOT NULL")
    asked = await api.local.post(Path.KEYS, json={"name": "web", "branch": "kumasi", "expires_in_days": 3})
    assert asked.json()["data"]["branch"] == "kumasi"
    made = (await api.local.post(Path.KEY_ROTATE.format(id=old), json={})).json()
    assert made["data"]["branch"] == "kumasi"
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE branches SET epoch = 0"))
    ended = (await api.local.delete(Path.LOCAL_HUB)).json()["data"]
    assert ended == {"changed": True, "withdrawn": 2, "ended": ["manager", "test", "test", "web"]}
    assert (await key.get(Path.TRANSACTIONS)).status_code == 401
    assert "/dash/login" in (await person.get("/dash")).headers["location"]


async def test_the_forms_of_the_dashboard_name_the_branch(api: FakeApi) -> None:
    await hub_of_two(api)
    owner = await log_in(api, Role.OWNER)
    assert '<option value="kumasi">kumasi</option>' in (await owner.get("/dash/keys")).text
    form = {"name": "efua", "role": "viewer", "password": "long enough", "branch": "kumasi"}
    await owner.post("/dash/users", form | {"confirm_password": PASSWORD})
    assert "· kumasi" in (await owner.get("/dash/users")).text
    wrong = await owner.post("/dash/users", form | {"confirm_password": PASSWORD, "name": "esi", "branch": "accra"})
    assert wrong.status_code == 422
    assert "There is no such branch" in wrong.text
