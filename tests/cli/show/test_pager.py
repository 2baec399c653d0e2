"""Long tables: drawn block by block, through a pager on a terminal that is too small."""

import os
import pty
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from momo_cli.flags import Flags, Output
from momo_cli.show import table
from momo_cli.show.answer import Answer, Field, Head, View
from momo_cli.show.render import pager_command, show_paged
from momo_cli.show.terminal import Terminal, open_terminal
from tests.cli.conftest import Shop

VIEW = View(
    fields=(Field("id"),),
    heads=(
        Head("ID", lambda row, _: str(row["id"])),
        Head("N", lambda row, _: str(row["n"]), right=True),
    ),
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
    located = replace(
        terminal.located, environ={"PATH": os.environ["PATH"], "TERM": "xterm", **environ}
    )
    found = pager_command(replace(terminal, located=located))
    assert [Path(word).name for word in found[:1]] + found[1:] == words


def shown(terminal: Terminal, pager: str, count: int) -> str:
    """Show lines on a terminal of 24 lines, and return the text that it received."""
    import fcntl
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    located = replace(
        terminal.located,
        environ={"PATH": os.environ["PATH"], "TERM": "xterm", "PAGER": pager},
    )
    with os.fdopen(slave, "w", encoding="utf-8") as screen:
        show_paged(
            replace(terminal, stdout=screen, located=located), (f"{n}" for n in range(count))
        )
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


def test_leaving_the_pager_ends_the_list_quietly(terminal: Terminal) -> None:
    assert shown(terminal, "head -n 1", 100_000) == "0\n"
