"""Findings of the doctor about the shop: files, database, clock, webhooks, backups."""

import os
import socket
import sqlite3
import tarfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon import wire
from daemon.core.branches.facts import Fact
from daemon.core.limits import DAY_US
from daemon.core.upkeep.clock_check import EARLIEST_US
from daemon.core.upkeep.self_check import AwakeState, AwakeStatus
from daemon.doctor import bundle
from daemon.doctor.checks import PortUser, Running, Status, System, report
from daemon.doctor.run import AREAS, apply_remedies, run_checks
from daemon.open_shop import open_home
from daemon.runtime.locks import HomeLock
from daemon.runtime.secrets import Vault
from daemon.store.branches import branches
from daemon.store.branches import feed as store_feed
from daemon.store.branches.feed import HubLink
from daemon.store.engine import Tx
from daemon.store.upkeep import backup
from daemon.store.upkeep.backup import shop_mark
from daemon.store.webhooks import endpoints as webhook_endpoints
from daemon.wire import ShopRole
from parsers.times import from_us
from tests.fakes import outbox
from tests.fakes.later_schema import know_later_steps
from tests.fakes.machine import Machine
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

pytestmark = pytest.mark.file
US = PortUser(os.getuid(), frozenset())
RUNNING = Running("0.1.0", "", clock_confirmed=True, http="127.0.0.1:8420")
Found = dict[str, tuple[str, str, str]]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    # A socket's path may be no longer than 107 bytes.
    folder = tmp_path / "shop"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
async def shop(home: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(home)
    await made.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO shop (id, name, timezone, account_key, created_at) "
            "VALUES (1, 'Ama Provisions', 'Africa/Accra', 'ab', 1)"
        )
    )
    for end in ("", "-wal", "-shm"):
        Path(f"{home}/momo.db{end}").chmod(0o600)
    yield made
    made.close()


@pytest.fixture
def patient(machine: Machine, home: Path, shop: FakeShop) -> System:
    places = wire.places({"MOMO_HOME": str(home)}, os.getuid(), "/tmp")
    return System(
        machine.root, US, (), os.getpid(), places=places, environ={"HOME": str(home)},
        running=RUNNING, version="0.1.0", now_us=shop.clock.now_us(),
        free=lambda _folder: 10**10, resolves=lambda _host: True,
    )  # fmt: skip


def found(patient: System, *areas: str) -> Found:
    return {c.id: (c.status.value, c.detail, c.fix) for c in run_checks(patient, areas)}


def bad(patient: System, *areas: str) -> dict[str, str]:
    return {name: one[0] for name, one in found(patient, *areas).items() if one[0] in ("warn", "fail")}


async def add_endpoint(shop: FakeShop, url: str, **changes: object) -> None:
    row = {"id": "e1", "url": url, "paused": None, "failures": 0, **changes}
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, include_raw, "
            "is_active, auto_paused_at, consecutive_failures, created_at, updated_at) VALUES (:id, 'endpoint', 'live', "
            ":url, :url, '', '[]', 1, 0, 1, :paused, :failures, 1, 1)",
            row,
        )
    )


def test_every_check_is_of_its_area_and_every_area_says_something(patient: System) -> None:
    for area in AREAS:
        assert {c.area for c in run_checks(patient, [area])} == {area}


def test_without_daemon_and_without_shop_every_area_says_something(patient: System, tmp_path: Path) -> None:
    empty = wire.places({"MOMO_HOME": str(tmp_path / "empty")}, os.getuid(), "/tmp")
    alone = replace(patient, running=None, phones=None, pid=None, places=empty)
    skipped = {c.area for c in run_checks(alone, []) if c.status is Status.SKIP}
    assert {"socket", "db", "clock", "sim", "ledger", "upgrade", "backup", "permissions"} <= skipped
    assert found(alone, "daemon")["daemon.shop"][2] == "momo setup"


def test_a_shop_that_is_well_is_well(patient: System, home: Path) -> None:
    backup.copy(f"{home}/momo.db", home / "backups" / f"momo-{backup.stamp(from_us(patient.now_us))}.db")
    areas = ("daemon", "db", "disk", "parser", "endpoints", "dns", "backup", "permissions", "ledger", "upgrade")
    assert bad(patient, *areas) == {}
    assert report(run_checks(patient, areas))["data"]["ok"] is True


