"""A hub and a branch as real programs, joined by their commands: an order of head office is paid at the branch."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon import wire
from tests.fakes.head_office import QUIET_S, HeadOffice
from tests.fakes.real_shop import wait_until


@pytest.fixture
def office(tmp_path: Path) -> Iterator[HeadOffice]:
    with HeadOffice(tmp_path, names=("kumasi",)) as made:
        made.start()
        yield made


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_an_order_of_head_office_is_paid_at_a_branch(office: HeadOffice) -> None:
    (branch,) = office.branches
    office.hub.momo("hub", "init", "--yes")
    invited = json.loads(office.hub.momo("hub", "invite", "kumasi", "--json").stdout)["data"]
    done = branch.shop.momo("hub", "join", office.url, invited["word"], "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    joined = json.loads(done.stdout)["data"]
    assert (joined["name"], joined["hub"]) == ("kumasi", "Head office")
    order = office.hub.request("25.00")
    assert order["svc_code"][0].isdigit()

    branch.pay(order["svc_code"])

    verified = {"SUCCESS", "PARTIAL", "OVERPAID"}
    wait_until(
        lambda: office.hub.transaction(order["reference"])["status"] in verified,
        QUIET_S,
        "the order is paid at the hub",
    )
    wait_until(lambda: office.receiver.requests or None, QUIET_S, "the hub's webhook")
    office.wait_until_quiet()
    assert branch.status()["handed_up"] == 1
    rows = office.hub.ask("GET", wire.Path.LOCAL_HUB)
    assert [(row["name"], row["payments_today"], row["refused"]) for row in rows] == [
        ("kumasi", 1, 0)
    ]
