"""Backups of a shop, also of a damaged one, before an upgrade, and the report of a restore."""

import errno
import json
import os
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from daemon import __main__ as program
from daemon import wire
from daemon.core.errors import Unavailable
from daemon.core.upkeep.self_check import TIGHT_BYTES
from daemon.flows.upkeep import backups
from daemon.open_shop import StartError, connect, new_store, open_shop
from daemon.runtime.config import Config, StoreSettings
from daemon.store.engine import Store
from daemon.store.upkeep import backup, inspect, operator_sql
from daemon.store.upkeep.backup import shop_mark
from daemon.wire import Places
from tests.fakes.clock import FakeClock
from tests.fakes.descriptors import no_free_descriptor
from tests.fakes.later_schema import STEPS, know_later_steps, make_small_shop

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
PAY = (
    "INSERT INTO payments (id, mode, provider, telco_transaction_id, telco_id_as_read, message_seq, sim_key, device_id, "
    "slot_index, kind, amount_minor, currency, telco_at, stored_at, historical, standing) VALUES ('p2', 'live', 'momo_mtn', "
    "'0013', '0013', 1, 's', 'd', 0, 'received', 100, 'GHS', 2, 2, 0, 'open')"
)


@pytest.fixture
def shop(places: Places) -> Places:
    """A shop of today's schema with one payment."""
    Path(places.home).mkdir(mode=0o700)
    make_small_shop(places.database)
    return places


@pytest.fixture
def old_shop(shop: Places, monkeypatch: pytest.MonkeyPatch) -> Places:
    """A shop of the first schema, for a program with later steps."""
    know_later_steps(monkeypatch)
    return shop


def run(places: Places, statement: str) -> None:
    base = sqlite3.connect(places.database)
    base.execute(statement)
    base.commit()
    base.close()


def payments(path: str | Path) -> int:
    base = sqlite3.connect(path)
    (count,) = base.execute("SELECT COUNT(*) FROM payments").fetchone()
    base.close()
    return int(count)


def test_a_shop_with_a_finding_still_gets_its_backup_and_hears_of_it(shop: Places) -> None:
    run(shop, "UPDATE transaction_counts SET count = count + 1")
    made = backups.create(shop, None, NOW)
    assert made["verified"] is False
    assert [one.partition(":")[0] for one in made["findings"]] == ["counts.kept"]
    assert payments(made["path"]) == 1
    assert backups.verify(shop, None)["findings"] == made["findings"]
    # It can be restored: a shop with findings is better than none.
    assert backups.restore(shop, None, NOW, dry_run=False)["findings"] == made["findings"]