def test_settings_that_do_not_hold_are_named(patient: System, home: Path) -> None:
    (home / "config.toml").write_text("[modems]\npol_s = 3\n")
    status, detail, fix = found(patient, "daemon")["daemon.settings"]
    assert (status, fix) == ("fail", "momo config edit")
    assert "line 2: unknown key pol_s" in detail


def test_a_stale_socket_is_removed_by_fix_unless_a_daemon_is_about_to_serve(patient: System, home: Path) -> None:
    path = home / "run" / "momo.sock"
    path.parent.mkdir(mode=0o755)
    with socket.socket(socket.AF_UNIX) as served:
        served.bind(str(path))
        served.listen()
        assert found(patient, "socket")["socket.answers"][0] == "ok"
    checks = run_checks(replace(patient, running=None), ["socket"])
    assert {c.id: c.status for c in checks} == {"socket.folder": Status.FAIL, "socket.answers": Status.WARN}
    lock = HomeLock(patient.shop.lock)
    lock.take()
    assert "not removed" in apply_remedies(checks)[1]["did"]
    assert path.exists()
    lock.release()
    assert [one["did"] for one in apply_remedies(checks)] == [f"chmod 700 {path.parent}", f"removed {path}"]
    assert not path.exists()
    path.write_text("mine")
    assert found(patient, "socket")["socket.answers"][2] == f"move {path} away"


@pytest.fixture
def way(tmp_path: Path) -> Iterator[None]:
    """Let other users pass through the folders above the shop, as through /srv."""
    closed = [one for one in (tmp_path, *tmp_path.parents) if not one.stat().st_mode & 0o001]
    modes = {one: one.stat().st_mode for one in closed}
    for one in closed:
        one.chmod(modes[one] | 0o011)
    yield
    for one in closed:
        one.chmod(modes[one])


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("mode", [0o711, 0o755])
def test_a_socket_for_named_users_is_no_fault(patient: System, home: Path, mode: int) -> None:
    settings = home / "config.toml"
    settings.write_text('[access]\nsocket_users = ["ama"]\n')
    settings.chmod(0o600)
    open_home(patient.shop, {}).lock.release()
    (home / "run").mkdir()
    (home / "run").chmod(mode)
    checks = found(patient, "socket", "permissions")
    assert checks["socket.folder"] == ("ok", "ama may reach the socket", "")
    assert checks["permissions.private"][0] == "ok"
    settings.unlink()
    assert found(patient, "socket")["socket.folder"][0] == "fail"
    assert found(patient, "permissions")["permissions.private"][2] == f"chmod 700 {home}"
    open_home(patient.shop, {}).lock.release()
    assert home.stat().st_mode & 0o777 == 0o700


@pytest.mark.usefixtures("way")
def test_named_users_who_cannot_reach_the_socket_are_a_fault(patient: System, home: Path) -> None:
    (home / "config.toml").write_text('[access]\nsocket_users = ["ama"]\n')
    (home / "run").mkdir(mode=0o755)
    status, detail, fix = found(patient, "socket")["socket.folder"]
    assert (status, fix) == ("fail", "momo daemon restart")
    assert detail.endswith(f"who cannot reach the socket: only its owner may enter {home}")
    home.chmod(0o711)
    home.parent.chmod(0o700)
    status, detail, fix = found(patient, "socket")["socket.folder"]
    assert (status, detail.endswith(f"may enter {home.parent}")) == ("fail", True)
    assert fix.startswith("move the shop to a folder that all users may enter")


def test_a_damaged_database_is_said_and_left(patient: System, home: Path, shop: FakeShop) -> None:
    shop.close()
    file = home / "momo.db"
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xff" * 4096 + whole[8192:])
    before = file.read_bytes()
    assert bad(patient, "db", "ledger", "endpoints") == {"db.sound": "fail"}
    assert found(patient, "db")["db.sound"][2] == "momo restore --stop"
    assert file.read_bytes() == before


