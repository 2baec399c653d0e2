"""The checkout page over HTTP: content, private data that it hides, and requests by strangers."""

import gzip
import json
import re
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from daemon.core.ids import public_slug
from daemon.core.payments.checkout import RECEIPT_SHOWN_US
from daemon.pages.render import contact as contact_of
from daemon.runtime.config import Config, Http, Pages, Sms
from tests.fakes.api import FakeApi, running
from tests.fakes.each import each
from tests.fakes.orders import EXTRA, HEADLINES, STATES, Orders

BUDGET_BYTES = 14 * 1024
NOBODY = public_slug(b"\x07" * 16)
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}"


def headline(answer: httpx.Response) -> str:
    found = re.search(r"<h1>(.*?)</h1>", answer.text, re.DOTALL)
    assert found is not None
    return re.sub(r"<.*?>", "", found.group(1)).strip()


async def everything(api: FakeApi) -> list[object]:
    """Return all rows that a call must not change; the order of rows does not matter here."""
    tables = ("transactions", "payments", "reviews", "payer_claims", "events", "idempotency_keys")
    return [
        await api.shop.values(f"SELECT * FROM {table}")
        for table in tables
        if await api.shop.values(f"SELECT 1 FROM sqlite_master WHERE name = '{table}'")
    ]


@pytest.mark.parametrize("state", STATES)
async def test_every_state_has_its_page(api: FakeApi, state: str) -> None:
    order = await Orders(api.shop).make(state, **EXTRA.get(state, {}))
    client = await api.client()
    answer = await client.get(f"/pay/{order.public_slug}")
    assert answer.status_code == 200
    assert headline(answer) == HEADLINES[state]
    assert ("after the time was up" in answer.text) == (state == "late")
    assert ("Receipt</h2>" in answer.text) == (state in {"paid", "short", "over", "late", "reversed"})
    assert ("*170#" in answer.text) == (state == "waiting")
    assert ('http-equiv="refresh"' in answer.text) == (state in {"waiting", "checking", "expired", "short"})
    status = (await client.get(f"/pay/{order.public_slug}/status")).json()
    assert status["headline"] == HEADLINES[state]
    assert status["html"] in answer.text


