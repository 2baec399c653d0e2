"""Approve a doubtful payment: it pays the order it was held for, or the one that --order names.

Without an order it is kept as a sale of its own and forwarded. What may be forged asks whether you have
looked at the wallet itself, and for the owner's password. A payment that nearly names an order shows which
ones it may be for; on a terminal one key takes one of them, else --suggested does. Exit 10: you did not say yes.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import ErrorCode, Path
from momo_cli import exits, suggestions, system
from momo_cli.answer import Answer, Call, Row
from momo_cli.client import Client, Reply, path_of
from momo_cli.errors import Failure, usage
from momo_cli.naming import REVIEWS, id_of
from momo_cli.orders import reference_of
from momo_cli.passwords import owners_password
from momo_cli.reviews import OPEN, VIEW, lines, next_commands, suggestions_of
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import money, state, styled

EXAMPLES: Final = """\
  momo review approve 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --notes "she showed her phone"
  momo review approve 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --order 7KQ2MX
  momo review approve 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --suggested
  momo review approve 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --password-file pw.txt --yes
"""
_QUESTION: Final = "Have you seen this money in the wallet itself, on the phone? Type YES: "


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo review approve`."""

    review: str
    order: str | None
    suggested: int | None
    notes: str | None
    password_file: str | None


def command(
    review: Annotated[str, typer.Argument(metavar="ID", help="The review.")],
    order: Annotated[
        str | None, typer.Option(metavar="REF|CODE", help="The order that it is for.")
    ] = None,
    suggested: Annotated[
        int | None,
        typer.Option(metavar="[=N]", help="The order that is suggested, the first if not said."),
    ] = None,
    notes: Annotated[str | None, typer.Option(help="Kept in the audit log.")] = None,
    password_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The owner's password, if it is needed; - = stdin."),
    ] = None,
) -> Call:
    """Read the flags."""
    if order is not None and suggested is not None:
        raise usage("--order and --suggested each name an order; give one of them")
    return Call(run, Options(review.strip(), order, suggested, notes, password_file), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Look at the review, ask what must be asked, and approve."""
    options = replace(options, review=id_of(client, REVIEWS, options.review))
    seen = client.get(path_of(Path.REVIEW, id=options.review))
    body: dict[str, Any] = {}
    if options.notes is not None:
        body["notes"] = options.notes
    order = _order(client, terminal, options, seen.data)
    if order is None:
        return _unchanged(seen)
    if order:
        body["reference"] = order
    if seen.data.get("needs_password") and seen.data.get("state") == OPEN:
        if not _is_sure(terminal, seen.data):
            return _unchanged(seen)
        body["password"] = owners_password(terminal, options.password_file)
    try:
        reply = client.call(
            "POST",
            path_of(Path.REVIEW_APPROVE, id=options.review),
            body=body,
            idempotency_key=system.new_key(),
        )
    except Failure as failure:
        raise _ours(failure, options, body) from None
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=[_line(reply, terminal)],
        next=next_commands(reply.data),
    )


def _order(client: Client, terminal: Terminal, options: Options, row: Row) -> str | None:
    """Return the reference of the order that was named or chosen, empty for none, None for not yet."""
    if options.order is not None:
        return reference_of(client, options.order.strip())
    if row.get("state") != OPEN:
        return ""
    if options.suggested is not None:
        return suggestions.taken(row, options.suggested)
    if suggestions_of(row) and terminal.can_ask() and not terminal.flags.yes:
        return suggestions.asked(terminal, row)
    return ""


def _unchanged(seen: Reply) -> Answer:
    return Answer(
        document=seen.text,
        rows=[seen.data],
        lines=["Nothing was changed."],
        exit_code=exits.CANCELLED,
    )


def _is_sure(terminal: Terminal, row: Row) -> bool:
    if terminal.flags.yes:
        return True
    if not terminal.can_ask():
        raise usage("this may be forged: look at the wallet itself, then say so with --yes")
    for line in lines(row, terminal):
        terminal.complain(line)
    return terminal.ask(f"\n{_QUESTION}", "--yes") == "YES"


def _ours(failure: Failure, options: Options, body: dict[str, Any]) -> Failure:
    if failure.code == ErrorCode.INVALID_PASSWORD:
        failure.next = (f"momo review approve {options.review}",)
    failure.facts.setdefault("reference", str(body.get("reference", options.order or "")))
    return failure


def _line(reply: Reply, terminal: Terminal) -> str:
    row, transaction = reply.data, reply.body.get("transaction")
    said = terminal.style("✓ Approved.", "green")
    said += f" {money(row.get('amount'), row.get('currency'))}"
    if at(transaction, "origin") == "open":
        return f"{said} is kept as a sale of its own ({clean(at(transaction, 'reference'))})."
    status = styled(state(at(transaction, "status")), terminal)
    return f"{said} → {clean(at(transaction, 'reference'))}  {status}"
