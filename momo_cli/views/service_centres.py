"""The service centres (SMSC) of a SIM: how they are shown, and the owner's test payment."""

from typing import Final

from daemon.wire import Path
from momo_cli.show.answer import Cell, Head, Row, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, money, phone
from momo_cli.socket.client import Client, Reply
from momo_cli.text import clean

_SOURCES: Final = {
    "shipped": "on momo's list of this network",
    "sim": "the SIM's own (AT+CSCA)",
    "test_payment": "brought your test payment",
    "approved": "you approved a message through it",
    "learned": "home messages confirmed 20 receipts through it, on three days",
    "noticed": "not used before: its messages wait",
}
SMSCS_VIEW: Final = view_of(
    "smsc home source message_id since",
    Head("SERVICE CENTRE", lambda row, _: clean(row["smsc"])),
    Head(
        "", lambda row, _: Cell("✓ home", "green") if row["home"] else Cell("! foreign", "yellow")
    ),
    Head("WHY", lambda row, _: _SOURCES.get(row["source"], clean(row["source"]))),
    Head("SINCE", lambda row, terminal: ago(row["since"], terminal)),
    id="smsc",
)


def smscs_of(client: Client, sim: Row) -> Reply:
    """Get the service centres of a SIM, whether its balance chain has begun, and its expected test payment."""
    return client.call("POST", Path.LOCAL_SIM_SMSCS, body=_place(sim))


def ask_test_payment(client: Client, sim: Row) -> Reply:
    """Let the daemon expect a test payment on a SIM."""
    return client.call("POST", Path.LOCAL_SIM_TEST_PAYMENT, body=_place(sim))


def test_payment_text(asked: Row, number: object, terminal: Terminal) -> str:
    """Return the payment that the owner is to make."""
    amount, to = (
        money(asked["amount"], asked["currency"]),
        phone(number) or "the number of this SIM",
    )
    until = clock(asked["expires_at"], terminal)
    return f"From any other phone, send exactly {amount} to {to}, without a code, until {until}."


def _place(sim: Row) -> Row:
    return {"device_id": sim["device_id"], "slot_index": sim["slot_index"]}
