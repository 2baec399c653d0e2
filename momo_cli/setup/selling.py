"""The steps of `momo setup` about payments: the numbers of the SIMs, the endpoint, and a practice payment."""

from typing import Any, Final

from daemon.wire import ErrorCode, Path
from momo_cli import system
from momo_cli.errors import Failure
from momo_cli.inputs.ids import endpoint_name, sim_object, split_sim
from momo_cli.setup.phone import all_sims, sim_text
from momo_cli.setup.step import Setup, outcome
from momo_cli.show.answer import Row
from momo_cli.show.words import phone
from momo_cli.socket.client import Client
from momo_cli.text import at, clean
from momo_cli.views.lines import agrees_to_network, ignore_sim

PROVIDERS: Final = {"mtn": "momo_mtn", "telecel": "momo_telecel", "at": "momo_at"}
_WRONG_URL: Final = (ErrorCode.URL_NOT_ALLOWED, ErrorCode.VALIDATION_ERROR)
_LOCAL: Final = "momo listen --forward-to http://127.0.0.1:3000/hook"


def number(setup: Setup) -> Row:
    """Register the merchant numbers and assign them to their SIMs."""
    wanted = {str(body["phone_number"]): body for body in setup.answers.methods}
    for given, body in {} if setup.looks else wanted.items():
        place = next((sim for sim, its in setup.answers.sims if its == given), "")
        _add_number(setup.client, body, place)
    if setup.may_ask("number") and not all(_ask_number(setup, sim) for sim in _bare_sims(setup)):
        setup.note("number", later=True)
    taken = setup.client.get(Path.PAYMENT_METHODS).data or ()
    placed = [method for method in taken if method.get("sim")]
    fix = "momo setup --again"
    if setup.looks and (missing := len(wanted) - len(taken)) > 0:
        return outcome("needs_action", f"{missing} of the numbers are not registered yet", fix)
    if placed:
        shown = ", ".join(
            f"{phone(m['phone_number'])} ({clean(m['account_name'])})" for m in placed
        )
        without = [f"; {sim_text(sim)} has no number" for sim in _bare_sims(setup)[:1]]
        detail = "".join([f"Payments are received by {shown}", *without])
        return outcome("done", detail, "momo lines" if without else None)
    if taken:
        detail = "The number is on no SIM yet"
        return outcome("needs_action", detail, "momo phones list")
    status = "needs_action" if setup.looks else "skipped"
    return outcome(status, "No number receives payments yet", fix)


def _bare_sims(setup: Setup) -> list[Row]:
    """Return the SIMs for payments that have no number."""
    return [
        sim for sim in all_sims(setup.client) if not (sim["phone_number"] or sim.get("ignored"))
    ]


def _ask_number(setup: Setup, sim: Row) -> bool:
    """Ask for the number of a SIM and assign it, or ignore the SIM; return False if it is postponed."""
    flag = "--method NET:PHONE:NAME"
    while True:
        setup.say(f"  On {sim_text(sim)}:")
        its = setup.ask(
            "Its number, such as 0244124567 (no: not for payments; Enter: later) ", flag
        )
        if not its:
            return False
        if its.lower() in ("n", "no", "none"):
            ignore_sim(setup.client, sim)
            return True
        name = setup.ask("The account name of that wallet? ", flag)
        network = str(sim.get("network") or "").lower()
        while network not in PROVIDERS:
            network = setup.ask("Its network: mtn, telecel or at? ", flag).lower()
        if not agrees_to_network(setup.terminal, its, PROVIDERS[network]):
            continue
        body = {"provider": PROVIDERS[network], "phone_number": its, "account_name": name or its}
        try:
            _add_number(setup.client, body, f"{sim['device_id']}:{sim['slot_index']}")
        except Failure as failure:
            setup.warn_of(failure)
        else:
            return True


