"""`momo messages list` on a screen of 80 columns: one line for each message."""

from typing import Any

from daemon.wire import MessageState, Path
from momo_cli.show.wrapping import text_width
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok

WHY = ["unknown_sender", "unconfirmed_row", "id_of_another_time"]


def row(state: str, sender: str, reasons: list[str], **more: Any) -> dict[str, Any]:
    fields = {"amount": "1000000.00"}
    return {
        **samples.MESSAGE_ROW,
        "state": state,
        "sender": sender,
        "reasons": reasons,
        "fields": fields,
        **more,
    }


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
    api.on(
        "GET",
        Path.LOCAL_MESSAGES,
        ok([row("held", "MobileMoney", WHY), row("payment", "MobileMoney", [])]),
    )
    held, paid = momo("messages", "list", "-o", "table", COLUMNS="80").out.splitlines()[-2:]
    assert "unknown sender" in held
    assert "payment received" in paid
    wide = momo("messages", "list", "-o", "table", COLUMNS="140").out
    assert "unknown sender, unconfirmed row, id of another time" in wide
