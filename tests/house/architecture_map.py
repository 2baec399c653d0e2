"""The map of the packages in docs/contributing/architecture.md: floors from top to bottom, subjects as columns.

`python -m tests.house.architecture_map` (part of `make picture`) writes docs/img/map.svg from the package tree and the
import-linter layers of pyproject.toml.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

from tests.house.markdown import ROOT

PICTURE: Final = ROOT / "docs/img/map.svg"
SUBJECTS: Final = ("payments", "messages", "lines", "webhooks", "access", "books", "branches", "upkeep")
PACKAGES: Final = (("momo_cli", "cli-floors"), ("daemon", "daemon-floors"), ("parsers", "parser-floors"))
LABEL, COLUMN, LINE, PAD = 205, 168, 16, 8
"""Sizes in pixels: the column of names, a subject's column, a line of text, the space around it."""
LETTER: Final = 7.3
"""Width of a letter of the 12 px fixed-width font, rounded up."""
WIDTH: Final = LABEL + COLUMN * len(SUBJECTS)


@dataclass(frozen=True, slots=True)
class Cell:
    """A box of the map.

    Attributes:
        column: First column, from 0.
        columns: Number of columns that it spans.
        lines: Its text, the first line in bold.
    """

    column: int
    columns: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A folder of the map, or the loose modules of a floor."""

    label: str
    cells: tuple[Cell, ...]
    first_of_package: bool = False


def modules(folder: Path) -> list[str]:
    """Return the names of a folder's modules, without those of its subfolders."""
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


def floors(name: str) -> list[list[str]]:
    """Return the layers of an import-linter contract, top to bottom."""
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["id"] == name:
            return [[part.strip(" ()") for part in floor.split("|")] for floor in contract["layers"]]
    raise LookupError(name)


def wide(names: list[str]) -> tuple[str, ...]:
    """Return the names in lines as wide as all columns together."""
    letters, lines = int((len(SUBJECTS) * COLUMN - 2 * PAD) / LETTER), [""]
    for name in names:
        longer = f"{lines[-1]}  {name}".strip()
        if len(longer) > letters:
            lines.append(name)
        else:
            lines[-1] = longer
    return tuple(lines)


def folder_rows(label: str, folder: Path) -> Iterator[Row]:
    """Yield the rows of one folder: its subjects side by side, its own modules, its other folders."""
    inner = {path.parent.name for path in folder.glob("*/*.py")}
    cells = []
    for column, subject in enumerate(SUBJECTS):
        names = modules(folder / subject) if subject in inner else []
        if names:
            cells.append(Cell(column, 1, (str(len(names)), *names)))
    if len(cells) > 1:
        yield Row(label, tuple(cells))
        inner -= set(SUBJECTS)
    own = f"{label}/*.py" if inner or cells else label
    for name, place in [(own, folder), *((f"{label}/{name}", folder / name) for name in sorted(inner))]:
        names = modules(place)
        if names:
            yield Row(f"{name} · {len(names)}", (Cell(0, len(SUBJECTS), wide(names)),))


def rows() -> list[Row]:
    """Return the rows of the whole map, top to bottom; adjacent floors of loose modules share one."""
    found: list[Row] = []
    for package, contract in PACKAGES:
        folder, first, loose = ROOT / package, True, list[str]()
        for floor in [*floors(contract), []]:
            alone = [name for name in floor if (folder / f"{name}.py").is_file()]
            if alone:
                loose.append("  ".join(alone))
            made = [row for name in floor if (folder / name).is_dir() for row in folder_rows(name, folder / name)]
            if loose and (made or not floor):
                made.insert(0, Row("*.py", (Cell(0, len(SUBJECTS), tuple(loose)),)))
                loose = []
            for row in made:
                found.append(Row(f"{package}/{row.label}", row.cells, first))
                first = False
    return found


def svg() -> str:
    """Return the map as an SVG with its own background, for light and dark viewers."""
    parts, top = [], 3 * LINE
    for column, subject in enumerate(SUBJECTS):
        parts.append(_text(LABEL + column * COLUMN + PAD, 2 * LINE, subject, "head"))
    for row in rows():
        if row.first_of_package:
            top += PAD
            parts.append(f'<line x1="0" x2="{WIDTH}" y1="{top}" y2="{top}" class="edge"/>')
            top += PAD
        parts.append(_text(PAD, top + LINE, row.label, "head"))
        height = max(len(cell.lines) for cell in row.cells) * LINE + PAD
        for cell in row.cells:
            left, width = LABEL + cell.column * COLUMN, cell.columns * COLUMN
            box = f'x="{left + 2}" y="{top + 2}" width="{width - 4}" height="{height - 4}"'
            parts.append(f'<rect {box} rx="4" class="box"/>')
            for number, line in enumerate(cell.lines):
                kind = "count" if not number and cell.lines[0][:1].isdigit() else "name"
                parts.append(_text(left + PAD, top + (number + 1) * LINE, line, kind))
        top += height
    height = top + LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">\n'
        "<title>The packages of momo: floors from top to bottom, subjects as columns</title>\n"
        "<style>text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; }\n"
        ".head { font-weight: bold; }\n"
        ".count { font-weight: bold; fill: #0550ae; } .box { fill: #f2f5f9; stroke: #c4ccd6; }\n"
        ".edge { stroke: #59636e; stroke-width: 2; }</style>\n"
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text x="{x}" y="{y}" class="{kind}" xml:space="preserve">{escape(words)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(svg())
