"""A branch and its hub of different versions, whichever is upgraded first."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from daemon.core.branches.facts import MESSAGE, TABLES
from daemon.core.errors import Refusal
from daemon.flows.branches import hub as hub_flow
from daemon.flows.branches import join as join_flow
from daemon.flows.branches import sync
from daemon.store.branches import branches, feed, restored
from daemon.wire import VERSION, ErrorCode, TransactionStatus
from tests.fakes.branches import FIRST_ID, Chain, Wire
from tests.fakes.shop import OWNER

DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "payment": {"payer_proven": 1, "decider": "branch", "payer_name": None, "fee_minor": None},
    "transaction": {"expected_payer_name": None, "description": None, "supersedes": None},
    "method": {"merchant_code": None, "mode": "live"},
    "message": {"recovered": 0, "level": "full", "synthesised": 0, "source": None},
}
"""Columns that an older branch may not have, and their values then."""


async def test_members_that_a_newer_branch_adds_are_left_out(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.pay("food")
    facts = await branch.facts()
    for fact in facts:
        fact["colour"] = "blue"
        fact["row"] = {**fact["row"], "colour": "blue"}
        if "message" in fact:
            fact["message"] = {**fact["message"], "colour": "blue"}
    await branch.send(*facts, version="99", weather="rain")
    assert (await chain.hub_payment(FIRST_ID)).amount_minor == 2500
    assert await chain.hub.values("SELECT why FROM facts_refused") == []
    assert await chain.hub.values("SELECT version FROM branches WHERE name = 'kumasi'") == ["99"]


async def test_a_value_that_only_a_newer_version_knows_is_kept_aside_and_the_rest_goes_on(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.pay("food")
    facts = await branch.facts()
    for fact in facts:
        if fact["kind"] == "transaction":
            fact["row"] = {**fact["row"], "status": "REFUNDED"}
    await branch.send(*facts)
    assert (await chain.hub_payment(FIRST_ID)).amount_minor == 2500
    assert await chain.hub.values("SELECT kind, why FROM facts_refused") == [
        ("transaction", "UnreadableRowError: the transaction's status has a value that this version does not know")
    ]
    assert await sync.try_again(chain.hub.env, VERSION) == 0
    assert await sync.try_again(chain.hub.env, "98") == 0
    known = "UPDATE facts_refused SET body = REPLACE(body, 'REFUNDED', 'SUCCESS')"
    await chain.hub.env.store.write(lambda tx: tx.run(known))
    assert await sync.try_again(chain.hub.env, "98") == 0, "a version tries once"
    assert await sync.try_again(chain.hub.env, "99") == 1
    assert await chain.hub.values("SELECT why FROM facts_refused") == []
    assert await chain.hub.values("SELECT status FROM transactions") == ["SUCCESS"]


async def test_rows_of_a_kind_that_only_a_newer_version_knows_are_kept_and_read_after_the_upgrade(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.pay("food")
    await branch.send(*({**one, "kind": f"{one['kind']}_of_99"} for one in await branch.facts()))
    assert await chain.hub.values("SELECT id FROM payments") == []
    assert await sync.try_again(chain.hub.env, "98") == 0, "it does not know them either"
    known = "UPDATE branch_facts SET kind = REPLACE(kind, '_of_99', '')"
    await chain.hub.env.store.write(lambda tx: tx.run(known))
    assert await sync.try_again(chain.hub.env, "99") > 0
    assert (await chain.hub_payment(FIRST_ID)).amount_minor == 2500
    assert await chain.hub.values("SELECT status FROM transactions") == ["SUCCESS"]
    assert await chain.hub.values("SELECT why FROM facts_refused") == []
    kept = await chain.hub.values("SELECT kind FROM branch_facts")
    assert not TABLES.keys() & set(kept)


async def test_a_refused_row_that_changed_since_is_dropped_and_takes_nothing_from_the_others(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.pay("food")
    facts = await branch.facts()
    (first,) = (fact for fact in facts if fact["kind"] == "transaction")
    await branch.send(*({**one, "row": {**one["row"], "status": "REFUNDED"}} if one is first else one for one in facts))
    await branch.send(first)
    assert await sync.try_again(chain.hub.env, "99") == 0
    assert await chain.hub.values("SELECT why FROM facts_refused") == []
    assert await chain.hub.values("SELECT status FROM transactions") == ["SUCCESS"]


async def test_members_that_an_older_branch_does_not_send_keep_their_default(chain: Chain) -> None:
    branch = chain["kumasi"]
    order = await branch.shop.request(900)
    await branch.pay(str(order.svc_code), amount=900)
    facts = await branch.facts()
    for fact in facts:
        gone = DEFAULTS.get(fact["kind"], {})
        fact["row"] = {name: fact["row"][name] for name in fact["row"] if name not in gone}
        if "message" in fact:
            gone = DEFAULTS["message"]
            fact["message"] = {k: fact["message"][k] for k in fact["message"] if k not in gone}
    await branch.send(*facts)
    assert await chain.hub.values("SELECT why FROM facts_refused") == []
    for kind, gone in DEFAULTS.items():
        table, names = ("messages", MESSAGE) if kind == "message" else TABLES[kind]
        assert gone.keys() <= set(names)
        rows = await chain.hub.values(f"SELECT {', '.join(gone)} FROM {table} WHERE branch_id IS NOT NULL")
        assert set(rows) == {tuple(gone.values())}, kind
    # The branch is upgraded, and its rows are sent again.
    await branch.send(*await branch.facts())
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS


async def test_a_request_without_the_newest_members_is_taken(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    found = await branch.link()
    body = {
        "epoch": found.epoch, "turn": found.turn + 1, "after": found.acked_seq,
        "upto": found.acked_seq, "facts": [], "outcomes": {}, "now": 0,
    }  # fmt: skip
    assert (await branch.wire.call("/v1/branch/sync", body))["acked"] == found.acked_seq


class OlderHub(Wire):
    """A hub that does not know the newest members and columns."""

    async def call(
        self, path: str, body: Mapping[str, Any], *, timeout_s: float = 30.0, whole_s: float = 600.0
    ) -> dict[str, Any]:
        answer = await super().call(path, body, timeout_s=timeout_s)
        gone = {name for columns in DEFAULTS.values() for name in columns} - {"mode"}
        kept = ("acked", "commands", "rows", "next", "epoch", "left")
        older = {name: answer[name] for name in answer if name in kept}
        if "rows" in older:
            older["rows"] = [{name: row[name] for name in row if name not in gone} for row in older["rows"]]
        return {**older, **({"acked": answer["acked"]} if "acked" in answer else {})}


class NewerHub(Wire):
    """A hub that adds members to its answers, and a command that the branch does not know."""

    async def call(
        self, path: str, body: Mapping[str, Any], *, timeout_s: float = 30.0, whole_s: float = 600.0
    ) -> dict[str, Any]:
        answer = await super().call(path, body, timeout_s=timeout_s)
        for row in answer.get("rows", ()):
            row["colour"] = "blue"
        return {**answer, "weather": "rain", "want": answer.get("want")}


@pytest.mark.parametrize("kind", [OlderHub, NewerHub])
async def test_the_branch_follows_and_restores_from_a_hub_of_another_version(chain: Chain, kind: type[Wire]) -> None:
    branch = chain["kumasi"]
    branch.wire = kind(chain.hub, branch.wire.key)
    branch.keep()
    order = await branch.shop.request(900)
    await branch.pay("food")
    await branch.pay("food", "93214500002")
    await branch.settle()
    assert len(await chain.hub.payments()) == 2
    before = await branch.shop.payments()

    branch.put_back()
    assert await branch.shop.payments() == []
    await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)
    restored = await branch.shop.payments()
    assert [(one.id, one.amount_minor) for one in restored] == [(one.id, one.amount_minor) for one in before]
    assert (await branch.shop.transaction(order.reference)).svc_code == order.svc_code
    branch.outcomes, branch.stale = {}, None
    await branch.settle()
    assert (await branch.link()).acked_seq == (await branch.shop.env.store.read(feed.bounds))[1]


async def test_a_command_that_an_older_branch_does_not_know_is_answered_and_asked_no_more(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    now = chain.hub.clock.now_us()
    await chain.hub.env.store.write(
        lambda tx: branches.ask(
            tx, command_id="c1", branch_id=branch.id, kind="paint", subject="", body={}, by="ama", now=now
        )
    )
    await branch.settle()
    (outcome,) = await chain.hub.values("SELECT outcome FROM branch_commands WHERE id = 'c1'")
    assert "does not know the command paint" in outcome
    (row,) = [one for one in (await hub_flow.status(chain.hub.env))["branches"] if one["name"] == "kumasi"]
    assert row["asked"] == 0


TWO_YEARS_S = 2 * 365 * 86_400


async def agrees(chain: Chain, name: str) -> None:
    branch = chain[name]
    theirs = await chain.hub.env.store.read(lambda reader: restored.sums(reader, branch.id))
    assert theirs == await branch.shop.env.store.read(restored.sums)
    assert await chain.hub.values("SELECT why FROM facts_refused") == []


@pytest.mark.parametrize("off_s", [-TWO_YEARS_S, TWO_YEARS_S], ids=["behind", "ahead"])
async def test_a_branch_with_a_wrong_clock(chain: Chain, off_s: int) -> None:
    order = await chain.hub.request(2500)
    branch = chain["kumasi"]
    branch.shop.clock.jump(off_s)
    own = await branch.shop.request(900)
    await branch.pay(str(order.svc_code))
    await branch.pay(str(own.svc_code), "93214500002", 900)
    await branch.pay("food", "93214500003")
    await branch.settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    paid = await chain.hub_transaction(order.reference)
    assert not paid.late
    assert paid.completed_at == chain.hub.clock.now_us()
    mine = await branch.shop.transaction(own.reference)
    assert (await chain.hub_transaction(own.reference)).status is mine.status
    await agrees(chain, "kumasi")
    (off_us,) = await chain.hub.values("SELECT clock_off_us FROM branches WHERE name = 'kumasi'")
    assert abs(off_us - off_s * 1_000_000) < 1_000_000
    # The clock is set right; later payments are taken as before.
    branch.shop.clock.jump(-off_s)
    order = await chain.hub.request(2500)
    await branch.pay(str(order.svc_code), "93214500004")
    await branch.settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    await agrees(chain, "kumasi")


@pytest.mark.parametrize("off_s", [-TWO_YEARS_S, TWO_YEARS_S], ids=["behind", "ahead"])
async def test_a_hub_with_a_wrong_clock(chain: Chain, off_s: int) -> None:
    chain.hub.clock.jump(off_s)
    order = await chain.hub.request(2500)
    branch = chain["kumasi"]
    own = await branch.shop.request(900)
    await branch.pay(str(order.svc_code))
    await branch.pay(str(own.svc_code), "93214500002", 900)
    await branch.settle()
    await agrees(chain, "kumasi")
    # The branch's own decisions go by its clock and the network's.
    assert (await chain.hub_transaction(own.reference)).status is TransactionStatus.SUCCESS
    copy, mine = await chain.hub_payment(FIRST_ID), await branch.payment(FIRST_ID)
    assert copy.decider == mine.decider
    paid = await chain.hub_transaction(order.reference)
    if off_s < 0:
        assert (paid.status, paid.late) == (TransactionStatus.SUCCESS, False)
        return
    # By the hub's clock the money came two years before the order: a code does not match then, and a person decides.
    assert (paid.status, mine.decider, mine.standing) == (TransactionStatus.PENDING, "branch", "open")
    with pytest.raises(Refusal) as caught:
        await chain.hub.reconcile(order.reference, FIRST_ID)
    assert caught.value.code is ErrorCode.BRANCH_ASKED
    await branch.settle()
    assert (await chain.hub.reconcile(order.reference, FIRST_ID)).reconciliation_id
    await branch.settle()
    await agrees(chain, "kumasi")
