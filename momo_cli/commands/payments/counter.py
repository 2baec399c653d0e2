"""The commands tx replace and tx send-code, for a customer who lost the code or came too late."""

from typing import Final

from daemon.wire import Path
from momo_cli import exit_codes
from momo_cli.errors import Failure
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import Transaction
from momo_cli.show.answer import Answer, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, money
from momo_cli.socket.client import Client, path_of
from momo_cli.text import clean, warnings_of
from momo_cli.views.transactions import reference_of

_RESULTS: Final = {
    "queued": "The SMS with the code waits to be sent.",
    "sent_before": "The code was sent a second time before; it is not sent a third time.",
    "not_waiting": "The transaction is not waiting for money.",
    "switched_off": "The settings send no codes by SMS.",
    "no_line": "No line can send it now, or its limit of SMS is reached; `momo status` shows the lines.",
    "number_limit": "This number has had all the SMS that it may get within an hour (limits.sms_per_number_hour). Tell "
    "the customer the code.",
}


@command("tx replace", view=view_of("reference svc_code amount expires_at", id="reference"))
def replace(client: Client, terminal: Terminal, transaction: Transaction) -> Answer:
    """Replace an unpaid transaction by a new one.

    The old one is cancelled and a new one with the same amount and customer is made, in one step, so only the new code
    is valid. A payment that still comes with the old code is held for review. Exit 5: it is paid or held for review.

    Examples:
        momo tx replace 7KQ2MX
        momo tx replace 7KQ2MX --get data.svc_code
    """
    transaction = transaction.strip()
    try:
        reference = reference_of(client, transaction)
        reply = client.post_once(path_of(Path.LOCAL_REPLACE, reference=reference), {})
    except Failure as failure:
        failure.facts.setdefault("reference", transaction)
        raise
    row = reply.data
    lines = [
        f"{terminal.tick} {money(row.get('amount'), row.get('currency'))}: {clean(transaction)} is cancelled.",
        f"  CODE   {terminal.style(clean(row.get('svc_code')), 'bold')}",
        f"  ref    {clean(row.get('reference'))}",
        f"  until  {clock(row.get('expires_at'), terminal)}",
    ]
    new = clean(row.get("reference"))
    notes = warnings_of(reply.body) if terminal.human else ()
    return Answer(*reply.parts, lines=lines, notes=notes, next=[f"momo tx wait {new}"])


@command("tx send-code", view=view_of("reference result", id="reference"))
def send_code(client: Client, terminal: Terminal, transaction: Transaction) -> Answer:
    """Send the customer the SMS with the code again.

    For one transaction it is done once. Exit 6: it is not sent; the answer says why.

    Examples:
        momo tx send-code 7KQ2MX
    """
    transaction = transaction.strip()
    try:
        reference = reference_of(client, transaction)
        path = path_of(Path.LOCAL_SEND_CODE, reference=reference)
        reply = client.call("POST", path, body={})
    except Failure as failure:
        failure.facts.setdefault("reference", transaction)
        raise
    result = clean(reply.data.get("result"))
    sent = result == "queued"
    mark = terminal.tick if sent else terminal.style("!", "yellow")
    return Answer(
        *reply.parts,
        lines=[f"{mark} {_RESULTS.get(result, result)}"],
        exit_code=exit_codes.OK if sent else exit_codes.FINDINGS,
        next=[] if sent else [f"momo tx show {reference}"],
    )
