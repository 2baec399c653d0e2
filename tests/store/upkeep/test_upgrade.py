"""Findings of `momo daemon upgrade-check` on real databases: of the version before, of the next one, and damaged."""

import contextlib
import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from daemon import wire
from daemon.store.engine import Store
from daemon.store.migrate import migrations
from daemon.store.upkeep import backup, inspect
from tests.fakes.later_schema import LATER, know_later_steps

NOW = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)


@pytest.fixture
def places(tmp_path: Path) -> wire.Places:
    found = wire.places({"MOMO_HOME": str(tmp_path)}, os.getuid(), "/tmp")
    Store.open(found.database, now_us=0).close()
    return found


def run(places: wire.Places, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(places.database, isolation_level=None)) as base:
        base.execute(statement)


def test_database_of_this_version_is_current(places: wire.Places) -> None:
    found = inspect.check_upgrade(places, NOW)
    assert (found["state"], found["steps"], found["room"]) == ("current", [], True)
    assert found["schema"] == found["program_schema"] == len(migrations())
    assert found["latest_backup"] is None


def test_older_database_names_the_steps_to_come_and_its_backup(
    places: wire.Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    know_later_steps(monkeypatch)
    made = backup.before_upgrade(places, NOW)
    assert made is not None
    found = inspect.check_upgrade(places, NOW)
    assert found["state"] == "migrates"
    assert found["steps"] == [step.name for step in LATER]
    assert found["latest_backup"] == {"id": backup.id_of(made), "age_s": 0}


def test_newer_database_is_told(places: wire.Places) -> None:
    run(places, f"PRAGMA user_version = {len(migrations()) + 1}")
    assert inspect.check_upgrade(places, NOW)["state"] == "newer"


def test_database_of_a_pre_release_is_told(places: wire.Places) -> None:
    run(places, "UPDATE schema_migrations SET name = 'foundations'")
    found = inspect.check_upgrade(places, NOW)
    assert found["state"] == "incompatible"
    assert "made by a pre-release of momo" in found["why"]
    assert backup.before_upgrade(places, NOW) is None


def test_damaged_database_is_told_and_left_alone(places: wire.Places) -> None:
    path = Path(places.database)
    path.write_bytes(b"not a database" * 100)
    found = inspect.check_upgrade(places, NOW)
    assert found["state"] == "damaged"
    assert found["why"]
    assert path.read_bytes() == b"not a database" * 100


def test_database_that_cannot_be_read_now_is_not_called_damaged(places: wire.Places) -> None:
    in_the_way = Path(f"{places.database}-wal")
    in_the_way.mkdir()  # SQLite cannot open its log, as without a free descriptor
    with pytest.raises(inspect.UnreadableShop, match="cannot be read now"):
        inspect.check_upgrade(places, NOW)
    in_the_way.rmdir()
    assert inspect.check_upgrade(places, NOW)["state"] == "current"
