"""`momo config` on real files, through the daemon's real program run in this process."""

import json
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon import wire
from daemon.runtime import config_file
from daemon.runtime.config_file import ConfigError
from tests.cli.conftest import Momo, Shop

WRITTEN = """\
# the till
[http]
bind = "127.0.0.1:8420"   # as ever

[webhooks]  # the receivers
retry_schedule_s = [
  1,
  2, # a list over lines
]
workers = 3
"""


pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture
def config(shop: Shop) -> Path:
    path = shop.home / wire.CONFIG_NAME
    path.write_text(WRITTEN)
    return path


def test_show_names_the_line_that_each_value_comes_from(config: Path, momo: Momo) -> None:
    rows = {row["key"]: row for row in momo("config", "show", "--origin", "--json").json["data"]}
    assert rows["webhooks.workers"]["origin"] == f"{config}, line 10"
    assert rows["webhooks.timeout_s"] == {
        "key": "webhooks.timeout_s", "value": 15.0, "default": 15.0, "origin": "default",
        "meaning": "seconds for a whole attempt", "changed_by": "manager", "live": False,
    }  # fmt: skip
    changed = momo("config", "show", "--changed", "--plain").out
    assert [line.split("\t")[0] for line in changed.splitlines()] == [
        "http.bind", "webhooks.retry_schedule_s", "webhooks.workers",
    ]  # fmt: skip


def test_get_prints_the_value_alone_in_a_pipe(config: Path, momo: Momo) -> None:
    assert momo("config", "get", "http.bind").out == "127.0.0.1:8420\n"
    ran = momo("config", "get", "http.bnd", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "USAGE")
    assert "did you mean http.bind?" in ran.json["error"]["message"]


def test_set_changes_its_own_lines_and_no_other(config: Path, momo: Momo) -> None:
    assert momo("config", "set", "webhooks.retry_schedule_s", "5,10").code == 0
    assert momo("config", "set", "modems.poll_s", "12").code == 0
    ran = momo("config", "set", "webhooks.workers", "4", "--json")
    assert (ran.json["data"]["old"], ran.json["data"]["value"]) == (3, 4)
    assert config.read_text() == (
        '# the till\n[http]\nbind = "127.0.0.1:8420"   # as ever\n\n'
        "[webhooks]  # the receivers\nretry_schedule_s = [5, 10]\nworkers = 4\n"
        "\n[modems]\npoll_s = 12\n"
    )
    assert config.stat().st_mode & 0o777 == 0o600
    assert momo("config", "set", "webhooks.retry_schedule_s", "--default").code == 0
    assert "retry_schedule_s" not in config.read_text()


@pytest.mark.usefixtures("api")
def test_only_another_value_wants_the_daemon_started_again(config: Path, momo: Momo) -> None:
    for value, restart in (("30", False), ("12", True), ("12", False)):
        ran = momo("config", "set", "modems.poll_s", value, "--json")
        assert ran.json["data"]["restart"] is restart, value
    ran = momo("config", "set", "pages.contact", "024 412 4567", "--json")
    assert (ran.json["data"]["live"], ran.json["data"]["restart"]) == (True, False)
    assert "poll_s = 12" in config.read_text()


def test_a_switch_is_shown_as_it_is_written(config: Path, momo: Momo) -> None:
    ran = momo("config", "set", "notices.desktop", "true", "-o", "table")
    assert ran.out == "✓ notices.desktop = true (was false)\n"
    assert "desktop = true" in config.read_text()


