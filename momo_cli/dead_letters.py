"""What the commands about dead letters share: fields, and telling them by what went wrong."""

from collections.abc import Iterable, Sequence
from typing import Final

from momo_cli.answer import Field, Row, View
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import ago, clock, money

FIELDS: Final = tuple(
    Field(name)
    for name in (
        "id",
        "delivery_id",
        "webhook_id",
        "endpoint_id",
        "url",
        "event",
        "transaction_id",
        "reason",
        "cause",
        "error_code",
        "last_status_code",
        "attempt_count",
        "created_at",
        "failed_at",
        "replayed_at",
        "replay_count",
        "resolved_at",
        "diagnosis",
    )
) + tuple(Field(name, f"payment.{name}") for name in ("amount", "currency", "svc_code"))
VIEW: Final = View(fields=FIELDS)
_SHOWN_MAX: Final = 5
"""Of one group; the others are counted."""


def host(row: Row) -> str:
    """Return the receiver's host."""
    return clean(row.get("url")).removeprefix("https://").partition("/")[0]


def grouped(rows: Sequence[Row], terminal: Terminal) -> list[str]:
    """Say what went wrong once for all that failed alike, the newest failure first."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((clean(row.get("url")), clean(row.get("cause"))), []).append(row)
    told: list[str] = []
    for (_url, cause), members in groups.items():
        first = members[-1]
        told += [
            (
                f"{terminal.style(f'✗ {len(members)}', 'red')}  {host(first)}  {cause.replace('_', ' ')}"
                f"  since {clock(first.get('failing_since') or first.get('failed_at'), terminal)}"
            ),
            f"   {clean(members[0].get('diagnosis'))}",
            *(_line(row, terminal) for row in members[:_SHOWN_MAX]),
        ]
        if len(members) > _SHOWN_MAX:
            told.append(f"   … and {len(members) - _SHOWN_MAX} more")
    return told


def _line(row: Row, terminal: Terminal) -> str:
    again = (
        f"  sent again {ago(row.get('replayed_at'), terminal)}" if row.get("replayed_at") else ""
    )
    return f"   {clean(row.get('id'))}  {ago(row.get('failed_at'), terminal)}{_payment(row)}{again}"


def _payment(row: Row) -> str:
    """Return the money and the code that it is about, as far as they are known."""
    told = (
        money(at(row, "payment.amount"), at(row, "payment.currency")),
        clean(at(row, "payment.svc_code")),
    )
    return "".join(f"  {part}" for part in told if part)


def lines(row: Row, terminal: Terminal) -> list[str]:
    """Tell one dead letter whole."""
    said = clean(row.get("last_response_body"))
    told = [
        f"{terminal.style('✗', 'red')} {clean(row.get('event'))} to {clean(row.get('url'))}",
        f"  {clean(row.get('diagnosis'))}",
        f"  id       {clean(row.get('id'))}",
        f"  delivery {clean(row.get('delivery_id'))}",
        f"  webhook  {clean(row.get('webhook_id'))}",
        f"  payment  svc_trx_{clean(row.get('transaction_id')).replace('-', '')}{_payment(row)}",
        f"  tries    {row.get('attempt_count') or 0}",
    ]
    if said:
        told.append(f"  answer   {said}")
    if row.get("replayed_at"):
        told.append(f"  sent again {ago(row.get('replayed_at'), terminal)}")
    if row.get("resolved_at"):
        told.append(f"  arrived {ago(row.get('resolved_at'), terminal)}")
    return told


def next_commands(rows: Iterable[Row]) -> list[str]:
    """Return what to type once it is mended."""
    left = [row for row in rows if not row.get("replayed_at")]
    ids = [clean(row.get("id")) for row in left if can_replay(row)]
    if not ids:
        # What was owed to an endpoint that is no more goes to another one, by a replay of its window.
        return ["momo endpoints list", "momo replay --help"] if left else ["momo deliveries list"]
    if len(ids) == 1:
        return [f"momo dead-letters replay {ids[0]}"]
    return [f"momo dead-letters show {ids[0]}", "momo dead-letters replay-batch --all"]


def can_replay(row: Row) -> bool:
    """Say whether a dead letter can be sent again: not when its endpoint was deleted, before or after it was given up."""
    return bool(row.get("cause") != "endpoint_deleted")


def fits(row: Row, why: str | None) -> bool:
    """Say whether a dead letter failed of this: its cause, its reason, its error, or `4xx`."""
    if why is None:
        return True
    words = {clean(row.get(name)) for name in ("cause", "reason", "error_code")}
    if at(row, "reason") == "permanent_4xx":
        words.add("4xx")
    return why in words
