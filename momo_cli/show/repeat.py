"""`--watch`: repeat a command, as a full screen for people or as one JSON document per line for programs."""

import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from daemon.wire import ErrorCode
from momo_cli import exit_codes
from momo_cli.errors import Failure, usage
from momo_cli.flags import Output
from momo_cli.show import render
from momo_cli.show.answer import Answer, Row, View
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client
from momo_cli.times import duration_s, stamp

_OPEN: Final = "\x1b[?1049h\x1b[?25l"
_CLOSE: Final = "\x1b[?25h\x1b[?1049l"
"""Switch to the alternate screen without a cursor, and back (xterm control sequences)."""
_COLOUR: Final = re.compile(r"\x1b\[\d*m")
EVERY_S_MIN: Final = 0.5


def parse_interval(text: str | None) -> float | None:
    """Parse the value of `--watch` in seconds, None without it; fail (exit 2) if it is no duration or too short."""
    if text is None:
        return None
    found = duration_s(text, "--watch")
    if found < EVERY_S_MIN:
        raise usage(f"--watch: the interval must be at least {EVERY_S_MIN:g} s")
    return found


def repeat_answer(
    look: Callable[[Terminal], Answer],
    client: Client,
    terminal: Terminal,
    view: View,
    pause_s: float | None,
) -> Answer:
    """Return the answer once; or repeat it until Ctrl-C, waiting while the daemon is unreachable.

    `look` returns a new answer. `pause_s` is the time between two repetitions in seconds; None is once.
    """
    if pause_s is None:
        return look(terminal)
    if terminal.human and terminal.on_screen:
        # The screen's size is read again each time, because the window may have been resized.
        terminal.stdout.write(_OPEN)
        try:
            for answer in _answers(lambda: look(_sized(terminal)), client, pause_s):
                lines = _drawn(answer, _sized(terminal), view)
                size = os.get_terminal_size(terminal.stdout.fileno())
                shown = "\x1b[K\n".join(_fitting(lines, *size))
                terminal.stdout.write(f"\x1b[H{shown}\x1b[K\x1b[J")
                terminal.stdout.flush()
        finally:
            terminal.stdout.write(_CLOSE)
            terminal.stdout.flush()
        return Answer(exit_code=exit_codes.INTERRUPTED)
    answers = _answers(lambda: look(terminal), client, pause_s)
    return Answer(rows=_rows(answers, client, terminal), stream=True)


def _answers(look: Callable[[], Answer], client: Client, pause_s: float) -> Iterator[Answer | None]:
    """Yield an answer for each repetition, None while the daemon is unreachable; the first one must succeed."""
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


def _rows(answers: Iterable[Answer | None], client: Client, terminal: Terminal) -> Iterator[Row]:
    unreachable = False
    for answer in answers:
        if answer is None:
            if not unreachable:
                client.warn("the daemon is unreachable; trying again")
            unreachable = True
            continue
        unreachable = False
        if terminal.output in (Output.JSON, Output.NDJSON):
            yield {"at": stamp(terminal.now()), **json.loads(answer.document)["data"]}
        else:
            yield from answer.rows


def _fitting(lines: list[str], width: int, height: int) -> list[str]:
    """Return the lines that fit on the screen; a long line takes several rows."""
    found, used = [], 0
    for line in lines:
        used += max(1, -(-len(_COLOUR.sub("", line)) // width))
        if used >= height:
            break
        found.append(line)
    return found


def _sized(terminal: Terminal) -> Terminal:
    """Return a terminal of the window's size with its output in memory."""
    width, _ = os.get_terminal_size(terminal.stdout.fileno())
    return replace(terminal, stdout=io.StringIO(), width=width, on_screen=False)


def _drawn(answer: Answer | None, terminal: Terminal, view: View) -> list[str]:
    local = terminal.now().astimezone(terminal.zone)
    head = terminal.style(terminal.plain(f"{local:%H:%M:%S}   Ctrl-C quits"), "dim")
    if answer is None:
        return [head, "", terminal.style("The daemon is unreachable; trying again.", "red")]
    out = io.StringIO()
    render.write_answer(replace(terminal, stdout=out), view, answer)
    empty = "" if answer.rows else answer.empty
    below = [part for part in (empty, *answer.notes, *answer.next_lines()) if part]
    return [head, "", *out.getvalue().splitlines(), *map(terminal.plain, below)]
