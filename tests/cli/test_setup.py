"""`momo setup` against a stand-in for the daemon's program, and through a daemon that runs."""

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from momo_cli.process import Done
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, ok, refusal

DONE: dict[str, Any] = {
    "success": True,
    "data": {
        "shop": {"name": "Ama Provisions", "tz": "Africa/Accra"},
        "steps": [
            {"id": "shop", "status": "done", "detail": 'Shop "Ama Provisions"', "fix": None},
            {"id": "modem", "status": "skipped", "detail": "no modem", "fix": "plug it in"},
        ],
        "api_key": "svc_live_sk_canary",
        "test_api_key": "svc_test_sk_canary",
        "webhook_secret": "whsec_canary",
    },
}
PROGRAM = """
import json, pathlib, sys
here = pathlib.Path(__file__).parent
if sys.argv[1] == "config":
    rows = [{"key": key, "value": ""} for key in ("http.public_base_url", "backup.also_to")]
    print(json.dumps({"success": True, "data": [*rows, {"key": "http.bind", "value": "off"}]}))
    sys.exit()
(here / "seen.json").write_text(json.dumps([sys.argv[1:], sys.stdin.read()]))
sys.stdout.write((here / "says").read_text())
sys.exit(int((here / "code").read_text()))
"""


class Program:
    """A stand-in for `python -m daemon`: says what it is told to, and remembers how it was called."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / "program.py"
        self.path.write_text(PROGRAM)

    def says(self, text: str, code: int = 0) -> None:
        (self._folder / "says").write_text(text)
        (self._folder / "code").write_text(str(code))

    @property
    def seen(self) -> tuple[list[str], str]:
        argv, stdin = json.loads((self._folder / "seen.json").read_text())
        return argv, stdin


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    folder = tmp_path / "program"
    folder.mkdir()
    made = Program(folder)
    monkeypatch.setattr(
        "momo_cli.process.argv", lambda *words: [sys.executable, str(made.path), *words]
    )
    made.says(json.dumps(DONE))
    return made


@pytest.fixture
def fresh(shop: Shop) -> Shop:
    (shop.home / wire.DATABASE_NAME).unlink()
    return shop


@pytest.mark.usefixtures("fresh")
def test_setup_hands_its_flags_on_and_prints_the_answer(program: Program, momo: Momo) -> None:
    ran = momo(
        "setup", "--no-input", "--shop", "Ama", "--password-file", "/pw", "--tz", "Africa/Accra",
        "--json",
    )  # fmt: skip
    assert (ran.code, ran.json) == (0, DONE)
    assert program.seen[0] == [
        "setup", "--no-input", "--json", "--shop=Ama", "--tz=Africa/Accra",
        "--password-file=/pw",
    ]  # fmt: skip


@pytest.mark.usefixtures("fresh", "program")
def test_setup_shows_steps_and_secrets_to_people(momo: Momo) -> None:
    ran = momo("setup", "--shop", "Ama", "--password-file", "/pw", "-o", "table")
    assert ran.out == (
        '✓ Shop "Ama Provisions"\n'
        "— no modem\n"
        "    plug it in\n"
        "\n"
        "Shown this once; keep them somewhere safe:\n"
        "  API key         svc_live_sk_canary\n"
        "  test API key    svc_test_sk_canary\n"
        "  webhook secret  whsec_canary\n"
    )
    assert ran.err.startswith("next:  momo daemon start\n")


@pytest.mark.usefixtures("fresh", "program")
@pytest.mark.parametrize("flags", [(), ("-q",)])
def test_setup_gives_the_secrets_to_a_pipe_too(flags: tuple[str, ...], momo: Momo) -> None:
    ran = momo("setup", "--no-input", "--shop", "Ama", "--password-file", "/pw", *flags)
    told = [line.split("\t") for line in ran.out.splitlines()]
    assert [cells[:3] for cells in told[-3:]] == [
        ["api_key", "done", "svc_live_sk_canary"],
        ["test_api_key", "done", "svc_test_sk_canary"],
        ["webhook_secret", "done", "whsec_canary"],
    ]


@pytest.mark.usefixtures("fresh", "program")
@pytest.mark.parametrize(
    ("argv", "flag"),
    [(("--password-file", "/pw"), "--shop NAME"), (("--shop", "A"), "--password-file FILE")],
)
def test_missing_value_without_a_person_is_exit_2_and_names_the_flag(
    argv: tuple[str, ...], flag: str, momo: Momo
) -> None:
    ran = momo("setup", "--no-input", *argv, "--json")
    assert ran.code == 2
    assert ran.json["error"]["message"] == f"{flag} is missing, and there is nobody to ask"


def test_second_run_asks_nothing(program: Program, momo: Momo) -> None:
    assert momo("setup", "--no-input", "--json").code == 0
    assert program.seen[0] == ["setup", "--no-input", "--json"]


def test_check_asks_nothing_changes_nothing_and_looks_at_every_step(
    program: Program, momo: Momo
) -> None:
    ran = momo("setup", "--check", "--json")
    assert ran.code == 6
    assert program.seen[0] == ["setup", "--no-input", "--json", "--check"]
    assert statuses(ran) == {
        "shop": "done", "http": "done", "service": "skipped", "daemon": "needs_action",
        "modem": "skipped", "number": "skipped", "practice": "skipped",
        "first_payment": "skipped", "endpoint": "skipped", "backup": "skipped",
    }  # fmt: skip


def test_refusal_of_the_program_keeps_its_exit_code(program: Program, momo: Momo) -> None:
    error: dict[str, Any] = {
        "success": False,
        "error": {"code": "DATABASE_DAMAGED", "message": "bad page"},
    }
    error["error"]["next"] = ["momo restore"]
    program.says(json.dumps(error), 74)
    ran = momo("setup", "--json")
    assert (ran.code, ran.json["exit_code"]) == (74, 74)
    assert ran.json["error"]["message"] == "bad page"
    assert ran.json["error"]["next"] == ["momo restore"]
    assert ran.err.count("error:") == 1


def test_program_without_an_answer_is_told(program: Program, momo: Momo) -> None:
    program.says("Segmentation fault", 1)
    ran = momo("setup", "--json")
    assert ran.code == 1
    assert "ended with 1 and no answer" in ran.json["error"]["message"]


@pytest.mark.usefixtures("program")
def test_setup_goes_through_a_daemon_that_runs(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    password = tmp_path / "pw"
    password.write_text("correct horse\n")
    api.on("POST", wire.Path.LOCAL_SETUP, ok(DONE["data"]))
    ran = momo("setup", "--shop", "Ama", "--password-file", str(password), "--json")
    assert (ran.code, ran.json) == (0, DONE)
    assert api.asked[0].body == {"shop": "Ama", "password": "correct horse"}
    assert not (tmp_path / "program" / "seen.json").exists()


def test_methods_are_registered_when_the_daemon_runs(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.LOCAL_SETUP, ok(DONE["data"]))
    api.on(
        "POST",
        wire.Path.PAYMENT_METHODS,
        ok(samples.METHOD_ROW),
        refusal(409, "PAYMENT_METHOD_EXISTS"),
    )
    two = ("--method", "mtn:0244124567:Ama Mensah", "--method", "momo_telecel:0204100011:Ama")
    assert momo("setup", *two, "--json").code == 0
    assert api.asked[1].body == {
        "provider": "momo_mtn",
        "phone_number": "0244124567",
        "account_name": "Ama Mensah",
    }
    assert api.asked[2].body["provider"] == "momo_telecel"


@pytest.mark.usefixtures("program")
def test_methods_wait_for_the_daemon_with_the_command_to_type(momo: Momo) -> None:
    ran = momo("setup", "--method", "mtn:0244124567:Ama", "-o", "table")
    assert ran.err.splitlines()[1].strip() == (
        'momo methods add --provider momo_mtn --phone 0244124567 --name "Ama"'
    )


DRIVER = """
import sys
from momo_cli import process
process.argv = lambda *words: [sys.executable, {path!r}, *words]
from momo_cli.__main__ import main
sys.exit(main())
"""


def read_until(master: int, words: bytes) -> bytes:
    found = b""
    while words not in found:
        assert select.select([master], [], [], 30)[0], found
        found += os.read(master, 4096)
    return found


@pytest.mark.usefixtures("fresh")
def test_setup_asks_on_a_terminal_and_shows_no_password(program: Program, shop: Shop) -> None:
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER.format(path=str(program.path)), "setup", "--json"],
        cwd=Path(__file__).parents[2],
        env=shop.environ,
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        start_new_session=True,
    ) as process:
        os.close(slave)
        shown = read_until(master, b"shop's name? ")
        os.write(master, b"Ama Provisions\n")
        for password in ("short", "correct horse", "another horse", "correct horse"):
            shown += read_until(
                master, b"or more): " if password != "another horse" else b"again: "
            )
            os.write(master, password.encode() + b"\n")
        shown += read_until(master, b"again: ")
        os.write(master, b"correct horse\n")
        assert process.stdout is not None
        assert json.loads(process.stdout.read()) == DONE
        assert process.wait(30) == 0
    os.close(master)
    assert b"horse" not in shown
    assert b"That has 5 characters; 10 are needed." in shown
    assert b"Those were two different passwords." in shown
    assert program.seen[0][-2:] == ["--shop=Ama Provisions", "--password-file=-"]
    assert program.seen[1] == "correct horse"


# The steps after the shop itself: against the fake daemon, with settings of their own.

SETTINGS = {"http.bind": "127.0.0.1:8420", "http.public_base_url": "", "backup.also_to": ""}
COPIED = {"status": "copied", "path": "/media/stick/momo-20261120T091800Z.db", "why": ""}
PRACTICE = {"reference": "svc_trx_practice", "svc_code": "7KQ2MX"}


@pytest.fixture
def settled(api: FakeApi, momo: Momo, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A daemon that runs with a phone, and what `config set` was told."""
    told: list[Any] = []
    settings = dict(SETTINGS)

    def program(_terminal: Any, verb: str, *words: str) -> Done:
        if verb == "backup":
            told.append(("backup", *words[:1]))
            return Done(0, "", {"data": {"also": COPIED}})
        if "set" in words:
            told.append(words[-2:])
            settings[words[-2]] = words[-1]
        rows = [{"key": key, "value": value} for key, value in settings.items()]
        return Done(0, "", {"data": rows})

    monkeypatch.setattr("momo_cli.setup_step.ask", program)
    monkeypatch.setattr("momo_cli.setup_machine.ask", program)
    monkeypatch.setattr("momo_cli.setup_phone.LOOK_S", 0.01)
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