async def test_what_a_customer_needs_is_there(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    text = (await (await api.client()).get(f"/pay/{order.public_slug}")).text
    for wanted in ("GHS&nbsp;25.00", "024 412 4567", "Ama", order.svc_code, "2 bags rice"):
        assert str(wanted) in text
    assert 'href="tel:*170%23"' in text
    assert "08:00 on 22 November" in text
    assert "<svg" in text
    assert "We will never ask for your PIN." in text
    assert '<p>Questions? Ask Ama, <a href="tel:+233244124567">024 412 4567</a></p>' in text


@pytest.mark.parametrize(
    ("contact", "shown"),
    [
        ("0302 123 456 or the counter", '<a href="tel:+233302123456">0302 123 456</a> or the counter'),
        ("+233 24 412 4567", '<a href="tel:+233244124567">+233 24 412 4567</a>'),
        ("the counter", "the counter"),
        ("table 12345678901234", "table 12345678901234"),
    ],
)
def test_a_number_among_the_words_of_the_owner_can_be_called(contact: str, shown: str) -> None:
    found = contact_of(contact, {"questions": "Ask {contact}!"})
    assert found is not None
    link = f'<a href="tel:{found.dial}">{found.number}</a>' if found.dial else ""
    assert f"{found.before}{link}{found.after}" == f"Ask {shown}!"


async def test_while_a_payment_is_looked_at_the_page_asks_for_no_money(api: FakeApi) -> None:
    order = await Orders(api.shop).make("checking", **EXTRA["checking"])
    text = (await (await api.client()).get(f"/pay/{order.public_slug}")).text
    assert "Order amount" in text
    assert "Amount to pay" not in text


async def test_the_form_for_a_transaction_id_leads_back_to_a_page_that_may_have_no_steps(api: FakeApi) -> None:
    order = await Orders(api.shop).make("expired")
    page = (await api.live.get(f"/pay/{order.public_slug}?paid=1")).text
    assert ">Back</a>" in page
    assert "steps" not in page


async def test_the_receipt_of_what_was_taken_back_says_so(api: FakeApi) -> None:
    order = await Orders(api.shop).make("reversed")
    text = (await (await api.client()).get(f"/pay/{order.public_slug}")).text
    assert "<dt>Taken back</dt><dd>21 November 2026, 08:00</dd>" in text


async def test_another_network_has_its_own_steps_and_pays_across(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    text = (await (await api.client()).get(f"/pay/{order.public_slug}?net=telecel")).text
    assert "*110#" in text
    assert "another network: MTN MoMo" in text
    strange = (await (await api.client()).get(f"/pay/{order.public_slug}?net={EVIL}")).text
    assert "*170#" in strange
    assert "alert" not in strange


async def test_steps_come_from_the_settings(tmp_path: Path) -> None:
    config = Config(pages=Pages(menu_mtn="Press 7, then 3"), sms=Sms(steps_mtn="Dial *999*1# on the phone"))
    async with running(tmp_path, config) as api:
        order = await Orders(api.shop).make("waiting")
        text = (await (await api.client()).get(f"/pay/{order.public_slug}")).text
    assert "Dial *999*1# on the phone" in text
    assert 'href="tel:*999*1%23"' in text
    assert "Press 7, then 3" in text


async def test_the_steps_of_the_menu_are_in_the_language_of_the_page(tmp_path: Path) -> None:
    config = Config(pages=Pages(languages=("en", "fr")))
    async with running(tmp_path, config) as api:
        order = await Orders(api.shop).make("waiting")
        text = (await (await api.client()).get(f"/pay/{order.public_slug}?lang=fr")).text
    assert "Choisissez Transfer Money, puis MoMo User" in text


async def test_nothing_but_the_ends_of_numbers_and_names_is_shown(api: FakeApi) -> None:
    order = await Orders(api.shop).make("paid")
    text = (await (await api.client()).get(f"/pay/{order.public_slug}")).text
    assert "Kofi B., 024 *** 4567" in text
    for hidden in ("0241234567", "+233241234567", "Boateng", "BOATENG", "93214501000", "OWUSU"):
        assert hidden not in text


async def test_a_doubtful_text_is_never_called_a_payment(api: FakeApi) -> None:
    """A text from a foreign number with the right code: the page must not help the sender."""
    order = await Orders(api.shop).make("waiting")
    await api.shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO messages (id, mode, imported, sim_key, device_id, slot_index, parts_total, parts_seen, "
            "state, fields, reasons, received_at, created_at) "
            "VALUES ('m', 'live', 0, 's', 'd', 0, 1, 1, 'held', '{}', '[]', 1, 1)"
        )
    )
    await api.shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO reviews (id, mode, reason, state, message_id, transaction_id, details, created_at) "
            "VALUES ('r', 'live', 'unknown_sender', 'open', 'm', :id, '{}', 1)",
            {"id": order.id},
        )
    )
    answer = await (await api.client()).get(f"/pay/{order.public_slug}")
    assert headline(answer) == HEADLINES["waiting"]


# Strangers ------------------------------------------------------------------------------------------


async def test_unknown_malformed_and_old_pages_get_one_answer(api: FakeApi) -> None:
    order = await Orders(api.shop).make("paid")
    client = await api.client()
    assert (await client.get(f"/pay/{order.public_slug}")).status_code == 200
    api.shop.clock.advance(RECEIPT_SHOWN_US / 1e6 + 1)
    answers = [
        await client.get(f"/pay/{path}")
        for path in (
            NOBODY, order.public_slug, "x", "", "a/b/c", f"{NOBODY}/status", f"{NOBODY}/events",
            f"{order.public_slug}/status", f"{order.public_slug}/other", "..%2f..", "%00", order.id,
        )
    ]  # fmt: skip
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1
    vary = {"x-request-id", "date"}
    heads = {tuple(sorted((k, v) for k, v in answer.headers.items() if k not in vary)) for answer in answers}
    assert len(heads) == 1


async def test_every_answer_is_private_and_lets_nothing_run_but_its_own(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    client = await api.client()
    for path in (order.public_slug, NOBODY, f"{order.public_slug}/status"):
        answer = await client.get(f"/pay/{path}")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "noindex" in answer.headers["x-robots-tag"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers
    policy = (await client.get(f"/pay/{order.public_slug}")).headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["script-src"])
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["style-src"])
    assert "unsafe" not in policy


