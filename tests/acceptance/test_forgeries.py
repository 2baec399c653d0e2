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
FIRST_ID, FAR_AHEAD = 93_214_500_000, 60_000_000
BEFORE = 4
"""Genuine receipts before an attack; three are the least that the clock of the IDs needs."""
YOUNG_LIMIT = 20_000
"""`auto` on a line without a history: GHS 200."""
SOON_S = 12.0
QUIET_S = 0.2
PART_SEPTETS = 153

Limit = str | int


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

    def forge(self, amount: int, before: int, smsc: str, *, ahead: int = 0, order: bool = True) -> int:
        """Send a forged receipt that follows a balance; return the balance that it claims."""
        code = self.shop.request(_money(amount))["svc_code"] if order else "food"
        telco_id = str(int(self.new_id()) + ahead)
        self.forged.add(telco_id)
        self.send(mtn_receipt(amount, NAME, before + amount, code, telco_id), smsc)
        self.settle()
        return before + amount

    def forge_debit(self, amount: int, smsc: str, *, ahead: int = 0, before: int | None = None) -> int:
        """Send a made-up debit, which follows the true balance or another one; return the balance that it claims."""
        left = (self.balance if before is None else before) - amount
        after = _money(left)
        telco_id = str(int(self.new_id()) + ahead)
        text = (
            f"Payment made for GHS {_money(amount)} to AKUA FREMA Current Balance: GHS {after} . Available Balance: "
            f"GHS {after}. Reference: stock. Transaction ID: {telco_id}. Fee charged: GHS 0.00 TAX charged: GHS 0.00."
        )
        self.send(text, smsc)
        self.settle()
        return left

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

    def say_balance(self, *, untold: bool = False) -> None:
        """Say what the wallet shows; `untold`: and that no message leads to it."""
        password = self.shop.home / "right"
        password.write_text("correct horse 42\n", encoding="utf-8")
        answer = ("--answer", "untold") if untold else ()
        secret = ("--password-file", str(password), *answer)
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
            doubtful = self.shop.rows("SELECT id, COALESCE(body, '') FROM messages WHERE state = 'held' ORDER BY seq")
            shown = next(one for one, body in doubtful if not any(each in body for each in self.forged))
            [(device,)] = self.shop.rows("SELECT name FROM devices WHERE mode = 'live'")
            self.momo("lines", "trust", f"{device}:0", "--message", shown, *secret)
        elif genuine:
            self.momo("review", "approve", genuine[0], "--yes", *secret)
        else:
            self.momo("review", "reject", found[0][0], "--notes", "not in the wallet")


def _money(minor: int) -> str:
    return f"{minor // 100}.{minor % 100:02d}"


Opener = Callable[[Limit], Wallet]


@pytest.fixture
def open_wallet(tmp_path: Path) -> Iterator[Opener]:
    """Open a shop with a setting of `[trust] unconfirmed_limit`."""

    @contextmanager
    def opened(limit: Limit) -> Iterator[Wallet]:
        settings = {"trust": {"unconfirmed_limit": limit, "balance_check": "review"}}
        with (
            PhoneProcess(tmp_path / "tty") as phone,
            RealShop(tmp_path / "shop", phone=phone.link, settings=settings) as shop,
        ):
            shop.start()
            shop.assign(SHOP_NUMBER)
            yield Wallet(shop, phone)

    entered = []

    def enter(limit: Limit) -> Wallet:
        entered.append(opened(limit))
        return entered[-1].__enter__()

    yield enter
    for one in entered:
        one.__exit__(None, None, None)


def in_business(open_wallet: Opener, limit: Limit = "auto") -> Wallet:
    """Return a wallet with a line that has begun, and some genuine receipts."""
    wallet = open_wallet(limit)
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


def at_most(limit: Limit) -> int:
    return YOUNG_LIMIT if limit == "auto" else int(limit) * 100


LIMITS = pytest.mark.parametrize("limit", ["auto", 0])


@pytest.mark.slow
def test_foreign_second_parts_do_not_turn_money_over_to_another_order(open_wallet: Opener) -> None:
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
@LIMITS
def test_a_forgery_does_not_release_the_one_before_it(open_wallet: Opener, limit: Limit) -> None:
    wallet = in_business(open_wallet, limit)
    before = wallet.balance + 33_333
    for amount in (15_000, 15_000, 9_000):
        before = wallet.forge(amount, before, HOME)
    assert wallet.forged_paid() <= at_most(limit)
    assert len(wallet.customers_pay()) >= 5
    assert wallet.forged_paid() <= at_most(limit)


