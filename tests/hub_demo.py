"""`make demo-hub`: head office and two branches with emulated phones.

The connection is cut and comes back. With the hub on PostgreSQL a standby daemon takes over at the end.
"""

import argparse
import contextlib
import json
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.panel import Panel

from daemon.demo.shop import DemoError, DemoShop
from daemon.demo.story import Steps

WAIT_S: Final = 90.0
_LOOK_S: Final = 0.2
_NAMES: Final = ("kumasi", "tamale")
_BALANCE: Final = "momo hub status"


def run_demo(console: Console, store_url: str = "") -> int:
    """Run the demo; return the exit code. `store_url` is the hub's `[store] url`, empty for a file of its own."""
    folder = Path(tempfile.mkdtemp(prefix="momo-demo-hub-"))
    try:
        with contextlib.ExitStack() as stack:
            hub, standby, kumasi, tamale = (
                stack.enter_context(DemoShop(folder / name)) for name in ("hub", "standby", "kumasi", "tamale")
            )
            play = _Play(console, hub, {"kumasi": kumasi, "tamale": tamale}, store_url)
            play.run()
            if store_url:
                play.take_over(standby)
            play.end()
    except DemoError as error:
        console.print(f"[red]x[/red] {error}", highlight=False)
        return 1
    else:
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Play:
    """The steps, each shown with the command that does it."""

    def __init__(self, console: Console, hub: DemoShop, branches: dict[str, DemoShop], store_url: str) -> None:
        self._console = console
        self._hub = hub
        self._branches = branches
        self._store_url = store_url
        self._step = Steps(console)
        self._paid = 0

    def run(self) -> None:
        """Play all of them."""
        self._console.print(
            Panel.fit(
                "[bold]A customer pays at a branch for an order of head office.[/bold]\n"
                "Real daemons with their databases; only the phones are emulated.",
                title="momo demo-hub",
            )
        )
        lines = ["[store]", f"url = {json.dumps(self._store_url)}", ""] if self._store_url else []
        self._hub.home.mkdir(parents=True)
        (self._hub.home / "config.toml").write_text("\n".join(lines), encoding="utf-8")
        self._hub.set_up("Head office")
        address = self._hub.start_daemon(http=f"127.0.0.1:{_free_port()}", modem=False)
        self._hub.momo("hub", "init", "--yes")
        kept = "PostgreSQL" if self._store_url else "its own SQLite file"
        self._step("Head office is a hub", f"http://{address}, stored in {kept}", "momo hub init")
        for name, shop in self._branches.items():
            self._open_branch(name, shop, address)
        self._pay_online()
        self._pay_offline(address)
        self._own_order()

    def _open_branch(self, name: str, shop: DemoShop, address: str) -> None:
        shop.home.mkdir(parents=True)
        (shop.home / "config.toml").write_text("[trust]\nunconfirmed_limit = 1000\n", encoding="utf-8")
        shop.set_up(name.title())
        shop.start_phone()
        shop.start_daemon()
        shop.add_number("0244124566" if name == "kumasi" else "0244124577")
        word = self._hub.momo("hub", "invite", name)["data"]["word"]
        shop.momo("hub", "join", f"http://{address}", word)
        self._step(f"{name.title()} joins", "with a word that works once", f"momo hub join http://{address} WORD")

    def _order(self, shop: DemoShop, amount: str) -> dict[str, Any]:
        made: dict[str, Any] = shop.momo("init", amount, "--phone", "0244123456")["data"]
        return made

    def _pay(self, name: str, code: str, amount: str) -> None:
        self._paid += 1
        self._branches[name].receive_payment(code, amount, "Kofi Boateng", str(86_105_511_900 + self._paid))

    def _paid_at(self, shop: DemoShop, reference: str) -> bool:
        # Exit status 3: a copy that has not come yet.
        found = shop.momo("tx", "show", reference, accept=(0, 3))
        return bool(found["success"] and found["data"]["status"] == "SUCCESS")

    def _pay_online(self) -> None:
        order = self._order(self._hub, "25.00")
        self._step(
            "Head office takes an order", f"its code is [bold]{order['svc_code']}[/bold]: it begins with a digit",
            "momo init 25.00 --phone 0244123456",
        )  # fmt: skip
        self._pay("kumasi", order["svc_code"], "25.00")
        _wait(lambda: self._paid_at(self._hub, order["reference"]), "the order was not paid")
        self._step(
            "The customer pays at Kumasi's number", "Kumasi hands the payment up, and head office's order is paid",
            f"momo tx show {order['svc_code']}",
        )  # fmt: skip

    def _pay_offline(self, address: str) -> None:
        order = self._order(self._hub, "9.00")
        self._hub.stop_daemon()
        self._step("The connection is cut", "head office does not answer")
        self._pay("tamale", order["svc_code"], "9.00")
        tamale = self._branches["tamale"]
        _wait(lambda: self._status(tamale)["undecided"] == 1, "the payment was not handed up")
        self._step(
            "A customer pays at Tamale's number", "Tamale keeps it: head office will know when the connection is back",
            _BALANCE,
        )  # fmt: skip
        self._hub.start_daemon(http=address, modem=False)
        _wait(lambda: self._paid_at(self._hub, order["reference"]), "the order was not paid")
        self._step("The connection comes back", "and the order is paid, once", f"momo tx show {order['svc_code']}")

    def _own_order(self) -> None:
        kumasi = self._branches["kumasi"]
        order = self._order(kumasi, "12.00")
        self._pay("kumasi", order["svc_code"], "12.00")
        _wait(lambda: self._paid_at(self._hub, order["reference"]), "the hub has no copy")
        rows = self._hub.momo("hub", "status")["data"]
        seen = ", ".join(f"{row['name']} {row['payments_today']}" for row in rows)
        self._step(
            "Kumasi's own orders are decided at Kumasi",
            f"head office sees the payments of today: {seen}",
            "momo hub status",
        )

    def take_over(self, standby: DemoShop) -> None:
        """Kill the hub's daemon while a second one waits on the same database."""
        standby.home.mkdir(parents=True, mode=0o700)
        for name in ("config.toml", "master.key"):
            shutil.copy(self._hub.home / name, standby.home / name)
        standby.start_daemon(modem=False)
        _wait(lambda: _state(standby) == "standby", "the second daemon did not wait")
        self._step("A second daemon of head office waits on the same database", "it writes nothing", "momo status")
        made = self._order(self._hub, "7.00")
        self._hub.kill_daemon()
        began = time.perf_counter()
        _wait(lambda: _state(standby) == "ok", "the second daemon did not take over")
        took = time.perf_counter() - began
        if standby.momo("tx", "show", made["reference"])["data"]["svc_code"] != made["svc_code"]:
            raise DemoError("the order of the killed daemon is not there")
        self._step(
            "Head office's daemon is killed", f"the second one took over within {took:.1f} s, with every order",
            f"momo tx show {made['svc_code']}",
        )  # fmt: skip

    def end(self) -> None:
        """Say that it went well."""
        self._console.print("[green]✓[/green] [bold]Each payment was used once, whatever the line did.[/bold]")

    def _status(self, shop: DemoShop) -> dict[str, Any]:
        found: dict[str, Any] = shop.momo("hub", "status")["data"]
        return found


def _state(shop: DemoShop) -> str:
    return str(shop.momo("status")["data"]["state"])


def _wait(look: Callable[[], bool], what: str) -> None:
    ends = time.perf_counter() + WAIT_S
    while not look():
        if time.perf_counter() > ends:
            raise DemoError(what)
        time.sleep(_LOOK_S)  # noqa: TID251 -- a demo runs in real time


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def main() -> int:
    """Run the demo; `--store` is the hub's `[store] url`."""
    parser = argparse.ArgumentParser(prog="make demo-hub")
    parser.add_argument("--store", metavar="URL", default="")
    # SIGTERM ends the demo as Ctrl-C does, so that the clean-up runs.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run_demo(Console(highlight=False), parser.parse_args().store)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
