"""Writing an answer: table on a terminal, TSV in a pipe, JSON, one value, or ids.

Rows are written as they come, so that a long list needs no memory and `| head` ends it. Only the
table on a terminal is collected first, because its columns must be measured.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from momo_cli.answer import Answer, Cell, Field, Row, View
from momo_cli.errors import Failure, usage
from momo_cli.flags import Output
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean

_MISSING: Final = object()
_CUT_WIDTH_MIN: Final = 9
_OWN_LINES: Final = ("summary", "error")
"""Types of rows that are not items, so that `--fields` does not choose among their members."""


def check(terminal: Terminal, view: View) -> None:
    """Refuse what cannot be written, before anything is done.

    Raises:
        Failure: USAGE: an unknown field, or `--fields` with a form that has no columns.
    """
    wanted = terminal.flags.fields
    if not wanted:
        return
    if terminal.output in (Output.JSON, Output.ID):
        raise usage(f"--fields does not go with -o {terminal.output}; use -o ndjson, csv or plain")
    names = [field.name for field in view.fields]
    unknown = [name for name in wanted if name not in names]
    if unknown:
        valid = ", ".join(names) or "none: this command has no columns"
        raise usage(f"--fields: unknown field {', '.join(unknown)}; there are {valid}")


def write(terminal: Terminal, view: View, answer: Answer) -> None:
    """Write what was asked for to stdout, in the form that was asked for."""
    if terminal.flags.get is not None:
        _put(terminal, _raw(pick(answer.document, terminal.flags.get)))
    elif terminal.output is Output.JSON and not answer.stream:
        _put(terminal, answer.document.rstrip("\n"))
    elif terminal.output in (Output.JSON, Output.NDJSON):
        _write_ndjson(terminal, view, answer)
    elif answer.text is not None:
        for piece in answer.text:
            terminal.stdout.write(piece)
    elif terminal.output is Output.ID:
        for row in answer.rows:
            _put(terminal, clean(_raw(at(row, view.id))))
    elif terminal.output is Output.PLAIN and answer.plain and not terminal.flags.fields:
        _put(terminal, answer.plain)
    elif terminal.output is Output.PLAIN:
        _write_plain(terminal, view, answer.rows)
    elif terminal.output is Output.CSV:
        _write_csv(terminal, view, answer.rows)
    else:
        _write_table(terminal, view, answer)


def dumps(value: object) -> str:
    """Return compact JSON with keys in the order in which they stand."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pick(document: str, path: str) -> Any:  # JSON
    """Return the value at a dotted path of a document.

    Raises:
        Failure: USAGE, naming the members that are there.
    """
    here: Any = json.loads(document) if document else {}
    walked: list[str] = []
    for step in path.split("."):
        found = _member(here, step)
        if found is _MISSING:
            place = ".".join(walked) or "the answer"
            raise Failure(
                "USAGE",
                f"--get: {place} has no {step!r}; it has {_members(here)}. "
                "The command itself was carried out.",
            )
        walked.append(step)
        here = found
    return here


def _member(here: object, step: str) -> object:
    if isinstance(here, dict):
        return here.get(step, _MISSING)
    if (
        isinstance(here, list)
        and step.lstrip("-").isdigit()
        and -len(here) <= int(step) < len(here)
    ):
        return here[int(step)]
    return _MISSING


def _members(here: object) -> str:
    if isinstance(here, dict):
        return ", ".join(map(str, here)) or "nothing"
    if isinstance(here, list):
        return f"0 to {len(here) - 1}" if here else "nothing"
    return "nothing below it"


