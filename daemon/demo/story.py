"""`momo demo`: show one payment from SMS to verified webhook, with the real programs and an example receiver of a shop."""

import datetime
import http.server
import json
import queue
import shutil
import ssl
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from rich.console import Console
from rich.panel import Panel

from daemon.core.limits import SECOND_US
from daemon.core.webhooks.signature_check import check
from daemon.demo.shop import DemoError, DemoShop
from daemon.runtime import own_certificate
from daemon.runtime.own_certificate import MachineNames


class Received(Struct, frozen=True):
    """One received webhook."""

    event: str
    webhook_id: str
    verified: bool
    data: dict[str, Any]
    headers: dict[str, str]


class DemoReceiver:
    """An HTTPS server on loopback in a thread, with a certificate of its own; the daemon must trust `ca_file`."""

    def __init__(self, folder: Path, now: datetime.datetime) -> None:
        self.secret = ""
        self.received: queue.Queue[Received] = queue.Queue()
        self.ca_file = str(folder / "receiver-ca.pem")
        home = str(folder / "receiver")
        Path(home).mkdir()
        own_certificate.create(home, (), MachineNames("", ()), int(now.timestamp()))
        Path(self.ca_file).write_bytes(own_certificate.ca_certificate(home))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(own_certificate.server_file(home))
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # the name is required by http.server
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                status = receiver._take(dict(self.headers), body)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                """Suppress the log: the demo prints its own output."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://localhost:{self._server.server_address[1]}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def _take(self, raw_headers: dict[str, str], body: bytes) -> int:
        headers = {name.lower(): value for name, value in raw_headers.items()}
        at = headers.get("webhook-timestamp", "0")
        now_us = int(at) * SECOND_US if at.isdigit() else 0
        verified = check(headers, body, [self.secret], now_us).valid
        envelope = json.loads(body)
        self.received.put(Received(envelope["type"], envelope["webhook_id"], verified, envelope["data"], headers))
        return 200 if verified else 401


AMOUNT: Final = "25.00"
CUSTOMER: Final = "Kofi Boateng"
CUSTOMER_PHONE: Final = "0244123456"
SHOP_PHONE: Final = "0244124567"
TELCO_ID: Final = "86105511902"
WAIT_S: Final = 60.0
"""Two polls: a phone that does not announce messages is polled every 30 s."""


def run_demo(console: Console, *, keep: bool = False) -> int:
    """Run the demo; return the exit code. With `keep` the shop runs on after the demo."""
    folder = Path(tempfile.mkdtemp(prefix="momo-demo-"))
    try:
        with DemoShop(folder) as shop:
            return _play(shop, folder, console, keep=keep)
    except DemoError as error:
        console.print(f"[red]x[/red] {error}", highlight=False)
        return 1
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _play(shop: DemoShop, folder: Path, console: Console, *, keep: bool) -> int:
    console.print(
        Panel.fit(
            "[bold]A customer pays a shop by mobile money.[/bold]\n"
            "Real daemon, real database, real SMS bytes over a serial port; only the phone is emulated.",
            title="momo demo",
        )
    )
    step = Steps(console)
    receiver = DemoReceiver(folder, datetime.datetime.now(datetime.UTC))  # noqa: TID251 -- a demo runs in real time
    try:
        _open_shop(shop, receiver, step)
        transaction: dict[str, Any] = shop.momo("init", AMOUNT, "--phone", CUSTOMER_PHONE, "--name", CUSTOMER)["data"]
        step(
            f"{CUSTOMER} owes GHS {AMOUNT}",
            f"and types the payment code [bold]{transaction['svc_code']}[/bold] as the reference of the payment",
            f"momo init {AMOUNT} --phone {CUSTOMER_PHONE} --name '{CUSTOMER}'",
        )
        received = _pay(shop, receiver, transaction["svc_code"], step)
        paid = shop.momo("tx", "show", transaction["reference"])["data"]
        step(
            f"The transaction is {paid['status']}",
            f"received {paid['actual_amount']} of {paid['expected_amount']}, MTN transaction {paid['telco']['transaction_id']}",
            f"momo tx show {transaction['svc_code']}",
        )
        _show(console, received)
        if not received.verified:
            raise DemoError("a signature did not verify")
        console.print("[green]✓[/green] [bold]Paid, recorded, and sent to the shop's software.[/bold]")
        if keep:
            _keep(shop, console, transaction["reference"])
        return 0
    finally:
        receiver.stop()


def _open_shop(shop: DemoShop, receiver: DemoReceiver, step: "Steps") -> None:
    """Create the shop, start phone and daemon, and register the merchant number and the web server."""
    shop.write_config(receiver.ca_file)
    shop.set_up("Ama Provisions")
    step("The shop is set up", "Ama Provisions, with its own database and keys", "momo setup --shop 'Ama Provisions'")
    shop.start_phone()
    step("A phone is plugged in", "an emulated USB modem with an MTN Ghana SIM")
    address = shop.start_daemon()
    step("The daemon is running", f"its API listens on http://{address}", "momo daemon start")
    phone, method = shop.add_number(SHOP_PHONE)
    step(
        "The shop's number is on the SIM",
        f"{method['phone_number']} ({method['provider_name']}) in {phone}",
        f"momo lines add {SHOP_PHONE} --provider momo_mtn --name 'Ama Mensah' --sim {phone}:0",
    )
    receiver.secret = shop.momo("endpoints", "add", receiver.url)["secret"]
    step("The shop's web server receives webhooks", receiver.url, f"momo endpoints add {receiver.url}")


def _pay(shop: DemoShop, receiver: DemoReceiver, code: str, step: "Steps") -> Received:
    started = time.perf_counter()
    text, parts = shop.receive_payment(code, AMOUNT, CUSTOMER, TELCO_ID)
    step("The customer paid", f"MTN's receipt arrives as an SMS of {parts} parts:\n  [dim]{text}[/dim]")
    received = _wait_for(receiver)
    took_ms = (time.perf_counter() - started) * 1000
    step(
        "The web server received a signed webhook",
        f"within {took_ms:.0f} ms of the SMS; a new daemon's first delivery loads its web client",
    )
    return received


class Steps:
    """Prints each step with its number and the equivalent command."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._number = 0

    def __call__(self, what: str, detail: str, command: str = "") -> None:
        """Print one step."""
        self._number += 1
        self._console.print(f"[green]✓[/green] [bold]{self._number}. {what}[/bold]\n  {detail}", highlight=False)
        if command:
            print_command(self._console, command)


