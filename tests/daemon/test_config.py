from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon import wire
from daemon.commands.config import config_command
from daemon.runtime import config_file
from daemon.runtime.config import Config, Http, sections
from daemon.runtime.config_file import ConfigError, check_exposure, load_config, parse_config
from tests.fakes.each import each
from tests.fakes.hilink_stick import FIRMWARES, FakeStick, Firmware

EXAMPLES = {
    "till": 'products = ["Rice 5 kg = 25.00"]',
    "notices": 'desktop = true\nsms_to = "0244124567"',
    "http": 'bind = "0.0.0.0:80"\npublic_base_url = "https://pay.ama.example"\ninsecure_http = true',
    "hub": f'send_texts = true\nca_file = "{__file__}"',
    "store": 'url = "postgresql://momo@db1,db2/momo?passfile=/etc/momo/pgpass"',
    "webhooks": """
allow_private_hosts = ["till.lan", "192.168.1.9"]
allow_private_cidrs = ["192.168.1.0/24"]
retry_schedule_s = [0.5, 2, 60]
jitter = 0
connect_timeout_s = 0.25
timeout_s = 3
workers = 4
per_endpoint = 1
retry_4xx = [408, 429]
default_url = "https://shop.example/momo"
""",
    "modems": "poll_s = 0.5\nsweep_s = 60\nheartbeat_s = 5\ncommand_timeout_s = 2.5\ndelete = false\nports = ['/dev/ttyUSB1']",
    "limits": "live_per_min = 0\nburst = 5\nconnections = 16",
    "smtp": 'host = "mail.example"\nport = 25\nfrom = "momo@shop.example"\nstarttls = false',
    "open_collections": "enabled = false",
    "backup": 'also_to = "/media/stick/momo"',
    "transactions": 'late_policy = "review"\ncode_sms_at = "never"\npublic_sms = true',
    "sms": 'code_text = "{amount} to {number}: {code}"\nsteps_mtn = "Dial *171#"\nreports = true',
    "pages": 'languages = ["en", "fr"]\ncontact = "024 412 4567"\nclient_header = "X-Forwarded-For"',
    "trust": 'balance_check = "warn"',
    "retention": "attempts_days = 30\ndeliveries_days = 100\nmessages_days = 50",
    "power": 'keep_awake = "plugged"',
    "access": 'socket_users = ["ama", "kofi"]',
    "network": 'probe_hosts = ["shop.example"]',
    "secrets": 'store = "keyring"',
}


def why(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "/shop/config.toml")
    return str(caught.value)


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert load_config(str(tmp_path / "config.toml"), {"MOMO_HOME": str(tmp_path)}) == Config()
    assert parse_config("") == Config()


def test_defaults_are_those_of_the_contract() -> None:
    config = Config()
    assert config.http.bind == "127.0.0.1:8420"
    assert (config.webhooks.connect_timeout_s, config.webhooks.timeout_s) == (5, 15)
    assert (config.webhooks.workers, config.webhooks.per_endpoint) == (10, 2)
    assert len(config.webhooks.retry_schedule_s) == 12
    assert (config.modems.poll_s, config.modems.sweep_s, config.modems.heartbeat_s) == (30, 300, 30)
    assert config.modems.delete
    assert (config.limits.live_per_min, config.limits.test_per_min, config.limits.burst) == (600, 300, 60)
    assert config.open_collections.enabled
    assert config.transactions.late_policy == "accept"
    assert config.trust.balance_check == "review"


def test_every_section_is_read() -> None:
    text = "\n".join(f"[{section}]\n{keys}\n" for section, keys in EXAMPLES.items())
    assert set(EXAMPLES) == set(sections())
    config, default = parse_config(text), Config()
    for section in EXAMPLES:
        assert getattr(config, section) != getattr(default, section), section
    assert config.webhooks.retry_schedule_s == (0.5, 2.0, 60.0)
    assert config.smtp.from_ == "momo@shop.example"
    assert config.access.socket_users == ("ama", "kofi")


def test_unknown_key_names_file_line_and_the_nearest_key() -> None:
    text = "[webhooks]\n\n# a comment\ntimeouts = 3\n"
    assert why(text) == ("/shop/config.toml, line 4: unknown key timeouts; did you mean timeout_s?")


def test_unknown_key_near_to_nothing_lists_what_is_known() -> None:
    assert why("[trust]\nzzz = 1") == (
        "/shop/config.toml, line 2: unknown key zzz; known: balance_check, unconfirmed_limit, phone_limit, phone_breaks"
    )


def test_unknown_section_is_named() -> None:
    assert why("[http]\n[webhook]\n") == ("/shop/config.toml, line 2: unknown section webhook; did you mean webhooks?")


