"""What the commands about SMS share: fields, the table, the lines of one message."""

from typing import Final

from daemon.wire import MessageState
from momo_cli.answer import Field, Head, Row, View
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import ago, clock, money, state, styled, tested

VIEW: Final = View(
    fields=(
        Field("id"),
        Field("state"),
        Field("kind"),
        Field("provider"),
        Field("sender"),
        Field("line"),
        Field("device_id"),
        Field("amount", "fields.amount"),
        Field("telco_transaction_id", "fields.transaction_id"),
        Field("trusted"),
        Field("payment_id"),
        Field("smsc_ts"),
        Field("received_at"),
    ),
    heads=(
        Head("STATE", lambda row, _: tested(state(row.get("state")), row)),
        Head("FROM", lambda row, _: clean(row.get("sender"))),
        Head("KIND", lambda row, _: clean(row.get("kind")).replace("_", " ") or "—"),
        Head("AMOUNT", lambda row, _: money(at(row, "fields.amount")) or "—", right=True),
        Head("WHY", lambda row, _: why(row)),
        Head("WHEN", lambda row, t: ago(row.get("received_at"), t)),
        Head("ID", lambda row, _: clean(row.get("id")), cut=True),
    ),
)


def why(row: Row) -> str:
    """Return the reasons of a message that is not simply a payment, and how many parts it has."""
    reasons = row.get("reasons")
    said = (
        [clean(reason).replace("_", " ") for reason in reasons] if isinstance(reasons, list) else []
    )
    if row.get("state") == MessageState.INCOMPLETE and at(row, "parts.total"):
        said.insert(0, f"{at(row, 'parts.seen')} of {at(row, 'parts.total')} parts")
    return ", ".join(said)


def lines(row: Row, terminal: Terminal) -> list[str]:
    """Return one message as a person reads it."""
    found = [
        f"{styled(tested(state(row.get('state')), row), terminal)}  from {clean(row.get('sender')) or '—'}"
    ]
    trusted = row.get("trusted")
    told = [
        ("kind", clean(row.get("kind"))),
        ("network", clean(row.get("provider"))),
        ("trusted", "" if trusted is None else "yes" if trusted else "no"),
        ("why", why(row)),
        ("line", clean(row.get("line"))),
        ("sent", clock(row.get("smsc_ts"), terminal)),
        ("stored", clock(row.get("received_at"), terminal)),
        ("payment", clean(row.get("payment_id"))),
        ("id", clean(row.get("id"))),
    ]
    fields = row.get("fields")
    if isinstance(fields, dict):
        told += [(clean(name), clean(value)) for name, value in fields.items() if value is not None]
    width = max(len(name) for name, value in told if value) if any(v for _, v in told) else 0
    found += [f"  {name:<{width}}  {value}" for name, value in told if value]
    if row.get("body") is not None:
        found += ["", *(f"  | {clean(line)}" for line in str(row["body"]).splitlines())]
    return found
