"""Every page with each role in a browser, every action with each role by a direct POST, from the tables of the dashboard."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser

from daemon.core.access.callers import ALLOWED, Operation
from daemon.dash.tables import ACTIONS, PAGES
from daemon.dash.web.frame import FOLDER
from daemon.dash.web.visit import Page
from daemon.store.engine import Reader
from daemon.wire import Role
from tests.dash import places
from tests.fakes.api import FakeApi
from tests.fakes.browser import needs_browser, visiting
from tests.fakes.dash import as_user, log_in
from tests.fakes.orders import Orders

ROLES = list(Role)
SHOWN = [page for page in PAGES if not page.public]


async def rows(api: FakeApi) -> list[int]:
    """Return how many rows each table has."""

    def count(reader: Reader) -> list[int]:
        tables = reader.all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return [
            int(reader.value(f"SELECT COUNT(*) FROM {name}")) for (name,) in tables if not name.startswith("search")
        ]

    return await api.shop.env.store.read(count)


@needs_browser
@pytest.mark.parametrize("role", ROLES)
async def test_every_page_shows_itself_to_its_roles_and_to_no_other(api: FakeApi, browser: Browser, role: Role) -> None:
    known = await places.paths(api)
    person = await log_in(api, role)
    async with visiting(browser, api.base_url, width=1280) as visit:
        await as_user(visit, person)
        for page in SHOWN:
            answer = await visit.page.goto(places.filled(page.path, known))
            assert answer is not None
            allowed = role in page.roles
            assert answer.status == (200 if allowed else 403), page.path
            assert await visit.page.locator("h1").count() == 1, page.path
            entries = await visit.page.locator(".menu a[href]").evaluate_all(
                "all => all.map(one => one.getAttribute('href'))"
            )
            for other in SHOWN:
                if other.menu == "main" and not page.bare:
                    assert (other.path in entries) is (role in _listed(other)), other.path
        refused = [page for page in SHOWN if role not in page.roles]
        assert len(visit.faults) == len(refused), visit.faults
        assert visit.elsewhere == []


@pytest.mark.parametrize("role", ROLES)
async def test_every_page_is_sent_to_its_roles_and_to_no_other(api: FakeApi, role: Role) -> None:
    known = await places.paths(api)
    person = await log_in(api, role)
    for page in SHOWN:
        address = places.filled(page.path, known)
        answer = await person.client.get(address, follow_redirects=True)
        assert answer.status_code == (200 if role in page.roles else 403), page.path
        assert answer.text.count("<h1") == 1, page.path
        entries = set(re.findall(r'<a href="([^"]+)"', _menu(answer.text)))
        for other in SHOWN:
            if other.menu == "main" and not page.bare:
                assert (other.path in entries) is (role in _listed(other)), (page.path, other.path)
    assert api.log.lines == []


def _listed(page: Page) -> frozenset[Role]:
    return page.roles if page.menu_roles is None else page.menu_roles


async def test_the_menu_is_short_and_its_pages_lead_to_all_others(api: FakeApi) -> None:
    for role, most in ((Role.OWNER, 8), (Role.MANAGER, 8), (Role.VIEWER, 8), (Role.CASHIER, 4)):
        person = await log_in(api, role)
        entries = re.findall(r'<a href="(/dash[^"]*)"', _menu((await person.get("/dash")).text))
        # The last one is the own account.
        assert len(entries) - 1 <= most, role
        found = set(entries)
        for path in ("/dash/shop", "/dash/developers"):
            if path in entries:
                found |= set(re.findall(r'<a href="(/dash[^"]*)"', (await person.get(path)).text))
        for page in SHOWN:
            if page.menu:
                assert (page.path in found) is (role in _listed(page)), (role, page.path)


async def test_the_menu_says_how_many_reviews_wait(api: FakeApi) -> None:
    person = await log_in(api, Role.CASHIER)
    assert '<span class="count" hidden>0</span>' in _menu((await person.get("/dash/transactions")).text)
    await Orders(api.shop).make("checking", expected_payer_phone="+233201234567")
    assert '<span class="count">1</span>' in _menu((await person.get("/dash/transactions")).text)


async def test_the_terminal_is_named_to_owner_and_manager_only(api: FakeApi) -> None:
    for role in Role:
        person = await log_in(api, role)
        named = 'id="terminal"' in (await person.get("/dash/transactions")).text
        assert named is (role in {Role.OWNER, Role.MANAGER})


def _menu(html: str) -> str:
    found = re.search(r"<nav .*?</nav>", html, re.DOTALL)
    return found[0] if found else ""


@pytest.mark.parametrize("role", ROLES)
async def test_an_action_that_a_role_may_not_do_is_403_and_writes_nothing(api: FakeApi, role: Role) -> None:
    person = await log_in(api, role)
    before = await rows(api)
    for action in ACTIONS:
        if role not in action.roles:
            answer = await person.post(places.filled(action.path, {}))
            assert answer.status_code == 403, action.path
    assert await rows(api) == before


@pytest.mark.parametrize("role", ROLES)
async def test_an_action_of_a_role_is_never_refused_for_the_role(api: FakeApi, role: Role) -> None:
    for number, action in enumerate(ACTIONS):
        if action.operation is not None and role in action.roles:
            person = await log_in(api, role, f"{role}-{number}")
            answer = await person.post(places.filled(action.path, {}))
            assert "Your role does not allow" not in answer.text, action.path
            assert answer.status_code < 500, action.path
    assert api.log.lines == []


async def test_without_a_session_every_page_leads_to_the_login_and_no_action_is_done(api: FakeApi) -> None:
    visitor = await api.client()
    visitor.event_hooks = {}
    before = await rows(api)
    for page in SHOWN:
        answer = await visitor.get(places.filled(page.path, {}))
        assert (answer.status_code, answer.headers["location"][:11]) == (303, "/dash/login")
    for action in ACTIONS:
        if action.operation is not None:
            answer = await visitor.post(places.filled(action.path, {}), headers={"Origin": api.base_url})
            assert (answer.status_code, answer.headers["location"][:11]) == (303, "/dash/login")
    assert (await visitor.get("/dash/events")).status_code == 403
    assert await rows(api) == before


def test_paths_are_different_and_each_operation_has_roles() -> None:
    assert len({page.path for page in PAGES}) == len(PAGES)
    assert len({action.path for action in ACTIONS}) == len(ACTIONS)
    assert set(ALLOWED) == set(Operation)
    assert all(Role.OWNER in roles for roles in ALLOWED.values())


def test_the_scripts_stay_short() -> None:
    lines = [len(script.read_text().splitlines()) for script in Path(str(FOLDER)).glob("*.js")]
    assert max(lines) <= 200
    assert sum(lines) <= 350