@pytest.mark.slow
@LIMITS
@pytest.mark.parametrize("excuse", ["Hello", "debit"])
def test_an_unreadable_text_or_a_made_up_debit_excuses_nothing(open_wallet: Opener, excuse: str, limit: Limit) -> None:
    wallet = in_business(open_wallet, limit)
    if excuse == "debit":
        wallet.forge(30_000, wallet.forge_debit(20_001, HOME, before=777_777), HOME)
    else:
        wallet.send("Hello", HOME)
        wallet.forge(30_000, 1_234_500, HOME)
    wallet.forge(15_000, 3_234_500, HOME)
    assert wallet.forged_paid() <= at_most(limit)
    assert len(wallet.customers_pay()) >= 5
    assert wallet.forged_paid() <= at_most(limit)


@pytest.mark.slow
@LIMITS
@pytest.mark.parametrize("absence", ["restart", "unplugged"])
def test_a_restart_or_an_absent_modem_excuses_nothing(open_wallet: Opener, absence: str, limit: Limit) -> None:
    wallet = in_business(open_wallet, limit)
    if absence == "restart":
        wallet.shop.restart()
        wallet.shop.sims()
    else:
        wallet.phone.unplug()
        wait_until(
            lambda: wallet.shop.rows("SELECT 1 FROM devices WHERE present = 0 AND mode = 'live'") or None,
            SOON_S, "the daemon sees that the modem is away",
        )  # fmt: skip
        wallet.phone.plug()
        wait_until(
            lambda: wallet.shop.rows("SELECT 1 FROM devices WHERE present = 1 AND mode = 'live'") or None,
            60, "the modem is back",
        )  # fmt: skip
    for amount, before in ((30_000, 1_234_500), (15_000, 2_234_500), (15_000, 2_249_500)):
        wallet.forge(amount, before, HOME)
    assert wallet.forged_paid() <= at_most(limit)
    assert len(wallet.customers_pay()) >= 5
    assert wallet.forged_paid() <= at_most(limit)


@pytest.mark.slow
def test_a_foreign_first_message_of_a_line_pays_nothing_and_one_decision_heals(open_wallet: Opener) -> None:
    wallet = open_wallet("auto")
    wallet.forge(10_000, 500_000, ABROAD)
    assert wallet.forged_paid() == 0
    if len(wallet.customers_pay()) < CUSTOMERS:
        wallet.decide_once()
        assert len(wallet.wait_for_orders()) == CUSTOMERS
    assert wallet.forged_paid() == 0


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [0, FAR_AHEAD, 10 * FAR_AHEAD])
def test_a_right_balance_from_abroad_pays_nothing(open_wallet: Opener, ahead: int) -> None:
    wallet = in_business(open_wallet)
    wallet.forge(10_000, wallet.balance, ABROAD, ahead=ahead)
    wallet.forge(100, wallet.balance, ABROAD, ahead=ahead, order=False)
    assert wallet.forged_paid() == 0
    assert len(wallet.customers_pay()) >= 5
    assert wallet.forged_paid() == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["receipt", "debit"])
@pytest.mark.parametrize(("smsc", "ahead"), [(ABROAD, FAR_AHEAD), (ABROAD, 10 * FAR_AHEAD), (HOME, 10 * FAR_AHEAD)])
def test_an_id_far_ahead_is_not_the_base_of_what_follows(open_wallet: Opener, kind: str, smsc: str, ahead: int) -> None:
    wallet = in_business(open_wallet)
    if kind == "debit":
        wallet.forge_debit(5_000, smsc, ahead=ahead)
    else:
        wallet.forge(5_000, wallet.balance, smsc, ahead=ahead)
    assert len(wallet.customers_pay()) >= 5
    assert wallet.forged_paid() == 0


@pytest.mark.slow
def test_a_fitting_debit_with_an_id_ahead_through_the_home_centre_holds_nothing_for_ever(open_wallet: Opener) -> None:
    wallet = in_business(open_wallet)
    wallet.forge_debit(5_000, HOME, ahead=FAR_AHEAD)
    assert len(wallet.customers_pay()) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("untold_before", [0, 3])