def test_value_that_will_not_do_changes_nothing(config: Path, momo: Momo) -> None:
    ran = momo("config", "set", "webhooks.workers", "0", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (78, "CONFIG_INVALID")
    assert "workers takes 1 to 100" in ran.json["error"]["message"]
    assert config.read_text() == WRITTEN


def test_a_wrong_value_is_not_blamed_on_the_file(config: Path, momo: Momo) -> None:
    ran = momo("config", "set", "webhooks.timeout_s", "abc")
    assert ran.code == 78
    assert [line.strip() for line in ran.err.splitlines()] == [
        "error: webhooks.timeout_s takes a number, such as 15, not 'abc'; nothing was changed  [CONFIG_INVALID]",
        "next:  momo config get webhooks.timeout_s",
    ]
    assert config.read_text() == WRITTEN
    config.write_text("[http]\nbnd = 1\n")
    ran = momo("config", "set", "webhooks.timeout_s", "abc")
    assert (ran.code, f"{config}, line 2" in ran.err) == (78, True)


def test_setting_without_a_file_makes_one(shop: Shop, momo: Momo) -> None:
    assert momo("config", "path").out == f"{shop.home}/config.toml\n"
    assert momo("config", "set", "http.bind", "off").code == 0
    assert (shop.home / "config.toml").read_text() == '[http]\nbind = "off"\n'


@pytest.mark.parametrize("key", ["backup.also_to", "backup.messages_to"])
def test_a_place_for_second_copies_must_exist_and_is_made_only_on_another_disk(
    key: str, config: Path, momo: Momo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stick = tmp_path / "stick"
    for wrong in (stick, stick / "momo"):
        ran = momo("config", "set", key, str(wrong), "--json")
        assert (ran.code, ran.json["error"]["code"]) == (78, "CONFIG_INVALID")
        assert "plug in the stick, or correct the path" in ran.json["error"]["message"]
    assert (config.read_text(), stick.exists()) == (WRITTEN, False)
    stick.mkdir()
    ran = momo("config", "set", key, str(stick), "-o", "table")
    assert (ran.code, "is on the same disk as the shop" in ran.err) == (0, True)
    monkeypatch.setattr(config_file, "disk_of", lambda folder: 2 if folder.is_relative_to(stick) else 1)
    ran = momo("config", "set", key, str(stick / "momo"), "--json")
    assert (ran.code, ran.json["data"]["warning"]) == (0, "")
    assert (stick / "momo").stat().st_mode & 0o777 == 0o700
    # A stick that is away now: the place is set already, and can be removed.
    (stick / "momo").rmdir()
    stick.rmdir()
    assert momo("config", "set", key, str(stick / "momo")).code == 0
    assert momo("config", "set", key, "--default").code == 0


def test_set_mends_the_very_value_that_is_wrong(config: Path, momo: Momo) -> None:
    config.write_text("[webhooks]\nworkers = 0\n")
    assert momo("config", "validate").code == 78
    assert momo("config", "set", "webhooks.workers", "2").code == 0
    assert momo("config", "validate").code == 0


@given(st.text(max_size=60))
def test_any_text_survives_being_set(text: str) -> None:
    changed = config_file._edited(WRITTEN, "smtp.user", config_file._literal(str, text))
    assert tomllib.loads(changed)["smtp"]["user"] == text


def test_key_in_a_rarer_way_of_writing_is_left_to_a_person(shop: Shop) -> None:
    path = shop.home / "config.toml"
    path.write_text("webhooks = { workers = 3 }\n")
    with pytest.raises((config_file.CannotEdit, ConfigError)):
        config_file.change_setting(shop.places, "webhooks.workers", "4")
    assert path.read_text() == "webhooks = { workers = 3 }\n"


def editor(folder: Path, text: str) -> str:
    """Make an editor that writes one text."""
    path = folder / "editor"
    path.write_text(f"#!{sys.executable}\nimport sys\nopen(sys.argv[1], 'w').write({text!r})\n")
    path.chmod(0o755)
    return str(path)


def test_edit_saves_what_is_right(config: Path, momo: Momo, tmp_path: Path) -> None:
    ran = momo("config", "edit", "--json", EDITOR=editor(tmp_path, "[modems]\npoll_s = 9\n"))
    assert (ran.code, ran.json["data"]["changed"]) == (0, True)
    assert config.read_text() == "[modems]\npoll_s = 9\n"
    assert sorted(path.name for path in config.parent.iterdir()) == ["config.toml", "momo.db"]


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize(
    ("text", "restart"),
    [
        ('[pages]\ncontact = "024 412 4567"\n', False),
        ("[modems]\npoll_s = 9\n", True),
        ('[[sources]]\nkind = "modem"\nenabled = false\n', True),
    ],
)
def test_edit_asks_for_a_restart_only_for_what_does_not_act_at_once(
    shop: Shop, momo: Momo, tmp_path: Path, text: str, restart: bool
) -> None:
    ran = momo("config", "edit", "--json", EDITOR=editor(tmp_path, text))
    assert (ran.json["data"]["changed"], ran.json["data"]["restart"]) == (True, restart)
    assert (shop.home / "config.toml").read_text() == text


def test_edit_keeps_the_old_file_when_the_new_one_is_wrong(config: Path, momo: Momo, tmp_path: Path) -> None:
    ran = momo("config", "edit", "--json", EDITOR=editor(tmp_path, "[modem]\n"))
    assert (ran.code, ran.json["error"]["code"]) == (78, "CONFIG_INVALID")
    assert "did you mean modems?" in ran.json["error"]["message"]
    assert config.read_text() == WRITTEN
    assert json.dumps(ran.json).count("config.toml.edit.toml") >= 1
