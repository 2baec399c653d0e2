"""Send payments to an https address, or to a command or folder here. The signing secret is shown once, here.

With --secret-file the secret goes into that file (which must not exist yet; mode 0600) and is null
in the output.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import system
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, Reply
from momo_cli.render import dumps
from momo_cli.secret_file import secret_file
from momo_cli.terminal import Terminal
from momo_cli.text import clean, warnings_of

EXAMPLES: Final = """\
  momo endpoints add https://shop.example/hook
  momo endpoints add https://shop.example/hook --secret-file hook.secret --quiet
  momo endpoints add https://test.shop.example/hook --sandbox --json
  momo endpoints add exec:/usr/local/bin/book-payment
  momo endpoints add spool:/var/spool/payments
"""
VIEW: Final = View(
    fields=(
        Field("id"),
        Field("url"),
        Field("description"),
        Field("is_active"),
        Field("is_sandbox"),
        Field("created_at"),
        Field("secret"),
    )
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo endpoints add`."""

    body: dict[str, Any]
    secret_file: str | None


def command(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="An https address, exec:/path/command or spool:/folder."
        ),
    ],
    description: Annotated[str | None, typer.Option(help="A label.")] = None,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="Only test payments go there.")
    ] = False,
    secret_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the secret there, not to the output."),
    ] = None,
) -> Call:
    """Read the flags."""
    body: dict[str, Any] = {"url": url}
    if description is not None:
        body["description"] = description
    if sandbox:
        body["is_sandbox"] = True
    return Call(run, Options(body, secret_file), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Make the endpoint; where its secret is to be kept comes first."""
    with secret_file(options.secret_file, "--secret-file") as keep:
        key = system.new_key()
        reply = client.call("POST", Path.ENDPOINTS, body=options.body, idempotency_key=key)
        keep(str(reply.body.get("secret")))
    return _answer(reply, terminal, options.secret_file)


def _answer(reply: Reply, terminal: Terminal, secret_file: str | None) -> Answer:
    row: dict[str, Any] = reply.data
    secret = None if secret_file is not None else reply.body.get("secret")
    document = reply.text
    if secret_file is not None:
        document = dumps({**reply.body, "secret": None})
    lines = [
        f"{terminal.style('✓', 'green')} Payments will be sent to {clean(row.get('url'))}",
        f"  id      {clean(row.get('id'))}",
    ]
    if secret is None:
        lines.append(f"  secret  in {secret_file}" if secret_file else "  secret  not shown again")
    else:
        lines.append(f"  secret  {terminal.style(clean(secret), 'bold')}")
    notes = warnings_of(reply.body)
    if secret is not None:
        notes.append("Keep the secret now: it is not shown again.")
    return Answer(
        document=document,
        rows=[{**row, "secret": secret}],
        lines=lines,
        notes=notes,
        next=["momo endpoints list", "momo deliveries list"],
    )