def test_a_copy_that_is_damaged_is_still_removed(shop: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def torn(_source: str, target: Path, **_: int) -> None:
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(b"half")

    monkeypatch.setattr(backup, "copy", torn)
    with pytest.raises(backup.BackupBad):
        backups.create(shop, None, NOW)
    assert backup.entries(shop) == []


def test_a_copy_that_cannot_be_read_now_is_not_called_damaged(shop: Places) -> None:
    made = backups.create(shop, None, NOW)
    with no_free_descriptor(), pytest.raises(backup.BackupBad, match="cannot be read now"):
        backup.verify_copy(Path(made["path"]))
    assert backup.verify_copy(Path(made["path"])).rows["payments"] == 1
    run(shop, "DROP TABLE shop")
    with pytest.raises(backup.BackupBad, match="is not a sound database"):
        backup.verify_copy(Path(shop.database))


def test_an_upgrade_makes_a_copy_first_and_pruning_leaves_it(old_shop: Places) -> None:
    places, clock = old_shop, FakeClock()
    open_shop(places, {}, clock).close()
    (entry,) = backup.entries(places)
    assert entry.id.startswith("before-schema-2-")
    assert entry.before_upgrade
    assert backup.verify_copy(Path(entry.path)).schema == 1
    # Without a migration, no copy is made.
    open_shop(places, {}, clock).close()
    assert len(backup.entries(places)) == 1
    backups.create(places, None, NOW + timedelta(days=1))
    backups.create(places, None, NOW + timedelta(days=2))
    pruned = backups.prune(places, "1d", dry_run=False)
    assert len(pruned["removed"]) == 1
    assert [one.before_upgrade for one in backup.entries(places)] == [False, True]
    # The copy allows a return to the old program.
    restored = backups.restore(places, entry.id, NOW, dry_run=True)
    assert restored["schema"] == 1


def test_old_databases_that_restores_kept_are_pruned_like_copies(shop: Places) -> None:
    for day in range(3):
        made = backups.create(shop, None, NOW + timedelta(days=day))
        backups.restore(shop, made["id"], NOW + timedelta(days=day, hours=1), dry_run=False)
    folder = Path(shop.database).parent
    kept = sorted(one.name for one in folder.glob("momo.db.before-*"))
    assert len(kept) == 3
    assert backups.prune(shop, "1d", dry_run=True)["removed"][-2:] == kept[:2]
    assert len(list(folder.glob("momo.db.before-*"))) == 3
    backups.prune(shop, "1d", dry_run=False)
    assert [one.name for one in folder.glob("momo.db.before-*")] == kept[2:]


def left_in_log(places: Places, statement: str) -> None:
    """Run a statement that stands in the log alone, as after a power cut."""
    writer = (
        "import os, signal, sqlite3, sys; b = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "b.execute('PRAGMA wal_autocheckpoint = 0'); b.execute(sys.argv[2]); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", writer, places.database, statement], check=False)
    assert Path(f"{places.database}-wal").stat().st_size > 0


def test_each_failed_attempt_to_open_an_old_shop_uses_the_same_copy(
    old_shop: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.store.sqlite_file.BUSY_MS", 1)
    places, clock, store = old_shop, FakeClock(), Store(old_shop.database)
    left_in_log(places, PAY)
    other = sqlite3.connect(places.database, isolation_level=None)

    def fail_to_open() -> list[int]:
        """Return the payments in each copy, the newest first."""
        for _ in range(3):
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(Unavailable, match="locked"):
                connect(places, store, clock, create=False)
            other.execute("ROLLBACK")
            clock.advance(5)
        return [payments(entry.path) for entry in backup.entries(places)]

    assert fail_to_open() == [2]
    # A change that came meanwhile is copied too, whatever the clock says.
    other.execute("DELETE FROM payments WHERE id = 'p2'")
    clock.jump(-3 * 365 * 24 * 3600)
    assert fail_to_open() == [1, 2]
    connect(places, store, clock, create=False)
    assert len(backup.entries(places)) == 2
    store.close()
    other.close()


def test_a_locked_database_is_not_upgraded_without_a_copy(old_shop: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "BUSY_MS", 10)
    other = sqlite3.connect(old_shop.database, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute(PAY)
    clock = FakeClock()
    store = new_store(old_shop, Config())
    # The lock may end between this and the change of the schema.
    with pytest.raises(Unavailable, match="another program has locked the database"):
        backup.before_upgrade(old_shop, NOW)
    with pytest.raises(Unavailable, match="another program has locked the database") as raised:
        connect(old_shop, store, clock, create=False)
    assert store.fault is raised.value
    other.close()
    connect(old_shop, store, clock, create=False)
    store.close()
    assert len(backup.entries(old_shop)) == 1


def test_an_old_file_is_not_copied_for_a_shop_that_moved_to_a_server(old_shop: Places) -> None:
    store = new_store(old_shop, Config(store=StoreSettings("postgresql://momo@127.0.0.1:1/momo")))
    with pytest.raises(Unavailable):
        connect(old_shop, store, FakeClock(), create=False)
    assert backup.entries(old_shop) == []


def test_without_room_for_that_copy_the_schema_stays_as_it_is(old_shop: Places) -> None:
    places = old_shop
    before = Path(places.database).read_bytes()
    (Path(places.home) / "backups").write_text("in the way")
    with pytest.raises(StartError) as ended:
        open_shop(places, {}, FakeClock())
    assert ended.value.code is wire.ErrorCode.UNAVAILABLE
    assert "no backup could be made before" in ended.value.message
    assert Path(places.database).read_bytes() == before
    # The lock is free again.
    (Path(places.home) / "backups").unlink()
    open_shop(places, {}, FakeClock()).close()


def test_a_restore_tells_what_came_after_the_copy(shop: Places) -> None:
    run(shop, "UPDATE deliveries SET status = 'pending', next_attempt_at = 9, delivered_at = NULL WHERE id = 'dl1'")
    made = backups.create(shop, None, NOW)
    run(shop, "UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL, delivered_at = 9 WHERE id = 'dl1'")
    run(shop, PAY)
    told = backups.restore(shop, made["id"], NOW, dry_run=False)
    assert (told["payments_since"], told["webhooks_repeated"]) == (1, 1)
    assert told["webhooks_that_may_repeat"] == 1
    assert payments(shop.database) == 1
    assert payments(told["kept"]) == 2
    base = sqlite3.connect(shop.database)
    (data,) = base.execute("SELECT data FROM events WHERE type = 'shop.restored'").fetchone()
    base.close()
    assert '"payments_since":1' in data


def test_a_damaged_database_does_not_stand_in_the_way_of_its_backup(shop: Places) -> None:
    made = backups.create(shop, None, NOW)
    Path(shop.database).write_bytes(b"no database at all")
    told = backups.restore(shop, made["id"], NOW, dry_run=False)
    assert Path(told["kept"]).read_bytes() == b"no database at all"
    assert payments(shop.database) == 1
    assert told["payments_since"] == 0
    assert told["access"] is None


USERS = (
    (
        "INSERT INTO users (id, name, role, password_hash, totp_sealed, created_at, password_at) "
        "SELECT value, value, CASE value WHEN 'owner' THEN value ELSE 'cashier' END, 'p', 't', 1, 1 "
        'FROM json_each(\'["owner", "ama", "esi", "kofi"]\')'
    ),
    (
        "INSERT INTO api_keys (id, name, mode, kind, hint, sha256, scopes, created_at) "
        "SELECT value, value, 'live', 'secret', '', value, '[]', 1 FROM json_each('[\"leaked\", \"old\", \"good\"]')"
    ),
    (
        "INSERT INTO browser_sessions (id, sha256, user_id, created_at, seen_at, address, browser) "
        "SELECT id, id, id, 1, 1, '', '' FROM users"
    ),
    "INSERT INTO recovery_codes (user_id, sha256) VALUES ('owner', '1'), ('owner', '2'), ('kofi', '3')",
    "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES ('account', 'a', 1)",
    "INSERT INTO sealed_secrets (name, sealed, set_at) VALUES ('smtp', 'a', 1), ('source', 'a', 1)",
    "INSERT INTO session_keys (id, sealed, made_at) VALUES (1, 'first', 1)",
)
SINCE = (
    "UPDATE api_keys SET revoked_at = 7 WHERE id = 'leaked'",
    "UPDATE api_keys SET expires_at = 8 WHERE id = 'old'",
    "UPDATE users SET disabled_at = 9 WHERE id = 'ama'",
    "UPDATE users SET password_hash = 'new' WHERE id = 'owner'",
    "UPDATE users SET role = 'viewer' WHERE id = 'esi'",
    "UPDATE users SET totp_sealed = NULL WHERE id = 'kofi'",
    "DELETE FROM recovery_codes WHERE sha256 <> '1'",
    "DELETE FROM browser_sessions WHERE user_id <> 'owner'",
    "UPDATE webhook_secrets SET expires_at = 9",
    "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES ('account', 'b', 1)",
    "UPDATE sealed_secrets SET sealed = 'b' WHERE name = 'smtp'",
    "UPDATE session_keys SET sealed = 'second'",
    "INSERT INTO ended_sessions (id, ends_at) VALUES ('s', 1)",
)


def test_a_restore_gives_no_rights_back_and_names_what_is_older(shop: Places) -> None:
    for statement in USERS:
        run(shop, statement)
    made = backups.create(shop, None, NOW)
    for statement in SINCE:
        run(shop, statement)
    told = backups.restore(shop, made["id"], NOW, dry_run=False)["access"]
    assert [(one["what"], one["name"]) for one in told["still_off"]] == [
        ("key", "leaked"), ("key", "old"), ("user", "ama"),
    ]  # fmt: skip
    assert [(one["what"], one["name"]) for one in told["earlier"]] == [
        ("password", "owner"), ("role", "esi"), ("second_factor", "kofi"), ("signing_secret", "account"), ("secret", "smtp"),
    ]  # fmt: skip
    base = sqlite3.connect(shop.database)
    rows = [
        base.execute(query).fetchall()
        for query in (
            "SELECT id, revoked_at, expires_at FROM api_keys ORDER BY seq",
            "SELECT id FROM users WHERE disabled_at IS NOT NULL",
            "SELECT id FROM browser_sessions",
            "SELECT sha256 FROM recovery_codes ORDER BY sha256",
            "SELECT sealed FROM session_keys",
            "SELECT id FROM ended_sessions",
        )
    ]
    (data,) = base.execute("SELECT data FROM events WHERE type = 'shop.restored'").fetchone()
    base.close()
    assert rows == [
        [("leaked", 7, None), ("old", None, 8), ("good", None, None)],
        [("ama",)], [("owner",)], [("1",), ("3",)], [], [("s",)],
    ]  # fmt: skip
    assert json.loads(data)["access"] == told


def test_a_restore_over_a_locked_database_does_not_hang_and_reads_its_log(
    shop: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "BUSY_MS", 10)
    for statement in USERS:
        run(shop, statement)
    made = backups.create(shop, None, NOW)
    run(shop, "PRAGMA journal_mode = WAL")
    other = sqlite3.connect(shop.database, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    for statement in (*SINCE, PAY):
        other.execute(statement)
    told = backups.restore(shop, made["id"], NOW, dry_run=False)
    other.close()
    assert told["payments_since"] == 1
    assert [one["name"] for one in told["access"]["still_off"]] == ["leaked", "old", "ama"]


@pytest.mark.parametrize("old", ["missing", "torn"])
def test_without_the_old_database_a_restore_says_so_and_ends_all_sessions(shop: Places, old: str) -> None:
    for statement in USERS:
        run(shop, statement)
    made = backups.create(shop, None, NOW)
    if old == "missing":
        Path(shop.database).unlink()
    else:
        Path(shop.database).write_bytes(b"torn" * 5000)
    assert backups.restore(shop, made["id"], NOW, dry_run=False)["access"] is None
    base = sqlite3.connect(shop.database)
    open_sessions = base.execute("SELECT id FROM browser_sessions").fetchall()
    keys = base.execute("SELECT sealed FROM session_keys").fetchall()
    users = base.execute("SELECT COUNT(*) FROM users").fetchone()
    base.close()
    assert (open_sessions, keys, users) == ([], [], (4,))


def test_a_copy_can_be_put_elsewhere_and_over_nothing(shop: Places, tmp_path: Path) -> None:
    backups.create(shop, None, NOW)
    target = tmp_path / "looked-at.db"
    told = backups.restore(shop, None, NOW, dry_run=False, to=str(target))
    assert (told["to"], payments(target)) == (str(target), 1)
    assert target.stat().st_mode & 0o777 == 0o600
    with pytest.raises(backup.BackupBad, match="already exists"):
        backups.restore(shop, None, NOW, dry_run=False, to=str(target))


@pytest.mark.parametrize("folder", ["{}/shop #1", "{}/what?", "{}/a%20b", "/{}/begins-with-two"])
def test_a_folder_may_have_any_name(folder: str, tmp_path: Path) -> None:
    home = folder.format(tmp_path)
    Path(home).mkdir()
    places = wire.places({"MOMO_HOME": home}, os.getuid(), "/tmp")
    make_small_shop(places.database)
    with inspect.open_readonly(places.database) as reader:
        assert inspect.damage(reader) == ""
    assert inspect.check_upgrade(places, NOW)["state"] == "current"
    made = backups.create(places, None, NOW)
    assert made["rows"]["payments"] == 1
    assert shop_mark(places.database)
    run(places, PAY)
    assert backups.drill(places, made["id"], NOW)["drilled"]
    told = backups.restore(places, made["id"], NOW, dry_run=False)
    assert told["payments_since"] == 1
    with operator_sql.open_for_operator(places.database, lambda: 0.0, "0f" * 8, show_phones=True) as sql:
        assert sql.export(f"{home}/out.db")["payments"] == 1
    assert (Path(home) / "out.db").is_file()
    # No other file was opened or made.
    assert [path.name for path in Path(home).parent.iterdir()] == [Path(home).name]


DEAD_BATTERY = datetime(2000, 1, 1, tzinfo=UTC)
AHEAD = datetime(2038, 1, 1, tzinfo=UTC)


def test_no_clock_makes_a_prune_remove_the_copy_just_made(shop: Places, stick: Path) -> None:
    for day in range(1, 20):
        backups.create(shop, None, NOW.replace(day=day), also_to=str(stick))
    made = backups.create(shop, None, DEAD_BATTERY, also_to=str(stick))
    pruned = backups.prune(shop, "2d", dry_run=False, also_to=str(stick))
    # The next one is of the day before, as far as anybody knows.
    left = [made["id"], "20261119T080000Z"]
    assert [entry.id for entry in backup.entries(shop)] == pruned["kept"] == left
    assert [entry.id for entry in backup.offsite_entries(shop.database, str(stick))] == left


def test_no_clock_makes_a_restore_take_an_old_copy(shop: Places) -> None:
    backups.create(shop, None, AHEAD)
    for at in (NOW, DEAD_BATTERY):
        run(shop, PAY.replace("'p2'", f"'p{at.year}'").replace("'0013'", f"'{at.year}'"))
        made = backups.create(shop, None, at)
        told = backups.restore(shop, None, NOW, dry_run=False)
        assert (told["id"], told["payments_since"]) == (made["id"], 0)
    # It ages too: it is the newest of its own day, until there are enough newer days.
    kept = backups.prune(shop, "2d", dry_run=False)["kept"]
    assert kept == ["20000101T000000Z", "20261121T080000Z"]


def test_after_a_restore_the_copies_of_the_restored_shop_are_the_newest(shop: Places, stick: Path) -> None:
    first = backups.create(shop, None, NOW, also_to=str(stick))
    run(shop, PAY)
    backups.create(shop, None, NOW.replace(day=22), also_to=str(stick))
    backups.restore(shop, first["id"], NOW.replace(day=23), dry_run=False)
    made = backups.create(shop, None, NOW.replace(day=24), also_to=str(stick))
    assert backups.find(shop, None) == Path(made["path"])
    # Also if the shop's own folder was lost, and only the second place knows the places so far.
    for entry in backup.entries(shop):
        Path(entry.path).unlink()
    last = backups.create(shop, None, DEAD_BATTERY, also_to=str(stick))
    assert backup.offsite_entries(shop.database, str(stick))[0].id == last["id"]


def test_a_copy_that_is_not_sound_is_never_put_back(shop: Places) -> None:
    copy = Path(backups.create(shop, None, NOW)["path"])
    whole, before = copy.read_bytes(), Path(shop.database).read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:4096] + bytes(4096) + whole[8192:], b"no database", b""):
        copy.write_bytes(broken)
        with pytest.raises(backup.BackupBad):
            backups.verify(shop, None)
        with pytest.raises(backup.BackupBad):
            backups.restore(shop, None, NOW, dry_run=False)
    assert Path(shop.database).read_bytes() == before


def test_a_copy_of_nothing_and_over_something_is_refused(shop: Places, tmp_path: Path) -> None:
    taken = tmp_path / "mine.db"
    taken.write_text("mine")
    with pytest.raises(backup.BackupBad, match="already exists"):
        backups.create(shop, str(taken), NOW)
    assert taken.read_text() == "mine"
    with pytest.raises(backup.BackupBad, match="there is no backup nowhere"):
        backups.restore(shop, "nowhere.db", NOW, dry_run=False)


def test_copies_of_one_second_have_names_of_their_own(shop: Places, stick: Path) -> None:
    made = [backups.create(shop, None, NOW, also_to=str(stick))["id"] for _ in range(11)]
    assert made[:3] == ["20261121T080000Z", "20261121T080000Z-2", "20261121T080000Z-3"]
    assert [entry.id for entry in backup.entries(shop)] == made[::-1]
    assert len(backup.offsite_entries(shop.database, str(stick))) == 11
    assert backups.find(shop, made[1]).name == "momo-20261121T080000Z-2.db"
    assert backups.find(shop, None).name == "momo-20261121T080000Z-11.db"
    gone = backups.prune(shop, "1d", dry_run=False, also_to=str(stick))
    assert (gone["kept"], len(gone["removed"])) == ([made[-1]], 10)
    assert len(list(stick.iterdir())) == 1


def test_a_copy_that_would_fill_the_disk_is_not_begun(shop: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = Path(shop.database).stat().st_size
    for free, made in ((needed + TIGHT_BYTES - 1, 0), (needed + TIGHT_BYTES, 1)):
        monkeypatch.setattr("daemon.flows.upkeep.backups.free_bytes", lambda _folder, free=free: free)
        if made:
            backups.create(shop, None, NOW)
        else:
            with pytest.raises(backup.DiskFull, match="100 MB must stay free for payments"):
                backups.create(shop, None, NOW)
        assert len(backup.entries(shop)) == made


def test_a_drill_brings_a_shop_out_of_an_old_copy_and_leaves_everything_as_it_was(old_shop: Places) -> None:
    places = old_shop
    made = backups.create(places, None, NOW)
    before = Path(made["path"]).read_bytes()
    tried = backups.drill(places, None, NOW)
    assert (tried["id"], tried["path"], tried["drilled"]) == (made["id"], made["path"], True)
    # It was opened as the daemon would: with today's schema.
    assert (made["schema"], tried["schema"]) == (1, len(STEPS))
    assert tried["rows"]["payments"] == 1
    assert Path(made["path"]).read_bytes() == before
    assert [path.name for path in Path(made["path"]).parent.iterdir()] == [Path(made["path"]).name]


def test_a_drill_fails_for_a_copy_that_is_sound_and_cannot_be_opened(
    places: Places, shop: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = backups.create(places, None, NOW)
    # The file is sound, but has a table of a later migration already.
    run_on = sqlite3.connect(made["path"])
    run_on.execute("CREATE TABLE labels (seq INTEGER)")
    run_on.close()
    know_later_steps(monkeypatch)
    assert backups.verify(places, None)["schema"] == 1
    with pytest.raises(backup.BackupBad, match="could not be opened"):
        backups.drill(places, None, NOW)
    assert len(list(Path(made["path"]).parent.iterdir())) == 1


@pytest.fixture
def stick(shop: Places, tmp_path: Path) -> Path:
    """The second folder for backups, on a plugged-in stick and in the settings."""
    made = tmp_path / "stick"
    made.mkdir()
    Path(shop.config).write_text(f'[backup]\nalso_to = "{made}"\n', encoding="utf-8")
    return made


def said(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(capsys.readouterr().out)["data"]
    return data


def test_a_copy_goes_to_the_second_place_and_is_looked_through_there(
    shop: Places, stick: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOMO_HOME", shop.home)
    assert program.main(["backup", "create", "--json"]) == 0
    made = said(capsys)
    there = Path(made["also"]["path"])
    assert (made["also"]["status"], there.parent) == ("copied", stick)
    assert payments(there) == payments(made["path"]) == 1
    assert backups.verify(shop, str(there))["verified"]
    # With a named folder, the backup is written there alone.
    assert program.main(["backup", "create", "--to", str(stick.parent / "x.db"), "--json"]) == 0
    assert said(capsys)["also"] is None


def test_a_stick_that_is_out_costs_no_copy_and_its_folder_is_not_made_on_our_own_disk(
    shop: Places, stick: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOMO_HOME", shop.home)
    stick.rmdir()
    assert program.main(["backup", "create", "--json"]) == 0
    made = said(capsys)
    assert payments(made["path"]) == 1
    assert (made["also"]["status"], made["also"]["why"]) == ("away", f"{stick} does not exist")
    assert not stick.exists()


def test_a_second_place_that_cannot_be_read_costs_no_copy(shop: Places, tmp_path: Path) -> None:
    # As a stick that was pulled out while it was mounted: the system refuses to list it.
    unread = str(tmp_path / ("x" * 300))
    made = backups.create(shop, None, NOW, also_to=unread)
    assert payments(made["path"]) == 1
    assert (made["also"]["status"], made["also"]["path"]) == ("failed", None)
    assert backups.prune(shop, "1d", dry_run=False, also_to=unread)["kept"] == [made["id"]]


def test_a_copy_that_is_removed_while_they_are_listed_is_left_out(shop: Places, stick: Path) -> None:
    gone = stick / f"momo-{shop_mark(shop.database)}-20261120T080000Z.db"
    gone.symlink_to("removed")
    made = backups.create(shop, None, NOW, also_to=str(stick))
    assert made["also"]["status"] == "copied"
    listed = [entry.id for entry in backup.offsite_entries(shop.database, str(stick))]
    assert listed == [made["id"]]


def test_a_stick_that_takes_no_copy_is_exit_6_and_the_own_copy_stays(
    shop: Places, stick: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOMO_HOME", shop.home)
    free = {str(stick): 0}
    monkeypatch.setattr("daemon.flows.upkeep.backups.free_bytes", lambda folder: free.get(folder, 1 << 40))
    assert program.main(["backup", "create", "--json"]) == 6
    made = said(capsys)
    assert (made["also"]["status"], made["also"]["path"]) == ("failed", None)
    assert payments(made["path"]) == 1
    assert list(stick.iterdir()) == []


def test_wrong_settings_cost_no_copy(
    shop: Places, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOMO_HOME", shop.home)
    Path(shop.config).write_text("[backup]\nalso_too = 1\n", encoding="utf-8")
    assert program.main(["backup", "create", "--json"]) == 6
    made = said(capsys)
    assert payments(made["path"]) == 1
    assert "did you mean also_to?" in made["also"]["why"]


def test_the_second_place_is_thinned_out_too(shop: Places, stick: Path) -> None:
    for day in (20, 21, 22):
        backups.create(shop, None, NOW.replace(day=day), also_to=str(stick))
    gone = backups.prune(shop, "1d", dry_run=False, also_to=str(stick))
    assert gone["also_removed"] == gone["removed"] == ["20261121T080000Z", "20261120T080000Z"]
    mark = shop_mark(shop.database)
    assert [path.name for path in stick.iterdir()] == [f"momo-{mark}-20261122T080000Z.db"]


def test_two_shops_on_one_stick_thin_out_their_own_copies_alone(shop: Places, stick: Path, tmp_path: Path) -> None:
    other = wire.places({"MOMO_HOME": str(tmp_path / "other")}, 0, str(tmp_path))
    Path(other.home).mkdir()
    backup.copy(shop.database, Path(other.database))
    with sqlite3.connect(other.database) as base:
        base.execute("UPDATE shop SET account_key = 'ff'")
    base.close()
    for day in (20, 21):
        for each in (shop, other):
            made = backups.create(each, None, NOW.replace(day=day), also_to=str(stick))
            assert made["also"]["status"] == "copied"
    assert len(list(stick.iterdir())) == 4
    gone = backups.prune(shop, "1d", dry_run=False, also_to=str(stick))
    assert gone["also_removed"] == ["20261120T080000Z"]
    theirs = backup.entries_in(stick, shop_mark(other.database))
    assert [entry.id for entry in theirs] == ["20261121T080000Z", "20261120T080000Z"]
    assert len(backup.entries_in(stick, shop_mark(shop.database))) == 1
    # Each finds its own again, by the path.
    assert backups.verify(other, theirs[0].path)["id"] == "20261121T080000Z"
    # With an unreadable database, no copy is removed.
    Path(shop.database).write_bytes(b"torn")
    assert backups.prune(shop, "1d", dry_run=False, also_to=str(stick))["also_removed"] == []


def test_a_restore_onto_a_full_disk_changes_nothing_and_leaves_nothing_behind(
    shop: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = backups.create(shop, None, NOW)
    run(shop, PAY)
    real = backup.copy

    def full(source: str, target: Path) -> None:
        if ".before-" in target.name:
            raise backup.DiskFull("the disk is full")
        real(source, target)

    monkeypatch.setattr(backup, "copy", full)
    with pytest.raises(backup.DiskFull):
        backups.restore(shop, made["id"], NOW, dry_run=False)
    assert payments(shop.database) == 2
    left = {path.name for path in Path(shop.home).iterdir()}
    assert not {name for name in left if "restoring" in name or "before-" in name}


KILLED = """
import os, signal, sqlite3, sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from daemon import wire
from daemon.flows.upkeep import backups
from daemon.store.engine import Store
from daemon.store.upkeep import backup, inspect, operator_sql

where, verb, name = sys.argv[1:]
places = wire.places(os.environ, os.getuid(), "/tmp")

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def die_half(status, remaining, total):
    if 2 * remaining <= total:
        die()

class DiesInTheCopy(sqlite3.Connection):
    def backup(self, target, **_):
        # With one page in memory, half of the copy is in its file.
        target.execute("PRAGMA cache_size = 1")
        super().backup(target, pages=1, progress=die_half)

class DiesAfterTheCopy(sqlite3.Connection):
    def backup(self, target, **how):
        super().backup(target, **how)
        die()

def afterwards(real):
    def run(*args):
        real(*args)
        die()
    return run

def swapping(self, target, real=Path.replace):
    return die() if self.name == ".momo.db.restoring" else real(self, target)

match where:
    case "half":
        sqlite3.connect = partial(sqlite3.connect, factory=DiesInTheCopy)
    case "copied":
        sqlite3.connect = partial(sqlite3.connect, factory=DiesAfterTheCopy)
    case "synced":
        backup.sync = afterwards(backup.sync)
    case "renamed":
        Path.replace = afterwards(Path.replace)
    case "drilled":
        Store.open = die
    case "swapped":
        Path.replace = swapping
    case "noted":
        backups._record_restore = die
now = datetime(2026, 11, 22, 8, tzinfo=UTC)
if verb == "create":
    backups.create(places, None, now)
elif verb == "drill":
    backups.drill(places, None, now)
else:
    backups.restore(places, name, now, dry_run=False)
"""


def killed(shop: Places, where: str, verb: str, name: str = "") -> None:
    """Run a verb in a separate process that is killed at that place."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, where, verb, name],
        env={**os.environ, "MOMO_HOME": shop.home}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("where", ["half", "copied", "synced", "renamed"])
def test_a_kill_at_each_step_of_a_backup_leaves_whole_copies_only_and_nothing_for_ever(
    where: str, shop: Places
) -> None:
    made = backups.create(shop, None, NOW)
    killed(shop, where, "create")
    known = backup.entries(shop)
    assert [entry.id for entry in known] == [*(["20261122T080000Z"] if where == "renamed" else []), made["id"]]
    assert all(backups.verify(shop, entry.id)["verified"] for entry in known)
    # The next backup removes the incomplete files of the killed one.
    backups.create(shop, None, NOW.replace(day=23))
    left = [path.name for path in backup.folder(shop).iterdir() if path.name.startswith(".")]
    assert left == []


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_drill_leaves_nothing_for_ever(shop: Places) -> None:
    backups.create(shop, None, NOW)
    killed(shop, "drilled", "drill")
    backups.drill(shop, None, NOW)
    assert len(list(backup.folder(shop).iterdir())) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("where", "expected"), [("half", 2), ("swapped", 2), ("noted", 1)])
def test_a_kill_at_each_step_of_a_restore_leaves_the_old_shop_whole_or_the_new_one(
    where: str, expected: int, shop: Places
) -> None:
    made = backups.create(shop, None, NOW)
    left_in_log(shop, PAY)
    killed(shop, where, "restore", made["id"])
    assert payments(shop.database) == expected
    again = backups.restore(shop, made["id"], NOW.replace(day=24), dry_run=False)
    assert payments(shop.database) == 1
    assert payments(again["kept"]) == expected
    assert not [path.name for path in Path(shop.home).iterdir() if path.name.startswith(".")]


def test_where_no_shop_is_yet_there_is_nothing_to_copy(
    places: Places, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOMO_HOME", places.home)
    assert program.main(["backup", "create", "--json"]) == 11
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["next"]) == ("NOT_SET_UP", ["momo setup"])


def test_what_sqlite_and_the_system_say_of_a_full_disk_is_understood() -> None:
    base = sqlite3.connect(":memory:")
    full = base.execute("PRAGMA max_page_count = 1").fetchone()
    assert full == (1,)
    with pytest.raises(sqlite3.OperationalError) as error:
        base.execute("CREATE TABLE t (a)")
    assert backup._says_full(error.value)
    base.close()
    assert backup._says_full(OSError(errno.ENOSPC, "no space"))
    assert not backup._says_full(OSError(errno.EACCES, "not yours"))


def test_a_disk_without_room_for_a_copy_is_not_called_a_damaged_database(
    shop: Places, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("daemon.flows.upkeep.backups.free_bytes", lambda _folder: 0)
    monkeypatch.setenv("MOMO_HOME", shop.home)
    assert program.main(["backup", "create", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["next"]) == ("DISK_FULL", ["momo backup prune"])
