"""Match a payment to an order by the ID in the customer's confirmation message.

Exit 0: matched, the money is there. 3: no payment with that ID has arrived yet, try again later.
5: refused, and it will be refused again: do not hand over goods. TXID keeps its leading zeros.

--from-file takes many: CSV or one JSON object a line, with reference, transaction_id and, if you
like, amount, notes and provider. A line that is already matched to its own payment counts as done,
so the same file can be run again. Exit 9: some lines failed; --json says which, a line each.
"""

import shlex
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import ErrorCode, Path
from momo_cli import exits
from momo_cli.amounts import amount_of
from momo_cli.answer import Answer, Call, Field, Row, View
from momo_cli.client import Client, path_of
from momo_cli.errors import RECONCILE_EXITS, Failure, usage
from momo_cli.orders import find
from momo_cli.proofs import PAID_BY, paid_by
from momo_cli.reconciling import FILE_VIEW, FileOptions, look_alikes, run_file, submit
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import money

EXAMPLES: Final = """\
  momo reconcile 7KQ2MX 0000012345
  momo reconcile 7KQ2MX 40412345678 --amount 12.50 --notes "customer showed the SMS"
  momo reconcile 7KQ2MX 40412345678 --json --get data.new_transaction_status
  momo reconcile --client-ref INV-17 40412345678
  momo reconcile --from-file payments.csv --json
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


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo reconcile`."""

    order: str
    client_ref: str | None
    body: dict[str, Any]
    exact: bool


def command(  # noqa: PLR0913, PLR0917  # one argument per flag
    order: Annotated[
        str | None, typer.Argument(metavar="[REF|CODE]", help="The order.", show_default=False)
    ] = None,
    transaction_id: Annotated[
        str | None, typer.Argument(metavar="[TXID]", help="The ID in the customer's message.")
    ] = None,
    amount: Annotated[
        str | None,
        typer.Option(help="Refuse, and change nothing, unless this was paid."),
    ] = None,
    notes: Annotated[str | None, typer.Option(help="Kept in the audit log.")] = None,
    provider: Annotated[
        str | None,
        typer.Option(help="The network, when two have that ID: momo_mtn ..."),
    ] = None,
    client_ref: Annotated[
        str | None, typer.Option(help="The order, by your own reference; then only TXID.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Exit 6 when it was paid, but not exactly.")
    ] = False,
    from_file: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="Many at once, from a file or stdin.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="csv|ndjson", help="Of the file.")
    ] = None,
    stop_on_error: Annotated[
        bool, typer.Option("--stop-on-error", help="With --from-file: end at the first failure.")
    ] = False,
) -> Call:
    """Read the flags."""
    if from_file is not None:
        if (order, amount, notes, provider, client_ref) != (None,) * 5:
            raise usage("--from-file takes the order, TXID, amount, notes and provider per line")
        return Call(run_file, FileOptions(from_file, _form(form), stop_on_error, exact), FILE_VIEW)
    if form is not None or stop_on_error:
        raise usage("--format and --stop-on-error go with --from-file")
    if client_ref is not None and transaction_id is None:
        order, transaction_id = "", order
    if order is None or transaction_id is None or bool(order) == (client_ref is not None):
        raise usage("give REF or CODE and TXID, or --client-ref R and TXID, or --from-file FILE")
    telco_id = transaction_id.replace(" ", "")
    if not telco_id:
        raise usage("TXID is empty")
    body = {
        "transaction_id": telco_id,
        "amount": None if amount is None else amount_of(amount, "--amount")[0],
        "notes": notes,
        "provider": provider,
    }
    given = {name: value for name, value in body.items() if value is not None}
    return Call(run, Options(order.strip(), client_ref, given, exact), VIEW)


