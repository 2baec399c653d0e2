"""Each form of the table of actions, sent twice: it does its thing once, and the second answer is a plain page."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from daemon.core.limits import SECOND_US
from daemon.dash.tables import ACTIONS
from daemon.flows.payments import cancel_expire
from daemon.flows.payments.cancel_expire import IDEMPOTENCY_US
from daemon.runtime.config import Config, Smtp, Trust
from tests.dash.forms import FORMS, Form, effects, form_of
from tests.fakes.api import FakeApi, running
from tests.fakes.dash import cookie_of

HALF_A_NIGHT_S = 6 * 3600
SECRETS = re.compile(r'(?<=class="once"><code>)[^<]+|whsec_[\w+/=]+')
"""The secrets that a page shows once."""


@pytest_asyncio.fixture(loop_scope="session")
async def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeApi]:
    """A shop with a mail server."""
    monkeypatch.setenv("MOMO_HOME", str(tmp_path))
    config = Config(
        smtp=Smtp(host="mail.shop.example", to="ama@shop.example"), trust=Trust(unconfirmed_limit=1_000_000)
    )
    async with running(tmp_path, config) as made:
        yield made


async def post(form: Form, token: str) -> httpx.Response:
    """Post as the browser did at first: the second click leaves before the first answer brings another cookie."""
    person = form.person
    person.client.cookies.set(cookie_of(person.api), person.token, domain="127.0.0.1", path="/dash")
    return await person.post(form.path, form.fields, form_token_=token)


async def shown(form: Form, answer: httpx.Response) -> str:
    """Return the page that an answer is or leads to, as text."""
    if answer.status_code == 303:
        answer = await form.person.client.get(answer.headers["location"], follow_redirects=True)
        assert answer.status_code == 200, answer.url
    assert answer.text.count("<h1") == 1
    return answer.text


async def age(api: FakeApi, form: Form) -> None:
    """Use the browser until answers of the API are long pruned."""
    for _ in range(IDEMPOTENCY_US // SECOND_US // HALF_A_NIGHT_S + 2):
        api.shop.clock.advance(HALF_A_NIGHT_S)
        await form.person.get("/dash/account")
    await cancel_expire.expire(api.shop.env)


# A USSD session is kept in memory only, and is tested with its own page.
@pytest.mark.parametrize("path", [action.path for action in ACTIONS if not action.path.endswith("/ussd")])
async def test_a_form_that_is_sent_twice_does_its_thing_once(api: FakeApi, path: str) -> None:
    form = await form_of(api, path)
    token = form.person.form_token(form.path)
    untouched = await effects(api)
    first = await post(form, token)
    assert first.status_code in (200, 303), first.text
    done = await effects(api)
    assert done != untouched, "the first one does it"

    second = await post(form, token)
    assert await effects(api) == done
    assert second.status_code in (303, 409), second.text
    again = await shown(form, second)
    assert not any(secret in again for secret in SECRETS.findall(first.text))

    await age(api, form)
    before = await effects(api)
    late = await post(form, token)
    assert await effects(api) == before, "nor two days later"
    assert late.status_code == second.status_code
    await shown(form, late)
    assert api.log.lines == []


def test_no_form_is_of_an_action_that_is_gone() -> None:
    assert set(FORMS) == {action.path for action in ACTIONS}
