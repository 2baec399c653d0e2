"""`momo demo`: one payment from SMS to verified webhook, with the real programs, told as it happens."""

import datetime
import queue
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.panel import Panel

from daemon.core import sandbox
from daemon.demo.receiver import Received, Receiver
from daemon.demo.shop import DemoError, Shop
from daemon.modem.pdu import encode_deliver
from parsers.money import read_api_amount
from parsers.when import to_us

AMOUNT: Final = "25.00"
CUSTOMER: Final = "Kofi Boateng"
CUSTOMER_PHONE: Final = "0244123456"
SHOP_PHONE: Final = "0244124567"
SMSC: Final = "+233244500000"
TELCO_ID: Final = "86105511902"
WAIT_S: Final = 60.0
"""A phone that announces nothing is polled each 30 s."""


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """`momo demo`."""

    keep: bool = False
    """Leave the shop running to play with."""
    phone: str = "generic"
    """The make of the emulated phone."""
    faults: tuple[str, ...] = ()
    """What goes wrong with it from the start."""


def tell(options: DemoOptions, console: Console) -> int:
    """Play the demo; returns the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="momo-demo-"))
    try:
        with Shop(folder) as shop:
            return _play(shop, folder, options, console)
    except DemoError as error:
        console.print(f"[red]x[/red] {error}", highlight=False)
        return 1
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def _play(shop: Shop, folder: Path, options: DemoOptions, console: Console) -> int:
    console.print(
        Panel.fit(
            "[bold]A customer pays a shop by mobile money.[/bold]\n"
            "Real daemon, real database, real SMS bytes over a serial port; only the phone is emulated.",
            title="momo demo",
        )
    )
    step = _Steps(console)
    receiver = Receiver(folder, datetime.datetime.now(datetime.UTC))  # noqa: TID251 -- a person watches this clock
    try:
        _open_shop(shop, receiver, options, step)
        request = _ask_for_money(shop, step)
        received = _pay(shop, receiver, request["svc_code"], step)
        paid = shop.momo("tx", "show", request["reference"])["data"]
        step(
            f"The request is {paid['status']}",
            f"received {paid['actual_amount']} of {paid['expected_amount']}, MTN transaction {paid['telco']['transaction_id']}",
            f"momo tx show {request['svc_code']}",
        )
        _show(console, received)
        if not all(item.verified for item in received):
            raise DemoError("a signature did not verify")
        console.print(
            "[green]✓[/green] [bold]Paid, recorded, and told to the shop's software.[/bold]"
        )
        if options.keep:
            _keep(shop, console, request["reference"])
        return 0
    finally:
        receiver.stop()


def _open_shop(shop: Shop, receiver: Receiver, options: DemoOptions, step: "_Steps") -> None:
    """Make the shop, plug the phone in, and put number and web server in their places."""
    shop.write_config(receiver.ca_file)
    shop.set_up("Ama Provisions")
    step(
        "A shop was made",
        "Ama Provisions, with its own database and keys",
        "momo setup --shop 'Ama Provisions'",
    )
    shop.start_phone(options.phone, options.faults)
    wrong = f", with {', '.join(options.faults)}" if options.faults else ""
    step(
        "A phone was plugged in",
        f"an emulated USB modem ({options.phone}{wrong}) with an MTN Ghana SIM",
    )
    address = shop.start_daemon()
    step("The daemon is running", f"its API listens on http://{address}", "momo daemon start")
    phone = shop.momo("sims", "list", "--wait=30s")["data"][0]
    method = shop.momo(
        "methods", "add", "--provider", "momo_mtn", "--phone", SHOP_PHONE, "--name", "Ama Mensah",
        "--sim", f"{phone['device_id']}:{phone['sims'][0]['slot_index']}",
    )["data"]  # fmt: skip
    step(
        "The shop's number is on the SIM",
        f"{method['phone_number']} ({method['provider_name']}) in {phone['name']}",
        f"momo methods add --provider momo_mtn --phone {SHOP_PHONE} --name 'Ama Mensah' --sim {phone['name']}:0",
    )
    receiver.secret = shop.momo("endpoints", "add", receiver.url)["secret"]
    step(
        "The shop's web server hears of payments",
        receiver.url,
        f"momo endpoints add {receiver.url}",
    )


def _ask_for_money(shop: Shop, step: "_Steps") -> dict[str, Any]:
    """Make the payment request and return it."""
    request: dict[str, Any] = shop.momo(
        "init", AMOUNT, "--phone", CUSTOMER_PHONE, "--name", CUSTOMER
    )["data"]
    step(
        f"{CUSTOMER} owes GHS {AMOUNT}",
        f"and types the code [bold]{request['svc_code']}[/bold] as the reference of the payment",
        f"momo init {AMOUNT} --phone {CUSTOMER_PHONE} --name '{CUSTOMER}'",
    )
    return request


def _receipt(code: str, now: datetime.datetime) -> str:
    """Return MTN's receipt for an on-net payment, as it reads in 2026."""
    amount_minor = read_api_amount(AMOUNT)
    assert amount_minor is not None, "it is a decimal of our own"
    return sandbox.text(
        sandbox.SandboxPayment(
            provider="momo_mtn",
            amount_minor=amount_minor,
            currency="GHS",
            telco_id=TELCO_ID,
            reference_text=code,
            payer_name=CUSTOMER.upper(),
            payer_phone=None,
            at_us=to_us(now),
        )
    )


