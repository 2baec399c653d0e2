"""The steps of `momo setup` about the phone: find its SIM, unlock it with its PIN, wait for a first payment."""

import select
from collections.abc import Iterator
from typing import Any, Final

from daemon.wire import MessageState, Path
from momo_cli import system
from momo_cli.errors import Failure
from momo_cli.inputs import passwords
from momo_cli.inputs.ids import split_sim
from momo_cli.service import modem_manager
from momo_cli.setup.step import Setup, outcome
from momo_cli.show.answer import Row
from momo_cli.show.words import money, phone
from momo_cli.socket.client import Client
from momo_cli.text import at, clean

PERSON_S: Final = 300.0
"""Time for a person to find the modem, or the other phone."""
MODEM_S: Final = 30.0
"""Time for a connected modem to start and read its SIM."""
LOOK_S: Final = 0.5
_PASSING: Final = frozenset({"starting", "restarting", "recovering", "resuming", "gone"})
"""Passing states of a phone."""
_AWAY: Final = "away"
_PIN: Final = "momo sims pin "
_RELEASE: Final = "momo modems release "
_READ: Final = frozenset({MessageState.PAYMENT, MessageState.HISTORICAL})


def all_sims(client: Client) -> list[dict[str, Any]]:
    """Return each SIM with the id and name of its phone."""
    return [
        {**sim, "device_id": one["device_id"], "name": one.get("name")}
        for one in client.get(Path.SIMS).data or ()
        for sim in one.get("sims") or ()
    ]


def sim_text(sim: Row) -> str:
    """Return `the MTN SIM …4567 in zte-front`."""
    network, last = clean(sim.get("network")) or "unknown", clean(sim.get("iccid_last4"))
    card = f"{network} SIM …{last}" if last else f"{network} SIM"
    return f"the {card} in {clean(sim.get('name') or sim.get('device_id'))}"


def modem(setup: Setup) -> Row:
    """Find a SIM that can be read; unlock it with its PIN, and make ModemManager release it, if needed and agreed."""
    found = _plugged_in(setup.client, _modems(setup.client))
    if not found and not setup.looks:
        found = _wait(setup)
    if found:
        return outcome("done", f"Found {', '.join(sim_text(sim) for sim in found)}")
    known = _modems(setup.client)
    for one in known:
        if one.get("detail") and one.get("state") != _AWAY:
            fix = clean(one.get("next")) or "momo doctor modem"
            return outcome("needs_action", clean(one["detail"]), fix)
    status = "needs_action" if setup.looks else "skipped"
    away = ", ".join(clean(one.get("name")) for one in known if one.get("state") == _AWAY)
    detail = f"{away} is not plugged in" if away else "No phone yet; plug it in at any time"
    return outcome(status, detail, "momo modems list" if away else "momo sims list --wait")


def first_payment(setup: Setup) -> Row:
    """Check that one real SMS of the network is read: one already on the SIM, or one that the operator causes now."""
    again = "momo setup --first-payment"
    known = _messages(setup.client)
    if any(message["state"] in _READ for message in known):
        return outcome("done", "The network's SMS are read and understood")
    placed = [one for one in setup.client.get(Path.PAYMENT_METHODS).data or () if one.get("sim")]
    wanted = setup.answers.first_payment
    if setup.looks:
        return outcome(
            "needs_action" if wanted else "skipped", "No real SMS has been read yet", again
        )
    if not placed or wanted is False or not (wanted or setup.may_ask("first_payment")):
        return outcome("skipped", "No real SMS has been read yet", again)
    setup.terminal.note(
        f"  From another phone, send GHS 0.10 to {phone(placed[0]['phone_number'])} now, without a code: this "
        "tests that the SIM's messages are read." + (" Press Enter to skip." if setup.asks else "")
    )
    # A payment that arrives before this point counts too.
    return _watched(setup, again, {message["id"] for message in known})


def _watched(setup: Setup, again: str, seen: set[str]) -> Row:
    begun = system.monotonic()
    while system.monotonic() - begun < PERSON_S:
        for message in reversed(_messages(setup.client)):
            if message["id"] in seen:
                continue
            seen.add(message["id"])
            if (result := _outcome_of(message)) is not None:
                return result
            setup.say(f"  … an SMS came from {clean(message.get('sender'))}; it is not a receipt")
        if _enter(setup):
            setup.note("first_payment", later=True)
            return outcome("skipped", "Not tested", again)
    return outcome("needs_action", "No SMS came within five minutes", "momo doctor modem")


