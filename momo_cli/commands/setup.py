"""Set up this machine: the shop, its password and keys, the phone, its SIM and number, a first payment, and backups.

On a terminal it asks for what is missing, skips what is done, and asks nothing twice; stop it at any time and run it
again. Without one it does what the flags (or --from FILE.toml) say. Keys and secrets are shown once; in a pipe as
rows api_key, test_api_key and webhook_secret. Exit 6 when a step that was asked for still needs you, and with --check
when anything does.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits, system
from momo_cli import setup_answer as shown
from momo_cli.answer import Answer, Call, Field, Row, View
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.passwords import STDIN, new_password, password_in
from momo_cli.process import Done, ask
from momo_cli.setup_step import Setup
from momo_cli.setup_wishes import Wishes, read_file, wishes_of
from momo_cli.terminal import Terminal
from momo_cli.text import at
from momo_cli.values import dumps
from momo_cli.wizard import TOTAL, Wizard
from momo_cli.words import phone

EXAMPLES: Final = """\
  momo setup
  momo setup --no-input --shop "Ama Provisions" --password-file pw.txt --json
  momo setup --check
  momo setup --from shop.toml --no-input --service user
"""
VIEW: Final = View(fields=(Field("id"), Field("status"), Field("detail"), Field("fix")))
_FIRST: Final = "momo init 1.00 --phone NUMBER"
_WELCOME: Final = """\
Welcome to momo. A few questions, about five minutes.
Ctrl-C stops at any time; momo setup goes on from there.
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo setup`."""

    shop: str | None
    tz: str | None
    owner_email: str | None
    password_file: str | None
    wishes: Wishes
    check: bool


_Tz = Annotated[
    str | None,
    typer.Option(metavar="ZONE", help="The shop's time zone; Africa/Accra."),
]
_OwnerEmail = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Where notices go.")]
_PasswordFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The owner's password, 10 characters or more; - = stdin.",
    ),
]
_Method = Annotated[
    list[str] | None,
    typer.Option(metavar="NET:PHONE:NAME", help="A number that takes money; may be repeated."),
]
_Sim = Annotated[
    list[str] | None,
    typer.Option(metavar="DEVICE:SLOT=PHONE", help="The SIM of such a number; the same."),
]
_Http = Annotated[
    str | None, typer.Option(metavar="loopback|lan|off", help="Who may call the API.")
]
_PublicUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="Where customers see the checkout page.")
]
_Endpoint = Annotated[str | None, typer.Option(metavar="URL", help="Who is told of each payment.")]
_Service = Annotated[
    str | None, typer.Option(metavar="user|system|none", help="Start with the machine.")
]
_KeepAwake = Annotated[
    str | None,
    typer.Option(metavar="off|plugged|always", help="Whether the machine may sleep."),
]
_Practice = Annotated[
    bool | None, typer.Option("--practice/--no-practice", help="Make a practice payment.")
]
_FirstPayment = Annotated[
    bool | None,
    typer.Option("--first-payment/--no-first-payment", help="Wait for a real one of GHS 0.10."),
]
_PinFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="The PIN of the one SIM that asks for it.")
]
_BackupTo = Annotated[
    str | None, typer.Option(metavar="FOLDER", help="Where each backup goes too: a stick.")
]
_Modem = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH",
        help="A modem's tty, where it is not found by itself; kept in [modems] ports.",
    ),
]
_Source = Annotated[
    str | None,
    typer.Option("--from", metavar="FILE.toml", help="These flags as a file; flags win."),
]
_Check = Annotated[
    bool,
    typer.Option("--check", help="Change nothing; say what is missing (exit 6)."),
]
_Again = Annotated[bool, typer.Option("--again", help="Ask again what you put off before.")]


def command(  # noqa: PLR0913, PLR0917  # one argument per flag
    shop: Annotated[str | None, typer.Option(metavar="NAME", help="The shop's name.")] = None,
    tz: _Tz = None,
    owner_email: _OwnerEmail = None,
    password_file: _PasswordFile = None,
    method: _Method = None,
    sim: _Sim = None,
    http: _Http = None,
    public_url: _PublicUrl = None,
    endpoint: _Endpoint = None,
    service: _Service = None,
    keep_awake: _KeepAwake = None,
    practice: _Practice = None,
    first_payment: _FirstPayment = None,
    pin_file: _PinFile = None,
    backup_to: _BackupTo = None,
    modem: _Modem = None,
    source: _Source = None,
    check: _Check = False,
    again: _Again = False,
) -> Call:
    """Read the flags, and the file that stands for those that are not given."""
    said: dict[str, Any] = read_file(source) if source is not None else {}
    flags = {
        "shop": shop, "tz": tz, "owner_email": owner_email, "password_file": password_file,
        "methods": method, "sims": sim, "http": http, "public_url": public_url,
        "endpoint": endpoint, "service": service, "keep_awake": keep_awake,
        "practice": practice, "first_payment": first_payment, "pin_file": pin_file,
        "backup_to": backup_to,
    }  # fmt: skip
    said |= {name: value for name, value in flags.items() if value is not None}
    wishes = wishes_of(said, tuple(modem or ()), again=again)
    options = Options(
        shop=said.get("shop"),
        tz=said.get("tz"),
        owner_email=said.get("owner_email"),
        password_file=said.get("password_file"),
        wishes=wishes,
        check=check,
    )
    return Call(run, options, VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for what is missing, let the daemon's program do it, and go on to the first payment."""
    known = os.path.exists(terminal.located.places.database)  # noqa: PTH110  # no pathlib needed
    asked = not known and not options.check
    guided = terminal.human and terminal.can_ask() and not options.check
    if guided:
        title = terminal.style(f"\n1 of {TOTAL}  Your shop", "bold", message=True)
        terminal.note(_WELCOME + title)
    shop = options.shop or (_ask_shop(terminal) if asked else None)
    password = None
    if options.password_file == STDIN or (asked and options.password_file is None):
        password = new_password(terminal, options.password_file)
    runs = client.alive()
    if runs:
        done = _through_daemon(client, options, shop, password)
    else:
        done = ask(terminal, "setup", *_flags(options, shop, password), stdin=password)
    if guided or options.check or options.wishes.any:
        setup = Setup(client, terminal, options.wishes, asks=guided, looks=options.check)
        return _gone_on(terminal, done, Wizard(setup))
    added = _add_methods(client, terminal, options)
    return _answer(terminal, done, [*([] if runs else ["momo daemon start"]), *added, _FIRST])


def _gone_on(terminal: Terminal, done: Done, wizard: Wizard) -> Answer:
    """Go through the other steps, and answer with all of them; the secrets come last, to be kept."""
    data: dict[str, Any] = dict(done.body.get("data") or {})
    # Of the phone the steps to come know more.
    first = [step for step in data.get("steps") or () if step.get("id") != "modem"]
    for step in first if wizard.setup.asks else ():
        wizard.tell(step)
    try:
        wizard.run()
    except KeyboardInterrupt:
        # What is shown this once was made before: it must be shown now too.
        lines = [*shown.secrets(terminal, data), "", "Stopped; momo setup goes on from here."]
        rows = shown.rows(data, [*first, *wizard.steps])
        return Answer(document=done.text, rows=rows, lines=lines, exit_code=exits.INTERRUPTED)
    steps = [*first, *wizard.steps]
    data["steps"] = steps
    bad = [step for step in steps if step["status"] in ("needs_action", "failed")]
    lines = shown.secrets(terminal, data)
    if not wizard.setup.asks:
        lines = shown.lines(terminal, data, steps)
    mark = terminal.style("!", "yellow") if bad else terminal.style("✓", "green")
    end = (
        f"{mark} {len(bad)} step{'s' if len(bad) > 1 else ''} to go."
        if bad
        else f"{mark} momo is ready."
    )
    return Answer(
        document=dumps({**done.body, "data": data}),
        rows=shown.rows(data, steps),
        lines=[*lines, "", end],
        next=[str(step["fix"]) for step in bad if step["fix"]] or [_FIRST, "momo status"],
        exit_code=exits.FINDINGS if bad else exits.OK,
    )


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


def _add_methods(client: Client, terminal: Terminal, options: Options) -> list[str]:
    """Register the numbers; a number that is there already is left alone. Returns what to type."""
    todo = []
    for body in options.wishes.methods:
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
        rows=shown.rows(data, steps),
        lines=shown.lines(terminal, data, steps),
        next=todo,
        exit_code=done.exit_code,
    )
