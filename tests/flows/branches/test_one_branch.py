"""A user or an API key of one branch: what the lists, sums and counts of the store say to it, and its end with the branch."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from daemon.core.access.callers import Caller, CallerKind, KeyKind
from daemon.core.errors import Refusal
from daemon.core.inputs import InitializeRequest
from daemon.flows.access import keys, users
from daemon.flows.payments import cancel_expire, initialize
from daemon.steps.books.day_sheet import read_totals
from daemon.store import journal
from daemon.store.access import users as store_users
from daemon.store.books.day_sheet import Period
from daemon.store.branches.scope import BranchReader, store_of, tables
from daemon.store.engine import Reader
from daemon.store.payments import payment_list, reviews, transaction_list
from daemon.store.payments.payment_list import PaymentFilter
from daemon.store.payments.transaction_list import TransactionFilter
from daemon.wire import ErrorCode, Mode, Role
from tests.fakes.branches import Chain
from tests.fakes.shop import OWNER


def said(chain: Chain, branch_id: str | None) -> Any:
    """Return what the lists and sums of the hub say to a caller of a branch; None: to head office."""
    now = chain.hub.clock.now_us()

    def read(whole: Reader) -> Any:
        reader = whole if branch_id is None else BranchReader(whole, branch_id)
        wanted = [TransactionFilter(origin="all"), TransactionFilter(origin="all", search="kofi"), TransactionFilter()]
        return (
            [transaction_list.transactions(reader, one, now=now, limit=50, offset=0) for one in wanted],
            payment_list.listed(reader, PaymentFilter(), limit=50),
            payment_list.totals(reader, PaymentFilter(search="kofi"), most=100),
            reviews.page(reader, state=None, mode=None, limit=50, offset=0),
            read_totals(reader, Period(0, now + 1, Mode.LIVE), ZoneInfo("Africa/Accra")),
            transaction_list.unsettled(reader, Mode.LIVE),
            [reader.count(f"SELECT COUNT(*) FROM {table}") for table in sorted(tables() - {"idempotency_keys"})],
        )

    return chain.hub.env.store.read(read)


async def work(chain: Chain, name: str) -> None:
    """Take a sale, a paid order and a short one at a branch, and send them."""
    branch = chain.branches[name]
    start = 93_214_500_001 + 1000 * sorted(chain.branches).index(name)
    await branch.pay("rice", str(start))
    for minor, at in ((2500, 1), (2000, 2)):
        order = await branch.shop.request(amount_minor=2500)
        await branch.pay(order.svc_code or "", str(start + at), minor)
    await branch.settle()


async def test_lists_sums_and_counts_are_those_of_the_branch(chain: Chain) -> None:
    await work(chain, "kumasi")
    kumasi = chain.branches["kumasi"].id
    before = await said(chain, kumasi)
    assert before[0][0][1] == 3
    await work(chain, "tamale")
    order = await chain.hub.request()
    assert await said(chain, kumasi) == before
    assert await said(chain, None) != before
    of = Caller(CallerKind.KEY, Mode.LIVE, frozenset(), "k", False, "key:k", branch_id=kumasi)
    for reference in (order.reference, (await said(chain, None))[0][2][0][0][0].reference):
        with pytest.raises(Refusal) as refused:
            await cancel_expire.cancel(chain.hub.env, of, reference)
        assert refused.value.code is ErrorCode.TRANSACTION_NOT_FOUND


async def test_money_that_pays_an_order_of_the_branch_here_is_seen_by_it(chain: Chain) -> None:
    kumasi, tamale = chain.branches["kumasi"], chain.branches["tamale"]
    of = Caller(CallerKind.KEY, Mode.LIVE, frozenset(), "k", False, "key:k", branch_id=kumasi.id)
    asked = InitializeRequest(amount_minor=2500, currency="GHS", phone_number="+233241234567")
    order = (await initialize.initialize(chain.hub.env, of, asked)).transaction
    await tamale.pay(order.svc_code or "")
    await tamale.settle()
    store = store_of(chain.hub.env.store, of)
    found = await store.look(lambda reader: transaction_list.by_id(reader, order.id, None))
    assert found is not None
    assert (found[0].status, found[1] and found[1].amount_minor) == ("SUCCESS", 2500)
    other = store_of(chain.hub.env.store, Caller(of.kind, of.mode, of.scopes, "l", False, "key:l", branch_id=tamale.id))
    assert await other.look(lambda reader: transaction_list.by_id(reader, order.id, None)) is None


async def test_users_and_keys_end_with_their_branch_and_are_named(chain: Chain) -> None:
    hub, kumasi = chain.hub, chain.branches["kumasi"]
    await users.add(hub.env, OWNER, "efua", Role.VIEWER, "long enough", "kumasi")
    new = keys.NewKey("web shop", Mode.LIVE, KeyKind.PUBLISHABLE, frozenset(), None, "kumasi")
    made = await keys.create(hub.env, OWNER, new)
    await keys.create(
        hub.env, OWNER, keys.NewKey("of tamale", Mode.LIVE, KeyKind.PUBLISHABLE, frozenset(), None, "tamale")
    )
    await kumasi.wire.call("/v1/branch/leave", {})
    await kumasi.settle()
    await kumasi.turn()

    def read(reader: Reader) -> Any:
        told = [event.data for event in journal.after(reader, 0) if event.type == "notice.branch_left"]
        ended = [key.name for key in store_users.known_keys(reader) if key.revoked_at is not None]
        return told, ended, store_users.named(reader, "efua")

    told, ended, efua = await hub.env.store.read(read)
    assert len(told) == 1
    assert "efua, web shop" in told[0]
    assert made.row.name in ended
    assert "of tamale" not in ended
    assert efua.disabled_at is not None
    with pytest.raises(Refusal) as refused:
        await users.set_disabled(hub.env, OWNER, "efua", disabled=False)
    assert "has left this hub" in str(refused.value.message)
