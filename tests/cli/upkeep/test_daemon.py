"""`momo daemon` and `momo demo` against stand-ins for the daemon's program."""

import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest

from daemon import wire
from daemon.runtime.locks import HomeLock
from momo_cli import system
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, serving

LISTENS = """
import json, socket, sys
states = {states!r}
print("ready", sys.argv[1:], file=sys.stderr, flush=True)
listener = socket.socket(socket.AF_UNIX)
listener.bind({path!r})
listener.listen()
while True:
    connection, _ = listener.accept()
    if connection.recv(65536):
        state = states.pop(0) if len(states) > 1 else states[0]
        if state == "ended":
            sys.exit("there is no shop")
        body = json.dumps({{"success": True, "data": {{"state": state}}}})
        connection.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\n" + body.encode())
    connection.close()
"""
NEVER = "import time\nwhile True: time.sleep(60)"
DIES = "import sys; sys.stderr.write('config.toml:3: unknown key bnd\\n'); sys.exit({code})"


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "program.py"
    monkeypatch.setattr("momo_cli.service.daemon_program.verb_argv", lambda *words: [sys.executable, str(path), *words])
    return path


def listens(shop: Shop, *states: str) -> str:
    """Return a program that reports these states in turn; the last one stays."""
    return LISTENS.format(path=str(shop.socket), states=[*states])


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_start_waits_for_the_socket_and_names_the_pid(stand_in: Path, shop: Shop, momo: Momo) -> None:
    shop.socket.parent.mkdir(mode=0o700)
    stand_in.write_text(listens(shop, "ok"))
    ran = momo("daemon", "start", "--http", "0.0.0.0:1", "--insecure-http", "--modem", "/dev/a", "--json")
    data = ran.json["data"]
    end(data["pid"])
    assert (ran.code, data["status"]) == (0, "started")
    log = Path(data["log"])
    assert log == shop.home / "log" / "daemon.log"
    assert log.read_text() == ("ready ['run', '--http=0.0.0.0:1', '--insecure-http', '--modem=/dev/a']\n")
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("state", ["ok", "degraded"])
def test_start_waits_until_the_database_was_opened_or_cannot_be(
    state: str, stand_in: Path, shop: Shop, momo: Momo
) -> None:
    shop.socket.parent.mkdir(mode=0o700)
    stand_in.write_text(listens(shop, "starting", "starting", state))
    ran = momo("daemon", "start", "--json")
    seen = momo("status", "--get", "data.state").out
    end(ran.json["data"]["pid"])
    assert (ran.code, ran.json["data"]["status"], seen) == (0, "started", f"{state}\n")


def test_start_of_a_daemon_that_is_opening_the_database_waits_for_it(api: FakeApi, momo: Momo) -> None:
    opening, open_ = ({**samples.STATUS, "state": state} for state in ("starting", "ok"))
    api.on("GET", wire.Path.LOCAL_STATUS, ok(opening), ok(opening), ok(open_))
    ran = momo("daemon", "start", "--json")
    assert (ran.code, ran.json["data"]["status"]) == (0, "already_running")
    assert len(api.asked) == 3


def test_daemon_that_never_opens_its_database_is_8(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_STATUS, ok({**samples.STATUS, "state": "starting"}))
    ran = momo("daemon", "start", "--wait", "100ms", "--json")
    assert (ran.code, ran.json["data"]["status"]) == (8, "starting")


def test_daemon_that_ends_while_it_opens_the_database_says_why(stand_in: Path, shop: Shop, momo: Momo) -> None:
    shop.socket.parent.mkdir(mode=0o700)
    stand_in.write_text(listens(shop, "starting", "ended"))
    ran = momo("daemon", "start", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "INTERNAL_ERROR")
    assert ran.json["error"]["message"] == "the daemon ended with 1: there is no shop"


def test_start_of_a_running_daemon_is_already_running(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_STATUS, ok(samples.STATUS))
    ran = momo("daemon", "start", "--json")
    assert ran.code == 0
    assert ran.json["data"]["status"] == "already_running"
    assert ran.json["data"]["pid"] == 4121


def test_daemon_that_never_answers_is_8(stand_in: Path, momo: Momo) -> None:
    stand_in.write_text(NEVER)
    ran = momo("daemon", "start", "--wait", "100ms", "--json")
    end(ran.json["data"]["pid"])
    assert (ran.code, ran.json["data"]["status"]) == (8, "starting")


