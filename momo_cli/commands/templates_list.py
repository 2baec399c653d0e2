"""List your own wordings by file, what is wrong with a file, and which of momo's own wait for a genuine message."""

from dataclasses import dataclass
from typing import Any, Final

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo templates list
"""
VIEW: Final = View(
    fields=(
        Field("file"), Field("name"), Field("network"), Field("kind"), Field("confirmed"), Field("line"), Field("why"), Field("todo"),
    ),
    id="name",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Options:
    """`momo templates list` has no flags of its own."""


def command() -> Call:
    """Read the flags."""
    return Call(run, Options(), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Ask for them."""
    reply = client.get(Path.LOCAL_TEMPLATES)
    data: dict[str, Any] = reply.data or {}
    rows: list[dict[str, Any]] = []
    for file in data.get("files") or ():
        rows += [_row(clean(file["file"]), one) for one in file["wordings"]]
        rows += [{"file": file["file"], **problem} for problem in file["problems"]]
    own = len(rows)
    rows += [_row("(momo)", one) for one in data.get("unverified") or ()]
    return Answer(
        document=reply.text,
        rows=rows,
        lines=[_line(row, terminal) for row in rows],
        notes=[] if own else [f"No wording of your own in {clean(data.get('folder'))}."],
    )


def _row(file: str, one: dict[str, Any]) -> dict[str, Any]:
    senders = ", ".join(clean(by["sender"]) for by in one["confirmed"])
    return {
        "file": file,
        "name": one["name"],
        "network": one["network"],
        "kind": one["kind"],
        "confirmed": senders,
    }


def _line(row: dict[str, Any], terminal: Terminal) -> str:
    if row.get("why"):
        mark = terminal.style("✗", "red")
        return (
            f"{mark} {clean(row['file'])}:{row['line']}  {clean(row['why'])}; {clean(row['todo'])}"
        )
    proven = (
        f"confirmed from {row['confirmed']}" if row["confirmed"] else "waits for a genuine message"
    )
    mark = terminal.style("✓", "green") if row["confirmed"] else terminal.style("…", "dim")
    return f"{mark} {row['file']}  {row['network']} {clean(row['name'])}  {row['kind']}  {proven}"
