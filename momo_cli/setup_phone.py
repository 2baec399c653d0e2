"""The steps of `momo setup` about the phone: find its SIM, open it with its PIN, see a first payment arrive."""

import select
from collections.abc import Iterator
from typing import Any, Final

from daemon.wire import MessageState, Path
from momo_cli import modem_manager, pins, system
from momo_cli.answer import Row
from momo_cli.client import Client
from momo_cli.devices import split_sim
from momo_cli.errors import Failure
from momo_cli.setup_step import Setup, row
from momo_cli.text import at, clean
from momo_cli.words import money, phone

PERSON_S: Final = 300.0
"""A person looks for the modem, or for the other phone."""
MODEM_S: Final = 30.0
"""A modem that is there needs seconds until its SIM is read."""
LOOK_S: Final = 0.5
_PASSING: Final = frozenset({"starting", "restarting", "recovering", "resuming", "gone"})
"""States of a phone that end by themselves."""
_AWAY: Final = "away"
_PIN: Final = "momo sims pin "
_RELEASE: Final = "momo modems release "
_READ: Final = frozenset({MessageState.PAYMENT, MessageState.HISTORICAL})


def sims(client: Client) -> list[dict[str, Any]]:
    """Return each SIM with the phone that it is in."""
    return [
        {**sim, "device_id": one["device_id"], "name": one.get("name")}
        for one in client.get(Path.SIMS).data or ()
        for sim in one.get("sims") or ()
    ]


def called(sim: Row) -> str:
    """Return `the MTN SIM …4567 in zte-front`."""
    network, last = clean(sim.get("network")) or "unknown", clean(sim.get("iccid_last4"))
    card = f"{network} SIM …{last}" if last else f"{network} SIM"
    return f"the {card} in {clean(sim.get('name') or sim.get('device_id'))}"


def modem(setup: Setup) -> Row:
    """Find a SIM that can be read; open it with its PIN, and have ModemManager let go, where that is asked for."""
    found = _plugged_in(setup.client, _modems(setup.client))
    if not found and not setup.looks:
        found = _wait(setup)
    if found:
        return row("modem", "done", f"Found {', '.join(called(sim) for sim in found)}")
    known = _modems(setup.client)
    for one in known:
        if one.get("detail") and one.get("state") != _AWAY:
            fix = clean(one.get("next")) or "momo doctor modem"
            return row("modem", "needs_action", clean(one["detail"]), fix)
    status = "needs_action" if setup.looks else "skipped"
    away = ", ".join(clean(one.get("name")) for one in known if one.get("state") == _AWAY)
    detail = f"{away} is not plugged in" if away else "No phone yet: plug it in at any time"
    return row("modem", status, detail, "momo modems list" if away else "momo sims list --wait")


def first_payment(setup: Setup) -> Row:
    """See one real SMS of the network read: one that is on the SIM already, or one that the person sends for now."""
    again = "momo setup --first-payment"
    known = _messages(setup.client)
    if any(message["state"] in _READ for message in known):
        return row("first_payment", "done", "SMS of the network are read and understood")
    placed = [one for one in setup.client.get(Path.PAYMENT_METHODS).data or () if one.get("sim")]
    wish = setup.wishes.first_payment
    if setup.looks:
        return row(
            "first_payment",
            "needs_action" if wish else "skipped",
            "No real SMS was read yet",
            again,
        )
    if not placed or wish is False or not (wish or setup.may_ask("first_payment")):
        return row("first_payment", "skipped", "No real SMS was read yet", again)
    setup.terminal.note(
        f"  From another phone, send GHS 0.10 to {phone(placed[0]['phone_number'])} now, without a code: it shows "
        "that this SIM's messages are read." + (" Enter goes on without." if setup.asks else "")
    )
    # A payment that comes as the person reads this counts too.
    return _watched(setup, again, {message["id"] for message in known})


def _watched(setup: Setup, again: str, seen: set[str]) -> Row:
    name, begun = "first_payment", system.monotonic()
    while system.monotonic() - begun < PERSON_S:
        for message in reversed(_messages(setup.client)):
            if message["id"] in seen:
                continue
            seen.add(message["id"])
            if (told := _outcome(name, message)) is not None:
                return told
            setup.say(f"  … an SMS came from {clean(message.get('sender'))}; it is no receipt")
        if _enter(setup):
            setup.note(name, later=True)
            return row(name, "skipped", "Not tried", again)
    return row(name, "needs_action", "No SMS came within five minutes", "momo doctor modem")


