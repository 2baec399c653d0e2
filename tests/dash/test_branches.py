"""The dashboard of a hub and of a branch: the branch of each row, and the decisions of head office."""

import json
from pathlib import Path
from typing import Any

from daemon.core.branches.place import Place
from daemon.runtime.config import Config, Smtp
from daemon.wire import Role, ShopRole
from tests.fakes.api import FakeApi, running
from tests.fakes.dash import log_in
from tests.fakes.orders import Orders
from tests.fakes.owner_notices import sent_bodies

KUMASI = "0192f0c1-0000-7000-8000-000000000001"


async def become_hub(api: FakeApi) -> None:
    """Make the shop a hub with a branch `kumasi` and one without rows."""

    def job(tx: Any) -> None:
        for branch_id, name in ((KUMASI, "kumasi"), (KUMASI[:-1] + "2", "tamale")):
            tx.run(
                "INSERT INTO branches (id, name, decides, status, epoch, turn, acked_seq, created_at) "
                "VALUES (:id, :name, 'all', 'joined', 1, 0, 0, 0)",
                {"id": branch_id, "name": name},
            )

    await api.shop.env.store.write(job)
    api.shop.env.place = Place(ShopRole.HUB)


async def give(api: FakeApi, table: str, where: str) -> None:
    """Make rows copies of rows of `kumasi`."""
    await api.shop.env.store.write(
        lambda tx: tx.run(f"UPDATE {table} SET branch_id = :id WHERE {where}", {"id": KUMASI})
    )


async def test_a_hub_shows_and_filters_lists_by_branch(api: FakeApi) -> None:
    await become_hub(api)
    person, orders = await log_in(api, Role.MANAGER), Orders(api.shop)
    theirs = await orders.make("paid", customer_name="Theirs Tetteh")
    ours = await orders.make("paid", customer_name="Ours Owusu")
    await give(api, "transactions", f"id = '{theirs.id}'")
    await give(
        api,
        "payments",
        f"id = (SELECT (SELECT id FROM payments p WHERE p.seq = payment_seq) AS payment_id FROM transactions WHERE id = '{theirs.id}')",
    )
    ids = {
        each: (
            await api.shop.values(
                f"SELECT (SELECT id FROM payments p WHERE p.seq = payment_seq) AS payment_id FROM transactions WHERE id = '{each}'"
            )
        )[0]
        for each in (theirs.id, ours.id)
    }
    for path, mine, other in (
        ("/dash/transactions", theirs.reference, ours.reference),
        ("/dash/payments", ids[theirs.id], ids[ours.id]),
    ):
        every = (await person.get(path)).text
        assert "<td>kumasi</td>" in every
        assert "<td>Head office</td>" in every
        only = (await person.get(f"{path}?branch=kumasi")).text
        assert (mine in only, other in only) == (True, False)
        assert mine not in (await person.get(f"{path}?branch=tamale")).text
        assert other in (await person.get(f"{path}?branch=nobody")).text
        table = (await person.get(f"{path}?as=csv&branch=kumasi")).text.splitlines()
        assert table[0].endswith(",branch")
        assert [line.endswith(",kumasi") for line in table[1:]] == [True]
    assert "<td>kumasi</td>" in (await person.get("/dash")).text


async def test_the_page_of_an_order_names_its_branch_in_the_words_of_the_lists(api: FakeApi) -> None:
    await become_hub(api)
    person, orders = await log_in(api, Role.MANAGER), Orders(api.shop)
    theirs, own, made = [await orders.make("paid") for _ in range(3)]
    await give(api, "transactions", f"id = '{theirs.id}'")
    sql = f"UPDATE transactions SET made_for = '{KUMASI}' WHERE id = '{made.id}'"
    await api.shop.env.store.write(lambda tx: tx.run(sql))
    for language, words in (("en", ("Branch", "Head office")), ("fr", ("Agence", "Siège"))):
        await person.post("/dash/account/language", {"language": language})
        for order, named in ((theirs, "kumasi"), (made, "kumasi"), (own, words[1])):
            page = (await person.get(f"/dash/transactions/{order.reference}")).text
            assert f"<div><dt>{words[0]}</dt><dd>{named}</dd></div>" in page


