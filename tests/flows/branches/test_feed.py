"""The facts that a branch sends to its hub."""

from tests.fakes.branches import Chain
from tests.fakes.receipts import mtn


async def test_a_payment_goes_up_as_two_rows_and_the_journal_stays_at_the_branch(
    chain: Chain,
) -> None:
    branch = chain["kumasi"]
    await branch.settle()
    before = set(await chain.hub.values("SELECT kind FROM branch_facts"))
    await branch.shop.read(
        mtn(2500, "KOFI ANTWI BADU", branch.shop.wallet(2500), "food", "93214500001")
    )
    await branch.turn()
    assert [fact["kind"] for fact in branch.last_body["facts"]] == ["payment", "transaction"]
    assert (
        set(await chain.hub.values("SELECT kind FROM branch_facts")) == before == {"device", "sim"}
    )