@pytest.mark.parametrize("state", ["waiting", "paid", "expired"])
async def test_what_others_wrote_is_only_text(tmp_path: Path, state: str) -> None:
    config = Config(pages=Pages(contact="<i>me</i>"))
    async with running(tmp_path, config) as api:
        name = EVIL.replace('"', "''")
        await api.shop.env.store.write(lambda tx: tx.run("UPDATE shop SET name = :name", {"name": EVIL}))
        await api.shop.env.store.write(
            lambda tx: tx.run("UPDATE payment_methods SET account_name = :name", {"name": EVIL})
        )
        order = await Orders(api.shop).make(state, description=EVIL, customer_name=name)
        answer = await (await api.client()).get(f"/pay/{order.public_slug}?lang={EVIL}&net={EVIL}&sent={EVIL}")
    text = answer.text
    assert answer.status_code == 200
    assert text.count("<script>") == 1
    assert "<img" not in text
    assert "<i>me" not in text
    assert "{{7*7}}" in text
    assert "49" not in re.sub(r"<svg.*?</svg>|<style>.*?</style>|<script>.*?</script>|svc_trx_\w+", "", text, flags=re.DOTALL)  # fmt: skip


@each(
    "url",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "//evil.example/",
        "https://good.example@evil.example/",
        "https://evil.example\\@good.example/",
        'https://evil.example/"onclick="alert(1)',
        "https://evil.example/ x",
        "https:evil.example",
    ],
)
async def test_no_other_address_than_a_plain_web_one_is_returned_to(api: FakeApi, url: str) -> None:
    order = await Orders(api.shop).make("paid", redirect_url=url)
    text = (await (await api.client()).get(f"/pay/{order.public_slug}")).text
    found = re.findall(r'rel="noreferrer" href="([^"]*)"', text)
    assert all(link.startswith("https://evil.example/&#34;onclick=&#34;") for link in found)
    assert 'onclick="' not in text
    assert "javascript:" not in text.lower()


async def test_customer_goes_back_with_the_reference(api: FakeApi) -> None:
    order = await Orders(api.shop).make("paid", redirect_url="https://shop.example/thanks?a=1#x")
    text = (await (await api.client()).get(f"/pay/{order.public_slug}")).text
    assert f'href="https://shop.example/thanks?a=1&amp;reference={order.reference}#x"' in text
    assert "Return to shop.example" in text
    assert "data-return" not in text.partition("<script>")[0]


async def test_only_a_host_that_the_shop_named_is_returned_to_by_itself(tmp_path: Path) -> None:
    config = Config(pages=Pages(redirect_hosts=("Shop.example",)))
    async with running(tmp_path, config) as api:
        client = await api.client()
        for url, goes in (("https://shop.example:8443/x", True), ("https://not.example/", False)):
            order = await Orders(api.shop).make("paid", redirect_url=url)
            text = (await client.get(f"/pay/{order.public_slug}")).text.partition("<script>")[0]
            assert ("data-return" in text) == goes
            api.shop.clock.advance(60)


async def test_looking_at_a_page_changes_nothing(api: FakeApi) -> None:
    orders = Orders(api.shop)
    made = [await orders.make(state, **EXTRA.get(state, {})) for state in STATES]
    client = await api.client()
    before = await everything(api)
    for order in made:
        for path in ("", "?paid=1", "?sent=1", "?transaction_id=93214501000", "/status"):
            for method in ("GET", "HEAD"):
                await client.request(method, f"/pay/{order.public_slug}{path}")
    assert await everything(api) == before


