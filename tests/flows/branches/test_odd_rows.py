"""Rows that a hub cannot store or read: each is kept aside, and the others go on."""

import random
import string
from typing import Any

import pytest

from tests.fakes import new_database
from tests.fakes.branches import FIRST_ID, Chain

OTHER = "93214500002"


async def spoiled(chain: Chain, kind: str, column: str, value: Any) -> list[str]:
    """Send two payments, one row of the first one with another value; return why it was refused."""
    branch = chain["kumasi"]
    await branch.pay("food")
    await branch.pay("food", OTHER)
    facts = await branch.facts()
    part = "message" if kind == "message" else "row"
    odd = next(one for one in facts if part in one and kind in (one["kind"], "message"))
    odd[part] = {**odd[part], column: value}
    await branch.send(*facts)
    assert (await chain.hub_payment(OTHER)).amount_minor == 2500
    why = await chain.hub.values("SELECT why FROM facts_refused ORDER BY version")
    await chain.hub.env.store.write(lambda tx: tx.run("DELETE FROM facts_refused"))
    return [str(each) for each in why]


@pytest.mark.parametrize(
    ("kind", "column", "value"),
    [
        ("payment", "amount_minor", "a lot"), ("payment", "amount_minor", 10**18), ("payment", "currency", "EUR"),
        ("payment", "stored_at", 1 << 61), ("payment", "provider", "momo_new"), ("payment", "payer_name", "a\0b"),
        ("payment", "reference_text", ["x"]), ("message", "fields", "[]"), ("message", "trusted", 2),
        ("transaction", "meta", "not JSON"), ("transaction", "meta", "[" * 99_999), ("transaction", "late", 0.5),
        ("transaction", "mode", "dream"),
    ],
)  # fmt: skip
async def test_a_value_that_the_hub_could_not_read_is_not_stored(
    chain: Chain, kind: str, column: str, value: Any
) -> None:
    why = await spoiled(chain, kind, column, value)
    assert f"the {kind}'s {column}" in why[0]


async def test_a_text_that_is_too_long_for_an_index_does_not_stop_the_feed(chain: Chain) -> None:
    rng = random.Random(1)
    long = "".join(rng.choices(string.ascii_uppercase + string.digits, k=20_000))
    why = await spoiled(chain, "payment", "telco_transaction_id", long)
    if new_database.on_postgresql():
        assert "maximum" in why[0]
    else:
        assert why == []
    assert chain.hub.env.store.fault is None
    assert (await chain["kumasi"].payment(FIRST_ID)).amount_minor == 2500
