"""Every page of the dashboard on each engine of the store, with the filters of the lists."""

from daemon.wire import Role
from tests.dash import places
from tests.dash.test_measures import LISTS
from tests.dash.test_tables import SHOWN
from tests.fakes.api import FakeApi
from tests.fakes.dash import log_in
from tests.fakes.engines import engine, pytest_generate_tests

__all__ = ["engine", "pytest_generate_tests"]


async def test_every_page_is_shown_and_every_list_is_searched(api: FakeApi) -> None:
    known = await places.paths(api)
    person = await log_in(api, Role.OWNER)
    asked = [places.filled(page.path, known) for page in SHOWN]
    asked += [f"{path}?search=KOFI&from=2026-01-01&sort=largest" for path in LISTS]
    answers = [await person.client.get(path, follow_redirects=True) for path in asked]
    assert {answer.url.path: answer.status_code for answer in answers if answer.status_code != 200} == {}
