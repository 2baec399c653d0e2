"""Content of the checkout page, decided by pure functions."""

import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.names import group_digits, mask_number, short_name
from daemon.core.payments.checkout import (
    LINES_AWAY_US,
    MENUS,
    RECEIPT_SHOWN_US,
    CheckoutFacts,
    CheckoutScreen,
    CheckoutView,
    ShownLine,
    is_shown,
    may_return_to,
    no_line_receives,
    return_address,
    screen_of,
    view,
)
from daemon.core.payments.payer_texts import STEPS
from daemon.wire import Mode, TransactionStatus
from tests.fakes import rows
from tests.fakes.each import each
from tests.fakes.rows import AT, DAY

LINE = ShownLine(rows.method(), here=True, seen_at=AT)
TELECEL = ShownLine(
    rows.method(provider="momo_telecel", phone_number="+233201112223", account_name="Ama T"), here=True, seen_at=AT
)


def facts(**changes: Any) -> CheckoutFacts:
    given: dict[str, Any] = {
        "request": rows.transaction(),
        "payment": None,
        "shop": "Ama Provisions",
        "timezone": "Africa/Accra",
        "in_review": False,
        "lines": (LINE,),
    }
    return CheckoutFacts(**(given | changes))


def shown(chosen: str = "", now: int = AT, **changes: Any) -> CheckoutView:
    return view(facts(**changes), STEPS, MENUS, chosen, now)


@each(
    ("status", "in_review", "past", "is_reversed"),
    list(
        itertools.product(
            (one for one in TransactionStatus if one is not TransactionStatus.PROCESSING),
            (False, True),
            (False, True),
            (False, True),
        )
    ),
)
def test_every_request_has_one_screen(
    status: TransactionStatus, in_review: bool, past: bool, is_reversed: bool
) -> None:
    paid = {
        TransactionStatus.SUCCESS: CheckoutScreen.PAID,
        TransactionStatus.PARTIAL: CheckoutScreen.SHORT,
        TransactionStatus.OVERPAID: CheckoutScreen.OVER,
    }
    request = rows.transaction(status=status, reversed_at=AT if is_reversed else None)
    found = screen_of(facts(request=request, in_review=in_review), AT + (DAY if past else 0))
    if is_reversed:
        assert found is CheckoutScreen.REVERSED
    elif status is TransactionStatus.PARTIAL and in_review:
        assert found is CheckoutScreen.CHECKING
    elif status in paid:
        assert found is paid[status]
    elif in_review or status is TransactionStatus.MANUAL_REVIEW:
        assert found is CheckoutScreen.CHECKING
    elif status is TransactionStatus.CANCELLED:
        assert found is CheckoutScreen.CANCELLED
    else:
        open_still = status is TransactionStatus.PENDING and not past
        assert found is (CheckoutScreen.WAITING if open_still else CheckoutScreen.EXPIRED)


def test_a_short_or_overpaid_order_that_is_settled_is_paid() -> None:
    for status in (TransactionStatus.PARTIAL, TransactionStatus.OVERPAID):
        request = rows.transaction(status=status, settled_at=AT)
        for in_review in (False, True):
            assert screen_of(facts(request=request, in_review=in_review), AT) is CheckoutScreen.PAID


def test_the_way_is_that_of_the_customers_own_network_unless_another_is_chosen() -> None:
    assert shown().way is not None
    own = shown(lines=(LINE, TELECEL)).way
    chosen = shown("telecel", lines=(LINE, TELECEL)).way
    across = shown("at", lines=(LINE, TELECEL)).way
    assert own is not None
    assert chosen is not None
    assert across is not None
    assert (own.network, own.number, own.menu) == ("mtn", "0244124567", MENUS["mtn"])
    assert (chosen.network, chosen.number, chosen.account) == ("telecel", "0201112223", "Ama T")
    assert (across.network, across.menu, across.to) == ("at", None, "MTN MoMo")


@pytest.mark.parametrize("chosen", ["", "vodafone", "MTN", "<script>", "mtn "])
def test_a_network_that_is_none_is_the_customers_own(chosen: str) -> None:
    way = shown(chosen).way
    assert way is not None
    assert way.network == "mtn"


@pytest.mark.parametrize(
    ("first", "ussd"),
    [("Dial *170#", "*170#"), ("Dial *920*1# now", "*920*1#"), ("Open the app", None), ("Dial #100#", None)],
)
def test_what_is_dialled_is_the_code_alone(first: str, ussd: str | None) -> None:
    way = view(facts(), {"mtn": first}, MENUS, "", AT).way
    assert way is not None
    assert (way.first, way.ussd) == (first, ussd)


def test_a_merchant_id_is_shown_on_its_own_network_only() -> None:
    line = ShownLine(rows.method(merchant_code="123456"), here=True, seen_at=AT)
    own, across = shown(lines=(line,)).way, shown("at", lines=(line,)).way
    assert own is not None
    assert across is not None
    assert (own.merchant_code, across.merchant_code) == ("123456", None)


