"""The day sheet of one branch at its hub is the branch's own, and that of all counts each payment once."""

from datetime import UTC
from typing import Any

from daemon.steps.books.day_sheet import read_buckets, read_sheet
from daemon.store.books.day_sheet import Period, by_group
from daemon.store.engine import Reader
from daemon.store.payments.payment_list import PaymentFilter, listed
from parsers.times import to_us
from tests.fakes.branches import FIRST_ID, Chain
from tests.fakes.receipts import STARTED, mtn
from tests.fakes.shop import FakeShop

SINCE = to_us(STARTED) - 3_600_000_000
UNTIL = SINCE + 86_400_000_000


async def sheet(shop: FakeShop, branch: str | None = None) -> dict[str, Any]:
    period = Period(SINCE, UNTIL, branch=branch)
    return dict(await shop.env.store.read(lambda reader: read_sheet(reader, period, None)))


def sums(found: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """Return number and amount of each outcome."""
    if not found["sheets"]:
        return {}
    (one,) = found["sheets"]
    kinds = ("paid", "short", "unmatched", "money_in")
    return {kind: (one["all"][kind]["count"], one["all"][kind]["amount"]) for kind in kinds}


async def busy(chain: Chain) -> None:
    for place, name in enumerate(("kumasi", "tamale")):
        branch = chain[name]
        order = await branch.shop.request(900)
        await branch.pay(str(order.svc_code), f"9321450{place}010", 900)
        await branch.pay("food", f"9321450{place}011", 1_100 + place)
        await branch.settle()


async def test_a_branch_has_the_same_sheet_here_and_there(chain: Chain) -> None:
    await busy(chain)
    for name in ("kumasi", "tamale"):
        there = await sheet(chain[name].shop)
        here = await sheet(chain.hub, name)
        assert sums(here) == sums(there)
        assert (here["branch"], there["branch"]) == (name, None)
    every = await sheet(chain.hub)
    assert sums(every)["money_in"] == (4, "40.01")
    assert sums(every)["paid"] == (2, "18.00")
    assert (await sheet(chain.hub, "nowhere"))["sheets"] == []


async def test_rows_by_hour_and_payer_and_the_newest_are_of_the_branch(chain: Chain) -> None:
    await busy(chain)
    period = Period(SINCE, UNTIL, branch="tamale")

    def look(reader: Reader) -> tuple[Any, Any, Any]:
        return (
            read_buckets(reader, period, UTC, "hour"),
            by_group(reader, period, "payer", limit=9, offset=0),
            listed(reader, PaymentFilter(branch="tamale"), limit=9)[0],
        )

    hours, (payers, total), newest = await chain.hub.env.store.read(look)
    assert [(row["count"], row["amount"]) for row in hours] == [(2, "20.01")]
    assert (total, payers[0][3:]) == (1, (2, 2_001))
    assert {one.payment.branch_id for one in newest} == {chain["tamale"].id}


async def test_what_two_branches_have_counts_once_for_all_and_for_each_of_them(chain: Chain) -> None:
    for name in ("kumasi", "tamale"):
        await chain[name].shop.read(mtn(2500, "KOFI ANTWI BADU", 92_500, "food", FIRST_ID))
        await chain[name].shop.env.store.write(lambda tx: tx.run("UPDATE payments SET sim_key = 'the SIM that moved'"))
        await chain[name].settle()
    assert sums(await sheet(chain.hub))["money_in"] == (1, "25.00")
    for name in ("kumasi", "tamale"):
        assert sums(await sheet(chain.hub, name))["money_in"] == (1, "25.00")