def _form(form: str | None) -> str | None:
    if form not in (None, "csv", "ndjson"):
        raise usage(f"--format: {form!r} is not one of csv, ndjson")
    return form


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Find the order, submit the ID, and say what came of it."""
    telco_id = options.body["transaction_id"]
    look_alikes(terminal, telco_id)
    try:
        order = options.order or _by_client_ref(client, options.client_ref or "")
        reference, reply = submit(client, order, options.body)
    except Failure as failure:
        _prove(client, terminal, failure)
        raise _ours(failure, options) from None
    row = reply.data
    kind = row.get("difference_type")
    return Answer(
        document=reply.text,
        rows=[row],
        lines=_lines(row, _payer(client, terminal, reference), reference, terminal),
        exit_code=exits.FINDINGS if options.exact and kind != "exact" else exits.OK,
        next=[f"momo tx show {reference}"],
    )


def _by_client_ref(client: Client, client_ref: str) -> str:
    path = path_of(Path.TRANSACTION_BY_CLIENT_REF, client_ref=client_ref)
    return str(client.get(path).data["reference"])


def _ours(failure: Failure, options: Options) -> Failure:
    """Give the failure the exit code that it has for reconcile, and what the hints need."""
    if failure.code in RECONCILE_EXITS:
        failure.exit_code = RECONCILE_EXITS[ErrorCode(failure.code)]
    elif failure.http_status == 404 and failure.code != ErrorCode.NO_MATCHING_TRANSACTION:
        failure.exit_code = exits.REFUSED
    order, telco_id = options.order or (options.client_ref or ""), options.body["transaction_id"]
    failure.facts.setdefault("reference", order)
    failure.facts.setdefault("transaction_id", telco_id)
    providers = at(failure.body, "error.providers")
    if failure.code == ErrorCode.AMBIGUOUS_TRANSACTION_ID and isinstance(providers, list):
        which = (
            ["momo", "reconcile", order, telco_id, "--provider", str(one)] for one in providers
        )
        failure.next = tuple(shlex.join(words) for words in which)
    return failure


def _prove(client: Client, terminal: Terminal, failure: Failure) -> None:
    """Look up what a payment was used for: whoever stands at the counter wants to see it."""
    used_by = at(failure.body, "error.used_by_reference")
    if failure.code != ErrorCode.TRANSACTION_ID_ALREADY_USED or not isinstance(used_by, str):
        return
    try:
        row = client.get(path_of(Path.TRANSACTION, reference=used_by)).data
    except Failure:
        return  # the refusal stands without it
    failure.facts[PAID_BY] = paid_by(row, terminal)


def _payer(client: Client, terminal: Terminal, reference: str) -> Row:
    """Return the order as it is now, for people; empty when it cannot be looked up: the match stands."""
    if not terminal.human:
        return {}
    try:
        return find(client, reference).data or {}
    except Failure:
        return {}


def _lines(row: Row, order: Row, reference: str, terminal: Terminal) -> list[str]:
    """Return what came of it: how it was paid, by whom, and what follows."""
    currency = order.get("currency")
    received, expected = money(row.get("matched_amount")), money(row.get("expected_amount"))
    apart = money(row.get("difference"), currency).replace("-", "").replace("+", "")
    kind = row.get("difference_type")
    said = f"✓ Paid exactly. {money(row.get('matched_amount'), currency)}"
    if kind == "underpaid":
        said = f"! Short by {apart}: received {received} of {expected}. The order is now PARTIAL."
    elif kind == "overpaid":
        said = f"! Over by {apart}: received {received} for {expected}. The order is now OVERPAID."
    telco_id, network = clean(row.get("transaction_id")), clean(at(order, "telco.provider")).upper()
    name = clean(at(order, "payer.name"))
    who = f"{f'from {name} ' if name else ''}({f'{network} {telco_id}'.strip()})"
    if kind == "exact":
        return [f"{terminal.style(said, 'green')} {who} → {reference}"]
    tail = "Money moved, so this cannot be undone."
    return [f"{terminal.style(said, 'yellow')} {tail}", f"  {who} → {reference}"]