def test_a_database_that_cannot_be_opened_is_not_called_damaged(patient: System, home: Path, shop: FakeShop) -> None:
    shop.close()
    (home / "momo.db-wal").mkdir()  # in the way of the log
    status, detail, fix = found(patient, "db")["db.sound"]
    assert (status, fix) == ("fail", "momo doctor disk db")
    assert "it is not known whether it is damaged" in detail


@pytest.mark.parametrize(("kind", "status"), [("nfs4", "fail"), ("vfat", "warn"), ("ext4", "ok")])
def test_the_file_system_of_the_database_is_judged(
    kind: str, status: str, patient: System, machine: Machine, home: Path
) -> None:
    (machine.root / "proc" / "mounts").write_text(f"/dev/a / ext4 rw 0 0\n/dev/b {home} {kind} rw 0 0\n")
    assert found(patient, "db")["db.place"][0] == status


def test_another_program_that_has_the_database_open_is_named(patient: System, machine: Machine, home: Path) -> None:
    machine.program(4242, "sqlite3", str(home / "momo.db"))
    status, detail, fix = found(patient, "db")["db.foreign"]
    assert (status, "sqlite3 (PID 4242)" in detail, "kill 4242" in fix) == ("warn", True, True)


@pytest.mark.parametrize(("free", "status"), [(99, "fail"), (499, "warn"), (501, "ok")])
def test_room_on_the_disk(free: int, status: str, patient: System) -> None:
    tight = replace(patient, free=lambda _folder: free * 1_000_000)
    assert found(tight, "disk")["disk.space"][0] == status


def test_the_clock_is_judged_by_its_year_its_witnesses_and_its_keeper(patient: System, machine: Machine) -> None:
    assert found(patient, "clock")["clock.kept"][2] == "sudo timedatectl set-ntp true"
    (machine.root / "run" / "systemd" / "timesync").mkdir(parents=True)
    assert found(patient, "clock")["clock.kept"][0] == "warn"
    machine.program(77, "chronyd")
    doubted = replace(RUNNING, clock_doubt="the clock is 11 min ahead")
    wrong = replace(patient, running=doubted, now_us=EARLIEST_US - 1)
    assert bad(wrong, "clock") == {"clock.year": "fail", "clock.witness": "warn"}
    (machine.root / "run" / "systemd" / "timesync" / "synchronized").touch()
    assert bad(patient, "clock") == {}


def test_a_clock_that_nothing_speaks_for_yet_is_told_with_what_helps(patient: System) -> None:
    unheard = replace(patient, running=replace(RUNNING, clock_confirmed=False))
    status, detail, fix = found(unheard, "clock")["clock.witness"]
    assert (status, "not confirmed yet" in detail, "send an SMS" in fix) == ("warn", True, True)
    doubted = replace(RUNNING, clock_doubt="the clock is 11 min ahead", clock_confirmed=False)
    assert "11 min ahead" in found(replace(patient, running=doubted), "clock")["clock.witness"][1]


async def test_a_zone_that_the_machine_does_not_know_is_named(patient: System, shop: FakeShop) -> None:
    await shop.env.store.write(lambda tx: tx.run("UPDATE shop SET timezone = 'Africa/Nowhere'"))
    assert bad(patient, "clock")["clock.zone"] == "fail"


async def test_a_sim_without_a_number_and_a_silent_one_are_named(patient: System, shop: FakeShop) -> None:
    assert bad(patient, "sim") == {}
    sim = shop.source.sim_key
    await shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET sim_seq = NULL"))
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO sim_rhythms (sim_key, watched_since, week, counts, messages, longest_gap_us, silent_since) "
            "VALUES (:sim, 1, 1, '', 0, 0, 1)",
            {"sim": sim},
        )
    )
    assert bad(patient, "sim") == {"sim.line": "fail", "sim.heard": "warn"}
    assert "momo lines update NUMBER --sim" in found(patient, "sim")["sim.line"][2]


