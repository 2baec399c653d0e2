"""The command reconcile: match payments to transactions by the network ID, one or a file of them."""

import contextlib
import csv
import io
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from daemon.wire import ErrorCode, Path, TransactionStatus
from momo_cli import exit_codes
from momo_cli.errors import RECONCILE_EXITS, Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import NOTES, PASSWORD_FILE, argument, flag, option
from momo_cli.inputs.typed_values import amount_of, check_choice, only_given, owners_password, read_text
from momo_cli.show.answer import Answer, Row, view_of
from momo_cli.show.batch import Batch, run_batch
from momo_cli.show.error_detail import PAID_BY, paid_by
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import money
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import at, clean
from momo_cli.views.transactions import find_transaction, reference_of
from parsers.pasted import plain_id

_VIEW: Final = view_of(
    "reconciliation_id status transaction_id new_transaction_status matched_amount",
    "expected_amount difference difference_type message",
    id="reconciliation_id",
)
_FILE_VIEW: Final = view_of(
    "line reference transaction_id ok already status difference code message=error.message", id="reference"
)
_OF_ITS_LINE: Final = (ErrorCode.USAGE, ErrorCode.TRANSACTION_NOT_FOUND)
"""The errors of one line that come from the command itself, not from the daemon."""
_DIGITS_WITH_LETTERS: Final = re.compile(r"(?=.*\d)(?=.*[OoIlL])[\dOoIlL]+", re.ASCII)
_DIGIT: Final = re.compile(r"\d", re.ASCII)
COLUMNS: Final = ("reference", "transaction_id", "amount", "notes", "provider")
"""The columns, in this order if the file has no header."""
_NEEDED: Final = COLUMNS[:2]
_SCIENTIFIC: Final = re.compile(r"\d(?:\.\d*)?E\+?\d+", re.ASCII | re.IGNORECASE)
"""How a spreadsheet shows a long number."""


@dataclass(frozen=True, slots=True)
class FileLine:
    """One line of the file, from 1: the reference or code of the transaction, and the body of the call.

    Without a transaction the `problem` is why it cannot be sent.
    """

    number: int
    transaction: str
    body: dict[str, Any]
    problem: str = ""


@command("reconcile", view=lambda *, from_file, **_: _FILE_VIEW if from_file else _VIEW)
def reconcile(
    client: Client,
    terminal: Terminal,
    transaction: str | None = argument("[REF|CODE]", "The transaction.", default=None, show_default=False),
    transaction_id: str | None = argument("[TXID]", "The network ID in the customer's message.", default=None),
    amount: str | None = option("Refuse, and change nothing, unless this amount was paid."),
    notes: str | None = NOTES,
    provider: str | None = option("The network, if two have that ID: momo_mtn ..."),
    client_ref: str | None = option("The transaction of this order number of yours; then only TXID."),
    exact: bool = flag("Exit 6 if the amount is not exact."),
    from_file: str | None = option("FILE|-", "Match many, from a file or stdin."),
    form: str | None = option("--format", "csv|ndjson", "The format of the file."),
    stop_on_error: bool = flag("With --from-file: stop at the first failure."),
    password_file: str | None = PASSWORD_FILE,
) -> Answer:
    """TXID is the network ID in the customer's confirmation message; keep its leading zeros. Exit 0: matched, the money
    has arrived. 3: no payment with that ID has arrived yet, try again later. 5: refused, and a repeat would be refused
    too: do not hand over goods.

    A payment whose message came from a file, a paste, or a time before its line was set up needs the owner's password, because
    anybody can make up such a message. Look into the wallet first.

    --from-file matches many: CSV or one JSON object per line, with reference, transaction_id and optionally amount,
    notes and provider. A line that is already matched to its own payment counts as done, so the same file can be run
    again. Exit 9: some lines failed; --json shows each line.

    Examples:
        momo reconcile 7KQ2MX 0000012345
        momo reconcile 7KQ2MX 40412345678 --amount 12.50 --notes "customer showed the SMS"
        momo reconcile --client-ref INV-17 40412345678
        momo reconcile --from-file payments.csv --json
    """
    if from_file is not None:
        if (transaction, amount, notes, provider, client_ref) != (None,) * 5:
            raise usage("--from-file reads REF, TXID, amount, notes and provider from each line")
        if password_file is not None:
            raise usage("what needs the owner's password is reconciled one by one")
        text = read_text(terminal, from_file)
        check_choice(form, "--format", ("csv", "ndjson"))
        lines = lines_of(text, form)
        work = Batch(
            _outcomes(client, terminal, lines, stop_on_error=stop_on_error),
            len(lines),
            "Matching",
            "matched",
            counted=("already", "inexact"),
            found=("inexact",) if exact else (),
        )
        return run_batch(terminal, work, ("momo tx list --status PENDING",))
    if form is not None or stop_on_error:
        raise usage("--format and --stop-on-error need --from-file")
    if client_ref is not None and transaction_id is None:
        transaction, transaction_id = "", transaction
    unnamed = bool(transaction) == (client_ref is not None)
    if transaction is None or transaction_id is None or unnamed:
        raise usage("give REF or CODE and TXID, or --client-ref R and TXID, or --from-file FILE")
    telco_id = plain_id(transaction_id)
    if _SCIENTIFIC.fullmatch(telco_id):
        raise usage(
            f"{telco_id} is a number that a spreadsheet has rounded: copy the whole ID from the customer's message"
        )
    if not telco_id:
        raise usage("TXID is empty")
    if not _DIGIT.search(telco_id):
        raise usage(f"{transaction_id!r} has no digit: a transaction ID is the digits in the customer's SMS")
    value = None if amount is None else amount_of(amount, "--amount")[0]
    given = {"transaction_id": telco_id, "amount": value, "notes": notes, "provider": provider}
    reference, reply = _matched(client, terminal, transaction, client_ref, given, password_file)
    inexact = exact and reply.data.get("difference_type") != "exact"
    return Answer(
        *reply.parts,
        lines=_lines(client, terminal, reply.data, reference) if terminal.human else (),
        exit_code=exit_codes.FINDINGS if inexact else exit_codes.OK,
        next=[f"momo tx show {reference}"],
    )


