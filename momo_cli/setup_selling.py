"""The steps of `momo setup` about selling: who is told of a payment, and a practice payment from order to webhook."""

from typing import Final

from daemon.wire import Path
from momo_cli import system
from momo_cli.answer import Row
from momo_cli.setup_step import Setup, row
from momo_cli.simulated import ask as pay
from momo_cli.text import at, clean

_PRACTICE_NUMBER: Final = "0244000000"


def endpoint(setup: Setup) -> Row:
    """Which program of the shop's own is told of each payment."""
    fix = "momo endpoints add https://shop.example/hook"
    there = setup.client.get(Path.ENDPOINTS).data or ()
    url = setup.wishes.endpoint
    if there and url in (None, *(one.get("url") for one in there)):
        return row("endpoint", "done", f"Payments are told to {clean(there[0]['url'])}")
    if setup.looks and url:
        return row("endpoint", "needs_action", f"Payments are not told to {clean(url)} yet", fix)
    if url is None and setup.may_ask("endpoint"):
        question = "Address that is told of each payment, https://... (Enter: none) "
        url = setup.ask(question, "--endpoint URL")
        setup.note("endpoint", later=not url)
    if not url:
        return row("endpoint", "skipped", "No program of yours is told of payments", fix)
    key = system.new_key()
    reply = setup.client.call("POST", Path.ENDPOINTS, body={"url": url}, idempotency_key=key)
    made = f"Payments are told to {clean(url)}"
    return row("endpoint", "done", made, f"momo endpoints reveal {at(reply.body, 'data.id')}")


def practice(setup: Setup) -> Row:
    """Ask for made-up money and pay it: all of momo, but for the modem."""
    wish = setup.wishes.practice
    if wish is None and setup.noted("practice"):
        return row("practice", "done", "A practice payment was made before", "momo demo")
    if setup.looks or wish is False or not (setup.asks or wish):
        return row("practice", "skipped", "Not tried", "momo setup --practice")
    started = system.monotonic()
    body = {"amount": "1.00", "phone_number": _PRACTICE_NUMBER, "customer_name": "Practice"}
    order = setup.client.call(
        "POST", Path.INITIALIZE, body=body, idempotency_key=system.new_key(), sandbox=True
    ).data
    paid = pay(setup.client, {"reference": order["reference"]}).data
    status = at(paid, "transaction.status")
    took_s = system.monotonic() - started
    if status != "SUCCESS":
        detail = f"Order {clean(order['svc_code'])} is {clean(status) or 'not paid'}"
        fix = f"momo tx show {order['reference']} --events"
        return row("practice", "failed", detail, fix)
    detail = (
        f"Order {clean(order['svc_code'])} of GHS 1.00 was asked for, paid and matched "
        f"in {took_s:.1f} s, with no real money"
    )
    setup.note("practice", later=True)
    return row("practice", "done", detail)
