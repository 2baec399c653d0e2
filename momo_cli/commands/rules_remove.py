"""Take a rule away. What it has claimed stays where it is."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, path_of
from momo_cli.naming import endpoint_id, rule_id
from momo_cli.terminal import Terminal
from momo_cli.text import warnings_of

EXAMPLES: Final = """\
  momo rules remove b91f0c1e-7d2b-4c3d-9e4f-0123456789ab 6d3c0c1e-7d2b-4c3d-9e4f-0123456789ab
  momo rules remove shop.example 1
"""
VIEW: Final = View(fields=(Field("id"), Field("deleted")))


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo rules remove`."""

    endpoint: str
    rule: str


def command(
    endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Its id, label or host.")],
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Its id, name or number.")],
) -> Call:
    """Read the flags."""
    return Call(run, Options(endpoint.strip(), rule.strip()), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Delete the rule."""
    options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    options = replace(options, rule=rule_id(client, options.endpoint, options.rule))
    path = path_of(Path.RULE, id=options.endpoint, rule_id=options.rule)
    reply = client.call("DELETE", path)
    return Answer(
        document=reply.text,
        rows=[{"id": options.rule, "deleted": True}],
        lines=[f"{terminal.style('✓', 'green')} Removed."],
        notes=warnings_of(reply.body),
        next=[f"momo rules list {options.endpoint}"],
    )