@pytest.mark.parametrize(
    ("code", "error", "exit_code"),
    [(78, "CONFIG_INVALID", 78), (75, "LOCKED", 10), (74, "DATABASE_DAMAGED", 74), (1, "INTERNAL_ERROR", 1)],
)
def test_daemon_that_dies_says_its_last_words(
    code: int, error: str, exit_code: int, stand_in: Path, momo: Momo
) -> None:
    stand_in.write_text(DIES.format(code=code))
    ran = momo("daemon", "start", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (exit_code, error)
    assert ran.json["error"]["message"].endswith("config.toml:3: unknown key bnd")


def test_last_words_of_a_daemon_are_its_error_not_its_advice(stand_in: Path, momo: Momo) -> None:
    told = "error: 'of' is not HOST:PORT  [CONFIG_INVALID]\\nnext:  momo daemon run --http off"
    stand_in.write_text(f'import sys\nprint("{told}", file=sys.stderr)\nsys.exit(78)\n')
    said = momo("daemon", "start", "--json").json["error"]["message"]
    assert said == "the daemon ended with 78: 'of' is not HOST:PORT"
    shown = momo("daemon", "start").err.splitlines()[0]
    assert shown == f"error: {said}  [CONFIG_INVALID]"


def test_a_start_on_a_taken_port_says_whose_it_is_to_find_out(stand_in: Path, momo: Momo) -> None:
    told = "error: cannot listen on 127.0.0.1:38123: another program uses it  [CONFIG_INVALID]"
    stand_in.write_text(f'import sys\nprint("{told}", file=sys.stderr)\nsys.exit(78)\n')
    ran = momo("daemon", "start", "--http", "127.0.0.1:38123")
    assert ran.code == 78
    assert [line.strip() for line in ran.err.splitlines()] == [
        "error: 127.0.0.1:38123 is used by another program  [CONFIG_INVALID]",
        "next:  ss -ltnp 'sport = :38123'",
        "momo daemon start --http 127.0.0.1:0",
    ]


def test_a_daemon_that_finds_no_shop_says_to_set_one_up(stand_in: Path, momo: Momo) -> None:
    told = "error: there is no shop here yet  [NOT_SET_UP]\\nnext:  momo setup"
    stand_in.write_text(f'import sys\nprint("{told}", file=sys.stderr)\nsys.exit(78)\n')
    ran = momo("daemon", "start", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (11, "NOT_SET_UP")
    assert ran.json["error"]["next"] == ["momo setup"]


def test_stop_waits_until_nobody_listens(api: FakeApi, shop: Shop, momo: Momo) -> None:
    def vanish(_: Asked) -> Says:
        shop.socket.unlink()
        return ok({"status": "stopping"})

    api.on("POST", wire.Path.LOCAL_SHUTDOWN, vanish)
    ran = momo("daemon", "stop", "--json")
    assert (ran.code, ran.json) == (0, {"success": True, "data": {"status": "stopped"}})


def test_stop_waits_until_the_daemon_has_released_the_lock(api: FakeApi, shop: Shop, momo: Momo) -> None:
    lock = HomeLock(shop.places.lock)
    lock.take()

    def vanish(_: Asked) -> Says:
        shop.socket.unlink()
        return ok({"status": "stopping"})

    api.on("POST", wire.Path.LOCAL_SHUTDOWN, vanish)
    try:
        ran = momo("daemon", "stop", "--wait", "300ms", "--get", "data.status")
    finally:
        lock.release()
    assert (ran.code, ran.out) == (8, "stopping\n")
    with serving(api, shop.socket):
        assert momo("daemon", "stop", "--get", "data.status").out == "stopped\n"


def test_stop_of_a_stopped_daemon_is_already_stopped(momo: Momo) -> None:
    assert momo("daemon", "stop", "--get", "data.status").out == "already_stopped\n"


def test_daemon_that_will_not_stop_is_8(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.LOCAL_SHUTDOWN, ok({}))
    ran = momo("daemon", "stop", "--wait", "50ms", "--json")
    assert (ran.code, ran.json["data"]["status"]) == (8, "stopping")


@pytest.mark.parametrize("verb", ["start", "stop"])
def test_neither_works_without_a_shop(verb: str, shop: Shop, momo: Momo) -> None:
    (shop.home / wire.DATABASE_NAME).unlink()
    assert momo("daemon", verb, "--json").code == 11


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize("verb", ["run", "start", "restart"])
def test_a_phone_and_no_phone_do_not_go_together(verb: str, momo: Momo) -> None:
    ran = momo("daemon", verb, "--modem", "a", "--no-modem")
    assert ran.code == 2
    assert "--modem and --no-modem exclude each other" in ran.err


@pytest.mark.parametrize("verb", ["start", "restart"])
def test_start_and_restart_hand_on_the_flags_of_run(verb: str, stand_in: Path, shop: Shop, momo: Momo) -> None:
    shop.socket.parent.mkdir(mode=0o700)
    stand_in.write_text(VALID + listens(shop, "ok"))
    flags = ("--no-modem", "--simulated-phone", "--http", "0.0.0.0:1", "--insecure-http")
    ran = momo("daemon", verb, *flags, "--json")
    end(ran.json["data"]["pid"])
    assert ran.code == 0
    assert Path(ran.json["data"]["log"]).read_text() == (
        "ready ['run', '--http=0.0.0.0:1', '--insecure-http', '--no-modem', '--simulated-phone']\n"
    )


@pytest.mark.parametrize(
    ("argv", "became"),
    [
        (("daemon", "run"), ["run"]),
        (
            ("daemon", "run", "--http", "h:0", "--modem", "a", "--modem", "b", "--log-json"),
            ["run", "--http=h:0", "--modem=a", "--modem=b", "--log-json"],
        ),
        (("daemon", "run", "--no-modem"), ["run", "--no-modem"]),
        (("demo",), ["demo"]),
        (("demo", "--keep"), ["demo", "--keep"]),
    ],
)
def test_run_and_demo_become_the_daemon_s_program(
    argv: tuple[str, ...], became: list[str], momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(KeyboardInterrupt):
        """Stands for a process id that belongs to another program now."""

    seen: list[object] = []

    def execve(program: str, words: list[str], environ: dict[str, str]) -> None:
        seen.extend([program, words, environ["MOMO_PROFILE"]])
        raise Gone

    monkeypatch.setattr(os, "execve", execve)
    momo(*argv, "--profile", "second")
    assert seen == [sys.executable, system.python_argv("daemon", *became), "second"]


VALID = 'import sys\nif sys.argv[1] == "config":\n    print(\'{"success": true, "data": {}}\')\n    sys.exit()\n'
WRONG = (
    'print(\'{"success": false, "error": {"code": "CONFIG_INVALID", "message": "line 3"}}\')\nimport sys; sys.exit(78)'
)


def test_restart_stops_the_old_one_and_starts_a_new_one(stand_in: Path, api: FakeApi, shop: Shop, momo: Momo) -> None:
    def vanish(_: Asked) -> Says:
        shop.socket.unlink()
        return ok({"status": "stopping"})

    api.on("POST", wire.Path.LOCAL_SHUTDOWN, vanish)
    stand_in.write_text(VALID + listens(shop, "ok"))
    ran = momo("daemon", "restart", "--json")
    end(ran.json["data"]["pid"])
    assert (ran.code, ran.json["data"]["status"]) == (0, "restarted")


def test_restart_of_a_stopped_daemon_starts_it(stand_in: Path, shop: Shop, momo: Momo) -> None:
    shop.socket.parent.mkdir(mode=0o700)
    stand_in.write_text(VALID + listens(shop, "ok"))
    ran = momo("daemon", "restart", "--json")
    end(ran.json["data"]["pid"])
    assert (ran.code, ran.json["data"]["status"]) == (0, "restarted")


@pytest.mark.parametrize("verb", ["restart", "reload"])
def test_restart_with_wrong_settings_stops_nothing(verb: str, stand_in: Path, api: FakeApi, momo: Momo) -> None:
    stand_in.write_text(WRONG)
    ran = momo("daemon", verb, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (78, "CONFIG_INVALID")
    assert api.asked == []


def test_shop_that_is_a_service_is_started_by_it(
    shop: Shop, momo: Momo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = tmp_path / ".config" / "systemd" / "user" / "momo.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(f"# Shop: {shop.home}\n")
    daemon = FakeApi()
    daemon.on("GET", wire.Path.LOCAL_STATUS, ok(samples.STATUS))
    asked: list[list[str]] = []
    with contextlib.ExitStack() as running:

        def systemctl(_: object, words: list[str]) -> str:
            asked.append(words)
            running.enter_context(serving(daemon, shop.socket))
            return ""

        monkeypatch.setattr("momo_cli.service.daemon_program.run_control", systemctl)
        data = momo("daemon", "start", "--json", HOME=str(tmp_path)).json["data"]
    assert asked == [["systemctl", "--user", "start", "momo.service"]]
    assert (data["status"], data["supervisor"], data["pid"]) == ("started", "systemd-user", 4121)
