"""The step of `momo setup` that puts the numbers which take money on their SIMs."""

from typing import Any, Final

from daemon.wire import Path
from momo_cli import system
from momo_cli.answer import Row
from momo_cli.client import Client
from momo_cli.devices import sim_object, split_sim
from momo_cli.errors import Failure
from momo_cli.setup_phone import called, sims
from momo_cli.setup_step import Setup, row
from momo_cli.text import at, clean
from momo_cli.words import phone

PROVIDERS: Final = {"mtn": "momo_mtn", "telecel": "momo_telecel", "at": "momo_at"}


def number(setup: Setup) -> Row:
    """Put the numbers that take money on their SIMs."""
    wanted = {str(body["phone_number"]): body for body in setup.wishes.methods}
    for told, body in {} if setup.looks else wanted.items():
        place = next((sim for sim, its in setup.wishes.sims if its == told), "")
        _add_number(setup.client, body, place)
    if setup.may_ask("number"):
        for sim in sims(setup.client):
            if not sim["phone_number"] and not _ask_number(setup, sim):
                setup.note("number", later=True)
                break
    taken = setup.client.get(Path.PAYMENT_METHODS).data or ()
    placed = [method for method in taken if method.get("sim")]
    fix = "momo methods add --provider momo_mtn --phone NUMBER --name NAME --sim DEVICE:0"
    if setup.looks and (missing := len(wanted) - len(taken)) > 0:
        return row("number", "needs_action", f"{missing} of the numbers are not there yet", fix)
    if placed:
        shown = ", ".join(
            f"{phone(m['phone_number'])} ({clean(m['account_name'])})" for m in placed
        )
        return row("number", "done", f"Payments come to {shown}")
    if taken:
        detail = "The number is on no SIM yet"
        return row("number", "needs_action", detail, "momo sims assign DEVICE:0")
    return row(
        "number", "needs_action" if setup.looks else "skipped", "No number takes money yet", fix
    )


def _ask_number(setup: Setup, sim: Row) -> bool:
    """Ask which number is on a SIM and put it there; False when it is put off."""
    flag = "--method NET:PHONE:NAME"
    while True:
        setup.say(f"  On {called(sim)}:")
        its = setup.ask("Its number, such as 0244124567 (Enter: later) ", flag)
        if not its:
            return False
        name = setup.ask("In whose name is that wallet? ", flag)
        network = str(sim.get("network") or "").lower()
        while network not in PROVIDERS:
            network = setup.ask("Its network: mtn, telecel or at? ", flag).lower()
        body = {
            "provider": PROVIDERS[network],
            "phone_number": its,
            "account_name": name or its,
        }
        try:
            _add_number(setup.client, body, f"{sim['device_id']}:{sim['slot_index']}")
        except Failure as failure:
            details = at(failure.body, "error.details.0.message")
            setup.warn(clean(details or failure.message))
        else:
            return True


def _add_number(client: Client, body: dict[str, str], place: str) -> None:
    """Register a number, on a SIM when `place` names one; one that is there already is left alone.

    Raises:
        Failure: The daemon refused it.
    """
    given: dict[str, Any] = dict(body)
    if place:
        given["sim"] = sim_object(client, *split_sim(place, "--sim"))
    try:
        client.call("POST", Path.PAYMENT_METHODS, body=given, idempotency_key=system.new_key())
    except Failure as failure:
        if failure.code != "PAYMENT_METHOD_EXISTS":
            raise
