"""Forgeries under the network's exact sender name, through a pty and a real daemon.

After each attack, six customers pay: at least five of their orders are
verified without a person, however the attack was built. A `home` centre is the one that the SIM names, a foreign one is not.
"""

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from daemon.modem.codec.pdu_encode import encode_deliver
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop, pause, utc_now, wait_until
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, mtn_receipt

HOME, FAR, ABROAD = MTN_SMSC, "+233209990011", "+447700900123"
SHOP_NUMBER = "0244124567"
NAME = "KOFI ANTWI BADU BOATENG"
CUSTOMERS, AMOUNT = 6, 2_500
FIRST_ID = 93_214_500_000
BEFORE = 4
"""Genuine receipts before an attack; three are the least that the clock of the IDs needs."""
SOON_S = 12.0
QUIET_S = 0.2
PART_SEPTETS = 153


@dataclass
class Wallet:
    """The shop, the true balance of its wallet, and the network and the attacker, which send SMS to its SIM."""

    shop: RealShop
    phone: PhoneProcess
    balance: int = 190_000
    smsc: str = HOME
    forged: set[str] = field(default_factory=set)
    """The IDs of the forgeries."""
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(FIRST_ID + 1, 1_000))
    _references: Iterator[int] = field(default_factory=lambda: itertools.cycle(range(256)))
    orders: list[str] = field(default_factory=list)
    """Of the six customers."""

    def new_id(self) -> str:
        return str(next(self._ids))

    def send(self, text: str, smsc: str, *, only: int = 0, reference: int | None = None) -> None:
        """Deliver a text, or one part of it."""
        number = next(self._references) if reference is None else reference
        pdus = encode_deliver(MTN_SENDER, text, utc_now(), smsc=smsc, reference=number)
        self.phone.deliver(pdus if not only else pdus[only - 1 : only])

    def pay(self, code: str = "food", amount: int = AMOUNT, name: str = NAME) -> str:
        """Let a customer pay; return the ID."""
        self.balance += amount
        telco_id = self.new_id()
        self.send(mtn_receipt(amount, name, self.balance, code, telco_id), self.smsc)
        return telco_id

    def forge(self, amount: int, before: int, smsc: str) -> None:
        """Send a forged receipt that follows a balance and names an order."""
        code = self.shop.request(_money(amount))["svc_code"]
        telco_id = self.new_id()
        self.forged.add(telco_id)
        self.send(mtn_receipt(amount, NAME, before + amount, code, telco_id), smsc)
        self.settle()

    def settle(self) -> None:
        """Wait until the daemon has read everything."""
        wait_until(lambda: self.phone.is_empty() or None, 60, "an empty phone")
        pause(QUIET_S)

    def forged_paid(self) -> int:
        """Return the sum of the forged receipts that were paid."""
        paid = self.shop.rows("SELECT telco_transaction_id, amount_minor FROM payments")
        return sum(amount for telco_id, amount in paid if telco_id in self.forged)

    def customers_pay(self, untold_before: int | None = None, name: str = NAME) -> list[str]:
        """Let six customers pay their orders; return those that were verified by themselves."""
        orders = []
        for number in range(CUSTOMERS):
            if number == untold_before:
                self.balance -= 1_300
            order = self.shop.request(_money(AMOUNT))
            orders.append(order["reference"])
            self.pay(order["svc_code"], name=name)
            self.settle()
        self.orders = orders
        return self.wait_for_orders()

    def wait_for_orders(self) -> list[str]:
        """Wait until all six orders are verified, or a while; return those that are."""

        def verified() -> list[str]:
            return [one for one in self.orders if self.shop.transaction(one)["status"] == "SUCCESS"]

        for _ in range(round(SOON_S / QUIET_S)):
            if len(verified()) == CUSTOMERS:
                break
            pause(QUIET_S)
        return verified()

    def momo(self, *arguments: str) -> Any:
        done = self.shop.momo(*arguments, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)["data"]

    def say_balance(self) -> None:
        """Say what the wallet shows."""
        password = self.shop.home / "right"
        password.write_text("correct horse 42\n", encoding="utf-8")
        secret = ("--password-file", str(password))
        self.momo("lines", "wallet", SHOP_NUMBER, _money(self.balance), *secret)

    def decide_once(self) -> None:
        """Decide one review correctly by the wallet: the oldest one of a genuine receipt, else of a forgery."""
        password = self.shop.home / "right"
        password.write_text("correct horse 42\n", encoding="utf-8")
        found = self.shop.rows(
            "SELECT r.id, COALESCE(m.body, '') FROM reviews r JOIN messages m ON m.id = r.message_id "
            "WHERE r.state = 'open' ORDER BY r.seq"
        )
        genuine = [one for one, body in found if not any(each in body for each in self.forged)]
        secret = ("--password-file", str(password))
        if not found:
            # A customer shows his message: the network has a new centre.
            doubtful = self.shop.rows(
                "SELECT id, COALESCE(body, '') FROM messages WHERE state = 'held' ORDER BY seq"
            )
            shown = next(
                one for one, body in doubtful if not any(each in body for each in self.forged)
            )
            [(device,)] = self.shop.rows("SELECT name FROM devices WHERE mode = 'live'")
            self.momo("lines", "trust", f"{device}:0", "--message", shown, *secret)
        elif genuine:
            self.momo("review", "approve", genuine[0], "--yes", *secret)
        else:
            self.momo("review", "reject", found[0][0], "--notes", "not in the wallet")


