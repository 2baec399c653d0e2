"""Long tables: drawn block by block, through a pager on a terminal that is too small."""

import io
import os
import pty
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from momo_cli.flags import Flags, Output
from momo_cli.frame.run import show_help
from momo_cli.show import table
from momo_cli.show.answer import Answer, Field, Head, View
from momo_cli.show.batch import progress, progress_line
from momo_cli.show.render import pager_command, show_paged
from momo_cli.show.terminal import Terminal, open_terminal
from tests.cli.conftest import Shop

VIEW = View(
    fields=(Field("id"),),
    heads=(Head("ID", lambda row, _: str(row["id"])), Head("N", lambda row, _: str(row["n"]), right=True)),
)


@pytest.fixture
def terminal(shop: Shop) -> Terminal:
    made = open_terminal(Flags(output=Output.TABLE), {**shop.environ, "TERM": "xterm"})
    return replace(made, width=80, symbols=True)


def test_long_list_is_drawn_as_it_comes(terminal: Terminal) -> None:
    asked = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal asked
        for number in range(1_200):
            asked += 1
            yield {"id": f"row {number}", "n": number}

    found = table.table_lines(terminal, VIEW, Answer(rows=rows(), heading="All of them"), ())
    assert next(found) == "All of them"
    assert asked <= 500
    lines = list(found)
    assert asked == 1_200
    assert len(lines) == 1_202  # a header and its rule, once
    assert sum("ID" in line for line in lines) == 1


def test_later_blocks_stand_under_the_first(terminal: Terminal) -> None:
    many = [{"id": "a" * 12, "n": 1}] * 500 + [{"id": "b", "n": 2}]
    lines = list(table.table_lines(terminal, VIEW, Answer(rows=many), ()))
    assert [line.rindex(line.strip()[-1]) for line in lines[-2:]] == [len(lines[0]) - 1] * 2


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"MOMO_PAGER": "cat"}, []),
        ({"MOMO_PAGER": ""}, []),
        ({"PAGER": "true -x", "MOMO_PAGER": "env A=b"}, ["env", "A=b"]),
        ({"PAGER": "true -x"}, ["true", "-x"]),
        ({"PAGER": "no-such-pager"}, []),
        ({"PAGER": "'open"}, []),
        ({"PAGER": "true", "TERM": "dumb"}, []),
    ],
)
def test_pager_is_the_one_that_the_environment_names(
    environ: dict[str, str], words: list[str], terminal: Terminal
) -> None:
    located = replace(terminal.located, environ={"PATH": os.environ["PATH"], "TERM": "xterm", **environ})
    found = pager_command(replace(terminal, located=located))
    assert [Path(word).name for word in found[:1]] + found[1:] == words


def shown(terminal: Terminal, pager: str, count: int) -> str:
    """Show numbered lines on a terminal of 24 lines, and return the text that it received."""
    return on_screen(terminal, pager, lambda there: show_paged(there, (f"{n}" for n in range(count))))


def on_screen(terminal: Terminal, pager: str, write: Callable[[Terminal], None]) -> str:
    """Write on a terminal of 24 lines, and return the text that it received."""
    import fcntl
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    located = replace(terminal.located, environ={"PATH": os.environ["PATH"], "TERM": "xterm", "PAGER": pager})
    with os.fdopen(slave, "w", encoding="utf-8") as screen:
        write(replace(terminal, stdout=screen, located=located))
    got = b""
    with suppress(OSError):  # EIO: the other side is closed, and all of it was read
        while piece := os.read(master, 65536):
            got += piece
    os.close(master)
    return got.decode().replace("\r\n", "\n")


def test_short_list_needs_no_pager(terminal: Terminal) -> None:
    assert shown(terminal, "false", 5) == "0\n1\n2\n3\n4\n"


def test_long_list_goes_through_the_pager(terminal: Terminal) -> None:
    assert shown(terminal, "tail -n 2", 200) == "198\n199\n"


def test_help_longer_than_the_screen_goes_through_the_pager(terminal: Terminal) -> None:
    page = "\n".join(f"line {n}" for n in range(40))
    assert on_screen(terminal, "head -n 1", lambda there: show_help(there, page)) == "line 0\n"
    assert on_screen(terminal, "false", lambda there: show_help(there, "Usage")) == "Usage\n"
    piped = replace(terminal, stdout=io.StringIO())
    show_help(piped, page)
    assert isinstance(piped.stdout, io.StringIO)
    assert piped.stdout.getvalue() == f"{page}\n"


def test_leaving_the_pager_ends_the_list_quietly(terminal: Terminal) -> None:
    assert shown(terminal, "head -n 1", 100_000) == "0\n"


class Screen(io.StringIO):
    """A terminal that keeps the text written to it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal_progress(shop: Shop) -> Terminal:
    flags = Flags(output=Output.TABLE)
    return replace(open_terminal(flags, {**shop.environ, "TERM": "xterm"}), stderr=Screen(), symbols=True)


def run(terminal_progress: Terminal) -> str:
    with progress(terminal_progress, "Sending", 4) as step:
        for done in (1, 2, 3, 4):
            step(done)
    assert isinstance(terminal_progress.stderr, io.StringIO)
    return terminal_progress.stderr.getvalue()


def test_line_rewrites_itself_and_is_gone_at_the_end(terminal_progress: Terminal) -> None:
    shown = run(terminal_progress)
    assert "\r\x1b[KSending  0 of 4  " + "─" * 24 in shown
    assert shown.endswith("Sending  4 of 4  " + "━" * 24 + "\r\x1b[K")
    assert "\n" not in shown


def test_what_is_said_meanwhile_stands_on_a_line_of_its_own(terminal_progress: Terminal) -> None:
    with progress(terminal_progress, "Sending", 4) as step:
        terminal_progress.note("warning: it is paused")
        terminal_progress.note("and another")
        step(4)
    assert isinstance(terminal_progress.stderr, io.StringIO)
    shown = terminal_progress.stderr.getvalue()
    assert "─\r\x1b[Kwarning: it is paused\nand another\n\r\x1b[KSending  4 of 4" in shown
    terminal_progress.note("done")
    assert terminal_progress.stderr.getvalue().endswith("\r\x1b[Kdone\n")


def test_ascii_where_the_locale_is(terminal_progress: Terminal) -> None:
    assert progress_line(replace(terminal_progress, symbols=False), "Sending", 1, 2) == (
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
def test_nothing_where_it_would_be_in_the_way(terminal_progress: Terminal, told: dict[str, object]) -> None:
    assert run(replace(terminal_progress, **told)) == ""  # type: ignore[arg-type]  # fields by name


def test_nothing_on_a_terminal_that_cannot_go_back(shop: Shop) -> None:
    dumb = open_terminal(Flags(output=Output.TABLE), {**shop.environ, "TERM": "dumb"})
    assert run(replace(dumb, stderr=Screen())) == ""
