"""Properties of every page: links lead to pages that this user may see, and faults are shown as sentences."""

import re
from typing import Any

import pytest

from daemon.core.errors import Unavailable
from daemon.core.limits import SECOND_US
from daemon.dash.pages.payments import payments
from daemon.dash.site import BROWSER_SEEN_EVERY_US
from daemon.dash.web.visit import Shown, Visit
from daemon.store.engine import Store
from daemon.wire import Role
from tests.fakes.api import FakeApi
from tests.fakes.dash import log_in
from tests.fakes.orders import Orders


@pytest.mark.parametrize("role", list(Role))
async def test_each_link_of_the_first_page_leads_somewhere(role: Role, api: FakeApi) -> None:
    orders = Orders(api.shop)
    await orders.make("paid")
    await orders.make("checking", expected_payer_phone="+233201234567")
    person = await log_in(api, role)
    page = (await person.get("/dash")).text
    links = {link for link in re.findall(r'href="(/dash[^"#]*)"', page) if "/static/" not in link}
    assert len(links) > 3
    answers = {link: (await person.get(link)).status_code for link in links}
    # The queue of reviews leads to its first one.
    assert {link: code for link, code in answers.items() if code not in (200, 303)} == {}


async def test_a_template_with_a_fault_shows_the_page_of_a_fault(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    async def faulty(_visit: Visit) -> Shown:
        return Shown("payments/one.html", {})

    monkeypatch.setattr(payments.show_list, "__code__", faulty.__code__)
    person = await log_in(api, Role.OWNER)
    answer = await person.get("/dash/payments")
    assert answer.status_code == 500
    assert answer.headers["content-type"].startswith("text/html")
    assert "<h1" in answer.text


async def test_a_refused_form_below_an_address_of_a_page_is_a_page(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    path = "/dash/messages/import/paste"
    answer = await person.post(path, {"text": "", "line": ""})
    assert answer.status_code == 422
    assert "<h1" in answer.text


async def test_a_payment_names_the_command_that_shows_its_sms(api: FakeApi) -> None:
    paid = await Orders(api.shop).make("paid")
    [message] = await api.shop.values("SELECT m.id FROM payments p JOIN messages m ON m.seq = p.message_seq")
    person = await log_in(api, Role.OWNER)
    assert f"momo messages show {message}" in (await person.get(f"/dash/payments/{paid.payment_id}")).text


async def test_pages_are_still_shown_when_the_disk_is_full(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(self: Store, job: Any) -> None:
        raise Unavailable("the disk is full", 30)

    person = await log_in(api, Role.OWNER)
    monkeypatch.setattr(Store, "write", full)
    api.shop.clock.advance(BROWSER_SEEN_EVERY_US / SECOND_US)
    assert (await person.get("/dash/payments")).status_code == 200
