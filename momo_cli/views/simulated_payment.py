"""The call and the output shared by the commands that simulate payments."""

from typing import Any, Final

from daemon.wire import MessageState, Path
from momo_cli.show.answer import Answer, Row, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import money, state, styled
from momo_cli.socket.client import Client, Reply
from momo_cli.text import at, clean

SIMULATED_VIEW: Final = view_of(
    "message_id=message.id message_state=message.state reference=transaction.reference",
    "status=transaction.status actual_amount=transaction.actual_amount review_id=review.id",
    "review_reason=review.reason",
    id="message.id",
)


def simulate_sms(client: Client, body: dict[str, Any]) -> Reply:
    """Let the sandbox receive one simulated SMS."""
    return client.call("POST", Path.TEST_PAYMENTS, body=body, sandbox=True)


def simulated_answer(client: Client, terminal: Terminal, body: dict[str, Any]) -> Answer:
    """Let the sandbox receive one simulated SMS, and return the answer with the result."""
    reply = simulate_sms(client, body)
    message = reply.data.get("message") or {}
    status, sender = styled(state(message.get("state")), terminal), clean(message.get("sender"))
    found = [
        f"{status}  from {sender}  {terminal.style('(simulated: no real money)', 'dim')}",
        *(f"  {clean(line)}" for line in str(message.get("body") or "").splitlines()),
    ]
    paid = reply.data.get("transaction")
    if paid:
        amount = money(paid.get("actual_amount"), paid.get("currency"))
        kind = "transaction" if paid.get("origin") == "request" else "new transaction"
        target = f"→ {kind} {clean(paid.get('reference'))}"
        found.append(f"{target}  {styled(state(paid.get('status')), terminal)}  {amount}".rstrip())
    named = reply.data.get("request")
    if named and at(reply.data, "transaction.reference") != named.get("reference"):
        status = styled(state(named.get("status")), terminal)
        found.append(f"→ transaction {clean(named.get('reference'))}  {status}, not paid by it")
    if reply.data.get("review"):
        why = at(reply.data, "review.why") or at(reply.data, "review.reason")
        found.append(f"→ held for review: {clean(why)}")
    lines, following = found, _next(reply.data)
    return Answer(*reply.parts, lines=lines, next=following)


def _next(row: Row) -> list[str]:
    """Return the commands to type next."""
    if row.get("review"):
        return [f"momo review show {at(row, 'review.id')}"]
    if at(row, "transaction.reference"):
        return [f"momo tx show {at(row, 'transaction.reference')} --events"]
    if at(row, "message.state") == MessageState.UNPARSED:
        return ["momo messages list --state unparsed"]
    return []
