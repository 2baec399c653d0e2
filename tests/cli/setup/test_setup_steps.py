"""The steps of `momo setup` after the shop itself: against the fake daemon, with settings of their own."""

import json
import os
import pty
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from daemon import wire
from daemon.runtime import config_file
from momo_cli.errors import Failure
from momo_cli.service.daemon_program import VerbResult
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.cli.setup.test_setup import DONE, statuses
from tests.fakes.fake_api import FakeApi, Says, ok, refusal

SETTINGS = {
    "http.bind": "127.0.0.1:8420",
    "http.public_base_url": "",
    "backup.also_to": "",
    "power.keep_awake": "off",
    "modems.ports": [],
}
COPIED = {"status": "copied", "path": "/media/stick/momo-20261120T091800Z.db", "why": ""}
PRACTICE = {"reference": "svc_trx_practice", "svc_code": "7KQ2MX"}


@pytest.fixture
def settled(api: FakeApi, momo: Momo, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A running daemon with a phone; return the recorded arguments of `config set`."""
    told: list[Any] = []
    settings = dict(SETTINGS)

    def program(_terminal: Any, verb: str, *words: str) -> VerbResult:
        if verb == "backup":
            told.append(("backup", *words[:1]))
            return VerbResult(0, "", {"data": {"also": COPIED}})
        if "set" in words:
            if words[-2] == "backup.also_to":
                try:
                    data = config_file.change_setting(shop.places, *words[-2:])
                except config_file.WrongValue as error:
                    raise Failure(wire.ErrorCode.CONFIG_INVALID, str(error)) from error
            else:
                data = {}
            told.append(words[-2:])
            settings[words[-2]] = words[-1]
            return VerbResult(0, "", {"data": data})
        rows = [{"key": key, "value": value} for key, value in settings.items()]
        return VerbResult(0, "", {"data": rows})

    monkeypatch.setattr("momo_cli.setup.step.run_verb", program)
    monkeypatch.setattr("momo_cli.setup.machine.run_verb", program)
    monkeypatch.setattr("momo_cli.setup.phone.LOOK_S", 0.01)
    shop.environ["HOME"] = str(shop.home)
    api.on("POST", wire.Path.LOCAL_SETUP, ok(DONE["data"]))
    api.on("GET", wire.Path.LOCAL_STATUS, ok(samples.STATUS))
    api.on("GET", wire.Path.SIMS, ok(samples.SIMS))
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM]))
    api.on("GET", wire.Path.LOCAL_MESSAGES, ok([]))
    api.on("GET", wire.Path.PAYMENT_METHODS, ok([samples.METHOD_ROW]))
    api.on("POST", wire.Path.PAYMENT_METHODS, ok(samples.METHOD_ROW))
    api.on("GET", wire.Path.ENDPOINTS, ok([]))
    api.on("POST", wire.Path.ENDPOINTS, ok(samples.ENDPOINT, secret="whsec_x"))
    api.on("POST", wire.Path.INITIALIZE, ok(PRACTICE))
    api.on("POST", wire.Path.TEST_PAYMENTS, ok({"transaction": {"status": "SUCCESS"}}))
    return told


def test_flags_alone_lead_to_the_first_practice_payment(settled: list[Any], api: FakeApi, momo: Momo) -> None:
    ran = momo(
        "setup", "--no-input", "--method", "mtn:0244124567:Ama Mensah",
        "--sim", "zte-front:0=0244124567", "--http", "off", "--endpoint", "https://a.example/hook",
        "--service", "none", "--practice", "--json",
    )  # fmt: skip
    assert statuses(ran) == {
        "shop": "done", "http": "done", "service": "skipped", "daemon": "needs_action",
        "modem": "done", "number": "done", "endpoint": "done", "practice": "done",
        "first_payment": "skipped", "backup": "skipped", "awake": "skipped",
    }  # fmt: skip
    assert settled == [("http.bind", "off")]
    asked = [(one.method, one.path, one.body) for one in api.asked if one.method == "POST"]
    assert asked[1][2]["sim"] == {"device_id": samples.DEVICE, "slot_index": 0}
    assert asked[-2] == ("POST", wire.Path.TEST_PAYMENTS, {"reference": "svc_trx_practice"})
    assert asked[-1] == ("POST", wire.Path.ENDPOINTS, {"url": "https://a.example/hook"})
    # The daemon runs with the old address: that needs a person.
    assert ran.code == 6
    assert ran.json["data"]["api_key"] == "svc_live_sk_canary"


def test_a_modem_that_was_named_is_served_from_then_on(
    settled: list[Any], momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/dev")
    words = ("setup", "--no-input", "--modem", "ttyUSB1", "--modem", "/dev/tty,2", "--json")
    # The daemon that runs found its modems itself.
    assert statuses(momo(*words))["daemon"] == "needs_action"
    assert settled == [("modems.ports", '["/dev/ttyUSB1","/dev/tty,2"]')]
    again = momo(*words)
    assert statuses(again)["daemon"] == "done"
    (told,) = [one["detail"] for one in again.json["data"]["steps"] if one["id"] == "daemon"]
    assert told.endswith(", only for /dev/ttyUSB1 and /dev/tty,2")
    assert len(settled) == 1


def test_file_says_what_the_flags_would_and_flags_win(
    settled: list[Any], api: FakeApi, momo: Momo, tmp_path: Path
) -> None:
    file = tmp_path / "shop.toml"
    file.write_text('service = "user"\npractice = true\nhttp = "loopback"\nshop = "Ama"\n')
    ran = momo("setup", "--from", str(file), "--service", "none", "--no-input", "--json")
    assert (ran.code, statuses(ran)["service"]) == (0, "skipped")
    assert statuses(ran)["practice"] == "done"
    assert api.asked[0].body["shop"] == "Ama"
    assert settled == []


def test_check_of_a_shop_that_sells_is_0_and_says_what_a_wish_still_needs(
    settled: list[Any], api: FakeApi, momo: Momo
) -> None:
    ran = momo("setup", "--check", "--json")
    assert ran.code == 0, ran.out
    assert (statuses(ran)["modem"], statuses(ran)["number"]) == ("done", "done")
    wished = momo(
        "setup", "--check", "--json", "--http", "off", "--endpoint", "https://a.example/hook",
        "--service", "user", "--backup-to", "/media/stick/momo", "--method", "mtn:0244124567:A",
        "--method", "mtn:0244124568:B",
    )  # fmt: skip
    needed = {name for name, status in statuses(wished).items() if status == "needs_action"}
    assert (wished.code, needed) == (6, {"http", "service", "number", "endpoint", "backup"})
    assert settled == []
    assert [one.path for one in api.asked if one.method == "POST"] == [wire.Path.LOCAL_SETUP] * 2


LOCKED = {
    **samples.HUNG,
    "device_id": samples.DEVICE,
    "state": "pin_needed",
    "detail": "the SIM asks for its PIN",
    "next": "momo lines pin zte-front:0",
}


def test_pin_file_opens_the_one_locked_sim_and_nobody_is_asked(
    settled: list[Any], api: FakeApi, momo: Momo, tmp_path: Path
) -> None:
    pin = tmp_path / "pin"
    pin.write_text("4711\n")
    api.on("GET", wire.Path.SIMS, ok([]), ok([]), ok(samples.SIMS))
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([LOCKED]))
    api.on("POST", wire.Path.LOCAL_SIM_PIN, ok({}))
    ran = momo("setup", "--no-input", "--pin-file", str(pin), "--json")
    assert statuses(ran)["modem"] == "done"
    kept = [one.body for one in api.asked if one.path == wire.Path.LOCAL_SIM_PIN]
    assert kept == [{"device": "zte-front", "slot_index": 0, "pin": "4711"}]
    assert "4711" not in ran.out + ran.err


def test_phone_that_was_here_once_is_not_taken_for_one_that_is_here(
    settled: list[Any], api: FakeApi, momo: Momo
) -> None:
    away = {**samples.MODEM, "state": "away", "detail": "it is not plugged in", "port": ""}
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([away]))
    ran = momo("setup", "--check", "--json")
    modem = next(step for step in ran.json["data"]["steps"] if step["id"] == "modem")
    assert (ran.code, modem["status"]) == (6, "needs_action")
    assert modem["detail"] == "zte-front is not plugged in"


@pytest.mark.parametrize("others", [(LOCKED,), ()])
def test_pin_that_is_wrong_or_nobodys_for_sure_is_not_tried_again(
    others: tuple[Any, ...], settled: list[Any], api: FakeApi, momo: Momo, tmp_path: Path
) -> None:
    pin = tmp_path / "pin"
    pin.write_text("4711")
    wrong = {**LOCKED, "state": "pin_wrong", "detail": "the PIN that is stored is wrong"}
    api.on("GET", wire.Path.SIMS, ok([]))
    first, then = ok([LOCKED, *others]), [] if others else [ok([wrong])]
    api.on("GET", wire.Path.LOCAL_MODEMS, first, first, *then)
    api.on("POST", wire.Path.LOCAL_SIM_PIN, ok({}))
    ran = momo("setup", "--no-input", "--pin-file", str(pin), "--json")
    assert ran.code == 6
    modem = next(step for step in ran.json["data"]["steps"] if step["id"] == "modem")
    assert (modem["status"], modem["fix"]) == ("needs_action", "momo lines pin zte-front:0")
    tried = [one for one in api.asked if one.path == wire.Path.LOCAL_SIM_PIN]
    assert len(tried) == (0 if others else 1)


PLACED = {**samples.SIMS[0]["sims"][0], "phone_number": "+233244124567"}
UNKNOWN = ok({**samples.SMSCS, "has_chain": False})
KNOWN = ok(samples.SMSCS)


@pytest.fixture
def new_sim(settled: list[Any], api: FakeApi) -> FakeApi:
    """A SIM with a number and without a known balance."""
    api.on("GET", wire.Path.SIMS, ok([{**samples.SIMS[0], "sims": [PLACED]}]))
    api.on("POST", wire.Path.LOCAL_SIM_SMSCS, UNKNOWN)
    api.on("POST", wire.Path.LOCAL_SIM_TEST_PAYMENT, ok(samples.TEST_PAYMENT))
    return api


def test_the_first_payment_is_a_test_payment_of_an_odd_amount(new_sim: FakeApi, momo: Momo) -> None:
    new_sim.on("POST", wire.Path.LOCAL_SIM_SMSCS, UNKNOWN, UNKNOWN, UNKNOWN, KNOWN)
    ran = momo("setup", "--no-input", "--first-payment", "--json")
    assert (ran.code, statuses(ran)["first_payment"]) == (0, "done")
    assert "send exactly GHS 1.37 to 024 412 4567" in ran.err
    asked = [one.body for one in new_sim.asked if one.path == wire.Path.LOCAL_SIM_TEST_PAYMENT]
    assert asked == [{"device_id": samples.DEVICE, "slot_index": 0}]
    again = momo("setup", "--check", "--json")
    assert (again.code, statuses(again)["first_payment"]) == (0, "done")


def test_without_the_flag_nobody_is_asked_for_a_test_payment(new_sim: FakeApi, momo: Momo) -> None:
    for words in (("--no-input", "--service", "none"), ("--check",)):
        assert statuses(momo("setup", *words, "--json"))["first_payment"] == "skipped"
    wanted = momo("setup", "--check", "--first-payment", "--json")
    assert statuses(wanted)["first_payment"] == "needs_action"
    assert wire.Path.LOCAL_SIM_TEST_PAYMENT not in {one.path for one in new_sim.asked}


@pytest.mark.parametrize(("state", "fix"), [("unparsed", "momo messages sample m1"), ("held", "momo review list")])
def test_an_sms_that_is_not_read_or_held_ends_the_wait_for_the_test_payment(
    state: str, fix: str, new_sim: FakeApi, momo: Momo
) -> None:
    new = {"id": "m1", "state": state, "sender": "MobileMoney", "fields": {}}
    old, made_up = {**new, "id": "m0"}, {**new, "id": "m3", "test": True}
    other = {**new, "id": "m2", "state": "not_payment"}
    new_sim.on("GET", wire.Path.LOCAL_MESSAGES, ok([old]), ok([made_up, old]), ok([other, old]), ok([new, other, old]))
    ran = momo("setup", "--no-input", "--first-payment", "--json")
    told = next(step for step in ran.json["data"]["steps"] if step["id"] == "first_payment")
    assert (told["status"], told["fix"]) == ("needs_action", fix)


def test_a_test_payment_that_does_not_come_needs_action(
    new_sim: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("momo_cli.setup.phone.PERSON_S", 0.1)
    ran = momo("setup", "--no-input", "--first-payment", "--json")
    assert statuses(ran)["first_payment"] == "needs_action"


def test_place_for_backups_is_set_and_gets_a_copy_at_once(settled: list[Any], momo: Momo, tmp_path: Path) -> None:
    stick = tmp_path / "stick"
    stick.mkdir()
    ran = momo("setup", "--no-input", "--backup-to", str(stick), "--json")
    assert statuses(ran)["backup"] == "done"
    assert settled == [("backup.also_to", str(stick)), ("backup", "create")]
    assert "the same disk" in ran.json["data"]["steps"][-1]["detail"]
    again = momo("setup", "--no-input", "--backup-to", str(stick), "--json")
    assert (statuses(again)["backup"], len(settled)) == ("done", 2)


def test_a_place_for_backups_that_does_not_exist_is_not_stored(settled: list[Any], momo: Momo, tmp_path: Path) -> None:
    for wrong in (tmp_path / "stick", tmp_path / "stick" / "momo"):
        ran = momo("setup", "--no-input", "--backup-to", str(wrong), "--json")
        (told,) = [one for one in ran.json["data"]["steps"] if one["id"] == "backup"]
        assert (ran.code, told["status"]) == (6, "needs_action")
        assert "plug in the stick, or correct the path" in told["detail"]
    assert (settled, (tmp_path / "stick").exists()) == ([], False)


def test_a_person_is_asked_again_for_a_place_that_is_wrong_or_on_the_same_disk(
    settled: list[Any], momo: Momo, typed: BinaryIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, stick = tmp_path / "ours", tmp_path / "stick"
    ours.mkdir()
    stick.mkdir()
    monkeypatch.setattr(config_file, "disk_of", lambda folder: 2 if folder.is_relative_to(stick) else 1)
    # No service, it may sleep, no number, no endpoint; a typo, a folder on the shop's disk, the stick.
    places = f"{tmp_path}/stikc/momo\n{ours}\n\n{stick}/momo\n"
    typed.write(b"\nn\nn\n\n\n" + places.encode())
    ran = momo("setup", "-o", "table")
    assert f"the folder {tmp_path}/stikc does not exist" in ran.err.replace("\n    ", " ")
    assert f"{ours} is on the same disk as the shop" in ran.err
    assert ran.err.count("A folder on a USB stick") == 3
    assert settled[-2:] == [("backup.also_to", f"{stick}/momo"), ("backup", "create")]
    assert (stick / "momo").is_dir()


def test_a_machine_is_kept_awake_where_that_is_wished_and_the_lid_is_told_of(
    settled: list[Any], shop: Shop, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = momo("setup", "--check", "--keep-awake", "always", "--json")
    assert (statuses(wanted)["awake"], settled) == ("needs_action", [])
    flagged = momo("setup", "--no-input", "--keep-awake", "always", "--json")
    # The daemon runs with the old setting.
    assert (statuses(flagged)["awake"], statuses(flagged)["daemon"]) == ("done", "needs_action")
    assert settled == [("power.keep_awake", "always")]
    assert momo("setup", "--no-input", "--keep-awake", "off", "--json").code == 6
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        hand.write(b"\nn\n\n\n\n\n\n\n")  # Enter at the third question: yes
        asked = momo("setup", "-o", "table")
    assert "HandleLidSwitch=ignore" in asked.err
    assert settled[-1] == ("power.keep_awake", "plugged")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("keep_awake = 'yes'", "--keep-awake: 'yes' is not one of off, plugged, always"),
        ("shp = 'A'", "did you mean shop?"),
        ("methods = 'mtn'", "methods takes a list of texts"),
        ("practice = 'yes'", "practice takes true or false"),
        ("service = 'root'", "not one of user, system, none"),
        ("shop = ", "--from:"),
    ],
)
def test_file_that_is_wrong_is_2_and_names_the_key(text: str, why: str, momo: Momo, tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(text)
    ran = momo("setup", "--from", str(file), "--json")
    assert ran.code == 2
    assert why in ran.json["error"]["message"]


def test_step_that_fails_is_told_and_the_next_one_goes_on(settled: list[Any], api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.ENDPOINTS, refusal(422, "URL_NOT_ALLOWED"))
    ran = momo("setup", "--no-input", "--endpoint", "https://10.0.0.1/", "--practice", "--json")
    assert ran.code == 6
    assert (statuses(ran)["endpoint"], statuses(ran)["practice"]) == ("failed", "done")


def test_person_is_asked_once_and_what_was_put_off_is_named_again(
    settled: list[Any], api: FakeApi, shop: Shop, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        api.on("GET", wire.Path.PAYMENT_METHODS, ok([samples.METHOD_ROW]))
        # No public address, no service, it may sleep, the number and the name of the SIM, no endpoint, no stick.
        hand.write(b"\nn\nn\n0244124567\nAma Mensah\n\n\n")
        first = momo("setup", "-o", "table")
        assert first.code == 0, first.err
        assert "Its number, such as 0244124567" in first.err
        assert "created, paid and matched" in first.err
        assert first.out.splitlines()[-1] == "✓ momo is ready."
        placed = {**samples.SIMS[0]["sims"][0], "phone_number": "+233244124567"}
        api.on("GET", wire.Path.SIMS, ok([{**samples.SIMS[0], "sims": [placed]}]))
        api.on("POST", wire.Path.LOCAL_SIM_SMSCS, UNKNOWN)
        api.on("POST", wire.Path.LOCAL_SIM_TEST_PAYMENT, ok(samples.TEST_PAYMENT))
        hand.write(b"\n")  # Enter: no test payment
        asked = momo("setup", "-o", "table")
        assert "From any other phone, send exactly GHS 1.37" in asked.err
        assert "Press Enter to skip." in asked.err
        again = momo("setup", "-o", "table")
    assert "public https address" not in again.err
    assert "From any other phone" not in again.err
    assert "momo setup --first-payment" in again.err
    assert "A folder on a stick" not in again.err
    assert "Keep it awake" not in again.err
    assert "momo config set power.keep_awake plugged" in again.err
    assert "Address that is told" not in again.err
    assert "momo endpoints add" in again.err
    number = [one.body for one in api.asked if one.path == wire.Path.PAYMENT_METHODS and one.body]
    assert number[0] == {
        "provider": "momo_mtn", "phone_number": "0244124567", "account_name": "Ama Mensah",
        "sim": {"device_id": samples.DEVICE, "slot_index": 0},
    }  # fmt: skip


def test_a_sim_that_is_not_for_payments_is_set_aside(
    settled: list[Any], api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = wire.Path.SIM.format(device_id=samples.DEVICE, slot_index=0)
    api.on("PATCH", place, ok(samples.IGNORED_SIM))
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        # As above, but the SIM is not for payments.
        hand.write(b"\nn\nn\nno\n\n\n\n")
        ran = momo("setup", "-o", "table")
    assert "(no: not for payments; Enter: later)" in ran.err
    assert [one.body for one in api.asked if one.path == place] == [{"ignored": True}]


def test_an_endpoint_waits_until_the_numbers_of_the_sims_are_asked_for(
    settled: list[Any], api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = {"device_id": samples.DEVICE, "name": "zte-front", "slot_index": 0, "network": "MTN"}
    refused = refusal(409, "LINES_NOT_READY", sims_without_number=[sim])
    made = Says({"success": True, "data": samples.ENDPOINT}, 201)
    api.on("POST", wire.Path.ENDPOINTS, refused, made)
    flags = ("setup", "--endpoint", "https://shop.example/hook")
    without = momo(*flags, "--no-input", "--json")
    assert statuses(without)["endpoint"] == "needs_action"
    api.on("POST", wire.Path.ENDPOINTS, refused, made)
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        # The number is put off at its own step, and given when the endpoint needs it.
        hand.write(b"\nn\nn\n\n0244124567\nAma Mensah\n\n")
        ran = momo(*flags, "-o", "table")
    assert "Each SIM needs its number first" in ran.err
    asked = [one.path for one in api.asked if one.method == "POST"]
    tail = [wire.Path.ENDPOINTS, wire.Path.PAYMENT_METHODS, wire.Path.ENDPOINTS]
    assert asked[-3:] == tail


def test_the_service_is_one_question_whose_enter_is_a_yes(
    settled: list[Any], shop: Shop, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    enabled: list[bool] = []

    def enable(*_: Any, timers: bool, **__: Any) -> list[str]:
        enabled.append(timers)
        return []

    monkeypatch.setattr("momo_cli.service.manager.enable_service", enable)
    monkeypatch.setattr("momo_cli.service.manager.runs_systemd", lambda: True)
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        # No public address; Enter at the service; it may sleep; and so on.
        hand.write(b"\n\nn\n\n\n\n\n\n\n")
        ran = momo("setup", "-o", "table")
    before, _, after = ran.err.partition("make a backup each night? [Y/n] ")
    assert before.splitlines()[-4:-1] == [
        "  momo.service starts momo with this machine",
        "  6 timers: backup, drill, prune, check, replay, gap",
        "  To read the files first: momo daemon install --print --timers",
    ]
    assert after.lstrip().startswith("✓ momo starts with this machine")
    assert enabled == [True]
    assert (shop.home / ".config/systemd/user/momo.service").exists()


@pytest.fixture
def down(settled: list[Any], api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """As `settled`, but no daemon runs, and starting one fails; return the recorded starts."""
    started: list[Any] = []

    def start(*words: Any, **_: Any) -> Any:
        started.append(words[2])
        raise Failure(wire.ErrorCode.CONFIG_INVALID, "the daemon ended with 78")

    monkeypatch.setattr("momo_cli.socket.client.Client.alive", lambda _self: False)
    monkeypatch.setattr("momo_cli.setup.machine.start_daemon", start)
    program = VerbResult(0, json.dumps(DONE), DONE)
    monkeypatch.setattr("momo_cli.commands.upkeep.setup.run_verb", lambda *_, **__: program)
    return started


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A port that another program listens on, in the settings."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port: int = other.getsockname()[1]
        monkeypatch.setitem(SETTINGS, "http.bind", f"127.0.0.1:{port}")
        yield port


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[BinaryIO]:
    """Typed answers at the terminal."""
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        yield hand


def test_a_taken_port_is_offered_another_one(
    taken: int, settled: list[Any], down: list[Any], momo: Momo, typed: BinaryIO
) -> None:
    # An answer that is neither yes nor no is asked again; then yes, no public address, no service, it may sleep.
    typed.write(b"perhaps\ny\n\nn\nn\n\n")
    ran = momo("setup", "-o", "table")
    assert f"Another program uses 127.0.0.1:{taken}." in ran.err
    assert "Type y for yes or n for no." in ran.err
    assert ran.err.count("instead? [Y/n]") == 2
    ((key, value),) = settled
    assert (key, value) == ("http.bind", f"127.0.0.1:{int(value.rpartition(':')[2])}")
    assert taken < int(value.rpartition(":")[2]) <= taken + 20
    assert len(down) == 1


def test_a_taken_port_that_is_kept_is_one_problem_with_one_command(
    taken: int, settled: list[Any], down: list[Any], momo: Momo, typed: BinaryIO
) -> None:
    typed.write(b"n\nn\nn\n\n")
    ran = momo("setup", "-o", "table")
    assert ran.code == 6
    assert ran.out.splitlines()[-1] == "! 1 step to go."
    assert ran.err.count("Another program uses 127.0.0.1:") == 2  # at the question, and as its outcome
    assert ran.err.splitlines()[-1].startswith("next:  momo config set http.bind 127.0.0.1:")
    assert (settled, down) == ([], [])
    flags = momo("setup", "--no-input", "--service", "none", "--json")
    needs = {name for name, status in statuses(flags).items() if status == "needs_action"}
    assert (flags.code, needs) == (6, {"http"})
    looked = momo("setup", "--check", "--json")
    assert {name: statuses(looked)[name] for name in ("http", "daemon")} == {
        "http": "needs_action", "daemon": "skipped",
    }  # fmt: skip


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings without an address."""
    monkeypatch.setitem(SETTINGS, "http.bind", "off")


@pytest.mark.usefixtures("closed", "settled")
def test_a_daemon_that_does_not_start_is_one_problem(down: list[Any], momo: Momo) -> None:
    ran = momo("setup", "--no-input", "--service", "none", "--practice", "--json")
    assert [name for name, status in statuses(ran).items() if status == "failed"] == ["daemon"]
    assert statuses(ran)["practice"] == "skipped"
    assert len(down) == 1


def test_http_has_the_same_values_on_every_command(
    settled: list[Any], momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def run(_terminal: Any, _verb: str, *flags: str) -> Any:
        seen.append(flags)
        raise Failure(wire.ErrorCode.NOT_SET_UP)

    monkeypatch.setattr("momo_cli.commands.upkeep.daemon.exec_daemon", run)
    values = {"loopback": "127.0.0.1:8420", "lan": "0.0.0.0:8420", "127.0.0.1:9": "127.0.0.1:9", "off": "off"}
    for given, address in values.items():
        momo("setup", "--no-input", "--http", given, "--json")
        momo("daemon", "run", "--http", given)
        assert seen.pop() == (f"--http={address}",)
        # 127.0.0.1:8420 is in the settings already.
        assert settled[-1:] == ([] if given == "loopback" else [("http.bind", address)])
    for command in (("setup", "--no-input"), ("daemon", "run"), ("daemon", "start")):
        assert momo(*command, "--http", "home").code == 2


def test_a_wrong_url_is_asked_again_and_momo_listen_is_named(
    settled: list[Any], api: FakeApi, momo: Momo, typed: BinaryIO
) -> None:
    wrong = refusal(422, "URL_NOT_ALLOWED", "The URL must begin with https://.")
    api.on("POST", wire.Path.ENDPOINTS, wrong, Says({"success": True, "data": samples.ENDPOINT}, 201))
    typed.write(b"\nn\nn\n\nhttp://127.0.0.1:3000/hook\nhttps://a.example/hook\n\n")
    ran = momo("setup", "-o", "table")
    assert "! The URL must begin with https://." in ran.err
    assert "momo listen --forward-to http://127.0.0.1:3000/hook" in ran.err
    assert ran.err.count("URL that gets a webhook for each payment") == 2
    assert "Payments are sent to https://a.example/hook" in ran.err


def test_an_endpoint_of_the_sandbox_is_no_program_that_gets_payments(
    settled: list[Any], api: FakeApi, momo: Momo
) -> None:
    tested = {**samples.ENDPOINT, "is_sandbox": True}
    other = {**samples.ENDPOINT, "url": "https://other.example/hook"}
    api.on("GET", wire.Path.ENDPOINTS, ok([tested]))
    argv = ("setup", "--no-input", "--http", "off", "--service", "none")
    assert statuses(momo(*argv, "--json"))["endpoint"] == "skipped"
    api.on("GET", wire.Path.ENDPOINTS, ok([tested, other]))
    ran = momo(*argv, "-o", "table")
    assert "Payments are sent to https://other.example/hook" in ran.out


def test_stopped_half_way_still_shows_what_is_shown_once(
    settled: list[Any], api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ctrl_c(*_: object) -> None:
        raise KeyboardInterrupt

    api.on("GET", wire.Path.SIMS, ok([]))
    monkeypatch.setattr("momo_cli.setup.phone.select.select", ctrl_c)
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        hand.write(b"\nn\nn\n")
        ran = momo("setup", "-o", "table")
    assert ran.code == 130
    assert "svc_live_sk_canary" in ran.out
    assert "momo setup continues from here" in ran.out


def test_without_a_phone_and_a_number_the_end_says_that_no_payment_can_be_taken(
    settled: list[Any], api: FakeApi, momo: Momo, typed: BinaryIO
) -> None:
    api.on("GET", wire.Path.SIMS, ok([]))
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([]))
    api.on("GET", wire.Path.PAYMENT_METHODS, ok([]))
    typed.write(b"\nn\nn\n\n\n\n\n\n")
    ran = momo("setup", "-o", "table")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[-1] == (
        "! momo cannot take payments yet: it has no phone with a SIM and no number that receives payments."
    )
    assert "momo is ready" not in ran.out
    assert "momo phones list --wait" in ran.err[ran.err.rindex("next:") :]


def test_what_was_declined_is_named_at_the_end_with_its_consequence(
    settled: list[Any], api: FakeApi, momo: Momo, typed: BinaryIO
) -> None:
    api.on("GET", wire.Path.PAYMENT_METHODS, ok([samples.METHOD_ROW]))
    typed.write(b"\nn\nn\n0244124567\nAma Mensah\n\n\n")
    ran = momo("setup", "-o", "table")
    _, _, end = ran.out.partition("Not done:\n")
    assert "after a restart it reads no payment until you type momo daemon start" in end
    assert "    momo daemon install --timers --linger\n" in end
    assert "This machine may sleep, and reads no payment meanwhile" in end
    assert "Backups are only on this disk: if it fails or is stolen, they are lost too" in end
    assert ran.out.splitlines()[-1] == "✓ momo is ready."


def test_where_no_service_manager_runs_enter_installs_no_service(
    settled: list[Any], shop: Shop, momo: Momo, typed: BinaryIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("momo_cli.service.manager.runs_systemd", lambda: False)
    typed.write(b"\n\nn\n\n\n\n\n\n")
    ran = momo("setup", "-o", "table")
    assert "make a backup each night? [y/N]" in ran.err
    assert not (shop.home / ".config").exists()
