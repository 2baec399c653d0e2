"""Write an answer: a table on a terminal, TSV in a pipe, JSON, CSV, one value, or ids.

Rows are written as they come, so that a long list needs little memory and `| head` ends it. Only the table on a terminal
is collected first, because its columns must be measured; one longer than the screen goes through a pager.
"""

import contextlib
import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import IO, Any, Final

from daemon.wire import ErrorCode
from momo_cli import exit_codes
from momo_cli.errors import Failure, usage
from momo_cli.flags import Output
from momo_cli.show.answer import Answer, Field, Row, View, dumps, raw, record_of
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client
from momo_cli.text import at, clean
from momo_cli.times import duration_s, stamp

_NO_LIMIT: Final = 10**9
_FLAGS: Final = "FIRX"
"""Flags for less, unless LESS is set: quit if one screen is enough, ignore case, show colour, keep the screen."""
_MISSING: Final = object()
_OWN_LINES: Final = ("summary", "error")
"""Types of rows that are not items; `--fields` does not apply to them."""


def check_fields(terminal: Terminal, view: View) -> None:
    """Reject an unknown field, or `--fields` with a form without columns (exit 2), before anything is done."""
    wanted = terminal.flags.fields
    if not wanted:
        return
    if terminal.output in (Output.JSON, Output.ID):
        raise usage(f"--fields does not go with -o {terminal.output}; use -o ndjson, csv or plain")
    if view.by_result:
        return
    names = [field.name for field in view.fields]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        valid = ", ".join(names) or "none: this command has no columns"
        raise usage(f"--fields: unknown field {', '.join(unknown)}; there are {valid}")


def write_answer(terminal: Terminal, view: View, answer: Answer) -> None:
    """Write the answer to stdout, in the chosen form."""
    if terminal.flags.get is not None and answer.stream:
        why = "--get reads a value of one document, but this command writes many"
        raise usage(f"{why}; use -o ndjson")
    if terminal.flags.get is not None:
        _put(terminal, raw(pick_value(answer.document, terminal.flags.get)))
    elif terminal.output is Output.JSON and not answer.stream:
        _put(terminal, answer.document.rstrip("\n"))
    elif terminal.output in (Output.JSON, Output.NDJSON):
        _write_ndjson(terminal, view, answer)
    elif answer.text is not None:
        for piece in answer.text:
            terminal.stdout.write(piece)
    else:
        _write_rows(terminal, view, answer)


def _write_rows(terminal: Terminal, view: View, answer: Answer) -> None:
    if terminal.output is Output.ID:
        for row in answer.rows:
            _put(terminal, clean(raw(at(row, view.id))))
    elif terminal.output is Output.PLAIN and answer.plain and not terminal.flags.fields:
        _put(terminal, answer.plain)
    elif terminal.output is Output.PLAIN:
        columns, heads = _fields(terminal, view), terminal.flags.header
        if heads is None:
            # Where nothing was chosen, what comes out of a pipe is often read by people.
            heads = terminal.flags.output is None and not terminal.flags.fields
        for record in answer.rows:
            if heads:
                _put(terminal, "\t".join(field.name for field in columns))
            heads = False
            _put(terminal, "\t".join(clean(raw(value)) for value in record_of(columns, record).values()))
    elif terminal.output is Output.CSV:
        fields = _fields(terminal, view)
        records = (record_of(fields, row) for row in answer.rows)
        for piece in csv_lines([each.name for each in fields], records, header=terminal.flags.header is not False):
            terminal.stdout.write(piece)
    else:
        _write_table(terminal, view, answer)


def pick_value(document: str, path: str) -> Any:  # JSON
    """Return the value at a dotted path of a document; fail (exit 2) with the existing members if there is none."""
    here: Any = json.loads(document) if document else {}
    walked: list[str] = []
    for step in path.split("."):
        found = at(here, step, _MISSING)
        if found is _MISSING:
            place = ".".join(walked) or "the answer"
            why = f"--get: {place} has no {step!r}; it has {_members(here)}."
            raise Failure("USAGE", f"{why} The command itself was carried out.")
        walked.append(step)
        here = found
    return here


def _members(here: object) -> str:
    if isinstance(here, dict):
        return ", ".join(map(str, here)) or "nothing"
    if isinstance(here, list):
        return f"0 to {len(here) - 1}" if here else "nothing"
    return "nothing below it"


def _put(terminal: Terminal, line: str) -> None:
    terminal.stdout.write(line + "\n")
    if terminal.on_screen:
        terminal.stdout.flush()


def _fields(terminal: Terminal, view: View) -> Sequence[Field]:
    by_name = {field.name: field for field in view.fields}
    wanted = [by_name[name] for name in terminal.flags.fields]
    return wanted or [field for field in view.fields if not field.extra]


def _write_ndjson(terminal: Terminal, view: View, answer: Answer) -> None:
    count = 0
    try:
        for row in answer.rows:
            chosen: Row = row
            if terminal.flags.fields and row.get("type") not in _OWN_LINES:
                chosen = record_of(_fields(terminal, view), row)
            _put(terminal, dumps({"type": "item", **chosen}))
            terminal.stdout.flush()
            count += 1
    except Failure as failure:
        failure.streamed = count > 0
        raise
    if answer.summary:
        _put(terminal, dumps({"type": "summary", "items": count}))


