"""Everything on a page exists in the terminal: each page and action names a command that the program takes."""

import re
import shlex

import pytest
from typer._click.exceptions import UsageError

from daemon.dash.tables import ACTIONS, PAGES
from daemon.dash.web.visit import Action, Page
from daemon.wire import Role
from momo_cli.frame.command_table import COMMANDS, find_name, verb_alone
from momo_cli.frame.tree import load
from tests.dash import places
from tests.fakes.api import FakeApi
from tests.fakes.dash import log_in
from tests.fakes.each import each
from tests.fakes.orders import Orders

IN_THE_BROWSER_ONLY = {
    "/dash/login",
    "/dash/login/code",
    "/dash/logout",
    "/dash/account/language",
    "/dash/account/mode",
    "/dash/account/second-factor/on",
}
"""Sessions and the language of the browser itself; a second factor is set up by scanning it."""
ROWS = [*PAGES, *ACTIONS]


def taken(call: str) -> None:
    """Parse a call as the program does, with a value for each place; fail if it does not take it."""
    words = shlex.split(re.sub(r"\{\w+\}", "7KQ2MX", call))
    assert words[0] == "momo", call
    name, given = find_name(words[1:]), words[1:]
    given = given[len(name.split()) :]
    if name not in COMMANDS and not given and verb_alone(name):
        name = f"{name} {verb_alone(name)}"
    assert name in COMMANDS, call
    load(name).make_context(name, given)  # raises UsageError


@each("row", ROWS)
def test_each_page_and_action_names_commands_that_the_program_takes(row: Page | Action) -> None:
    if not row.command:
        assert row.path in IN_THE_BROWSER_ONLY
        return
    for call in re.split(r", | && ", row.command):
        taken(call)


def test_a_command_that_is_not_taken_is_found() -> None:
    with pytest.raises(AssertionError):
        taken("momo tx mend X")
    for wrong in ("momo tx show X --fax 1", "momo keys create", "momo phones name front"):
        with pytest.raises(UsageError):
            taken(wrong)


async def test_each_page_shows_its_command(api: FakeApi) -> None:
    known = await places.paths(api)
    person = await log_in(api, Role.OWNER)
    for page in PAGES:
        if page.public or page.bare:
            continue
        answer = await person.get(places.filled(page.path, known))
        if answer.status_code == 303:  # the queue leads to its first review
            continue
        shown = answer.text
        assert "<p>Same in the terminal: <code>momo " in shown, page.path


async def test_a_transaction_is_replaced_in_the_terminal_as_on_the_page(api: FakeApi) -> None:
    orders = Orders(api.shop)
    old = await orders.make("waiting")
    path = f"/local/v1/transactions/{old.reference}"
    answer = await api.local.post(f"{path}/replace", json={})
    assert answer.status_code == 201
    new = await api.shop.transaction(answer.json()["data"]["reference"])
    assert (new.expected_minor, new.phone_number) == (old.expected_minor, old.phone_number)
    assert (await api.shop.transaction(old.reference)).status == "CANCELLED"
    paid = await orders.make("paid")
    refused = await api.local.post(f"/local/v1/transactions/{paid.reference}/replace", json={})
    assert refused.json()["error"]["code"] == "TRANSACTION_NOT_CANCELLABLE"
    missing = await api.local.post("/local/v1/transactions/svc_0/replace", json={})
    assert missing.status_code == 404


async def test_a_code_is_sent_again_once_in_the_terminal_as_on_the_page(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    path = f"/local/v1/transactions/{order.reference}/send-code"
    results = [(await api.local.post(path, json={})).json()["data"]["result"] for _ in range(2)]
    assert results[0] in {"queued", "switched_off", "no_line"}
    assert results[1] in {"sent_before", "switched_off", "no_line"}
    missing = await api.local.post("/local/v1/transactions/svc_0/send-code", json={})
    assert missing.status_code == 404
