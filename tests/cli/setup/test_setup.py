"""`momo setup` against a stand-in for the daemon's program, and through a daemon that runs."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, ok, refusal
from tests.fakes.terminal import at_terminal, read_until

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
    print(json.dumps({"success": True, "data": [*rows, {"key": "http.bind", "value": "off"}, {"key": "power.keep_awake", "value": "off"}]}))
    sys.exit()
(here / "seen.json").write_text(json.dumps([sys.argv[1:], sys.stdin.read()]))
sys.stdout.write((here / "says").read_text())
sys.exit(int((here / "code").read_text()))
"""


class Program:
    """A stand-in for `python -m daemon`: gives scripted answers and records its calls."""

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
        "momo_cli.service.daemon_program.verb_argv", lambda *words: [sys.executable, str(made.path), *words]
    )
    made.says(json.dumps(DONE))
    return made


@pytest.fixture
def fresh(shop: Shop) -> Shop:
    (shop.home / wire.DATABASE_NAME).unlink()
    return shop


@pytest.mark.usefixtures("fresh")
def test_setup_hands_its_flags_on_and_prints_the_answer(program: Program, momo: Momo) -> None:
    ran = momo("setup", "--no-input", "--shop", "Ama", "--password-file", "/pw", "--tz", "Africa/Accra", "--json")
    assert (ran.code, ran.json) == (0, DONE)
    assert program.seen[0] == [
        "setup", "--no-input", "--json", "--shop=Ama", "--tz=Africa/Accra",
        "--password-file=/pw", "--shown-later",
    ]  # fmt: skip


@pytest.mark.usefixtures("fresh", "program")
def test_setup_shows_steps_and_secrets_to_people(momo: Momo) -> None:
    ran = momo("setup", "--shop", "Ama", "--password-file", "/pw", "-o", "table")
    assert ran.out == (
        '✓ Shop "Ama Provisions"\n'
        "— no modem\n"
        "    plug it in\n"
        "\n"
        "Shown only once; keep them somewhere safe:\n"
        "  API key         svc_live_sk_canary\n"
        "  test API key    svc_test_sk_canary\n"
        "  webhook secret  whsec_canary\n"
    )
    assert ran.err.startswith("next:  momo daemon start\n")


@pytest.mark.usefixtures("fresh", "program")
@pytest.mark.parametrize("flags", [(), ("-q",)])
def test_setup_gives_the_secrets_to_a_pipe_too(flags: tuple[str, ...], momo: Momo) -> None:
    ran = momo("setup", "--no-input", "--shop", "Ama", "--password-file", "/pw", "--plain", *flags)
    told = [line.split("\t") for line in ran.out.splitlines()]
    assert [cells[:3] for cells in told[-3:]] == [
        ["api_key", "done", "svc_live_sk_canary"],
        ["test_api_key", "done", "svc_test_sk_canary"],
        ["webhook_secret", "done", "whsec_canary"],
    ]


@pytest.mark.usefixtures("fresh", "program")
@pytest.mark.parametrize(
    ("argv", "flag"), [(("--password-file", "/pw"), "--shop NAME"), (("--shop", "A"), "--password-file FILE")]
)
def test_missing_value_without_a_person_is_exit_2_and_names_the_flag(
    argv: tuple[str, ...], flag: str, momo: Momo
) -> None:
    ran = momo("setup", "--no-input", *argv, "--json")
    assert ran.code == 2
    assert ran.json["error"]["message"] == f"{flag} is missing, and there is no terminal to ask on"


def test_second_run_asks_nothing(program: Program, momo: Momo) -> None:
    assert momo("setup", "--no-input", "--json").code == 0
    assert program.seen[0] == ["setup", "--no-input", "--json", "--shown-later"]


def test_check_asks_nothing_changes_nothing_and_looks_at_every_step(program: Program, momo: Momo) -> None:
    ran = momo("setup", "--check", "--json")
    assert ran.code == 6
    assert program.seen[0] == ["setup", "--no-input", "--json", "--check"]
    assert statuses(ran) == {
        "shop": "done", "http": "done", "service": "skipped", "daemon": "needs_action",
        "modem": "skipped", "number": "skipped", "practice": "skipped",
        "first_payment": "skipped", "endpoint": "skipped", "backup": "skipped",
        "awake": "skipped",
    }  # fmt: skip


def test_refusal_of_the_program_keeps_its_exit_code(program: Program, momo: Momo) -> None:
    error: dict[str, Any] = {"success": False, "error": {"code": "DATABASE_DAMAGED", "message": "bad page"}}
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
    api.on("POST", wire.Path.PAYMENT_METHODS, ok(samples.METHOD_ROW), refusal(409, "PAYMENT_METHOD_EXISTS"))
    two = ("--method", "mtn:0244124567:Ama Mensah", "--method", "momo_telecel:0204100011:Ama")
    assert momo("setup", *two, "--json").code == 0
    assert api.asked[1].body == {"provider": "momo_mtn", "phone_number": "0244124567", "account_name": "Ama Mensah"}
    assert api.asked[2].body["provider"] == "momo_telecel"


@pytest.mark.usefixtures("program")
def test_methods_wait_for_the_daemon_with_the_command_to_type(momo: Momo) -> None:
    ran = momo("setup", "--method", "mtn:0244124567:Ama", "-o", "table")
    assert ran.err.splitlines()[1].strip() == ('momo lines add 0244124567 --provider momo_mtn --name "Ama"')


DRIVER = """
import sys
from momo_cli.service import daemon_program
daemon_program.verb_argv = lambda *words: [sys.executable, {path!r}, *words]
from momo_cli.__main__ import main
sys.exit(main())
"""


@pytest.mark.usefixtures("fresh")
def test_setup_asks_on_a_terminal_and_shows_no_password(program: Program, shop: Shop) -> None:
    words = [sys.executable, "-c", DRIVER.format(path=str(program.path)), "setup", "--json"]
    with at_terminal(words, shop.environ) as (process, master):
        shown = read_until(master, b"shop's name? ")
        os.write(master, b"Ama Provisions\n")
        for password in ("short", "correct horse", "another horse", "correct horse"):
            shown += read_until(master, b"or more): " if password != "another horse" else b"again: ")
            os.write(master, password.encode() + b"\n")
        shown += read_until(master, b"again: ")
        os.write(master, b"correct horse\n")
        assert process.stdout is not None
        assert json.loads(process.stdout.read()) == DONE
        assert process.wait(30) == 0
    assert b"horse" not in shown
    assert b"That has 5 characters; 10 are needed." in shown
    assert b"The two passwords differ." in shown
    assert program.seen[0][-3:] == ["--shop=Ama Provisions", "--password-file=-", "--shown-later"]
    assert program.seen[1] == "correct horse"


def statuses(ran: Any) -> dict[str, str]:
    return {step["id"]: step["status"] for step in ran.json["data"]["steps"]}