async def test_a_hub_filters_reviews_by_branch(api: FakeApi) -> None:
    await become_hub(api)
    person, orders = await log_in(api, Role.MANAGER), Orders(api.shop)
    await orders.make("checking", expected_payer_phone="+233201234567")
    review = (await api.shop.values("SELECT id FROM reviews"))[0]
    await give(api, "reviews", "1 = 1")
    assert "<td>kumasi</td>" in (await person.get("/dash/reviews")).text
    assert review in (await person.get("/dash/reviews?branch=kumasi")).text
    assert review not in (await person.get("/dash/reviews?branch=tamale")).text
    assert (await person.get("/dash/reviews?as=csv")).text.splitlines()[1].endswith(",kumasi")


async def test_a_hub_shows_the_day_sheet_of_a_branch(api: FakeApi) -> None:
    await become_hub(api)
    person, orders = await log_in(api, Role.MANAGER), Orders(api.shop)
    theirs = await orders.make("paid")
    await orders.make("paid")
    paid = f"(SELECT (SELECT id FROM payments p WHERE p.seq = payment_seq) AS payment_id FROM transactions WHERE id = '{theirs.id}')"
    await give(api, "payments", f"id = {paid}")
    amount = "25.00"
    every = (await person.get("/dash/day")).text
    assert f"Money in GHS\N{NO-BREAK SPACE}{2 * float(amount):.2f}" in every
    only = (await person.get("/dash/day?branch=kumasi")).text
    assert f"Money in GHS\N{NO-BREAK SPACE}{amount}" in only
    assert "· kumasi</span>" in only
    assert "Money in GHS" not in (await person.get("/dash/day?branch=tamale")).text
    table = (await person.get("/dash/day?branch=kumasi&group=payer&as=csv")).text.splitlines()
    assert [line.split(",")[-2:] for line in table[1:]] == [["1", amount]]


async def test_the_mailed_day_sheet_is_that_of_the_branch(tmp_path: Path) -> None:
    config = Config(smtp=Smtp(host="mail.shop.example", to="ama@shop.example"))
    async with running(tmp_path, config) as api:
        await become_hub(api)
        manager, orders = await log_in(api, Role.MANAGER), Orders(api.shop)
        await orders.make("paid")
        hidden = '<input type="hidden" name="branch" value="kumasi">'
        assert hidden in (await manager.get("/dash/day?branch=kumasi")).text
        assert hidden not in (await manager.get("/dash/day")).text
        answer = await manager.post("/dash/day/mail", {"branch": "kumasi"})
        assert answer.headers["location"] == "/dash/day?branch=kumasi&said=said_mailed"
        (body,) = await sent_bodies(api.shop)
        assert "· kumasi" in body
        assert "25.00" not in body, "that is head office's own"


async def test_a_shop_that_is_no_hub_sees_nothing_of_branches(api: FakeApi) -> None:
    person, orders = await log_in(api, Role.MANAGER), Orders(api.shop)
    await orders.make("paid")
    order = await orders.make("paid")
    for path in (
        "/dash",
        "/dash/payments",
        "/dash/transactions",
        "/dash/reviews",
        f"/dash/transactions/{order.reference}",
    ):
        text = (await person.get(path)).text
        assert "Branch" not in text, path
        assert "ead office" not in text, path
    assert ",branch" not in (await person.get("/dash/payments?as=csv")).text


async def become_branch(api: FakeApi) -> None:
    api.shop.env.place = Place(ShopRole.BRANCH)

    def job(tx: Any) -> None:
        tx.run(
            "INSERT INTO hub_link (id, branch_id, name, url, spki, key_sealed, decides, epoch, turn, acked_seq, sent_seq, "
            "problem) VALUES (1, 'b', 'kumasi', 'https://hub.example', '', '', 'all', 1, 1, 9, 9, '')"
        )

    await api.shop.env.store.write(job)