def _write_table(terminal: Terminal, view: View, answer: Answer) -> None:
    if (answer.lines or answer.verbatim) and not terminal.flags.fields:
        from momo_cli.show.wrapping import wrap_hanging  # noqa: PLC0415  # only people get lines

        for line in answer.lines:
            for piece in wrap_hanging(terminal.plain(line), terminal.width):
                _put(terminal, piece)
        for line in answer.verbatim:
            _put(terminal, line)
        return
    from momo_cli.show import table  # noqa: PLC0415  # only people get tables

    if answer.stream and view.heads and not terminal.flags.fields:
        for line in table.stream_lines(terminal, view, answer.rows):
            _put(terminal, line)
            terminal.stdout.flush()
        return
    fields = _fields(terminal, view)
    bare = bool(terminal.flags.fields) or not view.heads
    lines = table.table_lines(terminal, view, answer, fields if bare else ())
    if not terminal.on_screen:
        for line in lines:
            _put(terminal, line)
        return
    show_paged(terminal, lines)


def pager_command(terminal: Terminal) -> list[str]:
    """Return the pager's command line: `MOMO_PAGER`, `PAGER`, else `less`; empty for no pager."""
    import shlex  # noqa: PLC0415  # only long lists need a pager
    import shutil  # noqa: PLC0415  # the same

    environ = terminal.located.environ
    if environ.get("TERM", "dumb") == "dumb" or terminal.flags.no_input:
        return []
    chosen = environ.get("MOMO_PAGER", environ.get("PAGER", "less"))
    try:
        words = shlex.split(chosen)
    except ValueError:  # an open quote
        return []
    if not words or words == ["cat"]:
        return []
    found = shutil.which(words[0], path=environ.get("PATH"))
    return [found, *words[1:]] if found else []


@contextlib.contextmanager
def pager_stream(terminal: Terminal, words: list[str]) -> Iterator[IO[str]]:
    """Yield a stream to the pager; wait until the user quits it."""
    import subprocess  # noqa: PLC0415  # as above

    environ = {"LESS": _FLAGS, **terminal.located.environ}
    terminal.stdout.flush()
    with subprocess.Popen(  # noqa: S603  # the user's own program
        words, stdin=subprocess.PIPE, stdout=terminal.stdout, env=environ, encoding="utf-8", errors="backslashreplace"
    ) as pager:
        assert pager.stdin is not None
        try:
            yield pager.stdin
        except BrokenPipeError:
            pass  # the user quit the pager
        finally:
            with contextlib.suppress(BrokenPipeError):
                pager.stdin.close()
            while pager.poll() is None:
                with contextlib.suppress(KeyboardInterrupt):  # the pager's own key
                    pager.wait()


def show_paged(terminal: Terminal, lines: Iterable[str]) -> None:
    """Write the lines, through the pager if there are more than fit on the screen.

    Lines are only fetched as they are shown, so quitting the pager ends a long list.
    """
    rest = iter(lines)
    held = list(islice(rest, _height(terminal)))
    words = pager_command(terminal) if len(held) == _height(terminal) else []
    if not words:
        for line in chain(held, rest):
            terminal.stdout.write(line + "\n")
        terminal.stdout.flush()
        return
    with pager_stream(terminal, words) as stream:
        for line in chain(held, rest):
            stream.write(line + "\n")


def _height(terminal: Terminal) -> int:
    try:
        return os.get_terminal_size(terminal.stdout.fileno()).lines or _NO_LIMIT
    except (OSError, ValueError):
        return _NO_LIMIT


BOM: Final = "\ufeff"
"""Marks the file as UTF-8 for Excel."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The last four are the full-width forms of = + - @, which some spreadsheets read as the same."""
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_PHONE: Final = re.compile(r"\+\d{8,15}", re.ASCII)
"""A phone number in E.164: digits alone calculate nothing, and with an apostrophe it could not be looked up."""
_LONG: Final = re.compile(r"\+?\d{8,40}|0\d{1,39}", re.ASCII)
"""Digits that are an identifier, not a number: Excel would round them or drop leading zeros."""


def csv_lines(
    columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, header: bool = True, excel: bool = False
) -> Iterator[str]:
    """Yield a piece of CSV text for each row; lines end with CR LF.

    `columns` are the members of each row, in order. `excel` keeps long digits as text, because Excel rounds them: such
    a cell is written ="0244124567".
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    if header:
        writer.writerow(columns)
    for row in rows:
        writer.writerow([csv_cell(row.get(name), excel=excel) for name in columns])
        yield _taken(buffer)
    if buffer.tell():
        yield _taken(buffer)  # a header without rows


def _taken(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def csv_cell(value: object, *, excel: bool = False) -> str:
    """Return the text of one cell."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if excel and _LONG.fullmatch(value):
        return f'="{value}"'
    if value.lstrip(" ").startswith(_FORMULA) and not (_NUMBER.fullmatch(value) or _PHONE.fullmatch(value)):
        return f"'{value}"
    return value


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
    look: Callable[[Terminal], Answer], client: Client, terminal: Terminal, view: View, pause_s: float | None
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
    write_answer(replace(terminal, stdout=out), view, answer)
    empty = "" if answer.rows else answer.empty
    below = [part for part in (empty, *answer.notes, *answer.next_lines()) if part]
    return [head, "", *out.getvalue().splitlines(), *map(terminal.plain, below)]
