"""The rest of `momo setup`: from a shop on the disk to a first practice payment, one step after the other.

Each step looks whether it is done, does what the flags say, and else asks, once: what a person put off is remembered
in `state/setup.json` and named with what to type. A step that fails is told and the next one goes on.
"""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from daemon.wire import Path
from momo_cli import system
from momo_cli.answer import Row
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.process import ask
from momo_cli.run_flags import run_flags
from momo_cli.running import start
from momo_cli.service_setup import agreed, switch_on
from momo_cli.services import check_place, read, service_for, write
from momo_cli.setup_memory import put_off, remember
from momo_cli.setup_phone import add_number, called, modems, sims, wait_for_sim
from momo_cli.setup_wishes import BINDS, Wishes
from momo_cli.simulated import ask as pay
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import phone

START_S: Final = 30.0
PROVIDERS: Final = {"mtn": "momo_mtn", "telecel": "momo_telecel", "at": "momo_at"}
_PRACTICE_NUMBER: Final = "0244000000"
MARKS: Final = {
    "done": ("✓", "green"),
    "skipped": ("—", "dim"),
    "needs_action": ("!", "yellow"),
    "failed": ("✗", "red"),
}


@dataclass(slots=True)
class Wizard:
    """One run. `steps` holds what came of each, as the document of `momo setup` lists them."""

    client: Client
    terminal: Terminal
    wishes: Wishes
    asks: bool
    """There is a person to ask."""
    steps: list[Row] = field(default_factory=list)
    _settings: dict[str, Any] = field(default_factory=dict)
    _restart: bool = False
    """A setting was changed under a daemon that runs."""

    def run(self) -> None:
        """Go through all steps."""
        steps: tuple[tuple[str, Callable[[], Row]], ...] = (
            ("The address", self._http),
            ("Start with the machine", self._service),
            ("The daemon", self._daemon),
            ("The phone", self._phone),
            ("The number", self._number),
            ("Your own program", self._endpoint),
            ("A practice payment", self._practice),
        )
        for number, (title, step) in enumerate(steps, 2):
            self._say(f"\n{self._bold(f'{number} of {len(steps) + 1}')}  {self._bold(title)}")
            try:
                row = step()
            except Failure as failure:
                name = step.__name__.removeprefix("_")
                fix = failure.next[0] if failure.next else "momo setup"
                row = self._row(name, "failed", failure.message or failure.code, fix)
            self.steps.append(row)
            self.tell(row)

    def tell(self, row: Row) -> None:
        """Show what came of a step, and what to type when it is not done."""
        mark, style = MARKS.get(str(row["status"]), ("?", ""))
        said = self.terminal.style(mark, style, message=True)
        detail = clean(row.get("detail") or row["id"])
        room = max(min(self.terminal.width, 100) - 4, 20)
        self._say(f"  {said} " + "\n    ".join(textwrap.wrap(detail, room)))
        if row.get("fix"):
            self._say(f"      {clean(row['fix'])}")

    # The steps.

    def _http(self) -> Row:
        wish = self.wishes
        bind, public = self._get("http.bind"), self._get("http.public_base_url")
        if wish.http is not None:
            bind = self._set("http.bind", BINDS[wish.http])
        url = wish.public_url
        if url is None and not public and self._may_ask("public"):
            self._say("  Customers see their order on a page of yours, when momo has an address.")
            url = self._ask("Its public https address (Enter: none yet) ")
            remember(self._state, "public", later=not url)
        if url:
            public = self._set("http.public_base_url", url)
        if bind == "off":
            return self._row("http", "done", "Nobody: HTTP is off; momo itself uses the socket")
        detail = f"This machine, at http://{bind}" if bind.startswith("127.") else bind
        if public:
            return self._row("http", "done", f"{detail}; customers see {public}")
        fix = "momo config set http.public_base_url https://pay.example.com"
        return self._row("http", "done", f"{detail}; no public address yet", fix)

    def _service(self) -> Row:
        wish = self.wishes.service
        service = service_for(self.terminal, system=wish == "system")
        fix = f"momo service install{' --system' if wish == 'system' else ' --linger'}"
        if service.installed:
            return self._row("service", "done", f"momo is a service: {service.path}")
        if wish is None and self._may_ask("service"):
            no = self._ask("Start momo with this machine? [Y/n] ").lower() in ("n", "no")
            wish = "none" if no else "user"
            remember(self._state, "service", later=no)
        if wish in (None, "none"):
            return self._row("service", "skipped", "Not with the machine: you start it", fix)
        check_place(service)
        files = service.files(with_timers=False)
        if self.wishes.service is None and not agreed(self.terminal, files):
            return self._row("service", "skipped", "Nothing was written", fix)
        for file in files:
            if read(file.path) != file.text:
                write(file)
        problems = switch_on(
            self.client, self.terminal, service, linger=wish == "user", timers=False
        )
        if problems:
            detail = f"Written, and not switched on: {problems[0]}"
            return self._row("service", "needs_action", detail, "momo service status")
        return self._row("service", "done", f"momo starts with this machine: {service.path}")

    def _daemon(self) -> Row:
        try:
            started = start(self.client, self.terminal, self._flags(), START_S)
        except Failure as failure:
            if service_for(self.terminal, system=False).installed is False:
                raise
            return self._row("daemon", "needs_action", failure.message, "momo service status")
        if started.status == "starting":
            return self._row("daemon", "failed", f"It does not answer: {started.log}", "momo logs")
        if self._restart and started.status == "already_running":
            return self._row(
                "daemon", "needs_action", "It runs with the old settings", "momo daemon restart"
            )
        word = "Runs" if started.status == "already_running" else "Started"
        return self._row("daemon", "done", f"{word} (pid {started.pid})")

    def _phone(self) -> Row:
        found = sims(self.client)
        if not found and self.asks:
            self._say("  Plug in the modem, with its SIM. Enter goes on without one.")
            found = wait_for_sim(self.client, self.terminal)
        if not found:
            why = next(
                (clean(one.get("detail")) for one in modems(self.client) if one.get("detail")), ""
            )
            detail = why or "No phone yet: plug it in at any time"
            return self._row("phone", "skipped", detail, "momo sims list --wait")
        named = ", ".join(called(sim) for sim in found)
        return self._row("phone", "done", f"Found {named}")

    def _number(self) -> Row:
        for body in self.wishes.methods:
            place = next(
                (sim for sim, number in self.wishes.sims if number == body["phone_number"]), ""
            )
            add_number(self.client, body, place)
        free = [sim for sim in sims(self.client) if not sim["phone_number"]]
        if self._may_ask("number"):
            for sim in free:
                if not self._ask_number(sim):
                    remember(self._state, "number", later=True)
                    break
        taken = self.client.get(Path.PAYMENT_METHODS).data or ()
        placed = [method for method in taken if method.get("sim")]
        shown = ", ".join(
            f"{phone(m['phone_number'])} ({clean(m['account_name'])})" for m in placed
        )
        fix = "momo methods add --provider momo_mtn --phone NUMBER --name NAME --sim DEVICE:0"
        if placed:
            return self._row("number", "done", f"Payments come to {shown}")
        if taken:
            return self._row(
                "number", "needs_action", "The number is on no SIM yet", "momo sims assign DEVICE:0"
            )
        return self._row("number", "skipped", "No number takes money yet", fix)

    def _endpoint(self) -> Row:
        fix = "momo endpoints add https://shop.example/hook"
        there = self.client.get(Path.ENDPOINTS).data or ()
        if there and self.wishes.endpoint in (None, *(one.get("url") for one in there)):
            return self._row("endpoint", "done", f"Payments are told to {clean(there[0]['url'])}")
        url = self.wishes.endpoint
        if url is None and self._may_ask("endpoint"):
            url = self._ask("Address that is told of each payment, https://... (Enter: none) ")
            remember(self._state, "endpoint", later=not url)
        if not url:
            return self._row("endpoint", "skipped", "No program of yours is told of payments", fix)
        reply = self.client.call(
            "POST", Path.ENDPOINTS, body={"url": url}, idempotency_key=system.new_key()
        )
        made = f"Payments are told to {clean(url)}"
        return self._row(
            "endpoint", "done", made, f"momo endpoints reveal {at(reply.body, 'data.id')}"
        )

    def _practice(self) -> Row:
        if self.wishes.practice is False or (not self.asks and self.wishes.practice is None):
            return self._row("practice", "skipped", "Not tried", "momo setup --practice")
        started = system.monotonic()
        body = {"amount": "1.00", "phone_number": _PRACTICE_NUMBER, "customer_name": "Practice"}
        order = self.client.call(
            "POST", Path.INITIALIZE, body=body, idempotency_key=system.new_key(), sandbox=True
        ).data
        paid = pay(self.client, {"reference": order["reference"]}).data
        status = at(paid, "transaction.status")
        took_s = system.monotonic() - started
        if status != "SUCCESS":
            detail = f"Order {clean(order['svc_code'])} is {clean(status) or 'not paid'}"
            return self._row(
                "practice", "failed", detail, f"momo tx show {order['reference']} --events"
            )
        detail = (
            f"Order {clean(order['svc_code'])} of GHS 1.00 was asked for, paid and matched "
            f"in {took_s:.1f} s, with no real money"
        )
        return self._row("practice", "done", detail)

    # What they share.

    def _flags(self) -> tuple[str, ...]:
        return run_flags(None, self.wishes.modems, simulated_phone=False)

    def _ask_number(self, sim: Row) -> bool:
        """Ask which number is on a SIM and put it there; False when it is put off."""
        while True:
            self._say(f"  On {called(sim)}:")
            number = self._ask("Its number, such as 0244124567 (Enter: later) ")
            if not number:
                return False
            name = self._ask("In whose name is that wallet? ")
            network = str(sim.get("network") or "").lower()
            while network not in PROVIDERS:
                network = self._ask("Its network: mtn, telecel or at? ").lower()
            body = {
                "provider": PROVIDERS[network],
                "phone_number": number,
                "account_name": name or number,
            }
            try:
                add_number(self.client, body, f"{sim['device_id']}:{sim['slot_index']}")
            except Failure as failure:
                details = at(failure.body, "error.details")
                first = at(details[0], "message") if isinstance(details, list) and details else ""
                self._say(f"  {self._yellow('!')} {clean(first or failure.message)}")
            else:
                return True

    @property
    def _state(self) -> str:
        return self.terminal.located.places.state

    def _may_ask(self, name: str) -> bool:
        return self.asks and (self.wishes.again or name not in put_off(self._state))

    def _get(self, key: str) -> str:
        if not self._settings:
            rows = ask(self.terminal, "config", "--json", "show").body["data"]
            self._settings = {row["key"]: row["value"] for row in rows}
        return str(self._settings[key])

    def _set(self, key: str, value: str) -> str:
        """Set a setting for the daemon's next start, unless it is so already; return it."""
        if self._get(key) != value:
            ask(self.terminal, "config", "--json", "set", "--", key, value)
            self._settings[key] = value
            self._restart = self.client.alive()
        return value

    def _ask(self, question: str) -> str:
        return self.terminal.ask(f"  {question}", "--no-input")

    def _row(self, name: str, status: str, detail: str, fix: str | None = None) -> Row:
        return {"id": name, "status": status, "detail": detail, "fix": fix}

    def _say(self, text: str) -> None:
        if self.asks:
            self.terminal.note(text)

    def _bold(self, text: str) -> str:
        return self.terminal.style(text, "bold", message=True)

    def _yellow(self, text: str) -> str:
        return self.terminal.style(text, "yellow", message=True)
