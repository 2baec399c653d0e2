"""Change an address that payments are sent to. What waits for it goes to the new one."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.endpoints import VIEW, CatchAll, Events, IncludeRaw, put, shown
from momo_cli.errors import usage
from momo_cli.naming import endpoint_id
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo endpoints update b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --url https://shop.example/new
  momo endpoints update b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --no-catch-all
  momo endpoints update b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --event transaction.forwarded
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo endpoints update`."""

    endpoint: str
    body: dict[str, Any]


def command(
    endpoint: Annotated[
        str, typer.Argument(metavar="ID", help="The endpoint: its id, label or host.")
    ],
    url: Annotated[str | None, typer.Option(help="The new https address.")] = None,
    description: Annotated[str | None, typer.Option(help="A label.")] = None,
    catch_all: CatchAll = None,
    include_raw: IncludeRaw = None,
    event: Events = None,
) -> Call:
    """Read the flags."""
    given = {
        "url": url,
        "description": description,
        "catch_all": catch_all,
        "include_raw": include_raw,
        "events": event or None,
    }
    body = {name: value for name, value in given.items() if value is not None}
    if not body:
        raise usage("say what to change, such as --url or --description")
    return Call(run, Options(endpoint.strip(), body), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Change the endpoint."""
    options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    return shown(put(client, options.endpoint, options.body), terminal)
