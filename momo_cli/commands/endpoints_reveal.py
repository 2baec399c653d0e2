"""Show the signing secret of an address, or with --account the one that signs for orders' own addresses.

It takes the owner's password; five attempts in 15 minutes. `-o id` prints only the secret.
"""

from dataclasses import dataclass
from typing import Final

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
  momo endpoints reveal b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
  momo endpoints reveal b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --password-file owner.password -o id
  momo endpoints reveal --account --secret-file account.secret
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo endpoints reveal`."""

    endpoint: str | None
    password_file: str | None
    secret_file: str | None


def command(
    endpoint: EndpointId = None,
    account: OfAccount = False,
    password_file: PasswordFile = None,
    secret_file: SecretFile = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(owner(endpoint, account=account), password_file, secret_file), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the secret."""
    paths = (Path.ENDPOINT_SECRET, Path.ACCOUNT_SECRET)
    with kept_in(options.secret_file, "--secret-file") as keep:
        body = ask(client, terminal, paths, options.endpoint, {}, options.password_file)
        keep(str(body.get("secret")))
    return shown(body, terminal, options.secret_file, "This signs what is sent.")