async def test_other_methods_are_refused_before_anything_is_looked_up(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    client = await api.client()
    for slug in (order.public_slug, NOBODY):
        for method, path in (("PUT", ""), ("DELETE", ""), ("POST", "/status"), ("POST", "/events")):
            answer = await client.request(method, f"/pay/{slug}{path}")
            assert answer.status_code == 405
            assert answer.headers["allow"]


async def test_a_name_that_is_not_ours_is_refused_as_on_the_api(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    client = await api.client()
    answer = await client.get(f"/pay/{order.public_slug}", headers={"Host": "evil.example"})
    assert answer.status_code == 421
    assert "Ama Provisions" not in answer.text


async def test_who_looks_too_often_waits(tmp_path: Path) -> None:
    config = Config(pages=Pages(per_min=3, client_header="X-Forwarded-For"))
    async with running(tmp_path, config) as api:
        order = await Orders(api.shop).make("waiting")
        client = await api.client()

        async def look(address: str) -> int:
            answer = await client.get(f"/pay/{order.public_slug}", headers={"X-Forwarded-For": f"10.0.0.1, {address}"})
            if answer.status_code == 429:
                assert int(answer.headers["retry-after"]) > 0
            return answer.status_code

        assert [await look("41.0.0.1") for _ in range(4)] == [200, 200, 200, 429]
        assert await look("41.0.0.2") == 200
        assert await look("::ffff:41.0.0.1") == 429
        assert await look("::ffff:41.0.0.3") == 200
        assert [await look(f"2001:db8::{n}") for n in range(4)] == [200, 200, 200, 429]
        api.shop.clock.advance(60)
        assert await look("41.0.0.1") == 200


# Sizes and forms --------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES)
async def test_the_whole_page_fits_the_budget(tmp_path: Path, state: str) -> None:
    long = "https://checkout.a-rather-long-shop-name.example"
    config = Config(http=Http(public_base_url=long), pages=Pages(languages=("en", "fr")))
    async with running(tmp_path, config) as api:
        order = await Orders(api.shop).make(
            state, description="rice " * 99, redirect_url=f"{long}/x", **EXTRA.get(state, {})
        )
        client = await api.client()
        raw = b""
        async with client.stream("GET", f"/pay/{order.public_slug}") as answer:
            assert answer.headers["content-encoding"] == "gzip"
            raw = b"".join([part async for part in answer.aiter_raw()])
        text = gzip.decompress(raw).decode()
    assert len(raw) <= BUDGET_BYTES / 2
    # The page loads no other files, so this is its whole size.
    assert re.findall(r'(?:src|srcset|poster)="', text) == []
    assert re.findall(r"<link [^>]*>", text) == ['<link rel="icon" href="data:,">']
    assert "@import" not in text
    assert "url(" not in text


async def test_a_browser_that_takes_no_gzip_gets_none(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    client = await api.client()
    for accepts in ("identity", "gzip;q=0, br"):
        answer = await client.get(f"/pay/{order.public_slug}", headers={"Accept-Encoding": accepts})
        assert "content-encoding" not in answer.headers
        assert "GHS" in answer.text


async def test_an_unchanged_page_is_not_sent_again_to_a_script(api: FakeApi) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    client = await api.client()
    first = await client.get(f"/pay/{order.public_slug}/status")
    assert first.json()["seconds"] == 24 * 3600
    api.shop.clock.advance(30)
    tag = {"If-None-Match": first.headers["etag"]}
    assert (await client.get(f"/pay/{order.public_slug}/status", headers=tag)).status_code == 304
    await orders.pay(order)
    changed = await client.get(f"/pay/{order.public_slug}/status", headers=tag)
    assert changed.status_code == 200
    assert (changed.json()["ended"], changed.json()["seconds"]) == (True, 0)


async def test_a_stream_tells_the_change_and_ends(api: FakeApi) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    client = await api.client()
    told = []
    async with client.stream("GET", f"/pay/{order.public_slug}/events", timeout=20) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                told.append(json.loads(line[6:])["headline"])
                if len(told) == 1:
                    await orders.pay(order)
    assert told == [HEADLINES["waiting"], HEADLINES["paid"]]


async def test_the_open_page_of_a_short_order_tells_that_the_rest_came_and_that_the_order_is_settled(
    api: FakeApi,
) -> None:
    orders = Orders(api.shop)
    order = await orders.make("short")
    client, told = await api.client(), []
    async with client.stream("GET", f"/pay/{order.public_slug}/events", timeout=20) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                told.append(json.loads(line[6:])["headline"])
                if len(told) == 1:
                    rest = await orders.pay(order, 500)
                elif len(told) == 2:
                    body = {"kind": "rest_received", "payment": rest}
                    await api.live.post(f"/v1/transactions/{order.reference}/settle", json=body)
    assert told == [HEADLINES["short"], "A second payment has been seen. The shop is checking it", HEADLINES["paid"]]


async def test_streams_of_one_page_are_few(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    client = await api.client()
    async with AsyncExitStack() as stack:
        codes = [
            (await stack.enter_async_context(client.stream("GET", f"/pay/{order.public_slug}/events"))).status_code
            for _ in range(5)
        ]
    assert codes == [200, 200, 200, 200, 503]


async def test_languages_are_those_that_the_shop_named(tmp_path: Path, api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    client = await api.client()
    french = {"Accept-Language": "fr-TG, en;q=0.5"}
    only = await client.get(f"/pay/{order.public_slug}?lang=fr", headers=french)
    assert '<html lang="en">' in only.text
    (tmp_path / "2").mkdir()
    async with running(tmp_path / "2", Config(pages=Pages(languages=("en", "fr")))) as both:
        order = await Orders(both.shop).make("waiting")
        client = await both.client()
        path = f"/pay/{order.public_slug}"
        assert '<html lang="fr">' in (await client.get(path, headers=french)).text
        assert '<html lang="fr">' in (await client.get(f"{path}?lang=fr")).text
        assert '<html lang="en">' in (await client.get(f"{path}?lang=en", headers=french)).text
        assert '<html lang="en">' in (await client.get(path)).text
        text = (await client.get(path, headers=french)).text
        assert "En attente de votre paiement" in text
        assert "Composez le *170#" in text


async def test_page_says_when_payments_are_not_seen(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    client = await api.client()
    assert "cannot see payments" not in (await client.get(f"/pay/{order.public_slug}")).text
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE devices SET present = 0"))
    api.shop.clock.advance(119)
    assert "cannot see payments" not in (await client.get(f"/pay/{order.public_slug}")).text
    api.shop.clock.advance(2)
    assert "cannot see payments" in (await client.get(f"/pay/{order.public_slug}")).text


@pytest.mark.parametrize(("language", "longer"), [("en", "may take longer"), ("fr", "peut prendre plus de temps")])
async def test_page_of_a_line_that_cannot_receive_says_that_it_takes_longer_and_still_how_to_pay(
    tmp_path: Path, language: str, longer: str
) -> None:
    async with running(tmp_path, Config(pages=Pages(languages=("en", "fr")))) as api:
        order = await Orders(api.shop).make("waiting")
        client = await api.client()
        path = f"/pay/{order.public_slug}?lang={language}"
        assert longer not in (await client.get(path)).text
        sql = "UPDATE sims SET not_receiving_since = 1"
        await api.shop.env.store.write(lambda tx: tx.run(sql))
        text = (await client.get(path)).text
        assert longer in text
        assert "data-dial" in text.partition("<script>")[0], "the steps stay"


async def test_a_shop_without_a_number_says_so(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET deleted_at = 1"))
    text = (await (await api.client()).get(f"/pay/{order.public_slug}")).text
    assert "cannot take payments right now" in text
    assert "data-dial" not in text.partition("<script>")[0]


def test_a_daemon_that_nobody_visits_does_without_the_templates() -> None:
    probe = "import sys, daemon.app; print([m for m in ('jinja2', 'segno') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_the_rest_of_a_short_order_is_seen_and_the_order_is_paid_once_it_is_settled(api: FakeApi) -> None:
    orders = Orders(api.shop)
    order = await orders.make("short")
    page = f"/pay/{order.public_slug}"
    client = await api.client()
    short = (await client.get(page)).text
    for words in ("Send the rest to the same number", "024 412 4567", "It must show the name Ama"):
        assert words in short
    rest = await orders.pay(order)
    seen = "A second payment has been seen. The shop is checking it"
    assert headline(await client.get(page)) == seen
    body = {"kind": "rest_received", "payment": rest}
    settled = await api.live.post(f"/v1/transactions/{order.reference}/settle", json=body)
    assert settled.status_code == 200, settled.text
    paid = await client.get(page)
    assert headline(paid) == "Paid. Thank you!"
    assert "<dt>Rest received</dt><dd>GHS\xa025.00</dd>" in paid.text
    assert "It must show the name" not in paid.text
