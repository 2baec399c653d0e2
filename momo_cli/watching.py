"""The same question again and again: a whole screen for a person, one JSON document a line for a program."""

import io
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Final

import typer

from daemon.wire import ErrorCode
from momo_cli import exits, render
from momo_cli.answer import Answer, Row, View
from momo_cli.client import Client
from momo_cli.errors import Failure, usage
from momo_cli.flags import Output
from momo_cli.terminal import Terminal
from momo_cli.times import duration_s, stamp

Watch = Annotated[
    str | None,
    typer.Option("--watch", metavar="[=2s]", help="Look again and again, until Ctrl-C."),
]
_OPEN: Final = "\x1b[?1049h\x1b[?25l"
_CLOSE: Final = "\x1b[?25h\x1b[?1049l"
"""The alternate screen without a cursor, and back (xterm control sequences)."""
_COLOUR: Final = re.compile(r"\x1b\[\d*m")
EVERY_S_MIN: Final = 0.5


def every_s(text: str | None) -> float | None:
    """Read the value of `--watch`; None when it was not given.

    Raises:
        Failure: USAGE, when it is no duration, or too short.
    """
    if text is None:
        return None
    found = duration_s(text, "--watch")
    if found < EVERY_S_MIN:
        raise usage(f"--watch: at least {EVERY_S_MIN:g} s; the daemon has other things to do")
    return found


def watched(
    look: Callable[[Terminal], Answer],
    client: Client,
    terminal: Terminal,
    view: View,
    pause_s: float | None,
) -> Answer:
    """Look once; or for ever, until Ctrl-C, and while the daemon is away, wait for it.

    Args:
        look: Makes the answer that is shown once.
        client: Waits, and takes a sentence for stderr.
        terminal: Where it is shown.
        view: How the rows are written.
        pause_s: Seconds between two looks; None is once.
    """
    if pause_s is None:
        return look(terminal)
    if terminal.human and terminal.on_screen:
        _on_screen(look, client, terminal, view, pause_s)
        return Answer(exit_code=exits.INTERRUPTED)
    return Answer(rows=_rows(look, client, terminal, pause_s), stream=True)


def _answers(look: Callable[[], Answer], client: Client, pause_s: float) -> Iterator[Answer | None]:
    """Yield an answer for each look, None while the daemon is away; the first look must succeed."""
    first = True
    while True:
        try:
            yield look()
        except Failure as failure:
            if first or failure.code not in (ErrorCode.DAEMON_DOWN, ErrorCode.UNAVAILABLE):
                raise
            yield None
        first = False
        client.pause(pause_s)


def _rows(
    look: Callable[[Terminal], Answer], client: Client, terminal: Terminal, pause_s: float
) -> Iterator[Row]:
    away = False
    for answer in _answers(lambda: look(terminal), client, pause_s):
        if answer is None:
            if not away:
                client.warn("the daemon is away; trying again")
            away = True
            continue
        away = False
        if terminal.output in (Output.JSON, Output.NDJSON):
            yield {"at": stamp(terminal.now()), **json.loads(answer.document)["data"]}
        else:
            yield from answer.rows


def _on_screen(
    look: Callable[[Terminal], Answer],
    client: Client,
    terminal: Terminal,
    view: View,
    pause_s: float,
) -> None:
    terminal.stdout.write(_OPEN)
    try:
        # The screen's size is read again for each look: the window may be another size now.
        for answer in _answers(lambda: look(_sized(terminal)), client, pause_s):
            lines = _drawn(answer, _sized(terminal), view)
            shown = "\x1b[K\n".join(
                _fitting(lines, *os.get_terminal_size(terminal.stdout.fileno()))
            )
            terminal.stdout.write(f"\x1b[H{shown}\x1b[K\x1b[J")
            terminal.stdout.flush()
    finally:
        terminal.stdout.write(_CLOSE)
        terminal.stdout.flush()


def _fitting(lines: list[str], width: int, height: int) -> list[str]:
    """Return as many lines as the screen has room for; a long one takes several of its rows."""
    found, used = [], 0
    for line in lines:
        used += max(1, -(-len(_COLOUR.sub("", line)) // width))
        if used >= height:
            break
        found.append(line)
    return found


def _sized(terminal: Terminal) -> Terminal:
    """Return a terminal of the window's size whose output is kept."""
    width, _ = os.get_terminal_size(terminal.stdout.fileno())
    return replace(terminal, stdout=io.StringIO(), width=width, on_screen=False)


def _drawn(answer: Answer | None, terminal: Terminal, view: View) -> list[str]:
    local = terminal.now().astimezone(terminal.zone)
    head = terminal.style(terminal.plain(f"{local:%H:%M:%S}   Ctrl-C leaves"), "dim")
    if answer is None:
        return [head, "", terminal.style("The daemon is away; trying again.", "red")]
    out = io.StringIO()
    render.write(replace(terminal, stdout=out), view, answer)
    told = [part for part in (answer.empty, *answer.notes, *answer.next_lines()) if part]
    return [head, "", *out.getvalue().splitlines(), *map(terminal.plain, told)]
