"""Make an API key. It is shown once, here.

Without --scope it may do all that a key may do. With --key-file it goes into that file (which must not
exist yet; mode 0600) and is null in the output.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import keys
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.secret_file import secret_file
from momo_cli.terminal import Terminal
from momo_cli.text import clean, warnings_of
from momo_cli.times import duration_s
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo keys create --name "web shop" --scope transactions:write --scope transactions:read
  momo keys create --name till --test --expires 90d
  momo keys create --name "shop page" --publishable --key-file shop.key --quiet
"""
VIEW: Final = View(fields=(*keys.FIELDS, Field("key")))
_DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo keys create`."""

    body: dict[str, Any]
    key_file: str | None


def command(
    name: Annotated[str, typer.Option(help="What it is for; you will see it in the list.")],
    scope: Annotated[
        list[str] | None, typer.Option(metavar="SCOPE", help="What it may do; may be repeated.")
    ] = None,
    test: Annotated[bool, typer.Option("--test", help="A key of the sandbox.")] = False,
    publishable: Annotated[
        bool, typer.Option("--publishable", help="For a web page: may only ask for money.")
    ] = False,
    expires: Annotated[
        str | None, typer.Option(metavar="DAYS", help="It ends by itself, such as 90d.")
    ] = None,
    key_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the key there, not to the output.")
    ] = None,
) -> Call:
    """Read the flags."""
    body: dict[str, Any] = {"name": name}
    if scope:
        body["scopes"] = scope
    if test:
        body["mode"] = "test"
    if publishable:
        body["kind"] = "publishable"
    if expires is not None:
        days, rest = divmod(duration_s(expires, "--expires"), _DAY_S)
        if rest or days < 1:
            raise usage("--expires: whole days, such as 90d")
        body["expires_in_days"] = int(days)
    return Call(run, Options(body, key_file), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Make the key; where it is to be kept comes first."""
    with secret_file(options.key_file, "--key-file") as keep:
        reply = client.call("POST", Path.KEYS, body=options.body)
        keep(str(reply.body.get("key")))
    row = {**reply.data, "key": None if options.key_file else reply.body.get("key")}
    shown = terminal.style(clean(row["key"]), "bold") if row["key"] else f"in {options.key_file}"
    return Answer(
        document=dumps({**reply.body, "key": None}) if options.key_file else reply.text,
        rows=[row],
        lines=[
            f"{terminal.style('✓', 'green')} Made a {row['mode']} key: {keys.may(row)}",
            f"  key  {shown}",
            f"  id   {clean(row['id'])}",
        ],
        notes=[
            *warnings_of(reply.body),
            *(["Keep the key now: it is not shown again."] if row["key"] else []),
        ],
        next=["momo keys list"],
    )
