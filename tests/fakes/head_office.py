"""Head office and its branches as real programs: a hub with a receiver of webhooks, and branches with emulated phones.

    with HeadOffice(tmp_path, url=server.new_database()) as office:
        office.open()
        order = office.hub.request("25.00")
        office.branches[0].pay(order["svc_code"])
        office.wait_until_quiet()

The hub is stored in a file, or on a PostgreSQL server (`url`); branches are always files. `prefix` and `address` put the
programs into other network namespaces (`tests/fakes/slow_line.py`).
"""

import contextlib
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from daemon import wire
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop, Settings, utc_now, wait_until
from tests.fakes.receipts import FIRST_MTN_ID, Receipt, mtn_receipts
from tests.fakes.receiver import Receiver

BALANCE_MINOR: Final = 50_000
QUIET_S: Final = 400.0
"""Limit for the end of all work. After a few failures a branch waits up to 15 s, after many up to 5 minutes."""
PLENTY: Final = 100_000
"""Receipts that a branch may get."""


class BranchShop:
    """A branch: its daemon, its phone, and the customers who pay to its number."""

    def __init__(self, name: str, number: int, shop: RealShop, phone: PhoneProcess) -> None:
        self.name = name
        self.shop = shop
        self.phone = phone
        self.merchant = f"02441245{60 + number}"
        self._references: list[str] = []
        first_id = FIRST_MTN_ID + number * 1_000_000_000
        # The same seed gives the same amounts for any references.
        self._drafts, self._receipts = (
            mtn_receipts(PLENTY, 1 + number, started=utc_now(), first_id=first_id, references=typed)
            for typed in ((), self._references)
        )

    def next_amount_minor(self) -> int:
        """Return the amount of the next payment. Call it once before each `pay`."""
        return next(self._drafts).amount_minor

    def pay(self, reference: str) -> Receipt:
        """Let a customer pay with this reference."""
        self._references.append(reference)
        receipt = next(self._receipts)
        self.phone.deliver(receipt.pdus)
        return receipt

    def status(self) -> dict[str, Any]:
        """Return how far it has sent."""
        found: dict[str, Any] = self.shop.ask("GET", wire.Path.LOCAL_BRANCH)
        return found

    def is_caught_up(self) -> bool:
        """Return whether the hub has everything, and has decided what it was handed."""
        try:
            status = self.status()
        except OSError:
            return False
        return (status["behind"], status["undecided"], status["problem"]) == (0, 0, None)


class HeadOffice:
    """A hub and its branches. A context manager: leaving it kills the programs."""

    def __init__(
        self,
        folder: Path,
        *,
        url: str = "",
        names: Sequence[str] = ("kumasi", "tamale"),
        hub_settings: Settings | None = None,
        hub_prefix: Sequence[str] = (),
        branch_prefix: Sequence[str] = (),
        address: str = "",
        scheme: str = "http",
    ) -> None:
        self._folder = folder
        self._store_url = url
        self._names = names
        self._hub_settings = {"hub": {"unconfirmed_limit": 1_000_000}, **(hub_settings or {})}
        self._hub_prefix = hub_prefix
        self._branch_prefix = branch_prefix
        self._address = address or f"127.0.0.1:{free_port()}"
        self._scheme = scheme
        self._stack = contextlib.ExitStack()
        self.hub: RealShop
        self.receiver: Receiver
        self.branches: list[BranchShop] = []

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self.receiver = stack.enter_context(Receiver(self._folder / "receiver"))
            self.hub = stack.enter_context(
                RealShop(
                    self._folder / "hub", phone=self._folder / "none", ca_file=self.receiver.ca_file,
                    short_schedule=True, name="Head office", url=self._store_url, settings=self._hub_settings,
                )
            )  # fmt: skip
            for number, name in enumerate(self._names):
                self.branches.append(stack.enter_context(self._branch(name, number)))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @contextlib.contextmanager
    def _branch(self, name: str, number: int) -> Iterator[BranchShop]:
        identity = _identity(number)
        with (
            PhoneProcess(self._folder / f"{name}-tty", identity=identity) as phone,
            RealShop(self._folder / name, phone=phone.link, name=name.title()) as shop,
        ):
            shop.begin_chain(BALANCE_MINOR, iccid=identity["iccid"])
            yield BranchShop(name, number, shop, phone)

    def open(self) -> None:
        """Start all programs, and let the branches join."""
        self.start()
        self.hub.ask("POST", wire.Path.LOCAL_HUB, {})
        for branch in self.branches:
            self.join(branch)

    def start(self) -> None:
        """Start all programs. The shops do not know each other yet."""
        if self._scheme == "https":
            host = self._address.rpartition(":")[0]
            for command in (
                ("daemon", "certificate", "create", host),
                ("config", "set", "http.tls_cert", str(self.hub.home / "tls" / "server.pem")),
            ):
                done = self.hub.momo(*command)
                assert done.returncode == 0, done.stdout + done.stderr
        self.start_hub()
        if not self._hub_prefix:  # the receiver is in this namespace
            secret = self.hub.add_endpoint(self.receiver.url())
            self.receiver.secrets = [secret, self.hub.keys.webhook_secret]
        for branch in self.branches:
            self.start_branch(branch)
            branch.shop.assign(branch.merchant)

    @property
    def url(self) -> str:
        """The hub's address for branches."""
        return f"{self._scheme}://{self._address}"

    def join(self, branch: BranchShop) -> None:
        """Invite a branch and let it join."""
        invited = self.hub.ask("POST", wire.Path.LOCAL_HUB_INVITES, {"name": branch.name})
        joining = {"url": self.url, "word": invited["word"]}
        assert branch.shop.ask("POST", wire.Path.LOCAL_BRANCH, joining)["joined"]

    def start_hub(self) -> None:
        """Start the hub's daemon at its address."""
        self.hub.start(http=self._address, prefix=self._hub_prefix)

    def start_branch(self, branch: BranchShop) -> None:
        """Start the daemon of a branch."""
        branch.shop.start(prefix=self._branch_prefix)

    def hub_rows(self) -> Mapping[str, dict[str, Any]]:
        """Return the hub's list of its branches by name."""
        return {row["name"]: row for row in self.hub.ask("GET", wire.Path.LOCAL_HUB)}

    def wait_until_quiet(self) -> None:
        """Wait until all phones are read, all is sent and decided, and every webhook was delivered."""
        for branch in self.branches:
            wait_until(branch.phone.is_empty, QUIET_S, f"the phone of {branch.name} is read")
        for branch in self.branches:
            wait_until(branch.is_caught_up, QUIET_S, f"{branch.name} has sent all")
        wait_until(self._is_quiet, QUIET_S, "the hub has nothing left to do")

    def _is_quiet(self) -> bool:
        if any(row["asked"] for row in self.hub_rows().values()):
            return False
        return not self.hub.rows("SELECT id FROM deliveries WHERE status <> 'delivered'")


def _identity(number: int) -> dict[str, str]:
    """Return the identity of the phone of a branch and of its SIM, with check digits."""
    iccid, imei = f"892330100000000{number:03d}", f"0044010000{number:04d}"
    return {"iccid": iccid + _luhn(iccid), "imei": imei + _luhn(imei), "imsi": f"62001{number:010d}"}


def _luhn(digits: str) -> str:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (2 if place % 2 == 0 else 1)
        total += doubled // 10 + doubled % 10
    return str(-total % 10)


def free_port() -> int:
    """Return a port of this machine that nobody uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
