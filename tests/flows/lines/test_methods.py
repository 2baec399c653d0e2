"""Register and move merchant numbers: the stored rows and journal entries (the refusals are in tests/api)."""

import json

import pytest

from daemon.core.errors import Refusal
from daemon.core.lines.line_json import MethodChanges, NewMethod, Slot
from daemon.core.model import Event, PaymentMethod
from daemon.flows.lines.payment_methods import change, create
from daemon.wire import ErrorCode
from tests.fakes.shop import METHOD_ID, OWNER, FakeShop

NEW = NewMethod("momo_mtn", "+233554567890", "Ama Mensah")


async def moved(shop: FakeShop) -> list[Event]:
    return await shop.rows(Event, "events", "type LIKE 'payment_method.%'")


async def test_a_new_number_is_told_in_the_journal(shop: FakeShop) -> None:
    made = (await create(shop.env, OWNER, NEW)).method.id
    [event] = await moved(shop)
    assert (event.type, event.actor, json.loads(event.data)) == (
        "payment_method.created",
        "socket:0",
        {"payment_method_id": made, "provider": "momo_mtn", "sim": None},
    )


@pytest.mark.parametrize(
    ("number", "warned"),
    [
        ("+233204567890", ["0204567890 is in Telecel's number range, not in MTN's"]),
        ("+233274567890", ["0274567890 is in AT's number range, not in MTN's"]),
        ("+233554567890", []),
        ("+233234567890", []),
    ],
)
async def test_a_number_of_another_networks_range_is_taken_with_a_warning(
    number: str, warned: list[str], shop: FakeShop
) -> None:
    new = NewMethod("momo_mtn", number, "Ama Mensah")
    told = (await create(shop.env, OWNER, new)).warnings
    assert [one.partition(": unless")[0] for one in told] == warned


async def test_a_new_account_name_is_in_the_journal_without_the_name(shop: FakeShop) -> None:
    record, _ = await change(shop.env, OWNER, METHOD_ID, MethodChanges(account_name="Ama Ventures"))
    assert record.sim is not None
    assert (record.account_name, record.sim.slot_index) == ("Ama Ventures", 0)
    [event] = await moved(shop)
    assert (event.type, "Ama" in event.data) == ("payment_method.renamed", False)


async def test_a_corrected_number_stays_on_its_sim_and_is_not_in_the_journal(shop: FakeShop) -> None:
    changes = MethodChanges(phone_number="+233204567890")
    record, warned = await change(shop.env, OWNER, METHOD_ID, changes)
    assert record.sim is not None
    assert (record.phone_number, record.sim.slot_index) == ("+233204567890", 0)
    assert warned == [
        "0204567890 is in Telecel's number range, not in MTN's: unless it was ported, check the provider."
    ]
    [event] = await moved(shop)
    assert (event.type, "0456" in event.data) == ("payment_method.renumbered", False)


async def test_a_number_that_is_registered_already_is_no_correction(shop: FakeShop) -> None:
    await create(shop.env, OWNER, NEW)
    with pytest.raises(Refusal) as caught:
        await change(shop.env, OWNER, METHOD_ID, MethodChanges(phone_number=NEW.phone_number))
    assert caught.value.code is ErrorCode.PAYMENT_METHOD_EXISTS


async def test_a_refused_number_leaves_no_trace(shop: FakeShop) -> None:
    new = NewMethod("momo_mtn", "+233554567890", "Ama", sim=Slot(shop.source.device_id, 0))
    with pytest.raises(Refusal) as caught:
        await create(shop.env, OWNER, new)
    assert caught.value.code is ErrorCode.SIM_ALREADY_ASSIGNED
    assert len(await shop.rows(PaymentMethod, "payment_methods")) == 1
    assert await moved(shop) == []
