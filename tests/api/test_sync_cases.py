"""Thousands of odd requests to the route that branches send to: no internal error, and nothing stored by a refused one.

The row checks matter as much as the route: after every accepted request, each page of head office can still be read.
"""

import asyncio
import gzip
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon import wire
from daemon.api import branches as sync
from daemon.core.branches.facts import TABLES
from daemon.store.engine import Reader, Tx
from tests.fakes import new_database, postgresql
from tests.fakes.api import FakeApi, running
from tests.fakes.branches import Chain
from tests.fakes.seed import OTHER
from tests.fakes.tiers import share

REFUSALS: Final = {400, 409, 413, 415, 422}
PAGES: Final = (
    wire.Path.TRANSACTIONS, f"{wire.Path.TRANSACTIONS}?origin=open", f"{wire.Path.REVIEWS}?state=all",
    wire.Path.LOCAL_MESSAGES, wire.Path.LOCAL_HUB, wire.Path.LOCAL_REPORT, wire.Path.LOCAL_STATUS,
    wire.Path.LOCAL_EXPORT.format(what="payments"), wire.Path.LOCAL_EXPORT.format(what="transactions"),
)  # fmt: skip
COPIED: Final = (
    "reviews", "reversals", "transactions", "payments", "messages", "payment_methods",
    "branch_facts", "facts_refused", "branch_commands",
)  # fmt: skip
MEMBERS: Final = ("epoch", "turn", "after", "upto", "facts", "outcomes", "stale", "version", "now")
TEXT: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ("\0", "live", "hub", "open", "used", "payment", "x" * 3_000, "[]", "{}", "null", "GHS")
)
JUNK: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(1 << 70), max_value=1 << 70)
    | st.sampled_from((0, 1, -1, 1 << 22, 1 << 40, (1 << 62) - 1, 1 << 63))
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
CHANGES: Final = st.dictionaries(st.integers(min_value=0, max_value=40), JUNK, max_size=2)
"""Place of a column in its row -> another value."""
FACT: Final = st.fixed_dictionaries(
    {"template": st.integers(min_value=0, max_value=99), "row": CHANGES, "message": CHANGES},
    optional={"kind": TEXT, "id": TEXT, "seq": JUNK, "gone": st.just(value=True), "all": JUNK},
)
CASE: Final = st.fixed_dictionaries(
    {
        "members": st.dictionaries(st.sampled_from(MEMBERS), JUNK, max_size=1),
        "facts": st.lists(FACT, max_size=4),
        "outcomes": st.dictionaries(TEXT, st.dictionaries(TEXT, JUNK, max_size=2), max_size=2),
        "form": st.sampled_from(("json", "json", "json", "gzip", "cut", "octets")),
    }
)


def request_of(case: Mapping[str, Any], templates: list[dict[str, Any]]) -> dict[str, Any]:
    made = []
    for at, asked in enumerate(case["facts"]):
        fact = {"seq": at + 1, **templates[asked["template"] % len(templates)]}
        for part in ("row", "message"):
            if isinstance(fact.get(part), dict):
                names = list(fact[part])
                changed = {names[place % len(names)]: new for place, new in asked[part].items()}
                fact[part] = {**fact[part], **changed}
        fact |= {name: asked[name] for name in ("kind", "id", "seq") if name in asked}
        if "gone" in asked:
            fact["row"] = None
        made.append(asked.get("all", fact))
    return {
        "epoch": 1, "turn": 1, "after": 0, "upto": len(made) or 1, "facts": made,
        "outcomes": case["outcomes"], "stale": False, "version": "1", "now": 0, **case["members"],
    }  # fmt: skip


