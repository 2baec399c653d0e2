"""Webhooks in the browser: endpoints and their secrets, rules, deliveries sent again, dead letters, replay."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from msgspec import structs
from playwright.async_api import Browser

from daemon.core.webhooks import diagnosis
from daemon.core.webhooks.delivery import DeliveryError
from daemon.dash.web.words import load
from daemon.runtime.config import Config, Webhooks
from daemon.runtime.words import LANGUAGES
from daemon.wire import Role
from parsers.times import from_us
from tests.dash import places
from tests.dash.places import ENDPOINT, EVIL, RULE
from tests.dash.test_browser import clean
from tests.fakes import outbox
from tests.fakes.api import FakeApi, running
from tests.fakes.browser import needs_browser, visiting
from tests.fakes.dash import PASSWORD, Person, as_user, log_in
from tests.fakes.receiver import Answer, Receiver

HOOK = f"/dash/webhooks/{ENDPOINT}"
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")
NEW = {"url": "https://shop.example/momo", "event.transaction.forwarded": "1", "catch_all": "1"}
OWN = {"confirm_password": PASSWORD}
DAY = {"from": "2026-11-01T00:00", "to": "2026-11-22T00:00"}
MANY = 101
_FRESH = "UPDATE endpoints SET consecutive_failures = 0, link_failures = 0"


def said(answer: httpx.Response) -> str:
    """Return the key of the sentence that an action leads to."""
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].partition("said=")[2]


async def count(api: FakeApi, what: str) -> int:
    (found,) = await api.shop.values(f"SELECT COUNT(*) FROM {what}")
    return int(found)


async def given_up(api: FakeApi, number: int, status: int = 404) -> list[str]:
    """Make an endpoint with this many dead letters of one fault; return their ids."""
    await outbox.add_endpoint(api.shop, ENDPOINT, catch_all=1)
    for one in range(number):
        await outbox.owe(api.shop, str(93_214_500_001 + one))
        for leased in await outbox.lease(api.shop):
            await outbox.fail(api.shop, leased, status)
        # After three failures in a row only probes would be sent.
        await api.shop.env.store.write(lambda tx: tx.run(_FRESH))
    return [str(one) for one in await api.shop.values("SELECT id FROM dead_letters ORDER BY seq")]


# Endpoints and secrets


async def test_the_secret_of_a_new_endpoint_is_shown_once_and_never_in_an_address(api: FakeApi) -> None:
    owner = await log_in(api, Role.OWNER)
    token = owner.form_token("/dash/webhooks/new")
    answer = await owner.post("/dash/webhooks/new", NEW, form_token_=token)
    assert answer.status_code == 200
    (secret,) = set(SECRET.findall(answer.text))
    assert answer.headers["cache-control"] == "no-store"
    (endpoint,) = await api.shop.values("SELECT id FROM endpoints")
    assert f'content="30;url=/dash/webhooks/{endpoint}"' in answer.text
    again = await owner.post("/dash/webhooks/new", NEW, form_token_=token)
    assert (again.status_code, SECRET.findall(again.text)) == (409, [])
    assert await count(api, "endpoints") == 1
    for path in ("", "/edit", "/secret", "/deliveries"):
        assert secret not in (await owner.get(f"/dash/webhooks/{endpoint}{path}")).text
    assert secret not in str(await api.shop.values("SELECT data FROM events"))


async def test_a_manager_makes_an_endpoint_and_sees_no_secret(api: FakeApi) -> None:
    manager = await log_in(api, Role.MANAGER)
    assert said(await manager.post("/dash/webhooks/new", NEW)) == "said_endpoint_created"
    (endpoint,) = await api.shop.values("SELECT id FROM endpoints")
    shown = await manager.get(f"/dash/webhooks/{endpoint}")
    assert (shown.status_code, f"{endpoint}/secret" in shown.text) == (200, False)
    assert (await manager.get(f"/dash/webhooks/{endpoint}/secret")).status_code == 403


async def test_a_secret_is_revealed_and_rotated_only_after_the_own_password(api: FakeApi) -> None:
    await outbox.add_endpoint(api.shop, ENDPOINT)
    owner = await log_in(api, Role.OWNER)
    for wrong in ({}, {"confirm_password": "wrong"}):
        for what in ("reveal", "rotate"):
            answer = await owner.post(f"{HOOK}/secret/{what}", wrong)
            assert (answer.status_code, SECRET.findall(answer.text)) == (422, [])
    token = owner.form_token(f"{HOOK}/secret/reveal")
    shown = await owner.post(f"{HOOK}/secret/reveal", OWN, form_token_=token)
    assert set(SECRET.findall(shown.text)) == {outbox.SECRET}
    again = await owner.post(f"{HOOK}/secret/reveal", OWN, form_token_=token)
    assert (again.status_code, SECRET.findall(again.text)) == (409, [])
    rotated = await owner.post(f"{HOOK}/secret/rotate", OWN)
    (new,) = set(SECRET.findall(rotated.text))
    assert new != outbox.SECRET
    assert "also signs until" in rotated.text
    noted = await api.shop.values("SELECT type, actor FROM events WHERE type LIKE 'secret.%'")
    assert noted == [("secret.revealed", "user:owner"), ("secret.rotated", "user:owner")]


@needs_browser
async def test_a_shown_secret_is_gone_after_thirty_seconds_and_not_in_the_history(
    api: FakeApi, browser: Browser
) -> None:
    await outbox.add_endpoint(api.shop, ENDPOINT)
    owner = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, owner)
        await visit.page.clock.install(time=0)
        await visit.page.goto(f"{HOOK}/secret")
        await visit.page.locator("#f-confirm_password").fill(PASSWORD)
        await visit.page.get_by_role("button", name="Show the secret").click()
        await visit.page.get_by_text(outbox.SECRET).wait_for()
        assert await visit.violations() == []
        assert outbox.SECRET not in visit.page.url
        await visit.page.clock.fast_forward(31_000)
        await visit.page.wait_for_url(f"**{HOOK}")
        assert outbox.SECRET not in await visit.page.content()
        await visit.page.go_back()
        assert outbox.SECRET not in await visit.page.content()
        assert clean(visit)


async def test_an_address_that_is_not_allowed_is_refused_at_its_field(api: FakeApi) -> None:
    owner = await log_in(api, Role.OWNER)
    for url, why in (
        ("http://shop.example/x", "starts with https://"),
        ("https://inside.example/x", "not on the public internet"),
        ("exec:/bin/sh", "only be added by the owner, on the machine"),
        ("https://shop.example/\u202e", "control or non-ASCII"),
        ("", "This is needed"),
    ):
        answer = await owner.post("/dash/webhooks/new", {**NEW, "url": url})
        assert answer.status_code == 422
        assert why in answer.text, url
    assert await count(api, "endpoints") == 0


async def test_an_endpoint_is_changed_paused_resumed_and_deleted(api: FakeApi) -> None:
    await outbox.add_endpoint(api.shop, ENDPOINT)
    manager = await log_in(api, Role.MANAGER)
    form = {"url": "https://shop.example/hook", "description": "till"}
    form |= {"event.transaction.forwarded": "1", "event.transaction.reversed": "1"}
    assert said(await manager.post(f"{HOOK}/edit", form)) == "said_endpoint_changed"
    changed = await api.shop.values("SELECT description, events, catch_all FROM endpoints")
    assert changed == [("till", '["transaction.forwarded", "transaction.reversed"]', 0)]
    assert said(await manager.post(f"{HOOK}/pause")) == "said_endpoint_paused"
    assert await api.shop.values("SELECT is_active FROM endpoints") == [0]
    assert said(await manager.post(f"{HOOK}/resume")) == "said_endpoint_resumed"
    await manager.post(f"{HOOK}/edit", {**form, "catch_all": "1"})
    await outbox.owe(api.shop)
    assert "1 delivery waits" in (await manager.get(f"{HOOK}/delete")).text
    assert said(await manager.post(f"{HOOK}/delete")) == "said_endpoint_deleted"
    assert (await manager.get(HOOK)).status_code == 404


async def test_headers_of_an_endpoint_are_typed_line_by_line_and_never_shown_again(api: FakeApi) -> None:
    manager = await log_in(api, Role.MANAGER)
    form = {**NEW, "headers": "Authorization: Bearer 7f3a\r\n\r\nX-Shop:  a:b "}
    assert (await manager.post("/dash/webhooks/new", form)).status_code < 400
    (endpoint,) = await api.shop.values("SELECT id FROM endpoints")
    hook = f"/dash/webhooks/{endpoint}"
    for path, shown in ((hook, "Authorization, X-Shop"), (f"{hook}/edit", "X-Shop: ***")):
        page = (await manager.get(path)).text
        assert shown in page
        assert "7f3a" not in page
    before = await api.shop.values("SELECT headers FROM endpoints")
    kept = {**NEW, "description": "till", "headers": "Authorization: ***\r\nX-Shop: ***\r\n"}
    assert said(await manager.post(f"{hook}/edit", kept)) == "said_endpoint_changed"
    assert await api.shop.values("SELECT headers FROM endpoints") == before
    for wrong in ("Host: a", "X-New: ***", "X-New"):
        refused = await manager.post(f"{hook}/edit", {**kept, "headers": wrong})
        assert refused.status_code == 422
        assert f"{wrong.partition(':')[0]}: this is no header that can be added" in refused.text
    assert said(await manager.post(f"{hook}/edit", {**kept, "headers": ""})) == "said_endpoint_changed"
    assert await api.shop.values("SELECT headers FROM endpoints") == ["{}"]


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    with Receiver(tmp_path_factory.mktemp("receiver")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def beside(tmp_path: Path, receiver: Receiver) -> AsyncIterator[FakeApi]:
    """A shop that may send to a receiver on this machine."""
    settings = Webhooks(allow_private_hosts=("localhost",), ca_file=str(receiver.ca_file), timeout_s=5.0)
    config = structs.replace(Config(), webhooks=settings)
    async with running(tmp_path / "beside", config) as made:
        made.resolver.names["localhost"] = ["127.0.0.1"]
        yield made


async def test_a_test_shows_status_and_body_of_the_answer(beside: FakeApi, receiver: Receiver) -> None:
    await outbox.add_endpoint(beside.shop, ENDPOINT, url=receiver.url())
    manager = await log_in(beside, Role.MANAGER)
    receiver.script(Answer(418, body=b"<b>I am a teapot</b>"))
    answer = await manager.post(f"{HOOK}/test")
    assert answer.status_code == 200
    assert "<dd>418</dd>" in answer.text
    assert "&lt;b&gt;I am a teapot&lt;/b&gt;" in answer.text
    assert await count(beside, "deliveries") == 0


# Rules and explanations


async def test_a_rule_is_tried_on_a_payment_before_it_is_saved(api: FakeApi) -> None:
    await outbox.add_endpoint(api.shop, ENDPOINT)
    await outbox.owe(api.shop)
    (payment,) = await api.shop.values("SELECT id FROM payments")
    manager = await log_in(api, Role.MANAGER)
    path = f"{HOOK}/rules/new"
    form = {"name": "big", "filter": '{"amount": {"$gte": "50.00"}}', "enabled": "1"}
    tried = await manager.post(path, {**form, "do": "try", "payment": payment})
    assert "the filter does not match" in tried.text
    assert "here: 25.00" in tried.text
    assert await count(api, "rules") == 0
    for wrong, why in (("{", "not JSON"), ('{"colour": "red"}', "filter.colour")):
        answer = await manager.post(path, {**form, "filter": wrong})
        assert (answer.status_code, why in answer.text) == (422, True)
    token = manager.form_token(path)
    for _ in range(2):
        answer = await manager.post(path, form, form_token_=token)
        assert said(answer) == "said_rule_added"
    (rule,) = await api.shop.values("SELECT id FROM rules")
    one = f"{HOOK}/rules/{rule}"
    assert said(await manager.post(one, {**form, "enabled": ""})) == "said_rule_changed"
    now = "SELECT enabled FROM rules WHERE replaced_at IS NULL"
    assert await api.shop.values(now) == [0]
    assert said(await manager.post(f"{one}/remove")) == "said_rule_removed"
    assert await api.shop.values(now) == []


async def test_it_is_explained_which_endpoint_got_a_payment_and_why(api: FakeApi) -> None:
    await outbox.add_endpoint(api.shop, ENDPOINT, description="till")
    await outbox.owe(api.shop)
    ((order, payment),) = await api.shop.values(
        "SELECT id, (SELECT id FROM payments p WHERE p.seq = payment_seq) AS payment_id FROM transactions"
    )
    viewer = await log_in(api, Role.VIEWER)
    ((code, telco_id),) = await api.shop.values(
        "SELECT t.svc_code, p.telco_transaction_id AS telco_id FROM transactions t JOIN payments p ON p.seq = t.payment_seq"
    )
    named = [code, telco_id] if code else [telco_id]
    for given in (order, payment, "svc_trx_" + order.replace("-", ""), *named):
        page = (await viewer.get(f"/dash/routes?of={given}")).text
        assert page.count("no rule of any endpoint matches") == 2
        assert page.count("gets it") == 2
    assert "There is no such order" in (await viewer.get("/dash/routes?of=%3Cb%3E")).text


# Deliveries


async def test_a_double_click_on_send_again_sends_once(api: FakeApi) -> None:
    await given_up(api, 1)
    (delivery,) = await api.shop.values("SELECT id FROM deliveries")
    manager = await log_in(api, Role.MANAGER)
    path = f"/dash/deliveries/{delivery}/redeliver"
    token = manager.form_token(path)
    answers = await asyncio.gather(*(manager.post(path, form_token_=token) for _ in range(3)))
    assert {said(answer) for answer in answers} == {"said_sent_again"}
    assert await api.shop.values("SELECT run, status FROM deliveries") == [(2, "pending")]
    # Another form of the same page is a new request; it is refused because the first is not done.
    late = await manager.post(path)
    assert (late.status_code, "It is still being sent" in late.text) == (409, True)
    assert await count(api, "events WHERE type = 'delivery.requeued'") == 1


@needs_browser
async def test_a_delivery_is_sent_again_without_script(api: FakeApi, browser: Browser) -> None:
    await given_up(api, 1)
    manager = await log_in(api, Role.MANAGER)
    async with visiting(browser, api.base_url, java_script_enabled=False) as visit:
        await as_user(visit, manager)
        await visit.page.goto("/dash/deliveries")
        await visit.page.locator("main table a").click()
        await visit.page.get_by_role("button", name="Send again").click()
        await visit.page.get_by_text("It is sent again.").wait_for()
        assert await visit.page.get_by_role("button", name="Send again").count() == 0
        assert clean(visit)
    assert await api.shop.values("SELECT run FROM deliveries") == [2]


async def test_the_log_is_filtered_paged_and_exported(api: FakeApi) -> None:
    await given_up(api, 51)
    viewer = await log_in(api, Role.VIEWER)
    first = (await viewer.get("/dash/deliveries?delivery=failed")).text
    assert first.count('scope="row"') == 50
    older = re.findall(r'href="([^"]+)" rel="next"', first)[0].replace("&amp;", "&")
    assert (await viewer.get(older)).text.count('scope="row"') == 1
    assert "No deliveries here" in (await viewer.get("/dash/deliveries?delivery=delivered")).text
    for text in ("nothing", "%00", "9" * 90):
        assert "No deliveries here" in (await viewer.get(f"/dash/deliveries?search={text}")).text
    file = await viewer.get(f"{HOOK}/deliveries?as=csv")
    assert len(file.text.splitlines()) == 52
    assert "transaction.forwarded,failed,1,404,http_error" in file.text


async def test_a_delivery_as_curl_is_signed_anew_quoted_and_journalled(api: FakeApi) -> None:
    await given_up(api, 1)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE endpoints SET url = 'https://shop.example/$(reboot)'"))
    (delivery,) = await api.shop.values("SELECT id FROM deliveries")
    manager = await log_in(api, Role.MANAGER)
    page = (await manager.post(f"/dash/deliveries/{delivery}/curl")).text
    assert "--url &#39;https://shop.example/$(reboot)&#39;" in page
    assert "webhook-signature: v1," in page
    noted = await api.shop.values("SELECT actor FROM events WHERE type = 'delivery.signed'")
    assert noted == ["user:manager"]


# Dead letters


async def group_of(person: Person) -> str:
    """Return the address of the only fault."""
    page = (await person.get("/dash/dead-letters")).text
    (found,) = set(re.findall(r'href="(/dash/dead-letters/of/[^"]+)"', page))
    return str(found)


async def test_dead_letters_are_grouped_by_fault_with_the_diagnosis(api: FakeApi) -> None:
    await given_up(api, 2)
    await outbox.owe(api.shop, "93214509999")
    for leased in await outbox.lease(api.shop):
        await outbox.fail(api.shop, leased, 401)
    viewer = await log_in(api, Role.VIEWER)
    page = (await viewer.get("/dash/dead-letters")).text
    assert len(set(re.findall(r'href="(/dash/dead-letters/of/[^"]+)"', page))) == 2
    assert "2 given up" in page
    assert "nothing accepts webhooks at this address" in page
    assert "Compare its signing secret" in page
    assert "shop.example answered 404: nothing accepts webhooks" in page
    await viewer.post("/dash/account/language", {"language": "fr"})
    assert "rien n&#39;accepte de webhooks" in (await viewer.get("/dash/dead-letters")).text


async def test_marked_dead_letters_are_sent_again_once_and_at_most_a_hundred(api: FakeApi) -> None:
    letters = await given_up(api, 3)
    manager = await log_in(api, Role.MANAGER)
    path = f"{await group_of(manager)}/marked"
    for ids in ([], [f"{number}" for number in range(MANY)]):
        answer = await manager.post(path, {f"letter.{one}": "1" for one in ids})
        assert answer.status_code == 422
    form = {f"letter.{one}": "1" for one in letters[:2]}
    token = manager.form_token(path)
    for _ in range(2):
        assert said(await manager.post(path, form, form_token_=token)) == "said_letters_sent"
    assert said(await manager.post(path, form)) == "said_no_letters_sent"
    runs = await api.shop.values("SELECT run FROM deliveries ORDER BY seq")
    assert runs == [2, 2, 1]


async def test_a_whole_fault_is_sent_again_in_hundreds_and_only_once(api: FakeApi) -> None:
    await given_up(api, MANY)
    manager = await log_in(api, Role.MANAGER)
    group = await group_of(manager)
    assert f"Send all {MANY} again" in (await manager.get(group)).text
    token = manager.form_token(f"{group}/all")
    answers = await asyncio.gather(*(manager.post(f"{group}/all", form_token_=token) for _ in range(2)))
    assert {said(answer) for answer in answers} == {"said_letters_sent"}
    assert await api.shop.values("SELECT DISTINCT run FROM deliveries") == [2]
    assert await count(api, "deliveries WHERE bulk = 1") == MANY
    assert "None of these are left" in (await manager.get(group)).text


async def test_a_dead_letter_is_dismissed_only_with_a_note(api: FakeApi) -> None:
    (letter,) = await given_up(api, 1)
    manager = await log_in(api, Role.MANAGER)
    path = f"/dash/dead-letters/{letter}"
    assert (await manager.post(f"{path}/dismiss", {"notes": " "})).status_code == 422
    answer = await manager.post(f"{path}/dismiss", {"notes": EVIL})
    assert said(answer) == "said_letter_dismissed"
    shown = (await manager.get(path)).text
    assert "user:manager" in shown
    assert "<img" not in shown
    assert "No webhook was given up" in (await manager.get("/dash/dead-letters")).text


# Replay


async def test_a_replay_is_counted_first_and_started_once(api: FakeApi) -> None:
    for number in range(3):
        await outbox.owe(api.shop, str(93_214_500_001 + number))
    await outbox.add_endpoint(api.shop, ENDPOINT)
    manager = await log_in(api, Role.MANAGER)
    form = {"endpoint": ENDPOINT, **DAY}
    address = "/dash/replay?" + "&".join(f"{name}={text}" for name, text in form.items())
    counted = (await manager.get(address)).text
    assert "Send 3 payments" in counted
    assert counted.count("never sent") == 3
    assert await count(api, "deliveries") == 0
    token = manager.form_token("/dash/replay")
    answers = await asyncio.gather(*(manager.post("/dash/replay", form, form_token_=token) for _ in range(2)))
    assert {said(answer) for answer in answers} == {"said_replay_started"}
    assert await count(api, "deliveries") == 3
    assert await count(api, "events WHERE type = 'endpoint.replayed'") == 1
    # Another start finds no payment to send, and the page shows the progress.
    assert said(await manager.post("/dash/replay", form)) == "said_replay_nothing"
    (leased,) = (await outbox.lease(api.shop, 1))[:1]
    await outbox.deliver(api.shop, leased)
    shown = (await manager.get(answers[0].headers["location"])).text
    assert 'max="3" value="1"' in shown
    assert "Send" not in re.findall(r"<main.*</main>", shown, re.DOTALL)[0].partition("</form>")[2]


async def test_a_day_as_the_end_of_a_replay_is_included(api: FakeApi) -> None:
    await outbox.owe(api.shop, "93214500001")
    await outbox.add_endpoint(api.shop, ENDPOINT)
    manager = await log_in(api, Role.MANAGER)
    address = f"/dash/replay?endpoint={ENDPOINT}&from=2026-11-01&to="
    today = from_us(api.shop.env.clock.now_us()).date()
    assert "Send 1 payment" in (await manager.get(f"{address}{today}")).text
    assert "Send 1 payment" not in (await manager.get(f"{address}{today}T00:00")).text


async def test_a_window_that_makes_no_sense_is_a_sentence(api: FakeApi) -> None:
    await outbox.add_endpoint(api.shop, ENDPOINT)
    manager = await log_in(api, Role.MANAGER)
    for since, until, why in (
        ("2026-11-22T00:00", "2026-11-01T00:00", "later than the start"),
        ("2026-01-01T00:00", "2026-11-01T00:00", "at most 31 days"),
        ("yesterday", "2026-11-01T00:00", "no date and time"),
        ("0001-01-01T00:00", "9999-12-31T23:59", "at most 31 days"),
        ("", "", "Choose an endpoint"),
    ):
        form = {"endpoint": ENDPOINT, "from": since, "to": until}
        answer = await manager.post("/dash/replay", form)
        assert answer.status_code == 422
        assert why in answer.text
    gone = {"endpoint": places.NOWHERE, **DAY}
    assert (await manager.post("/dash/replay", gone)).status_code == 404


# Everybody and everything


@needs_browser
async def test_names_and_addresses_with_markup_are_only_text(api: FakeApi, browser: Browser) -> None:
    known = await places.paths(api)
    owner = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, owner)
        shown = [path for path in known.values() if ENDPOINT in path]
        shown += ["/dash/webhooks", "/dash/deliveries", "/dash/dead-letters", "/dash"]
        shown.append(f"/dash/replay?endpoint={ENDPOINT}&from={DAY['from']}&to={DAY['to']}")
        for path in shown:
            await visit.page.goto(path)
            assert "<img" in await visit.page.locator("main").inner_text() + "".join(
                await visit.page.locator("main option").all_text_contents()
            ), path
            assert await visit.page.locator("main img").count() == 0
            assert await visit.width() == 360, path
        assert RULE in (await owner.get(HOOK)).text
        assert clean(visit)


def test_each_cause_of_a_failure_has_words() -> None:
    causes = {diagnosis.cause_of(status, "http_error") for status in range(400, 600)}
    causes |= {diagnosis.cause_of(None, error) for error in DeliveryError}
    causes |= {"clock", "endpoint_deleted"}
    assert len(causes) == 19
    for language in LANGUAGES:
        words = load(language)
        assert [one for one in causes if f"cause_{one}" not in words or f"mend_{one}" not in words] == []
