"""Show what the daemon did, also while it does not run. No message, name, number or secret is ever in it.

-f goes on as more comes, also over a restart of the daemon. With --json every line is one JSON document. The log is
momo.log in the shop's log folder: five files of 5 MB at most.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Cell, Field, Head, Row, View
from momo_cli.client import Client
from momo_cli.errors import Failure, usage
from momo_cli.flags import Output
from momo_cli.process import ask
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.times import moment, parse_stamp

EXAMPLES: Final = """\
  momo logs
  momo logs --since 1h --level warning
  momo logs --component modem --lines 50 --json
"""
LEVELS: Final = ("info", "warning", "error")
_STYLES: Final = {"warning": "yellow", "error": "red"}
_OWN: Final = ("type", "ts", "level", "component", "event", "facts")
_AGAIN_S: Final = 0.5
_DOWN_S: Final = 2.0
_FIRST: Final = ("ts", "level", "component", "event")
_LINES_MAX: Final = 10_000


def _facts(row: Row) -> str:
    return "  ".join(f"{name}={clean(value)}" for name, value in row.items() if name not in _OWN)


def _when(row: Row, terminal: Terminal) -> str:
    at_ = parse_stamp(row.get("ts"))
    if at_ is None:
        return clean(row.get("ts"))
    return f"{at_.astimezone(terminal.zone):%d %b %H:%M:%S}"


def _level(row: Row) -> Cell:
    level = clean(row.get("level"))
    return Cell(f"{level:<7}", _STYLES.get(level, "dim"))


VIEW: Final = View(
    fields=tuple(Field(name) for name in ("ts", "level", "component", "event", "facts")),
    heads=(
        Head("WHEN", _when),
        Head("LEVEL", lambda row, _: _level(row)),
        Head("EVENT", lambda row, _: Cell(f"{clean(row.get('event')):<20}", "bold")),
        Head("FACTS", lambda row, _: _facts(row)),
    ),
    id="ts",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo logs`."""

    follow: bool
    since: str | None
    query: dict[str, str]


def command(
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on as more comes.")] = False,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="From then: 1h, today.")] = None,
    level: Annotated[
        str, typer.Option(metavar="info|warning|error", help="This and what is worse.")
    ] = "info",
    component: Annotated[
        str | None, typer.Option(metavar="NAME", help="modem, deliver, ingest, daemon ...")
    ] = None,
    lines: Annotated[int, typer.Option(min=1, max=_LINES_MAX, help="The last so many; 200.")] = 200,
) -> Call:
    """Read the flags."""
    if level not in LEVELS:
        raise usage(f"--level: {level!r} is not one of {', '.join(LEVELS)}")
    query = {"level": level, "lines": str(lines)}
    if component is not None:
        query["component"] = component.strip().lower()
    return Call(run, Options(follow, since, query), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask the daemon, or read the files where none runs."""
    query = dict(options.query)
    if options.since is not None:
        query["since"] = moment(options.since, "--since", terminal.now(), terminal.zone)
    rows, cursor = _read(client, terminal, query)
    if options.follow:
        more = _following(client, terminal, query, rows, cursor)
        return Answer(rows=_shown(terminal, more), stream=True)
    return Answer(
        rows=list(_shown(terminal, rows)),
        empty="" if rows else "The log has nothing of that.",
        stream=True,
    )


def _following(
    client: Client, terminal: Terminal, query: dict[str, str], rows: list[Row], cursor: str
) -> Iterator[Row]:
    while True:
        yield from rows
        client.pause(_AGAIN_S if client.alive() else _DOWN_S)
        rows, cursor = _read(client, terminal, {**query, "after": cursor})


def _read(client: Client, terminal: Terminal, query: dict[str, str]) -> tuple[list[Row], str]:
    body: dict[str, Any] = {}
    if client.alive():
        try:
            body = client.get(Path.LOCAL_LOGS, **query).body
        except Failure as failure:
            if failure.http_status:
                raise
    if not body:  # no daemon, or one that has just gone
        body = ask(terminal, "logs", *(f"--{name}={value}" for name, value in query.items())).body
    return body.get("data") or [], str(at(body, "meta.cursor") or "0:0")


def _shown(terminal: Terminal, rows: Iterable[Row]) -> Iterator[Row]:
    """Add the facts as one text for the forms that have columns; in JSON, begin with what every line has."""
    whole = terminal.output in (Output.JSON, Output.NDJSON)
    for row in rows:
        first = {name: row[name] for name in _FIRST if name in row}
        yield {**first, **row} if whole else {**row, "facts": _facts(row)}
