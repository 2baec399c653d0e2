"""A customer enters the network's ID on the checkout page: a hint for the operator that a stranger cannot misuse."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from daemon.core.model import Transaction
from daemon.flows.payments.reconcile import ClaimResult, claim_payment
from daemon.store.payments import reviews as store_reviews
from daemon.wire import Mode, TransactionStatus
from tests.fakes.api import FakeApi, running
from tests.fakes.orders import Orders

STRANGE = "93219999999"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with running(tmp_path) as made:
        yield made


async def suggested(api: FakeApi) -> list[tuple[str, list[str]]]:
    """The orders suggested for the open reviews, with why."""
    now = api.shop.clock.now_us()
    found, _total = await api.shop.env.store.read(
        lambda reader: store_reviews.evidence_page(reader, state="open", mode=Mode.LIVE, limit=10, offset=0, now=now)
    )
    return [(one.request.reference, list(one.reasons)) for each in found for one in each.suggestions]


async def send(api: FakeApi, order: Transaction, telco_id: str) -> httpx.Response:
    client = await api.client()
    return await client.post(f"/pay/{order.public_slug}", data={"transaction_id": telco_id})


async def test_a_payment_without_a_code_is_suggested_for_the_order_of_whoever_names_it(api: FakeApi) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting", customer_name=None)
    telco_id = await orders.pay(order, reference="rice")
    assert await suggested(api) == []
    answer = await send(api, order, f" {telco_id[:5]} {telco_id[5:]}\n")
    assert answer.status_code == 303
    assert await suggested(api) == [(order.reference, ["claimed", "amount"])]
    # It is only suggested: not paid, not held, and the page still waits.
    now = await api.shop.transaction(order.reference)
    assert now.status is TransactionStatus.PENDING
    page = await (await api.client()).get(answer.headers["location"])
    assert "Waiting for your payment" in page.text
    assert "Thank you. The shop will check" in page.text


async def test_a_payment_that_comes_after_it_was_named_is_suggested_too(api: FakeApi) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting", customer_name=None)
    assert (await send(api, order, "93214501000")).status_code == 303
    assert await orders.pay(order, 1700, reference="rice") == "93214501000"
    assert await suggested(api) == [(order.reference, ["claimed"])]


async def test_the_journal_of_the_order_tells_what_was_said(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    await send(api, order, STRANGE)
    lines = (await api.live.get(f"/v1/transactions/{order.reference}/events")).json()["data"]
    assert lines[-1]["actor"] == "customer"
    assert lines[-1]["text"] == (f"The customer says, on the checkout page, that {STRANGE} paid it.")


async def test_the_answer_is_the_same_whatever_the_id_is(api: FakeApi) -> None:
    """Unknown, another customer's, a walk-in's, in review, or claimed before: the answer does not reveal which."""
    orders = Orders(api.shop)
    other = await orders.make("waiting")
    used = await orders.pay(other)
    walk_in = await orders.pay(other, reference="rice")
    extra = await orders.pay(other)
    answers = set()
    for telco_id in (STRANGE, used, walk_in, extra, used):
        order = await orders.make("waiting")
        answer = await send(api, order, telco_id)
        shown = await (await api.client()).get(answer.headers["location"])
        text = shown.text
        for own in (order.public_slug, order.svc_code, "-".join(order.svc_code or "")):
            text = text.replace(str(own), "own")
        text = re.sub(r'<svg.*?</svg>|data-version="\w+"', "", text, flags=re.DOTALL)
        answers.add((answer.status_code, answer.text, text))
    assert len(answers) == 1


@pytest.mark.parametrize("state", ["paid", "cancelled", "reversed"])
async def test_an_order_that_needs_nothing_writes_nothing_down(api: FakeApi, state: str) -> None:
    order = await Orders(api.shop).make(state)
    assert (await send(api, order, STRANGE)).status_code == 303
    assert await api.shop.values("SELECT COUNT(*) FROM payer_claims") == [0]


async def test_the_fourth_id_within_an_hour_is_not_taken(api: FakeApi) -> None:
    order = await Orders(api.shop).make("waiting")
    slug = order.public_slug or ""
    ids = [str(93_219_000_000 + n) for n in range(5)]
    heard = [await claim_payment(api.shop.env, slug, telco_id) for telco_id in ids[:4]]
    assert heard == [ClaimResult.THANKS, ClaimResult.THANKS, ClaimResult.THANKS, ClaimResult.TOO_MANY]
    assert await claim_payment(api.shop.env, slug, ids[0]) is ClaimResult.THANKS  # claimed before: does not count again
    answer = await send(api, order, ids[4])
    assert answer.status_code == 429
    assert "several transaction IDs already" in answer.text
    api.shop.clock.advance(3601)
    assert await claim_payment(api.shop.env, slug, ids[4]) is ClaimResult.THANKS
    assert await api.shop.values("SELECT COUNT(*) FROM payer_claims") == [4]


async def test_one_address_cannot_try_many_orders(api: FakeApi) -> None:
    orders = Orders(api.shop)
    codes = []
    for _ in range(11):
        order = await orders.make("waiting")
        codes.append((await send(api, order, STRANGE)).status_code)
    assert codes == [303] * 10 + [429]
    api.shop.clock.advance(61)
    assert (await send(api, order, STRANGE)).status_code == 303


@pytest.mark.parametrize("text", ["", "hello", "12", "9" * 30, "'; DROP TABLE payments; --", "\x00"])
async def test_what_is_no_transaction_id_is_asked_for_again(api: FakeApi, text: str) -> None:
    order = await Orders(api.shop).make("waiting")
    answer = await send(api, order, text)
    assert answer.status_code == 422
    assert "does not look like a transaction ID" in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert "DROP" not in answer.text
    assert await api.shop.values("SELECT COUNT(*) FROM payer_claims") == [0]


@pytest.mark.parametrize("body", [b"", b"%", b"transaction_id", b"\xff\xfe", b"a=" + b"x" * 90_000])
async def test_no_body_is_a_fault_of_ours(api: FakeApi, body: bytes) -> None:
    order = await Orders(api.shop).make("waiting")
    client = await api.client()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await client.post(f"/pay/{order.public_slug}", content=body, headers=kind)
    assert answer.status_code == 422
    assert api.log.lines == []


async def test_a_page_that_is_not_there_takes_nothing(api: FakeApi) -> None:
    client = await api.client()
    answer = await client.post("/pay/0000000000000000000000", data={"transaction_id": STRANGE})
    assert answer.status_code == 404
    assert answer.text == (await client.get("/pay/0000000000000000000000")).text
