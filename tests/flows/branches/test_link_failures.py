"""Faults between a branch and its hub: lost requests, restores, clones, strange facts, wrong clocks."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from daemon.core.branches.facts import EPOCH, EPOCHS, FACTS_MAX
from daemon.core.errors import Refusal
from daemon.core.limits import DAY_US
from daemon.flows.branches import hub as hub_flow
from daemon.flows.branches import join as join_flow
from daemon.flows.branches import outbound
from daemon.flows.branches.sync import EPOCHS_AHEAD_MAX
from daemon.sender.hub_client import HubRefusalError
from daemon.steps import hand_up
from daemon.store.branches import feed, restored
from daemon.wire import ErrorCode, ShopRole, TransactionStatus
from tests.fakes import new_database
from tests.fakes.branches import Chain, Lost, Wire, add_modems, body_of
from tests.fakes.receipts import mtn
from tests.fakes.shop import OWNER, FakeShop

ID = "93214500001"


async def pay(
    chain: Chain, name: str, reference: str, telco_id: str = ID, amount: int = 2500, balance: int = 0
) -> None:
    shop = chain[name].shop
    wallet = shop.wallet(amount) if balance == 0 else balance
    await shop.read(mtn(amount, "KOFI ANTWI BADU", wallet, reference, telco_id))


async def notices(shop: FakeShop) -> list[str]:
    return [str(kind) for kind in await shop.values("SELECT type FROM events WHERE type LIKE 'notice.%' ORDER BY seq")]


async def test_lost_requests_and_answers_are_repeated(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    await pay(chain, "kumasi", str(order.svc_code))
    for how in ({"lose_request": True}, {"lose_answer": True}, {"lose_answer": True}):
        with pytest.raises(Lost):
            await chain["kumasi"].turn(**how)
    await chain["kumasi"].settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    assert await chain.hub.values("SELECT COUNT(*) FROM payments") == [1]


async def test_a_late_copy_of_an_earlier_request_has_no_effect(chain: Chain) -> None:
    await pay(chain, "kumasi", "food")
    await chain["kumasi"].turn()
    late = chain["kumasi"].last_body
    await chain["kumasi"].settle()
    with pytest.raises(HubRefusalError) as caught:
        await chain["kumasi"].wire.call("/v1/branch/sync", late)
    assert caught.value.code == ErrorCode.BRANCH_STALE
    await chain["kumasi"].settle()


async def test_a_request_that_a_proxy_repeats_gets_the_same_answer(chain: Chain) -> None:
    branch = chain["kumasi"]
    order = await chain.hub.request(2500)
    await branch.pay(str(order.svc_code))
    outgoing = await branch.requests.next({}, stale=None)
    assert outgoing is not None
    body = body_of(outgoing)
    first = await branch.wire.call("/v1/branch/sync", body)
    assert await branch.wire.call("/v1/branch/sync", body) == first
    assert first["commands"]
    with pytest.raises(HubRefusalError) as caught:  # another body with the same number
        await branch.wire.call("/v1/branch/sync", body | {"version": "other"})
    assert caught.value.code == ErrorCode.BRANCH_STALE
    await branch.settle()
    assert await notices(chain.hub) == []


async def test_a_request_whose_answer_was_not_finished_is_finished_by_its_repetition(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.pay("food")
    outgoing = await branch.requests.next({}, stale=None)
    assert outgoing is not None
    body = body_of(outgoing)
    first = await branch.wire.call("/v1/branch/sync", body)
    await chain.hub.env.store.write(lambda tx: tx.run("UPDATE branches SET turn_answer = NULL"))
    assert (await branch.wire.call("/v1/branch/sync", body))["acked"] == first["acked"]
    assert await chain.hub.values("SELECT COUNT(*) FROM payments") == [1]
    await branch.settle()


async def test_a_branch_that_took_the_hubs_rows_ends_a_dispute(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    branch.keep()
    await pay(chain, "kumasi", "food")
    await branch.settle()
    branch.put_back()  # copied by hand, so it is not marked
    for expected in (ErrorCode.BRANCH_STALE, ErrorCode.BRANCH_DISPUTED, ErrorCode.BRANCH_DISPUTED):
        with pytest.raises(HubRefusalError) as caught:
            await branch.turn()
        assert caught.value.code == expected
    assert await notices(chain.hub) == ["notice.branch_disputed"]
    await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)
    branch.stale = None
    await branch.settle()
    assert await chain.hub.values("SELECT DISTINCT status FROM branches") == ["joined"]


async def test_a_branch_that_momo_restored_sends_nothing_before_it_has_the_hubs_rows(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    branch.keep()
    await pay(chain, "kumasi", "food")
    await branch.settle()
    branch.put_back()
    assert await branch.shop.env.store.write(lambda tx: feed.mark_restored(tx, "restored"))
    assert await branch.requests.next({}, stale=None) is None
    assert (await join_flow.status(branch.shop.env))["problem"] == "restored"
    await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)
    await branch.settle()
    assert await notices(chain.hub) == []
    assert await branch.shop.values("SELECT COUNT(*) FROM payments") == [1]


async def test_a_cloned_disk_is_told_at_its_first_request_also_when_it_overtakes_the_original(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    for clone_first in (False, True):
        branch.keep()
        await branch.turn()
        chain.hub.clock.advance(60)
        branch.shop.clock.advance(60)
        if clone_first:  # the original comes back, whose number the clone has used
            await branch.send()
            branch.shop.clock.advance(1)
        branch.put_back()
        for _request in range(2):
            with pytest.raises(HubRefusalError) as caught:
                await branch.turn()
            assert caught.value.code == ErrorCode.BRANCH_DISPUTED
            branch.stale = None
        assert await notices(chain.hub) == ["notice.branch_disputed"] * (1 + clone_first)
        await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)
        await branch.settle()


async def test_a_clone_from_before_a_restore_is_named_at_the_hub_each_day_that_it_sends(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    branch.keep()
    await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)
    await branch.settle()
    branch.put_back()
    for advance_s, told in ((60, 1), (60, 1), (86_400, 2)):
        chain.hub.clock.advance(advance_s)
        branch.shop.clock.advance(advance_s)
        with pytest.raises(HubRefusalError) as caught:
            await branch.turn()
        assert caught.value.code == ErrorCode.BRANCH_STALE
        assert await notices(chain.hub) == ["notice.branch_stale"] * told
    await outbound.note_problem(branch.shop.env, "why", refused=True)
    await outbound.note_problem(branch.shop.env, "why", refused=True)
    assert await notices(branch.shop) == ["notice.hub_refused"]


async def test_of_two_machines_that_send_as_one_branch_neither_is_heard(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    found = await branch.link()
    await branch.turn()
    clone = Wire(chain.hub, branch.wire.key)
    body: dict[str, Any] = {
        "epoch": found.epoch, "turn": found.turn + 1, "after": found.acked_seq, "upto": found.acked_seq,
        "facts": [], "outcomes": {}, "stale": False, "version": "x", "now": 0,
    }  # fmt: skip
    with pytest.raises(HubRefusalError) as caught:
        await clone.call("/v1/branch/sync", body)
    assert caught.value.code == ErrorCode.BRANCH_STALE
    with pytest.raises(HubRefusalError) as caught:
        await clone.call("/v1/branch/sync", body | {"turn": found.turn + 5, "stale": True})
    assert caught.value.code == ErrorCode.BRANCH_DISPUTED
    with pytest.raises(HubRefusalError) as caught:
        await branch.turn()
    assert caught.value.code == ErrorCode.BRANCH_DISPUTED
    assert await notices(chain.hub) == ["notice.branch_disputed"]
    # A person chooses: invite again, and join at the right machine.
    await join_flow.leave(branch.shop.env, OWNER, force=True)
    await branch.join("kumasi")
    await branch.settle()
    with pytest.raises(HubRefusalError):
        await clone.call("/v1/branch/sync", body | {"turn": 99})


async def test_a_hub_that_was_restored_gets_everything_again(chain: Chain) -> None:
    await pay(chain, "kumasi", "food")
    await chain["kumasi"].settle()

    def forget(tx: Any) -> None:
        for table in ("reviews", "transactions", "payments", "messages", "branch_facts"):
            tx.run(f"DELETE FROM {table} WHERE branch_id IS NOT NULL")
        tx.run("DELETE FROM transaction_counts")
        tx.run("DELETE FROM message_counts")
        tx.run("UPDATE branches SET acked_seq = 0, turn = 1")

    await chain.hub.env.store.write(forget)
    await chain["kumasi"].settle()
    assert await chain.hub.values("SELECT COUNT(*) FROM payments") == [1]
    assert await notices(chain.hub) == ["notice.hub_restored"]


async def test_a_hub_that_lost_more_than_the_feed_has_gets_every_row(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "KEPT", 0)
    await pay(chain, "kumasi", "food")
    await chain["kumasi"].settle()

    def forget(tx: Any) -> None:
        for table in ("reviews", "transactions", "payments", "messages"):
            tx.run(f"DELETE FROM {table} WHERE branch_id IS NOT NULL")
        tx.run("DELETE FROM transaction_counts")
        tx.run("DELETE FROM message_counts")
        tx.run("UPDATE branches SET acked_seq = 0, turn = 1")

    await chain.hub.env.store.write(forget)
    await chain["kumasi"].settle()
    assert await chain.hub.values("SELECT COUNT(*) FROM payments") == [1]
    assert (await chain["kumasi"].link()).epoch == 2


async def test_a_fact_that_trips_a_fault_is_kept_aside_and_the_feed_goes_on(chain: Chain) -> None:
    await pay(chain, "kumasi", "food")
    branch = chain["kumasi"]
    real = branch.wire.call

    async def spoiled(path: str, body: Any, **named: float) -> dict[str, Any]:
        for fact in body["facts"]:
            if fact["kind"] == "payment":
                fact["row"] = {**fact["row"], "amount_minor": "a lot"}
        return await real(path, body, **named)

    branch.wire.call = spoiled  # type: ignore[method-assign]
    await branch.settle()
    assert await chain.hub.values("SELECT DISTINCT kind FROM facts_refused ORDER BY 1") == ["payment", "transaction"]
    assert "notice.fact_refused" in await notices(chain.hub)
    assert (await branch.link()).acked_seq == (await branch.shop.env.store.read(feed.bounds))[1]
    await chain.hub.env.store.write(lambda tx: tx.run("DELETE FROM facts_refused"))


async def test_a_fact_that_the_hub_refuses_is_kept_aside_and_the_feed_goes_on(chain: Chain) -> None:
    branch = chain["kumasi"]
    real = branch.wire.call

    async def spoiled(path: str, body: Any, **named: float) -> dict[str, Any]:
        # Two transactions that one payment pays: the constraint answers with a refusal.
        for fact in list(body["facts"]):
            if fact["kind"] == "transaction" and fact["row"]["payment_id"]:
                second = {**fact["row"], "id": "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f", "public_slug": "s2"}
                body["facts"].append({**fact, "id": second["id"], "row": second})
        return await real(path, body, **named)

    branch.wire.call = spoiled  # type: ignore[method-assign]
    order = await branch.shop.request(2500)
    await pay(chain, "kumasi", str(order.svc_code))
    await branch.settle()
    assert await chain.hub.values("SELECT kind FROM facts_refused") == ["transaction"]
    paid = "SELECT id FROM transactions WHERE status = 'SUCCESS'"
    assert await chain.hub.values(paid) == [order.id]
    assert (await branch.link()).acked_seq == (await branch.shop.env.store.read(feed.bounds))[1]


@pytest.mark.parametrize("again", ["restore", "join"])
async def test_a_branch_that_begins_anew_after_a_refusal_is_not_disputed(chain: Chain, again: str) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    branch.keep()
    await pay(chain, "kumasi", "food")
    await branch.turn()
    await branch.settle()
    branch.put_back()
    with pytest.raises(HubRefusalError):
        await branch.turn()
    refused = branch.stale
    assert refused is not None
    if again == "restore":
        await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)
    else:
        await branch.join_again("kumasi")
        branch.stale = refused
    await branch.turn()
    assert branch.last_body["stale"] is False
    await branch.settle()
    assert await notices(chain.hub) == []


async def test_a_hub_ignores_in_a_new_epoch_that_a_request_before_was_stale(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    epoch = (await branch.link()).epoch
    await branch.send(epoch=epoch + 1, turn=1, after=0, upto=0, stale=True)
    assert await notices(chain.hub) == []
    with pytest.raises(HubRefusalError) as caught:
        await branch.send(turn=2, stale=True)
    assert caught.value.code == ErrorCode.BRANCH_DISPUTED


async def test_a_lost_first_request_of_a_new_epoch_is_no_restored_hub(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "KEPT", 0)
    branch = chain["kumasi"]
    await pay(chain, "kumasi", "food")
    await branch.settle()
    await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)
    epoch = (await branch.link()).epoch
    with pytest.raises(Lost):
        await branch.turn(lose_request=True)
    await branch.settle()
    assert (await branch.link()).epoch == epoch
    assert await notices(chain.hub) == []


async def test_a_hub_restored_to_an_earlier_epoch_gets_the_whole_new_one(chain: Chain, tmp_path: Path) -> None:
    branch, store = chain["kumasi"], chain.hub.env.store
    await branch.settle()
    new_database.keep(store, tmp_path / "kept.db")
    await join_flow.restore(branch.shop.env, OWNER, branch.wire, take_unknown=True)
    await pay(chain, "kumasi", "food")
    await branch.settle()
    new_database.put_back(store, tmp_path / "kept.db", chain.hub.clock.now_us())
    await branch.settle()
    assert await chain.hub.values("SELECT COUNT(*) FROM payments") == [1]
    assert await notices(chain.hub) == ["notice.hub_restored"]


async def test_a_request_from_a_far_epoch_is_refused_and_another_machine_can_join(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    for ahead in (EPOCHS - 1, (await branch.link()).epoch + EPOCHS_AHEAD_MAX + 1):
        with pytest.raises(HubRefusalError) as caught:
            await branch.send(epoch=ahead, turn=1, after=0, upto=0)
        assert caught.value.code == ErrorCode.VALIDATION_ERROR
    await branch.join_again("kumasi")
    await branch.settle()


async def test_a_kind_of_fact_that_the_hub_does_not_know_is_kept(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    found = await branch.link()
    body = {
        "epoch": found.epoch, "turn": found.turn + 1, "after": found.acked_seq, "upto": found.acked_seq + 1,
        "facts": [{"seq": found.acked_seq + 1, "kind": "loyalty", "id": "1", "row": {"points": 7}}],
        "outcomes": {}, "stale": False, "version": "99", "now": 0, "newer": True,
    }  # fmt: skip
    await branch.wire.call("/v1/branch/sync", body)
    rows = await chain.hub.values("SELECT body FROM branch_facts WHERE kind = 'loyalty'")
    assert [json.loads(row) for row in rows] == [{"points": 7}]


async def test_a_branch_cannot_touch_the_rows_of_another(chain: Chain) -> None:
    await pay(chain, "kumasi", "food")
    await chain["kumasi"].settle()
    stolen = await chain.hub_payment(ID)
    branch = chain["tamale"]
    await branch.settle()
    found = await branch.link()
    row = {"id": stolen.id, "mode": "live", "provider": "momo_mtn", "telco_transaction_id": ID}
    body = {
        "epoch": found.epoch, "turn": found.turn + 1, "after": found.acked_seq, "upto": found.acked_seq + 1,
        "facts": [{"seq": found.acked_seq + 1, "kind": "payment", "id": stolen.id, "row": row}],
        "outcomes": {}, "stale": False, "version": "1", "now": 0,
    }  # fmt: skip
    await branch.wire.call("/v1/branch/sync", body)
    assert await chain.hub_payment(ID) == stolen
    assert await chain.hub.values("SELECT branch_id FROM facts_refused") == [branch.id]


async def test_one_network_id_of_two_branches_is_one_payment(chain: Chain) -> None:
    await pay(chain, "kumasi", "food", balance=92_500)
    await pay(chain, "tamale", "food", balance=92_500)
    sim = (await chain["kumasi"].payment(ID)).sim_key  # it moved to the other branch
    await chain["tamale"].shop.env.store.write(lambda tx: tx.run("UPDATE payments SET sim_key = :sim", {"sim": sim}))
    await chain["kumasi"].settle()
    await chain["tamale"].settle()
    rows = await chain.hub.values("SELECT COUNT(*), SUM(CASE WHEN double_of IS NULL THEN 1 ELSE 0 END) FROM payments")
    assert rows == [(2, 1)]
    assert await notices(chain.hub) == []


async def test_a_network_id_that_another_branch_names_too_from_another_sim_is_told_and_none_counts(
    chain: Chain,
) -> None:
    for name in ("kumasi", "tamale"):
        await pay(chain, name, "food", balance=92_500)
        await chain[name].settle()
    rows = await chain.hub.values("SELECT COUNT(*), SUM(CASE WHEN double_of IS NULL THEN 1 ELSE 0 END) FROM payments")
    assert rows == [(2, 0)]
    assert await notices(chain.hub) == ["notice.id_conflict"]


async def test_a_payment_that_paid_at_two_branches_is_told_to_all(chain: Chain) -> None:
    for name in ("kumasi", "tamale"):
        order = await chain[name].shop.request(2500)
        await pay(chain, name, str(order.svc_code), balance=92_500)
        await chain[name].settle()
    await chain["kumasi"].settle()
    assert await notices(chain.hub) == ["notice.paid_twice"]
    for name in ("kumasi", "tamale"):
        assert await notices(chain[name].shop) == ["notice.paid_twice"]


async def test_a_payment_whose_network_id_another_branch_named_first_is_given_back_by_a_person(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    await pay(chain, "tamale", "food", amount=100)
    await chain["tamale"].settle()
    await pay(chain, "kumasi", str(order.svc_code))
    await chain["kumasi"].settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.PENDING
    genuine = await chain["kumasi"].payment(ID)
    assert genuine.decider == "hub"

    await hub_flow.give_back(chain.hub.env, OWNER, genuine.id)
    await chain["kumasi"].settle()

    assert (await chain["kumasi"].payment(ID)).decider == "branch"
    mine = await chain["kumasi"].shop.request(2500)
    assert (await chain["kumasi"].shop.reconcile(mine.reference, ID)).reconciliation_id
    await chain["kumasi"].settle()
    with pytest.raises(Refusal) as caught:
        await hub_flow.give_back(chain.hub.env, OWNER, genuine.id)
    assert caught.value.code == ErrorCode.BELONGS_TO_BRANCH


async def test_the_second_row_of_a_payment_that_the_hub_has_is_not_given_back(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    for name in ("tamale", "kumasi"):  # the SIM moved
        await pay(chain, name, str(order.svc_code), balance=92_500)
        await chain[name].shop.env.store.write(
            lambda tx: tx.run("UPDATE payments SET sim_key = :sim", {"sim": "8923301000000000001"})
        )
        await chain[name].settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    second = await chain["kumasi"].payment(ID)
    with pytest.raises(Refusal) as caught:
        await hub_flow.give_back(chain.hub.env, OWNER, second.id)
    assert caught.value.code == ErrorCode.TRANSACTION_ID_ALREADY_USED
    await chain["kumasi"].settle()
    assert (await chain["kumasi"].payment(ID)).standing == "handed"

    leaving = chain["kumasi"]
    await hub_flow.begin_to_leave(chain.hub.env, leaving.wire.key)
    await leaving.settle()
    assert leaving.shop.env.place.role is ShopRole.ALONE
    assert (await leaving.payment(ID)).standing == "handed"
    mine = await leaving.shop.request(2500)
    with pytest.raises(Refusal) as caught:
        await leaving.shop.reconcile(mine.reference, ID)
    assert caught.value.code == ErrorCode.PAYMENT_HANDED_UP


async def test_the_clock_of_a_branch_decides_nothing(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    branch = chain["kumasi"]
    branch.shop.clock.jump(-2 * 365 * 86_400)
    await pay(chain, "kumasi", str(order.svc_code))
    await branch.settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    off = await chain.hub.values("SELECT clock_off_us FROM branches WHERE name = 'kumasi'")
    assert off[0] < -700 * DAY_US


async def test_leaving_gives_back_what_is_undecided(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    await pay(chain, "kumasi", f"{order.svc_code}", amount=2500)
    other = await chain.hub.request(900)
    await pay(chain, "kumasi", "food", telco_id="93214500002", amount=900)
    branch = chain["kumasi"]
    await branch.settle()
    with pytest.raises(Exception, match="BRANCH_ASKED"):
        await chain.hub.reconcile(other.reference, "93214500002")
    await branch.settle()
    assert (await branch.payment("93214500002")).decider == "hub"
    await hub_flow.begin_to_leave(chain.hub.env, branch.wire.key)
    await branch.settle()
    await branch.turn()
    assert branch.shop.env.place.role is ShopRole.ALONE
    assert (await branch.payment("93214500002")).decider == "branch"
    assert (await branch.payment(ID)).decider == "hub"
    mine = await branch.shop.request(900)
    assert (await branch.shop.reconcile(mine.reference, "93214500002")).reconciliation_id


async def test_what_the_hub_used_stays_used_after_the_branch_has_left(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    branch = chain["kumasi"]
    await pay(chain, "kumasi", f"{order.svc_code}", amount=2500)
    await branch.settle()
    await hub_flow.begin_to_leave(chain.hub.env, branch.wire.key)
    await branch.settle()
    assert branch.shop.env.place.role is ShopRole.ALONE
    mine = await branch.shop.request(2500)
    with pytest.raises(Refusal) as caught:
        await branch.shop.reconcile(mine.reference, ID)
    assert caught.value.code == ErrorCode.PAYMENT_HANDED_UP
    assert (await branch.payment(ID)).standing == "handed"


async def test_a_payment_whose_answer_was_lost_pays_no_second_order_after_the_branch_has_left(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    branch = chain["kumasi"]
    await branch.settle()
    await pay(chain, "kumasi", f"{order.svc_code}", amount=2500)
    with pytest.raises(Lost):
        await branch.turn(lose_answer=True)
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    left = await join_flow.leave(branch.shop.env, OWNER, force=True)
    assert left == {"left": True, "unanswered": [{"currency": "GHS", "count": 1, "amount": "25.00"}]}
    assert branch.shop.env.place.role is ShopRole.ALONE
    mine = await branch.shop.request(2500)
    with pytest.raises(Refusal, match=r"GHS 25\.00 was handed up") as caught:
        await branch.shop.reconcile(mine.reference, ID)
    assert caught.value.code is ErrorCode.INVALID_PASSWORD
    assert (await branch.payment(ID)).standing == "handed"
    # Only a person who knows better uses it here.
    assert (await branch.shop.reconcile(mine.reference, ID, confirmed=True)).reconciliation_id


async def test_what_was_never_sent_is_matched_here_when_the_branch_leaves_at_once(chain: Chain) -> None:
    order = await chain.hub.request(2500)
    branch = chain["kumasi"]
    await branch.settle()
    await pay(chain, "kumasi", f"{order.svc_code}", amount=2500)
    assert (await branch.payment(ID)).standing == "handed"
    left = await join_flow.leave(branch.shop.env, OWNER, force=True)
    assert left["unanswered"] == []
    payment = await branch.payment(ID)
    assert (payment.standing, payment.decider) == ("open", "branch")
    mine = await branch.shop.request(2500)
    assert (await branch.shop.reconcile(mine.reference, ID)).reconciliation_id


@pytest.mark.parametrize("decided", [True, False])
async def test_a_payment_that_comes_during_the_last_answer_reaches_the_hub_or_comes_back(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, decided: bool
) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    order = await chain.hub.request(2500)
    await hub_flow.begin_to_leave(chain.hub.env, branch.wire.key)
    real = branch.wire.call

    async def pay_meanwhile(path: str, body: Any, **named: float) -> dict[str, Any]:
        answer = await real(path, body, **named)
        assert answer["left"] is True
        monkeypatch.setattr(branch.wire, "call", real)
        await pay(chain, "kumasi", str(order.svc_code))
        return answer

    monkeypatch.setattr(branch.wire, "call", pay_meanwhile)
    if not decided:  # as a payment that waits for a person at the hub
        monkeypatch.setattr(hand_up, "decide", lambda *_given, **_named: None)
    await branch.settle()
    if not decided:
        await branch.turn()
    assert branch.shop.env.place.role is ShopRole.ALONE
    status = (await chain.hub_transaction(order.reference)).status
    assert (status is TransactionStatus.SUCCESS) == decided
    assert (await branch.payment(ID)).decider == ("hub" if decided else "branch")


async def test_a_branch_restored_from_an_old_backup_gets_what_the_hub_has(chain: Chain, tmp_path: Path) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    backup = tmp_path / "backup.db"
    await branch.shop.env.store.read(lambda reader: _copy(reader, backup))
    order = await chain.hub.request(2500)
    await pay(chain, "kumasi", str(order.svc_code))
    await pay(chain, "kumasi", "food", telco_id="93214500002")
    await branch.settle()
    epoch = (await branch.link()).epoch

    shop = branch.shop
    shop.env.store.disconnect()
    for end in ("", "-wal", "-shm"):
        Path(shop.env.store.path + end).unlink(missing_ok=True)
    shutil.copy(backup, shop.env.store.path)
    shop.env.store.connect(shop.clock.now_us(), create=False)
    assert await shop.payments() == []

    await join_flow.restore(shop.env, OWNER, branch.wire, take_unknown=True)
    handed = await branch.payment(ID)
    assert (handed.decider, handed.standing) == ("hub", "handed")
    assert (await branch.payment("93214500002")).standing == "open"
    await branch.settle()
    assert (await branch.link()).epoch == epoch + 1
    mine = await shop.request(2500)
    with pytest.raises(Exception, match="PAYMENT_HANDED_UP"):
        await shop.reconcile(mine.reference, ID)


def _copy(reader: Any, target: Path) -> None:
    import sqlite3

    with sqlite3.connect(target) as connection:
        reader.copy_to(connection)
    connection.close()


async def test_a_box_that_decides_nothing_takes_no_orders_and_hands_all_up(chain: Chain) -> None:
    box = await chain.add("box", 7, decides="nothing")
    with pytest.raises(Exception, match="HUB_DECIDES"):
        await box.shop.request(2500)
    await box.shop.read(mtn(2500, "KOFI ANTWI BADU", box.shop.wallet(2500), "food", "93214500009"))
    await box.settle()
    at_hub = await chain.hub_payment("93214500009")
    assert (at_hub.decider, at_hub.standing) == ("hub", "open")
    order = await chain.hub.request(2500)
    assert (await chain.hub.reconcile(order.reference, "93214500009")).reconciliation_id


async def test_a_review_of_a_branch_is_decided_by_the_branch(chain: Chain) -> None:
    from daemon.flows.payments import review

    order = await chain["kumasi"].shop.request(2500, expected_payer_phone="+233201111111")
    await pay(chain, "kumasi", str(order.svc_code))
    await chain["kumasi"].settle()
    (review_id,) = await chain.hub.values("SELECT id FROM reviews WHERE state = 'open'")
    with pytest.raises(Exception, match="BRANCH_ASKED"):
        await review.approve(chain.hub.env, OWNER, review_id, review.Approval())
    await chain["kumasi"].settle()
    assert (await chain.hub_transaction(order.reference)).status is TransactionStatus.SUCCESS
    (by,) = await chain["kumasi"].shop.values("SELECT decided_by FROM reviews")
    assert by == "hub:socket:0"


async def test_history_is_sent_and_sums_agree(tmp_path: Path) -> None:
    chain = await Chain.make(tmp_path)
    iccid = "8923301000000000099"
    with new_database.in_files():
        shop = await FakeShop.make(tmp_path / "old", iccid=iccid, seed=9)
    shop.env.account_key = b"old".ljust(32, b".")
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO shop (id, name, timezone, account_key, created_at) VALUES (1, 'Old', 'UTC', 'ab', 1)"
        )
    )
    for number in range(5):
        receipt = mtn(100 + number, "KOFI ANTWI BADU BEKOE", shop.wallet(100 + number), "food", f"9321450010{number}")
        await shop.read(receipt)
    from tests.fakes.branches import FakeBranch

    branch = FakeBranch(shop, chain.hub, tmp_path / "old")
    await branch.join("old")
    await branch.settle()
    theirs = await chain.hub.env.store.read(lambda reader: restored.sums(reader, branch.id))
    assert theirs == await shop.env.store.read(restored.sums)
    assert sum(one["count"] for one in theirs) == 5
    versions = await chain.hub.values("SELECT MIN(version) FROM payments")
    assert versions[0] > EPOCH
    for recent, days in ((True, 31), (False, None)):
        compared = await join_flow.compare(shop.env, branch.wire, recent=recent)
        assert compared == {"agrees": True, "payments": 5, "hub_payments": 5, "days": days, "different_days": []}
    await chain.hub.env.store.write(lambda tx: tx.run("UPDATE payments SET amount_minor = 99 WHERE amount_minor = 100"))
    wrong = await join_flow.compare(shop.env, branch.wire, recent=True)
    assert (wrong["agrees"], len(wrong["different_days"])) == (False, 1)
    shop.close()
    chain.close()


async def test_a_shop_without_a_hub_writes_no_feed(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    order = await shop.request()
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), str(order.svc_code), ID))
    assert await shop.values("SELECT COUNT(*) FROM feed") == [0]
    assert shop.env.place.role is wire.ShopRole.ALONE
    shop.close()


async def _much_else(shop: FakeShop) -> None:
    """Fill more than one request with other changes."""
    at = shop.clock.now_us()

    await shop.env.store.write(lambda tx: add_modems(tx, ["spare"] * (FACTS_MAX + 1), at))


async def test_an_order_that_was_paid_long_after_it_was_made_goes_with_its_payment(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    order = await branch.shop.request(2500)
    await _much_else(branch.shop)
    await pay(chain, "kumasi", str(order.svc_code))
    (payment,) = await branch.shop.payments()
    await branch.turn()
    assert await chain.hub.values("SELECT kind, why FROM facts_refused") == []
    copy = await chain.hub_transaction(order.reference)
    assert (copy.status, copy.payment_id) == (TransactionStatus.SUCCESS, payment.id)
    await branch.settle()
    assert (await chain.hub_payment(ID)).standing == payment.standing


async def test_a_payment_that_went_before_its_turn_counts_as_sent(chain: Chain) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    order = await branch.shop.request(2500)
    await _much_else(branch.shop)
    await pay(chain, "kumasi", str(order.svc_code))
    (payment,) = await branch.shop.payments()
    before = await branch.link()
    with pytest.raises(Lost):
        await branch.turn(lose_answer=True)
    first = await branch.shop.env.store.read(
        lambda reader: feed.first_entry(reader, "payment", payment.id, before.acked_seq)
    )
    assert first is not None
    assert (await branch.link()).sent_seq >= first > before.acked_seq + FACTS_MAX
