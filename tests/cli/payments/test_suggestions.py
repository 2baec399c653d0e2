"""Accept a suggested transaction: with one key on a terminal, with --suggested in a script. Also: approved names."""

import json
import os
import pty
import select
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest

from daemon import wire
from momo_cli.flags import Flags
from momo_cli.show.terminal import open_terminal
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.cli.payments.test_review_decisions import ID, ONE, decided, on_terminal, posted
from tests.fakes.fake_api import FakeApi, ok

OTHER = "svc_trx_" + "1" * 32
SUGGESTIONS: list[dict[str, Any]] = [
    {
        **samples.PAID,
        "status": "PENDING",
        "rank": rank,
        "reference": reference,
        "svc_code": code,
        "reasons": ["code_swapped"],
        "why": f"The reference has {code} with two characters swapped.",
        "client_reference": f"o-{rank}",
    }
    for rank, reference, code in ((1, samples.REF, samples.CODE), (2, OTHER, "K7M2Q9"))
]
NEAR: dict[str, Any] = {
    **samples.REVIEW,
    "reason": "near_miss",
    "summary": "nearly names an order",
    "request": None,
    "orders_named": [],
    "suggestions": SUGGESTIONS,
}
PAID: dict[str, Any] = {**samples.ONE, "status": "SUCCESS", "origin": "request"}


@pytest.fixture
def near(api: FakeApi) -> FakeApi:
    api.on("GET", ONE, ok(NEAR))
    api.on("POST", f"{ONE}/approve", decided("approved", PAID))
    return api


def test_show_says_which_orders_it_may_be_for_and_why(near: FakeApi, momo: Momo) -> None:
    ran = momo("review", "show", ID, "-o", "table", "--utc")
    lines = ran.out.splitlines()
    start = lines.index("transactions that it may be for")
    assert lines[start + 1].startswith(f"  1  {samples.CODE}  … waiting  GHS 1,012.50")
    assert lines[start + 2] == f"     The reference has {samples.CODE} with two characters swapped."
    assert lines[start + 3].startswith("  2  K7M2Q9")
    assert f"momo review approve {ID} --suggested" in ran.err


def test_list_has_a_column_for_the_first_suggestion(near: FakeApi, momo: Momo) -> None:
    near.on("GET", wire.Path.REVIEWS, ok([NEAR, samples.REVIEW]))
    ran = momo("review", "list", "--fields", "reason,suggested")
    assert ran.out.splitlines()[0] == f"near_miss\t{samples.CODE}"


@pytest.mark.parametrize(
    ("flags", "reference"),
    [
        (("--suggested",), samples.REF),
        (("--suggested", "--notes", "hers"), samples.REF),
        (("--suggested", "2"), OTHER),
        (("--suggested=2",), OTHER),
    ],
)
def test_a_script_takes_a_suggestion_by_its_number(
    flags: tuple[str, ...], reference: str, near: FakeApi, momo: Momo
) -> None:
    assert momo("review", "approve", ID, *flags).code == 0
    assert posted(near)[0]["reference"] == reference


@pytest.mark.parametrize("number", ["0", "3"])
def test_a_number_that_is_not_suggested_is_2(number: str, near: FakeApi, momo: Momo) -> None:
    ran = momo("review", "approve", ID, "--suggested", number)
    assert ran.code == 2
    assert "only 1 to 2" in ran.err
    assert posted(near) == []


def test_when_nothing_is_suggested_any_more_the_error_says_so(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok({**NEAR, "suggestions": []}))
    ran = momo("review", "approve", ID, "--suggested")
    assert ran.code == 2
    assert "no transaction is suggested for this payment any more" in ran.err


def test_an_order_and_a_suggestion_are_one_too_many(near: FakeApi, momo: Momo) -> None:
    assert momo("review", "approve", ID, "--suggested", "--order", samples.REF).code == 2
    assert near.asked == []


def test_a_script_without_the_flag_keeps_the_sale_as_it_is(near: FakeApi, momo: Momo) -> None:
    assert momo("review", "approve", ID).code == 0
    assert posted(near) == [{}]


@pytest.mark.parametrize(
    ("key", "code", "sent"),
    [
        (b"1", 0, [{"reference": samples.REF}]),
        (b"2", 0, [{"reference": OTHER}]),
        (b"k", 0, [{}]),
        (b"3", 10, []),
        (b"q", 10, []),
        (b"\n", 10, []),
    ],
)
def test_a_person_decides_with_one_key(key: bytes, code: int, sent: list[Any], near: FakeApi, shop: Shop) -> None:
    ended, out, shown = on_terminal(shop, [(b"decide later] ", key)])
    assert ended == code
    assert posted(near) == sent
    assert b"two characters swapped" in shown
    assert json.loads(out)["data"]["state"] == ("approved" if code == 0 else "open")


class Quick(StringIO):
    """A screen that presses a key at the moment when the question appears."""

    def __init__(self, keyboard: int) -> None:
        super().__init__()
        self.keyboard = keyboard

    def flush(self) -> None:
        if self.getvalue().endswith("? "):
            os.write(self.keyboard, b"1")


def test_a_key_that_is_pressed_at_once_is_not_lost_and_one_from_before_the_question_is(shop: Shop) -> None:
    master, slave = pty.openpty()
    try:
        with open(slave, closefd=False) as stdin:
            terminal = open_terminal(Flags(), shop.environ)
            os.write(master, b"k\n")
            assert select.select([slave], [], [], 10)[0]
            terminal = replace(terminal, stdin=stdin, stderr=Quick(master))
            assert terminal.ask_key("Which? ", "--suggested") == "1"
    finally:
        os.close(slave)
        os.close(master)


def test_init_sends_the_name_that_is_expected(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, ok(samples.CREATED))
    for flag in ("--expect-payer-name", "--expected-payer-name"):
        argv = ("init", "12.50", "--phone", "0244124567", "--expect-payer", "0244124567")
        assert momo(*argv, flag, "Esi Ansah").code == 0
        assert posted(api)[-1]["expected_payer_name"] == "Esi Ansah"


def test_approved_names_are_listed_and_revoked(api: FakeApi, momo: Momo) -> None:
    payer = samples.PAYER
    api.on("GET", wire.Path.APPROVED_PAYERS, ok([payer]))
    api.on("GET", f"/v1/approved-payers/{payer['id']}", ok(payer))
    api.on("DELETE", f"/v1/approved-payers/{payer['id']}", ok({**payer, "state": "revoked"}))
    ran = momo("review", "payers", "list", "--phone", "0244124567", "--all", "-o", "table", COLUMNS="120")
    assert api.asked[-1].query == {"phone_number": "0244124567", "state": "all", "limit": "50", "offset": "0"}
    assert "ESI ANSAH" in ran.out
    assert "✓ approved" in ran.out
    ran = momo("review", "payers", "revoke", payer["id"], "-o", "table")
    assert ran.out == "✓ Revoked. ESI ANSAH is no longer approved for 024 412 4567.\n"