def test_after_a_new_centre_and_untold_money_one_decision_settles_all(open_wallet: Opener, untold_before: int) -> None:
    wallet = in_business(open_wallet)
    wallet.smsc = FAR
    if len(wallet.customers_pay(untold_before)) < CUSTOMERS:
        wallet.decide_once()
    assert len(wallet.wait_for_orders()) == CUSTOMERS


@pytest.mark.slow
@pytest.mark.parametrize("smsc", [HOME, ABROAD])
def test_a_reversal_without_a_balance_takes_no_payment_back(open_wallet: Opener, smsc: str) -> None:
    wallet = in_business(open_wallet)
    order = wallet.shop.request("10.00")
    telco_id = wallet.pay(order["svc_code"], 1_000)
    wait_until(
        lambda: wallet.shop.transaction(order["reference"])["status"] == "SUCCESS" or None, SOON_S, "the payment"
    )
    wallet.send(f"Transaction {telco_id} of GHS 10.00 from {NAME} has been reversed.", smsc)
    wallet.settle()
    assert wallet.shop.transaction(order["reference"])["reversed_at"] is None
    assert len(wallet.customers_pay()) >= 5
    assert wallet.shop.transaction(order["reference"])["reversed_at"] is None


@pytest.mark.slow
@LIMITS
def test_a_receipt_on_the_balance_before_the_last_one_stays_within_the_limit(open_wallet: Opener, limit: Limit) -> None:
    wallet = in_business(open_wallet, limit)
    for amount in (30_000, 15_000, 15_000):
        wallet.forge(amount, wallet.balance - 107, HOME)
    assert wallet.forged_paid() <= at_most(limit)
    assert len(wallet.customers_pay()) >= 5
    assert wallet.forged_paid() <= at_most(limit)


FALSE_BALANCE = "Current Balance: GHS 9999.00 . Reference: "


@pytest.mark.slow
def test_a_balance_that_a_payer_types_pays_no_other_order_and_holds_nobody(open_wallet: Opener) -> None:
    wallet = in_business(open_wallet)
    dear = wallet.shop.request("900.00")
    wallet.pay(FALSE_BALANCE + dear["svc_code"], 1)
    wallet.settle()
    assert len(wallet.customers_pay()) == CUSTOMERS
    assert wallet.shop.transaction(dear["reference"])["status"] == "PENDING"
    assert wallet.shop.rows("SELECT COUNT(*) FROM payments") == [(BEFORE + 1 + CUSTOMERS,)]
    assert wallet.shop.rows("SELECT COUNT(*) FROM reviews WHERE reason = 'balance_break'") == [(0,)]


@pytest.mark.slow
def test_a_pesewa_with_the_code_of_another_customer_does_not_make_the_order_partial(open_wallet: Opener) -> None:
    wallet = in_business(open_wallet)
    order = wallet.shop.request("25.00")
    wallet.pay(order["svc_code"], 1)
    wallet.settle()
    assert wallet.shop.transaction(order["reference"])["status"] == "PENDING"
    wallet.pay(order["svc_code"], 2_500)
    wait_until(
        lambda: wallet.shop.transaction(order["reference"])["status"] == "SUCCESS" or None, SOON_S, "the payment"
    )


@pytest.mark.slow
def test_a_genuine_receipt_shares_no_review_with_foreign_texts(open_wallet: Opener) -> None:
    wallet = in_business(open_wallet, 0)
    for _ in range(22):
        wallet.forge(1_000, 777_700, ABROAD, order=False)
    wallet.balance -= 1_300  # nobody tells of it
    ours = [wallet.pay() for _ in range(3)]
    wallet.settle()
    asked = wallet.shop.rows(
        "SELECT b.telco_id FROM reviews r JOIN messages m ON m.id = r.message_id JOIN line_balances b ON b.message_seq = m.seq "
        "WHERE r.state = 'open' ORDER BY r.seq"
    )
    assert asked == [(one,) for one in ours], "each has its own, and the foreign texts have none"
    (first,) = wallet.shop.rows("SELECT id FROM reviews WHERE state = 'open' ORDER BY seq LIMIT 1")
    secret = ("--password-file", str(wallet.shop.home / "right"))
    wallet.momo("review", "reject", first[0], "--notes", "a mistake", *secret)
    wallet.momo("review", "undo", first[0])
    wallet.say_balance()
    assert len(wallet.customers_pay()) == CUSTOMERS
    assert wallet.shop.rows("SELECT COUNT(*) FROM payments") == [(BEFORE + 3 + CUSTOMERS,)]


