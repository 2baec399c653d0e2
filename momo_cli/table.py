"""Tables on a terminal: measured, narrowed and drawn block by block, so that a long list needs no memory."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from momo_cli.answer import Answer, Cell, Field, Row, View
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import raw, values_of

_CUT_WIDTH_MIN: Final = 9
_BLOCK: Final = 500
"""Rows that are measured together; the first block decides how wide the columns are at least."""


def lines(terminal: Terminal, view: View, answer: Answer, fields: Sequence[Field]) -> Iterator[str]:
    """Yield the lines of a table, its heading first; nothing when there are no rows.

    Args:
        terminal: How wide it is, and what it can show.
        view: The columns for people.
        answer: The rows and the heading.
        fields: The columns to show instead of those for people; empty for these.
    """
    rows, first, least = iter(answer.rows), True, []
    while block := list(islice(rows, _BLOCK)):
        titles, rights, cuts, cells = _cells(terminal, view, block, fields)
        if first and answer.heading:
            yield terminal.plain(answer.heading)
        cells = _narrowed(terminal, titles, cuts, cells)
        if first:
            least = [max(len(row[i].text) for row in cells) for i in range(len(titles))]
        yield from _drawn(terminal, titles, rights, cells, () if first else least)
        first = False


def stream_lines(terminal: Terminal, view: View, rows: Iterable[Row]) -> Iterator[str]:
    """Yield one line per row as it comes; nothing to measure the columns by."""
    for row in rows:
        cells = [_as_cell(head.show(row, terminal)) for head in view.heads]
        yield "  ".join(
            terminal.style(terminal.plain(clean(cell.text)), cell.style) for cell in cells
        ).rstrip()


def _cells(
    terminal: Terminal, view: View, rows: Iterable[Row], fields: Sequence[Field]
) -> tuple[list[str], list[bool], list[bool], list[list[Cell]]]:
    if fields:
        drawn = [[Cell(clean(raw(v))) for v in values_of(fields, row)] for row in rows]
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


def _drawn(
    terminal: Terminal,
    titles: list[str],
    rights: list[bool],
    cells: list[list[Cell]],
    least: Sequence[int],
) -> Iterator[str]:
    """Draw one block; the ones after the first have no header, and columns of `least` characters."""
    from rich import box  # noqa: PLC0415  # rich costs more than the rest of the program
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(
        box=box.SIMPLE_HEAD if terminal.symbols else None,
        show_header=not least,
        pad_edge=False,
        show_edge=False,
        header_style="bold" if terminal.color else "",
    )
    for i, (title, right) in enumerate(zip(titles, rights, strict=True)):
        width = max(least[i], len(title)) if least else None
        table.add_column(
            title, justify="right" if right else "left", overflow="fold", min_width=width
        )
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
        yield line.rstrip()