@each(
    ("text", "says"),
    [
        ("[modems]\npoll_s = '3'", "line 2: poll_s takes a number, not '3'"),
        ("[modems]\npoll_s = true", "line 2: poll_s takes a number, not True"),
        ("[modems]\ndelete = 1", "line 2: delete takes true or false, not 1"),
        ("[webhooks]\nworkers = 2.5", "line 2: workers takes a whole number, not 2.5"),
        ("[webhooks]\nworkers = true", "line 2: workers takes a whole number, not True"),
        ("[http]\nbind = 8420", "line 2: bind takes a text, not 8420"),
        ("[access]\nsocket_users = 'ama'", "line 2: socket_users takes a list, in square brackets"),
        ("[access]\nsocket_users = [1]", "line 2: socket_users takes a text, not 1"),
        ("http = 1", "line 1: http is a section: write its keys below a line [http]"),
        ("http.bind = 1", "line 1: bind takes a text, not 1"),
        ("trust = { balance_check = 1 }", "line 1: balance_check takes a text, not 1"),
        ('["http"]\n"bind" = 1', "line 2: bind takes a text, not 1"),
    ],
)
def test_wrong_type_names_the_line_and_the_type(text: str, says: str) -> None:
    assert why(text) == f"/shop/config.toml, {says}"


@each(
    "line",
    [
        'http.bind = "localhost"',
        'http.bind = "localhost:http"',
        'http.bind = "localhost:65536"',
        'http.bind = ":80"',
        'http.public_base_url = "pay.ama.example"',
        'http.public_base_url = "ftp://pay.ama.example"',
        'http.public_base_url = "https://user:pw@pay.ama.example"',
        'http.public_base_url = "https://[::1"',
        'webhooks.ca_file = "relative.pem"',
        'webhooks.default_url = "http://shop.example"',
        'webhooks.ca_file = "/no/such/file.pem"',
        'webhooks.allow_private_hosts = ["https://till.lan"]',
        'webhooks.allow_private_hosts = ["till.lan:8443"]',
        'webhooks.allow_private_hosts = [""]',
        'webhooks.allow_private_cidrs = ["192.168.1.1/24"]',
        'webhooks.allow_private_cidrs = ["lan"]',
        "webhooks.retry_schedule_s = []",
        "webhooks.retry_schedule_s = [5, 0]",
        "webhooks.retry_schedule_s = [1e99]",
        "webhooks.jitter = 1",
        "webhooks.jitter = -0.1",
        "webhooks.jitter = nan",
        "webhooks.timeout_s = inf",
        "webhooks.timeout_s = nan",
        "webhooks.timeout_s = 0",
        "webhooks.workers = 0",
        "webhooks.retry_4xx = [500]",
        "modems.poll_s = -1",
        'modems.ports = ["ttyUSB1"]',
        "limits.live_per_min = -1",
        "limits.connections = 0",
        "smtp.port = 70000",
        'transactions.late_policy = "maybe"',
        'transactions.code_sms_at = "Both"',
        'trust.balance_check = "on"',
        'network.probe_hosts = ["shop.example/"]',
        'secrets.store = "vault"',
    ],
)
def test_value_out_of_range_is_refused_with_its_line_and_name(line: str) -> None:
    key = line.partition(" ")[0].partition(".")[2]
    assert why(line).startswith(f"/shop/config.toml, line 1: {key} takes ") or ("takes a file that exists" in why(line))


def test_ipv6_address_with_a_port_is_an_address_to_listen_on() -> None:
    assert parse_config('[http]\nbind = "[::1]:0"').http.bind == "[::1]:0"
    assert parse_config('[http]\nbind = "off"').http.bind == "off"


@pytest.mark.parametrize("address", ["0.0.0.0:80", "[::]:80", "192.168.1.5:8420", "till.lan:8420"])
def test_plain_http_to_a_network_must_be_asked_for(address: str) -> None:
    assert "without encryption" in why(f'http.bind = "{address}"')
    with pytest.raises(ConfigError):
        check_exposure(Http(), address)
    assert parse_config(f'[http]\nbind = "{address}"\ninsecure_http = true').http.bind == address


@pytest.mark.parametrize(
    "url",
    ["postgresql://momo:geheim@db/momo", "postgresql://db/momo?password=geheim", "mysql://geheim/momo", "/geheim.db"],
)
def test_an_address_of_a_server_has_no_password_and_is_never_shown(url: str) -> None:
    said = why(f'[store]\nurl = "{url}"')
    assert "line 2: url takes" in said
    assert "geheim" not in said


def test_with_a_certificate_a_network_may_reach_us(tmp_path: Path) -> None:
    file = tmp_path / "chain.pem"
    assert "a file that exists" in why(f'http.tls_cert = "{file}"')
    file.touch()
    found = parse_config(f'[http]\nbind = "0.0.0.0:8420"\ntls_cert = "{file}"').http
    assert (found.tls_cert, found.insecure_http) == (str(file), False)