def test_a_number_on_no_sim_is_not_paid_to_but_in_tests() -> None:
    nowhere = ShownLine(rows.method(sim_seq=None), here=False, seen_at=None)
    assert shown(lines=(nowhere,)).way is None
    test = replace(nowhere, method=rows.method(sim_seq=None, mode=Mode.TEST))
    assert shown(lines=(test,), request=rows.transaction(mode=Mode.TEST)).way is not None


def test_blind_is_when_every_phone_has_been_away_for_two_minutes() -> None:
    def line(here: bool, ago: int) -> ShownLine:
        return ShownLine(rows.method(), here=here, seen_at=AT - ago)

    assert not no_line_receives([], AT)
    assert not no_line_receives([line(True, DAY)], AT)
    assert not no_line_receives([line(False, LINES_AWAY_US - 1)], AT)
    assert no_line_receives([line(False, LINES_AWAY_US), line(False, DAY)], AT)
    assert not no_line_receives([line(False, DAY), line(True, 0)], AT)


def test_blind_is_when_the_number_to_pay_to_was_reported_as_not_receiving() -> None:
    deaf = replace(LINE, receives=False)
    assert shown(lines=(deaf,)).blind
    assert not shown(lines=(deaf,), request=rows.transaction(mode=Mode.TEST)).blind
    assert not shown(lines=(LINE, replace(TELECEL, receives=False))).blind
    assert shown(lines=(deaf, TELECEL)).blind, "the customer is told to pay to the one that is not read"


def test_a_page_is_a_receipt_for_thirty_days_and_then_no_page() -> None:
    for request, ended in (
        (rows.verified(), AT + rows.MINUTE + 4_321),
        (rows.transaction(), AT + DAY),
        (rows.transaction(status=TransactionStatus.CANCELLED, cancelled_at=AT + 5), AT + 5),
    ):
        assert is_shown(request, ended + RECEIPT_SHOWN_US - 1)
        assert not is_shown(request, ended + RECEIPT_SHOWN_US)
    assert not is_shown(rows.verified(origin="open"), AT)


def test_seconds_are_counted_to_the_end_and_never_below_zero() -> None:
    assert shown(now=AT).seconds_left == 24 * 3600
    assert shown(now=AT + DAY - 1).seconds_left == 1
    assert shown(now=AT + DAY).seconds_left == 0


@pytest.mark.parametrize(
    ("number", "seen"), [("+233244124567", "024 *** 4567"), ("+22890123456", "+22 *** 3456"), ("123", "***")]
)
def test_of_a_number_the_ends_are_shown(number: str, seen: str) -> None:
    assert mask_number(number) == seen
    assert mask_number(None) is None


@pytest.mark.parametrize(
    ("name", "seen"), [("Kofi Yaw Boateng", "Kofi B."), ("Kofi", "Kofi"), ("  ", None), ("", None), (None, None)]
)
def test_of_a_name_the_first_and_an_initial_are_shown(name: str | None, seen: str | None) -> None:
    assert short_name(name) == seen


def test_a_number_is_grouped_as_it_is_read_out() -> None:
    assert group_digits("0244124567") == "024 412 4567"
    assert group_digits("+22890123456") == "+22890123456"


@each(
    ("url", "back"),
    [
        ("https://a.example", "https://a.example/?reference=r"),
        ("https://a.example/", "https://a.example/?reference=r"),
        ("HTTPS://A.example:8443/x?y=1#z", "https://A.example:8443/x?y=1&reference=r#z"),
        ("https://a.example?y=1", "https://a.example/?y=1&reference=r"),
        ("https://a.example#z", "https://a.example/?reference=r#z"),
        ("http://[::1]:80/x", "http://[::1]:80/x?reference=r"),
        ("javascript:alert(1)", None),
        ("java\nscript:alert(1)", None),
        ("https://a@b.example/", None),
        ("https://a.example\\@b.example/", None),
        ("//a.example/", None),
        ("https://a.example/ b", None),
        ("https://a.example/\n", None),
        ("https://ä.example/", None),
        ("", None),
        (None, None),
    ],
)
def test_customer_goes_back_to_a_plain_web_address_with_the_reference(url: str | None, back: str | None) -> None:
    found = return_address(url, "r")
    assert (None if found is None else found.url) == back


@each(
    "url",
    [
        "https://shop.example",
        "HTTPS://Shop.example:8443/thanks?a=1#x",
        "http://localhost:5000/thanks",
        "http://127.0.0.1:5000",
        "http://192.168.1.7/x",
        "http://[::1]:5000/",
        "http://till",
        "http://till.local/x",
        "http://shop.localhost",
    ],
)
def test_https_and_within_the_shop_s_own_network_http(url: str) -> None:
    assert may_return_to(url)


@each(
    "url",
    [
        "http://shop.example/",
        "http://8.8.8.8/",
        "http://[2606:4700::1]/",
        "http://localhost.shop.example",
        "http://192.168.1.7.shop.example",
        "https://user@shop.example",
        "https://",
        "https://[:::]/",
        "javascript:alert(1)",
        "//shop.example",
        "shop.example",
        "",
    ],
)
def test_anything_else_is_refused(url: str) -> None:
    assert not may_return_to(url)