def statuses(ran: Any) -> dict[str, str]:
    return {step["id"]: step["status"] for step in ran.json["data"]["steps"]}


def test_flags_alone_lead_to_the_first_practice_payment(
    settled: list[Any], api: FakeApi, momo: Momo
) -> None:
    ran = momo(
        "setup", "--no-input", "--method", "mtn:0244124567:Ama Mensah",
        "--sim", "zte-front:0=0244124567", "--http", "off", "--endpoint", "https://a.example/hook",
        "--service", "none", "--practice", "--json",
    )  # fmt: skip
    assert statuses(ran) == {
        "shop": "done", "http": "done", "service": "skipped", "daemon": "needs_action",
        "modem": "done", "number": "done", "endpoint": "done", "practice": "done",
        "first_payment": "skipped", "backup": "skipped",
    }  # fmt: skip
    assert settled == [("http.bind", "off")]
    asked = [(one.method, one.path, one.body) for one in api.asked if one.method == "POST"]
    assert asked[1][2]["sim"] == {"device_id": samples.DEVICE, "slot_index": 0}
    assert asked[-2] == ("POST", wire.Path.TEST_PAYMENTS, {"reference": "svc_trx_practice"})
    assert asked[-1] == ("POST", wire.Path.ENDPOINTS, {"url": "https://a.example/hook"})
    # The daemon runs with the old address: that needs a person.
    assert ran.code == 6
    assert ran.json["data"]["api_key"] == "svc_live_sk_canary"


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
    "next": "momo sims pin zte-front:0",
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


