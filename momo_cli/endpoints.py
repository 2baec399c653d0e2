"""What the commands about endpoints share: the fields, the lines, and changing one."""

from typing import Annotated, Any, Final

import typer

from daemon.wire import EventKind, Path
from momo_cli.answer import Answer, Cell, Field, Row, View
from momo_cli.client import Client, Reply, path_of
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean, warnings_of
from momo_cli.values import with_status
from momo_cli.words import ago

FIELDS: Final = tuple(
    Field(name)
    for name in (
        "id",
        "url",
        "description",
        "is_active",
        "is_sandbox",
        "auto_paused_at",
        "last_success_at",
        "last_failure_at",
        "consecutive_failures",
        "created_at",
        "updated_at",
    )
)
VIEW: Final = View(fields=FIELDS)
"""Of one endpoint: it has lines for people instead of a table."""
STATE_VIEW: Final = View(fields=(*FIELDS, Field("status")))
"""Of one that was paused or resumed; `status` says whether it was so already."""


CatchAll = Annotated[bool | None, typer.Option(help="Take every payment that no rule claims.")]
IncludeRaw = Annotated[bool | None, typer.Option(help="Send the SMS's text too.")]
Events = Annotated[
    list[str] | None,
    typer.Option(
        "--event",
        metavar="KIND",
        help=f"A kind of event that is sent, instead of {EventKind.FORWARDED} alone; give it for each.",
    ),
]


def state_cell(row: Row) -> Cell:
    """Say how an endpoint is."""
    if row.get("auto_paused_at"):
        return Cell("✗ auto-paused", "red")
    if not row.get("is_active"):
        return Cell("! paused", "yellow")
    return Cell("✓ sandbox" if row.get("is_sandbox") else "✓ active", "green")


def put(client: Client, endpoint: str, body: dict[str, Any]) -> Reply:
    """Change an endpoint."""
    return client.call("PUT", path_of(Path.ENDPOINT, id=endpoint), body=body)


def shown(reply: Reply, terminal: Terminal, *said: str, status: str = "") -> Answer:
    """Answer with one endpoint; `said` stands above it, and `status` is the word of a pause or resume."""
    row: Row = {**reply.data, "status": status} if status else reply.data
    cell = state_cell(row)
    lines = [
        *said,
        f"{terminal.style(cell.text, cell.style)}  {clean(row.get('url'))}",
        f"  id       {clean(row.get('id'))}",
        f"  label    {clean(row.get('description')) or '—'}",
        f"  last ok  {ago(row.get('last_success_at'), terminal) or '—'}",
        f"  fails    {row.get('consecutive_failures') or 0} in a row",
        *_last_error(reply, terminal),
    ]
    notes = warnings_of(reply.body)
    next_ = [f"momo deliveries list --endpoint {clean(row.get('id'))}"]
    if not row.get("is_active"):
        next_.append(f"momo endpoints resume {clean(row.get('id'))}")
    document = with_status(reply.body, status) if status else reply.text
    return Answer(document=document, rows=[row], lines=lines, notes=notes, next=next_)


def _last_error(reply: Reply, terminal: Terminal) -> list[str]:
    """Say what it answered when it failed last, and what mends it."""
    failed = at(reply.body, "meta.last_error")
    if not isinstance(failed, dict):
        return []
    code = failed.get("response_status_code")
    answer = clean(code if code is not None else at(failed, "error.code"))
    return [
        f"  last bad {ago(failed.get('at'), terminal)}: {answer}",
        f"           {clean(failed.get('diagnosis'))}",
    ]