def _outcome(name: str, message: Row) -> Row | None:
    """Return what one new SMS says about the line; None when it says nothing yet."""
    match message["state"]:
        case MessageState.PAYMENT | MessageState.HISTORICAL:
            amount = money(at(message, "fields.amount"), "GHS")
            return row(name, "done", f"{amount} came in: the SMS was read and understood")
        case MessageState.UNPARSED:
            fix = f"momo messages sample {message['id']}"
            return row(name, "needs_action", "An SMS came whose wording momo does not know", fix)
        case MessageState.HELD:
            return row(
                name, "needs_action", "An SMS came that a person must look at", "momo review list"
            )
        case _:
            return None


def _messages(client: Client) -> list[dict[str, Any]]:
    """Return the newest real SMS, newest first."""
    return [
        one for one in client.get(Path.LOCAL_MESSAGES, limit=50).data or () if not one.get("test")
    ]


# The phone.


def _modems(client: Client) -> list[dict[str, Any]]:
    """Return the real phones, ready or not."""
    found: list[dict[str, Any]] = client.get(Path.LOCAL_MODEMS).data or []
    return [one for one in found if not one.get("simulated")]


def _plugged_in(client: Client, phones: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the SIMs whose phone is here now."""
    away = {one.get("device_id") for one in phones if one.get("state") == _AWAY}
    return [sim for sim in sims(client) if sim["device_id"] not in away]


def _wait(setup: Setup) -> list[dict[str, Any]]:
    """Look again and again until a SIM is there, nothing more can come, Enter is pressed, or the time is over."""
    wish = setup.wishes
    begun, told = system.monotonic(), set[str]()
    wait_s = PERSON_S if setup.asks else MODEM_S
    setup.say("  Plug in the modem, with its SIM. Enter goes on without one.")
    while system.monotonic() - begun < wait_s:
        phones = _modems(setup.client)
        if found := _plugged_in(setup.client, phones):
            return found
        for one in phones:
            state = f"{clean(one.get('port'))}: {clean(one.get('detail') or one.get('state'))}"
            if state not in told:
                told.add(state)
                setup.say(f"  … {state}")
                if not _helped(setup, one):
                    return []
        passing = [one for one in phones if one.get("state") in _PASSING or _is_locked(one)]
        expected = wish.modems or wish.pin_file or passing
        if _enter(setup) or not (setup.asks or expected):
            return []
    return []


def _helped(setup: Setup, one: Row) -> bool:
    """Do for a phone what a person allows; False when there is nothing to wait for because of their answer."""
    fix = clean(one.get("next"))
    if _is_locked(one):
        return _opened(setup, one)
    if fix.startswith(_RELEASE) and setup.asks:
        if not setup.agreed("ModemManager holds it. Have it let go?", "--no-input"):
            return True
        port = fix.removeprefix(_RELEASE)
        try:
            modem_manager.let_go(port, setup.terminal.located.environ, setup.client.pause)
        except Failure as failure:
            setup.warn(failure.message)
            fix = failure.next[0] if failure.next else ""
    if fix:
        setup.say(f"      {fix}")
    return True


def _is_locked(one: Row) -> bool:
    """Say whether a PIN would open it; one that takes only one wrong PIN more is opened in a telephone."""
    return clean(one.get("next")).startswith(_PIN)


def _opened(setup: Setup, one: Row) -> bool:
    """Hand over the PIN: typed, or of the file when there is no doubt whose it is. False when it is put off."""
    device, slot = split_sim(clean(one["next"]).removeprefix(_PIN), _PIN)
    if setup.wishes.pin_file is not None:
        others = [other for other in _modems(setup.client) if _is_locked(other)]
        if len(others) > 1 or one.get("state") != "pin_needed":
            return False
        pins.keep(setup.client, device, slot, pins.pin_in(setup.wishes.pin_file, setup.terminal))
        return True
    if not setup.may_ask("pin"):
        return False
    setup.say("  It is tried once; three wrong PINs block a SIM.")
    for pin in _typed(setup):
        try:
            pins.keep(setup.client, device, slot, pin)
        except Failure as failure:
            details = at(failure.body, "error.details.0.message")
            setup.warn(clean(details or failure.message))
        else:
            setup.note("pin", later=False)
            return True
    setup.note("pin", later=True)
    return False


def _typed(setup: Setup) -> Iterator[str]:
    """Yield what is typed, as long as something is."""
    while pin := setup.terminal.ask_secret("  The SIM's PIN (Enter: later) ", "--pin-file FILE"):
        if pins.is_pin(pin):
            yield pin
        else:
            setup.warn("A PIN is 4 to 8 digits.")


def _enter(setup: Setup) -> bool:
    """Wait a moment; say whether the person pressed Enter meanwhile."""
    if not setup.asks:
        setup.client.pause(LOOK_S)
        return False
    stdin = setup.terminal.stdin
    if select.select([stdin], [], [], LOOK_S)[0]:
        stdin.readline()
        return True
    return False