@pytest.mark.parametrize("others", [(LOCKED,), ()])
def test_pin_that_is_wrong_or_nobodys_for_sure_is_not_tried_again(
    others: tuple[Any, ...], settled: list[Any], api: FakeApi, momo: Momo, tmp_path: Path
) -> None:
    pin = tmp_path / "pin"
    pin.write_text("4711")
    wrong = {**LOCKED, "state": "pin_wrong", "detail": "the PIN that is stored is wrong"}
    api.on("GET", wire.Path.SIMS, ok([]))
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([LOCKED, *others]), *([] if others else [ok([wrong])]))
    api.on("POST", wire.Path.LOCAL_SIM_PIN, ok({}))
    ran = momo("setup", "--no-input", "--pin-file", str(pin), "--json")
    assert ran.code == 6
    modem = next(step for step in ran.json["data"]["steps"] if step["id"] == "modem")
    assert (modem["status"], modem["fix"]) == ("needs_action", "momo sims pin zte-front:0")
    tried = [one for one in api.asked if one.path == wire.Path.LOCAL_SIM_PIN]
    assert len(tried) == (0 if others else 1)


@pytest.mark.parametrize(
    ("state", "status", "fix"),
    [
        ("payment", "done", None),
        ("historical", "done", None),
        ("unparsed", "needs_action", "momo messages sample m1"),
        ("held", "needs_action", "momo review list"),
    ],
)
def test_first_payment_says_whether_this_sim_is_read(
    state: str, status: str, fix: str | None, settled: list[Any], api: FakeApi, momo: Momo
) -> None:
    new = {"id": "m1", "state": state, "sender": "MobileMoney", "fields": {"amount": "0.10"}}
    made_up = {**new, "id": "m0", "state": "payment", "test": True}
    other = {**new, "id": "m2", "state": "not_payment"}
    api.on(
        "GET", wire.Path.LOCAL_MESSAGES, ok([made_up]), ok([made_up]), ok([other, made_up]),
        ok([new, other, made_up]),
    )  # fmt: skip
    ran = momo("setup", "--no-input", "--first-payment", "--json")
    told = next(step for step in ran.json["data"]["steps"] if step["id"] == "first_payment")
    assert (told["status"], told["fix"]) == (status, fix)
    assert "send GHS 0.10 to 024 412 4567" in ran.err


