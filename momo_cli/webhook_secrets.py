"""What `endpoints reveal` and `endpoints rotate` share: whose secret, the password, and showing it."""

from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Field, View
from momo_cli.client import Client, path_of
from momo_cli.errors import usage
from momo_cli.naming import endpoint_id
from momo_cli.passwords import owners_password
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps
from momo_cli.words import clock

EndpointId = Annotated[
    str | None, typer.Argument(metavar="[ID]", help="The endpoint: its id, label or host.")
]
OfAccount = Annotated[
    bool, typer.Option("--account", help="The account's, for orders' own addresses.")
]
PasswordFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="The owner's password; - = stdin.")
]
SecretFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write the secret there, not here.")
]
VIEW: Final = View(fields=(Field("secret"), Field("previous_secret_expires_at")), id="secret")


def owner(endpoint: str | None, *, account: bool) -> str | None:
    """Return the endpoint whose secret is meant; None is the account's.

    Raises:
        Failure: USAGE, when it is neither or both.
    """
    if (endpoint is not None) == account:
        raise usage("name the endpoint, or say --account for the account's own webhook secret")
    return None if endpoint is None else endpoint.strip()


def ask(
    client: Client,
    terminal: Terminal,
    paths: tuple[Path, Path],
    endpoint: str | None,
    body: dict[str, Any],
    password_file: str | None,
) -> dict[str, Any]:
    """Ask for the password and call; `paths` are the endpoint's and the account's.

    Raises:
        Failure: What the daemon refuses; a wrong password with the attempts that are left.
    """
    path: str = paths[1]
    if endpoint is not None:
        path = path_of(paths[0], id=endpoint_id(client, endpoint))
    body = {**body, "password": owners_password(terminal, password_file)}
    return client.call("POST", path, body=body).body


def shown(body: dict[str, Any], terminal: Terminal, secret_file: str | None, said: str) -> Answer:
    """Answer with the secret, or with where it was written."""
    secret = None if secret_file is not None else body.get("secret")
    until = body.get("previous_secret_expires_at")
    where = f"in {secret_file}" if secret is None else terminal.style(clean(secret), "bold")
    told = [f"{terminal.style('✓', 'green')} {said}", f"  secret  {where}"]
    notes = []
    if until:
        notes.append(
            f"The old signature is also sent until {clock(until, terminal)} (X-Svc-Signature-Previous)."
        )
    return Answer(
        document=dumps({**body, "secret": secret}),
        rows=[{"secret": secret, "previous_secret_expires_at": until}],
        lines=told,
        notes=notes,
    )
