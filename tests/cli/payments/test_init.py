"""`momo init` shows where to pay, and warns once per shop that customers cannot open the checkout page."""

from dataclasses import replace
from pathlib import Path

import segno

from daemon import wire
from daemon.core.payments.checkout import NOT_PUBLIC
from daemon.wire import Path as Route
from momo_cli.flags import Flags
from momo_cli.show.terminal import open_terminal
from momo_cli.show.words import drawn
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, Says, ok, refusal

MADE = Says({"success": True, "data": samples.CREATED, "meta": {}}, 201)
INIT = ("init", "12.50", "--phone", "0244000111", "-o", "table")
NO_SIM = {**samples.METHOD_ROW, "phone_number": "+233204100011", "sim": None}
OFF = {**samples.METHOD_ROW, "phone_number": "+233204100012", "is_active": False}


def test_init_shows_the_numbers_that_receive_payments(api: FakeApi, momo: Momo) -> None:
    api.on("POST", Route.INITIALIZE, MADE)
    api.on("GET", Route.PAYMENT_METHODS, ok([samples.METHOD_ROW, NO_SIM, OFF]))
    ran = momo(*INIT)
    to = [line for line in ran.out.splitlines() if line.startswith("  to ")]
    assert to == ["  to     024 412 4567, MTN, Ama Mensah"]
    momo(*INIT, "--sandbox")
    assert [one.headers.get("svc-mode") for one in api.asked[1::2]] == [None, "test"]


def test_a_transaction_is_shown_even_if_the_numbers_cannot_be_read(api: FakeApi, momo: Momo) -> None:
    api.on("POST", Route.INITIALIZE, MADE)
    api.on("GET", Route.PAYMENT_METHODS, refusal(503, "UNAVAILABLE"))
    ran = momo(*INIT)
    assert (ran.code, "CODE" in ran.out, "  to " in ran.out) == (0, True, False)


def test_the_warning_about_the_page_comes_once_per_shop_and_others_each_time(
    api: FakeApi, momo: Momo, shop: Shop
) -> None:
    warned = {**MADE.body, "meta": {"warnings": ["No line receives.", NOT_PUBLIC]}}
    api.on("POST", Route.INITIALIZE, Says(warned, 201))
    api.on("GET", Route.PAYMENT_METHODS, ok([]))
    # A script finds the warning in every answer, and that does not count as shown to a person.
    script = momo(*INIT[:-2], "--json")
    assert (NOT_PUBLIC in script.json["meta"]["warnings"], NOT_PUBLIC in script.err) == (True, False)
    told = [momo(*INIT).err for _ in range(3)]
    assert [NOT_PUBLIC in err for err in told] == [True, False, False]
    setting = "momo config set http.public_base_url https://..."
    assert [setting in err for err in told] == [True, False, False]
    assert ["No line receives." in err for err in told] == [True, True, True]
    Path(shop.places.state, "checkout-not-public").unlink()
    assert NOT_PUBLIC in momo(*INIT).err


def test_a_shop_without_a_number_is_warned_that_the_customer_cannot_pay(api: FakeApi, momo: Momo) -> None:
    api.on("POST", Route.INITIALIZE, MADE)
    api.on("GET", Route.PAYMENT_METHODS, ok([NO_SIM]))
    warning = "No number of yours receives payments yet, so the customer cannot pay."
    ran = momo(*INIT)
    assert (ran.code, warning in ran.err, "next:  momo lines" in ran.err) == (0, True, True)
    assert warning not in momo(*INIT, "--sandbox").err
    api.on("GET", Route.PAYMENT_METHODS, ok([samples.METHOD_ROW]))
    assert warning not in momo(*INIT).err


def test_init_says_to_which_number_the_code_is_sent(api: FakeApi, momo: Momo) -> None:
    for sent in (True, False):
        made = {**MADE.body, "data": {**samples.CREATED, "payer_sms_sent": sent}}
        api.on("POST", Route.INITIALIZE, Says(made, 201))
        assert ("  sms    the code is sent to 024 400 0111" in momo(*INIT).out) is sent


def test_the_phone_may_stand_behind_the_amount(api: FakeApi, momo: Momo) -> None:
    api.on("POST", Route.INITIALIZE, MADE)
    api.on("GET", Route.PAYMENT_METHODS, ok([]))
    assert momo("init", "12.50", "0244000111", "--json").code == 0
    assert momo(*INIT[:-2], "--json").code == 0
    assert [one.body["phone_number"] for one in api.asked] == ["0244000111"] * 2
    assert [one.body["amount"] for one in api.asked] == ["12.50"] * 2


def test_a_phone_given_twice_is_refused_and_without_one_none_is_sent(api: FakeApi, momo: Momo) -> None:
    twice = momo("init", "12.50", "0244000111", "--phone", "0244000112", "--json")
    assert twice.code == 2
    assert "given twice" in twice.json["error"]["message"]
    assert api.asked == []
    api.on("POST", Route.INITIALIZE, MADE)
    api.on("GET", Route.PAYMENT_METHODS, ok([]))
    assert momo("init", "12.50", "--json").code == 0
    assert "phone_number" not in api.asked[0].body


URL = "https://pay.example/pay/Xb3"
HALVES = {"█": "##", "▀": "# ", "▄": " #", " ": "  "}


def test_screen_shows_every_module(shop: Shop) -> None:
    terminal = open_terminal(Flags(), {**shop.environ})
    code = segno.make(URL, error="l", micro=False)
    wanted = ["".join(" " if m else "#" for m in row) for row in code.matrix_iter(border=2)]
    ascii_lines = drawn(URL, replace(terminal, symbols=False))
    assert ascii_lines == ["".join(2 * c for c in row) for row in wanted]
    halves = drawn(URL, replace(terminal, symbols=True))
    seen = ["".join(HALVES[c][part] for c in line) for line in halves for part in (0, 1)]
    assert seen[: len(wanted)] == wanted
    coloured = drawn(URL, replace(terminal, symbols=True, color=True))
    assert coloured == [f"\x1b[97;40m{line}\x1b[0m" for line in halves]


def test_init_draws_the_page_under_its_lines(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, ok(samples.CREATED))
    argv = ("init", "12.50", "--phone", "0244124567", "-o", "table")
    plain = momo(*argv).out.splitlines()
    with_code = momo(*argv, "--qr").out.splitlines()
    assert [line for line in with_code if line in plain] == plain
    assert any("█▄" in line for line in with_code)
