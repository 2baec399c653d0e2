"""Match a payment to an order by the ID in the customer's confirmation message.

Exit 0: matched, the money is there. 3: no payment with that ID has arrived yet, try again later.
5: refused, and it will be refused again: do not hand over goods. TXID keeps its leading zeros.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import ErrorCode, Path
from momo_cli import exits, system
from momo_cli.amounts import amount_of
from momo_cli.answer import Answer, Call, Field, Row, View
from momo_cli.client import Client, path_of
from momo_cli.errors import RECONCILE_EXITS, Failure, usage
from momo_cli.orders import reference_of
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.words import money

EXAMPLES: Final = """\
  momo reconcile 7KQ2MX 0000012345
  momo reconcile 7KQ2MX 40412345678 --amount 12.50 --notes "customer showed the SMS"
  momo reconcile 7KQ2MX 40412345678 --json --get data.new_transaction_status
"""
VIEW: Final = View(
    fields=tuple(
        Field(name)
        for name in (
            "reconciliation_id",
            "status",
            "transaction_id",
            "new_transaction_status",
            "matched_amount",
            "expected_amount",
            "difference",
            "difference_type",
            "message",
        )
    ),
    id="reconciliation_id",
)
_DIGITS_WITH_LETTERS: Final = re.compile(r"(?=.*\d)(?=.*[OoIl])[\dOoIl]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo reconcile`."""

    order: str
    body: dict[str, Any]
    exact: bool


def command(
    order: Annotated[str, typer.Argument(metavar="REF|CODE", help="The order.")],
    transaction_id: Annotated[
        str, typer.Argument(metavar="TXID", help="The ID in the customer's message.")
    ],
    amount: Annotated[
        str | None,
        typer.Option(help="Refuse, and change nothing, unless this was paid."),
    ] = None,
    notes: Annotated[str | None, typer.Option(help="Kept in the audit log.")] = None,
    provider: Annotated[
        str | None,
        typer.Option(help="The network, when two have that ID: momo_mtn ..."),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Exit 6 when it was paid, but not exactly.")
    ] = False,
) -> Call:
    """Read the flags."""
    telco_id = transaction_id.replace(" ", "")
    if not telco_id:
        raise usage("TXID is empty")
    body: dict[str, Any] = {"transaction_id": telco_id}
    if amount is not None:
        body["amount"] = amount_of(amount, "--amount")[0]
    if notes is not None:
        body["notes"] = notes
    if provider is not None:
        body["provider"] = provider
    return Call(run, Options(order.strip(), body, exact), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Find the order, submit the ID, and say what came of it."""
    telco_id = options.body["transaction_id"]
    if _DIGITS_WITH_LETTERS.fullmatch(telco_id):
        terminal.note(f"warning: {telco_id} has letters that look like digits (O 0, I l 1)")
    try:
        reference = reference_of(client, options.order)
        reply = client.call(
            "POST",
            path_of(Path.RECONCILE, reference=reference),
            body=options.body,
            idempotency_key=system.new_key(),
        )
    except Failure as failure:
        raise _ours(failure, options) from None
    row = reply.data
    kind = row.get("difference_type")
    return Answer(
        document=reply.text,
        rows=[row],
        lines=[_line(row, reference, terminal)],
        exit_code=exits.FINDINGS if options.exact and kind != "exact" else exits.OK,
        next=[f"momo tx show {reference}"],
    )


def _ours(failure: Failure, options: Options) -> Failure:
    """Give the failure the exit code that it has for reconcile, and what the hints need."""
    if failure.code in RECONCILE_EXITS:
        failure.exit_code = RECONCILE_EXITS[ErrorCode(failure.code)]
    elif failure.http_status == 404 and failure.code != ErrorCode.NO_MATCHING_TRANSACTION:
        failure.exit_code = exits.REFUSED
    failure.facts.setdefault("reference", options.order)
    failure.facts.setdefault("transaction_id", options.body["transaction_id"])
    return failure


def _line(row: Row, reference: str, terminal: Terminal) -> str:
    received, expected = (
        money(row.get("matched_amount")),
        money(row.get("expected_amount")),
    )
    telco_id = clean(row.get("transaction_id"))
    kind = row.get("difference_type")
    apart = money(row.get("difference")).lstrip("-+")
    if kind == "underpaid":
        said = f"! Short by {apart}: received {received} of {expected}. The order is now PARTIAL."
        return terminal.style(said, "yellow") + f"  ({telco_id} -> {reference})"
    if kind == "overpaid":
        said = f"! Over by {apart}: received {received} for {expected}. The order is now OVERPAID."
        return terminal.style(said, "yellow") + f"  ({telco_id} -> {reference})"
    return terminal.style("✓ Paid exactly.", "green") + f" {received}  {telco_id} → {reference}"
