"""An unusable database: the daemon keeps running, reports the cause, deletes no SMS, and recovers by itself.

Full and read-only disks are small file systems of their own, which only root can mount.
"""

import contextlib
import json
import random
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from daemon.runtime.files import BALLAST
from tests.acceptance.conftest import SHOP_NUMBER
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import SOON_S, RealShop, pause, utc_now, wait_until
from tests.fakes.receipts import Receipt, mtn_receipts
from tests.fakes.receiver import Receiver
from tests.fakes.small_disk import fill, small_disk
from tests.fakes.tiers import share

DISK_BYTES = 160 << 20
"""The reserve is made only where more than 100 MB are free."""
PAGE = 4096
RECEIPTS = 12
HEALED_S = 150.0
"""The database is tried again every few seconds, and swapped parts wait six seconds for rivals."""
ORDER = {"amount": "1.00", "phone_number": "0244123456"}
SEEDS = pytest.mark.parametrize("seed", range(share(20, 2)))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    with small_disk(tmp_path / "disk", DISK_BYTES) as folder:
        yield folder


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[PhoneProcess]:
    """A phone on a pty."""
    with PhoneProcess(tmp_path / "tty") as made:
        yield made


@contextlib.contextmanager
def shop_on(folder: Path, phone: PhoneProcess, log: Path) -> Iterator[RealShop]:
    """A running shop with its number on the phone's SIM."""
    with RealShop(folder / "shop", phone=phone.link) as shop:
        shop.log = log
        shop.start()
        shop.assign(SHOP_NUMBER)
        yield shop


def problems(shop: RealShop) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shop.ask("GET", wire.Path.LOCAL_STATUS)["problems"]
    return found


def names_cause(shop: RealShop, cause: wire.FaultCause) -> dict[str, Any]:
    """Wait until the status names a cause; return its problem. Every other view must name it too."""

    def look() -> dict[str, Any] | None:
        return next((one for one in problems(shop) if one["cause"] == cause), None)

    try:
        found = wait_until(look, SOON_S, f"the status names {cause}")
    except AssertionError as late:
        late.add_note(f"it says {problems(shop)}")
        raise
    notices = shop.ask("GET", wire.Path.LOCAL_NOTICES)
    assert (notices[0]["kind"], notices[0]["urgent"]) == (f"fault.{cause}", True)
    assert shop.api("GET", f"{wire.Path.LOCAL_DOCTOR}?area=disk")[0] == 200
    with urllib.request.urlopen(f"http://{shop.http}{wire.Path.METRICS}", timeout=20) as answer:
        assert f'momo_problem{{cause="{cause}"}} 1.0' in answer.read().decode()
    with urllib.request.urlopen(f"http://{shop.http}{wire.Path.HEALTH}", timeout=20) as answer:
        assert json.load(answer)["data"]["status"] == "degraded"
    said = shop.momo("status", "--fail-if-unhealthy")
    assert said.returncode == 6
    assert found["text"].partition(":")[0] in said.stderr.replace("\n", " ")
    return found


def refuses_orders(shop: RealShop, cause: wire.FaultCause) -> None:
    status, answer = shop.api("POST", wire.Path.INITIALIZE, ORDER)
    assert (status, answer["error"]["code"]) == (503, wire.ErrorCode.UNAVAILABLE), answer
    assert answer["error"]["cause"] == cause
    assert answer["error"]["hint"]


def lets_nothing_go(phone: PhoneProcess, pdus: Sequence[str]) -> None:
    """The SMS stay on the SIM, also after the next sweep."""
    pause(3)
    stored = [entry["pdu"] for entry in phone.state()["stored"]]
    assert [pdu for pdu in pdus if pdu not in stored] == []


def receipts_for(seed: int) -> list[Receipt]:
    return list(mtn_receipts(RECEIPTS, seed, started=utc_now()))


