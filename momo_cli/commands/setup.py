"""Set up this machine: the shop, its password, and the first keys. Can be run again at any time.

On a terminal it asks for what is missing. Keys and secrets are shown once. Exit 6 with --check
when a step still needs you.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import system
from momo_cli.answer import Answer, Call, Cell, Field, Row, View
from momo_cli.client import Client
from momo_cli.errors import Failure, usage
from momo_cli.passwords import STDIN, new_password, password_in
from momo_cli.process import Done, ask
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import phone, styled

EXAMPLES: Final = """\
  momo setup
  momo setup --no-input --shop "Ama Provisions" --password-file pw.txt --json
  momo setup --check
"""
VIEW: Final = View(
    fields=(Field("id"), Field("status"), Field("detail"), Field("fix")),
)
_FIRST: Final = "momo init 1.00 --phone NUMBER"
_MARKS: Final = {
    "done": Cell("✓", "green"),
    "skipped": Cell("—", "dim"),
    "needs_action": Cell("!", "yellow"),
    "failed": Cell("✗", "red"),
}


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo setup`."""

    shop: str | None
    tz: str | None
    owner_email: str | None
    password_file: str | None
    methods: tuple[dict[str, str], ...]
    check: bool


def command(
    shop: Annotated[str | None, typer.Option(metavar="NAME", help="The shop's name.")] = None,
    tz: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="The shop's time zone; Africa/Accra."),
    ] = None,
    owner_email: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Where notices go.")
    ] = None,
    password_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The owner's password, 10 characters or more; - = stdin.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(metavar="NET:PHONE:NAME", help="A number that takes money; may be repeated."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Change nothing; say what is missing (exit 6)."),
    ] = False,
) -> Call:
    """Read the flags."""
    methods = tuple(_method(text) for text in method or ())
    return Call(run, Options(shop, tz, owner_email, password_file, methods, check), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for what is missing, let the daemon's program do it, and show each step."""
    known = os.path.exists(terminal.located.places.database)  # noqa: PTH110  # no pathlib needed
    asked = not known and not options.check
    shop = options.shop or (_ask_shop(terminal) if asked else None)
    password = None
    if options.password_file == STDIN or (asked and options.password_file is None):
        password = new_password(terminal, options.password_file)
    runs = client.alive()
    if runs:
        done = _through_daemon(client, options, shop, password)
    else:
        done = ask(terminal, "setup", *_flags(options, shop, password), stdin=password)
    added = _add_methods(client, terminal, options)
    todo = [*([] if runs else ["momo daemon start"]), *added, _FIRST]
    return _answer(terminal, done, ["momo setup"] if options.check else todo)


def _ask_shop(terminal: Terminal) -> str:
    while True:
        name = terminal.ask("What is the shop's name? ", "--shop NAME")
        if name:
            return name


def _flags(options: Options, shop: str | None, password: str | None) -> list[str]:
    flags = ["--no-input", "--json"]
    if shop is not None:
        flags.append(f"--shop={shop}")
    if options.tz is not None:
        flags.append(f"--tz={options.tz}")
    if options.owner_email is not None:
        flags.append(f"--owner-email={options.owner_email}")
    if password is not None:
        flags.append("--password-file=-")
    elif options.password_file is not None:
        flags.append(f"--password-file={options.password_file}")
    if options.check:
        flags.append("--check")
    return flags


def _through_daemon(
    client: Client, options: Options, shop: str | None, password: str | None
) -> Done:
    if password is None and options.password_file is not None:
        password = password_in(options.password_file)
    said = {"shop": shop, "tz": options.tz, "owner_email": options.owner_email}
    said["password"] = password
    body: dict[str, Any] = {key: value for key, value in said.items() if value is not None}
    if options.check:
        body["check"] = True
    reply = client.call("POST", Path.LOCAL_SETUP, body=body)
    needs = any(step.get("status") == "needs_action" for step in at(reply.body, "data.steps") or ())
    return Done(6 if options.check and needs else 0, reply.text, reply.body)


def _method(text: str) -> dict[str, str]:
    network, _, rest = text.partition(":")
    number, _, name = rest.partition(":")
    if not (network and number and name):
        raise usage(f"--method: {text!r} is not NET:PHONE:NAME, such as mtn:0244124567:Ama")
    provider = network if network.startswith("momo_") else f"momo_{network.lower()}"
    return {"provider": provider, "phone_number": number, "account_name": name}


def _add_methods(client: Client, terminal: Terminal, options: Options) -> list[str]:
    """Register the numbers; a number that is there already is left alone. Returns what to type."""
    todo = []
    for body in () if options.check else options.methods:
        if not client.alive():
            todo.append(
                f"momo methods add --provider {body['provider']} --phone {body['phone_number']} "
                f'--name "{body["account_name"]}"'
            )
            continue
        try:
            client.call(
                "POST",
                Path.PAYMENT_METHODS,
                body=body,
                idempotency_key=system.new_key(),
            )
        except Failure as failure:
            if failure.code != "PAYMENT_METHOD_EXISTS":
                raise
        else:
            terminal.note(f"✓ Registered {phone(body['phone_number'])}")
    return todo


def _answer(terminal: Terminal, done: Done, todo: Sequence[str]) -> Answer:
    data: dict[str, Any] = done.body.get("data") or {}
    steps: list[Row] = data.get("steps") or []
    return Answer(
        document=done.text,
        rows=steps,
        lines=_lines(terminal, data, steps),
        next=todo,
        exit_code=done.exit_code,
    )


def _lines(terminal: Terminal, data: dict[str, Any], steps: list[Row]) -> list[str]:
    found = []
    for step in steps:
        mark = styled(_MARKS.get(str(step.get("status")), Cell("?")), terminal)
        found.append(f"{mark} {clean(step.get('detail') or step.get('id'))}")
        if step.get("fix"):
            found.append(f"    {clean(step['fix'])}")
    secrets = [
        (title, data[name])
        for title, name in (
            ("API key", "api_key"),
            ("test API key", "test_api_key"),
            ("webhook secret", "webhook_secret"),
        )
        if data.get(name)
    ]
    if secrets:
        found += ["", "Shown this once; keep them somewhere safe:"]
        found += [f"  {title:<15} {terminal.style(clean(v), 'bold')}" for title, v in secrets]
    return found
