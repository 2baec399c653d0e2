"""Give up an address for good. What is still owed to it becomes dead letters; its log stays.

Type the address's host to confirm, or give it with --confirm, or say --yes. Exit 10: you did not.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Final
from urllib.parse import urlsplit

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, path_of
from momo_cli.naming import endpoint_id
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo endpoints delete b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
  momo endpoints delete b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --confirm shop.example
"""
VIEW: Final = View(fields=(Field("id"), Field("deleted"), Field("undelivered")))


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo endpoints delete`."""

    endpoint: str
    confirm: str | None


def command(
    endpoint: Annotated[
        str, typer.Argument(metavar="ID", help="The endpoint: its id, label or host.")
    ],
    confirm: Annotated[
        str | None, typer.Option(metavar="HOST", help="The host of its address.")
    ] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(endpoint.strip(), confirm), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Confirm and delete."""
    options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    path = path_of(Path.ENDPOINT, id=options.endpoint)
    if not terminal.flags.yes:
        seen = client.get(path)
        url = str(seen.data.get("url"))
        # A command or folder has no host: its whole address is typed.
        address = urlsplit(url)
        host = address.hostname or url
        typed = options.confirm
        if typed is None:
            typed = terminal.ask(f"Type {clean(host)} to delete it: ", "--confirm")
        # With its port too, as the list names it.
        if not {host, address.netloc or url} & {typed.strip(), typed.strip().lower()}:
            return Answer(
                document=seen.text,
                rows=[{"id": options.endpoint, "deleted": False, "undelivered": None}],
                lines=["Nothing was deleted."],
                notes=[f"Its host is {clean(host)}, not {clean(typed)}."],
                exit_code=exits.CANCELLED,
            )
    reply = client.call("DELETE", path)
    undelivered = reply.body.get("undelivered") or 0
    lost = {0: "", 1: " 1 delivery never arrived."}
    told = lost.get(undelivered, f" {undelivered} deliveries never arrived.")
    lines = [f"{terminal.style('✓', 'green')} Deleted.{told}"]
    hint = reply.body.get("hint")
    return Answer(
        document=reply.text,
        rows=[{"id": options.endpoint, "deleted": True, "undelivered": undelivered}],
        lines=lines,
        notes=[clean(hint)] if hint else (),
        next=["momo endpoints list"],
    )