async def test_many_unread_messages_and_a_broken_wording_are_named(patient: System, shop: FakeShop, home: Path) -> None:
    (home / "templates").mkdir()
    (home / "templates" / "mine.toml").write_text("name = = 1\n")
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), "food", "93214500001"))
    await shop.env.store.write(lambda tx: tx.run("UPDATE messages SET state = 'unparsed'"))
    assert bad(patient, "parser") == {"parser.unread": "warn", "parser.templates": "warn"}
    assert found(replace(patient, now_us=patient.now_us + 8 * DAY_US), "parser")["parser.unread"][0] == "ok"


@pytest.mark.parametrize(
    ("changes", "status", "fix"),
    [
        ({"paused": 5, "failures": 20}, "fail", "momo endpoints resume e1"),
        ({"failures": 7}, "warn", "momo endpoints test e1"),
        ({}, "ok", ""),
    ],
)
async def test_endpoints_that_fail_are_named(
    changes: dict[str, object], status: str, fix: str, patient: System, shop: FakeShop
) -> None:
    await add_endpoint(shop, "https://shop.example/hook", **changes)
    one = found(patient, "endpoints")["endpoints.answer"]
    assert (one[0], one[2]) == (status, fix)


async def test_a_name_that_leads_nowhere_is_told_from_an_internet_that_is_away(patient: System, shop: FakeShop) -> None:
    await add_endpoint(shop, "https://gone.example/hook")
    await add_endpoint(shop, "https://there.example/hook", id="e2")
    asked = replace(patient, resolves=lambda host: host == "there.example")
    assert found(asked, "dns")["dns.resolves"][1] == "gone.example has no address, other names do"
    away = replace(patient, resolves=lambda _host: False)
    assert bad(away, "dns") == {"dns.resolves": "warn"}


async def seal_something(shop: FakeShop) -> None:
    sealed = shop.env.vault.seal(b"x", "webhook-secret")
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES ('account', :sealed, 1)", {"sealed": sealed}
        )
    )


async def test_a_key_that_others_may_read_is_shut_and_a_wrong_one_is_named(
    patient: System, shop: FakeShop, home: Path
) -> None:
    await seal_something(shop)
    key = home / "master.key"
    assert bad(patient, "keyring") == {}
    key.chmod(0o644)
    checks = run_checks(patient, ["keyring"])
    assert [one["did"] for one in apply_remedies(checks)] == [f"chmod 600 {key}"]
    assert bad(patient, "keyring") == {}
    key.unlink()
    assert bad(patient, "keyring") == {"keyring.key": "fail"}


async def test_after_a_lost_key_all_is_well_when_each_secret_in_use_was_rotated(
    patient: System, shop: FakeShop, home: Path
) -> None:
    await seal_something(shop)
    await outbox.add_endpoint(shop)
    (home / "master.key").unlink()
    sealed = Vault(patient.shop, "file", "").seal(b"y", webhook_endpoints.SIGNING_PURPOSE)

    def rotate(tx: Tx, owner: str) -> None:
        webhook_endpoints.expire_secret(tx, owner, until=shop.clock.now_us())
        tx.run(
            "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES (:owner, :sealed, 2)",
            {"owner": owner, "sealed": sealed},
        )

    await shop.env.store.write(lambda tx: rotate(tx, "account"))
    assert bad(patient, "keyring") == {"keyring.key": "fail"}
    await shop.env.store.write(lambda tx: rotate(tx, "e1"))
    assert bad(patient, "keyring") == {}


async def test_a_key_that_only_the_service_has_is_no_fault_of_the_one_who_looks(
    patient: System, shop: FakeShop, home: Path, tmp_path: Path
) -> None:
    await seal_something(shop)
    key = home / "master.key"
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials" / "momo-master-key").write_text(key.read_text())
    key.write_text("credential\n")
    assert found(replace(patient, running=None), "keyring")["keyring.key"][0] == "skip"
    # A daemon that runs without it, started by hand, cannot sign.
    assert found(replace(patient, running=RUNNING), "keyring")["keyring.key"][0] == "fail"
    inside = replace(patient, environ={"CREDENTIALS_DIRECTORY": str(tmp_path / "credentials")})
    assert found(inside, "keyring")["keyring.key"][0] == "ok"


