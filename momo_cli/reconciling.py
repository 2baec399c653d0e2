"""Matching payments to orders: one, and a file of them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from daemon.wire import ErrorCode, Path, TransactionStatus
from momo_cli import system
from momo_cli.answer import Answer, Field, View
from momo_cli.batch import Work, told
from momo_cli.client import Client, Reply, path_of
from momo_cli.errors import Failure, usage
from momo_cli.input_file import text_of
from momo_cli.order_file import Line, lines_of
from momo_cli.orders import reference_of
from momo_cli.terminal import Terminal
from momo_cli.text import at

FILE_VIEW: Final = View(
    fields=(
        *(Field(name) for name in ("line", "reference", "transaction_id", "ok", "already")),
        *(Field(name) for name in ("status", "difference", "code")),
        Field("message", "error.message"),
    ),
    id="reference",
)
_OF_ITS_LINE: Final = (ErrorCode.USAGE, ErrorCode.TRANSACTION_NOT_FOUND)
"""What we find wrong with one line ourselves, without an answer of the daemon's."""
_DIGITS_WITH_LETTERS: Final = re.compile(r"(?=.*\d)(?=.*[OoIl])[\dOoIl]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The flags of `momo reconcile --from-file`."""

    path: str
    form: str | None
    stop_on_error: bool
    exact: bool


def run_file(client: Client, terminal: Terminal, options: FileOptions) -> Answer:
    """Do it for each line of the file."""
    lines = lines_of(text_of(terminal, options.path), options.form)
    work = Work(
        _outcomes(client, terminal, lines, options),
        len(lines),
        "Matching",
        "matched",
        counted=("already", "inexact"),
        found=("inexact",) if options.exact else (),
    )
    return told(terminal, work, ("momo tx list --status PENDING",))


def _outcomes(
    client: Client, terminal: Terminal, lines: list[Line], options: FileOptions
) -> Iterator[dict[str, Any]]:
    for line in lines:
        row = {
            "line": line.number,
            "reference": line.order,
            "transaction_id": line.body.get("transaction_id"),
            "already": False,
            "inexact": False,
        }
        try:
            if line.problem:
                raise usage(line.problem)
            look_alikes(terminal, line.body["transaction_id"])
            reference, reply = submit(client, line.order, line.body)
            found = reply.data
        except Failure as failure:
            outcome = _not_done(failure, line, row)
            yield outcome
            if options.stop_on_error and not outcome["ok"]:
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


def _not_done(failure: Failure, line: Line, row: dict[str, Any]) -> dict[str, Any]:
    """Say why a line failed; it has not when its order is matched to this very payment already.

    Raises:
        Failure: There was no answer; the other lines would fare alike.
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


def look_alikes(terminal: Terminal, telco_id: str) -> None:
    """Say that an ID looks mistyped; it is sent as it was typed."""
    if _DIGITS_WITH_LETTERS.fullmatch(telco_id):
        terminal.note(f"warning: {telco_id} has letters that look like digits (O 0, I l 1)")


def submit(client: Client, order: str, body: dict[str, Any]) -> tuple[str, Reply]:
    """Match the payment to the order, which may be given by its code; return the reference too."""
    reference = reference_of(client, order)
    path = path_of(Path.RECONCILE, reference=reference)
    reply = client.call("POST", path, body=body, idempotency_key=system.new_key())
    return reference, reply
