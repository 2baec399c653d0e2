"""The progress of a long operation: shown only on stderr, and only on a terminal."""

import io
from dataclasses import replace

import pytest

from momo_cli.flags import Flags, Output
from momo_cli.show.batch import progress, progress_line
from momo_cli.show.terminal import Terminal, open_terminal
from tests.cli.conftest import Shop


class Screen(io.StringIO):
    """A terminal that keeps the text written to it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(shop: Shop) -> Terminal:
    flags = Flags(output=Output.TABLE)
    return replace(
        open_terminal(flags, {**shop.environ, "TERM": "xterm"}), stderr=Screen(), symbols=True
    )


def run(terminal: Terminal) -> str:
    with progress(terminal, "Sending", 4) as step:
        for done in (1, 2, 3, 4):
            step(done)
    assert isinstance(terminal.stderr, io.StringIO)
    return terminal.stderr.getvalue()


def test_line_rewrites_itself_and_is_gone_at_the_end(terminal: Terminal) -> None:
    shown = run(terminal)
    assert "\r\x1b[KSending  0 of 4  " + "─" * 24 in shown
    assert shown.endswith("Sending  4 of 4  " + "━" * 24 + "\r\x1b[K")
    assert "\n" not in shown


def test_what_is_said_meanwhile_stands_on_a_line_of_its_own(terminal: Terminal) -> None:
    with progress(terminal, "Sending", 4) as step:
        terminal.note("warning: it is paused")
        terminal.note("and another")
        step(4)
    assert isinstance(terminal.stderr, io.StringIO)
    shown = terminal.stderr.getvalue()
    assert "─\r\x1b[Kwarning: it is paused\nand another\n\r\x1b[KSending  4 of 4" in shown
    terminal.note("done")
    assert terminal.stderr.getvalue().endswith("\r\x1b[Kdone\n")


def test_ascii_where_the_locale_is(terminal: Terminal) -> None:
    assert progress_line(replace(terminal, symbols=False), "Sending", 1, 2) == (
        "Sending  1 of 2  ############------------"
    )


@pytest.mark.parametrize(
    "told",
    [
        {"stderr": io.StringIO()},
        {"flags": Flags(quiet=True, output=Output.TABLE)},
        {"output": Output.NDJSON, "on_screen": True},
    ],
    ids=["pipe", "quiet", "rows on the same screen"],
)
def test_nothing_where_it_would_be_in_the_way(terminal: Terminal, told: dict[str, object]) -> None:
    assert run(replace(terminal, **told)) == ""  # type: ignore[arg-type]  # fields by name


def test_nothing_on_a_terminal_that_cannot_go_back(shop: Shop) -> None:
    dumb = open_terminal(Flags(output=Output.TABLE), {**shop.environ, "TERM": "dumb"})
    assert run(replace(dumb, stderr=Screen())) == ""
