"""Read messages again that nothing could read, by today's wordings and the same rules.

What is understood now becomes what it would have become when it came; old messages stay history, and a stranger's stays
a stranger's. The rest is left as it is, so it can be run again at any time.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.naming import MESSAGES, ids_of
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo messages reparse --all-unparsed --dry-run
  momo messages reparse --all-unparsed
  momo messages reparse 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11
"""
VIEW: Final = View(fields=(Field("id"), Field("wording"), Field("kind"), Field("state")))
_AT_ONCE: Final = 50


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo messages reparse`."""

    messages: tuple[str, ...]
    dry_run: bool


def command(
    messages: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Only these messages.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all-unparsed", help="Every message that nothing could read.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("-n", "--dry-run", help="Say what would be read, and change nothing.")
    ] = False,
) -> Call:
    """Read the flags."""
    if bool(messages) == every:
        raise usage("name messages, or give --all-unparsed")
    if messages and len(messages) > _AT_ONCE:
        raise usage(f"at most {_AT_ONCE} messages at once; or give --all-unparsed")
    return Call(run, Options(tuple(messages or ()), dry_run), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Go through them batch by batch."""
    messages = ids_of(client, MESSAGES, options.messages)
    looked_at, read, counts = 0, list[dict[str, Any]](), dict[str, int]()
    after: int | None = 0
    batches = 0
    while after is not None:
        body: dict[str, Any] = {"after": after, "dry_run": options.dry_run}
        if messages:
            body["ids"] = messages
        reply = client.call("POST", Path.LOCAL_REPARSE, body=body)
        data = reply.data
        looked_at += data["looked_at"]
        read += data["read"]
        for state, count in data["counts"].items():
            counts[state] = counts.get(state, 0) + count
        after, batches = data["next"], batches + 1
    found = {
        "looked_at": looked_at,
        "read": read,
        "counts": counts,
        "dry_run": options.dry_run,
        "next": None,
    }
    return Answer(
        # One batch is the daemon's own answer; several are added up.
        document=reply.text if batches == 1 else dumps({"success": True, "data": found}),
        rows=read,
        lines=_lines(found, terminal),
        empty="" if read else f"Looked at {looked_at}; none of them is understood now.",
        next=["momo review list"] if counts.get("held") else [],
    )


def _lines(found: dict[str, Any], terminal: Terminal) -> list[str]:
    if not found["read"]:
        return []
    told = ", ".join(
        f"{count} {clean(state).replace('_', ' ')}" for state, count in found["counts"].items()
    )
    head = f"{len(found['read'])} of {found['looked_at']} are understood now: {told}."
    return [
        terminal.style(head, "green"),
        *(f"  {one['id']}  {one['wording']}" for one in found["read"]),
    ]
