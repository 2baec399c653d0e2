"""A hub and a branch as real programs, joined by their commands: an order of head office is paid at the branch."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from tests.acceptance.conftest import SHOP_NUMBER
from tests.fakes import postgresql
from tests.fakes.head_office import QUIET_S, HeadOffice
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import SOON_S, RealShop, utc_now, wait_until
from tests.fakes.receipts import mtn_receipts
from tests.fakes.receiver import Receiver
from tests.fakes.small_disk import fill, small_disk
from tests.fakes.tiers import LONG


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
    assert [(row["name"], row["payments_today"], row["refused"]) for row in rows] == [("kumasi", 1, 0)]


SERVER_BYTES = 160 << 20
BRANCH_BYTES = 64 << 20
MANY = 20
"""More rows than fit into the pages that a table of the server has already."""
HEALED_S = 120.0
"""A branch that has failed a few times waits for up to a minute."""


@pytest.fixture
def disks() -> Iterator[tuple[Path, Path]]:
    """Two small disks; their paths are short, because sockets are made there."""
    with tempfile.TemporaryDirectory(prefix="momo-disk-") as folder:
        Path(folder).chmod(0o755)
        with (
            small_disk(Path(folder, "a"), SERVER_BYTES) as first,
            small_disk(Path(folder, "b"), BRANCH_BYTES) as second,
        ):
            yield first, second


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_full_disk_on_either_side_loses_nothing(disks: tuple[Path, Path], tmp_path: Path) -> None:
    if not postgresql.is_installed():
        pytest.skip("PostgreSQL's server is not installed")
    with (
        postgresql.Cluster(postgresql.SETTINGS[0], within=disks[0]) as server,
        Receiver(tmp_path / "receiver") as receiver,
        PhoneProcess(tmp_path / "tty") as phone,
        RealShop(
            tmp_path / "hub", ca_file=receiver.ca_file, short_schedule=True, name="Head office",
            url=server.new_database(),
        ) as hub,
        RealShop(disks[1] / "branch", phone=phone.link, name="Kumasi") as branch,
    ):  # fmt: skip
        branch.log = tmp_path / "branch.log"
        branch.begin_chain(50_000)
        branch.start()
        branch.assign(SHOP_NUMBER)
        hub.start(arguments=["--no-modem"])
        receiver.secrets = [hub.add_endpoint(receiver.url()), hub.keys.webhook_secret]
        _join(branch, hub)
        wait_until(lambda: _status(branch)["behind"] == 0, HEALED_S, "the branch has sent all")
        orders = [hub.request("25.00") for _number in range(2)]
        codes = [order["svc_code"] for order in orders]
        receipts = list(mtn_receipts(1 + MANY, started=utc_now(), references=codes))

        ballast = fill(disks[1])
        phone.deliver(receipts[0].pdus)
        wait_until(lambda: _not_storing(branch), SOON_S, "the branch stores nothing")
        assert not phone.is_empty()
        for path in ballast:
            path.unlink()
        wait_until(phone.is_empty, HEALED_S, "the phone is read")
        wait_until(lambda: _paid(hub, orders[0]), HEALED_S, "the order is paid at the hub")

        ballast = fill(disks[0])
        for receipt in receipts[1:]:
            phone.deliver(receipt.pdus)
        wait_until(phone.is_empty, HEALED_S, "the branch stores its SMS")
        said = wait_until(lambda: _status(branch)["problem"], SOON_S, "the branch says why")
        assert "cannot write" in said
        assert _status(branch)["behind"] > 0
        assert hub.rows("SELECT COUNT(*) FROM payments") < [(1 + MANY,)]
        assert hub.rows("SELECT COUNT(*) FROM facts_refused") == [(0,)]
        for path in ballast:
            path.unlink()
        if not LONG:  # the hub has asked it to wait for half a minute
            branch.kill()
            branch.start()
        wait_until(lambda: _paid(hub, orders[1]), HEALED_S, "the order is paid at the hub")

        receiver.wait_for(2, SOON_S)
        wait_until(lambda: _status(branch)["behind"] == 0, HEALED_S, "the branch has sent all")
        assert _status(branch)["problem"] is None
        ids = "SELECT id, telco_transaction_id, amount_minor FROM payments ORDER BY id"
        assert hub.rows(ids) == branch.rows(ids)
        assert len(hub.rows(ids)) == 1 + MANY
        assert hub.rows("SELECT COUNT(*) FROM facts_refused") == [(0,)]
        branch.stop()
        hub.stop()


def _join(branch: RealShop, hub: RealShop) -> None:
    hub.momo("hub", "init", "--yes")
    word = json.loads(hub.momo("hub", "invite", "kumasi", "--json").stdout)["data"]["word"]
    done = branch.momo("hub", "join", f"http://{hub.http}", word, "--json")
    assert done.returncode == 0, done.stdout + done.stderr


def _status(branch: RealShop) -> dict[str, Any]:
    found: dict[str, Any] = branch.ask("GET", wire.Path.LOCAL_BRANCH)
    return found


def _paid(hub: RealShop, order: dict[str, Any]) -> bool:
    return hub.transaction(order["reference"])["status"] in {"SUCCESS", "PARTIAL", "OVERPAID"}


def _not_storing(shop: RealShop) -> bool:
    phones = shop.ask("GET", wire.Path.LOCAL_STATUS)["phones"]
    return any(phone["state"] in ("not_storing", "not_deleting") for phone in phones)
