"""Open tabs after a commit: their part of a page is made once for all users of a role, and is never an old one."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from daemon.core.lines.modem_health import ModemHealth
from daemon.dash.tables import PAGES
from daemon.dash.web.stream import FRESH_US
from daemon.flows.access import users as user_flow
from daemon.store import journal
from daemon.store.engine import Reader, Tx
from daemon.wire import Role
from tests.fakes.api import FakeApi
from tests.fakes.dash import Person, log_in
from tests.fakes.orders import Orders
from tests.fakes.shop import OWNER
from tests.fakes.waiting import until

TABS = 20
SHARED = [page.path for page in PAGES if page.shared]


async def part(person: Person, path: str = "/dash") -> str:
    answer = await person.get(path, **{"X-Fragment": "1"})
    assert answer.status_code == 200
    return answer.text


@pytest.fixture
def reads(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Everything that is read from the database in another thread."""
    found: list[object] = []
    store = api.shop.env.store
    read = store.read

    async def counted(job: Callable[[Reader], Any]) -> Any:
        answer = await read(job)
        found.append(job)
        return answer

    monkeypatch.setattr(store, "read", counted)
    return found


async def test_twenty_tabs_read_the_database_once_for_each_commit(api: FakeApi, reads: list[object]) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting")
    person = await log_in(api, Role.OWNER)
    reads.clear()
    before = set(await asyncio.gather(*(part(person) for _ in range(TABS))))
    assert len(reads) == 1
    await orders.pay(order)
    reads.clear()
    after = set(await asyncio.gather(*(part(person) for _ in range(TABS))))
    assert len(reads) == 1
    assert len(before) == len(after) == 1
    assert "GHS\xa025.00" not in before.pop()
    assert "GHS\xa025.00" in after.pop()


async def test_each_role_and_language_gets_its_own_part(api: FakeApi) -> None:
    await Orders(api.shop).make("paid")
    owner, cashier = await log_in(api, Role.OWNER), await log_in(api, Role.CASHIER)
    assert 'id="hooks"' in await part(owner)
    assert 'id="hooks"' not in await part(cashier)
    assert 'id="hooks"' in await part(owner)
    await cashier.post("/dash/account/language", {"language": "fr"})
    french = await part(cashier)
    assert "Aujourd" in french
    assert "Aujourd" not in await part(owner)


async def test_a_modem_that_stops_is_seen_without_a_commit(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    before = await part(person)
    api.phones.append(ModemHealth("/dev/ttyUSB0", "pin_needed", "The SIM asks for its PIN."))
    assert await part(person) != before


async def test_times_in_a_part_do_not_stand_still(api: FakeApi) -> None:
    await Orders(api.shop).make("paid")
    person = await log_in(api, Role.OWNER)
    assert "just now" in await part(person)
    api.shop.clock.advance(120 + FRESH_US / 1_000_000)
    assert "just now" not in await part(person)


async def test_a_disabled_user_gets_no_part_that_is_kept(api: FakeApi) -> None:
    cashier, other = await log_in(api, Role.CASHIER), await log_in(api, Role.CASHIER, "efua")
    await part(other)
    await user_flow.set_disabled(api.shop.env, OWNER, "cashier", disabled=True)
    await part(other)
    answer = await cashier.get("/dash", **{"X-Fragment": "1"})
    assert answer.status_code == 303
    assert "today" not in answer.text


@pytest.mark.parametrize("path", SHARED)
async def test_a_shared_part_has_no_form_and_names_no_user(api: FakeApi, path: str) -> None:
    await Orders(api.shop).make("paid")
    person = await log_in(api, Role.MANAGER, "efua-mensah")
    found = await part(person, path)
    assert "<form" not in found
    assert "efua-mensah" not in found


async def test_a_browser_without_compression_gets_the_same_part(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    answer = await person.get("/dash", **{"X-Fragment": "1", "Accept-Encoding": "identity"})
    assert "content-encoding" not in answer.headers
    zipped = await person.get("/dash", **{"X-Fragment": "1", "Accept-Encoding": "gzip"})
    assert zipped.headers["content-encoding"] == "gzip"
    assert answer.text == zipped.text


async def test_a_commit_is_one_event_of_each_kind_for_a_tab_and_its_payment_is_said(
    api: FakeApi, reads: list[object]
) -> None:
    """A receipt writes several rows of the journal in one commit; each event makes a tab fetch its page."""
    await Orders(api.shop).make("paid")
    (payment_id,) = await api.shop.values("SELECT id FROM payments")
    person = await log_in(api, Role.OWNER)

    async def commit(*types: str) -> None:
        def job(tx: Tx) -> None:
            for one in types:
                paid = payment_id if one == "transaction.verified" else None
                journal.add(tx, one, 1, actor="momo", payment_id=paid)

        await api.shop.env.store.write(job)

    async with person.client.stream("GET", "/dash/events") as stream:
        lines = stream.aiter_lines()
        await _until(lines, lambda line: line == ": open")
        await until(lambda: journal.last_seq in reads)
        await commit("message.parsed", "transaction.verified", "delivery.created")
        kinds, said = zip(*[await _event(lines) for _ in range(2)], strict=True)
        await commit("delivery.delivered")
        more = [await _event(lines) for _ in range(2)]
    assert kinds == ("now", "delivery")
    assert said[0].startswith("GHS\xa025.00 received.")
    assert said[1] == ""
    assert more == [("delivery", ""), ("now", "")]


async def _until(lines: AsyncIterator[str], wanted: Callable[[str], bool]) -> str:
    async for line in lines:
        if wanted(line):
            return line
    raise AssertionError("the stream has ended")


async def _event(lines: AsyncIterator[str]) -> tuple[str, str]:
    """Return the kind of the next event, and its sentence."""
    kind = await _until(lines, lambda line: line.startswith("event: "))
    data = await _until(lines, lambda line: line.startswith("data: "))
    return kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))["say"]