def has_all(shop: RealShop, phone: PhoneProcess, receipts: Sequence[Receipt]) -> None:
    """Every SMS that left the SIM is a message once, and every receipt a payment once."""
    wait_until(phone.is_empty, HEALED_S, "the phone is read to the end")
    ids = sorted(receipt.telco_id for receipt in receipts)

    def paid() -> bool:
        rows = shop.rows("SELECT telco_transaction_id FROM payments ORDER BY 1")
        return [row[0] for row in rows] == ids

    try:
        wait_until(paid, HEALED_S, "every receipt is a payment")
    except AssertionError as late:
        late.add_note(f"{shop.rows('SELECT state, trusted, reasons, parts_seen FROM messages')}")
        raise
    deleted = set(phone.deleted_pdus())
    (count,) = shop.rows("SELECT COUNT(*) FROM sms_parts")[0]
    assert count == len(deleted)


def is_healthy(shop: RealShop) -> bool:
    with contextlib.suppress(OSError):
        return bool(shop.ask("GET", wire.Path.LOCAL_STATUS)["state"] == "ok")
    return False


@pytest.mark.slow
@SEEDS
def test_a_shop_killed_on_a_full_disk_comes_up_with_its_reserve(
    disk: Path, phone: PhoneProcess, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    receipts = receipts_for(seed)
    with shop_on(disk, phone, tmp_path / "daemon.log") as shop:
        ballast = Path(shop.home) / BALLAST
        wait_until(ballast.exists, SOON_S, "the reserve")
        for receipt in receipts[:3]:
            phone.deliver(receipt.pdus)
        pause(rng.random())
        shop.kill()
        fill(disk)
        for _ in range(3):
            shop.start()
            shop.kill()
        assert not ballast.exists()
        shop.start()
        # The reserve is enough for messages.
        for receipt in receipts[3:6]:
            phone.deliver(receipt.pdus)
        has_all(shop, phone, receipts[:6])
        shop.kill()
        filler = fill(disk)
        shop.start()
        names_cause(shop, wire.FaultCause.DISK_FULL)
        refuses_orders(shop, wire.FaultCause.DISK_FULL)
        late = receipts[6:]
        for receipt in late:
            phone.deliver(receipt.pdus)
        lets_nothing_go(phone, [pdu for receipt in late for pdu in receipt.pdus])
        for path in filler:
            path.unlink()
        wait_until(lambda: is_healthy(shop), HEALED_S, "the shop heals by itself")
        has_all(shop, phone, receipts)
        shop.stop()


@pytest.mark.slow
@SEEDS
def test_a_read_only_disk_is_named_and_the_shop_heals(
    disk: Path, phone: PhoneProcess, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    receipts = receipts_for(seed)
    with contextlib.ExitStack() as stack:
        shop = stack.enter_context(shop_on(disk, phone, tmp_path / "daemon.log"))
        phone.deliver(receipts[0].pdus)
        has_all(shop, phone, receipts[:1])
        # A disk with open files cannot be remounted read-only, so the daemon starts on it.
        shop.stop()
        stack.enter_context(_writable(Path(shop.places.socket).parent))
        _remount(disk, "ro")
        shop.start()
        found = names_cause(shop, wire.FaultCause.DATABASE_READ_ONLY)
        assert found["next"] == "momo doctor disk"
        refuses_orders(shop, wire.FaultCause.DATABASE_READ_ONLY)
        late = receipts[1 : 2 + rng.randrange(RECEIPTS - 2)]
        for receipt in late:
            phone.deliver(receipt.pdus)
        lets_nothing_go(phone, [pdu for receipt in late for pdu in receipt.pdus])
        _remount(disk, "rw")
        wait_until(lambda: is_healthy(shop), HEALED_S, "the shop heals by itself")
        has_all(shop, phone, receipts[: 1 + len(late)])
        shop.stop()


@pytest.mark.slow
@pytest.mark.parametrize("was_killed", [False, True])
def test_a_folder_of_the_socket_that_cannot_be_written_at_the_start_stops_no_intake(
    disk: Path, phone: PhoneProcess, tmp_path: Path, was_killed: bool
) -> None:
    receipts = receipts_for(1)[:2]
    with contextlib.ExitStack() as stack:
        shop = stack.enter_context(shop_on(disk, phone, tmp_path / "daemon.log"))
        folder = Path(shop.places.socket).parent
        shop.stop()
        stack.enter_context(_writable(folder))
        folder.chmod(0o700)
        if was_killed:  # its socket is left
            shop.start()
            shop.kill()
        _remount(folder, "ro")
        shop.start()
        assert f"warning: {shop.places.socket} cannot be " in shop.said_now()
        phone.deliver(receipts[0].pdus)
        has_all(shop, phone, receipts[:1])
        _remount(folder, "rw")
        wait_until(lambda: Path(shop.places.socket).is_socket() and is_healthy(shop), HEALED_S, "it answers")
        phone.deliver(receipts[1].pdus)
        has_all(shop, phone, receipts)
        shop.stop()


@contextlib.contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """Mount a disk of its own at a folder, as the folder of sockets is."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True, timeout=20)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=20)


def _remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True, timeout=20)


@pytest.mark.slow
@SEEDS
def test_a_removed_database_is_noticed_and_nothing_is_lost(phone: PhoneProcess, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    receipts = receipts_for(seed)
    with shop_on(tmp_path, phone, tmp_path / "daemon.log") as shop:
        for receipt in receipts[:4]:
            phone.deliver(receipt.pdus)
            pause(rng.random() / 4)
        database = Path(shop.places.database)
        replaced = bool(seed % 2)
        if replaced:
            shutil.copy(RealShop(tmp_path / "other").places.database, tmp_path / "other.db")
            (tmp_path / "other.db").replace(database)
        else:
            database.unlink()
        for receipt in receipts[4:8]:
            phone.deliver(receipt.pdus)
        cause = wire.FaultCause.DATABASE_REPLACED if replaced else wire.FaultCause.DATABASE_MISSING
        found = names_cause(shop, cause)
        refuses_orders(shop, cause)
        rescued = found["next"].removeprefix("momo restore --stop ")
        assert Path(rescued).is_file()
        deleted = phone.deleted_pdus()
        lets_nothing_go(phone, [pdu for one in receipts[:8] for pdu in one.pdus if pdu not in deleted])
        if rng.random() < 0.5:
            shop.kill()
            shop.start()
        done = shop.momo("restore", rescued, "--stop", "--confirm", "Ama Provisions")
        assert done.returncode == 0, done.stderr
        shop.kill()
        shop.start()
        for receipt in receipts[8:]:
            phone.deliver(receipt.pdus)
        has_all(shop, phone, receipts)
        shop.stop()


@pytest.mark.slow
@SEEDS
def test_overwritten_pages_do_not_end_the_daemon(phone: PhoneProcess, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    receipts = receipts_for(seed)
    with shop_on(tmp_path, phone, tmp_path / "daemon.log") as shop:
        for receipt in receipts[:4]:
            phone.deliver(receipt.pdus)
        has_all(shop, phone, receipts[:4])
        assert shop.momo("backup", "create").returncode == 0
        for receipt in receipts[4:8]:
            phone.deliver(receipt.pdus)
        has_all(shop, phone, receipts[:8])
        roots = [int(row[0]) for row in shop.rows("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")]
        with Path(shop.places.database).open("r+b") as file:
            for root in rng.sample(roots, 12) + ([1] if seed % 3 == 0 else []):
                file.seek((root - 1) * PAGE)
                file.write(rng.randbytes(PAGE))
        process = shop.process
        assert process is not None
        for receipt in receipts[8:]:
            phone.deliver(receipt.pdus)
        shop.api("GET", wire.Path.TRANSACTIONS)
        if rng.random() < 0.5:
            shop.kill()
            shop.start()
        names_cause(shop, wire.FaultCause.DATABASE_DAMAGED)
        refuses_orders(shop, wire.FaultCause.DATABASE_DAMAGED)
        assert shop.running()
        done = shop.momo("restore", "--stop", "--confirm", "Ama Provisions")
        assert done.returncode == 0, done.stderr
        shop.kill()
        shop.start()
        has_all(shop, phone, receipts)
        shop.stop()


def test_a_log_without_room_does_not_end_the_daemon(disk: Path, tmp_path: Path) -> None:
    with RealShop(tmp_path / "shop", phone=tmp_path / "no-phone") as shop:
        # stderr goes to a full disk, as when a service manager writes it to a file there.
        shop.log = disk / "daemon.log"
        shop.spawn()
        fill(disk)

        # While it opens the database, refused calls are logged.
        def takes_orders() -> bool:
            with contextlib.suppress(OSError):
                status, answer = shop.api("POST", wire.Path.INITIALIZE, ORDER)
                return bool(answer["success"]) and status == 201
            return False

        wait_until(takes_orders, SOON_S, "orders are taken")
        assert shop.running()


DISK_BYTES_full = 64 << 20
"""More than the free space that initialize requires, so that writes fail because the disk itself is full."""


def test_a_full_disk_loses_nothing_and_heals(disk: Path, tmp_path: Path) -> None:
    with (
        Receiver(tmp_path / "receiver") as receiver,
        PhoneProcess(tmp_path / "tty") as phone,
        RealShop(disk / "shop", phone=phone.link, ca_file=receiver.ca_file, short_schedule=True) as shop,
    ):
        # The daemon's log must not need the full disk.
        shop.log = tmp_path / "daemon.log"
        shop.start()
        shop.assign(SHOP_NUMBER)
        receiver.secrets = [shop.add_endpoint(receiver.url())]
        order = shop.request("25.00")
        ballast = fill(disk)

        status, answer = shop.api("POST", wire.Path.INITIALIZE, {"amount": "1.00", "phone_number": "0244123456"})
        assert (status, answer["error"]["code"]) == (503, wire.ErrorCode.UNAVAILABLE)
        assert "the disk is" in answer["error"]["message"]
        # Reading needs no space.
        assert shop.transaction(order["reference"])["status"] == "PENDING"

        receipts = list(mtn_receipts(3, started=utc_now()))
        for receipt in receipts:
            phone.deliver(receipt.pdus)
        said = wait_until(lambda: _not_storing(shop), SOON_S, "the status says that nothing is stored")
        assert "disk is full" in said
        assert [entry["pdu"] for entry in phone.state()["stored"]] == [
            pdu for receipt in receipts for pdu in receipt.pdus
        ]
        assert phone.state()["deleted"] == []
        assert shop.rows("SELECT COUNT(*) FROM sms_parts") == [(0,)]

        for path in ballast:
            path.unlink()
        wait_until(phone.is_empty, 60, "the phone is read to the end")
        assert shop.rows("SELECT telco_transaction_id FROM payments ORDER BY 1") == [
            (receipt.telco_id,) for receipt in receipts
        ]
        receiver.wait_for(3, 60)
        wait_until(lambda: _not_storing(shop) is None, SOON_S, "the status is well again")
        # If the check of the minute fell into that time, new transactions wait for the next one.
        wait_until(lambda: _takes_orders(shop), 90, "orders are taken again")
        shop.stop()


def _takes_orders(shop: RealShop) -> bool:
    asked = {"amount": "1.00", "phone_number": "0244123456"}
    return shop.api("POST", wire.Path.INITIALIZE, asked)[0] == 201


def _not_storing(shop: RealShop) -> str | None:
    phones = shop.ask("GET", wire.Path.LOCAL_STATUS)["phones"]
    return next((phone["detail"] for phone in phones if phone["state"] in ("not_storing", "not_deleting")), None)
