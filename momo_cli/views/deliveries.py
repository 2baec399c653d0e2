"""Fields and lines shared by the commands about deliveries and dead letters."""

from collections.abc import Sequence
from typing import Final

from momo_cli.show.answer import Row, fields, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, fact_lines, state, styled, with_test_mark
from momo_cli.text import at, clean

DELIVERY_FIELDS: Final = fields(
    "id webhook_id endpoint_id transaction_id status attempt_count response_status_code created_at",
    "delivered_at failed_at event next_attempt_at",
)
DELIVERY_VIEW: Final = view_of(*DELIVERY_FIELDS)
"""The view of one delivery, which is shown as lines instead of a table."""

_WAITS: Final = {
    "clock": "for the right time: your receiver's clock and ours may differ (momo doctor clock); a 4xx is final after 24 h"
}


def answer_text(row: Row) -> str:
    """Return the receiver's status code, or the reason why there is none."""
    code = row.get("response_status_code")
    said = clean(code if code is not None else at(row, "error.code") or row.get("waiting"))
    return f"{said} (waits: clock)" if row.get("waiting") == "clock" and code is not None else said


def delivery_lines(row: Row, terminal: Terminal) -> list[str]:
    """Return the lines of one delivery."""
    said = (answer_text(row), clean(at(row, "error.message")))
    waits = _WAITS.get(str(row.get("waiting")), clean(row.get("waiting")).replace("_", " "))
    facts = (
        ("id", clean(row.get("id"))),
        ("webhook", clean(row.get("webhook_id"))),
        ("payment", f"svc_trx_{clean(row.get('transaction_id')).replace('-', '')}"),
        ("to", clean(row.get("url"))),
        ("tries", f"{row.get('attempt_count') or 0} in run {row.get('run') or 1}"),
        ("answer", " — ".join(part for part in said if part)),
        ("arrived", clock(row.get("delivered_at"), terminal)),
        ("waits", waits),
        (
            "next",
            ""
            if waits and row.get("waiting") != "clock"
            else ago(row.get("next_attempt_at"), terminal),
        ),
    )
    status = with_test_mark(state(row.get("status")), row)
    head = f"{styled(status, terminal)}  {clean(row.get('event'))}"
    return [head, *fact_lines(facts, 8)]


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
