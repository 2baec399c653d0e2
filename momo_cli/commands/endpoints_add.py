"""Send payments to an https address, or to a command or folder here. The signing secret is shown once, here.

With --secret-file the secret goes into that file (which must not exist yet; mode 0600) and is null in the output.

It claims the payments that one of its rules describes (`momo rules add --help`), and those that no rule of any endpoint
claims, unless --no-catch-all. It hears of transaction.forwarded; --event asks for other kinds: transaction.completed,
transaction.expired, transaction.review_required, transaction.updated, transaction.reversed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits, system
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, Reply, path_of
from momo_cli.endpoints import CatchAll, Events, IncludeRaw
from momo_cli.errors import Failure, exit_code_of, row_for
from momo_cli.rules import read_expression
from momo_cli.secret_file import secret_file
from momo_cli.terminal import Terminal
from momo_cli.text import clean, warnings_of
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo endpoints add https://shop.example/hook
  momo endpoints add https://shop.example/hook --secret-file hook.secret --quiet
  momo endpoints add https://test.shop.example/hook --sandbox --json
  momo endpoints add https://rents.example/hook --rule 'telco.reference_text startswith RENT' --no-catch-all
  momo endpoints add https://shop.example/hook --event transaction.forwarded --event transaction.reversed
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
    rules: tuple[Any, ...] = ()
    """The filter of each."""


def command(  # noqa: PLR0913, PLR0917  # one argument per flag
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
    rule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPR",
            help="Claim what this describes: 'FIELD OP VALUE...', JSON or @FILE; give it for each rule.",
        ),
    ] = None,
    catch_all: CatchAll = None,
    event: Events = None,
    include_raw: IncludeRaw = None,
    secret_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the secret there, not to the output."),
    ] = None,
) -> Call:
    """Read the flags."""
    given = {
        "description": description,
        "is_sandbox": sandbox or None,
        "catch_all": catch_all,
        "events": event or None,
        "include_raw": include_raw,
    }
    body = {"url": url, **{name: value for name, value in given.items() if value is not None}}
    rules = tuple(read_expression(text, "--rule") for text in rule or ())
    return Call(run, Options(body, secret_file, rules), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Make the endpoint and its rules; where its secret is to be kept, and whether the rules can be read, comes first."""
    for filter_ in options.rules:
        client.call("POST", Path.RULES_TEST, body={"sample": {}, "filter": filter_})
    with secret_file(options.secret_file, "--secret-file") as keep:
        key = system.new_key()
        reply = client.call("POST", Path.ENDPOINTS, body=options.body, idempotency_key=key)
        keep(str(reply.body.get("secret")))
    return _answer(reply, terminal, options, _add_rules(client, reply.data["id"], options.rules))


def _add_rules(client: Client, endpoint_id: str, filters: Iterable[Any]) -> list[Reply | Failure]:
    """Make the rules. One that cannot be made is told: the endpoint is there, and its secret must be shown."""
    made: list[Reply | Failure] = []
    for filter_ in filters:
        try:
            path = path_of(Path.RULES, id=endpoint_id)
            made.append(client.call("POST", path, body={"filter": filter_}))
        except Failure as failure:
            made.append(failure)
    return made


def _answer(
    reply: Reply, terminal: Terminal, options: Options, rules: list[Reply | Failure]
) -> Answer:
    row: dict[str, Any] = reply.data
    secret = None if options.secret_file is not None else reply.body.get("secret")
    replies = [rule for rule in rules if not isinstance(rule, Failure)]
    made = [rule.data for rule in replies]
    failed = [rule for rule in rules if isinstance(rule, Failure)]
    document = reply.text
    if options.secret_file is not None or rules:
        shown = {**reply.body, "secret": secret}
        document = dumps({**shown, "rules": made} if rules else shown)
    lines = [
        f"{terminal.style('✓', 'green')} Payments will be sent to {clean(row.get('url'))}",
        f"  id      {clean(row.get('id'))}",
        *(f"  rule    {clean(dumps(rule.get('filter')))}" for rule in made),
    ]
    if secret is not None:
        lines.append(f"  secret  {terminal.style(clean(secret), 'bold')}")
    else:
        file = options.secret_file
        lines.append(f"  secret  in {file}" if file else "  secret  not shown again")
    notes = list(dict.fromkeys(told for one in (reply, *replies) for told in warnings_of(one.body)))
    notes += [
        f"warning: a rule was not made: {failure.message or row_for(failure).sentence}"
        for failure in failed
    ]
    if secret is not None:
        notes.append("Keep the secret now: it is not shown again.")
    again = [f"momo rules add {clean(row.get('id'))} ..."] if failed else []
    return Answer(
        document=document,
        rows=[{**row, "secret": secret}],
        lines=lines,
        notes=notes,
        next=[*again, "momo endpoints list", "momo deliveries list"],
        exit_code=exit_code_of(failed[0]) if failed else exits.OK,
    )
