"""Every page of the dashboard on each engine of the store, with the filters of the lists."""

from urllib.parse import unquote

from daemon.store.rows import json_rows
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


async def test_an_id_with_a_zero_octet_or_an_end_of_line_is_not_known(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    for quoted in ("%00", "a%0D%0Ab"):
        token = person.form_token(f"/dash/messages/{unquote(quoted)}/reparse")
        answer = await person.post(f"/dash/messages/{quoted}/reparse", form_token_=token)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/dash/messages/{quoted}?said=said_not_read")
    assert json_rows([("a\0", "\\u0000", "\\\0")]) == '[["a\\ufffd","\\\\u0000","\\\\\\ufffd"]]'
    assert api.log.lines == []