def _raw(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return dumps(value)


def _put(terminal: Terminal, line: str) -> None:
    terminal.stdout.write(line + "\n")
    if terminal.on_screen:
        terminal.stdout.flush()


def _fields(terminal: Terminal, view: View) -> Sequence[Field]:
    by_name = {field.name: field for field in view.fields}
    return [by_name[name] for name in terminal.flags.fields] or view.fields


def _values(fields: Sequence[Field], row: Row) -> list[object]:
    return [at(row, field.path or field.name) for field in fields]


def _write_ndjson(terminal: Terminal, view: View, answer: Answer) -> None:
    count = 0
    for row in answer.rows:
        chosen: Row = row
        if terminal.flags.fields and row.get("type") not in _OWN_LINES:
            fields = _fields(terminal, view)
            names = [field.name for field in fields]
            chosen = dict(zip(names, _values(fields, row), strict=True))
        _put(terminal, dumps({"type": "item", **chosen}))
        terminal.stdout.flush()
        count += 1
    if answer.summary:
        _put(terminal, dumps({"type": "summary", "items": count}))


def _write_plain(terminal: Terminal, view: View, rows: Iterable[Row]) -> None:
    fields = _fields(terminal, view)
    if terminal.flags.header:
        _put(terminal, "\t".join(field.name for field in fields))
    for row in rows:
        _put(terminal, "\t".join(clean(_raw(value)) for value in _values(fields, row)))


def _write_csv(terminal: Terminal, view: View, rows: Iterable[Row]) -> None:
    import csv  # noqa: PLC0415  # only this form needs it

    fields = _fields(terminal, view)
    writer = csv.writer(terminal.stdout, lineterminator="\r\n")  # RFC 4180
    if terminal.flags.header is not False:
        writer.writerow([field.name for field in fields])
    for row in rows:
        writer.writerow([_raw(value) for value in _values(fields, row)])


def _write_table(terminal: Terminal, view: View, answer: Answer) -> None:
    if answer.lines and not terminal.flags.fields:
        for line in answer.lines:
            _put(terminal, terminal.plain(line))
        return
    if answer.stream and view.heads and not terminal.flags.fields:
        for line in _stream_lines(terminal, view, answer.rows):
            _put(terminal, line)
            terminal.stdout.flush()
        return
    titles, rights, cuts, cells = _cells(terminal, view, answer.rows)
    if not cells:
        return
    if answer.heading:
        _put(terminal, terminal.plain(answer.heading))
    _draw(terminal, titles, rights, _narrowed(terminal, titles, cuts, cells))


def _stream_lines(terminal: Terminal, view: View, rows: Iterable[Row]) -> Iterator[str]:
    """Write one line per row as it comes; nothing to measure the columns by."""
    for row in rows:
        cells = [_as_cell(head.show(row, terminal)) for head in view.heads]
        yield "  ".join(
            terminal.style(terminal.plain(clean(cell.text)), cell.style) for cell in cells
        ).rstrip()


def _cells(
    terminal: Terminal, view: View, rows: Iterable[Row]
) -> tuple[list[str], list[bool], list[bool], list[list[Cell]]]:
    if terminal.flags.fields or not view.heads:
        fields = _fields(terminal, view)
        drawn = [[Cell(clean(_raw(v))) for v in _values(fields, row)] for row in rows]
        blank = [False] * len(fields)
        return [field.name.upper() for field in fields], blank, blank, drawn
    drawn = [
        [_shown(terminal, _as_cell(head.show(row, terminal))) for head in view.heads]
        for row in rows
    ]
    titles = [head.title for head in view.heads]
    return titles, [h.right for h in view.heads], [h.cut for h in view.heads], drawn


def _as_cell(shown: Cell | str) -> Cell:
    return shown if isinstance(shown, Cell) else Cell(shown)


def _shown(terminal: Terminal, cell: Cell) -> Cell:
    return Cell(terminal.plain(clean(cell.text)), cell.style)


def _narrowed(
    terminal: Terminal, titles: list[str], cuts: list[bool], cells: list[list[Cell]]
) -> list[list[Cell]]:
    """Cut ids in their middle, as far as needed for the table to fit; nothing else is cut."""
    widths = [
        max(len(title), *(len(row[i].text) for row in cells)) for i, title in enumerate(titles)
    ]
    gap = 3 if terminal.symbols else 2  # what rich puts between columns, with and without a box
    over = sum(widths) + gap * (len(widths) - 1) - terminal.width
    for i, may_cut in enumerate(cuts):
        if over <= 0 or not may_cut:
            continue
        room = max(_CUT_WIDTH_MIN, widths[i] - over)
        over -= widths[i] - room
        for row in cells:
            row[i] = Cell(
                _middle_cut(row[i].text, room, "…" if terminal.symbols else "~"),
                row[i].style,
            )
    return cells


def _middle_cut(text: str, room: int, mark: str) -> str:
    if len(text) <= room:
        return text
    tail = (room - 1) // 2
    return f"{text[: room - 1 - tail]}{mark}{text[-tail:]}"


def _draw(
    terminal: Terminal, titles: list[str], rights: list[bool], cells: list[list[Cell]]
) -> None:
    from rich import box  # noqa: PLC0415  # rich costs more than the rest of the program
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(
        box=box.SIMPLE_HEAD if terminal.symbols else None,
        pad_edge=False,
        show_edge=False,
        header_style="bold" if terminal.color else "",
    )
    for title, right in zip(titles, rights, strict=True):
        table.add_column(title, justify="right" if right else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell.text, style=cell.style) for cell in row))
    console = Console(
        file=terminal.stdout,
        width=terminal.width,
        color_system="standard" if terminal.color else None,
        force_terminal=terminal.color,
        no_color=not terminal.color,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        markup=False,
    )
    with console.capture() as drawn:
        console.print(table)
    for line in drawn.get().splitlines():
        _put(terminal, line.rstrip())