def test_place_for_backups_is_set_and_gets_a_copy_at_once(
    settled: list[Any], momo: Momo, tmp_path: Path
) -> None:
    ran = momo("setup", "--no-input", "--backup-to", str(tmp_path / "stick"), "--json")
    assert statuses(ran)["backup"] == "done"
    assert settled == [("backup.also_to", str(tmp_path / "stick")), ("backup", "create")]
    # It is on our own disk: nothing is made there, and the person is told.
    assert not (tmp_path / "stick").exists()
    assert "the same disk" in ran.json["data"]["steps"][-1]["detail"]
    again = momo("setup", "--no-input", "--backup-to", str(tmp_path / "stick"), "--json")
    assert (statuses(again)["backup"], len(settled)) == ("done", 2)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("shp = 'A'", "did you mean shop?"),
        ("methods = 'mtn'", "methods takes a list of texts"),
        ("practice = 'yes'", "practice takes true or false"),
        ("service = 'root'", "not one of user, system, none"),
        ("shop = ", "--from:"),
    ],
)
def test_file_that_is_wrong_is_2_and_names_the_key(
    text: str, why: str, momo: Momo, tmp_path: Path
) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(text)
    ran = momo("setup", "--from", str(file), "--json")
    assert ran.code == 2
    assert why in ran.json["error"]["message"]


def test_step_that_fails_is_told_and_the_next_one_goes_on(
    settled: list[Any], api: FakeApi, momo: Momo
) -> None:
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
        api.on("GET", wire.Path.PAYMENT_METHODS, ok([]), ok([samples.METHOD_ROW]))
        # No public address, no service, the number and the name of the SIM, no payment, no endpoint, no stick.
        hand.write(b"\nn\n0244124567\nAma Mensah\n\n\n\n")
        first = momo("setup", "-o", "table")
        assert first.code == 0, first.err
        assert "Its number, such as 0244124567" in first.err
        assert "asked for, paid and matched" in first.err
        assert first.out.splitlines()[-1] == "✓ momo is ready."
        placed = {**samples.SIMS[0]["sims"][0], "phone_number": "+233244124567"}
        api.on("GET", wire.Path.SIMS, ok([{**samples.SIMS[0], "sims": [placed]}]))
        again = momo("setup", "-o", "table")
    assert "public https address" not in again.err
    assert "From another phone" not in again.err
    assert "A folder on a stick" not in again.err
    assert "Address that is told" not in again.err
    assert "momo endpoints add" in again.err
    number = [one.body for one in api.asked if one.path == wire.Path.PAYMENT_METHODS and one.body]
    assert number[0] == {
        "provider": "momo_mtn", "phone_number": "0244124567", "account_name": "Ama Mensah",
        "sim": {"device_id": samples.DEVICE, "slot_index": 0},
    }  # fmt: skip


def test_service_comes_with_its_timers_which_are_shown_by_what_they_do(
    settled: list[Any], shop: Shop, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        # No public address; yes, a service; no, do not write that after all; and so on.
        hand.write(b"\ny\nn\n\n\n\n\n\n")
        ran = momo("setup", "-o", "table")
    assert "ExecStart=" in ran.err
    assert "momo-backup.timer" in ran.err
    assert "*-*-* 02:00:00: copy the shop" in ran.err
    assert "OnCalendar" not in ran.err
    assert not (shop.home / ".config").exists()


def test_stopped_half_way_still_shows_what_is_shown_once(
    settled: list[Any], api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ctrl_c(*_: object) -> None:
        raise KeyboardInterrupt

    api.on("GET", wire.Path.SIMS, ok([]))
    monkeypatch.setattr("momo_cli.setup_phone.select.select", ctrl_c)
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        hand.write(b"\nn\n")
        ran = momo("setup", "-o", "table")
    assert ran.code == 130
    assert "svc_live_sk_canary" in ran.out
    assert "momo setup goes on from here" in ran.out
