"""What `momo setup` does about phones and numbers: find a SIM, wait for one, put a number on it."""

import select
from typing import Any, Final

from daemon.wire import Path
from momo_cli import system
from momo_cli.answer import Row
from momo_cli.client import Client
from momo_cli.devices import sim_object, split_sim
from momo_cli.errors import Failure
from momo_cli.terminal import Terminal
from momo_cli.text import clean

PHONE_S: Final = 300.0
LOOK_S: Final = 0.5


def sims(client: Client) -> list[dict[str, Any]]:
    """Return each SIM with the phone that it is in."""
    return [
        {**sim, "device_id": one["device_id"], "name": one.get("name")}
        for one in client.get(Path.SIMS).data or ()
        for sim in one.get("sims") or ()
    ]


def modems(client: Client) -> list[dict[str, Any]]:
    """Return the real phones, ready or not."""
    found: list[dict[str, Any]] = client.get(Path.LOCAL_MODEMS).data or []
    return [one for one in found if not one.get("simulated")]


def wait_for_sim(client: Client, terminal: Terminal) -> list[dict[str, Any]]:
    """Look again and again until a SIM is there, Enter is pressed, or the time is over."""
    begun, told = system.monotonic(), ""
    while system.monotonic() - begun < PHONE_S:
        if found := sims(client):
            return found
        for modem in modems(client):
            state = f"{clean(modem.get('state'))} {clean(modem.get('detail'))}".strip()
            if state not in ("", told):
                told = state
                terminal.note(f"  … {clean(modem.get('port'))}: {state}")
                if modem.get("next"):
                    terminal.note(f"      {clean(modem['next'])}")
        if select.select([terminal.stdin], [], [], LOOK_S)[0]:
            terminal.stdin.readline()
            return []
    return []


def add_number(client: Client, body: dict[str, str], place: str) -> None:
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


def called(sim: Row) -> str:
    """Return `the MTN SIM …4567 in zte-front`."""
    network, last = clean(sim.get("network")) or "unknown", clean(sim.get("iccid_last4"))
    card = f"{network} SIM …{last}" if last else f"{network} SIM"
    return f"the {card} in {clean(sim.get('name') or sim.get('device_id'))}"
