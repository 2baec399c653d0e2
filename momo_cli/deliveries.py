"""What the commands about deliveries and dead letters share: fields and lines."""

from collections.abc import Sequence
from typing import Final

from momo_cli.answer import Field, Row, View
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import ago, clock, state, styled

FIELDS: Final = tuple(
    Field(name)
    for name in (
        "id",
        "webhook_id",
        "endpoint_id",
        "transaction_id",
        "status",
        "attempt_count",
        "response_status_code",
        "created_at",
        "delivered_at",
        "failed_at",
        "event",
        "next_attempt_at",
    )
)
VIEW: Final = View(fields=FIELDS)
"""Of one delivery: it has lines for people instead of a table."""


def answered(row: Row) -> str:
    """Return what the receiver said, or why nothing was heard."""
    code = row.get("response_status_code")
    return clean(code if code is not None else at(row, "error.code") or row.get("waiting"))


def lines(row: Row, terminal: Terminal) -> list[str]:
    """Say how one delivery is doing."""
    told = [
        f"{styled(state(row.get('status')), terminal)}  {clean(row.get('event'))}",
        f"  id       {clean(row.get('id'))}",
        f"  webhook  {clean(row.get('webhook_id'))}",
        f"  payment  svc_trx_{clean(row.get('transaction_id')).replace('-', '')}",
    ]
    if row.get("url"):
        told.append(f"  to       {clean(row.get('url'))}")
    told.append(f"  tries    {row.get('attempt_count') or 0} in run {row.get('run') or 1}")
    message = clean(at(row, "error.message"))
    said = " — ".join(part for part in (answered(row), message) if part)
    if said:
        told.append(f"  answer   {said}")
    if row.get("delivered_at"):
        told.append(f"  arrived  {clock(row.get('delivered_at'), terminal)}")
    if row.get("waiting"):
        told.append(f"  waits    {clean(row.get('waiting')).replace('_', ' ')}")
    elif row.get("next_attempt_at"):
        told.append(f"  next     {ago(row.get('next_attempt_at'), terminal)}")
    return told


def attempt_lines(rows: Sequence[Row], terminal: Terminal) -> list[str]:
    """Tell each attempt in a line, oldest first."""
    told = []
    for row in rows:
        code = row.get("response_status_code")
        said = clean(code if code is not None else at(row, "error.code") or "under way")
        took = f" in {row.get('duration_ms')} ms" if row.get("duration_ms") is not None else ""
        message = f" — {clean(at(row, 'error.message'))}" if at(row, "error.message") else ""
        told.append(
            f"  {clock(row.get('started_at'), terminal)}  run {row.get('run')} try {row.get('number')}  "
            f"{said}{took}{message}"
        )
    return told
