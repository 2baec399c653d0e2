"""A hub and a branch as real programs: an order of head office is paid at the branch, whatever is killed meanwhile."""

import random
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from tests.fakes.invariants import check_invariants
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop, pause, utc_now, wait_until
from tests.fakes.receipts import mtn_receipts
from tests.fakes.receiver import Receiver
from tests.fakes.seed import seed
from tests.fakes.tiers import share

SETTLED_S = 240.0
"""The longest pause between two tries of the branch is 300 s, and it has failed a few times only."""


@dataclass(frozen=True, slots=True)
class Office:
    """A hub with a receiver of webhooks, and a branch with a phone."""

    hub: RealShop
    branch: RealShop
    phone: PhoneProcess
    receiver: Receiver
    address: str

    def start_hub(self) -> None:
        self.hub.start(http=self.address)

    def join(self) -> dict[str, Any]:
        self.hub.momo("hub", "init")
        word = self.hub.momo("hub", "invite", "kumasi", "--json").stdout
        import json

        given = json.loads(word)["data"]["word"]
        done = self.branch.momo("branch", "join", f"http://{self.address}", given, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        joined: dict[str, Any] = json.loads(done.stdout)["data"]
        return joined


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{found.getsockname()[1]}"
    with (
        Receiver(tmp_path / "receiver") as receiver,
        PhoneProcess(tmp_path / "tty") as phone,
        RealShop(
            tmp_path / "hub", phone=tmp_path / "none", ca_file=receiver.ca_file,
            short_schedule=True, name="Head office",
        ) as hub,
        RealShop(tmp_path / "branch", phone=phone.link, name="Kumasi") as branch,
    ):  # fmt: skip
        made = Office(hub, branch, phone, receiver, address)
        branch.begin_chain(50_000)
        branch.start()
        branch.assign("0244124567")
        made.start_hub()
        secret = hub.add_endpoint(receiver.url())
        receiver.secrets = [secret, hub.keys.webhook_secret]
        yield made


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_an_order_of_head_office_is_paid_at_a_branch(office: Office) -> None:
    joined = office.join()
    assert (joined["name"], joined["hub"]) == ("kumasi", "Head office")
    order = office.hub.request("25.00")
    assert order["svc_code"][0].isdigit()
    receipt = next(mtn_receipts(1, started=utc_now(), references=[order["svc_code"]]))

    office.phone.deliver(receipt.pdus)

    wait_until(lambda: _paid(office.hub, [order]), SETTLED_S, "the order is paid at the hub")
    wait_until(lambda: office.receiver.requests or None, SETTLED_S, "the hub's webhook")
    status = wait_until(lambda: _caught_up(office.branch), SETTLED_S, "the branch has sent all")
    assert status["handed_up"] == 1
    wait_until(lambda: _told(office.branch), SETTLED_S, "the branch was told")
    rows = office.hub.ask("GET", wire.Path.LOCAL_HUB)
    assert [(row["name"], row["payments"], row["refused"]) for row in rows] == [("kumasi", 1, 0)]


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_kills_of_hub_and_branch_lose_and_double_nothing(office: Office) -> None:
    office.join()
    rng = random.Random(seed())
    kills, count = share(60), share(300)
    orders = [office.hub.request("25.00") for _number in range(count // 3)]
    codes = [order["svc_code"] for order in orders]
    plan = list(mtn_receipts(count, started=utc_now(), references=codes))
    for number in range(kills):
        for receipt in plan[count * number // kills : count * (number + 1) // kills]:
            office.phone.deliver(receipt.pdus)
        pause(rng.random() * office.branch.slowness)
        if rng.random() < 0.5:
            office.hub.kill()
            office.start_hub()
        else:
            office.branch.kill()
            office.branch.start()
    wait_until(lambda: _paid(office.hub, orders), SETTLED_S, "every order is paid")
    wait_until(lambda: _stored(office.branch, count), SETTLED_S, "every receipt is stored")
    wait_until(lambda: _caught_up(office.branch), SETTLED_S, "the branch has sent all")
    assert _sums(office.branch) == _sums(office.hub)
    assert office.hub.rows("SELECT COUNT(*) FROM facts_refused") == [(0,)]
    assert _payments(office.branch) == _payments(office.hub)
    office.branch.stop()
    office.hub.stop()
    check_invariants(office.branch.places.database)
    check_invariants(office.hub.places.database)


def _paid(hub: RealShop, orders: list[dict[str, Any]]) -> bool | None:
    verified = {"SUCCESS", "PARTIAL", "OVERPAID"}
    return (
        all(hub.transaction(order["reference"])["status"] in verified for order in orders) or None
    )


def _stored(branch: RealShop, count: int) -> bool | None:
    return branch.rows("SELECT COUNT(*) FROM payments") == [(count,)] or None


def _caught_up(branch: RealShop) -> dict[str, Any] | None:
    status: dict[str, Any] = branch.ask("GET", wire.Path.LOCAL_BRANCH)
    return status if status["behind"] == 0 and status["problem"] is None else None


def _told(branch: RealShop) -> bool | None:
    return branch.ask("GET", wire.Path.LOCAL_BRANCH)["undecided"] == 0 or None


def _payments(shop: RealShop) -> list[tuple[Any, ...]]:
    return shop.rows(
        "SELECT id, telco_transaction_id, amount_minor, decider FROM payments ORDER BY id"
    )


def _sums(shop: RealShop) -> list[tuple[Any, ...]]:
    day = "stored_at / 86400000000"
    return shop.rows(
        f"SELECT {day}, COUNT(*), SUM(amount_minor) FROM payments GROUP BY {day} ORDER BY 1"
    )
