"""Say what starting this version of momo would do to the shop: nothing, a change of the database, or a refusal.

Changes nothing. A database that is changed is copied before, by the daemon that changes it. Exit 6 when this version
would not start on it, or there is no room for that copy.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from daemon.wire import ErrorCode, Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.process import ask
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.values import dumps
from momo_cli.words import size, uptime

EXAMPLES: Final = """\
  momo upgrade-check
  momo upgrade-check --get data.state
"""
VIEW: Final = View(
    fields=tuple(Field(name) for name in ("state", "schema", "program_schema", "room", "restart")),
    id="state",
)
_SAID: Final = {
    "current": ("✓", "green", "The database is as this momo knows it; nothing will change."),
    "migrates": ("✓", "green", "The database will be changed at the next start:"),
    "newer": ("✗", "red", "The database was written by a newer momo; this one will not start."),
    "damaged": ("✗", "red", "The database is damaged; no momo will start on it."),
}


@dataclass(frozen=True, slots=True)
class Options:
    """`momo upgrade-check` has no flags of its own."""


def command() -> Call:
    """Read the flags."""
    return Call(run, Options(), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Have the daemon's program look at the database, and ask the daemon which version it is."""
    if not os.path.exists(terminal.located.places.database):  # noqa: PTH110  # no pathlib needed
        raise Failure(ErrorCode.NOT_SET_UP)
    row: dict[str, Any] = dict(ask(terminal, "upgrade-check").body["data"])
    runs = _running(client)
    row["daemon"] = runs
    row["restart"] = runs is not None and runs != row.get("version")
    bad = row.get("state") in ("newer", "damaged") or row.get("room") is False
    restart = row["restart"] and not bad
    following = {"newer": "momo version", "damaged": "momo restore --help"}.get(row["state"], "")
    return Answer(
        document=dumps({"success": True, "data": row}),
        rows=[row],
        lines=list(_lines(terminal, row)),
        next=[following] if following else ["momo daemon restart"] if restart else [],
        exit_code=exits.FINDINGS if bad else exits.OK,
    )


def _lines(terminal: Terminal, row: dict[str, Any]) -> Iterator[str]:
    mark, style, said = _SAID.get(str(row.get("state")), ("?", "", str(row.get("state"))))
    yield f"{terminal.style(mark, style)} {said}"
    if row.get("why"):
        yield f"    {clean(row['why'])}"
    for step in row.get("steps") or ():
        yield f"    {clean(step)}"
    if row.get("steps"):
        yield "  A copy is made before."
    yield f"  schema    {row.get('schema')} (this momo: {row.get('program_schema')})"
    if row.get("bytes") is not None:
        mark = "" if row.get("room") else terminal.style("  ! too little for a copy", "yellow")
        yield f"  size      {size(row['bytes'])}, {size(row['free_bytes'])} free{mark}"
    age = at(row, "latest_backup.age_s")
    yield f"  backup    {'none yet: momo backup create' if age is None else uptime(age) + ' old'}"
    if row["restart"]:
        yield f"{terminal.style('!', 'yellow')} The daemon that runs is {clean(row['daemon'])}."


def _running(client: Client) -> str | None:
    """Return the version of the daemon that runs, None when none does."""
    if not client.alive():
        return None
    try:
        return clean(at(client.get(Path.LOCAL_STATUS).data, "version"))
    except Failure:
        return None