def print_command(console: Console, command: str) -> None:
    """Print a command on one line, however wide the terminal is: it is there to be copied."""
    console.print(f"  [cyan]$ {command}[/cyan]", highlight=False, soft_wrap=True)


def _wait_for(receiver: DemoReceiver) -> Received:
    try:
        return receiver.received.get(timeout=WAIT_S)
    except queue.Empty:
        raise DemoError(f"no webhook arrived within {WAIT_S:.0f} s") from None


def _show(console: Console, item: Received) -> None:
    data = item.data
    mark = "[green]signature verified[/green]" if item.verified else "[red]SIGNATURE WRONG[/red]"
    console.print("\n  [bold]What the web server received[/bold]")
    console.print(
        f"  {item.event:<24}{data['currency']} {data['actual_amount']} from {data['payer']['name']}, "
        f"{data['status']}, {mark}\n  [dim]{item.webhook_id}[/dim]\n"
    )


def _keep(shop: DemoShop, console: Console, reference: str) -> None:
    console.print(
        f"\nThe shop keeps running. In another terminal:\n"
        f"  [cyan]export MOMO_HOME={shop.home}[/cyan]\n"
        f"  [cyan]momo status[/cyan]\n"
        f"  [cyan]momo tx show {reference}[/cyan]\n"
        f"  [cyan]momo init 12.50 --phone {CUSTOMER_PHONE}[/cyan]\n"
        f"  [cyan]momo deliveries list[/cyan]\n"
        f"Stop it here with Ctrl-C, and remove it with: rm -r {shop.home}",
        highlight=False,
        soft_wrap=True,
    )
    shop.wait()