async def test_a_branch_marks_what_is_for_head_office(api: FakeApi) -> None:
    await become_branch(api)
    person, orders = await log_in(api, Role.MANAGER), Orders(api.shop)
    order = await orders.make("waiting")
    for path in ("/dash/till", "/dash/day"):
        assert "ead office" not in (await person.get(path)).text
    await orders.pay(order, 2500, reference="2K7M4S")
    payment, standing = (await api.shop.values("SELECT id || ' ' || standing FROM payments"))[0].split()
    assert standing == "handed"
    assert "for head office</span>" in (await person.get("/dash/payments")).text
    assert payment in (await person.get("/dash/payments?state=handed")).text
    assert payment not in (await person.get("/dash/payments?state=unmatched")).text
    assert payment in (await person.get("/dash/till")).text
    day = (await person.get("/dash/day")).text
    assert "1 payment of GHS\N{NO-BREAK SPACE}25.00 is for head office." in day
    one = f"/dash/payments/{payment}"
    assert "head office will know when the connection is back" in (await person.get(one)).text

    for body, said in (
        ({"status": "OVERPAID", "reference": "svc_trx_1", "origin": "request"}, "svc_trx_1"),
        ({"status": "REVIEW", "reference": None, "origin": None}, "a person there decides"),
    ):
        values = {"id": said, "payment": payment, "body": json.dumps(body)}
        await api.shop.env.store.write(
            lambda tx, values=values: tx.run(  # type: ignore[misc]
                "INSERT INTO hub_commands (id, kind, subject, body, outcome, done_at) "
                "VALUES (:id, 'decided', :payment, :body, '{}', 1)",
                values,
            )
        )
        assert said in (await person.get(one)).text


async def test_a_person_who_matches_what_another_shop_decides_reads_why(api: FakeApi) -> None:
    await become_branch(api)
    person, orders = await log_in(api, Role.MANAGER), Orders(api.shop)
    order = await orders.make("waiting")
    await orders.pay(order, 2500, reference="2K7M4S")
    payment = (await api.shop.values("SELECT id FROM payments"))[0]
    path = f"/dash/payments/{payment}/reconcile"
    answer = await person.post(path, {"order": str(order.svc_code)})
    assert answer.status_code == 422
    assert "Ask head office to give it back." in answer.text

    api.shop.env.place = Place(ShopRole.ALONE)
    await become_hub(api)
    await give(api, "payments", "1 = 1")
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET decider = 'branch', standing = 'open'"))
    answer = await person.post(path, {"order": str(order.svc_code)})
    assert answer.status_code == 422
    assert "was asked for it" in answer.text


async def test_an_order_of_a_branch_is_not_settled_at_the_hub_which_says_who_does(api: FakeApi) -> None:
    await become_hub(api)
    person, orders = await log_in(api, Role.MANAGER), Orders(api.shop)
    short, over = await orders.make("short"), await orders.make("over")
    for table in ("transactions", "payments"):
        await give(api, table, "1 = 1")
    for order, kind in ((short, "rest_received"), (short, "waived"), (over, "change_given")):
        page = f"/dash/transactions/{order.reference}"
        told = "This order is of the branch kumasi, which settles it."
        shown = (await person.get(page)).text
        assert (told in shown, "s-settle" in shown) == (True, False)
        answer = await person.post(f"{page}/settle", {"kind": kind})
        assert (answer.status_code, told in answer.text) == (422, True)
        called = f"/v1/transactions/{order.reference}/settle"
        for refused in (await api.live.post(called, json={"kind": kind}), await api.live.delete(called)):
            assert (refused.status_code, refused.json()["error"]["branch"]) == (409, "kumasi")
            assert refused.json()["error"]["code"] == "BELONGS_TO_BRANCH"
    assert await api.shop.values("SELECT COUNT(*) FROM transactions WHERE settled_at IS NOT NULL") == [0]
    assert await api.shop.values("SELECT COUNT(*) FROM events WHERE type LIKE 'transaction.settle%'") == [0]


async def test_the_sheet_of_a_hub_names_as_owed_what_the_hub_can_settle(api: FakeApi) -> None:
    await become_hub(api)
    orders = Orders(api.shop)
    theirs = await orders.make("short", customer_name="Theirs Tetteh")
    await orders.make("short", customer_name="Ours Owusu")
    await give(api, "transactions", f"id = '{theirs.id}'")
    await give(api, "payments", f"id = '{theirs.payment_id}'")
    for asked, count, owed in (("", 2, "5.00"), ("?branch=kumasi", 1, "5.00")):
        report = (await api.local.get(f"/local/v1/report{asked}")).json()["data"]
        short = report["sheets"][0]["all"]["short"]
        assert (short["count"], short["owed"]) == (count, owed), asked