class Hub:
    """A hub that forgets the branch's rows after each case."""

    def __init__(self, api: FakeApi, client: httpx.AsyncClient, templates: list[Any]) -> None:
        self.api = api
        self.client = client
        self.templates = templates
        self.answers: dict[int, int] = {}
        self.stored = 0

    async def take(self, case: Mapping[str, Any]) -> None:
        await self.api.shop.env.store.write(self._forget)
        before = await self.api.shop.env.store.read(self._state)
        octets = json.dumps(request_of(case, self.templates)).encode()
        headers = {"Content-Type": "application/json"}
        if case["form"] in ("gzip", "cut"):
            headers["Content-Encoding"] = "gzip"
            octets = gzip.compress(octets)[: -9 if case["form"] == "cut" else None]
        elif case["form"] == "octets":
            octets = octets[: len(octets) // 2]
        answer = await self.client.post(wire.Path.BRANCH_SYNC, content=octets, headers=headers)
        status = answer.status_code
        self.answers[status] = self.answers.get(status, 0) + 1
        after = await self.api.shop.env.store.read(self._state)
        if status == 200:
            self.stored += after != before
            assert answer.json()["data"]["acked"] >= 0
            page = PAGES[self.answers[status] % len(PAGES)]
            shown = await self.api.local.get(page)
            assert shown.status_code == 200, (page, shown.text)
            return
        assert status in REFUSALS, (status, answer.text)
        code = answer.json()["error"]["code"]
        assert after == before or code == wire.ErrorCode.BRANCH_DISPUTED, "a refusal stores nothing"

    @staticmethod
    def _forget(tx: Tx) -> None:
        for table in COPIED:
            tx.run(f"DELETE FROM {table} WHERE branch_id IS NOT NULL")
        for table in ("transaction_counts", "message_counts"):
            tx.run(f"DELETE FROM {table}")
        tx.run("UPDATE branches SET epoch = 1, turn = 0, acked_seq = 0, status = 'joined'")

    @staticmethod
    def _state(reader: Reader) -> list[Any]:
        found: list[Any] = reader.all("SELECT * FROM branches ORDER BY seq")
        counted = (*COPIED, "events", "deliveries")
        return found + [reader.value(f"SELECT COUNT(*) FROM {table}") for table in counted]


async def templates_of(folder: Path) -> list[dict[str, Any]]:
    """Return the facts of a real branch, of each kind."""
    with new_database.in_files():
        chain = await Chain.make(folder, "kumasi")
        branch = chain["kumasi"]
        order = await branch.shop.request(900, expected_payer_phone="+233201111111")
        await branch.pay(str(order.svc_code), amount=900)
        await branch.pay("food", "93214500002")
        await branch.pay(str((await chain.hub.request(2500)).svc_code), "93214500003")
        found = await branch.facts()
        chain.close()
    paid = next(fact for fact in found if fact["kind"] == "payment")
    row = {
        "message_id": paid["row"]["message_id"], "mode": "live", "provider": "momo_mtn",
        "original_telco_id": "93214500002", "amount_minor": 2500, "at": 1, "created_at": 1,
    }  # fmt: skip
    found.append({**paid, "kind": "reversal", "id": row["message_id"], "row": row})
    assert {fact["kind"] for fact in found} >= TABLES.keys()
    return [fact for fact in found if fact["kind"] != "event"][:12] + found[-8:]


def run_cases(folder: Path, count: int) -> None:
    async def opened(stack: AsyncExitStack) -> Hub:
        templates = await templates_of(folder / "templates")
        api = await stack.enter_async_context(running(folder / "hub"))
        if not new_database.on_postgresql():
            # Nothing here is about power cuts, and each case has a few commits.
            new_database.writer(api.shop.env.store).execute("PRAGMA synchronous = OFF")
        await api.local.post(wire.Path.LOCAL_HUB, json={})
        made = await api.local.post(wire.Path.LOCAL_HUB_INVITES, json={"name": "kumasi"})
        word = {"word": made.json()["data"]["word"]}
        key = (await api.live.post(wire.Path.BRANCH_JOIN, json=word)).json()["data"]["key"]
        return Hub(api, await api.client(key), templates)

    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        hub = runner.run(opened(stack))

        @given(case=CASE)
        @settings(
            max_examples=count, deadline=None, derandomize=not OTHER, database=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        def take(case: Mapping[str, Any]) -> None:
            runner.run(hub.take(case))

        try:
            take()
        finally:
            runner.run(hub.api.shop.env.store.write(hub._forget))
            runner.run(stack.aclose())
        assert hub.answers[200] > count // 20
        assert hub.stored > count // 50
        assert hub.answers[422] > count // 20


def test_odd_requests_are_refused_or_taken_and_break_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "HELD_S", 0.0)
    run_cases(tmp_path, 40)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_thousands_of_odd_requests_break_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    monkeypatch.setattr(sync, "HELD_S", 0.0)
    if engine == "postgresql":
        postgresql.cluster()
        new_database.use_postgresql(monkeypatch)
    run_cases(tmp_path, share(5_000) // 2)
