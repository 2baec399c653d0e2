"""Tables on a terminal: measured, narrowed and drawn block by block, so that a long list needs little memory.

A table that is too wide is narrowed in steps: ids are shortened in their middle, then texts are wrapped; if that is not
enough (a narrow phone screen), each record is written as a few lines, `TITLE  value`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import Final, NamedTuple

from momo_cli.show.answer import Answer, Cell, Field, Head, Row, View, raw, record_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.wrapping import text_width, wrap_hanging, wrap_words
from momo_cli.text import clean

_CUT_WIDTH_MIN: Final = 9
_WRAP_WIDTH_MIN: Final = 10
_WORD_MAX: Final = 24
_GAP: Final = "  "
_BLOCK: Final = 500
"""Rows that are measured together; the first block sets the least width of the columns."""


# Not rich's Table: it renders each cell as a tree of segments (5 s for 10,000 rows), and gives every column an equal
# share of a narrow terminal.
class _Column(NamedTuple):
    """A column without its cells."""

    title: str
    right: bool = False
    cut: bool = False
    short: bool = False


def table_lines(terminal: Terminal, view: View, answer: Answer, fields: Sequence[Field]) -> Iterator[str]:
    """Yield the lines of a table, its heading first; no lines if there are no rows.

    `fields` are shown instead of the view's columns for people, if there are any.
    """
    rows = iter(answer.rows)
    block = list(islice(rows, _BLOCK))
    heads = [
        head
        for head in view.heads
        if not head.optional or any(_cells(terminal, [head], (), row)[0].text for row in block)
    ]
    columns = (
        [_Column(field.name.upper()) for field in fields]
        if fields
        else [_Column(head.title, head.right, head.cut, head.short) for head in heads]
    )
    widths = [text_width(column.title) for column in columns]
    upright, first = False, True
    while block:
        if first and answer.heading:
            yield from wrap_hanging(terminal.plain(answer.heading), terminal.width)
        cells = [_cells(terminal, heads, fields, row) for row in block]
        for i, least in enumerate(widths):
            widths[i] = max(least, *(text_width(row[i].text) for row in cells))
        fitted, fits = _fitted(columns, widths, _floors(columns, cells), terminal.width)
        if not fits and first and len(block) < _BLOCK:
            # All rows are known, so columns that are empty in all of them can be dropped.
            used = [i for i in range(len(columns)) if any(row[i].text for row in cells)]
            columns, widths = [columns[i] for i in used], [widths[i] for i in used]
            cells = [[row[i] for i in used] for row in cells]
            fitted, fits = _fitted(columns, widths, _floors(columns, cells), terminal.width)
        widths = fitted
        upright = upright or (first and not fits)
        if upright:
            yield from _records(terminal, columns, cells, first=first)
        else:
            if first:
                titles = [
                    column.title.rjust(room) if column.right else column.title.ljust(room)
                    for column, room in zip(columns, widths, strict=True)
                ]
                yield terminal.style(_GAP.join(titles).rstrip(), "bold")
                yield terminal.plain("─") * (sum(widths) + len(_GAP) * (len(widths) - 1))
            for row in cells:
                yield from _row(terminal, columns, widths, row)
        first, block = False, list(islice(rows, _BLOCK))


def stream_lines(terminal: Terminal, view: View, rows: Iterable[Row]) -> Iterator[str]:
    """Yield each row as it comes, wrapped if it is too long; the columns are not aligned."""
    for row in rows:
        cells = _cells(terminal, view.heads, (), row)
        line = _GAP.join(terminal.style(cell.text, cell.style) for cell in cells).rstrip()
        yield from wrap_hanging(line, terminal.width, labels=False)


def _cells(terminal: Terminal, heads: Sequence[Head], fields: Sequence[Field], row: Row) -> list[Cell]:
    if fields:
        return [Cell(clean(raw(value))) for value in record_of(fields, row).values()]
    shown = (head.show(row, terminal) for head in heads)
    cells = (cell if isinstance(cell, Cell) else Cell(cell) for cell in shown)
    return [Cell(terminal.plain(clean(cell.text)), cell.style) for cell in cells]


def _floors(columns: Sequence[_Column], cells: Sequence[Sequence[Cell]]) -> list[int]:
    """Return the least width of each column, so that only very long words are broken."""
    longest = (max(text_width(word) for row in cells for word in row[i].text.split(" ")) for i in range(len(columns)))
    return [
        max(_WRAP_WIDTH_MIN, text_width(column.title), 0 if column.short else min(word, _WORD_MAX))
        for column, word in zip(columns, longest, strict=True)
    ]


def _fitted(columns: Sequence[_Column], widths: list[int], floors: Sequence[int], room: int) -> tuple[list[int], bool]:
    """Return column widths that together take at most `room`, and whether they fit."""
    widths = list(widths)
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - room
    for i, column in enumerate(columns):
        if over > 0 and column.cut:
            given = min(over, max(0, widths[i] - max(_CUT_WIDTH_MIN, text_width(column.title))))
            widths[i] -= given
            over -= given
    while over > 0:
        texts = [
            (column.short, widths[i], i)
            for i, column in enumerate(columns)
            if not column.right and not column.cut and widths[i] > floors[i]
        ]
        # Texts that may be shortened give first, so that the others need no second line.
        left = [(width, i) for short, width, i in texts if short or not any(t[0] for t in texts)]
        if not left:
            return widths, False
        widths[max(left)[1]] -= 1
        over -= 1
    return widths, True


def _row(terminal: Terminal, columns: Sequence[_Column], widths: Sequence[int], row: Sequence[Cell]) -> Iterator[str]:
    """Yield the lines of one row: one, or more if a text is wrapped."""
    parts = [_parts(terminal, column, room, cell.text) for column, room, cell in zip(columns, widths, row, strict=True)]
    for texts in zip_longest(*parts, fillvalue=""):
        drawn = []
        for column, room, cell, text in zip(columns, widths, row, texts, strict=True):
            space = " " * (room - text_width(text))
            styled = terminal.style(text, cell.style)
            drawn.append(space + styled if column.right else styled + space)
        yield _GAP.join(drawn).rstrip()


def _parts(terminal: Terminal, column: _Column, room: int, text: str) -> list[str]:
    if text_width(text) <= room or column.right:
        return [text]
    if column.short:
        kept = next(text[:n] for n in range(len(text), -1, -1) if text_width(text[:n]) < room)
        return [f"{kept.rstrip()}{'…' if terminal.symbols else '~'}"]
    return [_middle_cut(terminal, text, room)] if column.cut else wrap_words(text, room)


def _middle_cut(terminal: Terminal, text: str, room: int) -> str:
    tail = (room - 1) // 2
    return f"{text[: room - 1 - tail]}{'…' if terminal.symbols else '~'}{text[-tail:]}"


def _records(
    terminal: Terminal, columns: Sequence[_Column], rows: Sequence[Sequence[Cell]], *, first: bool
) -> Iterator[str]:
    """Yield each row as several lines, with a title before each value; empty values are omitted."""
    edge = max(text_width(column.title) for column in columns)
    room = max(_CUT_WIDTH_MIN, terminal.width - edge - len(_GAP))
    for row in rows:
        if not first:
            yield ""
        first = False
        for column, cell in zip(columns, row, strict=True):
            title = terminal.style(column.title, "bold")
            if column.cut and text_width(cell.text) > room:  # an id must stay whole to be copied
                yield title
                space = " " * min(len(_GAP), max(0, terminal.width - text_width(cell.text)))
                yield f"{space}{terminal.style(cell.text, cell.style)}"
                continue
            title += " " * (edge - text_width(column.title))
            upright = column._replace(right=False, cut=False, short=False)
            for text in _parts(terminal, upright, room, cell.text) if cell.text else ():
                yield f"{title}{_GAP}{terminal.style(text, cell.style)}"
                title = " " * edge
