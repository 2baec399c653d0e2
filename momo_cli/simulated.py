"""What the commands that make up payments share: the call, and how its answer is shown."""

from typing import Any, Final

from daemon.wire import Path
from momo_cli.answer import Field, Row, View
from momo_cli.client import Client, Reply
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import money, state, styled

FIELDS: Final = (
    Field("message_id", "message.id"),
    Field("message_state", "message.state"),
    Field("reference", "transaction.reference"),
    Field("status", "transaction.status"),
    Field("actual_amount", "transaction.actual_amount"),
    Field("review_id", "review.id"),
    Field("review_reason", "review.reason"),
)
VIEW: Final = View(fields=FIELDS, id="message.id")


def ask(client: Client, body: dict[str, Any]) -> Reply:
    """Let the sandbox's network send one SMS."""
    return client.call("POST", Path.TEST_PAYMENTS, body=body, sandbox=True)


def lines(row: Row, terminal: Terminal) -> list[str]:
    """Return what became of it, for people."""
    message = row.get("message") or {}
    said, sender = styled(state(message.get("state")), terminal), clean(message.get("sender"))
    found = [
        f"{said}  from {sender}  {terminal.style('(made up: no real money)', 'dim')}",
        *(f"  {clean(line)}" for line in str(message.get("body") or "").splitlines()),
    ]
    paid = row.get("transaction")
    if paid:
        amount = money(paid.get("actual_amount"), paid.get("currency"))
        kind = "order" if paid.get("origin") == "request" else "sale of its own"
        said = f"→ {kind} {clean(paid.get('reference'))}"
        found.append(f"{said}  {styled(state(paid.get('status')), terminal)}  {amount}".rstrip())
    named = row.get("request")
    if named and at(row, "transaction.reference") != named.get("reference"):
        status = styled(state(named.get("status")), terminal)
        found.append(f"→ order {clean(named.get('reference'))}  {status}, not paid by it")
    if row.get("review"):
        found.append(f"→ waits for a person: {clean(at(row, 'review.reason'))}")
    return found


def next_commands(row: Row) -> list[str]:
    """Return what to type next."""
    if row.get("review"):
        return [f"momo review show {at(row, 'review.id')}"]
    if at(row, "transaction.reference"):
        return [f"momo tx show {at(row, 'transaction.reference')} --events"]
    return []