def test_units_and_timers_are_found_where_they_are(patient: System, machine: Machine, home: Path) -> None:
    assert bad(patient, "service", "timers") == {"service.installed": "warn"}
    own = home / ".config" / "systemd" / "user"
    own.mkdir(parents=True)
    (own / "momo.service").touch()
    (own / "momo-backup.timer").touch()
    assert bad(patient, "service", "timers") == {"service.linger": "warn"}
    (machine.root / "etc" / "systemd" / "system").mkdir(parents=True)
    (machine.root / "etc" / "systemd" / "system" / "momo.service").touch()
    (own / "momo.service").unlink()
    assert bad(patient, "service") == {}


@pytest.mark.parametrize(
    ("awake", "status", "said"),
    [
        (AwakeStatus(AwakeState.OFF), "skip", "momo config set power.keep_awake plugged"),
        (AwakeStatus(AwakeState.HELD), "ok", ""),
        (AwakeStatus(AwakeState.ON_BATTERY), "ok", ""),
        (AwakeStatus(AwakeState.IDLE_ONLY, "Access denied"), "warn", "or momo daemon install --system"),
        (AwakeStatus(AwakeState.REFUSED, "no logind"), "warn", "switch automatic suspend off"),
    ],
)
def test_a_machine_that_may_fall_asleep_is_said_with_what_to_do(
    awake: AwakeStatus, status: str, said: str, patient: System
) -> None:
    running = replace(patient, running=replace(RUNNING, awake=awake))
    check = found(running, "service")["service.awake"]
    assert (check[0], said in check[2], awake.why in check[1]) == (status, True, True)
    assert found(replace(patient, running=None), "service")["service.awake"][0] == "skip"


def test_backups_that_are_old_or_missing_are_said(patient: System, home: Path) -> None:
    assert found(patient, "backup")["backup.recent"][2] == "momo backup create"
    (home / "backups").mkdir()
    (home / "backups" / f"momo-{backup.stamp(from_us(patient.now_us - 3 * DAY_US))}.db").touch()
    assert bad(patient, "backup") == {"backup.recent": "warn"}
    (home / "backups" / f"momo-{backup.stamp(from_us(patient.now_us))}.db").touch()
    assert bad(patient, "backup") == {}


def test_a_second_folder_of_the_message_journal_that_is_away_or_behind_is_said(
    patient: System, home: Path, tmp_path: Path
) -> None:
    (home / "backups").mkdir()
    (home / "backups" / f"momo-{backup.stamp(from_us(patient.now_us))}.db").touch()
    stick = tmp_path / "stick"
    (home / "config.toml").write_text(f'[backup]\nmessages_to = "{stick}"\n')
    assert "is not available" in found(patient, "backup")["backup.messages"][1]
    stick.mkdir()
    (home / "messages").mkdir()
    (home / "messages" / "2026-11.journal").write_text("two lines")
    (stick / "momo-01234567-2026-11.journal").write_text("one")
    assert found(patient, "backup")["backup.messages"][1].endswith("is behind: 2026-11.journal")
    (stick / "momo-01234567-2026-11.journal").write_text("two lines")
    assert "backup.messages" not in bad(patient, "backup")


def test_a_second_place_that_is_away_old_or_on_our_own_disk_is_said(
    patient: System, home: Path, tmp_path: Path
) -> None:
    (home / "backups").mkdir()
    (home / "backups" / f"momo-{backup.stamp(from_us(patient.now_us))}.db").touch()
    stick = tmp_path / "stick"
    (home / "config.toml").write_text(f'[backup]\nalso_to = "{stick}"\n')
    assert "is not available" in found(patient, "backup")["backup.elsewhere"][1]
    stick.mkdir()
    assert found(patient, "backup")["backup.elsewhere"][1].endswith(": none")
    # Another shop's copy is none of ours.
    (stick / f"momo-00000000-{backup.stamp(from_us(patient.now_us))}.db").touch()
    assert found(patient, "backup")["backup.elsewhere"][1].endswith(": none")
    mark = shop_mark(patient.shop.database)
    (stick / f"momo-{mark}-{backup.stamp(from_us(patient.now_us - 8 * DAY_US))}.db").touch()
    assert "the newest from" in found(patient, "backup")["backup.elsewhere"][1]
    (stick / f"momo-{mark}-{backup.stamp(from_us(patient.now_us))}.db").touch()
    assert "on the same disk" in found(patient, "backup")["backup.elsewhere"][1]
    assert bad(patient, "backup") == {"backup.elsewhere": "warn"}