def _matched(
    client: Client,
    terminal: Terminal,
    transaction: str,
    client_ref: str | None,
    given: dict[str, Any],
    password_file: str | None,
) -> tuple[str, Reply]:
    """Match one payment; on failure, add the exit code and the facts for the hints."""
    reference, telco_id, body = transaction.strip(), given["transaction_id"], only_given(given)
    _warn_of_letters(terminal, telco_id)
    try:
        if not reference:
            path = path_of(Path.TRANSACTION_BY_CLIENT_REF, client_ref=client_ref or "")
            reference = str(client.get(path).data["reference"])
        try:
            return _submit(client, reference, body)
        except Failure as refused:
            can_answer = password_file or terminal.can_ask()
            if refused.code != ErrorCode.INVALID_PASSWORD or not can_answer:
                raise
            terminal.complain(refused.message)
            body["password"] = owners_password(terminal, password_file)
            return _submit(client, reference, body)
    except Failure as failure:
        _explain(client, terminal, failure, transaction.strip() or client_ref or "", telco_id)
        raise


def _explain(client: Client, terminal: Terminal, failure: Failure, transaction: str, telco_id: str) -> None:
    """Add reconcile's exit code, and the facts and commands for the hints, to a failure."""
    if failure.code in RECONCILE_EXITS:
        failure.exit_code = RECONCILE_EXITS[ErrorCode(failure.code)]
    elif failure.http_status == 404 and failure.code != ErrorCode.NO_MATCHING_TRANSACTION:
        failure.exit_code = exit_codes.REFUSED
    failure.facts.setdefault("reference", transaction)
    failure.facts.setdefault("transaction_id", telco_id)
    by = at(failure.body, "error.verified_by_transaction_id")
    used_by = at(failure.body, "error.used_by_reference")
    providers = at(failure.body, "error.providers")
    if failure.code == ErrorCode.ALREADY_VERIFIED and by == telco_id:
        failure.facts[PAID_BY] = f"It was matched to this same payment before: {clean(by)}."
    elif failure.code == ErrorCode.TRANSACTION_ID_ALREADY_USED and isinstance(used_by, str):
        # The operator can show the customer what the payment was used for.
        row = client.find(path_of(Path.TRANSACTION, reference=used_by))
        if row is not None:
            failure.facts[PAID_BY] = paid_by(row, terminal)
    elif failure.code == ErrorCode.AMBIGUOUS_TRANSACTION_ID and isinstance(providers, list):
        words = ["momo", "reconcile", transaction, telco_id, "--provider"]
        failure.next = tuple(shlex.join([*words, str(one)]) for one in providers)


def _lines(client: Client, terminal: Terminal, row: Row, reference: str) -> list[str]:
    """Return the lines with the result: the amount, the payer and the transaction."""
    transaction: Row = {}
    with contextlib.suppress(Failure):  # the payment is matched all the same
        transaction = find_transaction(client, reference).data or {}
    currency, kind = transaction.get("currency"), row.get("difference_type")
    received, expected = money(row.get("matched_amount")), money(row.get("expected_amount"))
    apart = money(row.get("difference"), currency).replace("-", "").replace("+", "")
    telco_id, network = clean(row.get("transaction_id")), clean(at(transaction, "telco.provider"))
    on_receipt = at(transaction, "payer_source.name") != "request"
    name = clean(at(transaction, "payer.name")) if on_receipt else ""
    who = f"{f'from {name} ' if name else ''}({f'{network.upper()} {telco_id}'.strip()})"
    said = f"✓ Paid exactly. {money(row.get('matched_amount'), currency)}"
    if kind == "exact":
        return [f"{terminal.style(said, 'green')} {who} → {reference}"]
    if kind == "underpaid":
        said = f"! Short by {apart}: received {received} of {expected}. The transaction is now PARTIAL."
    elif kind == "overpaid":
        said = f"! Over by {apart}: received {received} for {expected}. The transaction is now OVERPAID."
    return [f"{terminal.style(said, 'yellow')} This cannot be undone.", f"  {who} → {reference}"]


