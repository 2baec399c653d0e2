"""What the commands about deliveries and dead letters share: fields, lines, and doing one thing to many of them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from momo_cli import exits
from momo_cli.answer import Answer, Field, Row, View
from momo_cli.errors import Failure
from momo_cli.flags import Output
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

OUTCOME: Final = View(fields=(Field("id"), Field("ok"), Field("code"), Field("message")))
"""Of a batch: what came of each."""


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


def one_by_one(
    terminal: Terminal, ids: Sequence[str], act: Callable[[str], dict[str, Any]], done: str
) -> Answer:
    """Do one thing to each, go on after a refusal, and say what came of each.

    Args:
        terminal: The person's side.
        ids: Each once.
        act: Does it to one; returns what is worth telling.
        done: How many were done: its name in the summary.

    Raises:
        Failure: The daemon cannot be reached; what was done stays done and can be repeated.
    """
    rows = list(_outcomes(ids, act))
    return told(terminal, rows, done)


def told(terminal: Terminal, rows: list[dict[str, Any]], done: str) -> Answer:
    """Answer with what came of each of a batch, and the sum of it."""
    good = sum(bool(row["ok"]) for row in rows)
    bad = [row for row in rows if not row["ok"]]
    why: dict[str, int] = {}
    for row in bad:
        why[str(row["code"])] = why.get(str(row["code"]), 0) + 1
    reasons = ", ".join(f"{number} {code}" for code, number in why.items())
    said = f"{good} {done}" + (f", {len(bad)} refused ({reasons})" if bad else "")
    streamed: list[dict[str, Any]] = list(rows)
    if terminal.output in (Output.JSON, Output.NDJSON):
        streamed.append({"type": "summary", "requested": len(rows), done: good, "failed": len(bad)})
    return Answer(
        rows=streamed,
        lines=[f"{terminal.style('✗' if bad else '✓', 'red' if bad else 'green')} {said}."],
        notes=[] if terminal.human else [f"{said}."],
        next=["momo deliveries list"],
        exit_code=exits.PARTIAL if bad else exits.OK,
        stream=True,
    )


def _outcomes(ids: Sequence[str], act: Callable[[str], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for each in ids:
        try:
            yield {"id": each, "ok": True, "code": None, "message": None, **act(each)}
        except Failure as failure:
            if not failure.http_status:  # never asked, or no answer: the others would fare alike
                raise
            yield {"id": each, "ok": False, "code": failure.code, "message": failure.message}


def given(ids: Sequence[str], terminal: Terminal) -> list[str]:
    """Return the ids of a command line, each once; `-` reads more of them from stdin, one a line."""
    found: list[str] = []
    for each in ids:
        found += terminal.stdin.read().split() if each.strip() == "-" else [each.strip()]
    return list(dict.fromkeys(each for each in found if each))


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