def _money(minor: int) -> str:
    return f"{minor // 100}.{minor % 100:02d}"


Opener = Callable[[], Wallet]


@pytest.fixture
def open_wallet(tmp_path: Path, fresh: RealShop) -> Iterator[Opener]:
    """Open a shop with a wallet."""

    @contextmanager
    def opened() -> Iterator[Wallet]:
        settings = {"trust": {"unconfirmed_limit": "auto", "balance_check": "review"}}
        with (
            PhoneProcess(tmp_path / "tty") as phone,
            RealShop(tmp_path / "shop", phone=phone.link, settings=settings, like=fresh) as shop,
        ):
            shop.start()
            shop.assign(SHOP_NUMBER)
            yield Wallet(shop, phone)

    entered = []

    def enter() -> Wallet:
        entered.append(opened())
        return entered[-1].__enter__()

    yield enter
    for one in entered:
        one.__exit__(None, None, None)


def in_business(open_wallet: Opener) -> Wallet:
    """Return a wallet with a line that has begun, and some genuine receipts."""
    wallet = open_wallet()
    for _ in range(BEFORE):
        wallet.pay(amount=107)
        wallet.settle()
    # The owner says once what the wallet shows, so that the balance is proved.
    wallet.say_balance()
    wait_until(
        lambda: len(wallet.shop.rows("SELECT 1 FROM payments")) == BEFORE or None,
        SOON_S,
        "the genuine receipts before the attack",
    )
    return wallet


@pytest.mark.slow
def test_a_foreign_second_parts_do_not_turn_money_over_to_another_order(
    open_wallet: Opener,
) -> None:
    wallet = in_business(open_wallet)
    thief = wallet.shop.request(_money(AMOUNT))
    for reference in range(256):
        telco_id = wallet.new_id()
        wallet.forged.add(telco_id)
        tail = f" {thief['svc_code']}. Transaction ID: {telco_id}. TRANSACTION FEE: 0.00"
        text = "x" * PART_SEPTETS + tail
        wallet.send(text, ABROAD, only=2, reference=reference)
    wallet.settle()
    # Names for which the first part ends right before the payment code.
    whole = mtn_receipt(AMOUNT, NAME, wallet.balance, "food", wallet.new_id())
    long_name = NAME + " " + "A" * (PART_SEPTETS - 1 - whole.index(" food"))
    assert len(wallet.customers_pay(name=long_name)) >= 5
    assert wallet.shop.transaction(thief["reference"])["status"] == "PENDING"
    # A second attempt on customers with their code in the first part.
    assert len(wallet.customers_pay()) >= 5
    assert wallet.shop.transaction(thief["reference"])["status"] == "PENDING"
    assert wallet.forged_paid() == 0


@pytest.mark.slow
def test_e_a_foreign_first_message_of_a_line_pays_nothing_and_one_decision_heals(
    open_wallet: Opener,
) -> None:
    wallet = open_wallet()
    wallet.forge(10_000, 500_000, ABROAD)
    assert wallet.forged_paid() == 0
    if len(wallet.customers_pay()) < CUSTOMERS:
        wallet.decide_once()
        assert len(wallet.wait_for_orders()) == CUSTOMERS
    assert wallet.forged_paid() == 0


@pytest.mark.slow
@pytest.mark.parametrize("untold_before", [0, 3])
def test_h_after_a_new_centre_and_untold_money_one_decision_settles_all(
    open_wallet: Opener, untold_before: int
) -> None:
    wallet = in_business(open_wallet)
    wallet.smsc = FAR
    if len(wallet.customers_pay(untold_before)) < CUSTOMERS:
        wallet.decide_once()
    assert len(wallet.wait_for_orders()) == CUSTOMERS
