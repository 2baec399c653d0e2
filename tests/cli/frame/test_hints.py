"""A hint can be pasted unchanged: it names the profile or socket of this run's shop."""

import json
import shlex
import subprocess
import sys
from pathlib import Path as File

import pytest

from daemon.wire import Path
from momo_cli.flags import Flags, with_shop_flags
from momo_cli.frame.command_table import RUNNABLE
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.cli.test_errors import parses
from tests.fakes.fake_api import FakeApi, ok, refusal


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("next:  momo tx list", "next:  momo --profile two tx list"),
        ("momo daemon stop, then momo daemon start",
         "momo --profile two daemon stop, then momo --profile two daemon start"),
        ("momo tx --help", "momo --profile two tx --help"),
        ("not a momo daemon (status 200)", "not a momo daemon (status 200)"),
        ("older than this momo speaks", "older than this momo speaks"),
        ("/etc/momo watch", "/etc/momo watch"),
        ("momo --profile two tx list", "momo --profile two tx list"),
    ],
)  # fmt: skip
def test_commands_and_nothing_else_get_the_profile(said: str, told: str) -> None:
    assert with_shop_flags(said, Flags(profile="two"), RUNNABLE, self_contained=False) == told


def test_a_profile_means_nothing_where_momo_home_names_the_shop() -> None:
    assert with_shop_flags("momo lines", Flags(profile="two"), RUNNABLE, self_contained=True) == "momo lines"


def test_a_socket_is_quoted_and_the_hint_still_parses() -> None:
    told = with_shop_flags("momo tx list", Flags(socket="/a b/c.sock"), RUNNABLE, self_contained=True)
    assert told == "momo --socket '/a b/c.sock' tx list"
    assert parses(told)


def test_an_error_names_the_socket_in_every_form(tmp_path: File, momo: Momo) -> None:
    socket = str(tmp_path / "other.sock")
    ran = momo("lines", "--json", "--socket", socket)
    expected = f"momo --socket {shlex.quote(socket)} daemon start"
    assert ran.json["error"]["next"] == [expected]
    assert f"  next:  {expected}\n" in ran.err


def test_hints_of_an_answer_and_of_its_lines_name_the_socket(shop: Shop, api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.TRANSACTION.format(reference=samples.REF), samples.one("PENDING"))
    ran = momo("tx", "show", samples.REF, "-o", "table", "--socket", str(shop.socket))
    assert f"next:  momo --socket {shop.socket} tx wait {samples.REF}" in ran.err
    api.on("GET", Path.LOCAL_STATUS, ok(samples.STATUS))
    busy = {**samples.STATUS["phones"][1], "next": "momo phones release zte"}
    api.on("GET", Path.LOCAL_STATUS, ok({**samples.STATUS, "phones": [busy]}))
    shown = momo("status", "-o", "table", "--socket", str(shop.socket))
    assert f"momo --socket {shop.socket} phones release zte" in " ".join(shown.out.split())
    assert f"momo --socket {shop.socket} review list" in shown.err


def test_what_the_daemon_says_to_type_names_the_socket_too(shop: Shop, api: FakeApi, momo: Momo) -> None:
    answer = refusal(409, "LINES_NOT_READY")
    assert isinstance(answer.body, dict)
    answer.body["error"]["next"] = ["momo lines"]
    api.on("GET", Path.LINES, answer)
    ran = momo("lines", "--json", "--socket", str(shop.socket))
    assert ran.json["error"]["next"] == [f"momo --socket {shop.socket} lines"]


def test_a_run_with_a_profile_names_it(tmp_path: File) -> None:
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "PATH": ""}
    ran = subprocess.run(
        [sys.executable, "-m", "momo_cli", "lines", "--profile", "two", "--json"],
        env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert json.loads(ran.stdout)["error"]["next"] == ["momo --profile two setup"]
    assert "  next:  momo --profile two setup\n" in ran.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("dl", "list", "--raeson", "x"), "dead-letters list"),
        (("dl", "show"), "dead-letters show"),
        (("tx", "ls", "--raeson", "x"), "tx list"),
        (("endpoints", "rm"), "endpoints delete"),
        (("endpoints", "rules", "rm"), "endpoints rules remove"),
    ],
)
def test_a_short_word_is_helped_under_its_own_name(words: tuple[str, ...], meant: str, momo: Momo) -> None:
    ran = momo(*words)
    assert (ran.code, f"next:  momo {meant} --help" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("sim", "typed"),
    [
        ({"device_id": samples.DEVICE, "name": "zte-front", "slot_index": 1}, "zte-front:1"),
        ({"device_id": samples.DEVICE, "name": "the till", "slot_index": 0}, "'the till':0"),
        ({"device_id": samples.DEVICE, "name": None, "slot_index": 0}, f"{samples.DEVICE}:0"),
    ],
)
def test_lines_that_are_not_ready_name_the_very_sim(
    sim: dict[str, object], typed: str, api: FakeApi, momo: Momo
) -> None:
    no = refusal(409, "LINES_NOT_READY", sims_without_number=[sim, {"slot_index": 9}])
    api.on("POST", Path.ENDPOINTS, no)
    ran = momo("endpoints", "add", "https://shop.example/hook")
    # The number on the SIM is not known here, so the hint names the list of numbers.
    assert (ran.code, "momo lines list" in ran.err) == (5, True)
    assert f"momo lines ignore {typed}" in ran.err
