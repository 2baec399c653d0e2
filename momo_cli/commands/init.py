"""Ask a customer for money: makes an order with a code that the customer types as the reference.

AMOUNT is 12, 12.50 or "GHS 12.50". With --wait the command ends when the money is in: exit 0 paid,
6 paid short or ended otherwise, 8 not paid in time. The key of the call is kept in the state folder (idem.ndjson)
before it is made: with --idempotency-key it can be repeated, and makes no second order.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import orders
from momo_cli.amounts import amount_of, json_object
from momo_cli.answer import Answer, Call, Field, Row, View
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.idempotency import fresh_key
from momo_cli.terminal import Terminal
from momo_cli.text import clean, warnings_of
from momo_cli.times import duration_s
from momo_cli.words import clock, money, phone

EXAMPLES: Final = """\
  momo init 12.50 --phone 0244124567
  momo init 12.50 --phone 0244124567 --name "Kofi Boateng" --wait
  ref=$(momo init 12.50 --phone 0244124567 -o id)
  momo init 12.50 --phone 0244124567 --get data.svc_code
  momo init 12.50 --phone 0244124567 --qr
"""
VIEW: Final = View(
    fields=tuple(
        Field(name)
        for name in (
            "reference",
            "svc_code",
            "status",
            "amount",
            "currency",
            "expires_at",
            "checkout_url",
            "client_reference",
            "payer_sms_sent",
            "created_at",
        )
    ),
    id="reference",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo init`."""

    body: dict[str, Any]
    idempotency_key: str | None
    wait_s: float | None
    sandbox: bool
    qr: bool


_RedirectUrl = Annotated[str | None, typer.Option(help="Where the customer goes after paying.")]
_Meta = Annotated[
    str | None,
    typer.Option(metavar="JSON|@FILE", help="A JSON object to keep with it."),
]
_ExpectTxid = Annotated[
    str | None, typer.Option(help="Take the payment with this ID, without a code.")
]
_ExpectPayer = Annotated[
    str | None,
    typer.Option(help="Payments from other numbers are held for review."),
]
_ExpectPayerName = Annotated[
    str | None,
    typer.Option(
        "--expect-payer-name",
        "--expected-payer-name",
        help="The name that stands for that number where a receipt has none.",
    ),
]
_NoSms = Annotated[bool, typer.Option("--no-sms", help="Do not send the code to the customer.")]
_Sandbox = Annotated[
    bool, typer.Option("--sandbox", help="No real money: pay it with momo simulate payment.")
]
_IdempotencyKey = Annotated[
    str | None, typer.Option(help="Repeat a call safely; made afresh if not given.")
]
_Wait = Annotated[str | None, typer.Option(metavar="[=10m]", help="Wait until it is paid.")]
_Qr = Annotated[bool, typer.Option("--qr", help="Draw the customer's page as a QR code to scan.")]


def command(  # noqa: PLR0913, PLR0917  # one argument per flag
    amount: Annotated[str, typer.Argument(metavar="AMOUNT", help='12, 12.50 or "GHS 12.50".')],
    phone_number: Annotated[str, typer.Option("--phone", help="The customer's number.")],
    name: Annotated[str | None, typer.Option(help="The customer's name.")] = None,
    purpose: Annotated[str | None, typer.Option("--for", help="What it is for.")] = None,
    client_ref: Annotated[str | None, typer.Option(help="Your own reference.")] = None,
    expires: Annotated[str | None, typer.Option(help="1h to 24h; 24h if not said.")] = None,
    webhook_url: Annotated[str | None, typer.Option(help="Tell this address when paid.")] = None,
    redirect_url: _RedirectUrl = None,
    meta: _Meta = None,
    expect_txid: _ExpectTxid = None,
    expect_payer: _ExpectPayer = None,
    expect_payer_name: _ExpectPayerName = None,
    no_sms: _NoSms = False,
    sandbox: _Sandbox = False,
    idempotency_key: _IdempotencyKey = None,
    wait: _Wait = None,
    qr: _Qr = False,
) -> Call:
    """Read the flags."""
    value, currency = amount_of(amount)
    body: dict[str, Any] = {
        "amount": value,
        "phone_number": phone_number,
        "currency": currency,
        "customer_name": name,
        "description": purpose,
        "client_reference": client_ref,
        "expires_in_hours": None if expires is None else _hours(expires),
        "webhook_url": webhook_url,
        "redirect_url": redirect_url,
        "meta": None if meta is None else json_object(meta, "--meta"),
        "expected_telco_transaction_id": expect_txid,
        "expected_payer_phone": expect_payer,
        "expected_payer_name": expect_payer_name,
        "send_sms_to_payer": False if no_sms else None,
    }
    given = {key: said for key, said in body.items() if said is not None}
    wait_s = None if wait is None else duration_s(wait, "--wait")
    view = VIEW if wait is None else orders.SHOW_VIEW
    return Call(run, Options(given, idempotency_key, wait_s, sandbox, qr), view)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Make the order; with --wait, see it through."""
    key = options.idempotency_key or fresh_key(terminal, "init")
    try:
        reply = client.call(
            "POST",
            Path.INITIALIZE,
            body=options.body,
            idempotency_key=key,
            sandbox=options.sandbox,
        )
    except Failure as failure:
        if failure.facts.get("uncertain"):
            failure.message += f"; repeat it safely with --idempotency-key {key}"
        raise
    row = reply.data
    if options.wait_s is None:
        return Answer(
            document=reply.text,
            rows=[row],
            lines=_lines(row, options, terminal),
            notes=warnings_of(reply.body),
            next=[
                *([f"momo simulate payment --order {row['svc_code']}"] if options.sandbox else []),
                f"momo tx watch {row['reference']}",
                f"momo tx wait {row['reference']}",
            ],
        )
    for line in (
        *_lines(row, options, terminal),
        "Waiting for the money… (Ctrl-C leaves it open)",
    ):
        terminal.note(line)
    paid, code = orders.wait_for(
        client, row["reference"], goal=orders.Goal.PAID, limit_s=options.wait_s
    )
    return orders.shown(paid, terminal, exit_code=code)


def _hours(text: str) -> int:
    """Return whole hours, rounded up; the daemon says which are allowed."""
    seconds = duration_s(text if not text.isdigit() else f"{text}h", "--expires")
    return -int(-seconds // 3600)


def _lines(row: Row, options: Options, terminal: Terminal) -> list[str]:
    who = [options.body.get("customer_name"), phone(options.body["phone_number"])]
    head = " · ".join(
        [
            "Payment request " + money(row.get("amount"), row.get("currency")),
            *filter(None, who),
        ]
    )
    code = terminal.style(clean(row.get("svc_code")), "bold")
    found = [
        clean(head),
        f"  CODE   {code}        (the customer types this as the reference)",
        f"  ref    {clean(row.get('reference'))}",
        f"  until  {clock(row.get('expires_at'), terminal)}",
    ]
    if row.get("checkout_url"):
        found.append(f"  page   {clean(row['checkout_url'])}")
        if options.qr:
            from momo_cli.qr import drawn  # noqa: PLC0415  # only --qr needs to draw one

            found += drawn(clean(row["checkout_url"]), terminal)
    if row.get("payer_sms_sent"):
        found.append("  The code is on its way to the customer by SMS.")
    return found