@pytest.mark.slow
@LIMITS
def test_made_up_debits_through_the_home_centre_lead_to_no_receipt_above_the_limit(
    open_wallet: Opener, limit: Limit
) -> None:
    wallet = in_business(open_wallet, limit)
    for before in (500_000, 400_000, 300_000):
        left = wallet.forge_debit(20_000, HOME, before=before)
        for amount in (15_000, 19_000):
            left = wallet.forge(amount, left, HOME)
    assert wallet.forged_paid() <= at_most(limit)
    assert len(wallet.customers_pay()) >= 5
    assert wallet.forged_paid() <= at_most(limit)


@pytest.mark.slow
@LIMITS
def test_an_emptied_wallet_lets_nobody_guess_above_the_limit(open_wallet: Opener, limit: Limit) -> None:
    wallet = in_business(open_wallet, limit)
    wallet.balance = wallet.forge_debit(wallet.balance, HOME)
    for amount in (15_000, 19_000, 50_000):
        wallet.forge(amount, 0, HOME)
    wallet.forge(5_000, 15_000, HOME)
    assert wallet.forged_paid() <= YOUNG_LIMIT


@pytest.mark.slow
@LIMITS
def test_two_texts_on_a_fresh_line_pay_no_more_than_the_limit(open_wallet: Opener, limit: Limit) -> None:
    wallet = open_wallet(limit)
    before = 500_000
    for amount in (15_000, 19_000, 90_000):
        before = wallet.forge(amount, before, HOME)
    assert wallet.forged_paid() <= at_most(limit)


@pytest.mark.slow
def test_a_second_part_that_lies_there_does_not_take_the_first_part_of_a_customer(open_wallet: Opener) -> None:
    wallet = in_business(open_wallet, 0)
    thief = wallet.shop.request(_money(AMOUNT))
    mine = wallet.shop.request(_money(AMOUNT))
    lying = wallet.new_id()
    wallet.forged.add(lying)
    tail = f" {thief['svc_code']}. Transaction ID: {lying}. TRANSACTION FEE: 0.00"
    wallet.send("x" * PART_SEPTETS + tail, HOME, only=2, reference=77)
    wallet.settle()
    wallet.balance += AMOUNT
    text = mtn_receipt(AMOUNT, NAME, wallet.balance, mine["svc_code"], wallet.new_id())
    wallet.send(text, HOME, reference=77)
    wallet.settle()
    pause(8)  # longer than parts wait for rivals
    assert wallet.forged_paid() == 0
    assert wallet.shop.transaction(thief["reference"])["status"] in {"PENDING", "MANUAL_REVIEW"}


@pytest.mark.slow
def test_a_reversal_of_another_amount_takes_no_payment_back(open_wallet: Opener) -> None:
    wallet = in_business(open_wallet)
    order = wallet.shop.request("10.00")
    telco_id = wallet.pay(order["svc_code"], 1_000)
    wallet.settle()
    after = _money(wallet.balance - 49_999)
    reversal = f"Transaction {telco_id} of GHS 499.99 from {NAME} has been reversed. Current Balance: GHS {after}."
    wallet.send(reversal, HOME)
    wallet.settle()
    assert wallet.shop.transaction(order["reference"])["reversed_at"] is None


@pytest.mark.slow
def test_an_imported_text_pays_no_order_by_an_api_key(open_wallet: Opener) -> None:
    wallet = in_business(open_wallet)
    order = wallet.shop.request("500.00")
    pasted = wallet.shop.home / "pasted.txt"
    telco_id = wallet.new_id()
    pasted.write_text(mtn_receipt(50_000, NAME, wallet.balance + 50_000, order["svc_code"], telco_id))
    done = wallet.shop.momo("messages", "import", str(pasted), "--paste", "--line", SHOP_NUMBER, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    status, answer = wallet.shop.api(
        "POST", f"/v1/transactions/{order['reference']}/reconcile", {"transaction_id": telco_id},
        headers={"Authorization": f"Bearer {wallet.shop.keys.api}"},
    )  # fmt: skip
    assert (status, answer["error"]["code"]) == (403, "SESSION_REQUIRED")
    assert wallet.shop.transaction(order["reference"])["status"] == "PENDING"
