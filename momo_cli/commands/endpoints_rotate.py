"""Give an address a new signing secret, shown this once; with --account the one of orders' own addresses.

For 24 hours the old secret signs too, so that the receiver can change over; --expire-previous ends
it at once, for a secret that has leaked. It takes the owner's password; five attempts in 15 minutes.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.secret_file import secret_file as kept_in
from momo_cli.terminal import Terminal
from momo_cli.webhook_secrets import (
    VIEW,
    EndpointId,
    OfAccount,
    PasswordFile,
    SecretFile,
    ask,
    owner,
    shown,
)

EXAMPLES: Final = """\
  momo endpoints rotate b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --secret-file hook.secret
  momo endpoints rotate b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --expire-previous
  momo endpoints rotate --account
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo endpoints rotate`."""

    endpoint: str | None
    leaked: bool
    password_file: str | None
    secret_file: str | None


def command(
    endpoint: EndpointId = None,
    account: OfAccount = False,
    expire_previous: Annotated[
        bool, typer.Option("--expire-previous", help="Old secrets sign no more, from now.")
    ] = False,
    password_file: PasswordFile = None,
    secret_file: SecretFile = None,
) -> Call:
    """Read the flags."""
    whose = owner(endpoint, account=account)
    return Call(run, Options(whose, expire_previous, password_file, secret_file), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Change the secret; where it is to be kept comes first."""
    sent: dict[str, Any] = {"expire_previous": True} if options.leaked else {}
    paths = (Path.ENDPOINT_ROTATE, Path.ACCOUNT_ROTATE)
    with kept_in(options.secret_file, "--secret-file") as keep:
        body = ask(client, terminal, paths, options.endpoint, sent, options.password_file)
        keep(str(body.get("secret")))
    return shown(body, terminal, options.secret_file, "The new secret signs from now on.")
