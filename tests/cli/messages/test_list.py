"""`momo messages list` on a screen of 80 columns: one line for each message."""

from typing import Any

import pytest

from daemon.wire import MessageState, Path
from momo_cli.show.wrapping import text_width
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, Says, ok

WHY = ["unknown_sender", "unconfirmed_row", "id_of_another_time"]


def row(state: str, sender: str, reasons: list[str], **more: Any) -> dict[str, Any]:
    fields = {"amount": "1000000.00"}
    return {**samples.MESSAGE_ROW, "state": state, "sender": sender, "reasons": reasons, "fields": fields, **more}


def test_each_message_is_one_line_of_eighty_columns(api: FakeApi, momo: Momo) -> None:
    many = [
        row(state, sender, reasons, test=test, kind="merchant_payment_received")
        for state in MessageState
        for sender in ("MobileMoney", "+233244124567890")
        for reasons in ([], WHY[:1], WHY)
        for test in (False, True)
    ]
    api.on("GET", Path.LOCAL_MESSAGES, ok(many, meta={"total": len(many)}))
    lines = momo("messages", "list", "-o", "table", COLUMNS="80").out.splitlines()
    assert len(lines) == 3 + len(many)
    assert max(map(text_width, lines)) <= 80


def test_the_first_reason_stands_in_the_list_and_else_the_kind(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.LOCAL_MESSAGES, ok([row("held", "MobileMoney", WHY), row("payment", "MobileMoney", [])]))
    held, paid = momo("messages", "list", "-o", "table", COLUMNS="80").out.splitlines()[-2:]
    assert "unknown sender" in held
    assert "payment received" in paid
    wide = momo("messages", "list", "-o", "table", COLUMNS="140").out
    assert "unknown sender, unconfirmed row, id of another time" in wide


ID = samples.PAYER["id"]
PAYER = f"/v1/approved-payers/{ID}"
GONE = {**samples.PAYER, "state": "revoked", "revoked_at": "2026-11-20T09:16:00.000Z"}


@pytest.fixture
def payer(api: FakeApi) -> FakeApi:
    """A payer that is approved until it is revoked, as the daemon lists and shows it."""

    def listed(only: str) -> Says:
        done = any(asked.method == "DELETE" for asked in api.asked)
        row = GONE if done else samples.PAYER
        return ok([row] if only == "all" or not done else [])

    api.on("GET", Path.APPROVED_PAYERS, lambda asked: listed(asked.query.get("state", "approved")))
    api.on("GET", PAYER, ok(samples.PAYER), ok(GONE))
    api.on("DELETE", PAYER, ok(GONE))
    return api


@pytest.mark.parametrize("typed", [ID, "0244124567", "Esi Ansah", ID[:8]])
def test_it_is_revoked_once_and_then_was_revoked_already(typed: str, payer: FakeApi, momo: Momo) -> None:
    first = momo("review", "payers", "revoke", typed, "--json")
    assert (first.code, first.json["data"]) == (0, {**GONE, "status": "revoked"})
    again = momo("review", "payers", "revoke", typed, "-o", "table")
    assert (again.code, again.out) == (0, "It was revoked already, 2m ago.\n")
    third = momo("review", "payers", "revoke", typed, "--get", "data.status")
    assert (third.code, third.out) == (0, "already_revoked\n")
    assert [asked.method for asked in payer.asked].count("DELETE") == 1


def test_one_that_never_was_is_3(payer: FakeApi, momo: Momo) -> None:
    ran = momo("review", "payers", "revoke", "Kofi", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "APPROVED_PAYER_NOT_FOUND")
    assert all(asked.method == "GET" for asked in payer.asked)


def test_messages_of_the_sandbox_are_listed_only_with_its_flag(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.LOCAL_MESSAGES, ok([]))
    assert momo("messages", "list").err == "No messages.\n"
    assert api.asked[-1].query["mode"] == "live"
    assert momo("messages", "list", "--sandbox").err == "No messages of the sandbox.\n"
    assert (api.asked[-1].query.get("mode"), api.asked[-1].headers["svc-mode"]) == (None, "test")
