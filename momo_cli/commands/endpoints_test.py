"""Send made-up data to an address, signed as a real payment, and show what it answers. It counts for nothing.

Exit 6: it did not take it.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, path_of
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo endpoints test b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
  momo endpoints test b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --json
"""
VIEW: Final = View(
    fields=(Field("success"), Field("status_code"), Field("message"), Field("response_body")),
    id="status_code",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo endpoints test`."""

    endpoint: str
    body_max: int


def command(
    endpoint: Annotated[str, typer.Argument(metavar="ID", help="The endpoint.")],
    body_max: Annotated[
        int, typer.Option(min=0, help="Show so many characters of what it says.")
    ] = 2000,
) -> Call:
    """Read the flags."""
    return Call(run, Options(endpoint.strip(), body_max), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Let the daemon send it."""
    reply = client.call("POST", path_of(Path.ENDPOINT_TEST, id=options.endpoint))
    row = reply.body
    good = row.get("success") is True
    mark = terminal.style("✓" if good else "✗", "green" if good else "red")
    told = [f"{mark} {clean(row.get('message'))}"]
    said = clean(row.get("response_body"))[: options.body_max]
    if said:
        told.append(f"  {said}")
    return Answer(
        document=reply.text,
        rows=[row],
        lines=told,
        next=[f"momo endpoints show {options.endpoint}"],
        exit_code=exits.OK if good else exits.FINDINGS,
    )
