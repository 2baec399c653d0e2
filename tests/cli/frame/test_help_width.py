"""The help on a narrow terminal, such as a phone held upright."""

import pytest

from momo_cli.frame.command_table import COMMANDS
from tests.cli.conftest import Momo
from tests.fakes.each import each


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")


@pytest.mark.usefixtures("narrow")
@each("name", ["", "tx", *COMMANDS])
def test_no_line_of_the_help_is_wider_but_what_is_to_be_copied(name: str, momo: Momo) -> None:
    page = momo(*name.split(), "--help").out
    told = page.partition("\nExamples:")[0].partition("\nFirst steps:")[0].splitlines()
    flags = [line for line in told if line.startswith("  -")]
    wide = [line for line in told if len(line) > 40 and line not in flags]
    assert not [line for line in wide if len(line.split()) > 1]


def test_a_wide_terminal_has_flags_and_what_they_do_side_by_side(momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "  --phone NUMBER                  Only this payer's number." in (
        momo("tx", "list", "--help").out.splitlines()
    )