@pytest.mark.parametrize("address", ["off", "127.0.0.1:0", "127.8.8.8:1", "[::1]:80", "localhost:80"])
def test_plain_http_within_the_machine_is_fine(address: str) -> None:
    check_exposure(Http(), address)


@pytest.mark.parametrize("text", ["[http", "[http]\nbind = ", "a = 1\na = 2", "\ufeff[http]", "x = '\n'"])
def test_bad_toml_names_the_file(text: str) -> None:
    said = why(text)
    assert said.startswith("/shop/config.toml")
    assert "not valid TOML" in said


def test_bad_toml_names_the_line() -> None:
    assert why("[http]\nbind = ?").startswith("/shop/config.toml, line 2: not valid TOML")


@given(st.text())
def test_any_text_is_settings_or_an_error_that_names_the_file(text: str) -> None:
    said: Config | ConfigError
    try:
        said = parse_config(text)
    except ConfigError as error:
        said = error
    assert isinstance(said, Config) or str(said).startswith("config.toml")


def test_file_that_is_no_text_or_cannot_be_opened_is_a_clear_error(tmp_path: Path) -> None:
    binary = tmp_path / "config.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (binary, tmp_path):
        with pytest.raises(ConfigError, match="cannot be read"):
            load_config(str(path), {"MOMO_HOME": "/x"})


def test_settings_of_the_machine_stand_below_those_of_the_shop(tmp_path: Path) -> None:
    machine, shop = tmp_path / "momo.toml", tmp_path / "config.toml"
    machine.write_text("[webhooks]\nworkers = 3\njitter = 0.1\n")
    shop.write_text("[webhooks]\nworkers = 5\n")
    both = load_config(str(shop), {}, str(machine)).webhooks
    assert (both.workers, both.jitter) == (5, 0.1)
    alone = load_config(str(shop), {"MOMO_HOME": str(tmp_path)}, str(machine)).webhooks
    assert (alone.workers, alone.jitter) == (5, 0.2)


@pytest.mark.parametrize(
    "origin",
    [
        "https://shop.example",
        "https://shop.example:8443",
        "https://xn--bcher-kva.example",
        "https://[2001:db8::1]",
        "http://localhost:*",
    ],
)
def test_origin_of_a_page_is_taken_as_browsers_send_it(origin: str) -> None:
    text = f'[http]\ncors_origins = ["{origin}"]\n'
    assert parse_config(text).http.cors_origins == (origin,)


@each(
    "origin",
    [
        "",
        "*",
        "null",
        "shop.example",
        "http://shop.example",
        "http://localhost:5173",
        "https://shop.example/",
        "https://shop.example/pay",
        "https://shop.example:443",
        "https://Shop.example",
        "https://*.shop.example",
        "https://bücher.example",
        "https://me@shop.example",
        "https://shop.example.",
        "https://shop.example\\n",
    ],
)
def test_origin_that_no_browser_sends_or_https_does_not_protect_is_refused(origin: str) -> None:
    with pytest.raises(ConfigError, match=r"line 2: cors_origins takes origins .*shop\.example"):
        parse_config(f'[http]\ncors_origins = ["{origin}"]\n')


def test_second_place_for_backups_is_a_path_from_the_root_and_need_not_be_there_now() -> None:
    assert parse_config('[backup]\nalso_to = "/media/stick/momo"').backup.also_to == "/media/stick/momo"
    with pytest.raises(ConfigError, match="line 2: also_to takes a path from the root"):
        parse_config('[backup]\nalso_to = "stick"')


STICK = '[[sources]]\nname = "stick"\nkind = "hilink"\n'


POST = '[[sources]]\nname = "phone"\nkind = "post"\nnetworks = ["mtn"]\n'


def test_app_that_posts_pdus_has_the_level_of_a_modem_and_pays_only_if_the_owner_opted_in() -> None:
    [pdus] = parse_config(POST + 'preset = "custom"\nmembers = ["pdu=pdus"]\n').sources
    assert (pdus.level, pdus.history) == ("full", True)
    [texts] = parse_config(POST + "may_pay = true\n").sources
    assert (texts.level, texts.history) == ("reported", False)


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
        (POST.replace('networks = ["mtn"]', ""), "need their networks"),
        (POST + 'preset = "other"\n', "takes one of: capcom6"),
        (POST + 'preset = "custom"\nmembers = ["sender=from"]\n', "the places of its sender and text"),
        (POST + 'members = ["body=text"]\n', "NAME is one of sender, text"),
        (POST + 'preset = "textbee"\nphone_url = "http://192.168.1.2"\n', "only an app of preset capcom6"),
        (POST + 'signed = "jwt"\n', "takes one of: token, path, hmac"),
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
    phone = '[[sources]]\nname = "phone"\nkind = "post"\nnetworks = ["mtn"]\nphone_url = '
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
