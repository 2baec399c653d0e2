"""The page for USSD of a line: for the owner alone, without script, and nothing typed comes back."""

import hashlib
import json
import re
from html import unescape

from daemon.core.lines.ussd import IDLE_S
from daemon.wire import Role
from tests.dash.test_lines import here
from tests.fakes.api import FakeApi
from tests.fakes.dash import PASSWORD, Person, log_in
from tests.fakes.ussd_port import FakeUssdPort
from tests.phones import ussd

PIN = "4929123456781234"


async def begun(api: FakeApi) -> tuple[FakeUssdPort, Person, str, dict[str, str]]:
    """Log the owner in and dial; return also the page, and the fields of the session."""
    port = FakeUssdPort()
    api.shop.env.ussd.port_of = {api.shop.source.device_id: port}.get
    person = await log_in(api, Role.OWNER)
    page = (await person.post(f"{here(api)}/ussd", {"code": "*170#"})).text
    found = re.search(r'name="session" value="([0-9a-f-]{36})"', page)
    assert found is not None
    return port, person, page, {"session": found[1]}


async def test_the_owner_goes_through_a_menu_and_takes_its_balance(api: FakeApi) -> None:
    port, person, page, session = await begun(api)
    assert "MobileMoney<br>1) Transfer Money<br>" in page
    assert 'id="f-reply" name="reply" type="text" value="" maxlength="160" autocomplete="off"' in page
    await person.post(f"{here(api)}/ussd", {**session, "reply": "6"})
    page = (await person.post(f"{here(api)}/ussd", {**session, "reply": "1", "hide": "yes"})).text
    assert 'name="reply" type="password" value=""' in page
    page = (await person.post(f"{here(api)}/ussd", {**session, "reply": PIN, "hide": "yes"})).text
    assert (PIN in page, 'name="reply"' in page, 'name="code"' in page) == (False, False, True)
    assert 'name="balance" value="214.56"' in page
    assert port.typed == ["*170#", "6", "1", PIN]
    await api.shop.begin_chain(21_456)
    done = await person.post(f"{here(api)}/wallet", {"balance": "214.56", "confirm_password": PASSWORD})
    assert "The wallet shows GHS 214.56" in unescape(done.text)


async def test_only_the_owner_has_the_page(api: FakeApi) -> None:
    for role in (Role.MANAGER, Role.CASHIER, Role.VIEWER):
        person = await log_in(api, role)
        assert (await person.get(f"{here(api)}/ussd")).status_code == 403
        assert (await person.post(f"{here(api)}/ussd", {"code": "*170#"})).status_code == 403
        assert f"{here(api)}/ussd" not in (await person.get(here(api))).text
    owner = await log_in(api, Role.OWNER)
    assert f"{here(api)}/ussd" in (await owner.get(here(api))).text
    assert "A menu can move money." in (await owner.get(f"{here(api)}/ussd")).text


async def test_a_refused_reply_is_asked_again_and_not_shown(api: FakeApi) -> None:
    port, person, _page, session = await begun(api)
    refused = await person.post(f"{here(api)}/ussd", {**session, "reply": f'{PIN}"'})
    assert (refused.status_code, PIN in refused.text) == (422, False)
    assert "without accents" in refused.text
    assert f'value="{session["session"]}"' in refused.text
    assert port.typed == ["*170#"]


async def test_the_end_and_a_late_reply_are_told(api: FakeApi) -> None:
    port, person, _page, session = await begun(api)
    assert "The session was ended." in (await person.post(f"{here(api)}/ussd", session)).text
    assert port.cancelled == 1
    port, person, _page, session = await begun(api)
    again = await person.post(f"{here(api)}/ussd", {"code": "*170#"})
    assert (again.status_code, "Another USSD session is open on this line" in again.text) == (422, True)
    api.shop.clock.advance(IDLE_S + 1)
    late = (await person.post(f"{here(api)}/ussd", {**session, "reply": PIN})).text
    assert "What was typed was not sent." in unescape(late)
    assert port.typed == ["*170#"]


async def test_a_form_leaves_no_trace_by_which_a_pin_can_be_found(api: FakeApi) -> None:
    _port, person, _page, session = await begun(api)
    await person.post(f"{here(api)}/ussd", {**session, "reply": "1234"})
    kept = await api.shop.values("SELECT fingerprint FROM idempotency_keys")
    tries = {
        hashlib.sha256(json.dumps(sorted({**session, "reply": f"{pin:04}"}.items())).encode()).hexdigest()
        for pin in range(10_000)
    }
    assert kept
    assert not tries.intersection(kept)
    assert ussd.MENU not in str(await api.shop.values("SELECT data FROM events"))