def _pay(shop: Shop, receiver: Receiver, code: str, step: "_Steps") -> list[Received]:
    """Let the network deliver the receipt, and return the webhooks that came of it."""
    now = datetime.datetime.now(datetime.UTC)  # noqa: TID251 -- the network's clock, in a demo
    text = _receipt(code, now)
    pdus = encode_deliver(sandbox.sender("momo_mtn"), text, now, smsc=SMSC, reference=77)
    started = time.perf_counter()
    shop.deliver_sms(pdus)
    step(
        "The customer paid",
        f"MTN's receipt arrives as an SMS of {len(pdus)} parts:\n  [dim]{text}[/dim]",
    )
    received = _wait_for(receiver)
    took_ms = (time.perf_counter() - started) * 1000
    step(
        "The web server got signed webhooks",
        f"both within {took_ms:.0f} ms of the SMS; a new daemon's first delivery loads its web client",
    )
    return received


class _Steps:
    """Prints what happened, numbered, and the command that does the same."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._number = 0

    def __call__(self, what: str, detail: str, command: str = "") -> None:
        self._number += 1
        self._console.print(
            f"[green]✓[/green] [bold]{self._number}. {what}[/bold]\n  {detail}", highlight=False
        )
        if command:
            self._console.print(f"  [cyan]$ {command}[/cyan]", highlight=False)


def _wait_for(receiver: Receiver) -> list[Received]:
    """Return the webhooks of the payment: the forwarded and the completed one."""
    received: list[Received] = []
    try:
        while len(received) < 2:
            received.append(receiver.received.get(timeout=WAIT_S))
    except queue.Empty:
        raise DemoError(
            f"only {len(received)} of 2 webhooks arrived within {WAIT_S:.0f} s"
        ) from None
    return received


def _show(console: Console, received: list[Received]) -> None:
    """Print what the web server was told, one webhook under the other: ids must not be cut."""
    console.print("\n  [bold]What the web server received[/bold]")
    for item in received:
        data = item.data
        mark = (
            "[green]signature verified[/green]" if item.verified else "[red]SIGNATURE WRONG[/red]"
        )
        console.print(
            f"  {item.event:<24}{data['currency']} {data['actual_amount']} from {data['payer']['name']}, "
            f"{data['status']}, {mark}\n  [dim]{item.webhook_id}[/dim]"
        )
    console.print()


def _keep(shop: Shop, console: Console, reference: str) -> None:
    console.print(
        f"\nThe shop goes on running. In another terminal:\n"
        f"  [cyan]export MOMO_HOME={shop.home}[/cyan]\n"
        f"  [cyan]momo status[/cyan]\n"
        f"  [cyan]momo tx show {reference}[/cyan]\n"
        f"  [cyan]momo init 12.50 --phone {CUSTOMER_PHONE}[/cyan]\n"
        f"  [cyan]momo deliveries list[/cyan]\n"
        f"Stop it here with Ctrl-C, and remove it with: rm -r {shop.home}",
        highlight=False,
    )
    shop.wait()
