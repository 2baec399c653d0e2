"""The entries of `[[sources]]`: valid values, and the entry that `momo setup --hilink` adds."""

from pathlib import Path

import pytest

from daemon import wire
from daemon.commands.config import config_command
from daemon.runtime import config_file
from daemon.runtime.config_file import ConfigError, load_config, parse_config
from tests.fakes.each import each
from tests.fakes.hilink_stick import FIRMWARES, FakeStick, Firmware

STICK = '[[sources]]\nname = "stick"\nkind = "hilink"\n'


def places(folder: Path) -> wire.Places:
    return wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp")


def test_without_an_entry_there_are_the_at_modems() -> None:
    [only] = parse_config("").enabled_sources
    assert (only.name, only.kind, only.level, only.history) == ("modem", "modem", "full", False)


def test_a_stick_stands_beside_the_modems_until_these_are_disabled() -> None:
    assert [one.name for one in parse_config(STICK).enabled_sources] == ["modem", "stick"]
    off = '[[sources]]\nkind = "modem"\nenabled = false\n'
    assert [one.name for one in parse_config(STICK + off).enabled_sources] == ["stick"]
    assert parse_config(STICK).sources[0].level == "partial"


@each(
    ("text", "said"),
    [
        ('[[sources]]\nkind = "hilink"\n', "needs a name"),
        (STICK + STICK, "two sources have the name stick"),
        (STICK + "may_pay = true\n", "a source of kind hilink has no key may_pay"),
        (STICK.replace("stick", "The Stick"), "small letters"),
        (STICK.replace("stick", "modem"), "that of the AT modems"),
        (STICK + 'timezone = "Ghana/Accra"\n', "takes a time zone"),
        (STICK + 'url = "ftp://192.168.8.1"\n', "http://"),
        (STICK + 'ulr = "http://192.168.8.1"\n', "did you mean url?"),
        ('[sources]\nname = "x"\n', "begin each source with a line [[sources]]"),
        (STICK.replace("hilink", "zte"), "takes one of"),
    ],
)
def test_wrong_entry_is_told_with_its_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=r"config\.toml, line \d+: ") as caught:
        parse_config(text)
    assert said in str(caught.value)


@each(
    "address",
    [
        " http://192.168.1.5:8080",
        "http://192.168.1.5:8080 ",
        "http://192.168.1.5:8080\\n",
        "http://192.168.1.5\\t",
        "http://handy.münchen.example",
        "http://192.168.1.5/?x",
        "http://192.168.1.5/#x",
        "http://192.168.1.5/@x",
    ],
)
def test_an_address_that_the_client_of_a_phone_cannot_take_apart_is_refused(address: str) -> None:
    phone = '[[sources]]\nname = "phone"\nkind = "android"\nnetworks = ["mtn"]\nphone_url = '
    assert parse_config(f'{phone}"http://192.168.1.5:8080/"').sources
    with pytest.raises(ConfigError, match=r"without blanks, @, \? and #"):
        parse_config(f'{phone}"{address}"')


def test_adding_a_stick_keeps_the_file_and_is_done_once(tmp_path: Path) -> None:
    here = places(tmp_path)
    Path(here.config).write_text("# mine\n[trust]\nbalance_check = 'warn'")
    first = config_file.add_hilink(here, "http://192.168.8.1")
    assert (first["name"], first["changed"]) == ("stick", True)
    assert not config_file.add_hilink(here, "http://192.168.8.1")["changed"]
    assert config_file.add_hilink(here, "http://192.168.9.1")["name"] == "stick-2"
    config = load_config(here.config, {"MOMO_HOME": str(tmp_path)})
    assert [one.url for one in config.sources] == ["http://192.168.8.1", "http://192.168.9.1"]
    assert config.trust.balance_check == "warn"
    assert Path(here.config).read_text().startswith("# mine\n")
    config_file.change_setting(here, "trust.balance_check", "review")
    assert len(load_config(here.config, {"MOMO_HOME": str(tmp_path)}).sources) == 2


@pytest.mark.parametrize("firmware", FIRMWARES, ids=lambda one: one.name)
def test_only_a_stick_that_answers_is_added(
    tmp_path: Path, firmware: Firmware, capsys: pytest.CaptureFixture[str]
) -> None:
    from argparse import Namespace

    here = places(tmp_path)
    with FakeStick(firmware) as stick:
        asked = Namespace(what="add-hilink", key=stick.url, value="", json=True)
        assert config_command(asked, here) == 0
        assert stick.url in capsys.readouterr().out
    away = Namespace(what="add-hilink", key="http://127.0.0.1:1", value="", json=True)
    with pytest.raises(Exception, match="no HiLink stick answers"):
        config_command(away, here)
    assert len(parse_config(Path(here.config).read_text()).sources) == 1
