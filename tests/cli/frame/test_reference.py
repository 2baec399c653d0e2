"""Man pages and the reference: all commands, well-formed, in agreement with the program."""

import shutil
import subprocess
from pathlib import Path

import pytest

from momo_cli.exit_codes import EXIT_CODES
from momo_cli.frame.command_table import COMMANDS
from momo_cli.frame.reference import man_pages, page
from tests.cli.conftest import Momo

PAGES = dict(man_pages())


def test_there_is_a_page_for_momo_and_for_each_command() -> None:
    names = {f"momo-{name.replace(' ', '-')}.1" for name in COMMANDS}
    assert set(PAGES) == {"momo.1", *names}


def test_overview_has_every_command_and_every_exit_code() -> None:
    text = PAGES["momo.1"].replace("\\-", "-")
    assert [name for name in COMMANDS if f".B momo {name}\n" not in text] == []
    assert [row.code for row in EXIT_CODES if f".B {row.code}\n" not in text] == []


def test_nothing_that_was_written_becomes_a_command_of_roff() -> None:
    ours = {".TH", ".SH", ".TP", ".B", ".BR", ".PP", ".nf", ".fi"}
    for name, text in PAGES.items():
        lines = text.splitlines()
        assert not any(line.startswith("'") for line in lines), name
        assert {line.split()[0] for line in lines if line.startswith(".")} <= ours, name


def test_page_says_what_the_help_says() -> None:
    found = page("tx cancel")
    assert found.usage == "momo tx cancel [FLAGS] REF|CODE"
    assert [words for words, _ in found.options] == ["--reason TEXT"]
    assert page("init").options[-2][0] == "--wait[=10m]"
    assert page("claim").arguments[0][0] == "METHOD"


def test_help_writes_the_pages(momo: Momo, tmp_path: Path) -> None:
    folder = tmp_path / "man1"
    ran = momo("help", "--man", str(folder), "--json")
    assert ran.json["data"]["pages"] == list(PAGES)
    assert (folder / "momo.1").read_text(encoding="utf-8") == PAGES["momo.1"]
    assert momo("help", "--man", str(folder / "momo.1")).code == 2


@pytest.mark.slow
def test_mandoc_finds_no_error(tmp_path: Path) -> None:
    program = shutil.which("mandoc")
    if program is None:
        pytest.skip("mandoc is not on this machine")
    for name, text in PAGES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run(
        [program, "-T", "lint", "-W", "error", *files], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "")
