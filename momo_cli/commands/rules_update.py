"""Change a rule. What it has claimed stays where it is; payments to come are claimed by what it says now."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.errors import usage
from momo_cli.naming import endpoint_id, rule_id
from momo_cli.rules import VIEW, read_filter, rule_lines
from momo_cli.terminal import Terminal
from momo_cli.text import warnings_of

EXAMPLES: Final = """\
  momo rules update b91f0c1e-7d2b-4c3d-9e4f-0123456789ab 6d3c0c1e-7d2b-4c3d-9e4f-0123456789ab --no-enabled
  momo rules update b91f0c1e-7d2b-4c3d-9e4f-0123456789ab 6d3c0c1e-7d2b-4c3d-9e4f-0123456789ab amount '>=' 100
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo rules update`."""

    endpoint: str
    rule: str
    body: dict[str, Any]


def command(  # noqa: PLR0913, PLR0917 -- each is a flag
    endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Its id, label or host.")],
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Its id, name or number.")],
    conditions: Annotated[
        list[str] | None, typer.Argument(metavar="[FIELD OP VALUE]...", help="What it claims.")
    ] = None,
    filter_: Annotated[
        str | None, typer.Option("--filter", metavar="JSON|@FILE", help="The same in JSON.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="A label.")] = None,
    position: Annotated[int | None, typer.Option(min=0, help="Its place.")] = None,
    enabled: Annotated[bool | None, typer.Option(help="Whether it claims at all.")] = None,
) -> Call:
    """Read the flags."""
    given = {
        "filter": read_filter(filter_, conditions or ()),
        "name": name,
        "position": position,
        "enabled": enabled,
    }
    body = {key: value for key, value in given.items() if value is not None}
    if not body:
        raise usage("say what to change: FIELD OP VALUE, --filter, --name, --position, --enabled")
    return Call(run, Options(endpoint.strip(), rule.strip(), body), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Change the rule."""
    options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    options = replace(options, rule=rule_id(client, options.endpoint, options.rule))
    path = path_of(Path.RULE, id=options.endpoint, rule_id=options.rule)
    reply = client.call("PUT", path, body=options.body)
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=rule_lines(reply.data, terminal),
        notes=warnings_of(reply.body),
        next=[f"momo rules list {options.endpoint}"],
    )
