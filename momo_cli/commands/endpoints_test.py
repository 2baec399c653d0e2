"""Send made-up data to an address, signed as a real payment, and show what it answers. It counts for nothing.

Exit 6: it did not take it.
"""

import re
from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, path_of
from momo_cli.errors import usage
from momo_cli.naming import endpoint_id
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


_SIZE: Final = re.compile(r"([0-9]{1,6})(k?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo endpoints test`."""

    endpoint: str
    body_max: int


def command(
    endpoint: Annotated[
        str, typer.Argument(metavar="ID", help="The endpoint: its id, label or host.")
    ],
    body_max: Annotated[
        str,
        typer.Option(metavar="N", help="Show so many characters of what it says: 200, 2k."),
    ] = "2k",
) -> Call:
    """Read the flags."""
    found = _SIZE.fullmatch(body_max)
    if found is None:
        raise usage(f"--body-max: {body_max!r} is not a number of characters; write 200 or 2k")
    return Call(run, Options(endpoint.strip(), int(found[1]) * (1000 if found[2] else 1)), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Let the daemon send it."""
    options = replace(options, endpoint=endpoint_id(client, options.endpoint))
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