def test_files_that_others_may_read_are_shut(patient: System, home: Path) -> None:
    (home / "momo.db").chmod(0o640)
    checks = run_checks(patient, ["permissions"])
    assert apply_remedies(checks) == [{"id": "permissions.private", "did": f"chmod 600 {home}/momo.db"}]
    assert bad(patient, "permissions") == {}
    stranger = replace(patient, user=PortUser(54_321, frozenset()))
    assert bad(stranger, "permissions") == {"permissions.owner": "fail"}


@pytest.mark.parametrize("name", ["config.toml", ""])
def test_settings_that_others_may_change_are_a_fault(patient: System, home: Path, name: str) -> None:
    (home / "config.toml").touch(mode=0o600)
    (home / name).chmod(0o777 if name == "" else 0o666)
    status, detail = found(patient, "permissions")["permissions.settings"][:2]
    assert (status, detail) == ("fail", f"every user may write {home / name}")
    fixes = [check.fix for check in run_checks(patient, ["permissions"])]
    assert f"chmod go-w {home / name}" in fixes


def test_a_payment_that_paid_another_order_at_the_hub_is_a_fault_of_the_ledger(patient: System) -> None:
    assert bad(replace(patient, uses=[]), "ledger") == {}
    assert bad(replace(patient, uses="no line"), "ledger") == {}
    assert bad(replace(patient, uses=["the payment 1 paid A here, B at the hub"]), "ledger") == {"ledger.uses": "fail"}


async def test_a_finding_of_the_ledger_is_a_check_of_its_own(patient: System, shop: FakeShop) -> None:
    await shop.request()
    await shop.env.store.write(lambda tx: tx.run("UPDATE transaction_counts SET count = count + 1"))
    assert bad(patient, "ledger") == {"ledger.counts.kept": "fail"}


async def test_versions_that_do_not_belong_together_are_named(
    patient: System, home: Path, shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bad(replace(patient, version="0.2.0"), "upgrade") == {"upgrade.daemon": "warn"}
    shop.close()
    with monkeypatch.context() as newer:
        know_later_steps(newer)
        assert bad(patient, "upgrade") == {"upgrade.schema": "warn"}
    for statement in ("PRAGMA user_version = 900", "UPDATE schema_migrations SET name = 'foundations'"):
        with sqlite3.connect(home / "momo.db") as base:
            base.execute(statement)
        base.close()
        assert bad(patient, "upgrade") == {"upgrade.schema": "fail"}


async def test_a_bundle_holds_no_name_no_number_no_secret(patient: System, shop: FakeShop, home: Path) -> None:
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), "food", "93214500001"))
    await add_endpoint(shop, "https://user:pw@shop.example/hook/s3cr3tpath?token=abc", failures=9)
    (home / "config.toml").write_text('[smtp]\nto = "kofi@shop.example"\nport = 587\n')
    (home / "log").mkdir()
    (home / "log" / "daemon.log").write_text(
        "paid by Kofi Antwi Badu 0244123456 whsec_AAAABBBBCCCC\nAma Provisions svc_live_sk_abcdef\n"
    )
    files = bundle.files(patient, report(run_checks(patient, [])))
    assert {"doctor.json", "versions.txt", "schema.sql", "counts.json", "config.toml", "udev.txt",
            "security.txt", "log/daemon.log"} == set(files)  # fmt: skip
    everything = b"\n".join(files.values()).decode()
    for private in ("kofi", "antwi badu", "0244123456", "aaaabbbb", "ama provisions", "abcdef", "s3cr3tpath", "pw@"):
        assert private not in everything.lower(), private
    assert "port = 587" in files["config.toml"].decode()
    assert '"payments": 1' in files["counts.json"].decode()
    target = home / "b.tar.gz"
    assert bundle.write(target, files) == target.stat().st_size
    with tarfile.open(target) as tar:
        assert sorted(tar.getnames()) == sorted(f"momo-doctor/{name}" for name in files)
    with pytest.raises(FileExistsError):
        bundle.write(target, files)


