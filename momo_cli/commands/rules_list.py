"""List the rules of an endpoint, in the order in which they are tried. The first that matches claims a payment."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Head, View
from momo_cli.client import Client, path_of
from momo_cli.naming import endpoint_id
from momo_cli.rules import FIELDS
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo rules list b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
"""
VIEW: Final = View(
    fields=FIELDS,
    heads=(
        Head("NO.", lambda row, _: str(row.get("position")), right=True),
        Head("NAME", lambda row, _: clean(row.get("name")) or "—"),
        Head("STATE", lambda row, _: "on" if row.get("enabled") else "off"),
        Head("CLAIMS", lambda row, _: clean(dumps(row.get("filter")))),
        Head("ID", lambda row, _: clean(row.get("id")), cut=True),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo rules list`."""

    endpoint: str


def command(
    endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Its id, label or host.")],
) -> Call:
    """Read the flags."""
    return Call(run, Options(endpoint.strip()), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001 -- every run has this signature
    """Ask for the rules."""
    options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    reply = client.get(path_of(Path.RULES, id=options.endpoint))
    rows = reply.data or []
    add = f"momo rules add {options.endpoint} amount '>=' 50"
    return Answer(
        document=reply.text,
        rows=rows,
        empty="" if rows else "No rules: it gets what no rule claims, if its catch_all is on.",
        next=[] if rows else [add],
    )
