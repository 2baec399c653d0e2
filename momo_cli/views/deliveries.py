"""Fields and lines shared by the commands about deliveries and dead letters."""

from collections.abc import Sequence
from typing import Final

from momo_cli.show.answer import Row, View, fields
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, state, styled
from momo_cli.text import at, clean

DELIVERY_FIELDS: Final = fields(
    "id webhook_id endpoint_id transaction_id status attempt_count response_status_code created_at",
    "delivered_at failed_at event next_attempt_at",
)
DELIVERY_VIEW: Final = View(fields=DELIVERY_FIELDS)
"""The view of one delivery, which is shown as lines instead of a table."""


def answer_text(row: Row) -> str:
    """Return the receiver's status code, or the reason why there is none."""
    code = row.get("response_status_code")
    return clean(code if code is not None else at(row, "error.code") or row.get("waiting"))


def delivery_lines(row: Row, terminal: Terminal) -> list[str]:
    """Return the lines of one delivery."""
    found = [
        f"{styled(state(row.get('status')), terminal)}  {clean(row.get('event'))}",
        f"  id       {clean(row.get('id'))}",
        f"  webhook  {clean(row.get('webhook_id'))}",
        f"  payment  svc_trx_{clean(row.get('transaction_id')).replace('-', '')}",
    ]
    if row.get("url"):
        found.append(f"  to       {clean(row.get('url'))}")
    found.append(f"  tries    {row.get('attempt_count') or 0} in run {row.get('run') or 1}")
    message = clean(at(row, "error.message"))
    said = " — ".join(part for part in (answer_text(row), message) if part)
    if said:
        found.append(f"  answer   {said}")
    if row.get("delivered_at"):
        found.append(f"  arrived  {clock(row.get('delivered_at'), terminal)}")
    if row.get("waiting"):
        found.append(f"  waits    {clean(row.get('waiting')).replace('_', ' ')}")
    elif row.get("next_attempt_at"):
        found.append(f"  next     {ago(row.get('next_attempt_at'), terminal)}")
    return found


def attempt_lines(rows: Sequence[Row], terminal: Terminal) -> list[str]:
    """Return a line for each attempt, oldest first."""
    found = []
    for row in rows:
        code = row.get("response_status_code")
        said = clean(code if code is not None else at(row, "error.code") or "under way")
        took = f" in {row.get('duration_ms')} ms" if row.get("duration_ms") is not None else ""
        message = f" — {clean(at(row, 'error.message'))}" if at(row, "error.message") else ""
        found.append(
            f"  {clock(row.get('started_at'), terminal)}  run {row.get('run')} try {row.get('number')}  "
            f"{said}{took}{message}"
        )
    return found