def _outcome_of(message: Row) -> Row | None:
    """Return the outcome of the step after one new SMS; None if it must wait for another."""
    match message["state"]:
        case MessageState.PAYMENT | MessageState.HISTORICAL:
            amount = money(at(message, "fields.amount"), "GHS")
            return outcome("done", f"{amount} was received: the SMS was read and understood")
        case MessageState.UNPARSED:
            fix = f"momo messages sample {message['id']}"
            return outcome(
                "needs_action", "An SMS came with a wording that momo does not know", fix
            )
        case MessageState.HELD:
            return outcome(
                "needs_action", "An SMS came that is held for review", "momo review list"
            )
        case _:
            return None


def _messages(client: Client) -> list[dict[str, Any]]:
    """Return the newest real SMS, newest first."""
    return [
        one for one in client.get(Path.LOCAL_MESSAGES, limit=50).data or () if not one.get("test")
    ]


def _modems(client: Client) -> list[dict[str, Any]]:
    """Return the phones that are not simulated."""
    found: list[dict[str, Any]] = client.get(Path.LOCAL_MODEMS).data or []
    return [one for one in found if not one.get("simulated")]


def _plugged_in(client: Client, phones: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the SIMs of connected phones."""
    away = {one.get("device_id") for one in phones if one.get("state") == _AWAY}
    return [sim for sim in all_sims(client) if sim["device_id"] not in away]


def _wait(setup: Setup) -> list[dict[str, Any]]:
    """Poll until there is a SIM, none can come, Enter is pressed, or the time is over."""
    answers = setup.answers
    begun, shown = system.monotonic(), set[str]()
    wait_s = PERSON_S if setup.asks else MODEM_S
    setup.say("  Plug in the modem, with its SIM. Press Enter to continue without one.")
    while system.monotonic() - begun < wait_s:
        phones = _modems(setup.client)
        if found := _plugged_in(setup.client, phones):
            return found
        for one in phones:
            state = f"{clean(one.get('port'))}: {clean(one.get('detail') or one.get('state'))}"
            if state not in shown:
                shown.add(state)
                setup.say(f"  … {state}")
                if not _helped(setup, one):
                    return []
        passing = [one for one in phones if one.get("state") in _PASSING or _is_locked(one)]
        expected = answers.modems or answers.pin_file or passing
        if _enter(setup) or not (setup.asks or expected):
            return []
    return []


def _helped(setup: Setup, one: Row) -> bool:
    """Unlock or release a phone if the operator agrees; return False if the answer makes waiting useless."""
    fix = clean(one.get("next"))
    if _is_locked(one):
        return _opened(setup, one)
    if fix.startswith(_RELEASE) and setup.asks:
        if not setup.agreed("ModemManager uses it. Make it release the modem?", "--no-input"):
            return True
        port = fix.removeprefix(_RELEASE)
        try:
            modem_manager.release_modem(port, setup.terminal.located.environ, setup.client.pause)
        except Failure as failure:
            setup.warn(failure.message)
            fix = failure.next[0] if failure.next else ""
    if fix:
        setup.say(f"      {fix}")
    return True


def _is_locked(one: Row) -> bool:
    """Return whether a PIN would unlock it; with only one attempt left it must be unlocked in a telephone."""
    return clean(one.get("next")).startswith(_PIN)


def _opened(setup: Setup, one: Row) -> bool:
    """Send the typed PIN, or that of the file if only one SIM is locked; return False if it is postponed."""
    device, slot = split_sim(clean(one["next"]).removeprefix(_PIN), _PIN)
    if setup.answers.pin_file is not None:
        others = [other for other in _modems(setup.client) if _is_locked(other)]
        if len(others) > 1 or one.get("state") != "pin_needed":
            return False
        pin = passwords.read_pin_file(setup.answers.pin_file, setup.terminal)
        passwords.send_pin(setup.client, device, slot, pin)
        return True
    if not setup.may_ask("pin"):
        return False
    setup.say("  It is tried once; three wrong PINs block a SIM.")
    for pin in _typed(setup):
        try:
            passwords.send_pin(setup.client, device, slot, pin)
        except Failure as failure:
            setup.warn_of(failure)
        else:
            setup.note("pin", later=False)
            return True
    setup.note("pin", later=True)
    return False


def _typed(setup: Setup) -> Iterator[str]:
    """Yield typed PINs until the input is empty."""
    while pin := setup.terminal.ask_secret("  The SIM's PIN (Enter: later) ", "--pin-file FILE"):
        if passwords.is_pin(pin):
            yield pin
        else:
            setup.warn("A PIN is 4 to 8 digits.")


def _enter(setup: Setup) -> bool:
    """Wait a moment; return whether Enter was pressed meanwhile."""
    if not setup.asks:
        setup.client.pause(LOOK_S)
        return False
    stdin = setup.terminal.stdin
    if select.select([stdin], [], [], LOOK_S)[0]:
        stdin.readline()
        return True
    return False