def test_every_area_is_explained() -> None:
    told = (Path(__file__).parents[2] / "docs/shop/troubleshooting.md").read_text()
    assert [area for area in AREAS if f"`{area}`" not in told] == []


async def set_link(shop: FakeShop, heard_at: int | None, problem: str = "", acked: int = 0) -> None:
    """Make the shop a branch with two changes in its feed."""

    def job(tx: Tx) -> None:
        row = HubLink("b", "kumasi", "https://hub.example", "", "", "all", 1, 1, acked, acked, heard_at, problem)
        store_feed.replace_link(tx, row)
        store_feed.set_role(tx, ShopRole.BRANCH)
        tx.run("DELETE FROM feed")
        tx.run("INSERT INTO feed (seq, kind, id) VALUES (1, 'payment', 'a'), (2, 'payment', 'b')")

    await shop.env.store.write(job)


async def test_a_branch_says_how_its_hub_answers(patient: System, shop: FakeShop) -> None:
    now = patient.now_us
    assert found(patient, "hub")["hub.link"][0] == "ok"
    await set_link(shop, None)
    assert "has not answered yet" in found(patient, "hub")["hub.link"][1]
    await set_link(shop, now - 3 * 3600 * 1_000_000)
    assert bad(patient, "hub") == {"hub.link": "warn", "hub.sent": "warn"}
    assert "answered last 3 h ago" in found(patient, "hub")["hub.link"][1]
    await set_link(shop, now, acked=2)
    assert bad(patient, "hub") == {}
    assert found(patient, "hub")["hub.sent"][1] == "the hub has everything"
    await set_link(shop, now, "another machine was restored", acked=1)
    assert bad(patient, "hub") == {"hub.link": "fail"}
    assert "changes that the hub does not have yet: 1" in found(patient, "hub")["hub.sent"][1]
    assert found(replace(patient, running=None), "hub")["hub.link"][0] == "skip"


async def test_a_hub_says_which_branches_are_silent_and_what_was_refused(patient: System, shop: FakeShop) -> None:
    now = patient.now_us

    async def set_branch(**changes: object) -> None:
        row = {"status": "joined", "heard": now, "off": 0, **changes}

        def job(tx: Tx) -> None:
            store_feed.set_role(tx, ShopRole.HUB)
            tx.run("DELETE FROM branches")
            tx.run(
                "INSERT INTO branches (id, name, decides, status, epoch, turn, acked_seq, last_heard_at, clock_off_us, "
                "created_at) VALUES ('b', 'kumasi', 'all', :status, 1, 1, 1, :heard, :off, 1)",
                row,
            )

        await shop.env.store.write(job)

    await set_branch()
    assert bad(patient, "hub") == {}
    await set_branch(heard=now - 4 * DAY_US)
    assert "for 4 days nothing was heard of the branch kumasi" in found(patient, "hub")["hub.link"][1]
    await set_branch(heard=None, status="invited")
    assert bad(patient, "hub") == {}
    await set_branch(status="disputed")
    assert bad(patient, "hub") == {"hub.link": "fail"}
    await set_branch(off=-3600 * 1_000_000)
    assert "off by 60 min" in found(patient, "hub")["hub.clock"][1]
    await set_branch()
    fact = Fact(1, "payment", "p", {"id": "p"})
    for version, why, at in ((1, "the first", now - 1), (2, "the second", now), (3, "old", now - 9 * DAY_US)):
        await shop.env.store.write(
            lambda tx, v=version, w=why, t=at: branches.refuse(tx, "b", fact, v, why=w, now=t, program="1")  # type: ignore[misc]
        )
    assert "last seven days: 2; the last one: the second" in found(patient, "hub")["hub.refused"][1]
