"""The command init: create a transaction for a customer to pay."""

import json
import os
from typing import Final

from daemon.wire import Path
from momo_cli import system
from momo_cli.errors import Failure, usage
from momo_cli.flags import Output
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import argument, flag, option
from momo_cli.inputs.typed_values import amount_of, only_given, read_json
from momo_cli.show.answer import Answer, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, drawn, money, phone
from momo_cli.socket.client import Client
from momo_cli.text import at, clean, warnings_of
from momo_cli.times import duration_s
from momo_cli.views.transactions import SHOW_VIEW, Goal, transaction_answer, wait_for

FILE: Final = "idem.ndjson"
"""The idempotency keys of calls, in the state folder; one JSON object per line."""
_NOT_PUBLIC: Final = "checkout_url "
"""The beginning of the daemon's warning that customers cannot open the checkout page."""
_NO_NUMBER: Final = "! No number of yours receives payments yet, so the customer cannot pay."
_PUBLISHED: Final = ("momo config set http.public_base_url https://...", "momo daemon restart")
_TOLD: Final = "checkout-not-public"
"""The file in the state folder that records that the warning was shown."""
KEPT: Final = 100
"""The number of keys kept; the file is shortened at twice as many."""
_VIEW: Final = view_of(
    "reference svc_code status amount currency expires_at checkout_url client_reference",
    "payer_sms_sent created_at",
    id="reference",
)


@command("init", view=lambda *, wait, **_: _VIEW if wait is None else SHOW_VIEW)
def init(
    client: Client,
    terminal: Terminal,
    amount: str = argument("AMOUNT", '12, 12.50 or "GHS 12.50".'),
    number: str | None = argument("[PHONE]", "The customer's number.", default=None),
    phone_number: str | None = option("--phone", "The customer's number, instead of PHONE."),
    name: str | None = option("The customer's name."),
    purpose: str | None = option("--for", "A description of the goods or service."),
    client_ref: str | None = option("Your own order number."),
    expires: str | None = option("1h to 24h; default: 24h."),
    webhook_url: str | None = option("Send a webhook to this address when paid."),
    redirect_url: str | None = option("The page for the customer after paying."),
    meta: str | None = option("JSON|@FILE", "A JSON object to store with the transaction."),
    expect_txid: str | None = option("Accept the payment with this network ID; no code is needed."),
    expect_payer: str | None = option("Payments from other numbers are held for review."),
    expect_payer_name: str | None = option(
        "--expect-payer-name",
        "--expected-payer-name",
        "The name to compare if a receipt has no number.",
    ),
    no_sms: bool = flag("Do not send the code to the customer."),
    idempotency_key: str | None = option("Makes a repeated call safe; default: a new key."),
    wait: str | None = option("[=10m]", "Wait until it is paid."),
    qr: bool = flag("Show the checkout page as a QR code."),
) -> Answer:
    """The customer types its code as the payment reference. AMOUNT is 12, 12.50 or "GHS 12.50". Without PHONE no SMS is sent, and
    the receipt tells the number. With --wait the command
    ends when the transaction is paid: exit 0 paid, 6 underpaid or ended otherwise, 8 not paid in time, 7 the daemon was
    away for 30 s (a restart ends no wait); the transaction stays open: momo tx wait REF. The idempotency
    key of the call is written to the state folder (idem.ndjson) before the call: repeated with --idempotency-key, the
    call creates no second transaction.

    Examples:
        momo init 12.50
        momo init 12.50 0244124567
        momo init 12.50 --phone 0244124567 --name "Kofi Boateng" --wait
        ref=$(momo init 12.50 --phone 0244124567 -o id)
        momo init 12.50 --phone 0244124567 --get data.svc_code
        momo init 12.50 --phone 0244124567 --qr
    """
    value, currency = amount_of(amount)
    if number is not None and phone_number is not None:
        raise usage("the customer's number is given twice, as PHONE and as --phone")
    phone_number = phone_number or number
    given = {
        "amount": value,
        "phone_number": phone_number,
        "currency": currency,
        "customer_name": name,
        "description": purpose,
        "client_reference": client_ref,
        "expires_in_hours": None if expires is None else _hours(expires),
        "webhook_url": webhook_url,
        "redirect_url": redirect_url,
        "meta": None if meta is None else read_json(meta, "--meta"),
        "expected_telco_transaction_id": expect_txid,
        "expected_payer_phone": expect_payer,
        "expected_payer_name": expect_payer_name,
        "send_sms_to_payer": False if no_sms else None,
    }
    if meta is not None and not isinstance(given["meta"], dict):
        raise usage('--meta must be a JSON object, like {"order": 17}')
    wait_s = None if wait is None else duration_s(wait, "--wait")
    key = idempotency_key or fresh_key(terminal, "init")
    try:
        body = only_given(given)
        reply = client.call("POST", Path.INITIALIZE, body=body, idempotency_key=key)
    except Failure as failure:
        if failure.facts.get("uncertain"):
            failure.message += f"; repeat it safely with --idempotency-key {key}"
        raise
    numbers = _numbers(client, terminal)
    row = reply.data
    amount = money(row.get("amount"), row.get("currency"))
    head = " · ".join(filter(None, (f"Transaction {amount}", name, phone(phone_number))))
    svc_code = terminal.style(clean(row.get("svc_code")), "bold")
    lines = [
        clean(head),
        f"  CODE   {svc_code}        (the customer types this as the reference)",
        *(f"  to     {number}" for number in numbers or ()),
        f"  ref    {clean(row.get('reference'))}",
        f"  until  {clock(row.get('expires_at'), terminal)}",
    ]
    if row.get("checkout_url"):
        lines.append(f"  page   {clean(row['checkout_url'])}")
        if qr:
            lines += drawn(clean(row["checkout_url"]), terminal)
    sent = f"  sms    the code is sent to {phone(phone_number)}"
    lines += [sent] if row.get("payer_sms_sent") else []
    notes = warnings_of(reply.body)
    # The warning about the address of the page comes once per shop; `meta.warnings` of the document has all.
    unpublished = any(_NOT_PUBLIC in text for text in notes)
    if unpublished and (terminal.output is Output.JSON or _told(terminal)):
        notes = [text for text in notes if _NOT_PUBLIC not in text]
    unready = numbers == [] and not client.sandbox
    notes += [_NO_NUMBER] if unready else []
    if wait_s is None:
        first = ["momo lines"] if unready else []
        first += _PUBLISHED if any(_NOT_PUBLIC in note for note in notes) else ()
        pay = [f"momo simulate payment --order {row['svc_code']}"] if client.sandbox else []
        following = [f"momo tx {verb} {row['reference']}" for verb in ("watch", "wait")]
        return Answer(*reply.parts, lines=lines, notes=notes, next=[*first, *pay, *following])
    for line in (*lines, *notes, "Waiting for the payment… (Ctrl-C leaves the transaction open)"):
        terminal.note(line)
    paid, code = wait_for(client, row["reference"], goal=Goal.PAID, limit_s=wait_s, answered=True)
    return transaction_answer(paid, terminal, exit_code=code)


