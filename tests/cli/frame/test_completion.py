"""Completion: words, flags and ids of the shop, empty without an answer of the daemon; in the real shells."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from daemon import wire
from momo_cli.frame.command_table import COMMANDS
from momo_cli.frame.completion import SCRIPTS, completions
from momo_cli.frame.run import COMPLETE_WORD
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.each import each
from tests.fakes.fake_api import FakeApi, Says, ok

ROOT = Path(__file__).parents[3]
ENDPOINT = samples.ENDPOINT["id"]


def names(line: str, shop: Shop) -> list[str]:
    return [each.partition("\t")[0] for each in completions(line, shop.environ)]


@pytest.fixture
def stocked(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    monkeypatch.setattr("momo_cli.frame.completion._LIMIT_S", 30)  # this machine may be busy
    api.on("GET", wire.Path.TRANSACTIONS, ok([samples.PAID, samples.SHORT]))
    api.on("GET", wire.Path.SIMS, ok(samples.SIMS))
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM]))
    api.on("GET", wire.Path.ENDPOINTS, ok([samples.ENDPOINT]))
    api.on("GET", wire.Path.PAYMENT_METHODS, ok([samples.METHOD_ROW]))
    api.on("GET", wire.Path.REVIEWS, ok([samples.REVIEW]))
    return api


@each(
    ("line", "offered"),
    [
        ("momo rec", ["reconcile"]),
        ("momo --json rec", ["reconcile"]),
        ("momo lines a", ["add", "acknowledge"]),
        ("momo dl re", ["replay"]),
        ("momo endpoints rules r", ["remove"]),
        ("momo endpoints rules add --fi", ["--filter", "--fields"]),
        ("momo tx ls --sta", ["--status"]),
        ("momo lines -o nd", ["ndjson"]),
        ("momo lines --fail", ["--fail-if-unready"]),
        ("momo help exit", ["exit-codes"]),
        ("momo completion z", ["zsh"]),
        ("momo api P", ["POST", "PUT", "PATCH"]),
        ("momo reconcile --from-file pay", []),
        ("momo simulate sms --network m", ["mtn"]),
        ("momo nonsense ", []),
        ('momo init "open quo', []),
    ],
)
def test_words_and_flags_need_no_daemon(line: str, offered: list[str], shop: Shop) -> None:
    assert [each for each in names(line, shop) if each != ":files"] == offered


@pytest.mark.usefixtures("stocked")
@each(
    ("line", "offered"),
    [
        ("momo tx show ", ["7KQ2MX", "9PL8AA"]),
        ("momo tx show 7", ["7KQ2MX"]),
        ("momo tx show s", [samples.REF, samples.SHORT["reference"]]),
        ("momo open ", ["7KQ2MX", "9PL8AA"]),
        ("momo reconcile 9", ["9PL8AA"]),
        ("momo reconcile 9PL8AA ", []),
        ("momo endpoints show ", [ENDPOINT]),
        ("momo replay --from 25h --endpoint ", [ENDPOINT]),
        ("momo endpoints rules list ", [ENDPOINT]),
        ("momo lines ignore zte-front:", ["zte-front:0"]),
        ("momo lines update ", [samples.METHOD]),
        ("momo phones test ", [samples.MODEM["name"]]),
        ("momo claim ", [samples.METHOD]),
        ("momo review show ", [samples.REVIEW["id"]]),
    ],
)
def test_what_the_shop_has_is_asked_of_the_daemon(line: str, offered: list[str], shop: Shop) -> None:
    assert names(line, shop) == offered


def test_meanings_stand_beside_the_values(stocked: FakeApi, shop: Shop) -> None:
    assert completions("momo tx show 7", shop.environ) == ["7KQ2MX\tSUCCESS 1012.50 Kofi Ɔsei"]


def test_bash_gets_only_what_follows_the_colon_and_it_is_quoted(stocked: FakeApi, shop: Shop) -> None:
    assert completions("momo lines ignore zte-front:", shop.environ, bash=True) == ["0"]
    stocked.on("GET", wire.Path.LOCAL_MODEMS, ok([{**samples.MODEM, "name": "till 2"}]))
    assert completions("momo phones test ", shop.environ, bash=True) == ["'till 2'"]


@pytest.mark.parametrize("says", [Says(drop=True), Says(raw=b"no JSON"), Says({}, 503), ok("odd")])
def test_daemon_that_answers_nonsense_makes_no_noise(says: Says, api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.TRANSACTIONS, says)
    ran = momo(COMPLETE_WORD, "bash", "momo tx show ")
    assert (ran.out, ran.err) == ("", "")


def test_daemon_that_is_down_makes_no_noise_and_is_not_waited_for(momo: Momo, naps: list[float]) -> None:
    ran = momo(COMPLETE_WORD, "zsh", "momo tx show ")
    assert (ran.code, ran.out, ran.err, naps) == (0, "", "", [])


@each("name", COMMANDS)
def test_every_command_can_be_completed(name: str, shop: Shop) -> None:
    assert "--json" in names(f"momo {name} --", shop)
    names(f"momo {name} ", shop)


@pytest.mark.parametrize("shell", SCRIPTS)
def test_script_is_printed_and_installed(shell: str, momo: Momo, tmp_path: Path) -> None:
    assert momo("completion", shell).out == SCRIPTS[shell]
    ran = momo("completion", shell, "--install", "--json", HOME=str(tmp_path))
    path = Path(ran.json["data"]["path"])
    assert path.is_relative_to(tmp_path)
    assert path.read_text() == SCRIPTS[shell]
    blocked = momo("completion", shell, "--install", HOME=str(path))
    assert (blocked.code, blocked.err.count("\n")) == (2, 2)


PROBES = {
    "bash": """
        COMP_LINE="$1" COMP_POINT=${#1}
        COMP_WORDS=(momo tx show '') COMP_CWORD=3
        source "$0"; _momo; printf '%s\\n' "${COMPREPLY[@]}"
    """,
    "zsh": """
        compdef() { :; }; _describe() { print -l -- $offered; }
        source "$0"; words=(momo tx show ''); CURRENT=4; PREFIX=''; _momo
    """,
    "fish": "source $argv[1]; complete -C $argv[2]",
}


@pytest.mark.parametrize("shell", ["bash", *(pytest.param(shell, marks=pytest.mark.slow) for shell in ("zsh", "fish"))])
def test_the_shell_itself_offers_the_orders(shell: str, stocked: FakeApi, shop: Shop, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(SCRIPTS[shell])
    momo = tmp_path / "bin" / "momo"
    momo.parent.mkdir()
    momo.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m momo_cli "$@"\n')
    momo.chmod(0o755)
    plain = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [program, *plain, "-c", PROBES[shell], str(script), "momo tx show "],
        env={**shop.environ, "HOME": str(tmp_path), "PATH": f"{momo.parent}:{shop.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    offered = [line.split("\t")[0].split(":")[0] for line in done.stdout.split()]
    assert [each for each in offered if each in ("7KQ2MX", "9PL8AA")] == ["7KQ2MX", "9PL8AA"]