def _add_number(client: Client, body: dict[str, str], place: str) -> None:
    """Register a number, on the SIM `place` if given; do nothing if it is already registered."""
    given: dict[str, Any] = dict(body)
    if place:
        given["sim"] = sim_object(client, *split_sim(place, "--sim"))
    try:
        client.post_once(Path.PAYMENT_METHODS, given)
    except Failure as failure:
        if failure.code != "PAYMENT_METHOD_EXISTS":
            raise


def endpoint(setup: Setup) -> Row:
    """Add the endpoint of the shop's program, which gets a webhook for each payment."""
    fix = "momo endpoints add https://shop.example/hook"
    endpoints = setup.client.get(Path.ENDPOINTS).data or ()
    urls = [one.get("url") for one in endpoints if not one.get("is_sandbox")]
    url = setup.answers.endpoint
    if urls and url in (None, *urls):
        return outcome("done", f"Payments are sent to {clean(url or urls[0])}")
    if setup.looks and url:
        return outcome("needs_action", f"Payments are not sent to {clean(url)} yet", fix)
    if url is None and setup.may_ask("endpoint"):
        url = _ask_url(setup)
    while url:
        try:
            return _made_endpoint(setup, url)
        except Failure as failure:
            if not (setup.asks and failure.code in _WRONG_URL):
                raise
            setup.warn_of(failure)
            setup.say("  For a program on this machine, leave it empty and type later:")
            setup.say(f"      {_LOCAL}")
            url = _ask_url(setup)
    return outcome("skipped", "No program of yours gets webhooks", fix)


def _ask_url(setup: Setup) -> str:
    question = "URL that gets a webhook for each payment, https://... (Enter: none) "
    url = setup.ask(question, "--endpoint URL")
    setup.note("endpoint", later=not url)
    return url


def _made_endpoint(setup: Setup, url: str) -> Row:
    """Add an endpoint; first ask for the numbers of SIMs without one, if it is refused because of them."""
    try:
        reply = setup.client.post_once(Path.ENDPOINTS, {"url": url})
    except Failure as failure:
        lacking = at(failure.body, "error.sims_without_number")
        if failure.code != ErrorCode.LINES_NOT_READY or not lacking:
            raise
        setup.say("  Each SIM needs its number first, because payments without one match no rule.")
        if not (setup.asks and all(_ask_number(setup, sim) for sim in lacking)):
            detail = f"No endpoint yet: {sim_text(lacking[0])} has no number"
            return outcome("needs_action", detail, "momo lines")
        reply = setup.client.post_once(Path.ENDPOINTS, {"url": url})
    name = endpoint_name(reply.data, setup.client.find(Path.ENDPOINTS) or [reply.data])
    return outcome("done", f"Payments are sent to {clean(url)}", f"momo endpoints reveal {name}")


def practice(setup: Setup) -> Row:
    """Make a test transaction and pay it: a test of all parts but the modem."""
    asked_for = setup.answers.practice
    if asked_for is None and setup.noted("practice"):
        return outcome("done", "A practice payment was made before", "momo demo")
    if setup.looks or asked_for is False or not (setup.asks or asked_for):
        return outcome("skipped", "Not tested", "momo setup --practice")
    started = system.monotonic()
    body = {"amount": "1.00", "phone_number": "0244000000", "customer_name": "Practice"}
    transaction = setup.client.call(
        "POST", Path.INITIALIZE, body=body, idempotency_key=system.new_key(), sandbox=True
    ).data
    body = {"reference": transaction["reference"]}
    paid = setup.client.call("POST", Path.TEST_PAYMENTS, body=body, sandbox=True).data
    status = at(paid, "transaction.status")
    took_s = system.monotonic() - started
    if status != "SUCCESS":
        detail = f"Transaction {clean(transaction['svc_code'])} is {clean(status) or 'not paid'}"
        fix = f"momo tx show {transaction['reference']} --events"
        return outcome("failed", detail, fix)
    detail = (
        f"Transaction {clean(transaction['svc_code'])} of GHS 1.00 was created, paid and matched "
        f"in {took_s:.1f} s, with no real money"
    )
    setup.note("practice", later=True)
    return outcome("done", detail)