def _numbers(client: Client, terminal: Terminal) -> list[str] | None:
    """Return each number to pay to for a person, as `024 412 4567, MTN, Ama Mensah`; None if that is not known."""
    if not terminal.human:
        return None
    try:
        rows = client.call("GET", Path.PAYMENT_METHODS).data or ()
    except Failure:
        return None  # the transaction exists all the same
    facts = [
        (
            phone(row.get("phone_number")),
            clean(at(row, "sim.network")),
            clean(row.get("account_name")),
        )
        for row in rows
        if row.get("sim") and row.get("is_active")
    ]
    return [", ".join(filter(None, of_one)) for of_one in facts]


def _told(terminal: Terminal) -> bool:
    """Return whether the warning was shown before, and record that it is shown now."""
    folder = terminal.located.places.state
    try:
        system.make_own_folder(folder)
        os.close(system.open_own(f"{folder}/{_TOLD}", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return True
    except OSError:
        return False
    return False


def _hours(text: str) -> int:
    """Return whole hours, rounded up; the daemon checks the range."""
    seconds = duration_s(text if not text.isdigit() else f"{text}h", "--expires")
    return -int(-seconds // 3600)


def fresh_key(terminal: Terminal, command: str) -> str:
    """Return a new idempotency key, after writing it with the time and the command to the state folder.

    A failed write is only a note on stderr: a full disk must not prevent payments.
    """
    key = system.new_key()
    folder = terminal.located.places.state
    row = {"at": f"{terminal.now():%Y-%m-%dT%H:%M:%SZ}", "command": command, "key": key}
    try:
        system.make_own_folder(folder)
        path = f"{folder}/{FILE}"
        with os.fdopen(system.open_own(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "r+") as file:
            file.write(f"{json.dumps(row)}\n")
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            lines = file.readlines()
        if len(lines) >= 2 * KEPT:
            shorter = f"{path}.new"
            with os.fdopen(
                system.open_own(shorter, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w"
            ) as file:
                file.writelines(lines[-KEPT:])
            os.replace(shorter, path)  # noqa: PTH105  # the same
    except OSError as problem:
        terminal.note(f"! The key of this call could not be kept: {problem.strerror}.")
    return key