def _outcomes(
    client: Client, terminal: Terminal, lines: list[FileLine], *, stop_on_error: bool
) -> Iterator[dict[str, Any]]:
    for line in lines:
        row = {
            "line": line.number,
            "reference": line.transaction,
            "transaction_id": line.body.get("transaction_id"),
            "already": False,
            "inexact": False,
        }
        try:
            if line.problem:
                raise usage(line.problem)
            _warn_of_letters(terminal, line.body["transaction_id"])
            reference, reply = _submit(client, line.transaction, line.body)
            found = reply.data
        except Failure as failure:
            outcome = _not_done(failure, line, row)
            yield outcome
            if stop_on_error and not outcome["ok"]:
                return
            continue
        yield {
            **row,
            "reference": reference,
            "ok": True,
            "inexact": found.get("difference_type") != "exact",
            "status": found.get("new_transaction_status"),
            "difference": found.get("difference"),
        }


def _not_done(failure: Failure, line: FileLine, row: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of a failed line; it counts as done if its transaction is matched to this same payment.

    Without an answer the failure is raised, because the other lines would fail too.
    """
    if not failure.http_status and failure.code not in _OF_ITS_LINE:
        raise failure
    by = at(failure.body, "error.verified_by_transaction_id")
    if failure.code == ErrorCode.ALREADY_VERIFIED and by == line.body["transaction_id"]:
        status = at(failure.body, "error.transaction_status")
        inexact = status != TransactionStatus.SUCCESS
        return {**row, "ok": True, "already": True, "inexact": inexact, "status": status}
    error = {"code": failure.code, "message": failure.message}
    return {**row, "ok": False, "code": failure.code, "error": error}


def _warn_of_letters(terminal: Terminal, telco_id: str) -> None:
    """Warn if an ID looks mistyped; it is sent unchanged."""
    if _DIGITS_WITH_LETTERS.fullmatch(telco_id):
        terminal.note(f"warning: {telco_id} has letters that look like digits (O 0, I l 1)")


def _submit(client: Client, transaction: str, body: dict[str, Any]) -> tuple[str, Reply]:
    """Match the payment to the transaction with this reference or code; return its reference and the reply."""
    reference = reference_of(client, transaction)
    return reference, client.post_once(path_of(Path.RECONCILE, reference=reference), body)


def lines_of(text: str, form: str | None) -> list[FileLine]:
    """Read a file of the given format, else by its first character; fail (exit 2) if it lacks a needed column."""
    text = text.removeprefix("\ufeff")  # Excel writes one
    if form == "ndjson" or (form is None and text.lstrip().startswith("{")):
        return [_line(number, found) for number, found in _objects(text)]
    return [_line(number, found) for number, found in _records(text)]


def _objects(text: str) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as problem:
                yield number, f"not JSON: {problem}"


def _records(text: str) -> Iterator[tuple[int, object]]:
    first = text.lstrip("\r\n").partition("\n")[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names: list[str] = []
    try:
        for cells in filter(None, reader):
            row = [cell.strip() for cell in cells]
            if not any(row):
                continue
            if not names:
                names = _header(row)
                if names:
                    continue
                names = list(COLUMNS)
            short = len(row) < len(_NEEDED)
            yield reader.line_num, "too few columns" if short else dict(zip(names, row))  # noqa: B905  # the last cells may be left out
    except csv.Error as problem:
        raise usage(f"--from-file: line {reader.line_num}: {problem}") from None


def _header(row: list[str]) -> list[str]:
    """Return the names of the columns; empty if the first line is not a header."""
    names = [cell.casefold().replace(" ", "_") for cell in row]
    if not set(names) & set(COLUMNS):
        return []
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise usage(f"--from-file: the first line has no column {', '.join(missing)}")
    return names


def _line(number: int, found: object) -> FileLine:
    if not isinstance(found, dict):
        return FileLine(number, "", {}, found if isinstance(found, str) else "not a JSON object")
    given = {name: found.get(name) for name in COLUMNS}
    transaction = str(given["reference"] or "").strip()
    if isinstance(given["transaction_id"], int | float):
        # A number has lost its leading zeros, which are part of the ID.
        why = "transaction_id must be a text in quotes, not a number"
        return FileLine(number, transaction, {}, why)
    telco_id = plain_id(str(given["transaction_id"] or ""))
    if _SCIENTIFIC.fullmatch(telco_id):
        why = f"{telco_id} is a number that a spreadsheet has rounded: format the column as text and copy the IDs again"
        return FileLine(number, transaction, {"transaction_id": telco_id}, why)
    body: dict[str, Any] = {"transaction_id": telco_id}
    if not transaction or not telco_id:
        return FileLine(number, transaction, body, "reference and transaction_id are needed")
    if given["amount"] not in (None, ""):
        try:
            body["amount"] = amount_of(str(given["amount"]), "amount")[0]
        except Failure as failure:
            return FileLine(number, transaction, body, failure.message)
    body |= {name: str(given[name]) for name in ("notes", "provider") if given[name]}
    return FileLine(number, transaction, body)
