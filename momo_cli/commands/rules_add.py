"""Let an endpoint claim the payments that a rule describes. It still gets what no rule claims, while its catch_all is on.

Conditions are joined by AND: FIELD OP VALUE, with OP one of = != > >= < <= in startswith endswith contains. VALUE of
`in` is a list with commas. What else can be said is said in JSON, with --filter.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.errors import usage
from momo_cli.naming import endpoint_id
from momo_cli.rules import VIEW, read_filter, rule_lines
from momo_cli.terminal import Terminal
from momo_cli.text import warnings_of

EXAMPLES: Final = """\
  momo rules add b91f0c1e-7d2b-4c3d-9e4f-0123456789ab amount '>=' 50
  momo rules add b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --name rents telco.reference_text startswith RENT
  momo rules add b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --filter '{"late": true}'
  momo rules add b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --filter @rents.json
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo rules add`."""

    endpoint: str
    body: dict[str, Any]


def command(
    endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Its id, label or host.")],
    conditions: Annotated[
        list[str] | None, typer.Argument(metavar="[FIELD OP VALUE]...", help="What it claims.")
    ] = None,
    filter_: Annotated[
        str | None, typer.Option("--filter", metavar="JSON|@FILE", help="The same in JSON.")
    ] = None,
    name: Annotated[str, typer.Option(help="A label.")] = "",
    position: Annotated[int | None, typer.Option(min=0, help="Its place; else the last.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Keep it, and let it claim nothing.")] = False,
) -> Call:
    """Read the flags."""
    found = read_filter(filter_, conditions or ())
    if found is None:
        raise usage("say what the rule claims: FIELD OP VALUE, or --filter")
    body: dict[str, Any] = {"filter": found, "enabled": not off}
    if name:
        body["name"] = name
    if position is not None:
        body["position"] = position
    return Call(run, Options(endpoint.strip(), body), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Make the rule."""
    options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    reply = client.call("POST", path_of(Path.RULES, id=options.endpoint), body=options.body)
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=rule_lines(reply.data, terminal),
        notes=warnings_of(reply.body),
        next=[f"momo rules list {options.endpoint}"],
    )
